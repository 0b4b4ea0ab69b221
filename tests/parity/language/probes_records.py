"""Tuples with names, enums, and objects of the less common kinds, each on an array."""

import abc
import collections
import copy
import enum
import functools
import pickle
import types
import typing
import weakref

import numpy as np

from probes import Probes
from probes_objects import Scale

log = []
probe = Probes(__name__, log=log)


Pair = collections.namedtuple("Pair", "a b", defaults=[4])


class Named(typing.NamedTuple):
    a: object
    k: int = 3

    def scaled(self):
        return self.a * self.k


@probe()
def namedtuple(x):
    p = Pair(x)
    a, b = p._replace(b=5)
    return a * b + p.b + p[1], p._fields


@probe()
def namedtuple_returned(x):
    return Pair(x + 1, b=Pair(x, 2))


@probe()
def typing_namedtuple(x):
    n = Named(x, k=2)
    return n.scaled() + Named(x).k, n._asdict()


class Color(enum.Enum):
    RED = 1
    BLUE = 2

    @property
    def twice(self):
        return self.value * 2


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 5


class Bits(enum.Flag):
    A = enum.auto()
    B = enum.auto()


@probe(Color.BLUE)
def enum_member(x, c):
    if c is Color.BLUE and c != Color.RED:
        x = x * c.value
    return x + Color["RED"].twice + Color(2).value, c.name, c


@probe()
def int_enum_arithmetic(x):
    return x * Level.HIGH + (Level.LOW + 1) * 2, Level.HIGH > Level.LOW


@probe()
def enum_iteration_and_flags(x):
    both = Bits.A | Bits.B
    return x * sum(c.value for c in Color), Bits.A in both, both.value


class Shape(abc.ABC):
    @abc.abstractmethod
    def area(self, a): ...

    def twice(self, a):
        return self.area(a) * 2


class Square(Shape):
    def area(self, a):
        return a * a


@probe()
def abstract_base_class(x):
    s = Square()
    return s.twice(x), isinstance(s, Shape), isinstance(x, collections.abc.Iterable)


@probe()
def abstract_class_made(x):
    y = x + 1
    return Shape().twice(y)


class Left:
    def go(self, a):
        return a + 1


class Right(Left):
    def go(self, a):
        return super().go(a) * 2


class Other(Left):
    def go(self, a):
        return super().go(a) * 3


class Bottom(Right, Other):
    pass


@probe()
def multiple_inheritance(x):
    return Bottom().go(x), [c.__name__ for c in Bottom.__mro__]


class MyList(list):
    def total(self):
        return sum(self)


class MyDict(dict):
    def __missing__(self, key):
        return key * 2


@probe()
def list_subclass(x):
    rows = MyList([x, x + 1])
    rows.append(2)
    return rows.total() + len(rows)


@probe()
def dict_subclass(x):
    d = MyDict(a=x)
    d["k"] = 3
    return d["a"] * d["k"], d[4], type(d) is MyDict


class Meta(type):
    registry = []

    def __call__(cls, *args):
        made = super().__call__(*args)
        made.tag = len(args)
        return made


class Tagged(metaclass=Meta):
    def __init__(self, a):
        self.a = a


@probe()
def metaclass_call(x):
    t = Tagged(x + 1)
    return t.a * t.tag


@probe()
def class_defined_inside(x):
    class Local:
        k = 3

        def __init__(self, a):
            self.a = a

        def scaled(self):
            return self.a * self.k

    return Local(x + 1).scaled() * 2


@probe()
def exception_class_of_ones_own(x):
    class Stop(Exception):
        def __init__(self, a):
            super().__init__("stopped")
            self.a = a

    try:
        raise Stop(x * 2)
    except Stop as e:
        return e.a + 1, e.args


T = typing.TypeVar("T")


class Box(typing.Generic[T]):
    def __init__(self, value: T):
        self.value = value


@probe()
def generic_class(x):
    return Box(x + 1).value * 2 + Box[int](3).value


@probe()
def typing_at_run_time(x):
    y: typing.Optional[np.ndarray] = typing.cast(np.ndarray, x)
    hints = typing.get_type_hints(Named)
    return y + len(hints), sorted(hints)


@probe()
def simple_namespace(x):
    n = types.SimpleNamespace(a=x, k=2)
    n.b = n.a * n.k
    return n.b + 1, sorted(vars(n))


class Lazy:
    def __init__(self, a):
        self.a = a
        self.runs = 0

    @functools.cached_property
    def double(self):
        self.runs += 1
        return self.a * 2


@probe()
def cached_property(x):
    z = Lazy(x)
    return z.double + z.double, z.runs


@probe()
def weak_reference(x):
    s = Scale(3)
    r = weakref.ref(s)
    y = x * r().k
    del s
    return y, r() is None


@probe()
def copies(x):
    s = Scale([1, 2])
    a, b = copy.copy(s), copy.deepcopy(s)
    s.k.append(3)
    return x * len(a.k) + len(b.k), copy.copy(x) + 1, copy.deepcopy([x])


@probe()
def pickled(x):
    y = x * 2
    z = pickle.loads(pickle.dumps((y, Scale(2))))
    return z[0] + z[1].k


class Managed:
    def __init__(self, swallow=False):
        self.swallow = swallow

    def __enter__(self):
        log.append("enter")
        return 3

    def __exit__(self, kind, error, tb):
        log.append(kind and kind.__name__)
        return self.swallow


@probe()
def context_manager(x):
    with Managed() as k, Managed():
        y = x * k
    return y + 1


@probe()
def context_manager_swallows(x):
    with Managed(swallow=True):
        x = x + 1
        raise ValueError("gone")
    return x * 2


@probe()
def context_manager_and_error(x):
    with Managed():
        y = x + np.ones(7)
    return y


class Finalized:
    def __del__(self):
        log.append("deleted")


@probe()
def finalizer(x):
    f = Finalized()
    y = x + 1
    del f
    log.append("after")
    return y * 2


class Hooked:
    members = []

    def __init_subclass__(cls, k=1):
        cls.k = k

    def __class_getitem__(cls, item):
        return item * 2


class Sub(Hooked, k=4):
    pass


@probe()
def class_hooks(x):
    return x * Sub.k + Hooked[3]


class Formatted:
    def __repr__(self):
        return "<F>"

    def __format__(self, spec):
        return spec * 2

    def __int__(self):
        return 4

    def __float__(self):
        return 2.5


@probe()
def conversions_of_an_object(x):
    f = Formatted()
    return x * int(f) + float(f), f"{f:ab}", str(f), f"{f!r}"


@probe()
def object_in_a_ufunc(x):
    class Own:
        def __array__(self, dtype=None, copy=None):
            return np.full(4, 2.0)

    return x + np.asarray(Own()), np.add(x, Own())


class Prior:
    __array_priority__ = 100

    def __radd__(self, other):
        return "radd", other * 2

    __array_ufunc__ = None


@probe(Prior())
def reflected_over_an_array(x, p):
    y = x + 1
    return y + p


class Function:
    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        return ufunc.__name__, method, len(inputs)


@probe(Function())
def array_ufunc_protocol(x, f):
    y = x + 1
    return np.multiply(y, f), y * 2


class Sub2(np.ndarray):
    def twice(self):
        return self * 2


@probe(np.ones((3, 4)).view(Sub2))
def ndarray_subclass(x, s):
    y = x + 1
    return y * s, s.twice()


@probe()
def ndarray_subclass_view(x):
    y = (x * 2).view(Sub2)
    return y.twice(), np.asarray(y) + 1
