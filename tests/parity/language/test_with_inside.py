"""`with` on managers from outside whose methods are Python: entered, left and told of exceptions inside."""

import contextlib
import threading
import zlib

import numpy as np
from same_call import same

x = np.arange(1.0, 13.0).reshape(3, 4)


class Manager:
    def __init__(self, swallows=()):
        self.swallows = swallows

    def __enter__(self):
        return self

    def __exit__(self, kind, value, traceback):
        return kind is not None and issubclass(kind, self.swallows)


class Turning:
    """Raises another exception when it is left by one."""

    def __enter__(self):
        return 2

    def __exit__(self, kind, value, traceback):
        if value is not None:
            raise KeyError("turned") from value


def test_manager_that_does_nothing():
    def f(a, m):
        with m as k:
            b = a + 1
        return b, k is m

    same(f, (x, Manager()))


def test_swallowed_and_not_swallowed():
    def f(a, m):
        order = []
        try:
            with m:
                order.append("in")
                raise ValueError("v")
            order.append("behind")
        except ValueError as e:
            order.append(str(e))
        return a + 1, order

    same(f, (x, Manager((ValueError, KeyError))), (x, Manager((KeyError,))), (x, Manager()))


def test_exit_that_raises():
    def f(a, m):
        try:
            with m as k, m:
                a = a * k
                raise ValueError("v")
        except KeyError as e:
            return a, str(e), str(e.__cause__), type(e.__context__), e.__cause__.__context__.args

    same(f, (x, Turning()))


def test_return_break_and_continue_inside():
    def f(a, m):
        for i in range(4):
            with m:
                if i == 0:
                    continue
                if i == 2:
                    return a * i
                a = a + 1
        return a

    same(f, (x, Manager()))


def test_value_of_the_exception_is_the_instance():
    class Keeps:
        def __enter__(self):
            return []

        def __exit__(self, kind, value, traceback):
            assert traceback is not None
            assert type(value) is kind
            return value.args == (3,)

    def f(a, m):
        with m as seen:
            seen.append(1)
            raise IndexError(3)
        return a + len(seen)

    same(f, (x, Keeps()))


def test_errstate_is_left_by_an_exception():
    def f(a):
        try:
            with np.errstate(divide="ignore"):
                b = 1 / (a - 1)
                raise ValueError("v")
        except ValueError:
            return b, a * 2

    same(f, (x,))


def test_break_inside_the_block():
    log = []

    def f(a, m):
        try:
            with m as k:
                log.append((k.swallows, zlib.crc32(b"")))
                a = a * 2
                raise ValueError(a.ndim)
        except ValueError as e:
            return a + 1, e.args

    same(f, (x, Manager()), whole=False)


class Unbound:
    """Its methods are no functions: nothing is given to them as self."""

    __enter__ = staticmethod(lambda: 3)
    __exit__ = staticmethod(lambda kind, value, traceback: kind is KeyError)


class HalfC:
    """Entered in Python, left in C."""

    __exit__ = {}.get

    def __enter__(self):
        return 2


def test_managers_that_cpython_enters():
    lock = threading.Lock()

    def f(a, odd, half):
        data = bytearray(3)
        with memoryview(data) as view, lock, odd as k:
            b = a * k
            view[1] = b.ndim
            if lock.locked():
                raise KeyError(b.shape)
        c = b + len(data)
        with half as k:
            data.append(k)
            c = c * k
        return c, data, lock.locked()

    same(f, (x, Unbound(), HalfC()), whole=False)


def test_manager_in_a_loop_with_breaks():
    def f(a, odd):
        seen = []
        for i in range(4):
            with odd, Manager((ValueError,)) as m:
                a = a + i
                seen.append((i, zlib.crc32(b""), m.swallows))
                if i == 1:
                    continue
                if i == 2:
                    raise ValueError(i)
                if i == 3:
                    return a, seen
            seen.append("behind")

    same(f, (x, Unbound()), whole=False)


class Bare:
    pass


def test_manager_without_the_methods():
    def f(a, m):
        try:
            with m:
                return a
        except (TypeError, AttributeError) as e:
            return a + 1, str(e)

    same(f, (x, Bare()), whole=False)


@contextlib.contextmanager
def scope(log, a):
    """Documented."""
    log.append("in")
    try:
        yield a + 1
    except KeyError as error:
        log.append(error.args)
    finally:
        log.append("out")


def test_contextmanager():
    def f(a):
        log = []
        with scope(log, a) as b:
            c = b * 2
        with scope(log, c) as d:
            raise KeyError("k")
        return c + d, log

    same(f, (x,))

    def g(a):
        log = []
        try:
            with scope(log, a):
                raise ValueError("k")
        except ValueError as error:
            log.append(str(error))
        return a + 1, log

    same(g, (x,))


def test_contextmanager_made_inside():
    def f(a, k):
        @contextlib.contextmanager
        def scaled():
            yield a * k

        with scaled() as b:
            return b + 1, scaled.__name__

    same(f, (x, 2.0), whole=None)


def test_texts_of_functions():
    def documented(a):
        "Text."
        return a

    def f(a):
        def inner():
            "Inner."

        bare = lambda: 1
        texts = [getattr(g, "__doc__", 5) for g in (documented, inner, bare, scope)]
        names = [(g.__name__, g.__qualname__, g.__module__) for g in (documented, inner, bare)]
        return a + 1, texts, names

    same(f, (x,))
