"""Captured loops at their edges: no iteration, paths that raise or leave, memory that others hold, empty slices."""

import math

import numpy as np
import pytest

import numlift as nl

from .same_call import same

RNG = np.random.default_rng(21)
V = RNG.random(20)
M = RNG.random((20, 30))


def sees_the_same(function, *calls):
    same(function, *calls, whole=None)


def test_a_variable_that_no_iteration_has_set():
    def f(a):
        for i in range(a.shape[0]):
            c = i
        return c

    sees_the_same(f, (M,), (M[:0],), (M[:1],))


def test_the_variable_of_an_inner_loop_without_an_iteration():
    def f(m, k):
        while m[1]:
            for i in range(len(k)):
                pass
            u = i
            m[1] = 0
        return u

    sees_the_same(f, (np.array([0, 1.0]), V), (np.array([0, 0.0]), V))


def test_names_that_are_not_set():
    def in_an_arm(x):
        for i in range(x.shape[0]):
            if x[0] == 1.5:
                pass
            elif not_there:  # noqa: F821
                pass

    def behind_a_break(x):
        for i in range(1, len(x)):
            if 1 <= 0.0 + i:
                break
        return not_there  # noqa: F821

    def in_a_while(k):
        while 1 > k[0]:
            s = not_there  # noqa: F821, F841
        return k

    for f in (in_an_arm, behind_a_break, in_a_while):
        sees_the_same(f, (V,))


def test_an_error_behind_a_loop_and_in_an_arm():
    def behind(a, x):
        for e in a:
            pass
        x[::2] = a[e.shape[0]]

    def arm(x):
        for i in range(x.shape[0]):
            for j in range(x.shape[0]):
                if x[j] > 2:
                    pass
                else:
                    1 // (j - j)

    sees_the_same(behind, (M, np.ones(5)))
    sees_the_same(arm, (V,), (V + 3,))


def test_slices_that_are_empty_in_every_iteration():
    def f(y, c, t):
        for j in range(c):
            y[c:j] = t
        return y

    sees_the_same(f, (V, 2, 7.0), (V, 12, 7.0), (V[5:12], 9, 7.0))


@pytest.mark.parametrize("value", [0.5, 2.0])
def test_the_argument_itself_where_a_path_keeps_it(value):
    def untaken(x, y):
        other = False
        for i in range(len(x)):
            if other:
                y = x
        return y

    def left_first(x, y):
        for i in range(len(y)):
            if x[i] < 1:
                break
            y = y + y
        return y

    x, y = np.full(20, value), np.ones(12)
    assert nl.compile(untaken)(x, y) is y
    assert (nl.compile(left_first)(x, y) is y) == (value < 1)
    np.testing.assert_array_equal(nl.compile(left_first)(x, y), left_first(x, y))


def test_views_of_itself():
    def f(x, n):
        for _ in range(n):
            x = x[:]
        x[1] = 5
        return x

    sees_the_same(f, (V, 12))
    x = V.copy()
    assert np.shares_memory(nl.compile(f)(x, 12), x)
    assert x[1] == 5


def test_products_of_python_ints():
    def f(x, t):
        for _ in range(len(x)):
            t *= t
        return t

    sees_the_same(f, (V[:9], 1), (V[:9], -1), (V[:9], 7777))


def test_products_of_slices_with_a_step():
    def f(a, b):
        for i in range(1, a.shape[0]):
            a[0, i] = np.dot(a[i, ::2], b[::2, i])
        return a

    a, b = M[:, :20].copy(), M[:, :20] + 1
    np.testing.assert_allclose(nl.compile(f)(a.copy(), b), f(a.copy(), b), rtol=1e-13)


def test_a_variable_that_the_else_of_a_loop_sets():
    def f(x, y, b):
        c = 3
        while c > 0:
            for _ in range(0, x.shape[0], 2):
                y = y - 1
            else:
                y = b[1]
            c -= 1
        return y

    sees_the_same(f, (V, V, M[:, :20]), (V, V[:3], M))


def test_masks_of_everything_and_of_nothing():
    def f(x):
        t = 1
        x = x[True]
        for _ in range(x.shape[0]):
            t = np.argmax(x)
        x[True] = x[0]
        return t, x

    sees_the_same(f, (V,))


# ---- a number that is Python's where no iteration changed it, else NumPy's


def last_positive(x):
    s = 0
    for i in range(x.shape[0]):
        if x[i] > 0:
            s = x[i]
    return s


def total(x):
    s = 0
    for value in x:
        s += value
    return s


@pytest.mark.parametrize("use", [
    "abs(s)", "np.abs(s)", "np.sqrt(s)", "divmod(s, 2)", "s.real", "np.maximum(s, np.float32(1))", "np.clip(s, 0, 3)",
    "np.array(s)", "np.add(s, x[:1])", "np.add(s, x[:1].astype('f4'))", "-s", "+s", "s * 2", "s // 2", "s ** 2", "int(s)", "float(s)",
    "bool(s)", "max(s, 1)", "min(s, x[0])", "type(s)", "isinstance(s, int)", "f'{s}'", "np.sum(s)", "s == 0", "[s, s][0]", "math.fabs(s)",
])  # fmt: skip
@pytest.mark.parametrize("loop", [last_positive, total])
def test_a_number_of_python_or_of_numpy(loop, use):
    finish = eval(f"lambda s, x: {use}", {"np": np, "math": math})

    def function(x):
        return finish(loop(x), x)

    compiled = nl.compile(function)
    for x in (np.arange(5.0) - 1, np.arange(5.0) - 9, np.arange(4.0), np.arange(4) - 7.5):
        for _ in range(2):
            expected, got = function(x), compiled(x)
            assert type(got) is type(expected) and str(got) == str(expected)
            if isinstance(expected, np.ndarray):
                assert got.dtype == expected.dtype


def test_every_way_through_a_loop_raises():
    # The path had nowhere to go on, and ended the process.
    def f(x):
        while x[0] <= 1.5 or 3.0 >= unknown:  # noqa: F821
            missing[1:] = 1  # noqa: F821

    def g(x):
        for i in range(len(x)):
            if x[i] > 0.5:
                missing[0] = 1  # noqa: F821
            else:
                unknown[0] = 1  # noqa: F821
        return missing  # noqa: F821

    for function in (f, g):
        same(function, (np.ones(20),), (np.ones(20) * 2,), whole=None)
