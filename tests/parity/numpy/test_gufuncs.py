"""Products and linear algebra as NumPy's own inner loops inside the program: matmul, dot, vecdot, inv, solve,
det, cholesky, norm. Spec 3: nothing of them leaves the graph, and results are NumPy's to the bit, but for products
of vectors in captured loops and norms, which are sums of ours."""

import itertools
import warnings

import numpy as np
import pytest

import numlift as nl
from differential import LAYOUTS, array, check, check_call
from numlift.testing import break_count

DTYPES = ("?", "i1", "u2", "i4", "i8", "f2", "f4", "f8", "c8", "c16")
NAMESPACE = {"np": np}


def function_of(expression, parameters):
    return eval(f"lambda {parameters}: {expression}", NAMESPACE)


def graph_text(function, *args):
    return str(nl.explain(function)(*args).graphs)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("expression", ["x @ y", "x @ y[:, 0]", "x[0] @ y", "x[0] @ y[:, 0]", "np.matmul(x, y)", "np.dot(x, y)", "x.dot(y)", "np.dot(x[0], y[:, 1])"])  # fmt: skip
def test_products_of_every_dtype(expression, dtype):
    function = function_of(expression, "x, y")
    check(function, *[lambda n=n, k=k, m=m: (array(n, k, dtype=dtype), array(k, m, dtype=dtype, start=3))
                      for n, k, m in [(3, 4, 5), (1, 7, 2), (17, 33, 9)]])  # fmt: skip


@pytest.mark.parametrize("one, other", list(itertools.product(LAYOUTS, LAYOUTS)))
def test_products_of_every_layout(one, other):
    for expression in ("x @ y", "x.T @ y.T", "x[1:, ::2] @ y[::2, 1:]", "x[::-1] @ y[:, ::-1]", "x[:, 2] @ y[2]",
                       "x[:, ::-1][0] @ y", "x[:, None, 1] @ y[0][None]"):  # fmt: skip
        function = function_of(expression, "x, y")
        check(function, lambda: (array(5, 5, layout=one), array(5, 5, layout=other, start=2)))


@pytest.mark.parametrize("sizes", [(0, 3, 2), (3, 0, 2), (3, 2, 0), (0, 0, 0), (1, 1, 1)])
def test_products_without_elements(sizes):
    n, k, m = sizes
    check(lambda x, y: (x @ y, x.sum(1) @ x), lambda: (array(n, k), array(k, m)))


def test_products_of_two_dtypes():
    check(lambda x, y: (x @ y, y.T @ x.T), lambda: (array(3, 4, dtype="i4"), array(4, 2)),
          lambda: (array(5, 1, dtype="i4"), array(1, 2)))  # fmt: skip
    check(lambda x, y: x @ y, lambda: (array(3, 4, dtype="f4"), array(4, 2, dtype="c8")))


@pytest.mark.parametrize("expression", ["t @ x", "x @ t", "t @ t", "t @ x[0]", "x[0] @ t", "np.vecdot(t, t)", "np.vecdot(t[0], x)", "np.matmul(t, t[0])", "np.matmul(t[:, ::2], x)"])  # fmt: skip
def test_stacks_of_matrices(expression):
    function = function_of(expression, "t, x")
    check(function, *[lambda b=b, n=n: (array(b, n, n) * 1.0, array(n, n) * 1.0) for b, n in [(3, 4), (1, 2), (2, 9)]])


def test_deep_stacks_are_left_to_numpy():
    check(lambda t: t @ t, lambda: (array(2, 3, 4, 4) * 1.0,), native=False)


def test_operands_are_computed_first():
    def function(x, y):
        z = (x * 2 + 1) @ (y * 0.5)
        return z.T @ (z - z[0]), np.full((3, 3), 2.0) @ x

    check(function, lambda: (array(3, 4), array(4, 5)), lambda: (array(3, 1), array(1, 2)))


def test_the_result_is_a_new_array():
    def function(x):
        y = x @ x
        x[0, 0] = 100.0
        y[1, 1] = 7.0
        return x @ x, y

    check(function, lambda: (array(3, 3) * 1.0,))


def test_out():
    def function(x, y, z):
        np.matmul(x, y, out=z)
        return np.matmul(z, z, out=z), z

    check(function, lambda: (array(3, 3), array(3, 3), np.empty((3, 3))))
    check(lambda x, z: np.matmul(x, x, out=z), lambda: (array(3, 3), np.empty((3, 3))), native=False)
    check(lambda x, z: np.dot(x, x, out=z), lambda: (array(3, 3), np.empty((3, 3), int)), native=False)


