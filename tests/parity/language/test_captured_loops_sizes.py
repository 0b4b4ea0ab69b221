"""Arrays whose size changes from iteration to iteration, elements that masks and index arrays name, and short
loops that hang on values: all inside the program."""

import numpy as np
import pytest
from bench.programs.graphs import breadth_first

import numlift as nl

from .same_call import same
from .test_captured_loops import captured

RNG = np.random.default_rng(21)
V = RNG.random(40)
K = RNG.integers(-40, 40, 60)
M = RNG.random((9, 11))


def restarts(function, *args):
    compiled = nl.compile(function)
    compiled(*[arg.copy() if isinstance(arg, np.ndarray) else arg for arg in args])
    return sum(entry.restarts for entry in compiled.entries)


# ---- sizes that change


def test_a_vector_that_loses_elements():
    def f(x, n):
        for _ in range(n):
            x = x[x > x.mean()]
        return x

    captured(f, (V, 12), (V[::3], 9))


def test_vectors_that_are_selected_together():
    def f(n):
        c = np.linspace(-2, 1, 50) + 0.3j
        z = np.zeros_like(c)
        index = np.arange(c.shape[0])
        times = np.zeros(c.shape[0], dtype=np.int64)
        for k in range(1, n + 1):
            z = z * z + c
            gone = z.real**2 + z.imag**2 > 4.0
            times[index[gone]] = k
            stay = ~gone
            if not stay.any():
                break
            index = index[stay]
            z = z[stay]
            c = c[stay]
        return times, z, index

    captured(f, (30,), (9,), (200,))
    assert restarts(f, 30) == 0


def test_a_vector_that_grows():
    def f(x, n):
        y = x[:1]
        for i in range(n):
            y = np.concatenate((y, x[i : i + 2]))
        return y

    captured(f, (V, 12), (V, 20))


def test_a_tree_that_shrinks_by_one():
    def f(value, steps):
        for n in range(steps - 1, -1, -1):
            value = 0.5 * (value[:, 1:] + value[:, :-1])
        return value, n

    captured(f, (RNG.random((5, 13)), 12), (RNG.random((3, 31)), 30))
    assert restarts(f, RNG.random((5, 13)), 12) == 0


def test_sizes_that_change_apart():
    def f(x, y, n):
        for i in range(n):
            x, y = x[1:], y[: y.shape[0] - i % 2]
        return x, y, x.sum() + y.sum()

    captured(f, (V, V, 12), (V, M[0], 9))


def test_a_size_that_depends_on_the_branch():
    def f(x, n):
        for i in range(n):
            if x[0] > 0.4:
                x = x[1:]
            else:
                x = x[:-1]
        return x * 2

    captured(f, (V, 12), (V[:20], 15))


def test_what_no_iteration_changes():
    def f(x, n):
        for _ in range(n):
            x = x[:-1]
        return x

    same(f, (V, 0), (V, 12), (V, 40), (V, 50))


def test_an_array_of_the_loop_that_is_used_behind_it():
    def f(x, n):
        found = None
        for i in range(n):
            found = np.flatnonzero(x > i / n)
        return found

    same(f, (V, 12), (V, 1), (V, 0))

    def g(x, n):
        for i in range(n + 1):
            found = np.flatnonzero(x > i / (n + 1))
        return found

    captured(g, (V, 12), (V, 20))


def test_sizes_that_change_in_nested_loops():
    def f(x, n):
        total = 0.0
        for i in range(n):
            y = x[: x.shape[0] - i]
            while y.shape[0] > 2:
                y = y[::2]
                total += y.sum()
        return total

    captured(f, (V, 12), (V, 9))


def test_a_search_by_frontiers():
    start = np.arange(0, 41, 2)
    captured(breadth_first, (start, RNG.integers(0, 20, 40), 0), (start, RNG.integers(0, 20, 40), 3))


def test_two_names_of_an_array_that_changes_its_size():
    def f(x, n):
        y = x
        for i in range(n):
            x = x[1:]
            y = x
            y = y + 1
        return x, y

    same(f, (V, 12), (V, 0))


# ---- masks and index arrays


@pytest.mark.parametrize("fraction", [0.0, 0.3, 1.0])
def test_masks_in_a_loop(fraction):
    def f(x, y, n, fraction):
        total = 0.0
        for i in range(n):
            mask = x + 0.01 * i < fraction
            total += x[mask].sum()
            y[mask] = y[mask] * 2 + x[mask]
            y[~mask] -= 1
        return total, y

    captured(f, (V, np.zeros(40), 12, fraction), (V[::2], np.ones(20), 9, fraction))


