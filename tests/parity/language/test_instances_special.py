"""Instances whose classes have a __new__, a __getattribute__ or descriptors of their own, and instances of C classes
that hold attributes only."""

import functools
import types

import numpy as np
from same_call import BACKENDS, same

import numlift as nl
from numlift.testing import break_count

x = np.arange(6.0)


class Scale:
    def __init__(self, k):
        self.k = k


class MadeByBase:
    def __new__(cls, what):
        return object.__new__(Derived if what == 1 else cls)


class Derived(MadeByBase):
    def __init__(self, what):
        self.what = what


def test_new_gives_an_instance_of_a_derived_class():
    def f(a):
        return a + 1, MadeByBase(1).what, Derived(2).what

    same(f, (x,))


class Proxy:
    def __init__(self, inner):
        self.inner = inner

    def __getattribute__(self, name):
        if name == "inner":
            return object.__getattribute__(self, name)
        return getattr(self.inner, name)


def test_getattribute_that_asks_object():
    def f(a, proxy):
        return a * proxy.k + Proxy(Scale(2)).k

    same(f, (x, Proxy(Scale(3))), whole=None)


def test_simple_namespace():
    def f(a, outside):
        box = types.SimpleNamespace(p=a, q=2)
        box.r = box.p * box.q
        del box.q
        outside.w = box.r
        return box, outside.w + outside.k, hasattr(box, "q"), types.SimpleNamespace()

    def check(ours, plain):
        for key in ("p", "r"):
            np.testing.assert_array_equal(getattr(ours, key), getattr(plain, key))
        assert list(vars(ours)) == list(vars(plain)) and type(ours) is type(plain)

    for backend in BACKENDS:
        compiled = nl.compile(f, backend=backend)
        for _ in range(2):
            ours, plain = types.SimpleNamespace(k=1.5), types.SimpleNamespace(k=1.5)
            got, expected = compiled(x, ours), f(x, plain)
            check(got[0], expected[0])
            np.testing.assert_array_equal(got[1], expected[1])
            np.testing.assert_array_equal(ours.w, plain.w)
            assert got[2:] == expected[2:] == (False, types.SimpleNamespace())
        assert break_count(compiled) == 0


class Cached:
    calls = 0

    def __init__(self, a):
        self.a = a

    @functools.cached_property
    def twice(self):
        Cached.calls += 1
        return self.a * 2


def test_cached_property():
    def f(a, outside):
        inside = Cached(a)
        return inside.twice + inside.twice, outside.twice + outside.twice, inside

    for backend in BACKENDS:
        compiled = nl.compile(f, backend=backend)
        for _ in range(3):
            ours, plain = Cached(x + 1), Cached(x + 1)
            Cached.calls = 0
            expected = f(x, plain), Cached.calls
            Cached.calls = 0
            got = compiled(x, ours), Cached.calls
            for one, other in zip(got[0][:2], expected[0][:2]):
                np.testing.assert_array_equal(one, other)
            assert got[1] == expected[1] == 2
            assert list(vars(ours)) == list(vars(plain)) == ["a", "twice"]
            assert list(vars(got[0][2])) == ["a", "twice"]
            # Once it is there, it is an attribute like others.
            np.testing.assert_array_equal(compiled(x, ours)[1], f(x, plain)[1])
        assert break_count(compiled) == 0
