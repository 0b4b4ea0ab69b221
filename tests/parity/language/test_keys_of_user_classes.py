"""Instances with __eq__ and __hash__ written in Python as keys of dicts that are made inside."""

import numpy as np
from same_call import same

x = np.arange(6.0)


class Key:
    def __init__(self, k):
        self.k = k

    def __eq__(self, other):
        return isinstance(other, Key) and self.k == other.k

    def __hash__(self):
        return hash(self.k)


class Half:
    """Two of them may have one hash."""

    def __init__(self, k):
        self.k = k

    def __eq__(self, other):
        if not isinstance(other, Half):
            return NotImplemented
        return self.k == other.k

    def __hash__(self):
        return self.k // 2


def test_items_are_found_set_and_deleted():
    def f(a):
        t = {Key(1): a, Key(2): a + 1}
        t[Key(1)] = a * 5
        n = len(t)
        del t[Key(2)]
        return t[Key(1)] * 2, Key(3) in t, n, len(t), t.get(Key(9), 4), t.pop(Key(1)), len(t)

    same(f, (x,))


def test_keys_of_one_hash():
    def f(a):
        t = {Half(2): a, Half(3): a + 1, Half(4): 1, 1: 7}
        return t[Half(3)], t[Half(2)], t[1], len(t), Half(5) in t, [k.k for k in t if isinstance(k, Half)]

    same(f, (x,))


def test_a_key_that_is_absent():
    def f(a):
        t = {Key(1): a}
        try:
            t[Key(7)]
        except KeyError as error:
            return a + 1, type(error.args[0]) is Key, error.args[0].k

    same(f, (x,))


def test_a_key_from_outside():
    def f(a, key):
        t = {key: a}
        return t[Key("a")] + 1, Key("b") in t

    same(f, (x, Key("a")))


def test_comparisons_by_methods():
    def f(a):
        k = Key(5)
        h = Half(1)
        return a + 1, k == Key(5), k != Key(5), k != Key(6), 5 == k, k == 5, h == k, h == 1, "s" != h, None == h

    same(f, (x,))


class Low:
    def __lt__(self, other):
        return "lt"

    def __eq__(self, other):
        return "eq"

    __hash__ = None


class High(Low):
    def __gt__(self, other):
        return "high"


def test_the_right_operand_of_a_subclass_goes_first():
    def f(a):
        return a + 1, Low() < High(), Low() < Low(), 3 == Low(), Low() != Low(), High() == Low()

    same(f, (x,))


calls = []


class Counted:
    def __init__(self, k):
        self.k = k

    def __eq__(self, other):
        calls.append(("eq", self.k, other.k))
        return self.k == other.k

    def __hash__(self):
        calls.append(("hash", self.k))
        return 1


def test_methods_are_called_where_cpython_calls_them():
    def f(a):
        t = {Counted(1): a}
        t[Counted(2)] = 2
        found = t[Counted(2)]
        return a + found, list(calls)

    same(lambda a: (calls.clear(), f(a))[1], (x,), whole=None)


def test_a_dict_with_such_keys_is_handed_out():
    def f(a):
        t = {Key(1): a * 2}
        return t, a + 1

    def g(a):
        t, b = f(a)
        return t[Key(1)], b, len(t)

    same(lambda a: [(k.k, v) for k, v in f(a)[0].items()], (x,))
    same(g, (x,))


def test_lists_that_change_while_they_are_compared():
    def f(a):
        class Clears:
            def __init__(self, other):
                self.other = other

            def __eq__(self, other):
                self.other.clear()
                return NotImplemented

        one, two = [], []
        one.append(Clears(two))
        two.append(Clears(one))
        three = []
        three.append(Clears(three))
        four = []
        four.append(Clears(four))
        return a + 1, one == two, len(one), three == [1], 5 in four, len(four)

    same(f, (x,), whole=None)
