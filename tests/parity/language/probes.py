"""Small functions, each using one feature of Python on a (3, 4) float64 array, run plainly and compiled.

`python tests/parity/language/probes.py [name...]` prints a line for each: right or wrong, in how many
places it leaves the graph, the number of graphs, how many more the third call compiles, and the reason
of the first break. Each runs in a
process of its own, so that a crash is a line of the table.
"""

import contextlib
import copy
import faulthandler
import importlib
import io
import logging
import os
import random
import signal
import sys
import traceback
import warnings

import numpy as np

import numlift as nl
from numlift.testing import break_count

from same_call import compare

MODULES = (
    "probes_syntax",
    "probes_errors",
    "probes_resume",
    "probes_objects",
    "probes_records",
    "probes_library",
    "probes_services",
    "probes_numpy",
)
CALLS = {"eager": 2, "llvm": 3}
X = np.arange(1.0, 13.0).reshape(3, 4) / 4


class Probe:
    def __init__(self, function, more, bug):
        self.name = function.__name__
        self.function = function
        self.args = (X, *more)
        self.bug = bug  # a fault of numlift's that this probe shows

    def arguments(self):
        return copy.deepcopy(self.args)


class Probes:
    """Those of one module, and the module's variables that they may change: containers given by name,
    and whatever plain value a global of the module has."""

    def __init__(self, module, **containers):
        self.members = []
        self.globals = vars(sys.modules[module])
        self.containers = containers
        self.first = copy.deepcopy(containers)
        self.plain = None
        self.resets = []

    def __call__(self, *more, bug=None):
        """Decorator; the array comes first, then these arguments."""

        def add(function):
            self.members.append(Probe(function, more, bug))
            return function

        return add

    def plain_values(self):
        kinds = (int, float, str, bool, type(None))
        return {k: v for k, v in self.globals.items() if type(v) in kinds and not k.startswith("__")}

    def state(self):
        return copy.deepcopy(self.containers), self.plain_values()

    def reset(self):
        random.seed(1)
        np.random.seed(1)
        if self.plain is None:
            self.plain = self.plain_values()
        for name in self.plain_values().keys() - self.plain.keys():
            del self.globals[name]
        self.globals.update(self.plain)
        for name, value in self.first.items():
            container, fresh = self.containers[name], copy.deepcopy(value)
            container.clear()
            container.extend(fresh) if isinstance(value, list) else container.update(fresh)
        for reset in self.resets:
            reset()


def load():
    """[(probes of a module, probe)]"""
    groups = [importlib.import_module(name).probe for name in MODULES]
    return [(group, member) for group in groups for member in group.members]


def frames(error):
    """[(function, line)] of the traceback without the frame of run()."""
    return [(f.name, f.lineno) for f in traceback.extract_tb(error.__traceback__)][1:]


def told(error):
    """What can be seen of an exception and of those it came from."""
    if error is None:
        return None
    inner = [told(e) for e in error.exceptions] if isinstance(error, BaseExceptionGroup) else []
    return type(error), str(error), frames(error), inner, told(error.__cause__), told(error.__context__)


def run(function, args):
    out, err = io.StringIO(), io.StringIO()
    with (
        warnings.catch_warnings(record=True) as caught,
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
    ):
        warnings.simplefilter("always")
        try:
            result, error = function(*args), None
        except Exception as raised:
            result, error = None, raised
    said = [(str(w.message), w.category, w.filename, w.lineno) for w in caught]
    return result, told(error), said, out.getvalue(), err.getvalue()


def check(group, probe, backend):
    """Raises AssertionError where the compiled function differs; returns the places where the
    first call leaves the graph, its graphs, what the last call compiled, the reason of the first break."""
    compiled = nl.compile(probe.function, backend=backend)
    figures, compiles = None, []
    for _ in range(CALLS[backend]):
        ours, plain = probe.arguments(), probe.arguments()
        group.reset()
        expected = run(probe.function, plain)
        expected_state = group.state()
        group.reset()
        got = run(compiled, ours)
        compiles.append(compiled.stats.compiles)
        if figures is None:
            reasons = [e.break_reason for e in compiled.entries if e.break_reason]
            figures = break_count(compiled), len(compiled.entries), reasons[0] if reasons else ""
        for part, a, b in zip(("result", "error", "warnings", "stdout", "stderr"), got, expected):
            compare(a, b, part)
        compare(ours, plain, "arguments")
        compare(group.state(), expected_state, "state")
    breaks, graphs, reason = figures
    return breaks, graphs, compiles[-1] - compiles[-2], reason


def line_of(group, probe):
    """(right, breaks, graphs, compiled again, reason or what is wrong), from a process of its own."""
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        faulthandler.disable()  # what kills it is told in the table
        signal.alarm(60)
        os.close(read)
        text = ""
        try:
            try:
                figures = check(group, probe, "llvm")
                check(group, probe, "eager")
                text = repr((True, *figures))
            except BaseException as error:
                text = repr((False, -1, -1, -1, f"{type(error).__name__}: {error}"))
            os.write(write, text.encode()[:60000])
        finally:
            os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as pipe:
        text = pipe.read().decode()
    status = os.waitpid(pid, 0)[1]
    if os.WIFSIGNALED(status):
        return False, -1, -1, f"killed by {signal.Signals(os.WTERMSIG(status)).name}"
    return eval(text) if text else (False, -1, -1, -1, "died")


def main(names):
    logging.raiseExceptions = False
    one_graph = wrong = 0
    chosen = [(g, p) for g, p in load() if not names or p.name in names]
    print(f"{'probe':34} {'result':7} {'breaks':>6} {'graphs':>6} {'again':>5}  first break")
    for group, probe in chosen:
        right, breaks, graphs, again, reason = line_of(group, probe)
        one_graph += right and breaks == 0
        wrong += not right
        reason = reason if names else " ".join(reason.split())[:150]
        print(f"{probe.name:34} {'right' if right else 'WRONG':7} {breaks:6} {graphs:6} {again:5}  {reason}", flush=True)
    print(f"{len(chosen)} probes, {one_graph} in one graph, {wrong} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    # The modules of probes import this one by its name.
    from probes import main as imported_main

    sys.exit(imported_main(sys.argv[1:]))
