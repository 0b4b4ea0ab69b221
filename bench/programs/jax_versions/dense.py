import jax.numpy as jnp
from jax import lax


def lu(a):
    n = a.shape[0]
    index = jnp.arange(n)

    def column(k, a):
        factor = jnp.where(index > k, a[:, k] / a[k, k], 0.0)
        right = jnp.where(index > k, a[k], 0.0)
        a = a.at[:, k].set(jnp.where(index > k, factor, a[:, k]))
        return a - jnp.outer(factor, right)

    return lax.fori_loop(0, n - 1, column, a)


def cholesky(a):
    # Users of jax call the library; the upper triangle stays as it was.
    return jnp.tril(jnp.linalg.cholesky(a)) + jnp.triu(a, 1)


def gram_schmidt(a):
    n = a.shape[1]
    index = jnp.arange(n)

    def column(k, state):
        a, q, r = state
        norm = jnp.sqrt(a[:, k] @ a[:, k])
        direction = a[:, k] / norm
        row = jnp.where(index > k, direction @ a, 0.0)
        return a - jnp.outer(direction, row), q.at[:, k].set(direction), r.at[k].set(row).at[k, k].set(norm)

    a, q, r = lax.fori_loop(0, n, column, (a, jnp.zeros_like(a), jnp.zeros((n, n), a.dtype)))
    return a, q, r


def triangular_solve(lower, b):
    return lax.linalg.triangular_solve(lower, b[:, None], left_side=True, lower=True)[:, 0]


def back_substitution(upper, b):
    return lax.linalg.triangular_solve(upper, b, left_side=True, lower=False)


def levinson_durbin(autocorrelation):
    order = autocorrelation.shape[0] - 1
    index = jnp.arange(order + 1)

    def grow(m, state):
        a, reflections, error = state
        k = -jnp.sum(jnp.where(index < m, a * autocorrelation[jnp.abs(m - index)], 0.0)) / error
        a = a + jnp.where((index >= 1) & (index <= m), k * a[jnp.abs(m - index)], 0.0)
        return a, reflections.at[m - 1].set(k), error * (1.0 - k * k)

    start = jnp.zeros(order + 1).at[0].set(1.0), jnp.zeros(order), autocorrelation[0]
    return lax.fori_loop(1, order + 1, grow, start)


def durbin(r):
    index = jnp.arange(r.shape[0])

    def grow(k, state):
        y, alpha, beta = state
        beta = beta * (1.0 - alpha * alpha)
        back = jnp.where(index < k, y[jnp.abs(k - 1 - index)], 0.0)
        alpha = -(r[k] + r @ back) / beta
        return (y + alpha * back).at[k].set(alpha), alpha, beta

    return lax.fori_loop(1, r.shape[0], grow, (jnp.zeros_like(r).at[0].set(-r[0]), -r[0], 1.0))[0]


def conjugate_gradient(a, b, tolerance, limit):
    r = b

    def go_on(state):
        *_, rr, steps = state
        return (steps < limit) & ((jnp.sqrt(rr) >= tolerance) | (steps == 0))

    def step(state):
        x, r, p, rr, steps = state
        ap = a @ p
        alpha = rr / (p @ ap)
        x, r = x + alpha * p, r - alpha * ap
        new = r @ r
        return x, r, r + (new / rr) * p, new, steps + 1

    x, *_, steps = lax.while_loop(go_on, step, (jnp.zeros_like(b), r, r, r @ r, 0))
    return x, steps


def householder_qr(a):
    m, n = a.shape
    row, column = jnp.arange(m), jnp.arange(n)

    def reflect(k, state):
        a, tau = state
        v = jnp.where(row >= k, a[:, k], 0.0)
        norm = jnp.sqrt(v @ v)
        beta = jnp.where(a[k, k] >= 0.0, -norm, norm)
        pivot = a[k, k] - beta
        v = (v / pivot).at[k].set(1.0)
        factor = -pivot / beta
        a = a - factor * jnp.outer(v, jnp.where(column > k, v @ a, 0.0))
        return a.at[:, k].set(jnp.where(row > k, v, a[:, k])).at[k, k].set(beta), tau.at[k].set(factor)

    return lax.fori_loop(0, n, reflect, (a, jnp.zeros(n)))
