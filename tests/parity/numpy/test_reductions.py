"""Reductions: dtypes, axes, layouts, keepdims, initial, where, out, ddof, empty arrays."""

import itertools

import numpy as np
import pytest

import numlift as nl
from outcomes import DTYPES, check, data, layouts

SUMS = ["sum", "prod", "mean", "var", "std"]
EXTREMES = ["min", "max", "any", "all", "ptp"]
POSITIONS = ["argmin", "argmax"]
ALL = SUMS + EXTREMES + POSITIONS + ["count_nonzero"]


def tolerance(name, dtype):
    # NumPy adds float16 in another order of rounding; sums differ by their order.
    return 0 if name not in SUMS else 8 if dtype != "e" else 64


def axes_of(name, rank):
    axes = [None, *range(-rank, rank)]
    if name not in POSITIONS and rank > 1:
        axes += [(), (0, 1), (0, -1)]
    return axes


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("dtype", DTYPES)
def test_reductions_of_every_dtype(name, dtype):
    function = getattr(np, name)
    for x in (data(dtype, 3, 4), data(dtype, 7), data(dtype)):
        for axis in axes_of(name, x.ndim):
            check(lambda x: function(x, axis=axis), x, ulp=tolerance(name, dtype), native=False)


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("layout", layouts("d"))
def test_results_are_laid_out_as_numpy_does(name, layout):
    function = getattr(np, name)
    x = layouts("d")[layout]
    for axis in axes_of(name, x.ndim):
        for keepdims in (False, True):
            # The layout is decided while tracing: no machine code is needed to see it.
            check(lambda x: function(x, axis=axis, keepdims=keepdims), x, ulp=tolerance(name, "d"), native=False, backend="graph")


@pytest.mark.parametrize("name", ["sum", "max", "std", "any"])
def test_all_choices_of_four_axes(name):
    # Of three loops that are reduced, the inner two became one, and the reduction went on naming both.
    function = getattr(np, name)
    for x in (abs(data("d", 2, 3, 4, 5)), abs(data("d", 2, 3, 4, 10))[..., ::2]):
        for count in range(1, 5):
            for axes in itertools.combinations(range(4), count):
                check(lambda x: function(x, axis=axes), x, ulp=tolerance(name, "d"))


@pytest.mark.parametrize("name", ["sum", "prod", "min", "max", "any", "all", "mean", "var", "std", "argmin", "argmax"])
def test_methods_and_functions_agree(name):
    for dtype in "dif":
        check(lambda x: getattr(x, name)(), data(dtype, 3, 4), ulp=tolerance(name, dtype))
        check(lambda x: getattr(x, name)(1), data(dtype, 3, 4), ulp=tolerance(name, dtype))
        check(lambda x: getattr(x[0, 0], name)(), data(dtype, 3, 4), ulp=tolerance(name, dtype), native=False)


@pytest.mark.parametrize("dtype", "fdbD")
@pytest.mark.parametrize("axis", [None, 0, 1])
def test_reductions_of_several_kinds_share_a_loop(dtype, axis):
    # Sums of floats go by blocks of some thousand elements, the others in the same loop do not.
    def function(x):
        return np.sum(x * x, axis=axis), np.any(x, axis=axis), np.max(x, axis=axis), np.argmin(x, axis=axis), np.prod(np.sign(x), axis=axis)

    for shape in ((2, 5000), (5000, 2), (3, 7)):
        x = data(dtype, *shape)
        x[0, 1] = 100
        x[1, 0] = -100
        check(function, x, ulp=64, native=False)


