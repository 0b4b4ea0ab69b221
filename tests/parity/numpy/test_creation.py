"""Arrays made from sizes and numbers."""

import numpy as np
import pytest

from differential import LAYOUTS, array, check

NAMESPACE = {"np": np}

PLAIN = [
    "np.zeros(3)", "np.zeros((2, 3), np.float32)", "np.zeros((2, 3), order='F')", "np.zeros(())", "np.ones(4, dtype=int)", "np.ones((2, 2), bool)",
    "np.full(3, 7)", "np.full((2, 2), 1.5)", "np.full(3, 2, dtype='f4')", "np.full(3, True)", "np.full((2, 3), x[0])", "np.full(2, 1j)",
    "np.empty((2, 3)).shape", "np.arange(5)", "np.arange(2, 9)", "np.arange(2, 9, 3)", "np.arange(9, 2, -2)", "np.arange(0)", "np.arange(5, 2)",
    "np.arange(5, dtype='f4')", "np.arange(1, 6, 2, dtype='i2')", "np.arange(0.0, 1.0, 0.1)", "np.arange(1.5)", "np.arange(3.0, 0.0, -0.7)",
    "np.arange(0, 2, 0.3, dtype='f4')", "np.arange(3, dtype=float)", "np.arange(0.1, 0.35, 0.1)", "np.linspace(0, 1)", "np.linspace(0, 1, 5)", "np.linspace(1.5, -2, 7)",
    "np.linspace(0, 10, 5, endpoint=False)", "np.linspace(2, 3, 1)", "np.linspace(2, 3, 0)", "np.linspace(0, 1, 5, retstep=True)", "np.linspace(3, 3, 4)",
    "np.linspace(0, 9, 4, dtype=int)", "np.linspace(0, 1, 3, dtype='f4')", "np.linspace(0, 1, 2, endpoint=False, retstep=True)", "np.eye(3)", "np.eye(3, 4, 1)", "np.eye(3, k=-1, dtype=int)", "np.eye(2, 3, order='F')",
    "np.identity(3)", "np.identity(2, dtype=complex)", "np.tri(3)", "np.tri(3, 4, -1)", "np.tri(3, dtype=bool)", "np.indices((2, 3))",
    "np.array([1, 2, 3])", "np.array([1, 2.5])", "np.array([[1, 2], [3, 4]])", "np.array([])", "np.array([True, False])", "np.array(5)", "np.array(2.5)", "np.array([1, 2], dtype='f4')",
    "np.array([x[0], 1.0])", "np.array([x, x])", "np.array((1j, 2))", "np.array([[x[0], x[1]], [0, 1]])", "np.asarray([1, 2])", "np.asarray(3)", "np.array([2**63, 1])", "np.array([np.float32(1), 2.0])",
    "np.diagflat([1, 2])", "np.array(x.shape)", "np.zeros(x.shape)", "np.zeros(len(x))", "np.ones((len(x), 2))", "np.arange(len(x))", "np.arange(len(x) - 1, -1, -1)", "np.linspace(0, 1, len(x))",
    "np.eye(len(x))", "np.meshgrid(x, x[:2])", "np.meshgrid(x, x[:2], indexing='ij')", "np.meshgrid(x, x[:2], sparse=True)", "np.meshgrid(x)", "np.array([1, 2, 3]) + 1", "x + [1, 2, 3, 4, 5]",
    "np.geomspace(1, 100, 3)", "np.logspace(0, 2, 3)", "np.hanning(5)",
]  # fmt: skip


@pytest.mark.parametrize("expression", PLAIN)
def test_creation(expression):
    check(eval(f"lambda x: {expression}", NAMESPACE), lambda: (array(5),))


LIKE = [
    "np.zeros_like(x)", "np.ones_like(x)", "np.full_like(x, 3)", "np.zeros_like(x, dtype=int)", "np.zeros_like(x, order='C')", "np.zeros_like(x, shape=(3,))",
    "np.empty_like(x).strides", "np.array(x)", "np.array(x, dtype='f4')", "np.array(x, order='C')", "np.array(x, copy=None)", "np.asarray(x)", "np.asarray(x, dtype='f4')",
    "np.asanyarray(x)", "np.ascontiguousarray(x)", "np.copy(x)", "x.copy()", "np.asarray(x, order='C')", "np.zeros_like(x.T)", "np.array(x.T)", "np.array(x[::-1, ::2])",
    "np.full_like(x, x[0])",
]  # fmt: skip


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("expression", LIKE)
def test_arrays_like_another(expression, layout):
    check(eval(f"lambda x: {expression}", NAMESPACE), lambda: (array(4, 6, layout=layout),), native="strides" not in expression)


@pytest.mark.parametrize("expression", ["np.arange(n)", "np.arange(1, n)", "np.arange(0, n, 3)", "np.arange(n, 0, -1)", "np.arange(n, dtype=float)", "np.zeros(n)", "np.zeros((n, 2))",
                                        "np.linspace(0, 1, n)", "np.linspace(0.0, a, n)", "np.linspace(a, 2.0, n, endpoint=False)", "np.full(n, a)", "np.array([a, n, 1])", "np.eye(n)", "np.arange(0.0, a, 0.5)"])  # fmt: skip
def test_numbers_known_only_at_run_time(expression):
    check(eval(f"lambda n, a: {expression}", NAMESPACE), *[lambda n=n, a=a: (n, a) for n, a in [(5, 2.5), (7, 1.25), (1, 3.0), (0, 1.0), (2, 9.75)]])


@pytest.mark.parametrize("expression", ["np.zeros(-1)", "np.arange(1, 2, 0)", "np.linspace(0, 1, -2)", "np.array([[1], [2, 3]])", "np.full(3, 300, dtype='i1')", "np.zeros(2.5)", "np.eye(-1)", "np.zeros(3, 'U2')"])
def test_what_numpy_refuses_or_we_do_not_trace(expression):
    check(eval(f"lambda x: {expression}", NAMESPACE), lambda: (array(5),), native=False)
