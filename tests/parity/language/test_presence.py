"""What is found in one call may be gone in the next, even where nothing else of it was looked at."""

import types

import numpy as np
from same_call import same

import numlift as nl

x = np.arange(3.0)
something = print  # a deep copy of it is itself
Box = types.SimpleNamespace
CALLS = [(x, {"k": something}), (x, {"k": something, "n": 1}), (x, {}), (x, {"j": 1}), (x, {"k": 5}), (x, {"k": [1]})]


def test_key():
    def f(a, d):
        return a + 1, "k" in d

    def g(a, d):
        try:
            d["k"]
        except KeyError:
            return a + 1, "absent"
        return a + 2, "found"

    def h(a, d):
        return a + 1, d.get("k")

    for function in (f, g, h):
        same(function, *CALLS, whole=None)


def test_key_that_is_missing_raises():
    def f(a, d):
        return a + 1, type(d["k"])

    same(f, *CALLS, whole=None)


def test_attribute():
    def f(a, box):
        try:
            box.k
        except AttributeError:
            return a + 1, "absent"
        return a + 2, "found"

    def g(a, box):
        return a + 1, hasattr(box, "k"), type(getattr(box, "k", None))

    for function in (f, g):
        same(function, *[(a, Box(**d)) for a, d in CALLS], whole=None)


late = something


def test_global():
    def f(a):
        try:
            late
        except NameError:
            return a + 1, "absent"
        return a + 2, "found"

    global late
    same(f, (x,), whole=None)
    compiled = nl.compile(f)
    assert compiled(x)[1] == "found"
    kept = late
    del late
    try:
        assert compiled(x)[1] == "absent"
    finally:
        late = kept
    assert compiled(x)[1] == "found"
