"""What compiled functions do and why: explain, compile_times, error_on_graph_break.

    print(numlift.explain(f)(x))
"""

import dataclasses
import functools
import html
import threading
import traceback

from . import _core

__all__ = ["BreakReason", "CompileTimes", "Explanation", "UncapturedLoop", "compile_times", "error_on_graph_break", "explain"]

_STAGES = ("trace", "guards", "passes", "schedule", "emit")


@dataclasses.dataclass(frozen=True)
class BreakReason:
    """Why a graph ended. The codes are the sections of docs/breaks.md."""

    reason: str
    code: str
    category: str
    explanation: str
    hints: list
    user_stack: list  # of traceback.FrameSummary, outermost first


@dataclasses.dataclass(frozen=True)
class UncapturedLoop:
    """A loop that runs as one piece an iteration, or unrolled, and why. See docs/loops.md."""

    reason: str
    place: traceback.FrameSummary  # of its head


class CompileTimes(list):
    """One dict a compiled graph: its name, milliseconds by stage and in all, and "from_disk": whether its
    machine code was loaded from the disk cache, not made."""

    def __init__(self, lines):
        super().__init__(
            {"graph": name, **times, "total": sum(times.values()), "from_disk": from_disk}
            for name, times, from_disk in lines
        )

    def __str__(self):
        columns = (*_STAGES, "total")
        width = max([len("Graph"), *(len(one["graph"]) for one in self)])
        rows = [" ".join([f"{'Graph':{width}}", *(f"{name:>9}" for name in columns), "(ms)"])]
        for one in self:
            disk = "  from disk" if one["from_disk"] else ""
            rows.append(" ".join([f"{one['graph']:{width}}", *(f"{one[name]:9.2f}" for name in columns)]) + disk)
        return "\n".join(rows)


def compile_times():
    """What each compilation in this process has cost, oldest first; `print` gives a table.

    The last few thousand are kept; numlift.reset() forgets them.
    """
    return CompileTimes(_core.compile_log())


class Explanation:
    """What one call did: its graphs in the order in which they first ran, and the breaks between."""

    def __init__(self, events, misses):
        entries = [event for event in events if not isinstance(event, dict)]
        programs = [entry for entry in entries if entry.kind != "python"]
        # A program without an operation on arrays only hands values on.
        graphs = [entry for entry in programs if entry.operations]
        self.graphs = [entry.graph for entry in graphs]
        self.ops_per_graph = [list(entry.operations) for entry in graphs]
        reasons = [BreakReason(**event) for event in events if isinstance(event, dict)]
        self.break_reasons = [one for one in reasons if one.category != "restart"]
        # Programs that stopped half-way and left no trace: CPython ran that part of the call.
        self.restarts = [one for one in reasons if one.category == "restart"]
        self.uncaptured_loops = list(
            {
                (loop["place"].filename, loop["place"].lineno, loop["reason"]): UncapturedLoop(**loop)
                for entry in entries
                for loop in entry.loops_left
            }.values()
        )
        self.out_guards = _distinct(guard for entry in entries for guard in entry.guard_details)
        self.compile_times = CompileTimes(
            (entry.site, entry.compile_ms, entry.is_from_disk) for entry in programs
        )
        self.recompile_reasons = [
            *(f"entry {number}: {why}" for number, why in enumerate(misses, 1) if why),
            *(f"{entry.site}: {entry.recompile_reason}" for entry in entries if entry.recompile_reason),
        ]

    @property
    def graph_count(self):
        return len(self.graphs)

    @property
    def graph_break_count(self):
        return len(self.break_reasons)

    @property
    def op_count(self):
        return sum(len(operations) for operations in self.ops_per_graph)

    def __str__(self):
        lines = [
            f"Graph Count: {self.graph_count}",
            f"Graph Break Count: {self.graph_break_count}",
            f"Op Count: {self.op_count}",
            "Break Reasons:",
        ]
        for number, one in enumerate(self.break_reasons, 1):
            lines += [f"  Break Reason {number}:", f"    Reason: {one.reason}", "    User Stack:"]
            lines += [f"      {frame!r}" for frame in one.user_stack]
        if self.uncaptured_loops:
            lines.append("Loops Not Captured:")
            lines += [f"  line {one.place.lineno} of {one.place.name}: {one.reason}" for one in self.uncaptured_loops]
        lines.append("Ops per Graph:")
        for number, operations in enumerate(self.ops_per_graph, 1):
            lines.append(f"  Ops {number}:")
            lines += [f"    {operation}" for operation in operations]
        lines.append("Out Guards:")
        for number, guard in enumerate(self.out_guards, 1):
            lines += [
                f"  Guard {number}:",
                f"    Source: {guard.source}",
                f"    Kind: {guard.kind}",
                f"    Condition: {guard.condition}",
                f"    User Line: {guard.user_line}",
            ]
        if self.restarts:
            lines.append("Restarts in CPython:")
            lines += [f"  {one.reason}: {one.explanation}" for one in self.restarts]
        if self.recompile_reasons:
            lines.append("Recompile Reasons:")
            lines += [f"  {why}" for why in self.recompile_reasons]
        lines.append("Compile Times:")
        lines += [f"  {line}" for line in str(self.compile_times).splitlines()]
        return "\n".join(lines) + "\n"

    def __repr__(self):
        return (
            f"<numlift.Explanation: {self.graph_count} graphs, {self.graph_break_count} breaks, "
            f"{self.op_count} operations>"
        )

    def _repr_html_(self):
        return f"<pre>{html.escape(str(self))}</pre>"


