"""Classes derived from list and dict: made inside, and from outside."""

import collections

import numpy as np
from same_call import same

import numlift as nl

x = np.arange(6.0)


class MyList(list):
    def total(self):
        return sum(self)

    def first(self):
        return self[0]


class Stack(list):
    def __init__(self, items=(), k=2):
        super().__init__(items)
        self.k = k

    def append(self, value):
        super().append(value * self.k)

    def __getitem__(self, i):
        return super().__getitem__(i) + 1


class MyDict(dict):
    def __missing__(self, key):
        return key * 2


class Doubling(dict):
    def __setitem__(self, key, value):
        super().__setitem__(key, value * 2)

    def __getitem__(self, key):
        return super().__getitem__(key)


def test_a_list_made_inside():
    def f(a):
        r = MyList([a, a + 1])
        r.append(2)
        r[0] = a * 3
        del r[1]
        items = [v for v in r], list(r), tuple(r), list(reversed(r))
        tests = isinstance(r, list), type(r) is MyList, bool(r), bool(MyList()), 2 in r[1:]
        return r.total() + len(r), items, tests, r + [1], r * 2

    same(f, (x,))


def test_a_list_is_handed_out():
    def f(a):
        r = MyList([a, 1])
        r.note = 5
        r.extend([2, 3])
        r += [4]
        r.insert(0, 9)
        r.pop()
        r.sort(key=lambda v: -1 if isinstance(v, np.ndarray) else v)
        return r, r.note, a + len(r)

    same(f, (x,))


def test_what_a_list_overrides():
    def f(a):
        s = Stack([a], k=3)
        s.append(a)
        s.append(2)
        s.extend([5])
        return s[0] + s[1], s.k, len(s), s

    same(f, (x,))


def test_a_list_from_outside():
    def f(a, r):
        r.append(a.sum())
        r[0] = 7
        return len(r), r[1] + a, r.first() if hasattr(r, "first") else 0

    same(f, (x, MyList([1, 2.0])), (x, [1, 2.0]), (x, MyList([1, 2.0, 3])))


def test_lists_compare():
    def f(a, r):
        s = MyList([1, 2])
        return a + 1, s == [1, 2], s != r, s < MyList([1, 3]), s >= [2], r == s

    same(f, (x, MyList([1, 2])), (x, MyList([5])))


def test_a_dict_made_inside():
    def f(a):
        d = MyDict(a=a)
        d["k"] = 3
        d.update(z=1)
        d.setdefault("q", 4)
        del d["z"]
        tests = type(d) is MyDict, "a" in d, list(d), len(d), d.get("nope"), d.pop("q")
        return d["a"] * d["k"], d[4], tests, d, dict(d), [k for k in d], list(d.items())[1]

    same(f, (x,))


def test_what_a_dict_overrides():
    def f(a):
        d = Doubling()
        d["x"] = a
        d.update(y=1)
        return d, d["x"] + 1

    same(f, (x,))


def test_a_dict_from_outside():
    def f(a, d):
        d["new"] = a * 2
        unknown = d["unknown"] if isinstance(d, MyDict) else 0
        return d["x"], unknown, a + len(d), sorted(d)

    same(f, (x, MyDict(x=1)), (x, {"x": 1}), (x, MyDict(x=2, y=3)))


def test_a_key_that_is_absent():
    def f(a):
        d = Doubling()
        try:
            d["none"]
        except KeyError as error:
            return a + 1, error.args

    same(f, (x,))


def test_one_list_by_two_names():
    def f(a, r, s):
        r.append(1)
        return len(s) * a

    same(f, (x, MyList([1]), MyList([1])))
    for _ in range(2):
        both = MyList([1])
        compiled = nl.compile(f)
        compiled(x, MyList([1]), MyList([1]))
        np.testing.assert_array_equal(compiled(x, both, both), x * 2)


class Shared(list):
    made = 0

    def __init__(self, *items):
        Shared.made += 1
        super().__init__(items)
        self.first = self[0]


def test_init_with_arguments_of_its_own():
    def f(a):
        s = Shared(a, 2)
        return s.first * s[1], Shared.made - Shared.made

    same(f, (x,))


class Backward(dict):
    def keys(self):
        return reversed(list(dict.keys(self)))

    __iter__ = keys


def test_an_iter_of_its_own():
    # The guard on the order of its keys asked the dict's own __iter__.
    def f(a, d):
        return a + len(d), list(d), dict.__len__(d), [k for k in dict.keys(d)], d["x"]

    same(f, (x, Backward(x=1, y=2)), whole=None)


def test_comparisons_that_the_class_leaves_to_dict():
    class Strict(dict):
        def __eq__(self, other):
            return NotImplemented if not isinstance(other, Strict) else dict.__eq__(self, other)

        __hash__ = None

    def f(a, d, c):
        return a + 1, d == {"x": 1}, {"x": 1} == d, d != {"x": 1}, c == {"p": 2}, {"p": 2} == c, c != {}

    same(f, (x, Strict(x=1), collections.Counter("pp")), (x, Strict(x=2), collections.Counter("p")), whole=None)
