"""What a trace looks like, and what it costs."""

import numpy as np

from numlift import _core

x = np.arange(6.0)


def operations(function, *args):
    trace = _core.trace(function, args)
    assert "graph" in trace, trace
    return [line.split("= ")[1].split("(")[0] for line in trace["graph"].splitlines() if line.startswith("%")]


def test_inlined_calls_leave_no_trace():
    def g(a, b):
        return a + b

    assert operations(lambda a: g(g(a, a), a), x) == ["placeholder", "add", "add"]


def test_constants_are_folded():
    assert operations(lambda a: a * (2 * 3 + len("abc")), x) == ["placeholder", "constant", "multiply"]


def test_only_what_is_used_is_guarded():
    unused = object()

    def f(a):
        unused
        return np.sin(a)

    guards = _core.trace(f, (x,))["guards"]
    # Of what is not used, that it can be read.
    assert len(guards) == 3 and guards[1].startswith("np.sin: ")
    assert guards[2].startswith("closure unused: present")


def test_lines_of_inlined_functions():
    def g(a):
        return a * 2

    text = _core.trace(lambda a: g(a), (x,))["graph"]
    line = g.__code__.co_firstlineno + 1
    assert f"test_trace.py:{line} in g" in text


def test_break_names_the_line():
    def f(a):
        b = a + 1
        print(b)

    category, reason, line = _core.trace(f, (x,))["break"]
    assert category == "builtin_call" and reason == "builtin: print [numpy.ndarray] False"
    assert line == f.__code__.co_firstlineno + 2


def test_deep_inlining_is_bounded():
    def g(n):
        return g(n + 1)

    assert _core.trace(lambda a: g(0), (x,))["break"][0] == "too_deep"
