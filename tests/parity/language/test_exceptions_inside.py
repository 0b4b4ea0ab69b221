"""Exceptions that are made, raised and handled inside the compiled function, in one graph."""

import sys

import numpy as np
import pytest
from same_call import breaks, same

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

    import numlift as nl

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

    import numlift as nl

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

    import numlift as nl

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


# ---------------------------------------------------------------- operations that raise


def test_operations_on_known_values():
    def f(a, what):
        table, items = {"a": 1, 2: "b"}, [1, 2]
        try:
            if what == 0:
                table["no"]
            elif what == 1:
                items[5]
            elif what == 2:
                (1, 2)[-3]
            elif what == 3:
                1 // 0
            elif what == 4:
                [].pop()
            elif what == 5:
                items.remove(7)
            elif what == 6:
                table.pop("q")
            elif what == 7:
                del table["q"]
            elif what == 8:
                p, q = (1, 2, 3)
            elif what == 9:
                p, q, *r = (1,)
            elif what == 10:
                int("ten")
            elif what == 11:
                "a" + 1
            elif what == 12:
                max([])
            elif what == 13:
                items.index(9)
            elif what == 14:
                {}.popitem()
            elif what == 15:
                len(3)
            elif what == 16:
                next(iter([]))
            elif what == 17:
                items < 3
            elif what == 18:
                "abc".no
            elif what == 19:
                no_such_name  # noqa: F821
            elif what == 20:
                list(zip(items, [1], strict=True))
            elif what == 21:
                list(zip(items, [1, 2, 3], strict=True))
            elif what == 22:
                1.5 % 0
            elif what == 23:
                items["x"]
            elif what == 24:
                sorted([1, "b"])
            elif what == 25:
                chr(-1)
            elif what == 26:
                2**0.5 @ 3
            elif what == 27:
                items[0] = items[9] = 3
            elif what == 28:
                dict([(1, 2, 3)])
            elif what == 29:
                float("x")
            elif what == 30:
                set().remove(3)
        except Exception as e:
            return a + 1, type(e).__name__, str(e), e.args, items
        return a

    same(f, *((x, what) for what in range(31)), whole=None)
    for what in (0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 16, 18, 19, 20, 21, 22, 24, 25, 27, 29, 30):
        same(f, (x, what))


def test_operations_of_numpy():
    def f(a, b, what):
        try:
            if what == 0:
                return a + b
            if what == 1:
                return a @ a
            if what == 2:
                return a[7]
            if what == 3:
                return a[0, 0, 0]
            if what == 4:
                return a.sum(axis=2)
            if what == 5:
                return a.reshape(5, 5)
            if what == 6:
                return np.concatenate([a, b])
            if what == 7:
                return a.nothing
            if what == 8:
                a[0] = b
            if what == 9:
                return a.transpose(0, 0)
            if what == 10:
                return np.zeros((2, -1))
            if what == 11:
                return np.stack([])
            if what == 12:
                return len(a.sum())
            if what == 13:
                return np.exp(a, b, b, b)
            if what == 14:
                a += b
            if what == 15:
                return np.broadcast_to(a, (2, 2))
        except (ValueError, IndexError, TypeError, AttributeError) as e:
            return a * 2, type(e).__name__, str(e), isinstance(e, ValueError)
        return a

    b = np.arange(5.0)
    same(f, *((x, b, what) for what in range(16)), whole=None)
    for what in (0, 1, 2, 3, 4, 5, 7, 8, 9, 10, 14, 15):
        same(f, (x, b, what))


def test_sizes_that_fail_are_guarded():
    def f(a, b):
        try:
            return a + b, None
        except ValueError as e:
            return a * 2, str(e)

    same(f, (np.ones((3, 4)), np.ones(5)), (np.ones((3, 4)), np.ones(4)), (np.ones((2, 4)), np.ones(5)),
         (np.ones((2, 4)), np.ones(1)))  # fmt: skip


def test_index_by_an_argument():
    def f(a, items, i):
        try:
            return a * items[i]
        except IndexError as e:
            return a, str(e)

    same(f, (x, [1, 2], 0), (x, [1, 2], 2), (x, [1, 2], -3), (x, [1, 2, 3], 2))


def test_key_by_an_argument():
    def f(a, table, key):
        try:
            return a * table[key]
        except KeyError as e:
            return a, e.args, e.args[0] is key

    same(f, (x, {"a": 2}, "a"), (x, {"a": 2}, "b"), (x, {"b": 2}, "b"))


def test_attributes_that_are_not_there():
    class Plain:
        value = 3

    def f(a, o):
        try:
            return a * o.scale
        except AttributeError as e:
            return a * o.value, str(e), e.name, e.obj is o

    other = Plain()
    other.scale = 5
    same(f, (x, Plain()), (x, other), whole=None)


def test_stores_before_the_error_are_kept():
    def f(a):
        try:
            a[0] = 5
            a[1] += 1
            a[9] = 7
        except IndexError as e:
            return a.sum(), str(e)

    same(f, (x,))


# ---------------------------------------------------------------- through calls


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

    import traceback

    import numlift as nl

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

    import numlift as nl

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
