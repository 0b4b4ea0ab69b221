"""Graph breaks: what cannot be traced runs in CPython, the rest in compiled pieces around it.

Every function is run plainly and compiled, several times, and all that can be seen is compared: the
result, what was logged on the way and in which order, exceptions with their lines, objects changed.
"""

import contextlib
import copy
import gc
import sys
import threading
import traceback
import warnings
import weakref
import zlib

import numpy as np
import pytest

import numlift as nl
from numlift.testing import break_count

from same_call import compare

BACKENDS = ("eager", "llvm")
events = []
unknown = zlib.crc32


def note(*values):
    """Unknown to numlift as long as it calls C code that numlift knows nothing about."""
    zlib.crc32(b"")
    events.append(tuple(v.tolist() if isinstance(v, np.ndarray) else v for v in values))
    return values[-1] if values else None


def lines(error):
    """File names left out: (function, line) of each frame but that of run() itself."""
    return [(f.name, f.lineno) for f in traceback.extract_tb(error.__traceback__)][1:]


def run(function, args):
    events.clear()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            outcome = function(*args)
        except Exception as error:
            outcome = (type(error), str(error), lines(error))
    said = [(str(w.message), w.category, w.filename, w.lineno) for w in caught]
    return outcome, list(events), said


def check(function, *calls, breaks=None, backends=BACKENDS, falls_back=False):
    """breaks: in how many places the last traced call leaves the graph."""
    for backend in backends:
        compiled = nl.compile(function, backend=backend)
        for args in calls:
            counts = []
            for _ in range(3):
                ours, plain = copy.deepcopy(args), copy.deepcopy(args)
                expected = run(function, plain)
                got = run(compiled, ours)
                compare(got, expected)
                compare(ours, plain, "arguments")
                counts.append(compiled.stats.compiles)
            assert counts[1] == counts[2], "compiled again and again"
        if breaks is not None:
            assert break_count(compiled) == breaks, [e.break_reason for e in compiled.entries]
        assert (compiled.stats.fallbacks > 0) == falls_back
    return compiled


X = np.arange(1.0, 9.0)


def test_straight():
    def f(x, y):
        a = x * 2 + y
        unknown(b"a")
        b = a * y - x
        unknown(a)
        return a + 1, b

    compiled = check(f, (X, X + 1), breaks=2, backends=["llvm"])
    assert [e.site for e in compiled.entries][0].endswith("f")
    assert all("numlift_resume_in_f_at_" in e.site for e in compiled.entries[1:])


def test_nothing_is_computed_twice():
    def f(x):
        a = np.sin(x) + unknown(b"1")
        return np.cos(a * unknown(b"2"))

    compiled = check(f, (X,), breaks=2, backends=["llvm"])
    graphs = [str(e.graph) for e in compiled.entries]
    assert sum(g.count(" sin(") for g in graphs) == 1
    assert sum(g.count(" cos(") for g in graphs) == 1


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_data_dependent_branch(sign):
    def f(a, b):
        x = a / (np.abs(a) + 1)
        if b.sum() < 0:
            b = b * -1
        else:
            note("positive")
        return x * b

    check(f, (X, sign * X), (X, -sign * X))


def test_both_sides_of_a_branch_are_compiled_once():
    def f(x):
        if x.sum() > 0:
            return x * 2
        return x - 1

    compiled = nl.compile(f)
    for values in (X, -X, X, -X, X):
        compare(compiled(values), f(values))
    assert compiled.stats.compiles == 3


def test_while_on_data():
    def f(x):
        n = 0
        while np.abs(x).max() > 0.1:
            x = x * 0.5
            n += 1
        return x, n

    check(f, (X,), (X / 100,))


def test_loops():
    def f(x, n):
        acc = np.zeros_like(x)
        out = []
        for i in range(n):
            note(i)
            acc = acc + x * i
            if i == 3:
                continue
            out.append(acc.sum())
            if i > 4:
                break
        else:
            note("else")
        return acc, out

    check(f, (X, 3), (X, 9), (X, 0))


