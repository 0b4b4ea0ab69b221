"""Instances of the user's classes made inside the compiled function: they are tracked, and become real objects
where they are handed out."""

import abc
import dataclasses
import types

import numpy as np
import pytest
from same_call import BACKENDS, same

import numlift as nl

x = np.arange(6.0)


class Scale:
    unit = 10.0

    def __init__(self, k, *, plus=0):
        self.k = k
        self.plus = plus

    def __call__(self, a, *, twice=False):
        b = a * self.k + self.plus
        return b * 2 if twice else b

    @property
    def double(self):
        return 2 * self.k

    @double.setter
    def double(self, value):
        self.k = value / 2

    @double.deleter
    def double(self):
        del self.k


class Wide(Scale):
    def __init__(self, k):
        super().__init__(k + 1, plus=2)
        self.count = 0

    def __eq__(self, other):
        return self.k == other.k

    def __len__(self):
        return 3

    def __getitem__(self, i):
        return self.k * i

    def __contains__(self, item):
        return item == 1

    def __add__(self, other):
        return Wide(self.k + other.k)


class Slotted:
    __slots__ = ("a", "b")

    def __init__(self, a):
        self.a = a


class Both(Slotted):
    def __init__(self, a):
        super().__init__(a)
        self.c = a + 1


def test_attributes_properties_and_calls():
    def f(a):
        s = Scale(3.0)
        s.double = 10
        first = s(a, twice=True) + s.double + s.unit
        s.unit = 1
        return first, s.unit, Scale.unit, s.plus

    same(f, (x,))


def test_attributes_deleted_and_set_again():
    def f(a):
        s = Scale(1.0)
        del s.k
        had = hasattr(s, "k")
        s.late = a
        s.k = 2.0
        setattr(s, "other", a * 2)
        delattr(s, "late")
        return had, getattr(s, "k"), getattr(s, "late", None), s, hasattr(s, "other")

    same(f, (x,))
    expected, got = vars(f(x)[3]), vars(nl.compile(f)(x)[3])
    assert list(got) == list(expected) == ["plus", "k", "other"]


def test_property_deleted():
    def f(a):
        s = Scale(a)
        del s.double
        return hasattr(s, "k"), a + 1

    same(f, (x,))


def test_subclass_super_and_operators():
    def f(a):
        w = Wide(1.0)
        for _ in range(3):
            w.count += 1
        v = w + Wide(2.0)
        return w(a), w.count, len(w), w[3], 1 in w, 2 in w, w == Wide(1.0), v.k, w is w, w is v, isinstance(w, Scale)

    same(f, (x,))


def test_slots_and_a_dict_beside_them():
    def f(a):
        s, t = Slotted(a), Both(a * 2)
        s.b = s.a + 1
        del s.a
        t.d = 1
        return s.b, hasattr(s, "a"), t.c, t.d

    same(f, (x,))

    def handed_out(a):
        return Slotted(a), Both(a)

    got, both = nl.compile(handed_out)(x)
    np.testing.assert_array_equal(got.a, x)
    assert not hasattr(got, "b") and not hasattr(got, "__dict__")
    np.testing.assert_array_equal(both.a, x)
    np.testing.assert_array_equal(both.c, x + 1)
    assert list(vars(both)) == ["c"]


def test_attribute_that_a_slotted_class_lacks():
    def f(a):
        s = Slotted(a)
        s.nothing = 1
        return a

    same(f, (x,), whole=None)


def test_instances_are_handed_out_once():
    def f(a):
        s = Scale(a + 1)
        s.extra = [a * 2, s]
        pair = (s, s)
        return s, pair, {"s": s}, s.k

    for _ in range(2):
        s, pair, table, k = nl.compile(f)(x)
        assert type(s) is Scale and pair[0] is s and pair[1] is s and table["s"] is s
        assert s.k is k and s.extra[1] is s
        np.testing.assert_array_equal(k, x + 1)
        assert list(vars(s)) == ["k", "plus", "extra"]


def test_new_written_in_python():
    class Counted:
        def __new__(cls, a):
            made = super().__new__(cls)
            made.first = a
            return made

        def __init__(self, a):
            self.second = a * 2

    class Other:
        def __new__(cls, a):
            return (a, 1)

        def __init__(self, a):
            raise AssertionError("not called")

    def f(a):
        c = Counted(a)
        return c.first + c.second, Other(a)

    same(f, (x,))


def test_attribute_hooks():
    class Watched:
        def __init__(self):
            object.__setattr__(self, "log", [])

        def __setattr__(self, name, value):
            self.log.append(name)
            super().__setattr__(name, value)

        def __getattr__(self, name):
            return name + "!"

        def __delattr__(self, name):
            self.log.append("-" + name)
            object.__delattr__(self, name)

    def f(a):
        w = Watched()
        w.k = a
        w.k = a + 1
        del w.k
        return w.log, w.k, w.missing

    same(f, (x,))


def test_getattribute_hook():
    class Counting:
        def __init__(self):
            self.k = 2.0

        def __getattribute__(self, name):
            if name == "triple":
                return object.__getattribute__(self, "k") * 3
            return super().__getattribute__(name)

    def f(a):
        c = Counting()
        return a * c.triple + c.k

    same(f, (x,))


