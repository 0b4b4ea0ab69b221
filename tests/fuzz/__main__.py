"""Random functions with loops, compiled against plain Python.

python -m fuzz [-n N] [--seed SEED] [--jobs J] [--show K]
"""

import argparse
import collections
import os
import sys
import time

os.environ.setdefault("OMP_NUM_THREADS", "2")
os.environ["NUMLIFT_DISK_CACHE"] = "0"  # random programs do not come again

from . import check, processes
from .program import Program
from .shrink import shrink

GOOD = ("same", "long", "sensitive")


def one(seed, backend):
    program = Program(seed)
    return check.check(program.source, program.calls, backend)


def is_long(seed):
    """Plain Python does not end either: numbers with millions of digits, which no signal interrupts."""
    work = lambda seed: check.run_plainly(Program(seed).source, Program(seed).calls)  # noqa: E731
    return next(processes.run(work, [seed], limit=5))[1]["kind"] != "same"


def shrunk(program, like, backend):
    def work(candidate):
        return check.check(*candidate, backend)

    def fails(candidates):
        for candidate, result in processes.run(work, candidates, os.cpu_count(), chunk=4, limit=5):
            if result.get("like") == like:
                return candidates.index(candidate)
        return None

    if fails([(program.source, program.calls)]) is None:
        return None
    source, calls = shrink(program.source, program.calls, fails)
    result = next(processes.run(work, [(source, calls)], chunk=1))[1]
    return source, calls, result


def main():
    parser = argparse.ArgumentParser(prog="fuzz")
    parser.add_argument("-n", type=int, default=500)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--show", type=int, default=20, help="failures to make small and print")
    parser.add_argument("--each", type=int, default=2, help="of them, at most so many of one kind")
    parser.add_argument("--backend", default="llvm")
    parser.add_argument("--print", action="store_true", help="print the programs, run nothing")
    options = parser.parse_args()
    seeds = list(range(options.seed, options.seed + options.n))
    if options.print:
        for seed in seeds:
            print(f"# seed {seed}\n{Program(seed).source}")
        return 0
    check.set_up()
    kinds, reasons, failures = collections.Counter(), collections.Counter(), []
    captured = raised = 0
    begun = time.monotonic()
    for seed, result in processes.run(lambda seed: one(seed, options.backend), seeds, options.jobs):
        if result["kind"] == "hang" and is_long(seed):
            result = {"kind": "long"}
        kinds[result["kind"]] += 1
        if result["kind"] not in GOOD:
            failures.append((seed, result))
            print(f"seed {seed}: {result['kind']}: {result['text'][:300]}", flush=True)
        elif result["kind"] == "same":
            captured += result["captured"]
            raised += result["raised"] > 0
            reasons.update(result["reasons"])
    took = time.monotonic() - begun
    shown = collections.Counter()
    for seed, result in failures:
        like = str(result.get("like"))
        shown[like] += 1
        if shown.total() > options.show or shown[like] > options.each:
            continue
        program = Program(seed)
        print(f"\n==== seed {seed}: {result['kind']}: {result['text'][:500]}")
        small = shrunk(program, result.get("like"), options.backend)
        if small is None:
            print("(does not fail alone)")
            print(program.source)
        else:
            source, calls, result = small
            print(f"{source}\ncalls: {calls}\n{result.get('text')}", flush=True)
    same = max(kinds["same"], 1)
    print(f"\n{len(seeds)} programs from seed {options.seed} in {took:.0f} s: {dict(kinds)}")
    print(f"captured: {captured / same:.1%}; programs with a call that raises: {raised / same:.1%}")
    for reason, count in reasons.most_common(20):
        print(f"{count:6} {reason}")
    return 1 if failures else 0


sys.exit(main())