def test_nested_loops_and_iterators():
    def f(xs):
        total = 0
        for i, (a, b) in enumerate(zip(xs, reversed(xs))):
            for c in (1.0, 2.0):
                total = total + a * b * c
                note(i, c)
        for key, value in {"p": 1, "q": 2}.items():
            total = total * value
            note(key)
        for ch in "ab":
            note(ch)
            total = total + 1
        for v in map(lambda t: t * 2, xs):
            note("map")
            total = total + v
        return total

    check(f, ([X, X + 1, X + 2],))


def test_loop_too_long_to_unroll():
    def f(x):
        for i in range(3000):
            x = x + i
        return x

    check(f, (X,), backends=["llvm"])


def test_comprehensions():
    def f(x):
        k = 3
        rows = [note(j) * x[j] for j in range(k)]
        table = {j: note(j) + x for j in range(2)}
        pairs = {note(j) for j in range(3)}
        j = 7
        return rows, table, sorted(pairs), j, sum(note(v) * 2 for v in range(3))

    check(f, (X,))


def test_a_generator_that_breaks_inside_a_call():
    """The call of append() has begun when the break moves back to where the generator is made."""

    def f(x):
        events.append(tuple(unknown(b"") + i for i in range(2)))
        y = x + 1
        events.append(list(unknown(b"") * 2 for _ in range(2)))
        return y * 2

    check(f, (X,))


def test_in_helpers():
    def inner(x, *, k=2, **more):
        y = np.sin(x) + k
        note("inner", sorted(more))
        return y * 2

    def middle(x, flag):
        a = inner(x + 1, k=3, extra=1)
        if flag:
            note("flag")
        return a - inner(x)

    def f(x):
        return middle(x, True) + middle(x * 2, False)

    check(f, (X,))


def test_break_in_a_helper_is_a_break_of_the_helper():
    def inner(x):
        a = x + 1
        unknown(b"in")
        return a * 2

    def f(x):
        return inner(x * 3) - 1

    compiled = check(f, (X,), breaks=1, backends=["llvm"])
    first, second = compiled.entries
    assert "multiply" in str(first.graph) and "add" in str(first.graph)
    assert second.site.startswith("numlift_resume_in_inner_at_")
    assert "multiply" in str(second.graph) and "subtract" in str(second.graph)


def test_try():
    def f(x, shape):
        try:
            y = x * 2
            note("in")
            return y.reshape(shape)
        except ValueError as error:
            note(str(error))
            return y + 1
        finally:
            note("finally")

    check(f, (X, (2, 4)), (X, (3, 5)))


def test_exceptions():
    def f(x, i):
        y = x + 1
        note("before")
        return y[i] * 2

    def helper(x, i):
        y = f(x * 2, i)
        return y + 1

    def outer(x, i):
        note("outer")
        return helper(x - 1, i)

    check(f, (X, 1))
    check(f, (X, 100))
    check(outer, (X, 100))


def test_raise_and_handle():
    class Mine(Exception):
        pass

    def f(x, kind):
        y = x + 1
        try:
            if kind == 1:
                raise Mine("one")
            if kind == 2:
                raise KeyError("two") from Mine("cause")
            assert kind != 3, "three"
        except Mine as error:
            y = y * 2
            note(repr(error))
        except KeyError as error:
            y = y * 3
            note(repr(error), repr(error.__cause__))
        return y - 1

    for kind in range(4):
        check(f, (X, kind))


@contextlib.contextmanager
def manager(tag, swallow=False):
    note("enter", tag)
    try:
        yield tag
    except ValueError:
        note("caught", tag)
        if not swallow:
            raise
    finally:
        note("exit", tag)


