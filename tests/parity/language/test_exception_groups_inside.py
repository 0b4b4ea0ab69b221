"""ExceptionGroup and except* inside one graph."""

import numpy as np
import pytest
from same_call import same
from test_exceptions_inside import family

import numlift as nl

x = np.arange(1.0, 13.0).reshape(3, 4)


def shape_of(e):
    if isinstance(e, BaseExceptionGroup):
        return type(e).__name__, e.message, [shape_of(one) for one in e.exceptions], getattr(e, "__notes__", None)
    return repr(e)


class Tagged(ExceptionGroup):
    def derive(self, excs):
        return Tagged("derived " + self.message, excs)


def test_each_block_gets_its_part():
    def f(a):
        found = []
        try:
            raise ExceptionGroup("eg", [ValueError(1), KeyError(2), ExceptionGroup("in", [ValueError(3), OSError(4)])])
        except* ValueError as e:
            found.append(shape_of(e))
        except* (KeyError, TypeError) as e:
            found.append(shape_of(e))
        except* OSError as e:
            found.append((shape_of(e), e.__suppress_context__))
        return a + 1, found

    same(f, (x,))


def test_what_is_left_goes_on():
    def f(a):
        try:
            try:
                raise ExceptionGroup("eg", [ValueError(1), KeyError(2), TypeError(3)])
            except* ValueError:
                a = a + 1
        except ExceptionGroup as e:
            return a, shape_of(e), str(e), repr(e), e.args[0]

    same(f, (x,))


def test_block_that_raises():
    def f(a, how):
        try:
            try:
                raise ExceptionGroup("eg", [ValueError(1), KeyError(2)])
            except* ValueError as e:
                if how == 0:
                    raise IndexError("new") from e
                if how == 1:
                    raise
                if how == 2:
                    raise e
            except* KeyError:
                if how == 3:
                    raise OSError("other")  # noqa: B904
        except Exception as e:
            return a + 1, shape_of(e)
        return a

    same(f, *((x, how) for how in range(5)))


def test_naked_exception():
    def f(a, how):
        try:
            try:
                raise ValueError("naked") if how == 0 else KeyError("other")
            except* ValueError as e:
                return_value = shape_of(e)
            else:
                return_value = None
        except KeyError as e:
            return a, repr(e)
        return a + 1, return_value

    same(f, (x, 0), (x, 1))


def test_else_and_finally():
    def f(a):
        order = []
        for n in range(2):
            try:
                if n:
                    raise ExceptionGroup("eg", [ValueError(n)])
            except* ValueError:
                order.append("except")
            else:
                order.append("else")
            finally:
                order.append("finally")
        return a + 1, order

    same(f, (x,))


def test_split_subgroup_and_derive():
    def f(a):
        group = ExceptionGroup("eg", (ValueError(1), ExceptionGroup("in", [KeyError(2), ValueError(3)])))
        group.add_note("noted")
        match, rest = group.split(ValueError)
        evens = group.subgroup(lambda e: not isinstance(e, ExceptionGroup) and e.args[0] == 2)
        parts = [match, rest, evens, group.subgroup(OSError), group.derive([TypeError(4)])]
        return a + 1, [shape_of(p) for p in parts], group.split(OSError)[1] is group, match.__notes__ is group.__notes__

    same(f, (x,))


def test_class_with_its_own_derive():
    def f(a):
        try:
            raise Tagged("t", [ValueError(1), KeyError(2)])
        except* ValueError as e:
            found = shape_of(e)
        except* KeyError:
            pass
        return a + 1, found

    same(f, (x,))


def test_kinds_of_groups_and_errors():
    def f(a):
        found = [
            type(BaseExceptionGroup("b", [ValueError(1)])),
            type(BaseExceptionGroup("b", [KeyboardInterrupt()])),
            isinstance(ExceptionGroup("b", [ValueError()]), Exception),
        ]
        for arguments in (("m", []), ("m", [3]), (3, [ValueError()]), ("m",), ("m", [KeyboardInterrupt()])):
            try:
                ExceptionGroup(*arguments)
            except (ValueError, TypeError) as e:
                found.append(str(e))
        try:
            try:
                raise ValueError
            except* ExceptionGroup:
                pass
        except TypeError as e:
            found.append(str(e))
        return a + 1, found

    same(f, (x,), whole=None)


def test_a_group_that_leaves():
    def f(a):
        b = a + 1
        try:
            raise ExceptionGroup("eg", [ValueError(b.ndim), KeyError(2)])
        except* ValueError:
            b = b * 2

    def error_of(function):
        with pytest.raises(ExceptionGroup) as caught:
            function(x)
        return shape_of(caught.value), family(caught.value.__context__)

    compiled = nl.compile(f)
    for _ in range(2):
        assert error_of(compiled) == error_of(f)
