"""Functions called inside: binding of arguments, closures, recursion, methods of functools."""

import functools
import operator

import numpy as np
import pytest
from same_call import breaks, same

x = np.arange(6.0).reshape(2, 3)


def scale(a, factor=2.0, *rest, bias=0.0, **named):
    for extra in rest:
        a = a + extra
    for name, value in named.items():
        a = a - value
    return a * factor + bias


def positional_only(a, b=3, /, c=4):
    return a * b + c


def keyword_only(a, *, b, c=1):
    return a * b + c


def test_defaults_and_keywords():
    same(lambda a: scale(a), (x,))
    same(lambda a: scale(a, 3.0), (x,))
    same(lambda a: scale(a, bias=1.5), (x,))
    same(lambda a: scale(a, 3.0, 1.0, 2.0, bias=1.5, u=0.5, v=0.25), (x,))
    same(lambda a: scale(factor=2, a=a), (x,))


def test_positional_only_and_keyword_only():
    same(lambda a: positional_only(a), (x,))
    same(lambda a: positional_only(a, 2, c=7), (x,))
    same(lambda a: keyword_only(a, b=2), (x,))


def test_star_arguments_in_calls():
    same(lambda a: scale(*[a, 3.0], *(1.0,), **{"bias": 2.0}), (x,))
    same(lambda a: scale(a, **dict(factor=5.0)), (x,))


def test_wrong_arguments_raise_as_in_python():
    same(lambda a: scale(), (x,), whole=False)
    same(lambda a: positional_only(a=a), (x,), whole=False)
    same(lambda a: keyword_only(a, 2), (x,), whole=False)
    same(lambda a: keyword_only(a, b=1, d=2), (x,), whole=False)
    same(lambda a: scale(a, a=a), (x,), whole=False)
    same(lambda a: positional_only(a, 1, 2, 3), (x,), whole=False)


def test_own_parameters_of_every_kind():
    def f(a, /, b, *args, c=2.0, **kwargs):
        total = a + b * c
        for value in args:
            total = total + value
        for key, value in kwargs.items():
            total = total * value
        return total, sorted(kwargs)

    same(f, (x, 1.0), (x, 1.0, 2.0, x))
    same(f, (x, 1.0), kwargs={"u": 2.0, "v": x})


def test_keywords_in_another_order_are_another_call():
    def f(a, **kwargs):
        for value in kwargs.values():
            a = a * 2 + value
        return a

    import numlift as nl

    compiled = nl.compile(f)
    for keywords in ({"u": 1.0, "v": 2.0}, {"v": 2.0, "u": 1.0}):
        assert (compiled(x, **keywords) == f(x, **keywords)).all()


def test_nested_functions_and_closures():
    def f(a, n):
        def add(b):
            return a + b * n

        def twice(g, b):
            return g(g(b))

        return twice(add, a)

    same(f, (x, 2), (x, 3))


def test_one_cell_is_shared():
    def f(a):
        count = 0

        def step():
            nonlocal count
            count += 1
            return a * count

        first, second = step(), step()
        return first, second, count

    same(f, (x,))


def test_cell_of_an_argument():
    def f(a, k):
        def g():
            return a * k

        k = k + 1
        return g()

    same(f, (x, 2))


def test_default_of_an_inner_function_is_evaluated_once():
    def f(a):
        parts = [lambda b, k=k: b * k for k in range(3)]
        return [part(a) for part in parts]

    same(f, (x,))


def test_late_binding_of_a_loop_variable():
    def f(a):
        parts = [lambda b: b * k for k in range(3)]
        return [part(a) for part in parts]

    same(f, (x,))


def test_recursion():
    def power(a, n):
        return a if n == 1 else a * power(a, n - 1)

    same(lambda a: power(a, 5), (x,))


def test_endless_recursion_is_left_to_python():
    def f(a):
        def g(n):
            return g(n + 1)

        return g(0) if len(a) else a

    same(f, (x,), whole=False)


def test_function_arguments():
    def f(a, g):
        return g(a) + 1

    same(lambda a: f(a, np.sqrt), (x,))
    same(lambda a: f(a, lambda b: b * 2), (x,))
    same(f, (x, np.sin))


def test_partial():
    outside = functools.partial(scale, factor=3.0, bias=1.0)
    same(lambda a: outside(a), (x,))
    same(lambda a: outside(a, bias=2.0), (x,))
    same(lambda a: functools.partial(scale, a, 4.0)(bias=1.0), (x,))


def test_reduce():
    same(lambda a: functools.reduce(operator.add, [a, a * 2, a * 3]), (x,))
    same(lambda a: functools.reduce(lambda p, q: p * q, (a, a), 2.0), (x,))


def test_decorators_from_functools_wraps():
    def doubled(g):
        @functools.wraps(g)
        def wrapper(*args, **kwargs):
            return g(*args, **kwargs) * 2

        return wrapper

    g = doubled(lambda a, b=1: a + b)
    same(lambda a: g(a, b=3), (x,))


def test_compiled_function_called_by_a_compiled_function():
    import numlift as nl

    inner = nl.compile(lambda a: a * 2 + 1)
    same(lambda a: inner(a) - 1, (x,))


def test_call_of_what_is_not_callable():
    same(lambda a: a(), (x,), whole=False)
    same(lambda a: a.ndim(a), (x,), whole=False)


def test_print_is_a_break(capsys):
    def f(a):
        print("woo")
        return a * 2

    breaks(f, x, reason="builtin: print [str] False")
    assert capsys.readouterr().out == "woo\n" * (2 * 2 * 2 + 1)


def test_unknown_c_function_is_a_break():
    import zlib

    def f(a):
        return a + zlib.crc32(b"numlift") % 7

    breaks(f, x, reason="zlib.crc32")


@pytest.mark.parametrize("flag", [True, False])
def test_walrus_and_conditional_expression(flag):
    def f(a, flag):
        b = (c := a * 2) + 1 if flag else a
        return b, (c if flag else None)

    same(f, (x, flag))


def test_argument_count_of_a_builtin():
    same(lambda a: len(a, a), (x,), whole=False)
