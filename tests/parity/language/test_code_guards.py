"""Functions that a compiled function reaches by way of an object that never changes itself (a method of a class,
a property, a partial): what they hold is noticed when it is replaced."""

import functools

import numpy as np
import pytest

import numlift as nl
from numlift.testing import break_count

x = np.arange(4.0)


def times_ten(*args, **_):
    return args[-1] * 10


class Model:
    @staticmethod
    def static(a, *, k=2.0):
        return a + k

    @classmethod
    def of_class(cls, a):
        return a + 2

    @property
    def scale(self):
        return x + 3

    @functools.cached_property
    def unused(self):
        return None

    def method(self, a):
        return a + 4


def scaled(a, k=1.0):
    return a * k


model = Model()
half = functools.partial(scaled, k=0.5)
nested = functools.partial(half)

CASES = {
    "staticmethod of a class": (lambda a: Model.static(a) * 2, lambda: Model.__dict__["static"].__func__),
    "staticmethod of an instance": (lambda a: model.static(a) * 2, lambda: Model.__dict__["static"].__func__),
    "classmethod": (lambda a: Model.of_class(a) * 2, lambda: Model.__dict__["of_class"].__func__),
    "method": (lambda a: model.method(a) * 2, lambda: Model.method),
    "partial": (lambda a: half(a) * 2, lambda: scaled),
    "partial of a partial": (lambda a: nested(a) * 2, lambda: scaled),
}


@pytest.mark.parametrize("case", CASES)
def test_code_is_replaced(case, monkeypatch):
    function, changed = CASES[case]
    compiled = nl.compile(function)
    np.testing.assert_array_equal(compiled(x), function(x))
    assert break_count(compiled) == 0
    before = compiled(x)
    monkeypatch.setattr(changed(), "__code__", times_ten.__code__)
    np.testing.assert_array_equal(compiled(x), function(x))
    assert not np.array_equal(compiled(x), before)


def test_code_of_a_property_is_replaced(monkeypatch):
    function = lambda a: model.scale * a  # noqa: E731
    compiled = nl.compile(function)
    np.testing.assert_array_equal(compiled(x), function(x))
    monkeypatch.setattr(Model.__dict__["scale"].fget, "__code__", (lambda self: x - 3).__code__)
    np.testing.assert_array_equal(compiled(x), function(x))


def test_defaults_are_replaced(monkeypatch):
    compiled = nl.compile(lambda a: Model.static(a) * 2)
    np.testing.assert_array_equal(compiled(x), (x + 2) * 2)
    monkeypatch.setattr(Model.__dict__["static"].__func__, "__kwdefaults__", {"k": 7.0})
    np.testing.assert_array_equal(compiled(x), (x + 7) * 2)


def test_keywords_of_a_partial_are_changed_in_place():
    def g(a, k=1.0, m=0.0):
        return a * k + m

    partial = functools.partial(g, k=2.0)
    compiled = nl.compile(lambda a: partial(a) + 1)
    np.testing.assert_array_equal(compiled(x), x * 2 + 1)
    partial.keywords["k"] = 3.0
    np.testing.assert_array_equal(compiled(x), x * 3 + 1)
    partial.keywords["m"] = 5.0
    np.testing.assert_array_equal(compiled(x), x * 3 + 6)
    partial.keywords.clear()
    np.testing.assert_array_equal(compiled(x), x + 1)