def _distinct(guards):
    seen = {}
    for guard in guards:
        seen.setdefault((guard.source, guard.kind, guard.condition), guard)
    return list(seen.values())


def explain(fn):
    """explain(fn)(*args, **kwargs) calls fn once and returns an Explanation of what was compiled.

    The call goes through compiled code made for it alone: what fn has compiled stays as it is. With
    a compiled fn, `recompile_reasons` also says why its entries would not serve this call.
    """
    compiled = fn if isinstance(fn, _core.CompiledFunction) else None
    plain = fn if compiled is None else compiled.__wrapped__

    def run(*args, **kwargs):
        misses = [] if compiled is None else _core.explain_misses(compiled, args, kwargs)
        dynamic = None if compiled is None else _core.dynamic_of(compiled)
        fresh = _core.compile(plain, fullgraph=False, dynamic=dynamic, backend="llvm")
        return Explanation(_core.record_call(fresh, args, kwargs), misses)

    return run


class _Regions(threading.local):
    def __init__(self):
        self.before = []  # what was in force around each region that this thread is in


_regions = _Regions()


def _exit(region, *exc_info):
    _core.exchange_error_on_break(_regions.before.pop())


class error_on_graph_break:
    """A graph break raises numlift.Unsupported inside the region; with False it does not.

        with numlift.error_on_graph_break(True): ...

        @numlift.error_on_graph_break(True)
        def f(x): ...

    Regions nest, inside compiled code and around its calls; the innermost counts. fullgraph=True
    stays in force whatever a region says.
    """

    def __init__(self, error):
        if not isinstance(error, bool):
            raise TypeError(f"error_on_graph_break takes True or False, not {error!r}")
        self._error = error

    def __enter__(self):
        _regions.before.append(_core.exchange_error_on_break(self._error))

    # A function that the tracer knows: it calls no Python at the end of a block that it has begun.
    __exit__ = _exit

    def __call__(self, fn):
        error = self._error

        @functools.wraps(fn)
        def region(*args, **kwargs):
            with error_on_graph_break(error):
                return fn(*args, **kwargs)

        return region


# One for all calls, so that compiled code that goes on inside a block always sees the same object.
_exits = {error: error_on_graph_break(error).__exit__ for error in (False, True)}


def _entered(error):
    """__exit__ of a region that has been entered."""
    error_on_graph_break(error).__enter__()
    return _exits[error]
