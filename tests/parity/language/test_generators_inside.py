"""Generators and coroutines that live inside the compiled function: send, throw, close, finally."""

import warnings

import numpy as np
from same_call import same

import numlift as nl

x = np.arange(1.0, 13.0).reshape(3, 4)


def test_send():
    def f(a):
        def running(total):
            while True:
                got = yield total
                if got is None:
                    return total
                total = total + got

        g = running(a)
        next(g)
        b = g.send(1)
        c = g.send(a)
        try:
            g.send(None)
        except StopIteration as stop:
            return b, c, stop.value, stop.args[0] is c

    same(f, (x,))


def test_throw_is_handled_inside():
    def f(a):
        order = []

        def g():
            while True:
                try:
                    yield a * len(order)
                except ValueError as e:
                    order.append(str(e))
                except KeyError:
                    order.append("key")
                    return 7
                finally:
                    order.append("finally")

        it = g()
        first = next(it)
        second = it.throw(ValueError("one"))
        third = it.throw(ValueError)
        try:
            it.throw(KeyError)
        except StopIteration as stop:
            order.append(stop.value)
        try:
            it.throw(ValueError("at the end"))
        except ValueError as e:
            order.append((e.args, e.__context__))
        return first, second, third, order, list(it)

    same(f, (x,))


def test_throw_that_is_not_handled():
    def f(a):
        order = []

        def g():
            try:
                yield 1
            finally:
                order.append("finally")

        it = g()
        next(it)
        try:
            it.throw(ValueError("out"))
        except ValueError as e:
            order.append(e.args)
        unstarted = g()
        try:
            unstarted.throw(KeyError("early"))
        except KeyError as e:
            order.append(e.args)
        order.append(next(unstarted, "ended"))
        return a + 1, order

    same(f, (x,))


def test_close():
    def f(a):
        order = []

        def g(k):
            try:
                yield k
                yield k + 1
            except GeneratorExit:
                order.append("exit")
                raise
            finally:
                order.append(k)

        it = g(1)
        next(it)
        it.close()
        it.close()
        fresh = g(2)
        fresh.close()
        order.append(next(fresh, None))
        done = g(3)
        order.append(list(done))
        done.close()
        return a + 1, order

    same(f, (x,))


def test_close_that_is_ignored():
    def f(a):
        def g():
            while True:
                try:
                    yield 1
                except GeneratorExit:
                    pass

        def once():
            try:
                yield 1
            except GeneratorExit:
                yield 2

        it = once()
        next(it)
        try:
            it.close()
        except RuntimeError as e:
            return a + 1, str(e)

    same(f, (x,))


def test_generator_that_is_dropped():
    def f(a):
        order = []

        def g(k):
            try:
                for i in range(5):
                    yield i
            finally:
                order.append(k)

        for i in g("loop"):
            if i == 2:
                break
        order.append("behind the loop")
        it = g("variable")
        next(it)
        it = None
        order.append("dropped")
        kept = g("end")
        next(kept)
        holder = [g("in a list")]
        next(holder[0])
        holder.clear()
        return a + 1, order

    same(f, (x,))


def test_generator_dropped_by_an_exception():
    def f(a):
        order = []

        def g(k):
            try:
                yield k
            finally:
                order.append(k)

        def inner():
            it = g("inner")
            next(it)
            raise ValueError("v")

        try:
            inner()
        except ValueError:
            order.append("handler")
        return a + 1, order

    same(f, (x,), whole=None)


def test_return_in_a_loop_over_a_generator():
    def f(a):
        order = []

        def g():
            try:
                yield a
                yield a + 1
            finally:
                order.append("closed")

        def first():
            for v in g():
                return v

        return first() * 2, order

    same(f, (x,))


def test_exception_in_a_generator_that_is_iterated():
    def f(a):
        def g():
            yield 1
            raise ValueError("in g")

        found = []
        try:
            for i in g():
                found.append(i)
        except ValueError as e:
            found.append(str(e))
        try:
            list(g())
        except ValueError as e:
            found.append(e.args)
        try:
            p, q = g()
        except ValueError as e:
            found.append(e.args)
        return a * found[0], found

    same(f, (x,))


def test_stop_iteration_inside_a_generator():
    def f(a):
        def g():
            yield 1
            next(iter([]))

        try:
            list(g())
        except RuntimeError as e:
            return a + 1, str(e), type(e.__cause__), e.__cause__ is e.__context__, e.__suppress_context__

    same(f, (x,))


def test_yield_from():
    def f(a):
        order = []

        def inner():
            try:
                got = yield a
                order.append(got)
                yield a * 2
            except ValueError as e:
                order.append(str(e))
                yield a * 3
            finally:
                order.append("inner")
            return "result"

        def outer():
            result = yield from inner()
            order.append(result)
            yield from [5, 6]

        it = outer()
        found = [next(it), it.send("sent"), it.throw(ValueError("thrown")), *it]
        again = outer()
        next(again)
        again.close()
        third = outer()
        next(third)
        try:
            third.throw(KeyError("through"))
        except KeyError as e:
            order.append(e.args)
        return found, order

    same(f, (x,))


