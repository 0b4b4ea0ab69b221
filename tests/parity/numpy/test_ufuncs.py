"""Every ufunc on every dtype and layout, operators, out=, where=, dtype=, order=, casting=."""

import operator

import numpy as np
import pytest

import numlift as nl
from outcomes import DTYPES, INTEGERS, check, data, layouts

UFUNCS = sorted({f.__name__: f for f in vars(np).values() if isinstance(f, np.ufunc)}.items())
UNARY = [f for _, f in UFUNCS if f.nin == 1]
BINARY = [f for _, f in UFUNCS if f.nin == 2]
CONTRACTIONS = {"matmul", "matvec", "vecdot", "vecmat"}
EXACT = {
    "absolute", "add", "bitwise_and", "bitwise_count", "bitwise_or", "bitwise_xor", "ceil", "conjugate", "copysign", "divide", "divmod", "equal",
    "fabs", "floor", "floor_divide", "fmax", "fmin", "fmod", "frexp", "gcd", "greater", "greater_equal", "heaviside", "invert", "isfinite", "isinf",
    "isnan", "lcm", "ldexp", "left_shift", "less", "less_equal", "logical_and", "logical_not", "logical_or", "logical_xor", "maximum", "minimum",
    "modf", "multiply", "negative", "nextafter", "not_equal", "positive", "reciprocal", "remainder", "right_shift", "rint", "sign", "signbit",
    "spacing", "sqrt", "square", "subtract", "trunc",
}  # fmt: skip
OPERATORS = [getattr(operator, name) for name in "add sub mul truediv floordiv mod pow lshift rshift and_ or_ xor lt le eq ne gt ge".split()]


def ulp_of(ufunc):
    return 0 if ufunc.__name__ in EXACT else 4


@pytest.mark.parametrize("ufunc", UNARY, ids=lambda f: f.__name__)
def test_unary_ufuncs_on_every_dtype(ufunc):
    for dtype in DTYPES:
        compiled = nl.compile(lambda x: ufunc(x))
        for size in ((), (1,), (3, 5), (133,), (0,)):
            check(lambda x: ufunc(x), data(dtype, *size), ulp=ulp_of(ufunc), native=False, compiled=compiled)


@pytest.mark.parametrize("ufunc", [f for f in BINARY if f.__name__ not in CONTRACTIONS], ids=lambda f: f.__name__)
def test_binary_ufuncs_on_every_pair_of_dtypes(ufunc):
    for left in DTYPES:
        for right in DTYPES:
            check(lambda x, y: ufunc(x, y), data(left, 3, 4), data(right, 4), ulp=ulp_of(ufunc), native=False)


@pytest.mark.parametrize("ufunc", [np.sqrt, np.negative, np.exp, np.isnan])
@pytest.mark.parametrize("dtype", ["d", "f"])
def test_unary_results_are_laid_out_as_numpy_does(ufunc, dtype):
    for x in layouts(dtype).values():
        check(lambda x: ufunc(x), x, ulp=ulp_of(ufunc))


@pytest.mark.parametrize("left", layouts("d"))
def test_binary_results_are_laid_out_as_numpy_does(left):
    x = layouts("d")[left]
    for dtype in "df":
        for y in layouts(dtype).values():
            check(lambda x, y: x + y, x, y, backend="graph")


@pytest.mark.parametrize("op", OPERATORS, ids=lambda f: f.__name__)
def test_operators_on_arrays_of_every_dtype(op):
    for dtype in DTYPES:
        check(lambda x, y: op(x, y), data(dtype, 3, 4), data(dtype, 3, 4, seed=1), ulp=4 if op is operator.pow else 0)


@pytest.mark.parametrize("op", [operator.neg, operator.pos, operator.invert, abs], ids=lambda f: f.__name__)
def test_unary_operators(op):
    for dtype in DTYPES:
        check(lambda x: op(x), data(dtype, 3, 4))


@pytest.mark.parametrize("op", "+= -= *= /= //= %= **= <<= >>= &= |= ^=".split())
def test_in_place_operators_store_and_keep_the_dtype(op):
    namespace = {}
    exec(f"def function(x, y):\n  x {op} y\n  return x\ndef by_two(x):\n  x {op} 2\n  return x", namespace)
    function, by_two = namespace["function"], namespace["by_two"]
    for dtype in DTYPES:
        for other in (dtype, "d", "b"):
            check(function, data(dtype, 3, 4), data(other, 4), ulp=4 if op == "**=" else 0)
        check(by_two, data(dtype, 5))
        check(function, data(dtype), data(dtype, seed=1), ulp=4)  # 0-d arrays stay arrays


def test_an_in_place_operator_returns_its_array():
    def function(x):
        y = x
        y += 1
        return y is x, x

    check(function, data("d", 4))


@pytest.mark.parametrize("exponent", [2, -1, 0, 1, 3, 0.5, 2.0, -1.0, 1.5, True, 2 + 0j, np.float32(0.5), np.int8(2)], ids=repr)
def test_powers_take_the_shortcuts_of_numpy(exponent):
    for dtype in DTYPES:
        check(lambda x: x**exponent, data(dtype, 4), ulp=4)
        check(lambda x, y: x**y, data(dtype, 4), exponent, ulp=4)
    check(lambda x: x**exponent, np.array([-np.inf, -0.0, 4.0]), ulp=4)


