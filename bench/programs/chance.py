"""Prices, filters and estimates: random numbers and recursions in time."""

import numpy as np

from .program import Program


def normal_cdf(x):
    # Abramowitz and Stegun, Handbook of Mathematical Functions, 1964, 26.2.17
    t = 1.0 / (1.0 + 0.2316419 * np.abs(x))
    poly = t * (0.319381530 + t * (-0.356563782 + t * (1.781477937 + t * (-1.821255978 + t * 1.330274429))))
    tail = 0.3989422804014327 * np.exp(-0.5 * x * x) * poly
    return np.where(x >= 0.0, 1.0 - tail, tail)


def black_scholes(spot, strike, time, rate, volatility):
    """Prices of European calls and puts (Black and Scholes, Journal of Political Economy 81, 1973)."""
    root = volatility * np.sqrt(time)
    d1 = (np.log(spot / strike) + (rate + 0.5 * volatility * volatility) * time) / root
    d2 = d1 - root
    discounted = strike * np.exp(-rate * time)
    call = spot * normal_cdf(d1) - discounted * normal_cdf(d2)
    put = discounted * normal_cdf(-d2) - spot * normal_cdf(-d1)
    return call, put


def asian_option(rng, paths, steps, spot, strike, rate, volatility, years):
    """The price of an option on a mean, by simulation with antithetic paths (Boyle, Journal of Financial
    Economics 4, 1977)."""
    dt = years / steps
    drift = (rate - 0.5 * volatility * volatility) * dt
    scale = volatility * np.sqrt(dt)
    up = np.full(paths, np.log(spot))
    down = np.full(paths, np.log(spot))
    total_up = np.zeros(paths)
    total_down = np.zeros(paths)
    for _ in range(steps):
        z = rng.standard_normal(paths)
        up += drift + scale * z
        down += drift - scale * z
        total_up += np.exp(up)
        total_down += np.exp(down)
    payoff = 0.5 * (np.maximum(total_up / steps - strike, 0.0) + np.maximum(total_down / steps - strike, 0.0))
    discount = np.exp(-rate * years)
    return discount * payoff.mean(), discount * payoff.std() / np.sqrt(paths)


def monte_carlo_pi(rng, rounds, draws):
    """The share of random points in a quarter of a disc (Metropolis and Ulam, Journal of the American
    Statistical Association 44, 1949)."""
    hits = 0
    for _ in range(rounds):
        points = rng.random((draws, 2))
        hits += np.count_nonzero(np.sum(points * points, axis=1) <= 1.0)
    return 4.0 * hits / (rounds * draws)


def binomial_tree(spot, strike, rate, volatility, years, steps):
    """American puts on a binomial tree, many strikes at once (Cox, Ross and Rubinstein, Journal of Financial
    Economics 7, 1979)."""
    dt = years / steps
    up = np.exp(volatility * np.sqrt(dt))
    discount = np.exp(-rate * dt)
    p = (1.0 / discount - 1.0 / up) / (up - 1.0 / up)
    price = spot * up ** (2.0 * np.arange(steps + 1) - steps)
    value = np.maximum(strike[:, None] - price[None, :], 0.0)
    for n in range(steps - 1, -1, -1):
        price = spot * up ** (2.0 * np.arange(n + 1) - n)
        held = discount * (p * value[:, 1:] + (1.0 - p) * value[:, :-1])
        value = np.maximum(held, strike[:, None] - price[None, :])
    return value[:, 0]


def kalman_filter(measured, transition, observation, noise, error, x, p):
    """Estimates of a moving target (Kalman, Journal of Basic Engineering 82, 1960)."""
    identity = np.eye(x.shape[0])
    track = np.empty((measured.shape[0], x.shape[0]))
    likelihood = 0.0
    for t in range(measured.shape[0]):
        x = transition @ x
        p = transition @ p @ transition.T + noise
        innovation = measured[t] - observation @ x
        s = observation @ p @ observation.T + error
        gain = p @ observation.T @ np.linalg.inv(s)
        x = x + gain @ innovation
        p = (identity - gain @ observation) @ p
        likelihood -= 0.5 * (innovation @ np.linalg.solve(s, innovation) + np.log(np.linalg.det(s)))
        track[t] = x
    return track, likelihood