def test_with():
    def f(x, kind):
        y = x + 1
        with manager("a") as a, manager("b", True):
            note(a)
            y = y * 2
            if kind == 1:
                raise ValueError("raised inside")
            if kind == 2:
                return y - 1
        return y + 1

    for kind in range(3):
        check(f, (X, kind))


def test_with_errstate():
    def f(x):
        with np.errstate(all="ignore"):
            y = x / 0
            note("inside")
            z = np.log(-x)
        note("outside")
        return y, z

    check(f, (X,))


def test_warnings_have_the_users_line():
    def f(x):
        a = x + 1
        note("before")
        b = a / (x - x)
        warnings.warn("from here", UserWarning, stacklevel=1)
        return b

    compiled = nl.compile(f)
    for _ in range(2):
        compare(run(compiled, (X,)), run(f, (X,)))


def test_closures():
    def f(x):
        k = 2.0

        def inner(v):
            nonlocal k
            k = k + 1
            note(k)
            return v * k

        r = inner(x) + inner(x * 2)
        fs = [lambda v, j=j: v * j + k for j in range(2)]
        note("made")
        return r, k, [g(x) for g in fs]

    check(f, (X,))


def test_functions_handed_out():
    def f(x):
        def recursive(n):
            return n if n == 0 else recursive(n - 1)

        def add(v: float, w: int = 2, *, z=3) -> float:
            "doc"
            return v + w + z + x.sum() + recursive(2)

        note("between")
        return add

    plain, compiled = f(X), nl.compile(f)(X)
    assert compiled(1) == plain(1) and compiled(1, 2, z=4) == plain(1, 2, z=4)
    for name in ("__name__", "__qualname__", "__doc__", "__defaults__", "__kwdefaults__", "__module__"):
        assert getattr(compiled, name) == getattr(plain, name)
    assert compiled.__annotations__ == plain.__annotations__


class Model:
    calls = 0

    def __init__(self, n):
        self.w = np.arange(float(n))
        self.history = []

    def step(self, x):
        self.history.append(len(self.history))
        y = x @ self.w
        self.last = y
        type(self).calls += 1
        return y * len(self.history)

    @property
    def scaled(self):
        note("property")
        return self.w * 2


def test_objects():
    def f(model, x):
        a = model.step(x) + model.step(x * 2)
        return a, model.scaled + 1, model.last

    before = Model.calls
    for backend in BACKENDS:
        compiled = nl.compile(f, backend=backend)
        for _ in range(3):
            ours, plain = Model(8), Model(8)
            expected, got = run(f, (plain, X)), run(compiled, (ours, X))
            compare(got, expected)
            compare(vars(ours), vars(plain))
    assert Model.calls == before + 2 * 3 * 2 * 2


counter = 0


def test_globals():
    def f(x):
        global counter
        counter += 1
        y = x * counter
        counter = counter + 1
        return y

    global counter
    compiled = nl.compile(f)
    counter = 0
    expected = [f(X) for _ in range(4)]
    counter = 0
    compare([compiled(X) for _ in range(4)], expected)
    assert counter == 8


def test_identity_and_aliases():
    def f(x, y):
        a = x
        b = [x, y]
        c = b
        view = x[2:]
        note("cut")
        view += 1
        c.append(a)
        return a is x, c is b, b, b[0] is x, view.base is x, view, x

    for backend in BACKENDS:
        compiled = nl.compile(f, backend=backend)
        for _ in range(3):
            ours, plain = X.copy(), X.copy()
            expected, got = run(f, (plain, plain)), run(compiled, (ours, ours))
            compare(got, expected)
            compare(ours, plain)
            assert got[0][2][0] is ours and got[0][2][2] is ours


def test_aliases_of_one_array_behind_a_break():
    def f(x):
        a = x + 1
        b = a
        c = a[:]
        note("cut")
        a += 1
        b *= 2
        c -= 3
        return a, b, c

    # Memory that two inputs of a piece share: it is left to CPython.
    check(f, (X,), falls_back=True)