def test_getattr_of_an_outside_object():
    class Odd:
        def __getattr__(self, name):
            return 3.0 if name == "anything" else 4.0

    odd = Odd()

    def f(a):
        return a * odd.anything

    compiled = nl.compile(f)
    np.testing.assert_array_equal(compiled(x), x * 3)
    np.testing.assert_array_equal(compiled(x), x * 3)
    odd.anything = 5.0
    np.testing.assert_array_equal(compiled(x), x * 5)


def test_descriptors():
    class Positive:
        def __set_name__(self, owner, name):
            self.name = "_" + name

        def __get__(self, instance, owner=None):
            return getattr(instance, self.name)

        def __set__(self, instance, value):
            setattr(instance, self.name, abs(value))

    class Holder:
        k = Positive()

        def __init__(self, k):
            self.k = k

    def f(a):
        return a * Holder(-3.0)._k

    same(f, (x,))


def test_dataclasses():
    @dataclasses.dataclass
    class Point:
        x: object
        y: float = 2.0
        tags: list = dataclasses.field(default_factory=list)

        def __post_init__(self):
            self.z = self.y + 1

    @dataclasses.dataclass(frozen=True)
    class Frozen:
        k: float

        def scaled(self, a):
            return a * self.k

    @dataclasses.dataclass(slots=True, order=True)
    class Ordered:
        a: int
        b: int = 0

    def f(a):
        p = Point(a)
        p.tags.append(1)
        q = Point(a, y=3.0)
        return p.x * p.y + q.z, p.tags, q.tags, Frozen(2.0).scaled(a), Ordered(1, 2) < Ordered(1, 3), Ordered(1) == Ordered(1)

    same(f, (x,))

    def frozen_set(a):
        Frozen(1.0).k = 2.0
        return a

    same(frozen_set, (x,), whole=None)


def test_abstract_bases_and_bound_methods():
    class Shape(abc.ABC):
        @abc.abstractmethod
        def area(self): ...

        def twice(self):
            return 2 * self.area()

    class Square(Shape):
        def __init__(self, side):
            self.side = side

        def area(self):
            return self.side**2

        @classmethod
        def unit(cls):
            return cls(1.0)

        @staticmethod
        def of(side):
            return Square(side)

    def f(a):
        method = Square(a).twice
        return method() + Square.unit().area() + Square.of(2.0).area()

    same(f, (x,))

    def abstract(a):
        Shape()
        return a

    same(abstract, (x,), whole=None)


def test_instances_as_keys():
    def f(a):
        s, t = Scale(1), Scale(2)
        d = {s: a, t: 2}
        d[s] = a + 1
        return d[s], len(d), t in d, Scale(1) in d

    same(f, (x,))


def test_wrong_arguments_raise_as_in_python():
    class Plain:
        pass

    for f in (lambda a: Plain(1), lambda a: Scale(), lambda a: Plain().nothing, lambda a: Plain(k=a)):
        same(f, (x,), whole=None)


def test_simple_loops_over_objects():
    class Layer:
        def __init__(self, w, b):
            self.w, self.b = w, b

        def forward(self, a):
            self.last = np.tanh(a @ self.w + self.b)
            return self.last

    class Net:
        def __init__(self, sizes):
            self.layers = [Layer(np.full((m, n), 0.1), np.zeros(n)) for m, n in zip(sizes, sizes[1:])]

        def forward(self, a):
            for layer in self.layers:
                a = layer.forward(a)
            return a

    def made_inside(a):
        net = Net([6, 4, 2])
        return net.forward(a), [layer.last for layer in net.layers]

    same(made_inside, (x,))
    net = Net([6, 4, 2])

    def outside(net, a):
        return net.forward(a), net.layers[0].last

    same(outside, (net, x))


def test_a_finalizer_is_left_to_python():
    died = []

    class Dying:
        def __del__(self):
            died.append(1)

    def f(a):
        Dying()
        b = a + len(died)
        Dying()
        return b

    for backend in BACKENDS:
        compiled = nl.compile(f, backend=backend)
        for _ in range(3):
            died.clear()
            assert compiled(x)[0] == 1 and died == [1, 1]
        assert "an instance of" in str(compiled.entries[0].break_reason)


def test_a_class_changed_later_is_seen():
    class Gain:
        def __init__(self, k):
            self.k = k

        def of(self, a):
            return a * self.k

    compiled = nl.compile(lambda a: Gain(2.0).of(a))
    np.testing.assert_array_equal(compiled(x), x * 2)
    Gain.of = lambda self, a: a + self.k
    np.testing.assert_array_equal(compiled(x), x + 2)

    def other_init(self, k):
        self.k = k * 10

    Gain.__init__ = other_init
    np.testing.assert_array_equal(compiled(x), x + 20)
    Gain.__setattr__ = lambda self, name, value: object.__setattr__(self, name, value + 1)
    np.testing.assert_array_equal(compiled(x), x + 21)


def test_special_classes_are_left_to_python():
    class Items(list):
        pass

    class Meta(type):
        def __call__(cls, *args):
            return super().__call__(*args)

    class Made(metaclass=Meta):
        k = 2

    for f in (lambda a: (Items([1]), a + 1), lambda a: a * Made().k, lambda a: types.SimpleNamespace(k=a).k + 1):
        same(f, (x,), whole=None)


@pytest.mark.parametrize("count", [1, 3])
def test_instances_across_a_break(count):
    def f(a):
        s = Scale(a)
        for i in range(count):
            s.k = s.k + i
            print(end="")
            s.plus += 1
        return s.k, s.plus, s

    same(f, (x,), whole=False)
