"""Dense linear algebra, as it is written by hand: rows, columns and inner products."""

import numpy as np

from .program import Program


def lu(a):
    """LU without pivoting, in place, one element after the other (Golub and Van Loan, Matrix Computations,
    2013, section 3.2: the Crout-Doolittle order)."""
    n = a.shape[0]
    for i in range(n):
        for j in range(i):
            a[i, j] -= np.dot(a[i, :j], a[:j, j])
            a[i, j] /= a[j, j]
        for j in range(i, n):
            a[i, j] -= np.dot(a[i, :i], a[:i, j])


def cholesky(a):
    """Cholesky's factor in the lower triangle, in place, row by row (Golub and Van Loan 2013,
    section 4.2)."""
    n = a.shape[0]
    a[0, 0] = np.sqrt(a[0, 0])
    for i in range(1, n):
        for j in range(i):
            a[i, j] -= np.dot(a[i, :j], a[j, :j])
            a[i, j] /= a[j, j]
        a[i, i] -= np.dot(a[i, :i], a[i, :i])
        a[i, i] = np.sqrt(a[i, i])


def gram_schmidt(a):
    """The modified Gram-Schmidt process (Golub and Van Loan 2013, section 5.2)."""
    n = a.shape[1]
    q = np.zeros_like(a)
    r = np.zeros((n, n), dtype=a.dtype)
    for k in range(n):
        r[k, k] = np.sqrt(np.dot(a[:, k], a[:, k]))
        q[:, k] = a[:, k] / r[k, k]
        for j in range(k + 1, n):
            r[k, j] = np.dot(q[:, k], a[:, j])
            a[:, j] -= q[:, k] * r[k, j]
    return q, r


def triangular_solve(lower, b):
    """Forward substitution (Golub and Van Loan 2013, section 3.1)."""
    x = np.zeros_like(b)
    for i in range(b.shape[0]):
        x[i] = (b[i] - lower[i, :i] @ x[:i]) / lower[i, i]
    return x


def back_substitution(upper, b):
    """Backward substitution for many right-hand sides (Golub and Van Loan 2013, section 3.1)."""
    x = b.copy()
    for i in range(b.shape[0] - 1, -1, -1):
        x[i] /= upper[i, i]
        x[:i] -= np.outer(upper[:i, i], x[i])
    return x


def levinson_durbin(autocorrelation):
    """Coefficients of linear prediction of growing order (Levinson, Journal of Mathematics and Physics 25,
    1946; Durbin, Review of the International Statistical Institute 28, 1960)."""
    order = autocorrelation.shape[0] - 1
    a = np.zeros(order + 1)
    a[0] = 1.0
    reflections = np.zeros(order)
    error = autocorrelation[0]
    for m in range(1, order + 1):
        k = -np.dot(a[:m], autocorrelation[m:0:-1]) / error
        reflections[m - 1] = k
        a[1 : m + 1] = a[1 : m + 1] + k * a[m - 1 :: -1][:m]
        error = error * (1.0 - k * k)
    return a, reflections, error


def durbin(r):
    """The Yule-Walker equations of a Toeplitz matrix with a unit diagonal (Golub and Van Loan 2013,
    section 4.7)."""
    y = np.zeros_like(r)
    alpha = -r[0]
    beta = 1.0
    y[0] = -r[0]
    for k in range(1, r.shape[0]):
        beta *= 1.0 - alpha * alpha
        alpha = -(r[k] + np.dot(r[:k][::-1], y[:k])) / beta
        y[:k] += alpha * y[:k][::-1]
        y[k] = alpha
    return y


def conjugate_gradient(a, b, tolerance, limit):
    """Conjugate gradients until the residual is small (Hestenes and Stiefel, Journal of Research of the
    National Bureau of Standards 49, 1952)."""
    x = np.zeros_like(b)
    r = b - a @ x
    p = r.copy()
    rr = r @ r
    steps = 0
    while steps < limit:
        ap = a @ p
        alpha = rr / (p @ ap)
        x += alpha * p
        r -= alpha * ap
        new = r @ r
        steps += 1
        if np.sqrt(new) < tolerance:
            break
        p = r + (new / rr) * p
        rr = new
    return x, steps


def householder_qr(a):
    """QR by Householder's reflections, R and the vectors in place (Householder, Journal of the ACM 5,
    1958)."""
    m, n = a.shape
    tau = np.zeros(n)
    for k in range(n):
        v = a[k:, k].copy()
        norm = np.sqrt(v @ v)
        beta = -norm if v[0] >= 0.0 else norm
        pivot = v[0] - beta
        v /= pivot
        v[0] = 1.0
        tau[k] = -pivot / beta
        a[k:, k + 1 :] -= tau[k] * np.outer(v, v @ a[k:, k + 1 :])
        a[k, k] = beta
        a[k + 1 :, k] = v[1:]
    return tau


def positive_definite(rng, n):
    a = rng.random((n, n))
    return a @ a.T / n + np.eye(n)


def system(rng, n, *more):
    return (positive_definite(rng, n), rng.random(n), *more)


PROGRAMS = [
    Program(lu, lambda rng, n: (positive_definite(rng, n),), (10,), (150,), (500,), changes=("a",)),
    Program(cholesky, lambda rng, n: (positive_definite(rng, n),), (12,), (200,), (800,), changes=("a",)),
    Program(gram_schmidt, lambda rng, n, m: (rng.random((n, m)),), (20, 12), (300, 120), (800, 400),
            changes=("a",), rtol=1e-7, atol=1e-9),
    Program(triangular_solve, lambda rng, n: (np.tril(rng.random((n, n))) / n + np.eye(n), rng.random(n)),
            (50,), (2_500,), (6_000,)),
    Program(back_substitution, lambda rng, n, m: (np.triu(rng.random((n, n))) / n + np.eye(n), rng.random((n, m))),
            (20, 4), (400, 100), (1_200, 200)),
    Program(levinson_durbin, lambda rng, n: (0.9 ** np.arange(n) + np.eye(1, n)[0] + 0.01 * rng.random(n),),
            (50,), (1_500,), (8_000,), rtol=1e-8),
    Program(durbin, lambda rng, n: (0.5 * 0.9 ** np.arange(1.0, n + 1.0) + 0.01 * rng.random(n) / n,),
            (50,), (2_000,), (10_000,), rtol=1e-8),
    Program(conjugate_gradient, system, (20, 1e-8, 50), (1_000, 1e-10, 200), (4_000, 1e-10, 200), rtol=1e-7),
    Program(householder_qr, lambda rng, n, m: (rng.normal(size=(n, m)),), (20, 10), (300, 120), (700, 400),
            changes=("a",), rtol=1e-8, atol=1e-10),
]
