"""Memory of captured loops: arrays that change hands, temporaries that grow, calls to NumPy."""

import gc
import tracemalloc

import numpy as np
import pytest

import numlift as nl


def relax(x, n):
    x = x * 1.0
    for _ in range(n):
        y = x.copy()
        y[1:-1] = 0.5 * (x[:-2] + x[2:])
        x = y
    return x


def take_turns(a, b, n):
    a = a * 1.0
    b = b * 1.0
    for _ in range(n):
        a, b = b, 0.5 * (a[::-1] + b)
    return a, b


def triangles(x, n):
    total = 0.0
    for i in range(n):
        part = x[:i] * 2.0
        turned = part[::-1] + x[:i]
        total += (turned * part).sum()
    return total


def sorted_rows(x):
    out = np.zeros_like(x)
    for i in range(x.shape[0]):
        out[i] = np.sort(x[i])
    return out


CASES = [
    (relax, lambda n: (np.linspace(0, 1, n) ** 2, 51)),
    (relax, lambda n: (np.linspace(0, 1, n) ** 2, 0)),
    (take_turns, lambda n: (np.arange(float(n)), np.ones(n), 31)),
    (triangles, lambda n: (np.linspace(0, 1, n), min(n, 60))),
    (sorted_rows, lambda n: (np.sin(np.arange(5.0 * n)).reshape(n, 5),)),
]


@pytest.mark.parametrize("function, arguments", CASES)
@pytest.mark.parametrize("size", [3, 50, 5000])
def test_results_and_memory(function, arguments, size):
    compiled = nl.compile(function)
    given = arguments(size)
    expected = function(*given)
    for _ in range(3):
        np.testing.assert_allclose(compiled(*given), expected, rtol=1e-13)
    gc.collect()
    tracemalloc.start()
    try:
        compiled(*given)
        before = tracemalloc.get_traced_memory()[0]
        for _ in range(50):
            compiled(*given)
        after = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    assert after - before < 5000
