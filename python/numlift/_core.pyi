from collections.abc import Callable
from traceback import FrameSummary
from typing import Any

class Unsupported(RuntimeError):
    reason: str
    code: str
    category: str
    explanation: str
    hints: list[str]
    user_stack: list[FrameSummary]

class CallStats:
    calls: int
    hits: int
    misses: int
    compiles: int
    fallbacks: int
    restarts: int

class GraphText:
    text: str
    table: str
    def print_tabular(self) -> None: ...

class Guard:
    source: str
    kind: str
    condition: str
    reason: str
    user_line: str

class Entry:
    kind: str
    site: str
    guards: list[str]
    guard_details: list[Guard]
    graph: GraphText
    operations: list[str]
    break_reason: str
    recompile_reason: str
    kernels: int
    code_size: int
    hits: int
    restarts: int
    compile_ms: dict[str, float]

class CompiledFunction:
    entries: list[Entry]
    stats: CallStats
    __wrapped__: Callable[..., Any]
    def __call__(self, *args: Any, **kwargs: Any) -> Any: ...

def compile(
    callable: Callable[..., Any], *, fullgraph: bool, dynamic: bool | None, backend: str
) -> CompiledFunction: ...
def check_backend(name: str) -> None: ...
def list_backends() -> list[str]: ...
def reset() -> None: ...
def set_num_threads(count: int) -> None: ...
def get_num_threads() -> int: ...
def record_call(
    callable: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> list[Entry | dict[str, Any]]: ...
def explain_misses(
    compiled: CompiledFunction, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> list[str]: ...
def dynamic_of(compiled: CompiledFunction) -> bool | None: ...
def break_reasons() -> list[dict[str, str]]: ...
def compile_log() -> list[tuple[str, dict[str, float]]]: ...
def exchange_error_on_break(wanted: bool | None) -> bool | None: ...
def break_count(compiled: CompiledFunction) -> int: ...
def pool_stats() -> dict[str, int]: ...
def option_names() -> list[str]: ...
def get_option(name: str) -> bool | int | str: ...
def set_option(name: str, value: str) -> None: ...
def options_help() -> str: ...
def load_options_from_environment() -> str: ...
def log_help() -> str: ...
def set_log_sink(sink: Callable[[str, str], None]) -> None: ...
