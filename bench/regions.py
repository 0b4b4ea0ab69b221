"""What a compile_region costs functions that have nothing to gain, and what a frame that is taken from
CPython costs against a decorated call."""

import numpy as np

import numlift as nl

from .measure import per_call_seconds


def add(a, b):
    return (a + b) * 2.0


def many_calls(count):
    total = 0.0
    for i in range(count):
        total = add(total, 1.0)
    return total


def wave(x):
    return x * 2 + 1


CALLS = 1000


def in_region(call):
    def run():
        with nl.compile_region():
            call()

    return run


def run(quick):
    x = np.arange(8.0)
    decorated = nl.compile(wave)

    def each(function):
        def call():
            for _ in range(CALLS):
                function(x)

        return call

    repetitions = 9 if quick else 31
    plain = lambda: many_calls(CALLS)  # noqa: E731
    rows = []
    seconds = per_call_seconds({"python": plain, "numlift": in_region(plain)}, repetitions)
    seconds = {name: value / CALLS for name, value in seconds.items()}
    rows.append({"name": "a call with nothing to gain, in a region", "seconds": seconds,
                 "target": "<= 60 ns over CPython's call",
                 "met": seconds["numlift"] <= seconds["python"] + 60e-9})
    seconds = per_call_seconds({"python": plain, "numlift": plain}, repetitions)
    seconds = {name: value / CALLS for name, value in seconds.items()}
    rows.append({"name": "the same behind a region", "seconds": seconds,
                 "target": "as before, within 20 %",
                 "met": seconds["numlift"] <= 1.2 * seconds["python"]})
    seconds = per_call_seconds(
        {"decorated": each(decorated), "numpy": each(wave), "numlift": in_region(each(wave))},
        repetitions)
    seconds = {name: value / CALLS for name, value in seconds.items()}
    rows.append({"name": "a compiled call, 8 elements", "seconds": seconds,
                 "target": "<= 300 ns over the decorated call",
                 "met": seconds["numlift"] <= seconds["decorated"] + 300e-9})
    return rows
