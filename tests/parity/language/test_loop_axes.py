"""Loops whose iterations do not meet, or meet only along one axis, run in another order than they are written in."""

import copy
import warnings

import numpy as np
import pytest

import numlift as nl
from numlift.testing import break_count

from .same_call import same

RNG = np.random.default_rng(31)


def close(function, *calls):
    """As NumPy has it, but for the order of sums; each call twice, all in the graph."""
    compiled = nl.compile(function)
    for args in calls:
        for _ in range(2):
            theirs, ours = copy.deepcopy(args), copy.deepcopy(args)
            expected, got = function(*theirs), compiled(*ours)
            for a, b in zip((*theirs, expected), (*ours, got), strict=True):
                if isinstance(a, (np.ndarray, tuple)):
                    np.testing.assert_allclose(b, a, rtol=1e-12, atol=1e-13)
    assert break_count(compiled) == 0


def table(*shape):
    return RNG.random(shape) + 0.5


# ---- iterations that never meet


def symm(alpha, c, a, b):
    for i in range(c.shape[0]):
        for j in range(c.shape[1]):
            c[:i, j] += alpha * b[i, j] * a[i, :i]
            c[i, j] += alpha * (b[i, j] * a[i, i] + np.dot(b[:i, j], a[i, :i]))


@pytest.mark.parametrize("n, m", [(1, 1), (2, 9), (7, 3), (30, 40), (5, 0), (0, 5), (90, 200)])
def test_columns_with_a_number_of_their_own(n, m):
    close(symm, (1.5, table(n, m), table(n, n), table(n, m)))


def gram_schmidt(a):
    n = a.shape[1]
    q, r = np.zeros_like(a), np.zeros((n, n))
    for k in range(n):
        r[k, k] = np.sqrt(np.dot(a[:, k], a[:, k]))
        q[:, k] = a[:, k] / r[k, k]
        for j in range(k + 1, n):
            r[k, j] = np.dot(q[:, k], a[:, j])
            a[:, j] -= q[:, k] * r[k, j]
    return q, r


@pytest.mark.parametrize("n, m", [(5, 1), (5, 2), (20, 12), (60, 40), (300, 120)])
def test_iterations_from_the_counter_on(n, m):
    a = RNG.random((n, m)) + np.eye(n, m) * 3
    expected, got = gram_schmidt(a.copy()), nl.compile(gram_schmidt)(a.copy())
    for x, y in zip(expected, got):
        np.testing.assert_allclose(y, x, rtol=1e-8, atol=1e-9)


def test_the_counter_is_a_value():
    def f(a):
        out = np.zeros(a.shape)
        for j in range(a.shape[1]):
            out[:, j] = a[:, j] * (3 * j - 7) + j
        return out

    same(f, (table(6, 5),), (table(6, 1),), (table(6, 0),), (table(70, 90),))


def test_two_loops_inside_each_other():
    def f(a, b):
        out = np.empty((a.shape[0], b.shape[1]))
        for i in range(a.shape[0]):
            for j in range(b.shape[1]):
                out[i, j] = np.dot(a[i], b[:, j]) + i - j
        return out

    close(f, (table(4, 6), table(6, 5)), (table(40, 30), table(30, 50)), (table(1, 3), table(3, 0)),
          (table(0, 3), table(3, 4)))


def test_every_second_iteration_of_steps():
    def f(a, b):
        for j in range(a.shape[1] - 1, 0, -2):
            a[:, j] = a[:, j - 1] * b[j] + a[:, j].sum()
        return a

    close(f, (table(6, 9), table(9)), (table(33, 40), table(40)))


def test_an_element_that_all_iterations_read():
    def f(a):
        for j in range(1, a.shape[1]):
            a[:, j] += a[:, 0] * a[2, 0]
        return a

    same(f, (table(6, 5),), (table(6, 1),), (table(80, 60),))


def test_an_invariant_beyond_the_end_of_a_loop_that_does_not_run():
    def f(a, b, n):
        for j in range(n):
            a[:, j] = a[:, j] * b[4]
        return a

    same(f, (table(6, 5), table(5), 5), (table(6, 5), table(3), 0), (table(6, 5), table(3), 2), whole=None)


@pytest.mark.parametrize("n", [3, 40, 500])
def test_iterations_that_do_meet_keep_their_order(n):
    def previous(a):
        for j in range(1, a.shape[1]):
            a[:, j] += 0.5 * a[:, j - 1]
        return a

    def next_one(a):
        for j in range(a.shape[1] - 1):
            a[:, j] += 0.5 * a[:, j + 1]
        return a

    def one_place(a):
        for j in range(a.shape[1]):
            a[:, 0] = a[:, j] * 1.5
        return a

    def a_sum(a):
        s = np.zeros(a.shape[0])
        for j in range(a.shape[1]):
            s += a[:, j] * j
        return s

    def across(a):
        for j in range(1, a.shape[0]):
            a[1:, j] = a[:-1, j - 1] * 0.5 + a[1:, j]
        return a

    for f in (previous, next_one, one_place, a_sum):
        same(f, (table(n, 7),), (table(7, n),), (table(1, n),), (table(n, 1),))
    same(across, (table(n, n),))


