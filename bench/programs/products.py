"""Products of matrices and what statistics makes of them."""

import numpy as np

from .program import Program


def three_mm(a, b, c, d):
    """A chain of matrix products, (AB)(CD) (Dongarra et al., ACM Transactions on Mathematical Software 16,
    1990: GEMM)."""
    return (a @ b) @ (c @ d)


def syrk(alpha, beta, c, a):
    """The lower triangle of beta C + alpha A A^T, in place (Dongarra et al. 1990: SYRK)."""
    for i in range(a.shape[0]):
        c[i, : i + 1] *= beta
        for k in range(a.shape[1]):
            c[i, : i + 1] += alpha * a[i, k] * a[: i + 1, k]


def syr2k(alpha, beta, c, a, b):
    """The lower triangle of beta C + alpha (A B^T + B A^T), in place (Dongarra et al. 1990: SYR2K)."""
    for i in range(a.shape[0]):
        c[i, : i + 1] *= beta
        for k in range(a.shape[1]):
            c[i, : i + 1] += a[: i + 1, k] * alpha * b[i, k] + b[: i + 1, k] * alpha * a[i, k]


def symm(alpha, beta, c, a, b):
    """beta C + alpha A B, of the symmetric A only the lower triangle stored (Dongarra et al. 1990: SYMM)."""
    c *= beta
    for i in range(c.shape[0]):
        for j in range(c.shape[1]):
            c[:i, j] += alpha * b[i, j] * a[i, :i]
            c[i, j] += alpha * (b[i, j] * a[i, i] + np.dot(b[:i, j], a[i, :i]))


def trmm(alpha, a, b):
    """alpha A^T B with A lower triangular and a unit diagonal, in place (Dongarra et al. 1990: TRMM)."""
    for i in range(b.shape[0]):
        for j in range(b.shape[1]):
            b[i, j] += np.dot(a[i + 1 :, i], b[i + 1 :, j])
    b *= alpha


def gemver(alpha, beta, a, u1, v1, u2, v2, w, x, y, z):
    """Two rank-one updates and two products with the result (Blackford et al., ACM Transactions on
    Mathematical Software 28, 2002: GEMVER)."""
    a += np.outer(u1, v1) + np.outer(u2, v2)
    x += beta * (y @ a) + z
    w += alpha * (a @ x)


def doitgen(a, c4):
    """One index of a three-index table transformed by a matrix, in place (Yelick et al., Concurrency:
    Practice and Experience 10, 1998: the kernel of MADNESS)."""
    for r in range(a.shape[0]):
        for q in range(a.shape[1]):
            a[r, q, :] = a[r, q, :] @ c4


def covariance(data):
    """The covariance of columns, row by row of the result (Chan, Golub and LeVeque, The American Statistician
    37, 1983: the two-pass algorithm)."""
    n, m = data.shape
    centred = data - data.mean(axis=0)
    out = np.zeros((m, m))
    for i in range(m):
        out[i, i:] = centred[:, i] @ centred[:, i:] / (n - 1.0)
        out[i:, i] = out[i, i:]
    return out


def correlation(data):
    """Pearson's correlation of columns, constant columns left alone (Pearson, Proceedings of the Royal
    Society 58, 1895)."""
    n, m = data.shape
    deviation = np.sqrt(np.mean((data - data.mean(axis=0)) ** 2, axis=0))
    deviation[deviation <= 0.1] = 1.0
    scaled = (data - data.mean(axis=0)) / (np.sqrt(n) * deviation)
    out = np.eye(m)
    for i in range(m - 1):
        out[i, i + 1 :] = scaled[:, i] @ scaled[:, i + 1 :]
        out[i + 1 :, i] = out[i, i + 1 :]
    return out


def chain_of_matrices(rng, n):
    return tuple(rng.random(shape) for shape in [(n, n + 2), (n + 2, n + 4), (n + 4, n + 6), (n + 6, n)])


def square(rng, n, m, count):
    return (1.5, 1.2, rng.random((n, n)), *(rng.random((n, m)) for _ in range(count)))


def of_gemver(rng, n):
    return (1.5, 1.2, rng.random((n, n)) / n, *(rng.random(n) for _ in range(8)))


PROGRAMS = [
    Program(three_mm, chain_of_matrices, (16,), (600,), (1_400,)),
    Program(syrk, lambda rng, n, m: square(rng, n, m, 1), (16, 12), (150, 120), (500, 400), changes=("c",)),
    Program(syr2k, lambda rng, n, m: square(rng, n, m, 2), (12, 10), (120, 100), (350, 300), changes=("c",)),
    Program(symm, lambda rng, n, m: (1.5, 1.2, rng.random((n, m)), rng.random((n, n)), rng.random((n, m))),
            (8, 6), (120, 120), (350, 400), changes=("c",)),
    Program(trmm, lambda rng, n, m: (1.5, rng.random((n, n)) / n, rng.random((n, m))), (8, 10), (200, 200), (600, 600),
            changes=("b",)),
    Program(gemver, of_gemver, (40,), (1_500,), (4_000,), changes=("a", "w", "x")),
    Program(doitgen, lambda rng, r, q, p: (rng.random((r, q, p)), rng.random((p, p))), (6, 7, 8), (50, 60, 80),
            (150, 200, 120), changes=("a",)),
    Program(covariance, lambda rng, n, m: (rng.random((n, m)),), (40, 20), (800, 200), (2_000, 600)),
    Program(correlation, lambda rng, n, m: (rng.random((n, m)),), (40, 20), (800, 200), (1_500, 500)),
]
