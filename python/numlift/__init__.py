"""numlift compiles ordinary NumPy programs, unchanged, from inside CPython.

    import numlift as nl

    @nl.compile
    def step(u, v, dt):
        ...
"""

import functools
import importlib
import os
import sys

import numpy as _numpy  # noqa: F401  (before the extension, which loads its C API; numlift.numpy is ours)

from . import _core
from ._core import EscapeHatchError, Unsupported, get_num_threads, list_backends, reset, set_num_threads
from . import _logging, config
from .hatches import *  # noqa: F403
from . import hatches as _hatches
from .custom_op import custom_op
from .region import compile_region
from .devices import device
from . import cuda
from .transforms import *  # noqa: F403
from . import transforms as _transforms
from .explain import compile_times, error_on_graph_break, explain

__all__ = [
    *_hatches.__all__,
    *_transforms.__all__,
    "EscapeHatchError",
    "Unsupported",
    "compile",
    "compile_region",
    "compile_times",
    "compiler",
    "config",
    "cpp_extension",
    "cuda",
    "custom_op",
    "device",
    "disk_cache_info",
    "error_on_graph_break",
    "explain",
    "fx",
    "get_num_threads",
    "graph_module",
    "list_backends",
    "numpy",
    "reset",
    "set_num_threads",
]

__version__ = "0.1.0"  # pyproject.toml has it too; a lint test compares them

_core.set_log_sink(_logging.write)
_errors = _core.load_options_from_environment()
if os.environ.get("NUMLIFT_LOGS") == "help":
    print("NUMLIFT_LOGS is a comma list of", _core.log_help(), sep="\n", file=sys.stderr)
elif _errors:
    print("numlift:", _errors, file=sys.stderr)
del _errors


def compile(fn=None, *, fullgraph=False, dynamic=None, backend="llvm"):
    """Returns a callable that does what `fn` does, compiled at its first call.

    Usable as a decorator, bare or with keywords. What cannot be compiled runs in CPython and NumPy as
    before; with fullgraph=True it raises `numlift.Unsupported` instead.

    dynamic=False: sizes and int arguments are constants of the compiled code. True: they never are,
    unless the code branches on them. None: as config.dynamic_shapes says.
    backend: one of list_backends(): "llvm"; "cuda", which needs a device; "graph" and "eager" run the
    captured graph, with and without passes, node by node with NumPy. Or a callable: backend(graph,
    example_inputs) is called once with each compiled piece (numlift.fx.Graph), and what it returns is called
    in its place.
    """
    _core.check_backend(backend)
    if dynamic is not None and not isinstance(dynamic, bool):
        raise TypeError(f"dynamic is True, False or None, not {dynamic!r}")
    if fn is None:
        return functools.partial(compile, fullgraph=fullgraph, dynamic=dynamic, backend=backend)
    if isinstance(fn, (staticmethod, classmethod)):
        inner = compile(fn.__func__, fullgraph=fullgraph, dynamic=dynamic, backend=backend)
        return type(fn)(inner)
    if not callable(fn):
        raise TypeError(f"numlift.compile takes a callable, not {type(fn).__name__}")
    if config.disable:
        return fn
    if dynamic is None and not config.dynamic_shapes:
        dynamic = False
    compiled = _core.compile(fn, fullgraph=bool(fullgraph), dynamic=dynamic, backend=backend)
    if isinstance(fn, _core.CompiledFunction):
        fn = fn.__wrapped__
    # The state of a callable object is its own; functions hand their attributes on.
    updated = ("__dict__",) if hasattr(fn, "__code__") else ()
    return functools.update_wrapper(compiled, fn, updated=updated)


from . import compiler  # noqa: E402  (it needs what is above)
from .compiler import disk_cache_info  # noqa: E402


def __getattr__(name):
    # Few programs build extensions, have backends of their own or look for faults: what that needs is
    # imported when it is asked for.
    if name in ("cpp_extension", "fx", "numpy"):
        return importlib.import_module("numlift." + name)
    if name == "graph_module":
        return importlib.import_module("numlift.fx").graph_module
    raise AttributeError(f"module 'numlift' has no attribute {name!r}")
