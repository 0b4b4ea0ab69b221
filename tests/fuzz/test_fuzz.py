"""A share of the fuzzer's programs, and that it finds faults: of values, of memory, crashes and hangs."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from fuzz import processes
from fuzz.arguments import arguments
from fuzz.comparison import Outcome, difference
from fuzz.program import Program
from fuzz.shrink import shrink

PROGRAMS = 500


@pytest.mark.slow
def test_programs_compiled_do_what_they_do_plainly():
    done = subprocess.run(
        [sys.executable, "-m", "fuzz", "-n", str(PROGRAMS), "--seed", "0", "--show", "4"],
        cwd=Path(__file__).resolve().parents[1],
        capture_output=True,
        text=True,
        env=dict(os.environ),
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{PROGRAMS} programs" in done.stdout


def test_a_seed_gives_one_program():
    for seed in range(20):
        first, second = Program(seed), Program(seed)
        assert (first.source, first.calls) == (second.source, second.calls)
        assert difference(*(Outcome(len, [arguments(p.calls[0])], "") for p in (first, second)), 0) is None
    assert len({Program(seed).source for seed in range(50)}) == 50


A = np.arange(3.0)


@pytest.mark.parametrize(
    "kind, got, expected",
    [
        ("value", lambda x: x + 1, lambda x: x + 2),
        ("value", lambda x: 1, lambda x: np.int64(1)),
        ("value", lambda x: x.astype(np.float32), lambda x: x.copy()),
        ("value", lambda x: x.fill(1), lambda x: x.fill(2)),
        ("error", lambda x: x[3], lambda x: x[2]),
        ("error", lambda x: x[3], lambda x: x[4]),
        ("warnings", lambda x: np.int64(0), lambda x: np.int64(0) * (x / x).size),
        ("sharing", lambda x: x.copy(), lambda x: x),
        ("sharing", lambda x: x.copy(), lambda x: x[:]),
        ("sharing", lambda x: x[:], lambda x: x),
    ],
)
def test_differences_are_found(kind, got, expected):
    found = difference(*(Outcome(f, [A.copy()], __file__) for f in (got, expected)), 0)
    assert found[0] == kind, found
    assert difference(*(Outcome(expected, [A.copy()], __file__) for _ in range(2)), 0) is None


def _work(item):
    if item == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    if item == 5:
        time.sleep(60)
    return {"kind": "same", "item": item}


def test_crashes_and_hangs_are_results_of_their_item():
    results = dict(processes.run(_work, list(range(8)), jobs=2, chunk=4, limit=1))
    assert {item: result["kind"] for item, result in results.items()} == {
        **dict.fromkeys(range(8), "same"),
        3: "crash",
        5: "hang",
    }


def test_a_failing_program_is_made_small():
    source = """def f(x, n):
    s = 0
    for i in range(n):
        if i > 2:
            s += x[i] * 2
        else:
            s -= 1
    y = x.copy()
    return s, y
"""

    def fails(candidates):
        for i, (text, calls) in enumerate(candidates):
            if "x[i]" in text and len(calls) == 1:
                return i
        return None

    array = ("array", "x", "float64", (3,), "plain", 1)
    small, calls = shrink(source, [[array, ("number", 2)], [array, ("number", 3)]], fails)
    assert len(calls) == 1
    assert "x[i]" in small
    assert len(small.splitlines()) <= 2, small
