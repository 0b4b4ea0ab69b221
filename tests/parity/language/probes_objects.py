"""Classes, objects and the protocols of the language, each on an array."""

import dataclasses

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
