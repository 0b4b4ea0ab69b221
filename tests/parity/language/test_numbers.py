"""Python numbers as arguments: run-time inputs with Python's very arithmetic."""

import math

import numpy as np
import pytest
from same_call import same

import numlift as nl

x = np.arange(6.0)
INTS = [0, 1, -1, 2, 7, -13, 2**31, 2**53 + 1, -(2**53) - 3, 2**62, 2**63 - 1, -(2**63), 2**70]
FLOATS = [0.0, -0.0, 1.5, -2.25, 1e308, 5e-324, math.inf, -math.inf, math.nan, 0.1, 3.0]


def binary(op):
    return eval(f"lambda p, q: p {op} q")


@pytest.mark.parametrize("op", ["+", "-", "*", "//", "%", "/", "&", "|", "^", "<", "<=", "==", "!=", ">", ">="])
def test_two_ints(op):
    f = binary(op)
    with nl.config.patch(recompile_limit=1000):
        same(f, *[(p, q) for p in INTS for q in INTS], whole=None)


@pytest.mark.parametrize("op", ["+", "-", "*", "//", "%", "/", "<", "<=", "==", "!=", ">", ">="])
def test_two_floats(op):
    f = binary(op)
    with nl.config.patch(recompile_limit=1000):
        same(f, *[(p, q) for p in FLOATS for q in FLOATS], whole=None)


@pytest.mark.parametrize("op", ["+", "-", "*", "//", "%", "/", "**", "<", "==", ">="])
def test_int_and_float(op):
    f = binary(op)
    with nl.config.patch(recompile_limit=1000):
        same(f, *[(p, q) for p in INTS[:9] for q in (0.0, 1.5, -2.25, 2.0**53, math.inf, math.nan)], whole=None)
        same(f, *[(q, p) for p in INTS[:6] for q in (0.0, 1.5, -2.25, 2.0**53, math.inf, math.nan)], whole=None)


@pytest.mark.parametrize("n", [0, 1, 2, 3, 4, 5, 63, -1])
def test_powers_and_shifts_of_ints(n):
    with nl.config.patch(recompile_limit=1000):
        same(lambda p: (p**2, p**3, p * p - p), *[(p,) for p in INTS], whole=None)
        same(lambda p, q: p**q, (3, n), (-2, n), (0, n), whole=None)
        same(lambda p, q: (p << q, p >> q), (3, n), (-5, n), whole=None)
    same(lambda p: (p << 3, p >> 2), (5,), (-5,))


