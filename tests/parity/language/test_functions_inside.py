"""Attributes of functions: functools.wraps and other decorators applied inside, counters on functions."""

import functools

import numpy as np
from same_call import BACKENDS, compare, same

import numlift as nl
from numlift.testing import break_count

x = np.arange(6.0)


def doubled(f):
    @functools.wraps(f)
    def wrapper(*args, **kwargs):
        "another text"
        return f(*args, **kwargs) * 2

    return wrapper


def plain(a: float, b=1) -> float:
    "what plain is for"
    return a + b


plain.note = 3


def facts(f):
    return f.__name__, f.__qualname__, f.__doc__, f.__module__, f.__annotations__, vars(f)


def test_wraps_of_a_function_from_outside():
    def f(a):
        w = doubled(plain)
        names = w.__name__, w.__doc__, w.__module__, w.__qualname__
        return w(a, b=2), names, w.note, w.__wrapped__ is plain, hasattr(w, "note"), hasattr(w, "other")

    same(f, (x,))


def test_wraps_of_a_function_made_inside():
    def f(a):
        @doubled
        def inner(v):
            "inner text"
            return v - 1

        return inner(a), inner.__name__, inner.__doc__, inner.__wrapped__(a)

    same(f, (x,))


def test_a_wrapper_is_handed_out():
    def f(a):
        return doubled(plain), a + 1

    for backend in BACKENDS:
        compiled = nl.compile(f, backend=backend)
        for _ in range(2):
            got, expected = compiled(x)[0], f(x)[0]
            assert facts(got) == facts(expected)
            assert got.__annotations__ is plain.__annotations__
            assert got.__wrapped__ is plain
            compare(got(x), expected(x))
        assert break_count(compiled) == 0


def test_other_names_in_the_next_call():
    def first(v):
        "one"
        return v + 1

    def second(v):
        return v * 3

    def f(a, g):
        w = doubled(g)
        return w(a), w.__name__, w.__doc__

    for backend in BACKENDS:
        compiled = nl.compile(f, backend=backend)
        for g in (first, second, first):
            compare(compiled(x, g), f(x, g))
        first.__doc__ = "another"
        compare(compiled(x, first), f(x, first))
        first.__doc__ = "one"


def test_attributes_are_set_read_and_deleted():
    def f(a):
        def g(v):
            return v

        g.count = 1
        g.count += 1
        g.__name__ = "other"
        g.gone = 1
        del g.gone
        try:
            g.nothing
        except AttributeError as error:
            text = str(error), error.name, error.obj is g
        return a * g.count, g.__name__, text, hasattr(g, "gone"), g.__dict__, getattr(g, "absent", 4)

    same(f, (x,))


def counted(v):
    return v + 1


def test_a_counter_on_a_function_from_outside():
    def f(a):
        counted.calls += 1
        return counted(a) * counted.calls

    for backend in BACKENDS:
        compiled = nl.compile(f, backend=backend)
        results = []
        for function in (f, compiled):
            counted.calls = 0
            results.append([function(x) for _ in range(3)] + [counted.calls])
        compare(results[1], results[0])
        assert break_count(compiled) == 0
    del counted.calls


def test_annotations():
    def f(a):
        def g(v: int, w: "text" = 1) -> float:
            return v

        g.__annotations__["more"] = 3
        return a + 1, g.__annotations__, g

    for backend in BACKENDS:
        compiled = nl.compile(f, backend=backend)
        for _ in range(2):
            got, expected = compiled(x), f(x)
            assert got[1] == expected[1]
            assert got[2].__annotations__ == expected[2].__annotations__


def test_a_wrapper_as_classmethod_is_handed_out():
    # classmethod copies the function's attributes when it is made.
    def f(a):
        def wrapper(cls):
            return 3

        wrapper.me = wrapper
        functools.update_wrapper(wrapper, plain)
        return classmethod(wrapper), property(wrapper), a + 1

    for backend in BACKENDS:
        compiled = nl.compile(f, backend=backend)
        for _ in range(2):
            (method, value, _), (plain_method, plain_value, _) = compiled(x), f(x)
            assert method.__name__ == plain_method.__name__ == "plain"
            assert method.__doc__ == plain_method.__doc__
            assert value.__doc__ == plain_value.__doc__
            assert method.__func__.me is method.__func__
