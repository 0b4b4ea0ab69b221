"""class statements inside compiled functions."""

import numpy as np
from same_call import BACKENDS, compare, same

import numlift as nl
from numlift.testing import break_count

x = np.arange(6.0)


def test_methods_attributes_and_constants():
    def f(a):
        class Local:
            k = 3
            shift = a.sum()

            def __init__(self, v):
                self.v = v

            def scaled(self):
                return self.v * self.k + self.shift

        one = Local(a + 1)
        two = Local(a)
        two.k = 5
        return one.scaled() * 2, two.scaled(), Local.k, isinstance(one, Local), type(one) is Local

    same(f, (x,))


def test_properties_static_and_class_methods():
    def f(a):
        class Local:
            k = 2

            def __init__(self, v):
                self._v = v

            @property
            def v(self):
                return self._v * self.k

            @v.setter
            def v(self, value):
                self._v = value + 1

            @staticmethod
            def half(w):
                return w / 2

            @classmethod
            def make(cls, w):
                return cls(w)

        one = Local.make(a)
        before = one.v
        one.v = a * 3
        return before, one.v, Local.half(a), one.half(4)

    same(f, (x,))


class Base:
    def go(self, a):
        return a + 1

    def twice(self, a):
        return self.go(self.go(a))


def test_bases_and_super():
    def f(a):
        class Middle(Base):
            def go(self, v):
                return super().go(v) * 2

        class Bottom(Middle):
            def go(self, v):
                return super().go(v) - 3

        b = Bottom()
        return b.go(a), b.twice(a), isinstance(b, Base), issubclass(Bottom, Middle), issubclass(Middle, Bottom)

    same(f, (x,))


def test_operators_and_protocols():
    def f(a):
        class Local:
            def __init__(self, v):
                self.v = v

            def __add__(self, other):
                return Local(self.v + other)

            def __len__(self):
                return 3

            def __getitem__(self, i):
                return self.v * i

            def __eq__(self, other):
                return isinstance(other, Local)

            def __call__(self, w):
                return w - self.v.sum()

            def __iter__(self):
                yield self.v
                yield 2

            def __enter__(self):
                return self.v

            def __exit__(self, *details):
                return False

        one = Local(a)
        with one as inside:
            total = inside + 1
        return (one + 1).v, len(one), one[2], one == Local(1), one != 3, one(a), [v * 2 for v in one], total, bool(one)

    same(f, (x,))


def test_an_exception_class():
    def f(a):
        class Stop(Exception):
            def __init__(self, v):
                super().__init__("stopped")
                self.v = v

        class Other(Stop):
            pass

        try:
            raise Other(a * 2)
        except Stop as error:
            return error.v + 1, error.args, type(error) is Other

    same(f, (x,))


def test_closures_of_methods():
    def f(a, k):
        def outer(n):
            class Local:
                factor = n

                def go(self, v):
                    return v * n * k

            return Local

        return outer(2)().go(a), outer(3)().go(a), outer(4).factor

    same(f, (x, 2), (x, 5))


def test_the_class_is_handed_out():
    def f(a):
        class Local(Base):
            "what it is"
            k: int = 4

            def go(self, v):
                return super().go(v) * self.k

        return Local, Local(), a + 1

    for backend in BACKENDS:
        compiled = nl.compile(f, backend=backend)
        classes = []
        for _ in range(3):
            cls, instance, _ = compiled(x)
            plain, plain_instance, _ = f(x)
            classes.append(cls)
            assert type(instance) is cls
            assert cls.__bases__ == (Base,)
            for name in ("__name__", "__qualname__", "__module__", "__doc__", "__annotations__"):
                assert getattr(cls, name) == getattr(plain, name)
            assert [n for n in vars(cls)] == [n for n in vars(plain)]
            compare(instance.go(x), plain_instance.go(x))
            assert cls.go.__closure__[0].cell_contents is cls
        assert len(set(classes)) == 3
        assert break_count(compiled) == 0


def test_instances_live_on_behind_a_break():
    def f(a):
        class Local:
            def __init__(self, v):
                self.v = v

            def go(self):
                return self.v * 2

        one = Local(a)
        print(end="")
        two = Local(a + 1)
        return one.go() + two.go(), type(one) is type(two)

    same(f, (x,), whole=False)


def test_slots():
    def f(a):
        class Local:
            __slots__ = ("v", "w")

            def __init__(self, v):
                self.v = v

        one = Local(a)
        one.w = 2
        return one.v * one.w, hasattr(one, "w"), hasattr(one, "u")

    same(f, (x,))


def test_a_class_attribute_is_set():
    def f(a):
        class Local:
            made = 0

            def __init__(self):
                Local.made += 1

        Local(), Local()
        Local.extra = a
        return Local.made, Local().extra * Local.made

    same(f, (x,))


class Meta(type):
    pass


class Hooked:
    seen = []

    def __init_subclass__(cls):
        Hooked.seen.append(cls.__name__)


def test_classes_whose_making_runs_other_code_are_left_to_cpython():
    def with_metaclass(a):
        class Local(metaclass=Meta):
            k = 2

        return a * Local.k, type(Local) is Meta

    def with_hook(a):
        class Local(Hooked):
            k = 3

        return a * Local.k, len(Hooked.seen) > 0

    same(with_metaclass, (x,), whole=False)
    same(with_hook, (x,), whole=False)


def test_list_and_dict_as_bases():
    def f(a):
        class Rows(list):
            def total(self):
                return sum(self)

        class Table(dict):
            def __missing__(self, key):
                return key

        rows = Rows([a, 1])
        rows.append(2)
        table = Table(k=a)
        return rows.total(), table["k"] * table[7], len(rows)

    same(f, (x,))


def test_a_classcell_of_its_own():
    def f(a):
        try:

            class Odd:
                __classcell__ = 42

        except TypeError as error:
            return a + 1, str(error)

    same(f, (x,), whole=None)