@pytest.mark.parametrize("name", ["sum", "prod", "mean", "var", "std"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_the_dtype_argument(name, dtype):
    for wanted in DTYPES:
        check(lambda x: getattr(np, name)(x, axis=0, dtype=wanted), data(dtype, 3, 4), ulp=64, native=False)


OPTIONS = [
    "np.sum(x, axis=1, initial=5)", "np.prod(x, initial=2)", "np.min(x, axis=0, initial=0)", "np.max(x, initial=100)", "np.sum(x, where=m)", "np.prod(x, axis=1, where=m)",
    "np.any(x, where=m)", "np.all(x, axis=0, where=m)", "np.max(x, axis=1, where=m, initial=-7)", "np.mean(x, where=m)", "np.sum(x, axis=0, where=m[0])", "np.sum(x, out=o, axis=0)",
    "np.max(x, axis=0, out=o)", "np.mean(x, axis=0, out=o)", "x.sum(0, None, o)", "np.var(x, ddof=1)", "np.var(x, axis=0, ddof=0.5)", "np.std(x, correction=1)", "np.std(x, axis=1, ddof=-1)",
    "np.sum(x, axis=-1, keepdims=True)", "np.argmax(x, axis=1, keepdims=True)", "np.cumsum(x, axis=1)", "np.cumprod(x)", "np.diff(x)", "np.diff(x, n=2, axis=0)", "np.diff(x > 0)",
    "np.median(x, axis=0)", "np.average(x, axis=1)", "np.percentile(x, 30)", "np.nansum(x)", "np.nanmax(x, axis=0)", "np.sum([1, 2, 3]) + x", "np.amax(x)", "np.amin(x, 0)",
    "np.sum(x * x, axis=(0, 1))", "x.T.sum(axis=0)", "x[::-1, ::2].mean(axis=1)", "(x - x.mean(axis=0)) / x.std(axis=0)", "np.count_nonzero(x > 0, axis=0)",
]  # fmt: skip


@pytest.mark.parametrize("call", OPTIONS)
def test_options(call):
    namespace = {"np": np}
    exec(f"def function(x, m, o):\n  return {call}", namespace)
    check(namespace["function"], data("d", 3, 4), data("?", 3, 4), np.zeros(4), ulp=16)


@pytest.mark.parametrize("name", ALL)
def test_reductions_of_nothing(name):
    function = getattr(np, name)
    for x in (data("d", 0), data("i", 0, 3), data("f", 3, 0)):
        check(lambda x: function(x), x, native=False)
        check(lambda x: function(x, axis=0), x, native=False)


def test_a_size_that_becomes_zero_is_noticed():
    compiled = nl.compile(lambda x: x.max())
    for n in (3, 8, 0, 2):
        check(lambda x: x.max(), data("d", n), compiled=compiled, native=False)
    compiled = nl.compile(lambda x: x.mean())
    for n in (3, 8, 0, 2):
        # The samples nearly cancel: another order of adding shows in the last digits of their mean.
        x = data("d", n)
        if n == 0:
            check(lambda x: x.mean(), x, compiled=compiled, native=False)
        else:
            np.testing.assert_allclose(compiled(x), x.mean(), rtol=0, atol=4 * np.spacing(np.abs(x).max()))


@pytest.mark.parametrize("name", ["min", "max", "argmin", "argmax", "sum", "mean", "any", "all"])
def test_nan_and_signed_zeros(name):
    for values in ([1.0, np.nan, 3.0], [np.nan, np.nan], [-0.0, 0.0], [-0.0, -0.0], [0.0, -0.0], [np.inf, 1.0]):
        for dtype in "efd":
            x = np.array(values, dtype)
            if name in ("min", "max") and np.all(x == 0) and np.signbit(x).any() != np.signbit(x).all():
                # Which of equal zeros NumPy returns hangs on their order and its vector width.
                got = nl.compile(lambda x: getattr(np, name)(x))(x)
                assert got == 0 and type(got) is x.dtype.type
                continue
            check(lambda x: getattr(np, name)(x), x, native=False)


@pytest.mark.parametrize("call", ["x.max(axis=2)", "x.sum(axis=(0, 0))", "np.argmax(x, axis=(0, 1))", "np.sum(x, axis=0.5)", "np.max(x, where=x > 0)", "np.sum(x, out=np.zeros(3))"])
def test_what_numpy_refuses_is_refused_with_its_words(call):
    namespace = {"np": np}
    exec(f"def function(x):\n  return {call}", namespace)
    check(namespace["function"], data("d", 3, 4), native=False)


def test_sums_are_as_accurate_as_pairwise_sums():
    # Naive sums of float32 lose several digits here.
    x = np.full(10**6, 0.1, "f")
    exact = float(np.float32(0.1)) * 10**6
    assert abs(nl.compile(lambda x: x.sum())(x) - exact) <= abs(x.sum() - exact) + np.spacing(np.float32(exact))


@pytest.mark.parametrize("call", ["np.prod(x)", "np.prod(x, axis=0)", "x.prod(1)", "np.prod(x.T)", "np.multiply.reduce(x, axis=1)", "np.prod(x, axis=(0, 1), keepdims=True)", "np.prod(x, initial=2)"])
def test_float16_products_are_rounded_at_every_step(call):
    # 300 * 300 is beyond float16: the product is infinite whatever comes behind.
    x = np.array([[300, 300, 0.001, 0.001], [0.001, 300, 300, 0.01], [1e-4, 1e-4, 300, 300]], "e")
    check(eval(f"lambda x: {call}", {"np": np}), x)
