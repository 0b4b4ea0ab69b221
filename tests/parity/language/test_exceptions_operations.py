"""Operations that raise on what is known while tracing, with a handler for it in the function."""

import numpy as np
from same_call import same

x = np.arange(1.0, 13.0).reshape(3, 4)


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
