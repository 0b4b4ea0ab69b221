import jax.numpy as jnp
from jax import lax


def sobel(image):
    a = image
    across = (a[:-2, 2:] + 2.0 * a[1:-1, 2:] + a[2:, 2:]) - (a[:-2, :-2] + 2.0 * a[1:-1, :-2] + a[2:, :-2])
    down = (a[2:, :-2] + 2.0 * a[2:, 1:-1] + a[2:, 2:]) - (a[:-2, :-2] + 2.0 * a[:-2, 1:-1] + a[:-2, 2:])
    return jnp.pad(jnp.sqrt(across * across + down * down), 1)


def bilateral_filter(image, reach, spatial, tonal):
    n, m = image.shape
    wide = jnp.pad(image, reach)
    side = 2 * reach + 1

    def offset(k, state):
        total, weights = state
        i, j = k // side, k % side
        other = lax.dynamic_slice(wide, (i, j), (n, m))
        apart = (i - reach) ** 2 + (j - reach) ** 2
        weight = jnp.exp(-apart / (2.0 * spatial**2) - (other - image) ** 2 / (2.0 * tonal**2))
        return total + weight * other, weights + weight

    total, weights = lax.fori_loop(0, side * side, offset, (jnp.zeros_like(image), jnp.zeros_like(image)))
    return total / weights


def deriche(image, alpha):
    e = jnp.exp(-alpha)
    k = (1.0 - e) ** 2 / (1.0 + 2.0 * alpha * e - e * e)
    a0, a1, a2, a3 = k, k * e * (alpha - 1.0), k * e * (alpha + 1.0), -k * e * e
    b1, b2 = 2.0 * e, -e * e
    zero = jnp.zeros(image.shape[0])

    def forward(state, x):
        x1, y1, y2 = state
        y = a0 * x + a1 * x1 + b1 * y1 + b2 * y2
        return (x, y, y1), y

    def backward(state, x):
        x1, x2, y1, y2 = state
        y = a2 * x1 + a3 * x2 + b1 * y1 + b2 * y2
        return (x, x1, y, y1), y

    _, ahead = lax.scan(forward, (zero,) * 3, image.T)
    _, behind = lax.scan(backward, (zero,) * 4, image.T, reverse=True)
    return (ahead + behind).T


def recursive_smoothing(signal, weight):
    def step(state, x):
        state = state + weight * (x - state)
        return state, state

    state, out = lax.scan(step, signal[0], signal)
    return lax.scan(step, state, out, reverse=True)[1]


def otsu_threshold(image):
    share = jnp.bincount(image.ravel(), length=256) / image.size
    below = jnp.cumsum(share)
    moment = jnp.cumsum(share * jnp.arange(256))
    apart = below * (1.0 - below)
    between = jnp.where(apart > 1e-12, (moment[-1] * below - moment) ** 2 / jnp.where(apart > 1e-12, apart, 1.0), 0.0)
    threshold = jnp.argmax(between)
    return threshold, (image > threshold).astype(jnp.uint8) * jnp.uint8(255)


def total_variation(image, steps, weight, rate):
    def step(_, u):
        right = jnp.pad(u[:, 1:] - u[:, :-1], ((0, 0), (0, 1)))
        down = jnp.pad(u[1:, :] - u[:-1, :], ((0, 1), (0, 0)))
        size = jnp.sqrt(right * right + down * down + 1e-6)
        right, down = right / size, down / size
        divergence = right + down
        divergence = divergence.at[:, 1:].add(-right[:, :-1]).at[1:, :].add(-down[:-1, :])
        return u + rate * (weight * divergence - (u - image))

    return lax.fori_loop(0, steps, step, image)