def particle_filter(observed, particles, rng):
    """A bootstrap filter with systematic resampling for the growth model of its authors (Gordon, Salmond and
    Smith, IEE Proceedings F 140, 1993; resampling: Kitagawa, Journal of Computational and Graphical Statistics
    5, 1996)."""
    n = particles.shape[0]
    means = np.empty(observed.shape[0])
    for t in range(observed.shape[0]):
        particles = (0.5 * particles + 25.0 * particles / (1.0 + particles**2) + 8.0 * np.cos(1.2 * t)
                     + np.sqrt(10.0) * rng.standard_normal(n))
        misfit = observed[t] - particles**2 / 20.0
        weight = np.exp(-0.5 * (misfit**2 - np.min(misfit**2)))
        weight /= np.sum(weight)
        means[t] = np.sum(weight * particles)
        position = (np.arange(n) + rng.random()) / n
        index = np.searchsorted(np.cumsum(weight), position)
        particles = particles[np.minimum(index, n - 1)]
    return means, particles


def metropolis(rng, steps, walkers, width):
    """Random walks that settle in Rosenbrock's valley (Metropolis et al., Journal of Chemical Physics 21,
    1953)."""
    x = np.zeros(walkers)
    y = np.zeros(walkers)
    energy = (1.0 - x) ** 2 + 100.0 * (y - x * x) ** 2
    accepted = 0
    for _ in range(steps):
        new_x = x + width * rng.standard_normal(walkers)
        new_y = y + width * rng.standard_normal(walkers)
        new_energy = (1.0 - new_x) ** 2 + 100.0 * (new_y - new_x * new_x) ** 2
        take = rng.random(walkers) < np.exp(np.minimum(energy - new_energy, 0.0))
        x = np.where(take, new_x, x)
        y = np.where(take, new_y, y)
        energy = np.where(take, new_energy, energy)
        accepted += int(np.sum(take))
    return x, y, accepted


def options(rng, n):
    return rng.uniform(10, 50, n), rng.uniform(10, 50, n), rng.uniform(0.5, 2, n), 0.03, 0.2


def tracking(rng, steps):
    transition = np.eye(4)
    transition[0, 2] = transition[1, 3] = 0.1
    observation = np.eye(2, 4)
    measured = np.cumsum(rng.normal(size=(steps, 2)), axis=0)
    return measured, transition, observation, 0.01 * np.eye(4), 0.5 * np.eye(2), np.zeros(4), np.eye(4)


PROGRAMS = [
    Program(black_scholes, options, (50,), (100_000,), (2_000_000,)),
    Program(asian_option, lambda rng, paths, steps: (rng, paths, steps, 100.0, 105.0, 0.03, 0.25, 1.0), (50, 5),
            (20_000, 60), (100_000, 120), changes=("rng",)),
    Program(monte_carlo_pi, lambda rng, rounds, draws: (rng, rounds, draws), (3, 50), (20, 50_000), (60, 200_000),
            changes=("rng",)),
    Program(binomial_tree, lambda rng, n, steps: (100.0, rng.uniform(80, 120, n), 0.03, 0.2, 1.0, steps), (5, 12),
            (60, 400), (200, 1_000)),
    Program(kalman_filter, tracking, (10,), (1_500,), (10_000,), rtol=1e-8),
    Program(particle_filter, lambda rng, steps, n: (5.0 * rng.random(steps), rng.normal(size=n), rng), (4, 30),
            (40, 10_000), (60, 100_000), changes=("rng",), rtol=1e-8),
    Program(metropolis, lambda rng, steps, walkers: (rng, steps, walkers, 0.1), (5, 20), (150, 5_000), (300, 40_000),
            changes=("rng",)),
]
