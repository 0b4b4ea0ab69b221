"""A thousand shapes through one function."""

import time

import numpy as np

import numlift as nl


def run(quick):
    @nl.compile
    def f(x, y):
        return np.sin(x) * y + x.sum()

    rng = np.random.default_rng(0)
    start = time.perf_counter()
    for n in range(2, 1002):
        x = rng.normal(size=(n % 37 + 2, n))
        f(x, x)
    seconds = time.perf_counter() - start
    compiles = f.stats.compiles
    return [{"name": f"1,000 shapes: {compiles} compile(s)", "seconds": {"numlift": seconds},
             "target": "one compile", "met": compiles == 1}]
