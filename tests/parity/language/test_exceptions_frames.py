"""Exceptions that cross calls, and those that leave the compiled function."""

import contextlib
import functools
import itertools
import sys
import traceback

import numpy as np
import pytest
from same_call import breaks, same
from test_exceptions_inside import Refused, family

import numlift as nl

x = np.arange(1.0, 13.0).reshape(3, 4)


def fails(a, n):
    if n == 0:
        raise Refused(7)
    return fails(a, n - 1) + 1


def test_exception_from_deep_inside():
    def f(a, n):
        try:
            return fails(a, n)
        except Refused as e:
            return a * e.code, str(e), family(e.__context__)

    same(f, (x, 0), (x, 3))


def test_handlers_on_the_way():
    def inner(order):
        try:
            order.append("inner")
            raise ValueError("v")
        finally:
            order.append("finally")

    def middle(order):
        try:
            inner(order)
        except KeyError:
            order.append("wrong")
        except ValueError as e:
            order.append("middle")
            raise TypeError("t") from e

    def f(a):
        order = []
        try:
            middle(order)
        except TypeError as e:
            return a + 1, order, family(e)

    same(f, (x,))


def test_handled_in_a_function_called_by_a_handler():
    def quiet():
        try:
            raise KeyError("quiet")
        except KeyError as e:
            return family(e)

    def f(a):
        try:
            raise ValueError("loud")
        except ValueError as e:
            told = quiet()
            return a + 1, told, sys.exception() is e, sys.exc_info()[0], family(e)

    same(f, (x,))


def test_error_in_a_key_function():
    def key(v):
        if v == 2:
            raise ValueError(v)
        return -v

    def f(a):
        items = [3, 1, 2]
        try:
            return sorted(items, key=key)
        except ValueError as e:
            return a + 1, e.args, items

    def g(a):
        items = [3, 1, 2]
        try:
            items.sort(key=key)
        except ValueError as e:
            return a + 1, e.args, items

    same(f, (x,))
    same(g, (x,), whole=False)


def test_wrong_arguments_of_a_function():
    def g(a, b):
        return a

    def f(a):
        try:
            return g(a)
        except TypeError as e:
            return a + 1, str(e)

    same(f, (x,), whole=None)


def test_recursion_that_ends():
    def power(a, n):
        if n == 0:
            return 1
        try:
            raise ValueError(n)
        except ValueError as e:
            return a * power(a, e.args[0] - 1)

    same(power, (x, 4))


# ---------------------------------------------------------------- leaves the function


def test_what_leaves_is_as_python_raises_it():
    def f(a, how):
        b = a + 1
        try:
            if how == 0:
                raise ValueError(f"first {b.ndim}")
            if how == 1:
                {}["key"]
            if how == 2:
                fails(b, 2)
            return b + np.ones(7)
        except KeyError as e:
            raise LookupError("second") from e
        except Refused:
            raise TypeError("third")  # noqa: B904
        finally:
            b = b - 1

    def told(e):
        if e is None:
            return None
        lines = [(f.name, f.lineno) for f in traceback.extract_tb(e.__traceback__) if f.filename == __file__]
        return type(e), str(e), lines, told(e.__cause__), told(e.__context__), e.__suppress_context__

    def error_of(function, how):
        with pytest.raises(Exception) as caught:
            function(x, how)
        return told(caught.value)

    compiled = nl.compile(f)
    for how in range(4):
        for _ in range(2):
            assert error_of(compiled, how) == error_of(f, how)


def test_break_inside_a_handler():
    log = []

    def f(a):
        b = a + 1
        try:
            raise ValueError("v")
        except ValueError as e:
            log.append(str(e))
            b = b * 2
        return b - 1

    compiled = nl.compile(f)
    for _ in range(2):
        np.testing.assert_array_equal(compiled(x), f(x))
    assert log == ["v"] * 4


def test_exception_from_outside_that_is_raised():
    error = ValueError("outside")

    def f(a):
        try:
            raise error
        except ValueError as e:
            return a + 1, e is error

    same(f, (x,), whole=False)


def test_class_made_inside():
    def f(a):
        class Own(Exception):
            pass

        try:
            raise Own(3)
        except Own as e:
            return a + 1, e.args

    same(f, (x,), whole=None)


def test_bare_raise_without_an_exception():
    def f(a):
        try:
            raise  # noqa: PLE0704
        except RuntimeError as e:
            return a + 1, str(e)

    same(f, (x,), whole=None)


def test_loop_of_many_exceptions():
    def f(a):
        total = 0
        for i in range(40):
            try:
                if i % 3 == 0:
                    raise ValueError(i)
                if i % 3 == 1:
                    {}[i]
                total += 1
            except (ValueError, KeyError) as e:
                total += e.args[0]
        return a * total

    same(f, (x,))


def test_break_reason_of_what_leaves():
    def f(a):
        if a.ndim == 2:
            raise ValueError("two dimensions")
        return a

    breaks(f, x, reason="ValueError is raised")


# ---------------------------------------------------------------- the standard library


def test_error_in_what_the_library_calls():
    def refuse(order, v):
        order.append(v)
        if v == 2:
            raise ValueError(v)
        return v

    def f(a, how):
        order = []
        try:
            if how == 0:
                functools.reduce(lambda p, q: p + refuse(order, q), [1, 2, 3])
            if how == 1:
                list(itertools.accumulate([1, 2, 3], lambda p, q: p + refuse(order, q)))
            if how == 2:
                list(map(lambda v: refuse(order, v), [1, 2, 3]))
            if how == 3:
                max([1, 2, 3], key=lambda v: refuse(order, v))
            if how == 4:
                list(itertools.takewhile(lambda v: refuse(order, v), [1, 2, 3]))
            if how == 5:
                order.extend(refuse(order, v) for v in [1, 2, 3])
        except ValueError as e:
            return a + 1, e.args, order

    same(f, *((x, how) for how in range(6)), whole=None)


def test_managers_of_contextlib():
    @contextlib.contextmanager
    def manager(order):
        order.append("in")
        try:
            yield 2
        except KeyError:
            order.append("swallowed")
        finally:
            order.append("out")

    def f(a, how):
        order = []
        try:
            with manager(order) as k, contextlib.suppress(IndexError), contextlib.nullcontext():
                if how == 0:
                    raise KeyError
                if how == 1:
                    raise ValueError("through")
                if how == 2:
                    [][1]
                a = a * k
        except ValueError as e:
            order.append(e.args)
        with contextlib.ExitStack() as stack:
            stack.callback(order.append, "callback")
            stack.enter_context(manager(order))
        return a + 1, order

    same(f, *((x, how) for how in range(4)), whole=None)


class Built:
    def __init__(self, swallows):
        self.swallows = swallows
        self.seen = []

    def __enter__(self):
        return self

    def __exit__(self, kind, value, traceback):
        self.seen.append((kind, str(value), traceback is None))
        return kind is not None and issubclass(kind, self.swallows)


def test_manager_made_inside():
    def f(a):
        m = Built(KeyError)
        with m as same_one:
            a = a + 1
        with m:
            raise KeyError("k")
        try:
            with m:
                raise ValueError("v")
        except ValueError:
            a = a * 2
        try:
            m.nothing
        except AttributeError as e:
            return a, m.seen, same_one is m, str(e), e.name, e.obj is m

    same(f, (x,))
