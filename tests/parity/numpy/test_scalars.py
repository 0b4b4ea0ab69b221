"""NumPy scalars, 0-d arrays and Python numbers are three things, in results too (spec 7.3)."""

import math
import operator

import numpy as np
import pytest

import differential
import numlift as nl
from outcomes import DTYPES, INTEGERS, check, data

CALLS = [
    "np.float32(3)", "np.float32(x)", "np.int8(x)", "np.complex128(x)", "np.bool(x)", "np.float64(s)", "np.float32(s)", "np.int64(s)", "np.float16(k)", "np.float32(v)", "np.uint8(200)",
    "x[0] if False else v[0]", "v.sum()", "v.sum() + 1", "v.sum() * 2.0", "np.sqrt(v.sum())", "z + 1", "z + z", "z * s", "-z", "np.add(z, z)", "z.sum()", "z.mean()", "np.exp(z)",
    "float(v[0])", "int(v[0])", "complex(v[0])", "float(s)", "v[0].item()", "v.sum().item()", "float(x)", "int(s)", "v[0] + v[1]", "v[0] == v[1]", "v[0] < 2", "v[0] ** 2", "v[0] ** 0.5",
    "z.astype('f4')", "v[0].astype('i4')", "v[0].round()", "np.round(v[0])", "np.round(x)", "z.round()", "np.clip(x, 0, 1)", "np.clip(v[0], 0, 1)", "z.clip(0, 1)", "np.where(True, x, s)",
    "np.where(v > 0, 1, 0)", "np.where(v > 0, v, 0.5)", "abs(v[0])", "abs(z)", "v[0].conj()", "np.conj(v[0])", "v[0].dtype", "s + 1", "s * v", "v * k", "x * v", "s * k", "np.sin(x)", "np.sin(k)",
    "np.maximum(x, 1)", "np.add(x, k)", "divmod(v[0], 2)", "np.pi * v[0]", "np.float32(np.pi) * 2", "np.int8(3) + np.int8(4)", "np.uint8(3) * k", "z is z", "v[0] is v[0]",
]  # fmt: skip


@pytest.mark.parametrize("call", CALLS)
def test_kinds_of_results(call):
    namespace = {"np": np}
    exec(f"def function(v, z, s, x, k):\n  return {call}", namespace)
    check(namespace["function"], data("d", 4) + 10, np.array(2.5), np.float64(1.5), 0.75, 3, ulp=4, native=False)


OPERATORS = [getattr(operator, name) for name in "add sub mul truediv floordiv mod pow lshift rshift and_ or_ xor lt le eq ne gt ge".split()]


@pytest.mark.parametrize("op", OPERATORS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("dtype", DTYPES)
def test_operators_on_numpy_scalars(op, dtype):
    x, y = data(dtype, 4)[1], data(dtype, 4)[2]
    check(lambda x, y: op(x, y), x, y, ulp=4, native=False)
    for number in (2, -1, 300, 0.5, True, 1j):
        check(lambda x, y: op(x, y), x, number, ulp=4, native=False)
        check(lambda x, y: op(y, x), x, number, ulp=4, native=False)
        check(lambda x: op(x, number), x, ulp=4, native=False)


@pytest.mark.parametrize("dtype", INTEGERS)
def test_integer_scalars_warn_of_overflow_and_arrays_do_not(dtype):
    low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
    scalar = np.dtype(dtype).type
    for a in (low, low + 1, high - 1, high, 0, 1):
        check(lambda x: -x, scalar(a), native=False)
        check(lambda x: abs(x), scalar(a), native=False)
        for b in (low, high, 1, 2):
            for op in (operator.add, operator.sub, operator.mul, operator.floordiv):
                check(lambda x, y: op(x, y), scalar(a), scalar(b), native=False)
                check(lambda x, y: op(x, y), np.array([a], dtype), np.array([b], dtype), native=False)
            check(lambda x, y: np.add(x, y), scalar(a), scalar(b), native=False)


def test_numbers_that_do_not_convert():
    for function in (lambda v: float(v), lambda v: int(v), lambda v: bool(v), lambda v: int(v[0]), lambda v: complex(v)):
        check(function, np.array([np.nan, 1.0]), native=False)
        check(function, np.array([np.inf]), native=False)
        check(function, np.array([1e30]), native=False)


def test_python_math_on_numpy_scalars():
    check(lambda v: math.sqrt(v[0]), data("d", 4) + 10, native=False)


TRUTHS = ["bool(x[0])", "bool(x.sum() > 0)", "bool(x.any())", "bool(x.mean())", "bool(x.astype(complex)[1])", "bool(x.sum() > 0) + 1", "bool(x[1]) * 2.5", "x * bool(x[1] > 0)", "not bool(x[0])",
          "bool(x[0]) and 3", "bool(x[0]) or x", "(bool(x[0]), bool(x[1]))", "[1, 2][bool(x[0])]", "bool(x[0]) is True", "bool(x[0]) == True", "type(bool(x[0]))", "f'{bool(x[0])}'", "bool(np.asarray(x[0]))",
          "-bool(x[1])", "~np.bool(bool(x[0]))", "bool(x[0]) & bool(x[1])", "bool(x[0] != x[0])", "int(bool(x[1]))", "bool(bool(x[1]))", "bool(x[:1])"]  # fmt: skip


@pytest.mark.parametrize("expression", TRUTHS)
def test_bool_of_a_number_is_no_branch(expression):
    function = eval(f"lambda x: {expression}", {"np": np})
    for x in ([0.0, 1.5], [2.0, 0.0], [np.nan, -1.0], [-0.0, 0.0]):
        differential.check(function, lambda x=x: (np.array(x),), native=False)
    if expression in TRUTHS[:5]:
        compiled = nl.compile(function, fullgraph=True)
        assert compiled(np.ones(2)) is True and compiled(np.ones(3)) is True and len(compiled.entries) == 1
