"""match statements and type parameters inside one graph."""

import collections
import dataclasses
import sys

import numpy as np
import pytest
from same_call import same

x = np.arange(1.0, 13.0).reshape(3, 4)


class Point:
    __match_args__ = ("a", "b")

    def __init__(self, a, b):
        self.a = a
        self.b = b

    @property
    def total(self):
        return self.a + self.b

    @property
    def hidden(self):
        raise AttributeError("hidden")


class Wide(Point):
    pass


@dataclasses.dataclass
class Pair:
    left: int
    right: object


def test_class_patterns():
    def f(x, p):
        match p:
            case Wide(1, b):
                return x * b, "wide"
            case Point(a, b=3):
                return x * a, "b is 3"
            case Point(hidden=_):
                return x, "hidden"
            case Point(total=t, nothing=_):
                return x, "nothing"
            case Point(total=t):
                return x * t, "total"
            case Pair(left, Pair(right=(r, *more))):
                return x * left, r, more
            case Pair():
                return x, "pair"
            case _:
                return x, None

    points = (Point(1, 3), Point(2, 5), Wide(1, 4), Wide(2, 4), Pair(1, 2), Pair(4, Pair(0, (1, 2, 3))), 3, "s")
    same(f, *((x, p) for p in points), whole=None)
    for p in points:
        same(f, (x, p))


def test_builtin_classes():
    def f(x, v):
        match v:
            case bool(b):
                return x, b
            case int(n) | float(n):
                return x * n
            case str() as s:
                return x, len(s)
            case [int(a), *rest]:
                return x + a, rest
            case {"k": k, **rest}:
                return x + k, rest
            case np.ndarray(shape=(rows, columns)):
                return v + rows, columns
            case None:
                return x, None
            case tuple((only,)):
                return only
            case _:
                return x - 1

    for v in (True, 3, 2.5, "text", [1, 2, 3], {"k": 1, "m": 2}, np.ones((3, 4)), None, ("z",), {1: 2}):
        same(f, (x, v))


def test_errors_of_patterns():
    def f(x, p):
        try:
            match p:
                case Point(1, 2, 3):
                    return x
        except TypeError as e:
            return x + 1, str(e)
        return x

    same(f, (x, Point(1, 2)), (x, 3))

    def g(x, p):
        try:
            match p:
                case Point(1, a=2):
                    return x
        except TypeError as e:
            return x + 1, str(e)

    same(g, (x, Point(1, 2)))


def test_match_on_exceptions():
    def f(x):
        found = []
        for error in (ValueError(1, 2), KeyError("k"), StopIteration(5)):
            try:
                raise error
            except Exception as e:
                match e:
                    case ValueError(args=(a, b)):
                        found.append(a + b)
                    case KeyError():
                        found.append(str(e))
                    case StopIteration(value=v):
                        found.append(v)
        return x * len(found), found

    same(f, (x,))


def test_named_tuples_match():
    Row = collections.namedtuple("Row", "a b")

    def f(x, row):
        match row:
            case Row(a=1, b=b):
                return x * b
            case (a, b):
                return x + a

    same(f, (x, Row(1, 2)), (x, Row(2, 3)), (x, (5, 6)), whole=None)


if sys.version_info >= (3, 12):
    SOURCE = """
def with_parameters(x):
    def first[T: int, *Ts, **P](a: T, n: int = 2) -> T:
        return a * n

    type Rows[T] = list[T]

    def plain[T](a):
        def inner(b):
            return b + a
        return inner

    return first(x), plain(1)(x)


def handed_out(x):
    def first[T](a: T) -> T:
        return a * 2

    return first(x), first
"""
    names = {}
    exec(compile(SOURCE, "<type_parameters>", "exec"), names)

    def test_type_parameters():
        same(names["with_parameters"], (x,))

    def test_function_with_type_parameters_that_is_handed_out():
        import numlift as nl

        value, function = nl.compile(names["handed_out"])(x)
        np.testing.assert_array_equal(value, x * 2)
        assert [p.__name__ for p in function.__type_params__] == ["T"]
        assert function.__annotations__["a"] is function.__type_params__[0]


@pytest.mark.parametrize("n", [0, 3])
def test_recursion_over_a_structure(n):
    def total(tree):
        match tree:
            case int(v):
                return v
            case (left, right):
                return total(left) + total(right)

    def f(x, tree):
        return x * total(tree)

    tree = 1
    for i in range(n):
        tree = (tree, i)
    same(f, (x, tree))
