"""Whole-array expressions: the work itself, on arrays that do not fit in cache."""

import numpy as np

import numlift as nl

from . import peers
from .measure import per_call_seconds


def trigonometric(x, y):
    return np.sin(x) ** 2 + np.cos(x) ** 2 * y


def multiply_add(x, y):
    return x * y + 1


def pairwise_sum(X, Y):
    return np.sum(X[:, :, None] * Y[:, None, :], axis=(-2, -1))


def five_point(u):
    return 0.25 * (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:]) - u[1:-1, 1:-1]


def softmax(x):
    e = np.exp(x - np.max(x, axis=-1, keepdims=True))
    return e / np.sum(e, axis=-1, keepdims=True)


def normal_cdf(x):
    # Abramowitz and Stegun, Handbook of Mathematical Functions, 26.2.17
    t = 1.0 / (1.0 + 0.2316419 * np.abs(x))
    poly = t * (0.319381530 + t * (-0.356563782 + t * (1.781477937 + t * (-1.821255978 + t * 1.330274429))))
    tail = 0.3989422804014327 * np.exp(-0.5 * x * x) * poly
    return np.where(x >= 0.0, 1.0 - tail, tail)


def black_scholes(S, K, T, r, sigma):
    # Black and Scholes (1973): price of a European call
    root = sigma * np.sqrt(T)
    d1 = (np.log(S / K) + (r + 0.5 * sigma * sigma) * T) / root
    return S * normal_cdf(d1) - K * np.exp(-r * T) * normal_cdf(d1 - root)


def row_mean_and_scale(x):
    return (x - x.mean(axis=1, keepdims=True)) / np.sqrt(x.var(axis=1, keepdims=True) + 1e-5)


def cases(quick):
    rng = np.random.default_rng(0)
    n = 10**7
    x, y = rng.normal(size=n), rng.normal(size=n)
    yield "sin(x)**2+cos(x)**2*y, 1e7", trigonometric, (x, y), (">= 8 x NumPy", lambda r: r["numpy"] / r["numlift"] >= 8)
    yield "x*y+1, 1e7", multiply_add, (x, y), None
    yield "FAQ sum of products, 1024x64", pairwise_sum, (rng.normal(size=(1024, 64)), rng.normal(size=(1024, 64))), (
        ">= 15 x NumPy", lambda r: r["numpy"] / r["numlift"] >= 15)
    yield "five-point stencil, 2000x2000", five_point, (rng.normal(size=(2000, 2000)),), None
    yield "softmax, 4096x1024", softmax, (rng.normal(size=(4096, 1024)),), None
    m = 10**6
    yield "Black-Scholes, 1e6", black_scholes, (
        rng.uniform(10, 50, m), rng.uniform(10, 50, m), rng.uniform(0.5, 2, m), 0.03, 0.2), None
    if not quick:
        yield "layer normalisation, 4096x1024", row_mean_and_scale, (rng.normal(size=(4096, 1024)),), None


def run(quick):
    """Rows: name, seconds by implementation, target met or None."""
    others = peers.installed()
    rows = []
    for name, function, args, target in cases(quick):
        expected = function(*args)
        implementations = {"numpy": lambda: function(*args)}
        compiled = nl.compile(function)
        implementations["numlift"] = lambda: compiled(*args)
        np.testing.assert_allclose(compiled(*args), expected, rtol=1e-10, atol=1e-12)
        for peer, compile_with in others.items():
            try:
                theirs = compile_with(function)
                np.testing.assert_allclose(theirs(*args), expected, rtol=1e-6, atol=1e-9)
            except Exception:  # a peer that does not take this source has no column here
                continue
            implementations[peer] = lambda theirs=theirs: theirs(*args)
        seconds = per_call_seconds(implementations, 5 if quick else 15)
        fastest_other = min(value for key, value in seconds.items() if key != "numlift")
        met = seconds["numlift"] <= 1.1 * fastest_other
        text = "within 1.1 x of the fastest"
        if target:
            text, met = f"{text}, {target[0]}", met and target[1](seconds)
        rows.append({"name": name, "seconds": seconds, "target": text, "met": met})
    return rows
