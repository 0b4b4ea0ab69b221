"""Nothing lives longer for being compiled: what entries name, what a call is given behind a break."""

import contextlib
import gc
import weakref

import numpy as np
import pytest

import numlift as nl
from same_call import same

x = np.arange(6.0).reshape(2, 3)


def leave(value=None):
    print(end="")
    return value


@contextlib.contextmanager
def all_compiled():
    with nl.config.patch(compile_all=True), nl.compile_region(backend="graph"):
        yield


def call(function, *args):
    return function(*args)


def in_all_ways(function):
    """What it gives plainly, compiled, in a region, and called by another function there; thrice each."""
    expected = function()
    compiled = nl.compile(function)
    for _ in range(3):
        assert compiled() == expected
        with all_compiled():
            assert function() == expected
            assert call(function) == expected
    return expected


def class_with_attribute():
    class A:
        pass

    A.a = A
    leave()
    alive = weakref.ref(A)
    del A
    gc.collect()
    return alive() is None


def function_that_was_called():
    def g(n):
        return n + 1

    k = g(2)
    alive = weakref.ref(g)
    leave()
    k += g(k)
    del g
    return alive() is None, k


def instance_in_a_circle():
    class A:
        def __init__(self):
            self.me = self
            self.k = 1

    a = leave(A())
    a.k += 1
    alive = weakref.ref(a)
    k = a.k
    del a
    gc.collect()
    return alive() is None, k


def wrapped_methods():
    class A:
        @staticmethod
        def s():
            return 1

        @classmethod
        def c(cls):
            return 2

        @property
        def p(self):
            return 3

    a = leave(A())
    k = a.s() + A.c() + a.p
    alive = [weakref.ref(one) for one in (A.s, A.__dict__["c"].__func__, A.__dict__["p"].fget)]
    leave()
    k += a.s() + a.c() + a.p
    del a, A
    gc.collect()
    return [one() is None for one in alive], k


def key_of_a_dict():
    class K:
        pass

    key = K()
    alive = weakref.ref(key)
    table = {key: 1}
    key.view = dict.items(table)
    key.steps = iter(key.view)
    del key, table
    gc.collect()
    return alive() is None


@pytest.mark.parametrize(
    "function",
    [class_with_attribute, function_that_was_called, instance_in_a_circle, wrapped_methods, key_of_a_dict],
)
def test_what_entries_name(function):
    expected = in_all_ways(function)
    assert expected is True or np.all(expected[0])


def test_arguments_of_a_suspended_call():
    class Thing:
        pass

    def inner(thing):
        alive = weakref.ref(thing)
        leave()
        del thing
        return alive() is None

    def middle():
        return inner(Thing()), 1

    def outer():
        return middle()

    with all_compiled():
        for _ in range(3):
            assert outer() == (True, 1)


def test_exceptions_of_a_suspended_call():
    class Thing:
        pass

    def fail(thing):
        leave()
        raise KeyError(thing)

    def f():
        thing = Thing()
        alive = weakref.ref(thing)
        try:
            try:
                fail(thing)
            except KeyError:
                raise ValueError
        except ValueError as error:
            error.__context__ = None
            thing = None
            gc.collect()
            return alive() is None

    with all_compiled():
        for _ in range(3):
            assert call(f)


def test_super_without_arguments_behind_a_break():
    class A:
        def k(self, n):
            return n + 1

    class B(A):
        def k(self, n):
            leave()
            n = super().k(n)
            leave()
            return super().k(n)

    def f(b):
        return b.k(1) * 2

    with all_compiled():
        for _ in range(3):
            assert f(B()) == 6


def test_a_view_of_another_kind_of_mapping():
    """What a view is handed out of is guarded: a dict's entry is none for a proxy."""
    import types

    def keys(mapping):
        return list(leave(mapping.keys())), [k for k in leave(mapping.items())]

    table = {"a": 1, "b": 2}
    compiled = nl.compile(keys)
    for mapping in (table, types.MappingProxyType(table), table):
        assert compiled(mapping) == (["a", "b"], [("a", 1), ("b", 2)])


def test_an_entry_whose_class_is_gone():
    """Another class may come to lie at its address."""

    def make(k):
        class A:
            def __init__(self):
                self.k = k

            def value(self, a):
                return a * self.k

        return A()

    compiled = nl.compile(lambda thing, a: thing.value(a) + 1)
    for k in range(30):
        thing = make(k)
        np.testing.assert_array_equal(compiled(thing, x), x * k + 1)
        del thing
        gc.collect()
    # Those that are gone do not count against the limit.
    assert len(compiled.entries) <= 2


def test_a_class_that_goes_while_its_entry_runs():
    def f(a):
        class A:
            k = 2

        thing = A()
        del A
        y = a * thing.k
        alive = weakref.ref(type(thing))
        leave()
        del thing
        gc.collect()
        return y + 1, alive() is None

    same(f, (x,), whole=False)


class Dying:
    def __init__(self, name, log):
        self.name, self.log = name, log

    def __del__(self):
        self.log.append(self.name)


def half_way(name, log):
    def steps():
        try:
            yield name
        finally:
            log.append(name)

    made = steps()
    next(made)
    return made


def ends_of_frames(keep, broken, log):
    def inner(first):
        second, third = keep("second", log), keep("third", log)
        if broken:
            leave()
        return len([first, second, third])

    log.append(inner(keep("first", log)))
    fourth, fifth = keep("fourth", log), keep("fifth", log)
    if broken:
        leave()
    return [fourth, fifth] is fifth


@pytest.mark.parametrize("broken", [False, True])
@pytest.mark.parametrize("keep", [half_way, Dying])
def test_order_in_which_a_frame_lets_go(keep, broken):
    """Up to 3.13 from its first variable to its last, from 3.14 on the other way round."""

    def in_order():
        log = []
        ends_of_frames(keep, broken, log)
        return log

    log = in_all_ways(in_order)
    assert sorted(log[:3]) == ["first", "second", "third"]


def test_what_identity_is_asked_of_is_not_kept():
    # Which bound method it was stood in a guard, and the entry kept it, and with it its object.
    class Thing:
        def method(self):
            pass

    def f(a, m, n):
        return a + 1 if m is n else a * 2

    compiled = nl.compile(f)
    for is_same in (True, False, True):
        m = Thing().method
        n = m if is_same else Thing().method
        gone = weakref.ref(m.__self__)
        np.testing.assert_array_equal(compiled(x, m, n), f(x, m, n))
        del m, n
        gc.collect()
        assert gone() is None
    assert compiled.stats.compiles == 2
