"""Iterators and generators of the user's classes, and what iterates them."""

import numpy as np
from same_call import same

from numlift import disable

x = np.arange(4.0)


class Count:
    def __init__(self, n):
        self.n = n
        self.i = 0

    def __iter__(self):
        return self

    def __next__(self):
        if self.i == self.n:
            raise StopIteration
        self.i += 1
        return self.i


class Pairs:
    def __init__(self, a):
        self.a = a

    def __iter__(self):
        yield self.a, 1
        yield self.a + 1, 2


class OfList:
    def __init__(self, items):
        self.items = items

    def __iter__(self):
        return iter(self.items)


class Only:
    """It can be asked for its next item, and no more."""

    def __next__(self):
        return 5


class Gives:
    def __init__(self, what):
        self.what = what

    def __iter__(self):
        return self.what


@disable
def unknown(value):
    return value


def test_for():
    def f(a):
        total = a
        for i in Count(3):
            total = total + i
        for b, k in Pairs(a):
            total = total * k + b
        for item in OfList([1, a, 2]):
            total = total + item
        return total

    same(f, (x,))


def test_next_and_iter():
    def f(a):
        it = Count(2)
        first = next(it)
        again = iter(it)
        rest = [next(again, "end"), next(it, "end"), next(it, a)]
        return first, rest, again is it, it.i, next(Only()) + a

    same(f, (x,))


def test_next_at_the_end_raises():
    def f(a):
        try:
            next(Count(0))
        except StopIteration as stop:
            return a + 1, stop.args
        return a

    same(f, (x,))


def test_what_takes_an_iterable():
    def f(a):
        first, *rest = Count(3)
        pairs = list(zip(Count(2), Pairs(a), Count(9)))
        many = [i for i, _ in enumerate(Count(3))]
        return first, rest, pairs, many, sum(Count(4)), max(Count(3)), sorted(Count(3)), list(map(abs, Count(2)))

    same(f, (x,))


def test_yield_from():
    def gen(a):
        yield from Count(2)
        yield from OfList([a])

    def f(a):
        return list(gen(a))

    same(f, (x,))


def test_break_inside_the_loop():
    def f(a):
        seen = []
        for i in Count(3):
            unknown(b"x")
            seen.append(i)
        return a + 1, seen

    same(f, (x,), whole=False)


def test_break_inside_next():
    class Broken(Count):
        def __next__(self):
            unknown(b"x")
            return super().__next__()

    def f(a):
        return a + 1, [i for i in Broken(3)]

    same(f, (x,), whole=False)


def test_iterators_over_them_are_handed_out():
    def f(a):
        numbers = enumerate(Count(3))
        first = next(numbers)
        unknown(b"x")
        return a + 1, first, list(numbers)

    same(f, (x,), whole=False)


def test_from_outside():
    outside = Count(3)

    def f(a, it):
        return a + 1, [i for i in it], it.i

    same(f, (x, outside))


def test_errors():
    class Bad:
        def __iter__(self):
            raise ValueError("no items")

    class Worse(Count):
        def __next__(self):
            raise KeyError("k")

    def f(a, it):
        for i in it:
            a = a + i
        return a

    same(f, (x, Bad()), whole=False)
    same(f, (x, Worse(1)), whole=False)
    same(f, (x, Gives([1, 2])), whole=False)
    same(f, (x, Gives(None)), whole=False)

    def g(a):
        try:
            for _ in Worse(1):
                pass
        except KeyError as error:
            return a + 1, error.args
        return a

    same(g, (x,))


class Backwards(OfList):
    def __reversed__(self):
        return iter("reversed")


class Never(OfList):
    __reversed__ = None


def test_reversed():
    def f(a, items):
        return a + 1, list(reversed(items))

    same(f, (x, Backwards([1])))
    same(f, (x, Never([1])), whole=False)
    same(f, (x, OfList([1])), whole=False)


def test_unpacking_takes_one_item_more():
    def numbers():
        yield from range(5)

    def f(a, it):
        try:
            p, q = it
        except ValueError as error:
            return a + 1, str(error), next(it, "end")

    def g(a):
        return [f(a, numbers()), f(a, Count(4)), f(a, iter(range(9))), f(a, Count(3))]

    same(g, (x,), whole=None)


async def coroutine():
    pass


async def agenerator():
    yield 1


def test_what_is_no_iterator():
    def f(a, make):
        errors = []
        made = make()
        for use in (iter, next, list):
            try:
                use(made)
            except TypeError as error:
                errors.append(str(error))
        close = getattr(made, "close", None)
        if close is not None:
            close()
        return a + 1, errors

    same(f, (x, coroutine), (x, agenerator), whole=False)
