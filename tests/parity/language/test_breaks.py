"""Graph breaks: what cannot be traced runs in CPython, the rest in compiled pieces around it."""

import contextlib
import warnings
from decimal import Decimal

import numpy as np
import pytest

import numlift as nl

from broken_call import BACKENDS, X, check, compare, events, note, run, unknown


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


def test_while_too_long_to_unroll():
    def f(x, n):
        k = 0
        while k < n:
            x = x + 1
            for _ in range(2):
                x = x * 1.001
            k += 1
        return x.sum()

    check(f, (X, 300), backends=["llvm"])


def test_code_too_long_for_one_graph():
    """Thousands of statements: cut into graphs of a size that the compiler takes."""
    lines = ["def f(x):"] + ["    x = x * 0.5 + 1"] * 2500 + ["    return x.sum()"]
    names = {}
    exec("\n".join(lines), names)
    compiled = nl.compile(names["f"])
    for _ in range(2):
        compare(compiled(X), names["f"](X))


def test_objects_live_as_long_as_in_python():
    """A variable that nothing reads again still keeps its object."""

    class Owner:
        def __init__(self):
            self.open = True

        def __del__(self):
            handles[0] = False

    handles = [False]

    def f(x):
        owner = Owner()
        handles[0] = True
        unknown(b"")
        y = x + 1
        unknown(b"")
        return y, list(handles)

    compiled = nl.compile(f)
    for _ in range(3):
        compare(compiled(X), f(X))
        assert handles == [False]


def test_callees_read_the_callers_variables():
    def evaluate(text):
        frame = sys._getframe(1)
        return eval(text, frame.f_globals, frame.f_locals)

    def f(x):
        a = x * 2
        b = x + 1
        return evaluate("a * b + x") + 1

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


def test_an_iterator_of_a_list_that_grew_in_the_same_piece():
    # The iterator was set to its place before the list had its new items, and began anew.
    def f(x):
        items, seen = [], []
        unknown(b"0")
        x = x * 2
        items.append(1)
        items.append(2)
        for item in items:
            seen.append(item)
            unknown(b"a")
        for item in reversed(items):
            seen.append(item)
            unknown(b"b")
        return x + 1, seen

    check(f, (X,), breaks=None)


def test_an_iterator_of_a_dict_that_grew_in_the_same_piece():
    def f(x):
        items, seen = {}, []
        unknown(b"0")
        x = x * 2
        items["a"] = 1
        items["b"] = 2
        for key in items:
            seen.append(key)
            unknown(b"a")
        return x + 1, seen

    check(f, (X,), breaks=None)


def test_a_unit_that_was_passed_before_the_trace_stopped_at_it():
    # CPython came to the unit in the first round of the loop, where a variable of the second was
    # not yet set; it was handed out nevertheless.
    def f(x):
        seen = []
        for make in (float, Decimal):
            value = make("2")
            seen.append(value)
        return x + 1, seen

    def g(x):
        last = 5
        seen = []
        for make in (float, Decimal):
            number = make(1.5)
            if make is float:
                seen.append(last)
                del last
            seen.append(number)
        return x + 1, seen

    check(f, (X,), breaks=None)
    check(g, (X,), breaks=None)
