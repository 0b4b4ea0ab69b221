"""Grids that are swept again and again: relaxation, diffusion, waves, spins."""

import numpy as np

from .program import Program


def jacobi_1d(steps, a, b):
    """Jacobi's relaxation on a line, two arrays in turns (Saad, Iterative Methods for Sparse Linear
    Systems, 2003, section 4.1)."""
    for _ in range(steps):
        b[1:-1] = (a[:-2] + a[1:-1] + a[2:]) / 3.0
        a[1:-1] = (b[:-2] + b[1:-1] + b[2:]) / 3.0


def jacobi_2d(steps, a, b):
    """Jacobi's relaxation on a plane (Saad 2003, section 4.1)."""
    for _ in range(steps):
        b[1:-1, 1:-1] = 0.2 * (a[1:-1, 1:-1] + a[1:-1, :-2] + a[1:-1, 2:] + a[2:, 1:-1] + a[:-2, 1:-1])
        a[1:-1, 1:-1] = 0.2 * (b[1:-1, 1:-1] + b[1:-1, :-2] + b[1:-1, 2:] + b[2:, 1:-1] + b[:-2, 1:-1])


def seidel_2d(steps, a):
    """Gauss-Seidel smoothing with all nine neighbours, point by point (Saad 2003, section 4.1)."""
    n, m = a.shape
    for _ in range(steps):
        for i in range(1, n - 1):
            for j in range(1, m - 1):
                a[i, j] = (a[i - 1, j - 1] + a[i - 1, j] + a[i - 1, j + 1]
                           + a[i, j - 1] + a[i, j] + a[i, j + 1]
                           + a[i + 1, j - 1] + a[i + 1, j] + a[i + 1, j + 1]) / 9.0


def gauss_seidel_rows(steps, u, f, h):
    """Gauss-Seidel for Poisson's equation: what a row needs of others as one array statement, the chain
    along the row as a loop (Briggs, Henson and McCormick, A Multigrid Tutorial, 2000, chapter 2)."""
    for _ in range(steps):
        for i in range(1, u.shape[0] - 1):
            known = u[i - 1, 1:-1] + u[i + 1, 1:-1] + u[i, 2:] + h * h * f[i, 1:-1]
            left = u[i, 0]
            for j in range(known.shape[0]):
                left = 0.25 * (left + known[j])
                u[i, j + 1] = left


def heat_3d(steps, u, alpha):
    """Explicit Euler for the heat equation in space (Strikwerda, Finite Difference Schemes and Partial
    Differential Equations, 2004, section 6.3)."""
    for _ in range(steps):
        inner = u[1:-1, 1:-1, 1:-1]
        change = u[2:, 1:-1, 1:-1] - 2.0 * inner + u[:-2, 1:-1, 1:-1]
        change += u[1:-1, 2:, 1:-1] - 2.0 * inner + u[1:-1, :-2, 1:-1]
        change += u[1:-1, 1:-1, 2:] - 2.0 * inner + u[1:-1, 1:-1, :-2]
        u[1:-1, 1:-1, 1:-1] += alpha * change


def fdtd_2d(ex, ey, hz, pulse):
    """Maxwell's equations on a staggered grid, a source along one edge (Yee, IEEE Transactions on Antennas
    and Propagation 14, 1966)."""
    for t in range(pulse.shape[0]):
        ey[0, :] = pulse[t]
        ey[1:, :] -= 0.5 * (hz[1:, :] - hz[:-1, :])
        ex[:, 1:] -= 0.5 * (hz[:, 1:] - hz[:, :-1])
        hz[:-1, :-1] -= 0.7 * (ex[:-1, 1:] - ex[:-1, :-1] + ey[1:, :-1] - ey[:-1, :-1])


