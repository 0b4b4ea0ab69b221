"""obj.__dict__ and vars(obj): read, written, iterated and handed out."""

import numpy as np
from broken_call import X, check, note
from same_call import same

x = np.arange(6.0).reshape(2, 3)


class Plain:
    limit = 7

    def __init__(self, a):
        self.a = a
        self.b = 2

    @property
    def twice(self):
        return self.b * 2


def made(a):
    p = Plain(a)
    d = p.__dict__
    d["c"] = a + 1
    p.e = 3
    first = list(d), len(d), "c" in d, "limit" in d, "zz" in vars(p)
    p.b += d["b"]
    d["b"] = d["b"] + 10
    e = d.pop("e")
    pairs = [(k, type(v).__name__) for k, v in vars(p).items()]
    sizes = [np.shape(v) for v in d.values()]
    return a * p.b + p.c, first, e, pairs, sizes, sorted(vars(p)), d is vars(p), list(reversed(d))


def test_of_one_made_inside():
    same(made, (x,))


def outside(p, a):
    d = vars(p)
    d["new"] = a * 2
    p.b = 5
    d.update(b=p.b + 1, z=1)
    got = d.get("nothing", 4), d.setdefault("b", 9), d.setdefault("y", 8)
    del d["z"]
    order = list(d)
    copied = dict(d), {**vars(p), "q": 1}, d.copy(), d | {"r": 2}
    return d["new"] + p.b, got, order, [list(c) for c in copied]


def test_of_one_from_outside():
    same(outside, (Plain(1), x), (Plain(2), x[:1]))


def test_comparisons():
    def f(p, a):
        q = Plain(1)
        return a + 1, vars(p) == vars(q), vars(p) == {"a": 1, "b": 2}, q.__dict__ != {}, vars(q) == 3

    same(f, (Plain(1), x), (Plain(2), x), whole=None)


def test_other_attributes_are_another_entry():
    def f(p, a):
        return a * len(vars(p)), list(p.__dict__.items()), "more" in p.__dict__

    def g(p, a):
        return a, "limit" in vars(p)

    p, q = Plain(1), Plain(2)
    q.more = 1
    same(f, (p, x), (q, x), (p, x))
    r = Plain(1)
    r.limit = 3
    same(g, (p, x), (r, x), (p, x))


def test_deleted_and_set_again_is_the_last():
    def f(p, a):
        del p.a
        p.a = 3
        p.b = 1
        return a + 1, list(vars(p))

    same(f, (Plain(1), x))


def test_handed_out():
    def f(a):
        p = Plain(3)
        d = vars(p)
        y = a + 1
        note("now", sorted(d))
        p.late = 4
        d["later"] = 5
        return y, d, p.__dict__ is d, list(d)

    # Where an instance and its dict are two objects from outside, neither is changed in a graph.
    check(f, (X,), falls_back=True)

    def g(a):
        p = Plain(3)
        return a + 1, vars(p)

    same(g, (x,))


class Guarded:
    def __init__(self):
        self.__dict__["k"] = 1

    def __setattr__(self, name, value):
        self.__dict__[name] = value * 2

    def __getattr__(self, name):
        return self.__dict__.get("k") if name == "missing" else super().__getattribute__(name)


def test_in_the_classes_own_methods():
    def f(a):
        g = Guarded()
        g.n = 3
        return a * g.n, g.missing, vars(g)

    same(f, (x,))


class Slotted:
    __slots__ = ("s", "__dict__")


def test_slots_and_descriptors_are_not_in_it():
    def f(a):
        s = Slotted()
        s.s = 1
        s.t = 2
        return a + s.t, list(vars(s)), "s" in vars(s)

    same(f, (x,), whole=None)

    def g(a):
        p = Plain(1)
        vars(p)["twice"] = 9
        return a + p.twice, list(vars(p))

    same(g, (x,), whole=None)


def test_errors():
    def absent(a):
        p = Plain(1)
        try:
            p.__dict__["zz"]
        except KeyError as error:
            return a + 1, str(error)

    def grows(a):
        p = Plain(1)
        try:
            for name in vars(p):
                setattr(p, name + "_", 1)
        except RuntimeError as error:
            return a + 1, str(error)

    def none(a):
        try:
            vars(3)
        except TypeError as error:
            return a + 1, str(error)

    for function in (absent, grows, none):
        same(function, (x,), whole=None)


def test_the_dict_as_another_argument():
    def f(p, d, a):
        d["b"] = 7
        return a * p.b, d is p.__dict__

    import numlift as nl

    for backend in ("eager", "llvm"):
        compiled = nl.compile(f, backend=backend)
        for shared in (True, False, True):
            p = Plain(1)
            got = compiled(p, vars(p) if shared else {}, x)
            np.testing.assert_array_equal(got[0], x * (7 if shared else 2))
            assert got[1] is shared
