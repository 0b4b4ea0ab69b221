"""Objects of the user's classes: methods, properties, class and static methods, operators, super."""

import enum
import types

import numpy as np
from same_call import same

x = np.arange(6.0)


class Base:
    shift = 1.0

    def __init__(self, weight):
        self.weight = weight

    def apply(self, a):
        return a * self.weight + self.shift

    @property
    def doubled(self):
        return self.weight * 2

    @staticmethod
    def halve(a):
        return a / 2

    @classmethod
    def shifted(cls, a):
        return a + cls.shift

    def __call__(self, a):
        return self.apply(a) - 1

    def __add__(self, other):
        return self.weight + other

    def __radd__(self, other):
        return other - self.weight

    def __getitem__(self, key):
        # NumPy reads an operand like this one as a sequence, until the IndexError.
        if key >= 3:
            raise IndexError(key)
        return self.weight * key

    def __len__(self):
        return 3

    def __contains__(self, item):
        return item == 7

    def __neg__(self):
        return -self.weight

    def __lt__(self, other):
        return self.shift < other.shift


class Derived(Base):
    shift = 2.0

    def apply(self, a):
        return super().apply(a) * 10

    @classmethod
    def shifted(cls, a):
        return super().shifted(a) * 3


def run(f, *objects):
    for make in objects:
        thing = make()
        same(lambda a: f(thing, a), (x,))


def both():
    return [lambda: Base(2.0), lambda: Derived(np.arange(6.0))]


def test_methods_and_attributes():
    run(lambda m, a: (m.apply(a), m.weight, m.shift, Base.shift), *both())


def test_property_static_and_class_methods():
    run(lambda m, a: (m.doubled * a, m.halve(a), Base.halve(a), m.shifted(a), type(m).shifted(a)), *both())


def test_callable_object():
    run(lambda m, a: m(a), *both())


def test_super():
    run(lambda m, a: m.apply(a), lambda: Derived(3.0))


def test_operators():
    run(lambda m, a: (m + 1.0, 1.0 + m, m[2], len(m), 7 in m, 8 in m, -m, bool(m), m < m), *both())


def test_operator_with_an_array_on_the_right():
    run(lambda m, a: m + a, *both())


def test_operator_with_an_array_on_the_left_is_left_to_python():
    class Plain:
        def __radd__(self, other):
            return other - 1

    thing = Plain()
    same(lambda a: a + thing, (x,), whole=False)


def test_bound_method_as_a_value():
    def f(m, a):
        g = m.apply
        h = Base.apply
        return g(a) + h(m, a), [k(a) for k in (m.apply, m.halve)]

    run(f, *both())


def test_self_as_an_argument():
    def f(self, a):
        return self.apply(a) + len(self)

    same(f, (Base(2.0), x))


def test_class_tests():
    def f(m, a):
        return (
            isinstance(m, Base), isinstance(m, (int, Derived)), issubclass(Derived, Base), type(m) is Derived,
            type(m) == Base, isinstance(a, np.ndarray), isinstance(1, int), isinstance(True, int), isinstance(a, (list, tuple)),
            isinstance([a], list), isinstance("s", str), isinstance(a.sum(), float), type(a).__name__, type(a.sum()) is np.float64,
            m.__class__ is Base,
        )

    run(f, *both())


def test_getattr_hasattr_callable():
    def f(m, a):
        return (
            getattr(m, "shift"), getattr(m, "missing", 5), hasattr(m, "weight"), hasattr(m, "missing"), callable(m),
            callable(len), callable(3), getattr(a, "ndim"), hasattr(a, "shape"), hasattr(a, "nothing"), hasattr(np, "sin"),
        )

    run(f, *both())


def test_missing_attribute_raises():
    thing = Base(1.0)
    same(lambda a: thing.nothing, (x,), whole=False)


def test_simple_namespace_and_modules():
    space = types.SimpleNamespace(k=2.0, nested=types.SimpleNamespace(w=x))
    same(lambda a: a * space.k + space.nested.w, (x,))
    same(lambda a: np.linalg.norm is not None and a * np.pi, (x,))


def test_enum_members():
    class Mode(enum.Enum):
        ADD = 1
        MUL = 2

    def f(a, mode):
        return a + 1 if mode is Mode.ADD else a * 2

    same(f, (x, Mode.ADD), (x, Mode.MUL), whole=None)


def test_match_statement():
    def f(a, command):
        match command:
            case ("scale", k):
                return a * k
            case {"shift": s}:
                return a + s
            case [first, *rest]:
                return a * first + len(rest)
            case None | "none":
                return a
            case _:
                return -a

    same(f, (x, ("scale", 2.0)), (x, {"shift": 1.0}), (x, [1, 2, 3]), (x, None), (x, "none"), (x, 7))


def test_import_inside():
    def f(a):
        import numpy
        import numpy.linalg as la
        from numpy import cos

        return numpy.sin(a) + cos(a), la is numpy.linalg

    same(f, (x,))


def test_operators_of_a_user_class_never_run_while_tracing():
    calls = []

    class Loud:
        def __eq__(self, other):
            calls.append("eq")
            return True

        def __hash__(self):
            calls.append("hash")
            return 1

        def __bool__(self):
            calls.append("bool")
            return True

    import numlift as nl

    loud = Loud()

    def f(a):
        return a if {1: loud}[1] is loud else -a

    nl.compile(f)(x)
    assert calls == []