def wave_1d(steps, u, courant):
    """Leapfrog for the wave equation on a string with fixed ends (Courant, Friedrichs and Lewy,
    Mathematische Annalen 100, 1928)."""
    r = courant * courant
    before = u.copy()
    energy = np.zeros(steps)
    for t in range(steps):
        after = np.zeros_like(u)
        after[1:-1] = 2.0 * u[1:-1] - before[1:-1] + r * (u[2:] - 2.0 * u[1:-1] + u[:-2])
        speed = after - u
        energy[t] = 0.5 * np.sum(speed * speed) + 0.5 * r * np.sum((u[1:] - u[:-1]) ** 2)
        before = u
        u = after
    return u, energy


def game_of_life(steps, board):
    """Conway's game on a torus (Gardner, Scientific American 223, 1970)."""
    n, m = board.shape
    for _ in range(steps):
        around = np.zeros((n + 2, m + 2), dtype=board.dtype)
        around[1:-1, 1:-1] = board
        around[0, 1:-1] = board[-1]
        around[-1, 1:-1] = board[0]
        around[:, 0] = around[:, -2]
        around[:, -1] = around[:, 1]
        count = (around[:-2, :-2] + around[:-2, 1:-1] + around[:-2, 2:]
                 + around[1:-1, :-2] + around[1:-1, 2:]
                 + around[2:, :-2] + around[2:, 1:-1] + around[2:, 2:])
        board = ((count == 3) | ((board == 1) & (count == 2))).astype(board.dtype)
    return board


def ising_checkerboard(sweeps, spins, beta, rng):
    """Heat-bath updates of the Ising model, the black squares and then the white ones (Newman and Barkema,
    Monte Carlo Methods in Statistical Physics, 1999, chapter 3)."""
    n, m = spins.shape
    black = (np.arange(n)[:, None] + np.arange(m)[None, :]) % 2 == 0
    magnetisation = np.empty(sweeps)
    for sweep in range(sweeps):
        for colour in (black, ~black):
            field = (np.roll(spins, 1, axis=0) + np.roll(spins, -1, axis=0)
                     + np.roll(spins, 1, axis=1) + np.roll(spins, -1, axis=1))
            up = 1.0 / (1.0 + np.exp(-2.0 * beta * field))
            drawn = np.where(rng.random(spins.shape) < up, 1, -1)
            spins[colour] = drawn[colour]
        magnetisation[sweep] = spins.mean()
    return magnetisation


def two_arrays(rng, steps, *shape):
    return steps, rng.random(shape), rng.random(shape)


def yee_grid(rng, steps, n, m):
    return rng.random((n, m)), rng.random((n, m)), rng.random((n, m)), np.sin(0.1 * np.arange(steps))


PROGRAMS = [
    Program(jacobi_1d, two_arrays, (10, 50), (500, 20_000), (2_000, 100_000), changes=("a", "b")),
    Program(jacobi_2d, two_arrays, (5, 20, 20), (50, 300, 300), (80, 1_000, 1_000), changes=("a", "b")),
    Program(seidel_2d, lambda rng, steps, n: (steps, rng.random((n, n))), (2, 12), (10, 80), (12, 200),
            changes=("a",)),
    Program(gauss_seidel_rows, lambda rng, steps, n: (steps, rng.random((n, n)), rng.random((n, n)), 1.0 / n),
            (2, 16), (20, 100), (30, 300), changes=("u",)),
    Program(heat_3d, lambda rng, steps, n: (steps, rng.random((n, n, n)), 0.125), (3, 8), (20, 50), (20, 120),
            changes=("u",)),
    Program(fdtd_2d, yee_grid, (5, 16, 20), (50, 250, 300), (80, 1_000, 1_000), changes=("ex", "ey", "hz")),
    Program(wave_1d, lambda rng, steps, n: (steps, rng.random(n), 0.9), (10, 60), (800, 20_000), (1_200, 80_000)),
    Program(game_of_life, lambda rng, steps, n: (steps, rng.integers(0, 2, (n, n), dtype=np.int8)),
            (4, 20), (50, 500), (100, 2_000)),
    Program(ising_checkerboard,
            lambda rng, sweeps, n: (sweeps, rng.choice(np.array([-1, 1]), (n, n)), 0.44, rng),
            (3, 12), (20, 200), (40, 600), changes=("spins", "rng")),
]
