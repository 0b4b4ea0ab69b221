"""NEP 50 (spec 7.5): Python numbers are weak, and must fit; every pair of dtypes."""

import operator

import numpy as np
import pytest

from outcomes import DTYPES, INTEGERS, check, data

NUMBERS = [0, 1, -1, 7, 127, 128, 255, 256, -128, -129, 300, 2**31, 2**40, 2**53 + 1, 2**63 - 1, 2**63, 2**64, -(2**63), -(2**70), True, 0.5, -1.0, 1e300, float("nan"), 1 + 2j]


@pytest.mark.parametrize("number", NUMBERS, ids=repr)
def test_python_numbers_with_arrays(number):
    for dtype in DTYPES:
        for op in (operator.add, operator.mul, operator.lt, operator.eq, operator.ge):
            check(lambda x: op(x, number), data(dtype, 4), native=False)
            check(lambda x: op(number, x), data(dtype, 4), native=False)
            check(lambda x, y: op(x, y), data(dtype, 4), number, native=False)


@pytest.mark.parametrize("left", DTYPES)
def test_pairs_of_dtypes(left):
    for right in DTYPES:
        check(lambda x, y: x + y, data(left, 4), data(right, 4))
        check(lambda x, y: x + y, data(left, 4), data(right, 4)[0])
        check(lambda x, y: x + y, data(left, 4), data(right))
        check(lambda x, y: np.where(x, x, y), data(left, 4), data(right, 4))
        check(lambda x, y: x == y, data(left, 4), data(right, 4))


def test_the_examples_of_the_specification():
    check(lambda x: np.float32(3) + 3.0, data("d", 1))
    check(lambda x: x + 100, np.ones(2, np.int8))
    check(lambda x: x + 200, np.ones(2, np.int8), native=False)
    check(lambda x: np.uint8(1) + 300, data("d", 1), native=False)
    check(lambda x: np.float32(3) + np.float64(3), data("d", 1))


@pytest.mark.parametrize("dtype", INTEGERS)
def test_uint64_and_signed_integers_compare_by_value(dtype):
    x = np.array([0, 1, 2**63, 2**64 - 1], "L")
    y = np.array([np.iinfo(dtype).min, 0, np.iinfo(dtype).max, 1], dtype)
    for op in (operator.lt, operator.le, operator.eq, operator.ne, operator.gt, operator.ge):
        check(lambda x, y: op(x, y), x, y)
        check(lambda x, y: op(y, x), x, y)


@pytest.mark.parametrize("dtype", DTYPES)
def test_clip_takes_numpys_dtype_and_bounds(dtype):
    x = data(dtype, 3, 4)
    for low, high in ((0, 2), (-1, 3), (None, 2), (1, None), (0.5, 2.5), (-300, 300), (2, 1), (0, 2**63), (0, 2**64), (np.float32(1), None)):
        check(lambda x: np.clip(x, low, high), x, native=False)
        check(lambda x: x.clip(low, high), x, native=False)
    check(lambda x, y: np.clip(x, y, 3), x, data(dtype, 4), native=False)
    check(lambda x: np.clip(x, 0, 2, out=x), x, native=False)


def test_clip_and_nan():
    x = np.array([1.0, np.nan, -0.0, 0.0, np.inf])
    for low, high in ((0.0, 1.0), (np.nan, 1.0), (0.0, np.nan), (-0.0, 0.0)):
        check(lambda x: np.clip(x, low, high), x)


@pytest.mark.parametrize("dtype", DTYPES)
def test_astype(dtype):
    for wanted in DTYPES:
        for x in (data(dtype, 3, 4), data(dtype, 3, 8)[:, ::2], data(dtype, 4, 3).T, data(dtype, 2, 3, 4).transpose(1, 2, 0), data(dtype)):
            check(lambda x: x.astype(wanted), x, native=False)
        check(lambda x: x.astype(wanted, copy=False), data(dtype, 3), native=False)
        check(lambda x: x.astype(wanted, casting="same_kind"), data(dtype, 3), native=False)
        check(lambda x: x.astype(wanted, order="F"), data(dtype, 3, 4), native=False)


def test_casts_out_of_range_warn_as_numpy_does():
    x = np.array([1.0, np.nan, 1e20, -5.5])
    for wanted in "?bhilBHILefdFD":
        check(lambda x: x.astype(wanted), x, native=False)


@pytest.mark.parametrize("dtype", DTYPES)
def test_round(dtype):
    for decimals in (0, 1, -1):
        check(lambda x: np.round(x, decimals), data(dtype, 3, 4), native=False)
        check(lambda x: x.round(decimals), data(dtype, 4, 3).T, native=False)
