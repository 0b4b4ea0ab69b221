"""Functions that NumPy itself runs inside the program, sizes known only then included."""

import numpy as np
import pytest

from differential import array, check

NAMESPACE = {"np": np}

EXPRESSIONS = [
    "np.unique(x)", "np.unique(x, return_counts=True)", "np.nonzero(x)", "np.flatnonzero(x > 0)", "np.argwhere(x > 0)", "np.where(x > 0)", "np.compress([True, False, True], x)", "np.extract(x > 0, x)",
    "np.delete(x, 1)", "np.trim_zeros(x)", "np.union1d(x, y)", "np.intersect1d(x, y)", "np.setdiff1d(x, y)", "np.unique(x)[::-1] + 1", "np.unique(x).sum()", "x[x > 0] * 2", "x[x > 0].mean()",
    "np.take(x, [0, 1])", "np.sort(x)[::-1]", "np.histogram(x, 4)", "np.insert(x, 1, 5)", "np.allclose(x, y)", "np.array_equal(x, x)", "np.cumsum(x)[1:]", "np.select([x > 0, x < -5], [x, y])", "np.pad(x, 2)",
    "len(np.unique(x))", "np.unique(x).shape", "np.unique(x).size + 1",
]  # fmt: skip


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_extern(expression):
    function = eval(f"lambda x, y: {expression}", NAMESPACE)
    check(function, lambda: (array(9), array(9, start=4)), lambda: (array(12, start=3), array(12, start=18)), native=False)


# Results that are not in C order: the columns of one array (nonzero), Fortran order (LAPACK), axes moved.
STRIDED = [
    "np.nonzero(m)", "np.nonzero(m)[0] * 2", "m[np.nonzero(m)]", "np.where(m > 0)[1][::-1]", "np.nonzero(m)[0][None]", "m.nonzero()",
    "np.linalg.eigh(s)[1]", "np.linalg.eigh(s)[1].T", "np.linalg.eigh(s)[1][:, 0]", "np.linalg.qr(m)", "np.linalg.svd(m)[2].T", "np.linalg.inv(s)", "np.linalg.eigh(s)[1] @ s",
    "np.linalg.cholesky(s @ s.T + 9 * np.eye(4))", "np.linalg.eigh(s)[1].reshape(-1)", "np.linalg.eigh(s)[1].ravel('K')", "np.linalg.eigh(s)[1] + 1", "np.linalg.lstsq(m, m[:, 0], rcond=None)[0]",
    "np.einsum('ij,kj->ki', m, m)", "np.einsum('ijk->kji', t)", "np.tensordot(m, m, ([1], [1]))", "np.kron(s, s).T", "np.gradient(m)", "np.meshgrid(m[0], m[1])", "np.lexsort((m[0], m[1]))",
    "np.unique(m, axis=0)", "np.unique(m, axis=1)", "np.argwhere(m)", "np.argwhere(m).T", "np.indices((2, 3))", "np.mgrid[0:2, 0:3]", "np.fft.fft(m, axis=0)", "np.cumsum(m.T, axis=0)", "np.sort(m.T, axis=0)",
    "np.take(m.T, [0, 1], axis=1)", "np.delete(m, 0, axis=1)", "np.pad(m.T, 1)", "np.insert(m.T, 1, 0, axis=0)", "np.apply_along_axis(np.sort, 0, m)", "np.rollaxis(np.cumsum(t, axis=0), 2)", "np.copy(m.T)",
]  # fmt: skip


@pytest.mark.parametrize("expression", STRIDED)
def test_results_in_another_order(expression):
    function = eval(f"lambda m, s, t: {expression}", NAMESPACE)

    def arguments(n, k):
        m = array(n, k, start=n) * 1.0
        s = m[:4, :4] if m.shape[0] >= 4 <= m.shape[1] else np.diag([1.0, 2, 3, 4])
        return m, (s + s.T) / 2, array(2, 3, n) * 1.0

    check(function, lambda: arguments(5, 4), lambda: arguments(6, 4), lambda: arguments(4, 7), native=False)


def test_columns_of_one_array_are_separate_arrays():
    def function(m):
        i, j = np.nonzero(m)
        i += 7
        j[...] = 1
        return i, j, i * 2

    check(function, lambda: (array(4, 5),))