def test_local_views_of_the_frame():
    def f(x):
        a = x + 1
        b = a.sum()
        note(sorted(locals()))
        frame = sys._getframe()
        note(frame.f_code.co_name, frame.f_lineno - frame.f_code.co_firstlineno)
        return a * b

    check(f, (X,))


def test_dead_locals_are_not_kept():
    died = []

    def f(x):
        t = x * 2
        note("first")
        u = t + 1
        weakref.finalize(u, died.append, 1)
        v = u.sum()
        del u
        died.append("second")
        return v

    compiled = nl.compile(f)
    for _ in range(3):
        compiled(X)
    gc.collect()
    assert died == [1, "second"] * 3


def test_generators_made_inside():
    def f(x):
        g = (v * 2 for v in [x, x + 1])
        s = next(g)
        note("between")
        t = next(g)
        return s + t, next(g, None)

    check(f, (X,))


def test_iterator_from_outside():
    """(spec 12.1: without fullgraph the iterator is advanced as in Python.)"""

    def f(xs):
        a = next(xs)
        b = next(xs)
        return a + b

    compiled = nl.compile(f)
    for _ in range(3):
        xs = iter([np.array(1.0), np.array(2.0), 5])
        assert compiled(xs) == 3.0
        assert next(xs) == 5


def test_recursion():
    def fib(x, n):
        if n < 2:
            note(n)
            return x * n
        return fib(x, n - 1) + fib(x, n - 2)

    check(fib, (X, 5))


def test_recursion_through_the_compiled_function():
    def plain(x, n):
        note(n)
        return x if n == 0 else plain(x + 1, n - 1) * 2

    compiled = nl.compile(plain)

    def ours(x, n):
        note(n)
        return x if n == 0 else ours_compiled(x + 1, n - 1) * 2

    ours_compiled = nl.compile(ours)
    compare(run(compiled, (X, 6)), run(plain, (X, 6)))
    compare(run(ours_compiled, (X, 6)), run(plain, (X, 6)))


def test_deep_recursion_raises_as_in_python():
    def f(x, n):
        note()
        return f(x, n + 1)

    compiled = nl.compile(f)
    with pytest.raises(RecursionError):
        compiled(X, 0)
    with pytest.raises(RecursionError):
        compiled(X, 0)


def test_calls_between_breaks_may_reset_everything():
    def f(x):
        a = x + 1
        nl.reset()
        b = a * 2
        note("cut")
        return a + b

    compiled = nl.compile(f)
    for _ in range(3):
        compare(compiled(X), (X + 1) * 3)


def test_threads():
    def f(x, n):
        for i in range(n):
            x = x + i
            note(i)
        return x

    compiled = nl.compile(f)
    expected = f(X, 20)
    wrong = []

    def work():
        for _ in range(20):
            if not np.array_equal(compiled(X, 20), expected):
                wrong.append(1)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_restart_behind_a_break():
    """A floating-point condition in a later piece: CPython runs the rest, and only the rest."""

    def f(x, y):
        a = x + 1
        note("once")
        b = a / y
        note("twice")
        return b * 2

    y = X.copy()
    y[3] = 0
    for backend in BACKENDS:
        compiled = nl.compile(f, backend=backend)
        for _ in range(12):
            for other in (X, y):
                compare(run(compiled, (X, other)), run(f, (X, other)))


def test_references_do_not_leak():
    def f(x, marker):
        a = x + 1
        kept = [marker, a]
        note("one")
        for i in range(3):
            kept.append(marker)
            a = a + i
        note("two")
        return a, len(kept)

    compiled = nl.compile(f)
    marker = object()
    for _ in range(3):
        compiled(X, marker)
    before = sys.getrefcount(marker)
    for _ in range(50):
        compiled(X, marker)
        events.clear()
    assert sys.getrefcount(marker) == before
