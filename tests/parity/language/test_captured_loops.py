"""Loops and branches become part of the program: what they leave behind is what Python and NumPy leave behind."""

import copy
import os
import subprocess
import sys

import numpy as np
import pytest

import numlift as nl
from numlift.testing import break_count

from .same_call import same

RNG = np.random.default_rng(20)
V = RNG.random(40)
M = RNG.random((9, 11))


def captured(function, *calls):
    """The same as plain Python, and no call of it leaves the graph."""
    same(function, *calls)
    for args in calls:
        compiled = nl.compile(function)
        compiled(*copy.deepcopy(args))
        assert break_count(compiled) == 0


# ---- counted loops


def test_a_sum_that_begins_as_a_python_number():
    def f(x):
        s = 0
        for i in range(x.shape[0]):
            s += x[i]
        return s

    captured(f, (V,), (V[:9],), (V[::2],))


def test_no_iteration_leaves_what_was_there():
    def f(x, n):
        s, last = 0, None
        for i in range(n):
            s += x[i]
        return s, last

    same(f, (V, 20), (V, 0), (V, 1))


@pytest.mark.parametrize("bounds", [(1, 39), (38, 0, -1), (0, 40, 3), (39, -1, -4), (5, 5), (9, 2)])
def test_the_kinds_of_ranges(bounds):
    def f(x, y, *bounds):
        for i in range(*bounds):
            y[i] += 2 * x[i] + i
        return y

    same(f, (V, np.zeros(40), *bounds))


def test_the_variable_after_the_loop():
    def f(x, n):
        for i in range(n):
            x[i] = i
        return i, x

    same(f, (np.zeros(30), 12), (np.zeros(30), 20))


def test_stores_with_bounds_that_follow_the_counter():
    def f(a):
        n = a.shape[0]
        for i in range(n):
            for j in range(i):
                a[i, j] -= np.dot(a[i, :j], a[j, :j])
                a[i, j] /= a[j, j]
            a[i, i] -= np.dot(a[i, :i], a[i, :i])
            a[i, i] = np.sqrt(a[i, i])
        return a

    spd = M[:, :9] @ M[:, :9].T + 20 * np.eye(9)
    expected, got = f(spd.copy()), nl.compile(f)(spd.copy())
    np.testing.assert_allclose(got, expected, rtol=1e-13)


def test_negative_indices_wrap():
    def f(x):
        y = np.zeros_like(x)
        for i in range(x.shape[0]):
            y[i] = x[i - 1] + x[-i] * x[i - x.shape[0]]
        return y

    captured(f, (V,))


def test_an_index_beyond_the_end():
    def f(x, n):
        for i in range(n):
            x[i] = x[i + 1]
        return x

    same(f, (V, 39), (V, 40), (V, 50))


def test_rows_and_elements_enumerate_and_zip():
    def f(a, w):
        s = np.zeros(a.shape[1])
        k = 0
        for i, (row, scale) in enumerate(zip(a, w, strict=False), 3):
            s += row * scale
            k += i
        return s, k

    captured(f, (M, V[:9]), (M, V[:20]))


def test_overlapping_slices():
    def f(x, n):
        for _ in range(n):
            x[1:] = x[:-1] * 0.5
            x[:-1] = x[1:] + 1
        return x

    captured(f, (V, 12))


# ---- state


def test_rebinding_and_swapping_arrays():
    def f(a, n):
        u = a.copy()
        v = np.zeros_like(a)
        for _ in range(n):
            v[1:-1] = 0.5 * u[1:-1] + 0.25 * (u[2:] + u[:-2])
            u, v = v, u
        return u, v

    captured(f, (V, 20), (V, 11))


def test_an_array_that_another_variable_holds():
    def f(a, n):
        x = np.zeros(5)
        y = x
        for i in range(n):
            x[i % 5] += 1
            y = x * 2
        return x, y, a

    captured(f, (V, 17))


def test_rebinding_an_argument_leaves_the_argument():
    def f(a, n):
        for _ in range(n):
            a = a + 1
        return a

    same(f, (V, 20), (V, 0))
    for n in (0, 15):
        a = V.copy()
        assert (nl.compile(f)(a, n) is a) == (n == 0)
        assert (a == V).all()


def test_integers_do_not_wrap():
    def f(n, x):
        a, b = 0, 1
        for _ in range(n):
            a, b = b, a + b
        return a, x

    same(f, (20, V), (60, V), (100, V))


def test_arithmetic_on_ints():
    def f(n, x):
        s = 0
        for i in range(n):
            s += (i * 7 % 5) ^ (i >> 1) & 12 | (i << 2)
            s -= i // 3
            x[s % 40] += -i
        return s, x

    captured(f, (33, np.zeros(40)))


# ---- branches