# ---- recurrences along rows, written for all rows at once


def filter_rows(image, a0, a1, b1, b2):
    out = np.zeros_like(image)
    out[:, 0] = a0 * image[:, 0]
    out[:, 1] = a0 * image[:, 1] + a1 * image[:, 0] + b1 * out[:, 0]
    for j in range(2, image.shape[1]):
        out[:, j] = a0 * image[:, j] + a1 * image[:, j - 1] + b1 * out[:, j - 1] + b2 * out[:, j - 2]
    return out


def filter_rows_back(image, a0, a1, b1, b2):
    out = np.zeros_like(image)
    m = image.shape[1]
    for j in range(m - 3, -1, -1):
        out[:, j] = a0 * image[:, j + 1] + a1 * image[:, j + 2] + b1 * out[:, j + 1] + b2 * out[:, j + 2]
    return out


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64, np.complex128, np.float16])
@pytest.mark.parametrize("n, m", [(1, 5), (3, 40), (8, 2), (50, 33), (61, 130), (200, 300)])
def test_recurrences_along_rows(n, m, dtype):
    image = (table(n, m) * 4).astype(dtype)
    factors = (dtype(1), dtype(2), dtype(1), dtype(-1)) if dtype is np.int64 else (0.5, 0.25, 0.3, -0.2)
    for f in (filter_rows, filter_rows_back):
        expected, got = f(image, *factors), nl.compile(f)(image, *factors)
        assert got.dtype == expected.dtype and got.strides == expected.strides
        np.testing.assert_allclose(got, expected, rtol=1e-15, atol=1e-15)


def test_recurrences_on_other_layouts():
    wide = table(40, 300)
    for image in (np.asfortranarray(wide), wide[::2, ::3], wide[::-1, ::-1], wide.T):
        same(filter_rows, (image, 0.5, 0.25, 0.3, -0.2))


def test_two_statements_in_order():
    def f(a, b):
        for j in range(1, a.shape[1]):
            a[:, j] = a[:, j] + 0.5 * b[:, j - 1]
            b[:, j] = b[:, j] * 0.25 + a[:, j - 1] * a[:, j]
        return a, b

    same(f, (table(5, 6), table(5, 6)), (table(50, 70), table(50, 70)), (table(1, 40), table(1, 40)))


def test_in_place_along_rows():
    def f(a, c, d):
        m = d.shape[1]
        for j in range(1, m):
            d[:, j] = (d[:, j] - a * d[:, j - 1]) / (2.0 - a * c[j - 1])
        for j in range(m - 2, -1, -1):
            d[:, j] -= c[j] * d[:, j + 1]
        return d

    same(f, (0.3, table(50), table(40, 50)), (0.3, table(20), table(3, 20)))


def test_conditions_are_reported():
    def f(x):
        for j in range(1, x.shape[1]):
            x[:, j] = x[:, j] / x[:, j - 1]
        return x

    fine = table(40, 50)
    odd = fine.copy()
    odd[7, 30] = 0.0
    inf = fine.copy()
    inf[3, 10] = np.inf
    for image in (fine, odd, inf):
        outcomes = []
        for function in (f, nl.compile(f)):
            mine = image.copy()
            with warnings.catch_warnings(record=True) as seen:
                warnings.simplefilter("always")
                function(mine)
            outcomes.append((mine, sorted(str(w.message) for w in seen)))
        np.testing.assert_array_equal(outcomes[1][0], outcomes[0][0])
        assert outcomes[1][1] == outcomes[0][1]


def test_the_same_on_every_number_of_threads():
    a = table(300, 120)
    before = nl.get_num_threads()
    results = []
    try:
        for threads in (1, 2, 3):
            nl.set_num_threads(threads)
            results.append([x.copy() for x in nl.compile(gram_schmidt)(a.copy())])
    finally:
        nl.set_num_threads(before)
    for other in results[1:]:
        for x, y in zip(results[0], other):
            np.testing.assert_array_equal(x, y)


def test_no_elements_at_all():
    def f(x, k):
        for i, _ in enumerate(k):
            k[::2] = x[::2] + i
        return k

    def divided(a, k):
        for row, number in zip(a, k, strict=True):
            row[:-1] = 1 / number
        return a

    same(f, (np.zeros(0), np.zeros(0, dtype=np.int64)), (np.ones(5), np.zeros(5, dtype=np.int64)), whole=None)
    for number in (2, 0):
        outcomes = []
        for function in (divided, nl.compile(divided)):
            with warnings.catch_warnings(record=True) as seen:
                warnings.simplefilter("always")
                function(np.ones((1, 1)), np.array([number]))
            outcomes.append([str(w.message) for w in seen])
        assert outcomes[0] == outcomes[1] and len(outcomes[0]) == (number == 0)
