"""try, with, raise, assert: compiled while nothing raises, CPython's own when something does."""

import contextlib

import numpy as np
import pytest
from same_call import breaks, same

import numlift as nl

x = np.arange(1.0, 5.0)


def test_try_that_does_not_raise():
    def f(a):
        try:
            b = a * 2
        except ValueError:
            b = a
        else:
            b = b + 1
        finally:
            c = 3
        return b * c

    same(f, (x,))


def test_return_in_try_and_finally():
    def f(a, early):
        try:
            if early:
                return a + 1
            a = a * 2
        finally:
            a = a * 3
        return a

    same(f, (x, True), (x, False))


def test_exception_that_is_caught():
    def f(a):
        try:
            return {"k": a}["missing"]
        except KeyError as error:
            return str(error)

    same(f, (x,))


def test_raise():
    def f(a):
        if a.ndim != 2:
            raise ValueError("two dimensions, please")
        return a

    same(f, (x,), whole=False)
    same(f, (x.reshape(2, 2),))
    breaks(f, x, reason="ValueError")


def test_assert():
    def f(a, n):
        assert n > 0, "positive"
        assert a.shape[0] == 4
        return a * n

    same(f, (x, 1), (x, 3))
    same(f, (x, 0), whole=False)


def test_runtime_error_reaches_the_users_handler():
    def f(a, n):
        try:
            return a * (1 / n)
        except ZeroDivisionError:
            return -a

    same(f, (x, 2.0), (x, 0.0), whole=None)
    same(f, (x, 2), (x, 0), whole=None)


def test_errstate():
    def f(a):
        with np.errstate(divide="ignore", invalid="ignore"):
            b = a / 0.0
        with np.errstate(all="ignore"):
            c = np.log(a - 2)
        return b, c

    same(f, (x,), (x * 0,))


def test_errstate_ends_with_its_block():
    def f(a):
        with np.errstate(divide="ignore"):
            b = 1 / a
        return b, 1 / (a - 1)

    compiled = nl.compile(f)
    with pytest.warns(RuntimeWarning, match="divide by zero"):
        f(x)
    with pytest.warns(RuntimeWarning, match="divide by zero"):
        compiled(x)


def test_errstate_that_raises():
    def f(a):
        with np.errstate(divide="raise"):
            return 1 / a

    same(f, (x,))
    same(f, (x * 0,), whole=None)


def test_return_and_break_inside_errstate():
    def f(a):
        for _ in range(3):
            with np.errstate(divide="ignore"):
                a = a / 2
                if a.ndim == 1:
                    break
        with np.errstate(over="ignore"):
            return a * 2

    same(f, (x,))


def test_errstate_of_underflow_is_left_to_python():
    def f(a):
        with np.errstate(under="warn"):
            return a * 2

    breaks(f, x, reason="underflow")


def test_other_context_managers_are_left_to_python():
    log = []

    @contextlib.contextmanager
    def manager():
        log.append("in")
        yield 5
        log.append("out")

    def f(a):
        with manager() as k:
            return a * k

    compiled = nl.compile(f)
    np.testing.assert_array_equal(compiled(x), x * 5)
    assert log == ["in", "out"]


def test_unset_local_variable():
    def f(a, n):
        if n > 5:
            b = a
        return b

    same(f, (x, 7))
    same(f, (x, 1), whole=False)


def test_deleted_variable():
    def f(a):
        b = a + 1
        del b
        return b

    same(f, (x,), whole=False)


def test_branch_on_an_array_value():
    breaks(lambda a: a if a.sum() > 3 else -a, x)
    breaks(lambda a: [v if v > 2 else None for v in a], x)


def test_no_error_is_left_behind():
    compiled = nl.compile(lambda a: int("no number") if a.ndim == 7 else a[10:11])
    compiled(x)
    with pytest.raises(ValueError):
        nl.compile(lambda a: int("no number"))(x)
