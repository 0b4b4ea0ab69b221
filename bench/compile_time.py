"""Compile time against the length of the function: statements in a row, in a loop over rows, and of scalar code."""

import time

import numpy as np

import numlift as nl

LENGTHS = (10, 100, 1000)
# From one length to the next, ten times as long, the time may grow by so much.
MOST_GROWTH = 15.0
STAGES = ("trace", "guards", "passes", "schedule", "emit")

STATEMENTS = (
    "x = x * 0.5 + y",
    "y = y - x * 0.25",
    "z[1:] = x[:-1] + z[1:] * 0.5",
    "x = np.maximum(x, z)",
    "total = total + x[{i} % 7] * y[0]",
)
SCALARS = (
    "a = a * 0.5 + x[i]",
    "b = a - b * 0.25",
    "y[i] = y[i] + a * b",
    "a = max(a, b)",
    "b = b + z[i] * {i}",
)


def straight_line(length):
    return [f"    {STATEMENTS[i % 5].format(i=i)}" for i in range(length)]


def looped(length):
    return ["    for k in range(z.shape[0] - 40):"] + [f"    {line}" for line in straight_line(length)]


def scalar_loop(length):
    return ["    a = b = 0.0", "    for i in range(x.shape[0]):"] + [
        f"        {SCALARS[i % 5].format(i=i)}" for i in range(length)
    ] + ["    total = a + b"]


def function_of(body):
    source = ["def f(x, y, z):", "    total = 0.0", *body, "    return x, y, z, total"]
    namespace = {"np": np}
    exec("\n".join(source), namespace)
    return namespace["f"]


def first_call_seconds(function, repetitions):
    """Of this process alone, whatever else the machine does; and what the compilations took, by stage."""
    best, stages = float("inf"), {}
    for _ in range(repetitions):
        args = np.linspace(0.0, 1.0, 64), np.linspace(1.0, 2.0, 64), np.linspace(2.0, 3.0, 64)
        compiled = nl.compile(function)
        known = len(nl.compile_times())
        start = time.process_time()
        compiled(*args)
        seconds = time.process_time() - start
        if seconds < best:
            lines = nl.compile_times()[known:]
            stages = {name: sum(line[name] for line in lines) for name in STAGES} | {"graphs": len(lines)}
            best = seconds
    return best, stages


def run(quick):
    for name, make in (("straight-line", straight_line), ("in a loop", looped), ("scalars in a loop", scalar_loop)):
        before = None
        for length in LENGTHS:
            repetitions = 1 if quick or length == LENGTHS[-1] else 3
            seconds, stages = first_call_seconds(function_of(make(length)), repetitions)
            growth = seconds / before if before else None
            before = seconds
            row = {"name": f"{length} statements, {name}", "seconds": {"numlift": seconds},
                   "target": f"<= {MOST_GROWTH:g} times that of a tenth", "met": not growth or growth <= MOST_GROWTH}
            told = ", ".join(f"{stage} {stages[stage]:.1f}" for stage in STAGES)
            row["notes"] = [f"{stages['graphs']} graphs: {told} ms" + (f"; {growth:.1f} times" if growth else "")]
            yield row