def test_masks_over_rows_and_matrices():
    def f(a, n):
        rows = 0.0
        for i in range(n):
            rows += a[a[:, 0] > 0.05 * i].sum()
            mask = a > 0.9 - 0.01 * i
            a[mask] = a[mask] * 0.5
        return rows, a

    captured(f, (M.copy(), 12), (M.T.copy(), 10))


def test_a_mask_of_another_size_raises():
    def f(x, y, n):
        for i in range(n):
            mask = x > 0.5
            y[mask] = x[: 5 + i]
        return y

    same(f, (V, np.zeros(40), 12), whole=None)


def test_a_masked_store_reads_its_own_array():
    def f(x, n):
        for _ in range(n):
            mask = x > 0.3
            x[mask] = x[::-1][mask]
        return x

    captured(f, (V, 11))


def test_stores_through_index_arrays():
    def f(x, k, n):
        for i in range(n):
            x[k] = x[k] + i
            x[k + i - 1] = i
        return x

    captured(f, (np.zeros(80), K, 12))


def test_places_that_are_named_twice():
    def f(x, k, v, n):
        for i in range(n):
            x[k] = v * i
            x[k] += 1
        return x

    captured(f, (np.zeros(40), np.array([3, 3, 5, -1, 39, 3]), np.arange(6.0), 12))


def test_stores_to_pairs_of_places():
    def f(cost, n, m):
        for d in range(2, n + m - 1):
            i = np.arange(max(1, d - m + 1), min(n - 1, d - 1) + 1)
            j = d - i
            cost[i, j] = 1.0 + np.minimum(cost[i - 1, j], cost[i, j - 1])
        return cost

    captured(f, (M.copy(), 9, 11), (M.T.copy(), 11, 9))


def test_an_index_out_of_bounds_in_a_later_iteration():
    def f(x, k, n):
        for i in range(n):
            x[k + i] = 1.0
        return x

    same(f, (np.zeros(20), np.array([0, 5, 7]), 30), whole=None)


@pytest.mark.parametrize("ufunc", [np.add, np.subtract, np.multiply, np.maximum, np.minimum])
def test_ufunc_at(ufunc):
    def f(x, k, v, n):
        for _ in range(n):
            ufunc.at(x, k, v)
            ufunc.at(x, k[1:], 0.75)
        return x

    captured(f, (np.ones(40), K % 40, RNG.random(60), 12))


# ---- counting backwards


def test_reversed():
    def f(x, n):
        s = 0.0
        for value in reversed(x):
            s = 0.5 * s + value
        for i in reversed(range(n)):
            s = s * 0.5 + x[i]
        for i in reversed(range(3, 40, 4)):
            s -= x[i]
        for k, i in enumerate(range(2, n)):
            s += k * x[i]
        return s

    captured(f, (V, 30), (V, 12), (V, 0))


def test_rows_in_reverse():
    def f(a, out):
        for k, row in enumerate(reversed(a)):
            out[k] = row.sum()
        return out

    captured(f, (M, np.zeros(9)), (M.T, np.zeros(11)))


# ---- short loops


def test_short_loops_that_hang_on_values():
    def f(x):
        s = 0.0
        for i in range(5):
            if x[i] > 0.5:
                s += float(x[i])
        return s

    captured(f, (V,), (V[::-1],))


def test_a_test_of_two_parts():
    def f(x, limit):
        steps = 0
        while x[0] > 0.1 and steps < limit:
            x = x * 0.9
            steps += 1
        return x + 1, steps

    captured(f, (V + 1, 300), (V + 1, 12), (V * 0.0, 12))


# ---- what is not captured says why


def test_explain_names_the_loops_that_are_not_captured():
    def f(x, n):
        found = []
        for i in range(n):
            found.append(str(i))
        for i in range(n):
            x[i] += 1
        return x, found

    told = nl.explain(f)(np.zeros(20), 12)
    [loop] = told.uncaptured_loops
    assert loop.place.lineno == f.__code__.co_firstlineno + 2
    assert loop.place.name == "f"
    assert loop.reason and loop.reason in str(told)
    assert nl.explain(lambda x: x + 1)(np.zeros(3)).uncaptured_loops == []