def test_arithmetic_stays_a_runtime_input():
    compiled = nl.compile(lambda a, n, dt: (a * (dt / n + 0.5) - n * 2, n // 2 + n % 3, -dt, abs(dt), n - 1))
    for n, dt in ((4, 0.5), (7, -1.25), (100, 3.0)):
        got, expected = compiled(x, n, dt), compiled.__wrapped__(x, n, dt)
        assert (got[0] == expected[0]).all() and got[1:] == expected[1:]
    assert compiled.stats.compiles == 1


def test_division_by_zero_raises_as_in_python():
    compiled = nl.compile(lambda a, p, q: a * (p / q))
    assert (compiled(x, 1.0, 2.0) == x * 0.5).all()
    for p, q in ((1.0, 0.0), (0.0, 0.0), (math.nan, 0.0), (math.inf, -0.0), (1, 0)):
        with pytest.raises(ZeroDivisionError):
            compiled(x, p, q)
    assert (compiled(x, 1.0, 4.0) == x * 0.25).all()


@pytest.mark.parametrize("name", ["//", "%"])
def test_floor_division_by_zero_raises(name):
    compiled = nl.compile(binary(name))
    assert compiled(7.5, 2.0) == eval(f"7.5 {name} 2.0")
    with pytest.raises(ZeroDivisionError):
        compiled(7.5, 0.0)
    with pytest.raises(ZeroDivisionError):
        compiled(7, 0)


def test_power_of_floats():
    f = binary("**")
    with nl.config.patch(recompile_limit=1000):
        for p, q in ((2.0, 0.5), (1.5, 2.0), (0.0, 0.0), (-8.0, 3.0), (1e300, 2.0), (0.0, -1.0), (-8.0, 0.5), (math.inf, -1.0)):
            same(f, (p, q), whole=None)


def test_unary_and_conversions():
    same(lambda p: (-p, +p, abs(p), ~p, bool(p), int(p), float(p), complex(p), not p), (5,), (-3,), (0,))
    same(lambda p: (-p, +p, abs(p), bool(p), int(p), float(p), complex(p), not p), (5.5,), (-3.0,), (0.0,), (-0.0,))
    same(lambda p: (p.real, p.imag, p.numerator), (5,))
    same(lambda: (int("12"), float("1.5"), str(3), int(3.7), bool([]), complex(1, 2), int("ff", 16)))


def test_min_max_sum_round_divmod_pow():
    def f(n, dt):
        return (
            min(n, 3), max(n, 3, 5), min(dt, 0.5), max(dt, n), sum([n, 1, 2]), round(2.567, 2), round(dt),
            divmod(n, 3), divmod(dt, 0.7), pow(n, 2), min([4, 2, 8]), max("abc"), min(3, 1, key=lambda v: -v),
            sum([0.1] * 10), sum([1, 2], start=5), sum([dt, 0.2]),
        )

    same(f, (4, 0.25), (2, 7.5))


def test_branches_on_numbers_are_guarded():
    def f(a, n, dt):
        if n > 3:
            a = a + 1
        if dt < 0:
            a = a * 2
        return a if n % 2 else -a

    same(f, (x, 5, 1.0), (x, 2, -1.0), (x, 2, 1.0), (x, 6, 1.0))


def test_one_entry_serves_all_ints_on_one_side_of_a_branch():
    compiled = nl.compile(lambda a, n: a + 1 if n > 10 else a - 1)
    for n in (1, 3, 5, 9):
        assert (compiled(x, n) == x - 1).all()
    assert compiled.stats.compiles == 1
    assert (compiled(x, 11) == x + 1).all()
    assert compiled.stats.compiles == 2


def test_math_functions_on_constants_and_inputs():
    names = ["sqrt", "exp", "expm1", "sin", "cos", "tan", "atan", "sinh", "cosh", "tanh", "asinh", "log1p", "fabs"]

    def f(a, t):
        out = [a * math.pi]
        for name in names:
            out.append(getattr(math, name)(0.5))
        return out, math.sqrt(t), math.floor(t), math.ceil(t), math.isnan(t), math.gcd(12, 18), math.prod([2, 3]), math.atan2(t, 2.0), math.copysign(t, -1.0)

    same(f, (x, 2.25), (x, 9.0))


@pytest.mark.parametrize(
    "name, bad", [("sqrt", -1.0), ("log", 0.0), ("log", -1.0), ("exp", 1e4), ("sin", math.inf), ("asin", 2.0),
                  ("acosh", 0.5), ("atanh", 1.0), ("log2", 0.0), ("log10", -3.0), ("log1p", -1.0), ("cosh", 1e4)]
)
def test_math_functions_raise_as_in_python(name, bad):
    function = getattr(math, name)
    compiled = nl.compile(lambda a, t: a * function(t))
    good = 1.0 if name in ("sqrt", "log", "exp", "sin", "log2", "log10", "log1p", "cosh", "acosh") else 0.5
    np.testing.assert_allclose(compiled(x, good), x * function(good), rtol=1e-15)
    with pytest.raises((ValueError, OverflowError)) as expected:
        function(bad)
    with pytest.raises(type(expected.value), match=str(expected.value)):
        compiled(x, bad)


def test_bool_argument():
    same(lambda a, b: (a * b, b + 1, b and a.ndim, b is True), (x, True), (x, False))


def test_complex_argument():
    same(lambda a, z: (a * z, z + 1, z * 2.0, z - 1j, -z), (x, 1 + 2j), (x, -0.5j))


COMPLEX = [0j, complex(-0.0, -0.0), 1.5 - 2j, complex(math.inf, -0.0), complex(math.nan, 1.0), complex(-0.0, math.inf)]


@pytest.mark.parametrize("op", ["+", "-", "*"])
def test_two_numbers_one_complex(op):
    """Zeros and infinities show whether a real operand is made complex first, as up to CPython 3.13."""
    f = binary(op)
    reals = [0.0, -0.0, 2.5, math.inf, 3, -1, True]
    pairs = [(p, q) for p in COMPLEX for q in reals + COMPLEX]
    pairs += [(q, p) for p in COMPLEX for q in reals]
    with nl.config.patch(recompile_limit=1000):
        same(f, *pairs, whole=None)


def test_numpy_scalar_and_python_number():
    same(lambda a, n: (a.sum() * n, float(a.sum()) * n, a[0] + n, n - a.max()), (x, 3), (x, 2.5))
