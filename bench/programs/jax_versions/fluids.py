import jax.numpy as jnp
from jax import lax


def half_step(u, r):
    """Thomas' sweeps along the first axis, a scan up and a scan down."""
    known = u[1:-1, 1:-1] + r * (u[1:-1, :-2] - 2.0 * u[1:-1, 1:-1] + u[1:-1, 2:])

    def up(state, row):
        p, q = state
        pivot = 1.0 + 2.0 * r - r * p
        p, q = r / pivot, (row + r * q) / pivot
        return (p, q), (p, q)

    def down(above, factors):
        above = factors[0] * above + factors[1]
        return above, above

    _, factors = lax.scan(up, (jnp.zeros_like(u[0, 1:-1]), u[0, 1:-1]), known)
    _, inner = lax.scan(down, u[-1, 1:-1], factors, reverse=True)
    return u.at[1:-1, 1:-1].set(inner)


def adi(steps, u, r):
    return lax.fori_loop(0, steps, lambda _, u: half_step(half_step(u, r).T, r).T, u)


def horizontal_diffusion(field, weight):
    laplace = 4.0 * field[1:-1, 1:-1] - (field[2:, 1:-1] + field[:-2, 1:-1] + field[1:-1, 2:] + field[1:-1, :-2])
    flux = laplace[1:, 1:-1] - laplace[:-1, 1:-1]
    along = jnp.where(flux * (field[2:-1, 2:-2] - field[1:-2, 2:-2]) > 0.0, 0.0, flux)
    flux = laplace[1:-1, 1:] - laplace[1:-1, :-1]
    across = jnp.where(flux * (field[2:-2, 2:-1] - field[2:-2, 1:-2]) > 0.0, 0.0, flux)
    return field[2:-2, 2:-2] - weight * (along[1:] - along[:-1] + across[:, 1:] - across[:, :-1])


def vertical_advection(u, w, dt, dz):
    rate = 0.25 * dt / dz
    u, w = jnp.moveaxis(u, 2, 0), jnp.moveaxis(w, 2, 0)
    below = jnp.concatenate([u[:1], u[:-1]])
    above = jnp.concatenate([u[1:], u[-1:]])
    known = u - rate * w * (above - below)
    upper = (rate * w).at[-1].set(0.0)
    lower = (-rate * w).at[0].set(0.0)

    def up(state, level):
        c, d = state
        lower, upper, known = level
        pivot = 1.0 / (1.0 - lower * c)
        c, d = upper * pivot, (known - lower * d) * pivot
        return (c, d), (c, d)

    def down(above, factors):
        above = factors[1] - factors[0] * above
        return above, above

    zero = jnp.zeros_like(u[0])
    _, factors = lax.scan(up, (zero, zero), (lower, upper, known))
    _, out = lax.scan(down, zero, factors, reverse=True)
    return jnp.moveaxis(out, 0, 2)


def relax_pressure(p, rhs, h, sweeps):
    def sweep(_, p):
        p = p.at[1:-1, 1:-1].set(
            0.25 * (p[1:-1, 2:] + p[1:-1, :-2] + p[2:, 1:-1] + p[:-2, 1:-1] - h * h * rhs[1:-1, 1:-1]))
        p = p.at[:, -1].set(p[:, -2])
        p = p.at[:, 0].set(p[:, 1])
        p = p.at[0, :].set(p[1, :])
        return p.at[-1, :].set(0.0)

    return lax.fori_loop(0, sweeps, sweep, p)


def cavity_flow(steps, sweeps, u, v, p, h, dt, nu):
    def predicted(f, u, v):
        c = f[1:-1, 1:-1]
        east, west, north, south = f[1:-1, 2:], f[1:-1, :-2], f[2:, 1:-1], f[:-2, 1:-1]
        carried = 0.5 * dt / h * (u[1:-1, 1:-1] * (east - west) + v[1:-1, 1:-1] * (north - south))
        return f.at[1:-1, 1:-1].set(c - carried + nu * dt / h**2 * (east + west + north + south - 4.0 * c))

    def walls(f, lid):
        return f.at[0, :].set(0.0).at[:, 0].set(0.0).at[:, -1].set(0.0).at[-1, :].set(lid)

    def step(_, state):
        u, v, p = state
        us, vs = predicted(u, u, v), predicted(v, u, v)
        rhs = jnp.zeros_like(p).at[1:-1, 1:-1].set(
            (us[1:-1, 2:] - us[1:-1, :-2] + vs[2:, 1:-1] - vs[:-2, 1:-1]) / (2.0 * h * dt))
        p = relax_pressure(p, rhs, h, sweeps)
        u = u.at[1:-1, 1:-1].set(us[1:-1, 1:-1] - dt / (2.0 * h) * (p[1:-1, 2:] - p[1:-1, :-2]))
        v = v.at[1:-1, 1:-1].set(vs[1:-1, 1:-1] - dt / (2.0 * h) * (p[2:, 1:-1] - p[:-2, 1:-1]))
        v = v.at[:, 0].set(0.0).at[:, -1].set(0.0).at[0, :].set(0.0).at[-1, :].set(0.0)
        return walls(u, 1.0), v, p

    return lax.fori_loop(0, steps, step, (u, v, p))


def channel_flow(u, force, h, dt, nu, tolerance, limit):
    def go_on(state):
        _, change, steps = state
        return (change > tolerance) & (steps < limit)

    def step(state):
        old, _, steps = state
        inner = old[1:-1]
        east, west = jnp.roll(inner, -1, axis=1), jnp.roll(inner, 1, axis=1)
        inner = (inner - dt / h * inner * (inner - west)
                 + nu * dt / h**2 * (east + west + old[2:] + old[:-2] - 4.0 * inner) + dt * force)
        u = old.at[1:-1].set(inner).at[0].set(0.0).at[-1].set(0.0)
        return u, jnp.abs(u - old).sum() / jnp.abs(u).sum(), steps + 1

    u, _, steps = lax.while_loop(go_on, step, (u, 1.0, 0))
    return u, steps
