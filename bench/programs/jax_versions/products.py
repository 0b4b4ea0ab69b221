import jax.numpy as jnp


def three_mm(a, b, c, d):
    return (a @ b) @ (c @ d)


def lower_part(whole, other):
    return jnp.tril(whole) + jnp.triu(other, 1)


def syrk(alpha, beta, c, a):
    return lower_part(beta * c + alpha * (a @ a.T), c)


def syr2k(alpha, beta, c, a, b):
    product = a @ b.T
    return lower_part(beta * c + alpha * (product + product.T), c)


def symm(alpha, beta, c, a, b):
    whole = jnp.tril(a) + jnp.tril(a, -1).T
    return beta * c + alpha * (whole @ b)


def trmm(alpha, a, b):
    return alpha * (b + jnp.tril(a, -1).T @ b)


def gemver(alpha, beta, a, u1, v1, u2, v2, w, x, y, z):
    a = a + jnp.outer(u1, v1) + jnp.outer(u2, v2)
    x = x + beta * (y @ a) + z
    w = w + alpha * (a @ x)
    return a, w, x


def doitgen(a, c4):
    return a @ c4


def covariance(data):
    centred = data - data.mean(axis=0)
    return centred.T @ centred / (data.shape[0] - 1.0)


def correlation(data):
    centred = data - data.mean(axis=0)
    deviation = jnp.sqrt(jnp.mean(centred**2, axis=0))
    scaled = centred / (jnp.sqrt(data.shape[0]) * jnp.where(deviation <= 0.1, 1.0, deviation))
    out = scaled.T @ scaled
    return out.at[jnp.diag_indices(data.shape[1])].set(1.0)
