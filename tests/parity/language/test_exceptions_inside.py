"""Exceptions that are made, raised and handled inside the compiled function, in one graph."""

import sys

import numpy as np
from same_call import same

import numlift as nl

x = np.arange(1.0, 13.0).reshape(3, 4)


class Refused(Exception):
    """With an initialiser and attributes of its own."""

    kind = "refused"

    def __init__(self, code, *, detail="none"):
        super().__init__(f"refused with {code}")
        self.code = code
        self.detail = detail

    def __str__(self):
        return f"<{self.code}: {self.args[0]}>"

    @property
    def doubled(self):
        return self.code * 2

    def told(self, more):
        return self.detail + more


class Missing(KeyError):
    pass


class NotRaised(ValueError):
    def __init__(self, *args):
        ValueError.__init__(self, "first", *args)


def family(e):
    """What can be seen of an exception but its traceback."""
    if e is None:
        return None
    return type(e), e.args, str(e), repr(e), e.__suppress_context__, family(e.__cause__), family(e.__context__)


# ---------------------------------------------------------------- raise and except


def test_classes_of_a_handler():
    def f(a, kind):
        try:
            if kind == 0:
                raise ValueError("v", 1)
            elif kind == 1:
                raise KeyError("k")
            elif kind == 2:
                raise ZeroDivisionError
            elif kind == 3:
                raise KeyboardInterrupt
            elif kind == 4:
                raise UnicodeError("u")
            b = a + 1
        except (KeyError, ZeroDivisionError) as e:
            return a, type(e).__name__, e.args, str(e)
        except ValueError as e:
            return a * 2, e.args, repr(e), isinstance(e, UnicodeError)
        except BaseException as e:
            return a * 3, isinstance(e, Exception), repr(e)
        else:
            return b
        finally:
            a = a - 1

    same(f, *((x, kind) for kind in range(6)))


def test_the_handler_that_matches_first():
    def f(a):
        try:
            raise Missing("m")
        except IndexError:
            return a
        except LookupError as e:
            return a * 2, str(e), e.args
        except KeyError:
            return a * 3

    same(f, (x,))


def test_name_of_the_exception_is_gone_behind_the_handler():
    def f(a):
        e = 1
        try:
            raise ValueError
        except ValueError as e:
            pass
        try:
            return e
        except UnboundLocalError as error:
            return a + 1, str(error), error.name

    same(f, (x,))


def test_bare_except_and_raise_again():
    def f(a):
        seen = []
        try:
            try:
                raise ValueError("one")
            except:  # noqa: E722
                seen.append(sys.exception().args)
                raise
        except ValueError as e:
            seen.append(e.__context__)
            return a + 1, seen, family(e)

    same(f, (x,))


def test_raise_from():
    def f(a, how):
        try:
            try:
                raise KeyError("inner")
            except KeyError as e:
                if how == 0:
                    raise ValueError("outer") from e
                if how == 1:
                    raise ValueError("outer") from None
                if how == 2:
                    raise ValueError("outer") from OSError
                if how == 3:
                    raise ValueError("outer") from IndexError("other", 2)
                raise ValueError("outer")
        except ValueError as e:
            return a * 2, family(e)

    same(f, *((x, how) for how in range(5)))


def test_context_of_nested_handlers():
    def f(a):
        try:
            try:
                try:
                    raise KeyError(1)
                finally:
                    raise IndexError(2)
            except IndexError as e:
                try:
                    raise TypeError(3)
                except TypeError:
                    raise ValueError(4) from e
        except ValueError as e:
            result = family(e)
        return a + 1, result, sys.exc_info()

    same(f, (x,))


def test_context_has_no_cycle():
    def f(a):
        first = ValueError("first")
        try:
            try:
                raise first
            except ValueError:
                try:
                    raise KeyError("second")
                except KeyError as e:
                    assert e.__context__ is first
                    raise first
        except ValueError as e:
            return a + 1, e is first, family(e)

    same(f, (x,))


def test_context_that_is_the_callers():
    def f(a):
        try:
            raise ValueError("inside")
        except ValueError as e:
            return a + 1, family(e.__context__)

    same(f, (x,))

    def outer(a):
        try:
            raise KeyError("outside")
        except KeyError:
            return f(a)

    compiled = nl.compile(f)
    for _ in range(2):
        assert compiled(x)[1] is None
        try:
            raise KeyError("outside")
        except KeyError as e:
            assert compiled(x)[1] == family(e)
    same(outer, (x,))


