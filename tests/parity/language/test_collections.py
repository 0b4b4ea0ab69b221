"""deque, defaultdict, OrderedDict and Counter made inside; named tuples and their methods."""

import collections
import typing

import numpy as np
import pytest
from broken_call import X, check, note
from same_call import same

x = np.arange(6.0).reshape(2, 3)


def test_deques():
    def f(a):
        d = collections.deque([1, a, 3], maxlen=4)
        d.append(4)
        d.appendleft(0)
        d.rotate(1)
        d.rotate(-2)
        e = collections.deque("ab")
        e.extendleft([1, 2])
        e += "z"
        e.insert(1, 9)
        e.remove("a")
        f = e.copy()
        f.reverse()
        g = collections.deque([1], 2) + collections.deque([2, 3])
        h = collections.deque([1, 2])
        alias = h
        h *= 2
        del h[0]
        h[0] = 7
        return (
            d[1] if d[0] is a else d[0],
            len(d),
            d.maxlen,
            [n for n in e],
            list(reversed(f)),
            e.count(9),
            e.index("b"),
            9 in e,
            e == f,
            e != f,
            collections.deque([1]) < collections.deque([2]),
            g,
            list(g * 2),
            alias is h,
            list(h),
            bool(collections.deque()),
            isinstance(e, collections.deque),
            type(e) is collections.deque,
            e.popleft(),
            e.pop(),
            a * 2,
        )

    def g(a):
        return [list(r) if isinstance(r, collections.deque) else r for r in f(a)]

    same(g, (x,))


def test_what_is_handed_out_has_its_class():
    def f(a):
        b = a * 2
        d = collections.deque([b, 1], maxlen=3)
        dd = collections.defaultdict(list)
        dd["k"].append(b)
        o = collections.OrderedDict(q=1, p=b)
        c = collections.Counter("abca")
        note("now", len(d))
        d.append(2)
        dd["m"].append(3)
        o.move_to_end("q")
        c["z"] += 1
        return d, dd, o, c, b

    def g(a):
        d, dd, o, c, b = f(a)
        kinds = [type(v).__name__ for v in (d, dd, o, c)]
        return kinds, list(d), d.maxlen, dict(dd), dd.default_factory, list(o.items()), dict(c), d[0] is b

    check(g, (X,))

    def h(a):
        d = collections.deque([2, 1], maxlen=3)
        return a * 2, d, collections.defaultdict(int, k=3), collections.OrderedDict(a=1), collections.Counter("aab")

    same(h, (x,))


def test_default_dicts():
    def f(a):
        d = collections.defaultdict(list)
        for k, v in [("a", 1), ("b", a), ("a", 3)]:
            d[k].append(v)
        n = collections.defaultdict(int, {"q": 2})
        for k in "abcab":
            n[k] += 1
        n.update(z=5)
        e = collections.defaultdict(lambda: 7)
        merged = n | {"w": 1}
        return (
            d["b"][0] * 2,
            d["a"],
            sorted(n.items()),
            "zz" in n,
            n.get("zz"),
            e["k"] + len(e),
            dict(n),
            {**n},
            n.pop("q"),
            n.setdefault("r", 4),
            list(n),
            list(n.keys()),
            sum(n.values()),
            ("a", 2) in n.items(),
            n.keys() & {"a", "r", "no"},
            n.default_factory is int,
            n == dict(n),
            merged["w"],
            isinstance(n, dict),
        )

    same(f, (x,))


def test_ordered_dicts():
    def f(a):
        o = collections.OrderedDict([("b", a), ("a", 2)])
        o["c"] = 3
        o.move_to_end("b")
        o.move_to_end("c", last=False)
        p = collections.OrderedDict(o)
        first = p.popitem(last=False)
        last = p.popitem()
        del o["a"]
        return (
            last[1] * 2,
            first,
            list(o),
            list(reversed(o)),
            [k for k, v in o.items()],
            collections.OrderedDict(a=1, b=2) == collections.OrderedDict(b=2, a=1),
            collections.OrderedDict(a=1, b=2) == {"b": 2, "a": 1},
            len(p),
            list(collections.OrderedDict(a=1) | {"z": 2}),
        )

    same(f, (x,))


