"""Whole programs as scientists write them: numlift against NumPy, numba, jax and, for some, C.

    python -m bench programs [--quick] [--only NAME,...] [--size SIZE,...] [--peers PEER,...]

Each program is a plain NumPy function in one of the modules of this package, with arguments in three sizes.
It is checked and timed in a process of its own, where the implementations take turns on fresh copies of
what they change; what goes wrong there, or takes longer than a minute, is told in the program's row.
A full run checks and times all sizes; --quick checks the small and the middle one and times the middle one.
"""

import importlib.util
import json
import math
import os
import selectors
import statistics
import subprocess
import sys
import time

from . import peers
from .catalogue import all_programs
from .program import SIZES

STEP_SECONDS = 60
SLOWER_THAN_NUMPY, SLOWER_THAN_PEER = 0.97, 0.9
TARGET = "NumPy's results, >= 0.97 x NumPy, >= 0.9 x the best peer"
# What a peer needs to be installed; what is not is left out.
_MODULES = {"numba": "numba", "numba parallel": "numba", "jax": "jax"}


class _Worker:
    """One worker process and the lines that it prints."""

    def __init__(self, name, sizes, timed, names, budget):
        command = [sys.executable, "-m", "bench.programs.worker", name, "--sizes", ",".join(sizes),
                   "--timed", ",".join(timed), "--peers", ",".join(names), "--budget", str(budget)]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.stage, self.rows, self.errors = ["numlift", "start"], [], b""

    def run(self):
        """None when it came to its end, else why it did not."""
        streams = selectors.DefaultSelector()
        streams.register(self.process.stdout, selectors.EVENT_READ, self._take_line)
        streams.register(self.process.stderr, selectors.EVENT_READ, self._take_error)
        rest, deadline = b"", time.monotonic() + STEP_SECONDS
        with self.process:
            while streams.get_map():
                ready = streams.select(max(0.0, deadline - time.monotonic()))
                if not ready:
                    self.process.kill()
                    return f"over {STEP_SECONDS} s"
                for key, _ in ready:
                    data = os.read(key.fd, 65536)
                    if not data:
                        streams.unregister(key.fileobj)
                    elif key.fileobj is self.process.stdout:
                        *lines, rest = (rest + data).split(b"\n")
                        for line in lines:
                            key.data(line)
                        deadline = time.monotonic() + STEP_SECONDS
                    else:
                        key.data(data)
        if self.process.returncode == 0:
            return None
        lines = self.errors.decode(errors="replace").strip().splitlines()
        return f"the process ended with {self.process.returncode}: {lines[-1] if lines else 'no message'}"

    def _take_line(self, line):
        if line.startswith(b'{"stage"'):
            self.stage = json.loads(line)["stage"]
        elif line.startswith(b'{"row"'):
            self.rows.append(json.loads(line)["row"])

    def _take_error(self, data):
        self.errors = (self.errors + data)[-4096:]


def run_program(name, sizes, timed, names, budget):
    """The rows of a program. A peer that hangs or takes the process down is left out of a second try."""
    names, notes = list(names), []
    while True:
        worker = _Worker(name, sizes, timed, names, budget)
        why = worker.run()
        who, what = worker.stage
        if why and who in names:
            notes.append(f"{who}, {what}: {why}")
            names.remove(who)
            continue
        rows = {row["size"]: row for row in worker.rows}
        for size in sizes:
            if size not in rows:
                rows[size] = {"size": size, "timed": size in timed, "seconds": {}, "first_calls": {}, "notes": [],
                              "failure": f"{who}, {what}: {why}" if size == what else f"not reached ({why})"}
            rows[size]["notes"] += notes
        return list(rows.values())


def _finish(name, program, row):
    """What the runner of all groups prints and stores."""
    seconds = row["seconds"]
    ours = seconds.get("numlift")
    row["correct"] = "failure" not in row
    best = best_peer(row)
    row["met"] = bool(row["correct"] and ours
                      and seconds["numpy"] >= SLOWER_THAN_NUMPY * ours
                      and (best is None or best >= SLOWER_THAN_PEER * ours))
    if row["correct"]:
        row["notes"].insert(0, f"correct; graphs {row['graphs']}, breaks {row['breaks']}, "
                               f"first call {row['first_call'] * 1e3:.0f} ms")
    else:
        row["notes"].insert(0, f"FAILED: {row['failure']}")
    return {"name": f"{name}, {row['size']}", "program": name, "theme": program.theme, "target": TARGET, **row}