@pytest.mark.parametrize("dtype", ["?", "u1", "i8", "f4", "c16"])
def test_outer(dtype):
    check(lambda x, y: (np.outer(x, y), np.outer(y[::-1], x[::2]) + 1, np.linalg.outer(x, y)),
          *[lambda n=n: (array(n, dtype=dtype), array(4, dtype=dtype, start=2)) for n in (0, 1, 7)])  # fmt: skip
    check(lambda x, y: np.outer(x, y), lambda: (array(2, 3), array(2)), native=False)
    check(lambda x, y, z: np.outer(x, y, z), lambda: (array(3), array(2), np.zeros((3, 2))))


@pytest.mark.parametrize("expression", ["x @ y", "x @ y[0]", "x[0] @ y[:, :2]", "np.dot(x, y)", "x @ 2.0", "np.vecdot(x, y)"])  # fmt: skip
def test_sizes_that_do_not_fit(expression):
    function = function_of(expression, "x, y")
    check(function, lambda: (array(3, 4) * 1.0, array(3, 5) * 1.0), native=False)


def test_sizes_change_from_call_to_call():
    compiled = nl.compile(function := lambda x, y: x @ y)
    for n, k, m in [(3, 4, 5), (7, 2, 2), (40, 50, 60), (2, 3, 4)]:
        check_call(compiled, function, lambda: (array(n, k) * 0.5, array(k, m) * 0.25))
    assert break_count(compiled) == 0
    with pytest.raises(ValueError, match="mismatch in its core dimension"):
        compiled(np.ones((3, 4)), np.ones((5, 3)))


def test_large_products():
    generator = np.random.default_rng(5)
    x, y = generator.random((300, 200)), generator.random((200, 250))
    check(lambda x, y: (x @ y, x.T @ x, x @ y[:, 0]), lambda: (x.copy(), y.copy()))


@pytest.mark.parametrize("expression, text", [("x @ y", "matmul"), ("x @ y[0]", "matmul"), ("np.dot(x, y)", "dot")])
def test_conditions_are_reported_as_numpy_does(expression, text):
    function = function_of(expression, "x, y")
    compiled = nl.compile(function)

    def caught(call, x, y):
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            result = call(x, y)
        return result, [(w.category, str(w.message)) for w in seen]

    good = array(2, 2) * 1.0
    compiled(good, good)
    for bad in (np.full((2, 2), 1e300), np.full((2, 2), np.inf), np.full((2, 2), np.nan)):
        expected, warned = caught(function, bad, bad)
        got, found = caught(compiled, bad, bad)
        np.testing.assert_array_equal(got, expected)
        assert found == warned
    _, warned = caught(compiled, np.full((2, 2), 1e300), np.full((2, 2), 1e300))
    assert [text in message for _, message in warned] in ([True], [])
    with np.errstate(all="ignore"):
        assert caught(compiled, np.full((2, 2), 1e300), np.full((2, 2), 1e300))[1] == []


# ---- numpy.linalg

MATRICES = {
    "plain": lambda n, dtype: (array(n, n, dtype=dtype, start=n) + 50 * np.eye(n, dtype=dtype)).astype(dtype),
    "transposed": lambda n, dtype: (array(n, n, dtype=dtype, start=n) + 50 * np.eye(n, dtype=dtype)).astype(dtype).T,
    "strided": lambda n, dtype: (array(2 * n, 2 * n, dtype=dtype) + 50 * np.eye(2 * n)).astype(dtype)[::2, ::2],
}


@pytest.mark.parametrize("dtype", ["f4", "f8", "c8", "c16"])
@pytest.mark.parametrize("layout", MATRICES)
def test_linear_algebra(layout, dtype):
    def function(a, b, v):
        return np.linalg.inv(a), np.linalg.solve(a, b), np.linalg.solve(a, v), np.linalg.det(a), np.linalg.det(a[:1, :1])

    check(function, *[lambda n=n: (MATRICES[layout](n, dtype), array(n, 3, dtype=dtype), array(n, dtype=dtype))
                      for n in (1, 3, 8)])  # fmt: skip


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_cholesky(dtype):
    check(lambda a: np.linalg.cholesky(a @ a.T), *[lambda n=n: (MATRICES["plain"](n, dtype),) for n in (1, 4, 9)])
    check(lambda a: np.linalg.cholesky(a @ a.T, upper=True), lambda: (MATRICES["plain"](4, dtype),), native=False)


def test_linear_algebra_of_other_operands():
    check(lambda a, b: (np.linalg.inv(a), np.linalg.solve(a, b), np.linalg.det(a)),
          lambda: (array(3, 3) + 50 * np.eye(3, dtype=int), array(3, 2) * 1.0), native=False)  # fmt: skip
    check(lambda t: (np.linalg.inv(t), np.linalg.det(t)), lambda: (np.stack([np.eye(3), 2 * np.eye(3)]),), native=False)
    check(lambda a: np.linalg.inv(a), lambda: (np.empty((0, 0)),), native=False)
    for bad in (np.ones((2, 3)), np.ones(4), np.ones((2, 2), "f2")):
        check(lambda a: np.linalg.inv(a), lambda bad=bad: (bad.copy(),), native=False)
        check(lambda a: np.linalg.solve(a, a), lambda bad=bad: (bad.copy(),), native=False)
        check(lambda a: np.linalg.det(a), lambda bad=bad: (bad.copy(),), native=False)


