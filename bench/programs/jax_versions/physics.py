import jax.numpy as jnp
from jax import lax


def accelerations(position, mass, softening):
    apart = position[None, :, :] - position[:, None, :]
    inverse = (jnp.sum(apart * apart, axis=2) + softening * softening) ** -1.5
    return jnp.sum(apart * (inverse * mass[None, :])[:, :, None], axis=1)


def n_body(steps, position, velocity, mass, dt):
    def step(state, _):
        position, velocity, force = state
        velocity = velocity + 0.5 * dt * force
        position = position + dt * velocity
        force = accelerations(position, mass, 0.1)
        velocity = velocity + 0.5 * dt * force
        return (position, velocity, force), 0.5 * jnp.sum(mass[:, None] * velocity**2)

    start = position, velocity, accelerations(position, mass, 0.1)
    (position, velocity, _), kinetic = lax.scan(step, start, length=steps)
    return position, velocity, kinetic


def plane(left, right, bottom, top, width, height):
    return jnp.linspace(left, right, width) + jnp.linspace(bottom, top, height)[:, None] * 1j


def mandelbrot_masks(left, right, bottom, top, width, height, limit):
    c = plane(left, right, bottom, top, width, height)

    def step(n, state):
        z, times = state
        inside = jnp.abs(z) < 2.0
        return jnp.where(inside, z * z + c, z), jnp.where(inside, n, times)

    z, times = lax.fori_loop(0, limit, step, (jnp.zeros_like(c), jnp.zeros(c.shape, jnp.int64)))
    return z, jnp.where(times == limit - 1, 0, times)


def mandelbrot_shrinking(left, right, bottom, top, width, height, limit):
    c = plane(left, right, bottom, top, width, height)

    def step(n, state):
        z, times = state
        z = jnp.where(times == 0, z * z + c, z)
        escaped = z.real**2 + z.imag**2 > 4.0
        return z, jnp.where(escaped & (times == 0), n, times)

    return lax.fori_loop(1, limit + 1, step, (jnp.zeros_like(c), jnp.zeros(c.shape, jnp.int32)))[1]


def stockham_fft(x):
    n = x.shape[0]
    y, stride = x, 1
    while stride < n:  # unrolled: the shapes differ
        half = n // (2 * stride)
        upper, lower = y.reshape(2, half, stride)
        twiddle = jnp.exp(-1j * jnp.pi * jnp.arange(half) / half)
        y = jnp.stack([upper + lower, (upper - lower) * twiddle[:, None]], axis=1).reshape(n)
        stride *= 2
    return y


def contour_integral(a, probe, centre, radius, nodes):
    turn = jnp.exp(2j * jnp.pi * (jnp.arange(nodes) + 0.5) / nodes)
    z = centre + radius * turn

    def node(sums, values):
        z, weight = values
        solved = jnp.linalg.solve(z * jnp.eye(a.shape[0]) - a, probe)
        return (sums[0] + weight * solved, sums[1] + z * weight * solved), None

    zero = jnp.zeros(probe.shape, jnp.complex128)
    return lax.scan(node, (zero, zero), (z, radius * turn / nodes))[0]


def histogram_loop(values, low, high, bins):
    index = jnp.minimum(((values - low) / ((high - low) / bins)).astype(jnp.int64), bins - 1)
    inside = (values >= low) & (values <= high)
    return jnp.bincount(jnp.where(inside, index, bins), length=bins + 1)[:bins]


def azimuthal_integration(image, radius, rings):
    edge = radius.max()

    def ring(k):
        inside = (radius >= edge * k / rings) & (radius < edge * (k + 1) / rings)
        return jnp.sum(jnp.where(inside, image, 0.0)) / jnp.sum(inside)

    return lax.map(ring, jnp.arange(rings))


def tendency(x, force):
    return (jnp.roll(x, -1, axis=1) - jnp.roll(x, 2, axis=1)) * jnp.roll(x, 1, axis=1) - x + force


def runge_kutta(steps, x, force, dt):
    def step(x, _):
        k1 = tendency(x, force)
        k2 = tendency(x + 0.5 * dt * k1, force)
        k3 = tendency(x + 0.5 * dt * k2, force)
        k4 = tendency(x + dt * k3, force)
        x = x + dt / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4)
        return x, x.std()

    return lax.scan(step, x, length=steps)


def haversine_distances(latitude, longitude, other_latitude, other_longitude):
    here, there = jnp.radians(latitude)[:, None], jnp.radians(other_latitude)[None, :]
    across = jnp.radians(other_longitude)[None, :] - jnp.radians(longitude)[:, None]
    a = jnp.sin(0.5 * (there - here)) ** 2 + jnp.cos(here) * jnp.cos(there) * jnp.sin(0.5 * across) ** 2
    return 2.0 * 6371.0 * jnp.arcsin(jnp.sqrt(a))


def cubic_spline(x, y, points):
    n = x.shape[0]
    h = x[1:] - x[:-1]
    slope = (y[1:] - y[:-1]) / h

    def up(state, row):
        bend, pivot = state
        before, after, jump = row
        p = 2.0 * (before + after) - before * pivot
        bend, pivot = (6.0 * jump - before * bend) / p, after / p
        return (bend, pivot), (bend, pivot)

    def down(above, row):
        above = row[0] - row[1] * above
        return above, above

    _, factors = lax.scan(up, (0.0, 0.0), (h[:-1], h[1:], slope[1:] - slope[:-1]))
    _, inner = lax.scan(down, 0.0, factors, reverse=True)
    bend = jnp.zeros(n).at[1:-1].set(inner)
    k = jnp.clip(jnp.searchsorted(x, points) - 1, 0, n - 2)
    t = points - x[k]
    linear = slope[k] - h[k] * (2.0 * bend[k] + bend[k + 1]) / 6.0
    return y[k] + t * (linear + t * (0.5 * bend[k] + t * (bend[k + 1] - bend[k]) / (6.0 * h[k])))


def lennard_jones(position, box):
    n = position.shape[0]

    def particle(i):
        apart = position[i] - position
        apart = apart - box * jnp.round(apart / box)
        inverse = 1.0 / jnp.where(jnp.arange(n) == i, jnp.inf, jnp.sum(apart * apart, axis=1))
        sixth = inverse**3
        pull = (24.0 * inverse * sixth * (2.0 * sixth - 1.0))[:, None] * apart
        return 0.5 * jnp.sum(4.0 * sixth * (sixth - 1.0)), pull.sum(axis=0)

    energy, force = lax.map(particle, jnp.arange(n))
    return energy.sum(), force
