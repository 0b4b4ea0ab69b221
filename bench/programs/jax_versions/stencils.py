import jax.numpy as jnp
from jax import lax


def repeat(steps, step, state):
    return lax.fori_loop(0, steps, lambda _, state: step(state), state)


def jacobi_1d(steps, a, b):
    def step(state):
        a, b = state
        b = b.at[1:-1].set((a[:-2] + a[1:-1] + a[2:]) / 3.0)
        a = a.at[1:-1].set((b[:-2] + b[1:-1] + b[2:]) / 3.0)
        return a, b

    return repeat(steps, step, (a, b))


def jacobi_2d(steps, a, b):
    def relaxed(u):
        return 0.2 * (u[1:-1, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:] + u[2:, 1:-1] + u[:-2, 1:-1])

    def step(state):
        a, b = state
        b = b.at[1:-1, 1:-1].set(relaxed(a))
        a = a.at[1:-1, 1:-1].set(relaxed(b))
        return a, b

    return repeat(steps, step, (a, b))


def gauss_seidel_rows(steps, u, f, h):
    def row(i, u):
        known = u[i - 1, 1:-1] + u[i + 1, 1:-1] + u[i, 2:] + h * h * f[i, 1:-1]

        def along(left, value):
            left = 0.25 * (left + value)
            return left, left

        return u.at[i, 1:-1].set(lax.scan(along, u[i, 0], known)[1])

    return repeat(steps, lambda u: lax.fori_loop(1, u.shape[0] - 1, row, u), u)


def heat_3d(steps, u, alpha):
    def step(u):
        inner = u[1:-1, 1:-1, 1:-1]
        change = u[2:, 1:-1, 1:-1] + u[:-2, 1:-1, 1:-1] + u[1:-1, 2:, 1:-1] + u[1:-1, :-2, 1:-1]
        change += u[1:-1, 1:-1, 2:] + u[1:-1, 1:-1, :-2] - 6.0 * inner
        return u.at[1:-1, 1:-1, 1:-1].add(alpha * change)

    return repeat(steps, step, u)


def fdtd_2d(ex, ey, hz, pulse):
    def step(state, value):
        ex, ey, hz = state
        ey = ey.at[0, :].set(value)
        ey = ey.at[1:, :].add(-0.5 * (hz[1:, :] - hz[:-1, :]))
        ex = ex.at[:, 1:].add(-0.5 * (hz[:, 1:] - hz[:, :-1]))
        hz = hz.at[:-1, :-1].add(-0.7 * (ex[:-1, 1:] - ex[:-1, :-1] + ey[1:, :-1] - ey[:-1, :-1]))
        return (ex, ey, hz), None

    return lax.scan(step, (ex, ey, hz), pulse)[0]


def wave_1d(steps, u, courant):
    r = courant * courant

    def step(state, _):
        before, u = state
        after = jnp.zeros_like(u).at[1:-1].set(
            2.0 * u[1:-1] - before[1:-1] + r * (u[2:] - 2.0 * u[1:-1] + u[:-2]))
        energy = 0.5 * jnp.sum((after - u) ** 2) + 0.5 * r * jnp.sum((u[1:] - u[:-1]) ** 2)
        return (u, after), energy

    (_, u), energy = lax.scan(step, (u, u), length=steps)
    return u, energy


def game_of_life(steps, board):
    def step(board):
        rows = board + jnp.roll(board, 1, axis=0) + jnp.roll(board, -1, axis=0)
        count = rows + jnp.roll(rows, 1, axis=1) + jnp.roll(rows, -1, axis=1) - board
        return ((count == 3) | ((board == 1) & (count == 2))).astype(board.dtype)

    return repeat(steps, step, board)
