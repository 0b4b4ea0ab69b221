"""What a call costs beside the work: arrays of eight elements."""

import numpy as np

import numlift as nl

from .measure import statement_seconds


def add(a, b):
    return a + b


def chain_of_ten(a, b):
    return ((((((((((a + b) * a) - b) / 3.0) + a) * b) - a) * 0.5) + b) * a)


def run(quick):
    rng = np.random.default_rng(0)
    namespace = {
        "a": rng.normal(size=8), "b": rng.normal(size=8),
        "add": nl.compile(add), "chain": nl.compile(chain_of_ten), "plain_chain": chain_of_ten,
    }
    rows = []
    for name, statements, text, ok in [
        ("a + b, 8 elements", {"numpy": "a + b", "numlift": "add(a, b)"}, "<= 0.4 x NumPy",
         lambda s: s["numlift"] <= 0.4 * s["numpy"]),
        ("ten operations, 8 elements", {"numpy": "plain_chain(a, b)", "numlift": "chain(a, b)"}, ">= 10 x NumPy",
         lambda s: s["numpy"] >= 10 * s["numlift"]),
    ]:
        seconds = statement_seconds(statements, namespace, 9 if quick else 31, 20_000)
        rows.append({"name": name, "seconds": seconds, "target": text, "met": ok(seconds)})
    return rows
