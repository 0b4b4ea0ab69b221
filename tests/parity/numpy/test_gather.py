"""Reading through integer arrays: x[index], x[:, index], x[rows, columns], np.take, natively, with the bounds
checked before anything is read."""

import itertools
import warnings

import numpy as np
import pytest

import numlift as nl
from differential import LAYOUTS, array, check, check_call
from numlift.testing import break_count

NAMESPACE = {"np": np}

EXPRESSIONS = [
    "x[i]", "x[:, i]", "x[..., i]", "x[i, :]", "x[i, i]", "x[i, i, i]", "x[:, i, i]", "x[1:, i]", "x[::-1, i % 3]", "x[i, 1:]", "x[i, ::-1]", "x[:, i, ::2]", "x[i[:, None], i]",
    "x[i[None], i[:, None], i]", "x[[0, 2, 1]]", "x[:, [1, -1]]", "x[i] + x[i][::-1]", "x[i].sum(0)", "(x * 2 + 1)[i]", "(x * 2)[i] * x[i]", "np.abs(x)[:, i].T", "x.T[i]", "x.T[:, i]", "x[0][i]", "x[:, 0, i]",
    "x[i - 3]", "x[np.arange(3)[::-1]]", "x[np.argsort(x[:, 0, 0])]", "np.take(x, i, axis=1)", "np.take(x, i, 0)", "x.take(i, axis=2)", "np.take(x[0, 0], i[:, None])", "x[i].T", "x[i[::-1]]", "x[i.reshape(2, 2)]",
    "x[i.reshape(2, 2).T]", "x[:, i.reshape(2, 2).T]", "x[i][i[:2]]", "x[np.abs(i) % 2, i]", "x[i, None]", "x[i, 0]", "x[i, :, i]", "np.take(x, i)", "np.take(x, i, mode='clip')",
]  # fmt: skip


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_gather(expression):
    function = eval(f"lambda x, i: {expression}", NAMESPACE)
    i = np.array([0, 2, -1, 2])
    check(function, lambda: (array(3, 4, 5), i.copy()), lambda: (array(5, 3, 4), i.copy()), native="None" not in expression)
    check(function, lambda: (array(3, 4, 5, layout="F") * 1.5, i.copy()))


@pytest.mark.parametrize("dtype", ["?", "i1", "u2", "i4", "f2", "f4", "f8", "c8", "c16"])
@pytest.mark.parametrize("index", ["i1", "u1", "i4", "u4", "i8", "u8"])
def test_dtypes(dtype, index):
    check(lambda x, i: (x[i], x[i][1:]), *[lambda n=n: (array(7, dtype=dtype), (np.arange(n) * 5 % 7).astype(index))
                                          for n in (1, 4, 67)])  # fmt: skip


@pytest.mark.parametrize("layout", LAYOUTS)
def test_layouts(layout):
    i = np.array([3, 0, -2, 1, 1])
    check(lambda x: (x[i], x[:, i], x[i, i], x[:, ::-1][i]), lambda: (array(6, 6, layout=layout),))
    check(lambda x, i: x[i], lambda: (array(60), array(9, dtype="i8", layout=layout) * 0 + np.arange(9)),
          lambda: (array(60), array(3, 4, dtype="i8", layout=layout) * 0 + 5), native=False)  # fmt: skip


@pytest.mark.parametrize("n", [0, 1, 2, 15, 16, 17, 1000, 100_000])
def test_sizes(n):
    rng = np.random.default_rng(n)
    compiled = nl.compile(function := lambda x, i: (x[i] * 2, (x[i] > 0.5).any()))
    i = rng.integers(-513, 513, n)
    check_call(compiled, function, lambda: (np.linspace(0, 1, 513), i.copy()))
    assert break_count(compiled) == 0


def test_no_elements():
    check(lambda x, i: x[i], lambda: (np.empty(0), np.empty(0, int)), lambda: (np.empty((0, 3)), np.empty(0, int)),
          lambda: (np.empty((3, 0)), np.array([0, 2])))  # fmt: skip


