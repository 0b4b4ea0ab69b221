"""What a graph break costs: against the same work done in two compiled functions, and against NumPy;
and what tracing costs where there is no array."""

import time
import zlib

import numpy as np

import numlift as nl

from .measure import statement_seconds

unknown = zlib.crc32  # of C code that numlift knows nothing about


def broken(x, y):
    a = x * 2 + y
    unknown(b"")
    return a * y - x


def first(x, y):
    return x * 2 + y


def second(a, x, y):
    return a * y - x


def branch(x):
    if x.sum() > 0:
        return x * 2
    return x - 1


def without_arrays(lines):
    source = ["def f(n, names):", "    total = 0", "    found = {}"]
    for i in range(lines // 4):
        source += [
            f"    if n % {i + 2} == {i % 2}:",
            f"        total += n * {i} + len(names)",
            f"    found[{i}] = (total, n)",
            f"    total = total % {1000 + i}",
        ]
    namespace = {}
    exec("\n".join(source + ["    return total, found"]), namespace)
    return namespace["f"]


def first_call_seconds(function, *args):
    best = float("inf")
    for _ in range(5):
        compiled = nl.compile(function)
        start = time.perf_counter()
        compiled(*args)
        best = min(best, time.perf_counter() - start)
    return best


def run(quick):
    x, y = np.arange(8.0), np.arange(1.0, 9.0)
    compiled_first, compiled_second = nl.compile(first), nl.compile(second)

    def pieces(x, y):
        a = compiled_first(x, y)
        unknown(b"")
        return compiled_second(a, x, y)

    namespace = {
        "x": x, "y": y, "broken": nl.compile(broken), "pieces": pieces, "plain": broken,
        "branch": nl.compile(branch), "plain_branch": branch,
    }
    repetitions = 9 if quick else 31
    rows = []
    seconds = statement_seconds(
        {"numpy": "plain(x, y)", "pieces": "pieces(x, y)", "numlift": "broken(x, y)"},
        namespace, repetitions, 5_000)
    rows.append({"name": "one break, 8 elements", "seconds": seconds,
                 "target": "<= 1 us over the pieces",
                 "met": seconds["numlift"] <= seconds["pieces"] + 1e-6})
    seconds = statement_seconds(
        {"numpy": "plain_branch(x)", "numlift": "branch(x)"}, namespace, repetitions, 5_000)
    rows.append({"name": "branch on a sum, 8 elements", "seconds": seconds,
                 "target": "not slower than NumPy",
                 "met": seconds["numlift"] <= seconds["numpy"]})
    function = without_arrays(100)
    seconds = {"numlift": first_call_seconds(function, 12, ["a", "b"])}
    rows.append({"name": "first call, 100 lines without arrays", "seconds": seconds,
                 "target": "< 20 ms", "met": seconds["numlift"] < 20e-3})
    return rows