def test_yield_in_with_and_handler():
    class Manager:
        def __enter__(self):
            return 3

        def __exit__(self, kind, value, traceback):
            return kind is KeyError

    manager = Manager()

    def f(a):
        def g():
            with manager as k:
                yield k
                raise KeyError
            try:
                raise ValueError("v")
            except ValueError as e:
                yield str(e)
                try:
                    raise
                except ValueError as again:
                    yield again is e
            yield "end"

        return a + 1, list(g())

    same(f, (x,))


def test_handled_exceptions_of_a_generator_are_its_own():
    def f(a):
        import sys

        def g():
            yield sys.exception() is None
            try:
                raise KeyError("inside")
            except KeyError:
                yield str(sys.exception())
                yield str(sys.exception())
            yield sys.exception() is None

        found = []
        it = g()
        found.append(next(it))
        try:
            raise ValueError("outside")
        except ValueError:
            found.append(next(it))
            found.append(str(sys.exception()))
            found.append(next(it))
        found.append(sys.exception())
        found.append(next(it))
        return a + 1, found

    same(f, (x,))


def test_wrong_use_of_a_generator():
    def f(a):
        def g():
            yield 1
            list(it)

        it = g()
        found = []
        try:
            it.send(3)
        except TypeError as e:
            found.append(str(e))
        next(it)
        try:
            next(it)
        except ValueError as e:
            found.append(str(e))
        return a + 1, found

    same(f, (x,))


# ---------------------------------------------------------------- coroutines


def test_coroutines_await_each_other():
    def f(a):
        async def value(b):
            return b + 1

        async def twice(b):
            first = await value(b)
            return first * await value(first)

        try:
            twice(a).send(None)
        except StopIteration as stop:
            return stop.value

    same(f, (x,))


def test_exception_in_a_coroutine():
    def f(a):
        order = []

        async def fails():
            order.append("fails")
            raise KeyError("k")

        async def main():
            try:
                await fails()
            except KeyError as e:
                order.append(e.args)
            finally:
                order.append("finally")
            return a + 1

        try:
            main().send(None)
        except StopIteration as stop:
            return stop.value, order

    same(f, (x,))


def test_awaitable_with_steps():
    class Steps:
        def __init__(self, n):
            self.n = n

        def __await__(self):
            got = yield self.n
            return got + 1

    steps = Steps(3)

    def f(a):
        async def main():
            return a * await steps

        c = main()
        first = c.send(None)
        try:
            c.send(first)
        except StopIteration as stop:
            return stop.value

    same(f, (x,))


def test_coroutine_that_nobody_awaits():
    def f(a):
        async def value():
            return 1

        value().close()
        return a + 1

    same(f, (x,))
    def g(a):
        async def value():
            return 1

        value()
        return a + 1

    compiled = nl.compile(g)
    for _ in range(2):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            compiled(x)
        assert [str(w.message) for w in caught] == ["coroutine 'test_coroutine_that_nobody_awaits.<locals>.g.<locals>.value' was never awaited"]  # fmt: skip


# ---------------------------------------------------------------- async for, async with


class Rows:
    """An asynchronous iterator without state of its own: it counts in a list."""

    def __init__(self, count):
        self.count = count

    def __aiter__(self):
        return self

    async def __anext__(self):
        raise StopAsyncIteration


class Entered:
    async def __aenter__(self):
        return 2

    async def __aexit__(self, kind, value, traceback):
        return kind is KeyError


def ended(coroutine):
    try:
        coroutine.send(None)
    except StopIteration as stop:
        return stop.value


def test_async_for_over_an_async_generator():
    def f(a):
        async def rows(order):
            try:
                for i in range(3):
                    yield a[i]
            finally:
                order.append("end")

        async def main():
            order = []
            found = [row * 2 async for row in rows(order)]
            async for row in rows(order):
                found.append(row + 1)
            else:
                order.append("else")
            return found, order

        return ended(main())

    same(f, (x,))


def test_await_in_an_async_generator():
    def f(a):
        async def value(k):
            return k + 1

        async def numbers():
            k = await value(1)
            yield k
            yield await value(k)

        async def main():
            return [a * k async for k in numbers()]

        return ended(main())

    same(f, (x,))


def test_async_iterator_of_ones_own():
    def f(a, rows):
        async def main():
            async for row in rows:
                return row
            return a + 1

        return ended(main())

    same(f, (x, Rows(0)))


def test_async_with():
    def f(a, m):
        order = []

        async def main():
            async with m as k:
                order.append(k)
            async with m:
                raise KeyError("swallowed")
            try:
                async with m:
                    raise ValueError("not swallowed")
            except ValueError as e:
                order.append(str(e))
            return a * order[0]

        return ended(main()), order

    same(f, (x, Entered()))


def test_error_in_an_async_generator():
    def f(a):
        async def numbers(how):
            yield 1
            if how == 0:
                raise ValueError("v")
            if how == 1:
                raise StopAsyncIteration
            raise StopIteration

        async def main():
            found = []
            for how in range(3):
                try:
                    async for k in numbers(how):
                        found.append(k)
                except (ValueError, RuntimeError) as e:
                    found.append((str(e), type(e.__cause__)))
            return a + 1, found

        return ended(main())

    same(f, (x,))
