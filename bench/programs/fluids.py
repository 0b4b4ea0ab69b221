"""Flows and the atmosphere: implicit sweeps, limiters, projection methods."""

import numpy as np

from .program import Program


def half_step(u, out, r):
    """Implicit along the first axis, explicit along the second: Thomas' sweeps, all lines at once."""
    n = u.shape[0]
    p = np.zeros_like(u)
    q = np.zeros_like(u)
    q[0] = u[0]
    out[0] = u[0]
    out[-1] = u[-1]
    out[:, 0] = u[:, 0]
    out[:, -1] = u[:, -1]
    for i in range(1, n - 1):
        known = u[i, 1:-1] + r * (u[i, :-2] - 2.0 * u[i, 1:-1] + u[i, 2:])
        pivot = 1.0 + 2.0 * r - r * p[i - 1, 1:-1]
        p[i, 1:-1] = r / pivot
        q[i, 1:-1] = (known + r * q[i - 1, 1:-1]) / pivot
    for i in range(n - 2, 0, -1):
        out[i, 1:-1] = p[i, 1:-1] * out[i + 1, 1:-1] + q[i, 1:-1]


def adi(steps, u, r):
    """Diffusion in alternating directions (Peaceman and Rachford, Journal of the Society for Industrial and
    Applied Mathematics 3, 1955)."""
    v = np.zeros_like(u)
    for _ in range(steps):
        half_step(u, v, r)
        half_step(v.T, u.T, r)


def horizontal_diffusion(field, weight):
    """Fourth-order diffusion on model levels with a flux limiter (Xue, Monthly Weather Review 128, 2000)."""
    laplace = 4.0 * field[1:-1, 1:-1] - (field[2:, 1:-1] + field[:-2, 1:-1] + field[1:-1, 2:] + field[1:-1, :-2])
    flux = laplace[1:, 1:-1] - laplace[:-1, 1:-1]
    along = np.where(flux * (field[2:-1, 2:-2] - field[1:-2, 2:-2]) > 0.0, 0.0, flux)
    flux = laplace[1:-1, 1:] - laplace[1:-1, :-1]
    across = np.where(flux * (field[2:-2, 2:-1] - field[2:-2, 1:-2]) > 0.0, 0.0, flux)
    return field[2:-2, 2:-2] - weight * (along[1:] - along[:-1] + across[:, 1:] - across[:, :-1])


def vertical_advection(u, w, dt, dz):
    """Crank-Nicolson for vertical advection, one tridiagonal system a column, all columns at once
    (Baldauf et al., Monthly Weather Review 139, 2011)."""
    levels = u.shape[2]
    c = np.zeros_like(u)
    d = np.zeros_like(u)
    rate = 0.25 * dt / dz
    c[:, :, 0] = rate * w[:, :, 0]
    d[:, :, 0] = u[:, :, 0] - rate * w[:, :, 0] * (u[:, :, 1] - u[:, :, 0])
    for k in range(1, levels):
        lower = -rate * w[:, :, k]
        if k < levels - 1:
            upper = rate * w[:, :, k]
            known = u[:, :, k] - rate * w[:, :, k] * (u[:, :, k + 1] - u[:, :, k - 1])
        else:
            upper = np.zeros(u.shape[:2])
            known = u[:, :, k] - rate * w[:, :, k] * (u[:, :, k] - u[:, :, k - 1])
        pivot = 1.0 / (1.0 - lower * c[:, :, k - 1])
        c[:, :, k] = upper * pivot
        d[:, :, k] = (known - lower * d[:, :, k - 1]) * pivot
    out = np.empty_like(u)
    out[:, :, -1] = d[:, :, -1]
    for k in range(levels - 2, -1, -1):
        out[:, :, k] = d[:, :, k] - c[:, :, k] * out[:, :, k + 1]
    return out


def relax_pressure(p, rhs, h, sweeps):
    """Jacobi sweeps for the pressure: no flow through the walls, zero at the lid."""
    for _ in range(sweeps):
        old = p.copy()
        p[1:-1, 1:-1] = 0.25 * (old[1:-1, 2:] + old[1:-1, :-2] + old[2:, 1:-1] + old[:-2, 1:-1]
                                - h * h * rhs[1:-1, 1:-1])
        p[:, -1] = p[:, -2]
        p[:, 0] = p[:, 1]
        p[0, :] = p[1, :]
        p[-1, :] = 0.0