def best_peer(row):
    """Seconds of the fastest peer. C twins are a measure of their own."""
    values = [value for name, value in row["seconds"].items() if name in _MODULES]
    return min(values, default=None)


def run(quick, only=None, sizes=None, chosen_peers=None):
    """The rows, one by one."""
    programs = all_programs()
    unknown = (set(only or ()) - set(programs) | set(sizes or ()) - set(SIZES)
               | set(chosen_peers or ()) - {"none", *peers.NAMES})
    if unknown:
        raise SystemExit(f"there is no program, size or peer {sorted(unknown)[0]!r}")
    timed = [size for size in SIZES if size in (sizes or (["middle"] if quick else SIZES))]
    checked = [size for size in SIZES if size in timed or not quick or size == "small"]
    names = chosen_peers or [name for name in peers.NAMES if not (quick and name == "numba parallel")]
    names = [name for name in names if name != "none"]
    names = [name for name in names if name not in _MODULES or importlib.util.find_spec(_MODULES[name])]
    for name in only or programs:
        _progress(name)
        found = run_program(name, checked, timed, names, 1.0 if quick else 4.0)
        _progress("")
        # Sizes that are checked and not timed have a row where something is wrong.
        yield from (_finish(name, programs[name], row) for row in found if row["timed"] or "failure" in row)


def _progress(name):
    if sys.stderr.isatty():
        print(f"\r{name:40}\r", end="", file=sys.stderr, flush=True)


def _geometric_mean(values):
    return f"{math.exp(statistics.fmean(map(math.log, values))):.3g}x ({len(values)})" if values else "none"


def _names(rows):
    return f"{len(rows)} ({', '.join(row['program'] for row in rows)})" if rows else "0"


def summary(rows):
    """Lines on all programs together, for each size."""
    lines = []
    for size in SIZES:
        of_size = [row for row in rows if row["size"] == size]
        timed = [row for row in of_size if row["correct"] and "numlift" in row["seconds"]]
        if not of_size:
            continue
        ours = {row["program"]: row["seconds"]["numlift"] for row in timed}
        over_numpy = {row["program"]: row["seconds"]["numpy"] / ours[row["program"]] for row in timed}
        over_peer = {row["program"]: best_peer(row) / ours[row["program"]] for row in timed if best_peer(row)}
        over_c = [row["seconds"]["c"] / ours[row["program"]] for row in timed if "c" in row["seconds"]]
        slower = [row for row in timed if over_numpy[row["program"]] < SLOWER_THAN_NUMPY]
        behind = [row for row in timed if over_peer.get(row["program"], 1.0) < SLOWER_THAN_PEER]
        first = sorted((row["first_call"], row["program"]) for row in timed)
        lines += [
            f"{size}: {len(of_size)} programs; not correct: {_names([r for r in of_size if not r['correct']])}",
            f"  geometric mean, NumPy's time / numlift's:          {_geometric_mean(list(over_numpy.values()))}",
            f"  geometric mean, best of numba and jax / numlift's: {_geometric_mean(list(over_peer.values()))}",
            f"  geometric mean, C's time / numlift's:              {_geometric_mean(over_c)}",
            f"  slower than {SLOWER_THAN_NUMPY} x NumPy: {_names(slower)}",
            f"  slower than {SLOWER_THAN_PEER} x the best peer: {_names(behind)}",
        ]
        if timed:
            whole = sum(1 for row in timed if row["breaks"] == 0)
            lines += [
                f"  first call: median {statistics.median(f for f, _ in first) * 1e3:.0f} ms, "
                f"most {first[-1][0] * 1e3:.0f} ms ({first[-1][1]})",
                f"  without a break: {whole} of {len(timed)} ({100 * whole / len(timed):.0f} %)",
            ]
    return lines