def test_branches_on_data():
    def f(x):
        y = np.zeros_like(x)
        up = 0
        for i in range(x.shape[0]):
            if x[i] > 0.7:
                y[i] = x[i] * 2
                up += 1
            elif x[i] > 0.3 and i % 2:
                y[i] = -x[i]
            else:
                continue
            y[i] += 1
        return y, up

    captured(f, (V,))


def test_break_and_else():
    def f(x, limit):
        k = -1
        for i in range(x.shape[0]):
            if x[i] > limit:
                k = i
                break
        else:
            k = 100
        return k, x[k % x.shape[0]]

    same(f, (V, 0.9), (V, 2.0), (V, -1.0))


def test_return_from_within():
    def f(x, limit):
        for i in range(x.shape[0]):
            for j in range(i):
                if x[i] + x[j] > limit:
                    return x[i] * 2
        return x[0]

    captured(f, (V, 1.8), (V, 5.0))


def test_while_on_values():
    def f(x):
        g = x[0] + 1
        steps = 0
        while abs(g * g - x[0]) > 1e-12:
            g = 0.5 * (g + x[0] / g)
            steps += 1
        return g, steps

    captured(f, (V,), (V[::-1].copy(),))


def test_while_true_with_a_break():
    def f(x):
        n = int(x[0] * 1000) + 1
        steps = 0
        while True:
            if n == 1:
                break
            n = n // 2 if n % 2 == 0 else 3 * n + 1
            steps += 1
        return steps

    captured(f, (V,), (V[1:].copy(),))


def test_min_and_max():
    def f(x):
        low, high = x[0], x[0]
        for i in range(1, x.shape[0]):
            low = min(low, x[i])
            high = max(high, x[i], 0.5)
        return low, high

    # Whether max() gives x[i] or the Python number 0.5 only the run knows.
    same(f, (V,), whole=None)


def test_a_raise_in_a_branch():
    def f(x, limit):
        for i in range(x.shape[0]):
            if x[i] > limit:
                raise ValueError(f"too large at {i}")
            x[i] += 1
        return x

    same(f, (V, 2.0), (V, 0.9), whole=None)


def test_warnings_of_scalars():
    def f(x, y):
        s = 0.0
        for i in range(x.shape[0]):
            s += x[i] / y[i]
        return s

    zero = V.copy()
    zero[13] = 0
    for y in (V, zero):
        with np.errstate(all="raise"):
            expected = error = None
            try:
                expected = f(V, y)
            except FloatingPointError as raised:
                error = str(raised)
            if error is None:
                assert nl.compile(f)(V, y) == pytest.approx(expected, rel=1e-13)
            else:
                with pytest.raises(FloatingPointError, match=error):
                    nl.compile(f)(V, y)


def test_helpers_called_inside():
    def limited(a, b):
        if a > b:
            return b
        return a

    def f(x):
        y = np.empty_like(x)
        for i in range(x.shape[0]):
            y[i] = limited(x[i], 0.5) + limited(0.2, x[i])
        return y

    captured(f, (V,))


def test_gathers_and_masks():
    def f(x, index, n):
        y = np.zeros_like(x)
        for k in range(n):
            y[index] += x[index] * k
            inside = y < 5
            y[inside] += x[inside]
        return y

    captured(f, (V, np.array([3, 8, 20, 39]), 12))


def test_masks_by_parts_of_complex_numbers():
    def f(x, n):
        for _ in range(n):
            y = x + 1
            y[y.real >= 1] = True
            x = y + 1
        return x

    same(f, (V - 0.5 + V * 1j, 3), (V + V * 1j, 12))


def test_arrays_without_elements():
    def f(a, n):
        for _ in range(n):
            a[:] = a.T
            a += 1
        return a, a.sum()

    same(f, (np.zeros((0, 0), np.float32), 3), (np.zeros((0, 0)), 12), (M[:9, :9], 12))


# ---- what is left to Python


def test_what_cannot_be_captured_says_why():
    code = """
import numpy as np
import numlift as nl

@nl.compile
def f(x, out):
    for i in range(x.shape[0]):
        out.append(x[i])
    return x

f(np.ones(20), [])
"""
    done = subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, "NUMLIFT_LOGS": "breaks"}, capture_output=True, text=True
    )
    assert "the loop at line 7 is not captured: an object from outside is changed in a loop" in done.stderr


def test_objects_changed_in_a_loop():
    def f(x, out):
        for i in range(x.shape[0]):
            out.append(float(x[i]))
        return len(out)

    same(f, (V[:20], []), whole=None)


def test_the_switch():
    def f(x):
        for i in range(x.shape[0]):
            x[i] += 1
        return x

    with nl.config.patch(capture_loops=False):
        assert (nl.compile(f)(V.copy()) == V + 1).all()
