"""Graph breaks: variables, objects and frames behind one are what they are in Python."""

import gc
import sys
import threading
import weakref

import numpy as np
import pytest

import numlift as nl

from broken_call import BACKENDS, X, check, compare, events, note, run, unknown


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


def test_a_handler_catches_what_a_getitem_in_python_raises():
    # From its second run on, CPython runs the subscript by an instruction that pushes the frame itself.
    class Table:
        def __getitem__(self, key):
            return {}[weakref.ref(key)]

    table = Table()

    def f(x, key):
        try:
            return table[key]
        except KeyError:
            return x + 1

    compiled = nl.compile(f)
    for _ in range(4):
        compare(compiled(X, Table()), X + 1)