@pytest.mark.parametrize("name", ["inv", "solve", "cholesky", "det"])
def test_singular_matrices(name):
    function = function_of(f"np.linalg.{name}(a, a) * 2" if name == "solve" else f"np.linalg.{name}(a) * 2", "a")
    for backend in ("llvm", "graph"):
        compiled = nl.compile(function, backend=backend)
        check_call(compiled, function, lambda: (np.diag([2.0, 3.0]),))
        for bad in (np.zeros((2, 2)), -np.eye(2), np.full((2, 2), np.nan), np.array([[1.0, 2.0], [2.0, 4.0]])):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                check_call(compiled, function, lambda bad=bad: (bad.copy(),))
        check_call(compiled, function, lambda: (np.diag([5.0, 3.0]),))


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_norm_of_all_elements(dtype):
    compiled = nl.compile(function := lambda x: np.linalg.norm(x))
    for x in (array(9, dtype=dtype), array(4, 5, dtype=dtype).T, array(100, dtype=dtype)[::-3], np.empty(0, dtype),
              np.array([np.nan, 1], dtype), np.array([np.inf, 1], dtype)):  # fmt: skip
        expected, got = function(x), compiled(x)
        assert type(got) is type(expected)
        np.testing.assert_allclose(got, expected, rtol=4 * np.finfo(dtype).eps)
    assert break_count(compiled) == 0


@pytest.mark.parametrize("arguments", ["x, 1", "x, 'fro'", "x, axis=0", "x, None, 1", "x, keepdims=True", "x, ord=np.inf", "x.astype(int)", "x + 1j", "x, 7, (0, 1)"])  # fmt: skip
def test_norms_of_numpys_own(arguments):
    check(function_of(f"np.linalg.norm({arguments})", "x"), lambda: (array(3, 4) * 1.0,), native=False)


# ---- in captured loops


@pytest.mark.parametrize("size", [2, 5, 70])
def test_products_in_captured_loops(size):
    def function(a, v, steps):
        total = 0.0
        for k in range(steps):
            v = a @ v
            v = v / np.linalg.norm(v)
            a = a @ a.T
            a = a / np.linalg.norm(a) + np.eye(a.shape[0])
            total += v @ v + np.dot(v[: k % 2 + 1], a[k % 2, : k % 2 + 1])
        return a, v, total

    compiled = nl.compile(function)
    a, v = np.cos(np.arange(size * size)).reshape(size, size), np.sin(np.arange(size) + 1.0)
    for steps in (20, 0, 31):
        for got, expected in zip(compiled(a, v, steps), function(a, v, steps), strict=True):
            np.testing.assert_allclose(got, expected, rtol=1e-9, atol=1e-12)
    assert break_count(compiled) == 0


def test_linear_algebra_in_captured_loops():
    def function(measured, transition, noise, x, p):
        track = np.empty((measured.shape[0], x.shape[0]))
        for t in range(measured.shape[0]):
            x = transition @ x
            p = transition @ p @ transition.T + noise
            gain = p @ np.linalg.inv(p + noise)
            x = x + gain @ (measured[t] - x)
            p = p - gain @ p
            track[t] = np.linalg.solve(p, x) * np.linalg.det(p)
        return track, x, p

    compiled = nl.compile(function)
    rng = np.random.default_rng(3)
    args = rng.random((30, 3)), np.eye(3) + 0.1 * rng.random((3, 3)), np.eye(3), rng.random(3), np.eye(3)
    for got, expected in zip(compiled(*args), function(*args), strict=True):
        np.testing.assert_allclose(got, expected, rtol=1e-9)
    assert break_count(compiled) == 0
    singular = (args[0], np.zeros((3, 3)), np.zeros((3, 3)), args[3], args[4])
    for call in (function, compiled):
        with pytest.raises(np.linalg.LinAlgError, match="Singular matrix"):
            call(*singular)


def test_triangular_updates_in_captured_loops():
    def function(a):
        a = a.copy()
        n = a.shape[0]
        for i in range(n):
            a[i, i:] -= a[i, :i] @ a[:i, i:]
            a[i + 1 :, i] = (a[i + 1 :, i] - a[i + 1 :, :i] @ a[:i, i]) / a[i, i]
        return a

    compiled = nl.compile(function)
    for n in (9, 1, 40):
        a = np.cos(np.arange(n * n)).reshape(n, n) + n * np.eye(n)
        np.testing.assert_allclose(compiled(a), function(a), rtol=1e-12)
    assert break_count(compiled) == 0