def test_counters():
    def f(a):
        c = collections.Counter("abracadabra")
        d = collections.Counter(a=3, z=-2)
        e = collections.Counter(v % 3 for v in range(10))
        c2 = c.copy()
        alias = c2
        c2 += d
        d.subtract("zz")
        return (
            a * c["a"] + c["nothing"],
            c.most_common(2),
            c.most_common(),
            list(c.elements()),
            c.total(),
            sorted((c + d).items()),
            list((c - collections.Counter("ab")).items()),
            list((c | d).items()),
            list((c & d).items()),
            alias is c2,
            list(c2.items()),
            list(d.items()),
            list(e.items()),
            c == collections.Counter("aaaaabbrrcd"),
            "nothing" in c,
        )

    same(f, (x,))


@pytest.mark.parametrize(
    "text",
    [
        "collections.deque().pop()",
        "collections.deque([1])[3]",
        "collections.deque(maxlen=-1)",
        "collections.deque([1]).index(2)",
        "collections.deque([1, 2], 2).insert(0, 1)",
        "collections.deque(3)",
        "collections.defaultdict(3)",
        "collections.defaultdict()['k']",
        "collections.OrderedDict()['k']",
        "collections.OrderedDict().popitem()",
        "collections.OrderedDict(a=1).move_to_end('b')",
        "collections.Counter(3)",
        "collections.deque()._items",
        "collections.deque().nothing",
        "[d.append(v) for d in [collections.deque([1, 2])] for v in d]",
        "[o.move_to_end(k) for o in [collections.OrderedDict(a=1, b=2)] for k in o]",
    ],
)
def test_what_raises(text):
    scope = {"collections": collections}
    exec(f"def f(a):\n    b = a + 1\n    return b, {text}", scope)
    same(scope["f"], (x,), whole=False)


# ---------------------------------------------------------------- named tuples

Pair = collections.namedtuple("Pair", "a b", defaults=[4])


class State(typing.NamedTuple):
    pos: object
    step: int = 3

    def moved(self, by):
        return self._replace(pos=self.pos + by * self.step)

    @property
    def double(self):
        return self.pos * 2

    @classmethod
    def of(cls, pos):
        return cls(pos, step=5)


class Vector(collections.namedtuple("VectorBase", "u v")):
    def __add__(self, other):
        return Vector(self.u + other.u, self.v + other.v)


class Labelled(collections.namedtuple("LabelledBase", "u v")):
    def text(self):
        return f"{self.u}"


def test_named_tuples():
    def f(a):
        p = Pair(a)
        q = p._replace(b=a + 1)
        s = State.of(a).moved(2)
        made = Pair._make([1, 2])
        return (
            q.b * p.b,
            s.double,
            s.step,
            p._asdict(),
            p._fields,
            made,
            made == (1, 2),
            isinstance(s, State),
            isinstance(s, tuple),
            Labelled(1, 2).text(),
            Labelled(3, a),
            s + (1,),
            Pair._fields,
            p.index(a) if False else 0,
            made.count(1),
        )

    same(f, (x,))


def test_named_tuples_from_outside():
    def f(s, p):
        pos, step = s
        return s.moved(p.b).pos, pos * step, s[0] + 1, s, p._replace(a=pos), len(s), s.double

    same(f, (State(x, 2), Pair(1, 2.5)), (State(x + 1, 3), Pair(1, 3.5)), (State(2.0), Pair("a", 1)))


def test_operators_of_ones_own_are_run():
    def f(a):
        v = Vector(a, 1) + Vector(a, 2)
        return v.u * v.v

    same(f, (x,), whole=None)
    same(lambda a: (a + 1, Pair(1)._replace(zz=3)), (x,), whole=False)
    same(lambda a: (a + 1, Pair._make([1])), (x,), whole=False)
    same(lambda a: (a + 1, Pair(1).zz), (x,), whole=False)
