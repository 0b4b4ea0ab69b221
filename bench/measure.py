"""Timing: implementations take turns, so that a slow moment of the machine meets all of them."""

import gc
import statistics
import subprocess
import sys
import time


def per_call_seconds(implementations, repetitions, target_seconds=0.02):
    """Median seconds per call of each implementation, measured in turns.

    implementations: dict name -> zero-argument callable. Each is warmed up first, then called often
    enough that one measurement takes about target_seconds.
    """
    loops = {}
    for name, call in implementations.items():
        call()
        call()
        start = time.perf_counter()
        call()
        once = max(time.perf_counter() - start, 1e-8)
        loops[name] = max(1, int(target_seconds / once))
    samples = {name: [] for name in implementations}
    enabled = gc.isenabled()
    gc.disable()
    try:
        for _ in range(repetitions):
            for name, call in implementations.items():
                count = loops[name]
                start = time.perf_counter()
                for _ in range(count):
                    call()
                samples[name].append((time.perf_counter() - start) / count)
    finally:
        if enabled:
            gc.enable()
    return {name: statistics.median(values) for name, values in samples.items()}


def prepared_call_seconds(implementations, repetitions, budget):
    """Median seconds of one call of each implementation, measured in turns, on arguments of its own.

    implementations: dict name -> (prepare, call); prepare() gives the arguments and is not timed. There
    are at least three rounds, then no more than `repetitions`, and none begins after `budget` seconds.
    """
    samples = {name: [] for name in implementations}
    enabled = gc.isenabled()
    gc.disable()
    try:
        began = time.perf_counter()
        for turn in range(repetitions):
            if turn >= 3 and time.perf_counter() - began > budget:
                break
            for name, (prepare, call) in implementations.items():
                args = prepare()
                start = time.perf_counter()
                call(*args)
                samples[name].append(time.perf_counter() - start)
    finally:
        if enabled:
            gc.enable()
    return {name: statistics.median(values) for name, values in samples.items()}


def statement_seconds(statements, namespace, repetitions, count):
    """Median seconds of each statement, run inline in a loop (no call added around it), in turns."""
    runners = {}
    for name, statement in statements.items():
        scope = dict(namespace)
        exec(
            f"def run(count, clock):\n"
            f"    start = clock()\n"
            f"    for _ in range(count):\n"
            f"        {statement}\n"
            f"    return clock() - start\n",
            scope,
        )
        # Globals as locals: both statements read their names the same, fast way.
        runners[name] = scope["run"]
        runners[name](100, time.perf_counter)
    samples = {name: [] for name in statements}
    for _ in range(repetitions):
        for name, run in runners.items():
            samples[name].append(run(count, time.perf_counter) / count)
    return {name: statistics.median(values) for name, values in samples.items()}


def in_fresh_processes(scripts, repetitions):
    """Median of the number that each script prints last, each run in processes of its own, in turns.

    None for a script that fails (a peer that is not installed)."""
    samples = {name: [] for name in scripts}
    for _ in range(repetitions):
        for name, script in scripts.items():
            done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
            if done.returncode == 0 and done.stdout.strip():
                samples[name].append(float(done.stdout.split()[-1]))
    return {name: statistics.median(values) if values else None for name, values in samples.items()}