def cavity_flow(steps, sweeps, u, v, p, h, dt, nu):
    """Flow in a box under a moving lid: predict, solve for the pressure, correct (Chorin, Mathematics of
    Computation 22, 1968; the case of Ghia, Ghia and Shin, Journal of Computational Physics 48, 1982)."""
    rhs = np.zeros_like(p)
    for _ in range(steps):
        uc = u[1:-1, 1:-1]
        vc = v[1:-1, 1:-1]
        us = u.copy()
        vs = v.copy()
        us[1:-1, 1:-1] = (uc - 0.5 * dt / h * (uc * (u[1:-1, 2:] - u[1:-1, :-2]) + vc * (u[2:, 1:-1] - u[:-2, 1:-1]))
                          + nu * dt / h**2 * (u[1:-1, 2:] + u[1:-1, :-2] + u[2:, 1:-1] + u[:-2, 1:-1] - 4.0 * uc))
        vs[1:-1, 1:-1] = (vc - 0.5 * dt / h * (uc * (v[1:-1, 2:] - v[1:-1, :-2]) + vc * (v[2:, 1:-1] - v[:-2, 1:-1]))
                          + nu * dt / h**2 * (v[1:-1, 2:] + v[1:-1, :-2] + v[2:, 1:-1] + v[:-2, 1:-1] - 4.0 * vc))
        rhs[1:-1, 1:-1] = (us[1:-1, 2:] - us[1:-1, :-2] + vs[2:, 1:-1] - vs[:-2, 1:-1]) / (2.0 * h * dt)
        relax_pressure(p, rhs, h, sweeps)
        u[1:-1, 1:-1] = us[1:-1, 1:-1] - dt / (2.0 * h) * (p[1:-1, 2:] - p[1:-1, :-2])
        v[1:-1, 1:-1] = vs[1:-1, 1:-1] - dt / (2.0 * h) * (p[2:, 1:-1] - p[:-2, 1:-1])
        u[0, :] = 0.0
        u[:, 0] = 0.0
        u[:, -1] = 0.0
        u[-1, :] = 1.0
        v[0, :] = 0.0
        v[-1, :] = 0.0
        v[:, 0] = 0.0
        v[:, -1] = 0.0


def channel_flow(u, force, h, dt, nu, tolerance, limit):
    """A periodic channel driven by a force, until it does not change any more (the plane flow of Poiseuille;
    Ferziger and Peric, Computational Methods for Fluid Dynamics, 2002, chapter 7)."""
    steps = 0
    change = 1.0
    while change > tolerance and steps < limit:
        old = u.copy()
        inner = old[1:-1]
        east = np.roll(inner, -1, axis=1)
        west = np.roll(inner, 1, axis=1)
        u[1:-1] = (inner - dt / h * inner * (inner - west)
                   + nu * dt / h**2 * (east + west + old[2:] + old[:-2] - 4.0 * inner) + dt * force)
        u[0] = 0.0
        u[-1] = 0.0
        change = np.abs(u - old).sum() / np.abs(u).sum()
        steps += 1
    return steps


def cavity(rng, steps, sweeps, n):
    u, v, p = np.zeros((n, n)), np.zeros((n, n)), np.zeros((n, n))
    u[-1] = 1.0
    return steps, sweeps, u, v, p, 1.0 / (n - 1), 0.1 / (n - 1), 0.02


PROGRAMS = [
    Program(adi, lambda rng, steps, n: (steps, rng.random((n, n)), 0.4), (2, 12), (10, 150), (20, 600),
            changes=("u",)),
    Program(horizontal_diffusion, lambda rng, n, levels: (rng.random((n, n, levels)), rng.random((n - 4, n - 4, levels))),
            (12, 4), (128, 40), (256, 80)),
    Program(vertical_advection,
            lambda rng, n, levels: (rng.random((n, n, levels)), rng.normal(size=(n, n, levels)), 0.5, 1.0),
            (8, 6), (64, 60), (160, 100)),
    Program(cavity_flow, cavity, (3, 5, 10), (20, 30, 61), (40, 50, 151), changes=("u", "v", "p")),
    Program(channel_flow, lambda rng, n, limit: (0.01 * rng.random((n, n)), 1.0, 2.0 / n, 0.05 / n, 0.1, 1e-4, limit),
            (10, 20), (60, 800), (200, 1_000), changes=("u",)),
]