@pytest.mark.parametrize("dtype", INTEGERS)
def test_negative_integer_powers_raise(dtype):
    check(lambda x, y: x**y, data(dtype, 3), np.array([1, -1, 2], "b"), native=False)
    check(lambda x: np.power(x, -2), data(dtype, 3), native=False)


CALLS = [
    "np.add(x, y, out=z)", "np.add(x, y, z)", "np.add(x, y, out=(z,))", "np.add(x[0], y, out=z)", "np.multiply(x, 2, out=z)", "np.add(x, y, out=x)",
    "np.add(x[1:], y[1:], out=z[:-1])", "np.add(x, y, dtype='f4')", "np.add(x, y, dtype=np.complex128)", "np.add(x, y, order='C')", "np.add(x, y, order='F')",
    "np.add(x.T, y.T, order='A')", "np.add(x.T, y.T, order='K')", "np.sqrt(abs(x), out=z, where=x > 1)", "np.add(x, y, out=z, where=True)",
    "np.add(x, y, casting='no')", "np.add(x, y, subok=False)", "np.less(x, y, out=z)", "np.exp(x, out=z)", "np.divmod(x, y)", "np.modf(x)",
    "np.add.outer(x, y[0])", "np.add.reduce(x)", "np.add.reduce(x, axis=None)", "np.add.reduce(x, axis=1, keepdims=True)", "np.multiply.accumulate(x)",
    "np.maximum.reduce(x, axis=(0, 1))", "np.add.reduceat(x, [0, 1])", "np.add(x, [1.0, 2.0, 3.0, 4.0])", "np.add(x, y, out=...)", "np.add(x[0, 0], 1, out=...)",
    "np.matmul(x, y.T)", "x @ y.T", "x[0] @ y[1]", "np.vecdot(x, y)",
]  # fmt: skip


@pytest.mark.parametrize("call", CALLS)
def test_ways_to_call_a_ufunc(call):
    namespace = {"np": np}
    exec(f"def function(x, y, z):\n  return {call}", namespace)
    check(namespace["function"], data("d", 3, 4), data("d", 3, 4, seed=1) + 20, data("d", 3, 4), ulp=4)


REFUSED = [
    "np.add(x, y, out=i)", "np.add(x, y[:, :2])", "np.add(x, y, out=z[:2])", "np.add(x, y, casting='nothing')", "np.add(x)", "np.add(x, y, spam=1)",
    "np.add(x, y, dtype='i4')", "np.bitwise_and(x, y)", "np.subtract(x > 0, y > 0)", "np.negative(x > 0)", "x @ y", "np.add(x, y, z, out=z)", "i.__iadd__(x)",
]  # fmt: skip


@pytest.mark.parametrize("call", REFUSED)
def test_what_numpy_refuses_is_refused_with_its_words(call):
    namespace = {"np": np}
    exec(f"def function(x, y, z, i):\n  return {call}", namespace)
    check(namespace["function"], data("d", 3, 4), data("d", 3, 4), data("d", 3, 4), data("i", 3, 4), native=False)


def test_a_read_only_array_is_not_stored_to():
    def function(x):
        x += 1

    x = data("d", 4)
    x.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        nl.compile(function)(x)


@pytest.mark.parametrize("values", [[1.0, 0.0], [-1.0, 2.0], [1e308, 1e308], [np.inf, np.nan]])
def test_floating_point_warnings_are_those_of_numpy(values):
    for function in (lambda x: 1 / x, lambda x: np.sqrt(x), lambda x: np.log(x), lambda x: x * x, lambda x: x - x, lambda x: np.exp(x), lambda x: x // 0):
        check(function, np.array(values), ulp=4, native=False)


def test_sizes_of_broadcast_operands_stay_symbolic():
    compiled = nl.compile(lambda x, y: x * y + 1)
    for n in (2, 3, 7, 100):
        check(lambda x, y: x * y + 1, data("d", n, 4), data("d", n, 1), compiled=compiled)
    check(lambda x, y: x * y + 1, data("d", 3, 1), data("d", 1, 5), compiled=compiled)
    check(lambda x, y: x * y + 1, data("d", 2), data("d", 3), compiled=compiled, native=False)


BROADCAST_AWAY = {
    "rows": ("np.log(x) * e", (-np.ones(3), np.zeros((0, 3)))),
    "a cheap operation": ("(x * 1e308 * 1e10) + e", (np.ones(3), np.zeros((0, 3)))),
    "columns": ("np.sqrt(x)[:, None] + e", (-np.ones(4), np.zeros(0))),
    "into a sum": ("(np.sqrt(x) * e).sum()", (-np.ones(3), np.zeros((0, 3)))),
    "a number": ("x.sum() * 1e308 * 1e10 * e", (np.ones(3), np.zeros(0))),
    "broadcast_to": ("np.broadcast_to(np.sqrt(x), (len(e), 3))", (-np.ones(3), np.zeros(0))),
    "both sides": ("np.sqrt(x)[:, None] * np.log(e)", (-np.ones(4), np.zeros(0))),
    "a slice": ("np.sqrt(x)[:len(e)]", (-np.ones(4), np.zeros(0))),
}


@pytest.mark.parametrize("case", BROADCAST_AWAY)
def test_what_is_broadcast_along_an_empty_axis_warns_all_the_same(case):
    expression, args = BROADCAST_AWAY[case]
    check(eval(f"lambda x, e: {expression}", {"np": np}), *args, native=False)
