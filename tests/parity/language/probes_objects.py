"""Classes, objects and the protocols of the language, each on an array."""

import abc
import collections
import copy
import dataclasses
import enum
import functools
import pickle
import types
import typing
import weakref

import numpy as np

from probes import Probes

log = []
probe = Probes(__name__, log=log)


class Scale:
    made = 0
    unit = "m"

    def __init__(self, k, bias=0):
        self.k = k
        self.bias = bias

    def __call__(self, a):
        return a * self.k + self.bias

    def add(self, n):
        self.bias += n
        return self

    @property
    def double(self):
        return self.k * 2

    @double.setter
    def double(self, value):
        self.k = value / 2

    @staticmethod
    def half(a):
        return a / 2

    @classmethod
    def unit_scale(cls):
        return cls(1)

    def __eq__(self, other):
        return isinstance(other, Scale) and self.k == other.k

    def __hash__(self):
        return hash(self.k)


def zero():
    Scale.made = 0


probe.resets.append(zero)


class Wide(Scale):
    def __init__(self, k):
        super().__init__(k, bias=1)
        self.wide = True

    def __call__(self, a):
        return super().__call__(a) - 3


@probe()
def instance_and_method(x):
    s = Scale(2)
    s.bias = 1
    s.add(3).add(x.ndim)
    return x * s.k + s.bias


@probe()
def object_returned(x):
    s = Scale(x * 2)
    s.extra = [x.shape]
    return s


@probe(Scale(3))
def object_as_an_argument(x, s):
    s.k += 1
    s.last = x * s.k
    return s.last + s.bias


@probe(Scale(3))
def call_of_an_object(x, s):
    return s(x) + Scale(5)(x)


@probe(Scale(3))
def property_static_class_method(x, s):
    s.double = 8
    return x * s.double + Scale.half(x) + s.half(x) + Scale.unit_scale().k


@probe()
def bound_method_kept(x):
    f = Scale(4).__call__
    g = Scale.add
    return f(x) + g(Scale(1), 2).bias


@probe()
def super_calls(x):
    w = Wide(2)
    return w(x), w.wide, w.bias


@probe()
def class_attribute_write(x):
    Scale.made += 1
    s = Scale(2)
    s.made += 5
    return x * Scale.made + s.made, Scale.made


@probe()
def eq_and_hash_in_a_dict(x):
    table = {Scale(1): x, Scale(2): x + 1}
    return table[Scale(2)] * 2, Scale(3) in table, Scale(1) == Scale(1)


@probe()
def isinstance_issubclass_type(x):
    w = Wide(1)
    if isinstance(w, (int, Scale)) and issubclass(Wide, Scale) and type(w) is not Scale:
        x = x + 1
    return x * isinstance(x, np.ndarray), type(x) is np.ndarray, isinstance(1, int | str)


@probe(Scale(3))
def attribute_functions(x, s):
    setattr(s, "k", getattr(s, "k") + 1)
    missing = getattr(s, "missing", 10)
    has = hasattr(s, "bias"), hasattr(s, "nothing"), hasattr(x, "shape")
    delattr(s, "bias")
    return x * s.k + missing, has, hasattr(s, "bias")


@probe(Scale(3))
def instance_dict(x, s):
    s.__dict__["z"] = 4
    return x * s.z, sorted(vars(s)), s.__class__.__name__


class Row:
    def __init__(self, data):
        self.data = data

    def __getitem__(self, i):
        return self.data[i] * 2

    def __setitem__(self, i, v):
        self.data[i] = v

    def __len__(self):
        return len(self.data)

    def __contains__(self, v):
        return v == 7

    def __bool__(self):
        return len(self.data) > 1

    def __iter__(self):
        return iter([self.data, self.data + 1])

    def __add__(self, other):
        return Row(self.data + getattr(other, "data", other))

    __radd__ = __add__

    def __iadd__(self, other):
        self.data = self.data - other
        return self

    def __neg__(self):
        return Row(-self.data)

    def __matmul__(self, other):
        return self.data @ other.data.T

    def __index__(self):
        return 1

    def __lt__(self, other):
        return self.data[0, 0] < other


@probe()
def container_protocol(x):
    r = Row(x)
    r[0] = 1.5
    return r[1] + len(r), 7 in r, 8 not in r, bool(r), not r


@probe()
def iteration_protocol(x):
    a, b = Row(x)
    return [v * 2 for v in Row(a)] + [b]


@probe()
def operator_overloading(x):
    r = Row(x)
    r += 2
    s = 1 + (r + r) + x.ndim
    return (-s).data, r @ r, [5, 6, 7][Row(x)]


@probe()
def comparison_overloaded(x):
    y = x * 2
    return Row(y) < 100, Row(y) > Row(1) if False else y


class Counter3:
    def __init__(self):
        self.n = 0

    def __iter__(self):
        return self

    def __next__(self):
        if self.n == 3:
            raise StopIteration
        self.n += 1
        return self.n


@probe()
def user_iterator(x):
    for n in Counter3():
        x = x + n
    return x, list(Counter3()), next(Counter3())


class Typed:
    def __set_name__(self, owner, name):
        self.name = "_" + name

    def __get__(self, obj, owner=None):
        return self if obj is None else getattr(obj, self.name, 2)

    def __set__(self, obj, value):
        log.append(self.name)
        setattr(obj, self.name, value * 2)


class Described:
    k = Typed()

    def __getattr__(self, name):
        if name.startswith("by_"):
            return int(name[3:])
        raise AttributeError(name)


@probe()
def descriptor_read(x):
    return x * Described().k


@probe()
def descriptor_write(x):
    d = Described()
    d.k = 5
    return x * d.k


@probe()
def getattr_hook(x):
    d = Described()
    return x * d.by_3, hasattr(d, "nothing")


class Watched:
    def __init__(self):
        object.__setattr__(self, "n", 1)

    def __setattr__(self, name, value):
        object.__setattr__(self, name, value + 1)

    def __getattribute__(self, name):
        if name == "magic":
            return 7
        return object.__getattribute__(self, name)


@probe()
def setattr_and_getattribute_hooks(x):
    w = Watched()
    w.n = 3
    return x * w.n + w.magic


class Slotted:
    __slots__ = ("a", "b")

    def __init__(self, a):
        self.a = a


@probe()
def slots(x):
    s = Slotted(x * 2)
    s.b = 3
    s.a = s.a + s.b
    del s.b
    return s.a, hasattr(s, "b")


@dataclasses.dataclass
class Point:
    a: object
    n: int = 2
    seen: list = dataclasses.field(default_factory=list)

    def norm(self):
        return self.a * self.n


@dataclasses.dataclass(frozen=True, slots=True, order=True)
class Frozen:
    n: int
    m: int = 1

    def __post_init__(self):
        if self.n < 0:
            raise ValueError("negative")


@probe()
def dataclass_made(x):
    p = Point(x)
    p.seen.append(1)
    q = Point(x + 1, n=3)
    return p.norm() + q.norm(), p.seen, q.seen


@probe()
def dataclass_replace_asdict(x):
    p = dataclasses.replace(Point(1), n=5)
    return x * p.n, dataclasses.asdict(p), [f.name for f in dataclasses.fields(p)]


@probe()
def frozen_dataclass(x):
    f = Frozen(3)
    y = x * f.n
    try:
        f.n = 4
    except dataclasses.FrozenInstanceError as e:
        return y + f.m, str(e), Frozen(1) < Frozen(2), f


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