@pytest.mark.parametrize("bad", [[0, 7], [-8], [0, 1, 2**40], [-(2**62)]])
@pytest.mark.parametrize("expression", ["x[i]", "x[i] + 1", "np.take(x, i)", "x[None][:, i]", "x[i].sum()"])
def test_indices_out_of_bounds(expression, bad):
    function = eval(f"lambda x, i: {expression}", NAMESPACE)
    compiled = nl.compile(function)
    check_call(compiled, function, lambda: (array(7), np.array([6, -7])))
    check_call(compiled, function, lambda: (array(7), np.array(bad)))
    check_call(compiled, function, lambda: (array(7), np.array([1, 2])))


def test_nothing_is_stored_before_a_bad_index():
    def function(x, i):
        x += 1
        return x[i]

    compiled = nl.compile(function)
    for index in ([1, 2], [9, 9], [0]):
        check_call(compiled, function, lambda index=index: (array(5), np.array(index)))


def test_the_result_is_a_copy():
    def function(x, i):
        y = x[i]
        x[0] = 100
        y[0] = 50
        return y, x[i], i

    check(function, lambda: (array(5), np.array([0, 0, 4])))


def test_the_index_changes_after_it_was_used():
    def function(x, i):
        y = x[i]
        i += 1
        return y + x[i], i

    check(function, lambda: (array(5), np.array([0, 0, 3])))


@pytest.mark.parametrize("one, other", list(itertools.product([(1,), (4,), (2, 4)], [(1,), (4,)])))
def test_indices_broadcast(one, other):
    check(lambda x, i, j: x[i, j], lambda: (array(6, 7), array(*one, dtype="i8") * 0 + 3, np.arange(np.prod(other)).reshape(other)))


def test_indices_that_do_not_broadcast():
    check(lambda x, i, j: x[i, j], lambda: (array(6, 7), np.arange(3), np.arange(2)), native=False)


def test_sums_of_gathered_rows_in_a_captured_loop():
    def function(values, columns, starts, x):
        result = np.empty(starts.shape[0] - 1)
        for row in range(result.shape[0]):
            begin, end = starts[row], starts[row + 1]
            result[row] = values[begin:end] @ x[columns[begin:end]]
        return result

    compiled = nl.compile(function)
    rng = np.random.default_rng(1)
    starts = np.concatenate([[0], np.cumsum(rng.integers(0, 9, 50))])
    args = rng.random(starts[-1]), rng.integers(0, 40, starts[-1]), starts, rng.random(40)
    np.testing.assert_allclose(compiled(*args), function(*args), rtol=1e-13)
    assert break_count(compiled) == 0
    args[1][-1] = 40
    for call in (function, compiled):
        with pytest.raises(IndexError, match="index 40 is out of bounds for axis 0 with size 40"):
            call(*args)


# ---- constant powers, which become products


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("power", [3, 4, 3.0, 4.0])
def test_small_powers(dtype, power):
    compiled = nl.compile(function := lambda x: x**power)
    with np.errstate(all="ignore"):
        x = np.concatenate([np.linspace(-3, 3, 1001), 10.0 ** np.arange(-38, 38), [0.0, -0.0, np.inf, -np.inf, np.nan]])
        x = x.astype(dtype)
        got, expected = compiled(x), function(x)
    assert got.dtype == expected.dtype
    finite = np.isfinite(expected) & (abs(expected) > 1e-30)
    np.testing.assert_array_max_ulp(got[finite], expected[finite], 3)
    np.testing.assert_array_equal(got[~np.isfinite(expected)], expected[~np.isfinite(expected)])
    np.testing.assert_array_equal(np.signbit(got), np.signbit(expected))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(RuntimeWarning, match="overflow encountered in power"):
            compiled(np.array([1e15 if dtype == "f4" else 1e150], dtype))