def test_finally_with_return_break_and_continue():
    def f(a):
        order = []
        for i in range(5):
            try:
                if i == 1:
                    raise ValueError(i)
                if i == 4:
                    raise KeyError(i)
            except ValueError:
                order.append("except")
                continue
            finally:
                order.append(i)
                if i == 4:
                    break
        return a * len(order), order

    def g(a):
        while True:
            try:
                raise ValueError("lost")
            finally:
                return a + 1  # noqa: B012

    def h(a):
        def inner():
            try:
                return a.sum()
            finally:
                order.append("finally")

        order = []
        return inner() + 1, order

    for function in (f, g, h):
        same(function, (x,))


def test_else_is_not_guarded():
    def f(a):
        order = []
        try:
            try:
                order.append(1)
            except ValueError:
                order.append(2)
            else:
                raise ValueError(3)
            finally:
                order.append(4)
        except ValueError as e:
            order.append(e.args)
        return a + 1, order

    same(f, (x,))


def test_raise_of_what_is_no_exception():
    def f(a, what):
        try:
            if what == 0:
                raise 3
            if what == 1:
                raise int
            if what == 2:
                raise ValueError from 3
            try:
                raise ValueError
            except 3:
                pass
        except TypeError as e:
            return a + 1, str(e), family(e.__cause__)

    same(f, *((x, what) for what in range(4)))


# ---------------------------------------------------------------- instances


def test_class_with_an_initialiser():
    def f(a):
        try:
            raise Refused(3, detail="why")
        except Refused as e:
            e.detail += "!"
            e.more = a
            return a * e.code, str(e), repr(e), e.args, e.kind, e.doubled, e.told("?"), e.more, hasattr(e, "none")

    same(f, (x,))


def test_super_and_base_initialiser():
    def f(a):
        e = NotRaised(1, 2)
        return a + 1, e.args, str(e), f"{e}|{e!r}|{e!s:>5}", len(str(Missing(a.ndim))), bool(e)

    same(f, (x,))


def test_notes_and_attributes():
    def f(a):
        e = ValueError("noted")
        e.add_note("one")
        e.add_note("two")
        e.args = ("other", 2)
        e.__cause__ = KeyError("cause")
        e.__suppress_context__ = False
        del e.__notes__[0]
        return a + 1, e.__notes__, family(e), e.with_traceback(None) is e

    same(f, (x,))


def test_members_of_builtin_exceptions():
    def f(a):
        found = []
        for e in (
            StopIteration(1, 2),
            SystemExit(),
            OSError(2, "gone", "path"),
            AttributeError("text", name="n"),
            ImportError("text", name="n", path="p"),
            UnicodeDecodeError("utf-8", b"ab", 0, 1, "why"),
        ):
            found.append((type(e).__name__, e.args, str(e)))
        stop = StopIteration(5)
        return a + 1, found, stop.value, OSError(2, "gone").errno, AttributeError("t", name="n").name

    same(f, (x,))


def test_text_of_key_errors_and_of_several_arguments():
    def f(a):
        texts = [str(KeyError("k")), str(KeyError()), str(KeyError(1, "b")), str(ValueError()), repr(ValueError("a", 1))]
        texts.append(str(ValueError(ValueError("inner"))))
        texts.append(str(ValueError("x", ValueError("inner"))))
        return a + 1, texts

    same(f, (x,))


def test_an_instance_that_is_handed_out():
    def f(a):
        return a + 1, [ValueError("x", 1)], StopIteration(2)

    got, plain = nl.compile(f)(x), f(x)
    assert repr(got[1:]) == repr(plain[1:])
    assert got[2].value == 2
    assert got[1][0].__traceback__ is None


def test_a_caught_exception_that_is_handed_out():
    def f(a):
        try:
            raise ValueError("kept")
        except ValueError as e:
            kept = e
        return a + 1, kept

    for _ in range(2):
        kept = nl.compile(f)(x)[1]
        assert kept.__traceback__.tb_lineno == f.__code__.co_firstlineno + 2
        assert kept.__traceback__.tb_frame.f_code.co_name == "f"


def test_reading_the_traceback_is_left_to_python():
    def f(a):
        b = a + 1
        try:
            raise ValueError("kept")
        except ValueError as e:
            return b, e.__traceback__.tb_lineno

    same(f, (x,), whole=False)


def test_a_context_that_goes_round():
    # The search for the new exception among the contexts of the old one had no end.
    def f(a):
        try:
            try:
                raise ValueError(1)
            except ValueError as error:
                error.__context__ = error
                raise TypeError(2)
        except TypeError as error:
            inner = error.__context__
            return a + 1, type(inner), inner.__context__ is inner

    same(f, (x,), whole=None)
