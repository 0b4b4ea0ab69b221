"""Checks and times one program in this process, and prints what it finds as lines of JSON.

    python -m bench.programs.worker PROGRAM --sizes small,middle --peers numba,jax --budget 2

Before each step a line {"stage": ...} says what is about to happen, so that the runner knows what it was
when nothing more is heard; then a line a size.
"""

import argparse
import json
import re
import sys
import time
import warnings

import numpy as np

from bench.measure import prepared_call_seconds

from . import peers
from .catalogue import all_programs
from .program import arrays_of, difference, difference_of_values

# What peers may differ by: they are compared only to see that they do the same work.
PEER_RTOL, PEER_ATOL = 1e-5, 1e-8


def say(**line):
    print(json.dumps(line), flush=True)


def stage(who, what):
    say(stage=[who, what])


def in_short(error):
    """The line of an error that says most: numba's messages open with the name of a stage."""
    text = re.sub("\x1b\\[[0-9;]*m", "", str(error))
    lines = [line.strip() for line in text.splitlines()]
    lines = [line for line in lines if line and not line.startswith("Failed in nopython")]
    return f"{type(error).__name__}: {lines[0] if lines else ''}"[:160]


def timed_call(call, args):
    start = time.perf_counter()
    result = call(*args)
    return result, time.perf_counter() - start


def peer_difference(program, peer, expected, args, result):
    ours, theirs = (arrays_of(without_generators(one)) for one in (expected, peer.outcome(args, result)))
    if len(ours) != len(theirs):
        return f"{len(theirs)} arrays instead of {len(ours)}"
    rtol, atol = max(program.rtol, PEER_RTOL), max(program.atol, PEER_ATOL)
    found = (difference_of_values(a, b, rtol, atol, program.peers_differ) for a, b in zip(ours, theirs))
    return next((text for text in found if text), None)


def without_generators(outcome):
    changed, result = outcome
    return [value for value in changed if not isinstance(value, np.random.Generator)], result


def check_numlift(program, args, expected, row):
    """Two calls of a newly compiled function, the one that compiles and one that does not."""
    import numlift as nl

    from numlift.testing import break_count

    compiled = nl.compile(program.function)
    for which in ("first", "second"):
        mine = program.fresh(args)
        result, seconds = timed_call(compiled, mine)
        if which == "first":
            row["first_call"] = seconds
        wrong = difference(expected, program.outcome(mine, result), program.rtol, program.atol)
        if wrong:
            row["failure"] = f"wrong result of the {which} call: {wrong}"
            return None
    row["breaks"] = break_count(compiled)
    row["graphs"] = sum(1 for entry in compiled.entries if entry.kind != "python" and entry.operations)
    row["entries"] = len(compiled.entries)
    return compiled


def check_peer(program, name, args, expected, row):
    try:
        peer = peers.make(name, program)
        if peer is None:
            return None
        theirs = peer.arguments(program.fresh(args))
        result, seconds = timed_call(peer.call, theirs)
        wrong = peer_difference(program, peer, expected, theirs, result)
    except Exception as error:
        row["notes"].append(f"{name}: {in_short(error)}")
        return None
    if wrong:
        row["notes"].append(f"{name}: wrong: {wrong}")
        return None
    row["first_calls"][name] = seconds
    return peer


def run_size(program, size, names, timed, budget):
    row = {"size": size, "timed": timed, "seconds": {}, "first_calls": {}, "notes": []}
    args = program.inputs(size)
    stage("numpy", size)
    mine = program.fresh(args)
    result, seconds = timed_call(program.function, mine)
    expected = program.outcome(mine, result)
    row["seconds"]["numpy"] = seconds

    stage("numlift", size)
    implementations = {}
    try:
        compiled = check_numlift(program, args, expected, row)
    except Exception as error:
        compiled = None
        row["failure"] = in_short(error)
    if not timed:
        return row

    last = time.perf_counter()

    def preparation(who, arguments):
        def prepare():
            nonlocal last
            if time.perf_counter() - last > 1.0:
                stage(who, size)
                last = time.perf_counter()
            return arguments(program.fresh(args))

        return prepare

    if compiled:
        implementations["numlift"] = preparation("numlift", lambda args: args), compiled
    implementations["numpy"] = preparation("numpy", lambda args: args), program.function
    for name in names:
        stage(name, size)
        peer = check_peer(program, name, args, expected, row)
        if peer:
            implementations[name] = preparation(name, peer.arguments), peer.call
    row["seconds"] = prepared_call_seconds(implementations, 101, budget)
    return row


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--sizes", required=True, help="those to check; of these are timed")
    parser.add_argument("--timed", required=True)
    parser.add_argument("--peers", default="")
    parser.add_argument("--budget", type=float, required=True, help="seconds of timing a size")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    program = all_programs()[options.program]
    stage("numlift", "import")
    import numlift as nl

    nl.compile(lambda x: x + 1.0)(np.zeros(3))  # what the first of all calls makes ready once
    for size in options.sizes.split(","):
        names = [name for name in options.peers.split(",") if name]
        say(row=run_size(program, size, names, size in options.timed.split(","), options.budget))


if __name__ == "__main__":
    sys.exit(main())
