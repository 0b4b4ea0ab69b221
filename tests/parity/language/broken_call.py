"""Runs a function plainly and compiled, several times, and compares all that can be seen: the result,
what was logged on the way and in which order, warnings, exceptions with their lines, changed objects."""

import copy
import traceback
import warnings
import zlib

import numpy as np

import numlift as nl
from numlift.testing import break_count

from same_call import compare

BACKENDS = ("eager", "llvm")
events = []
unknown = zlib.crc32


def note(*values):
    """Unknown to numlift as long as it calls C code that numlift knows nothing about."""
    zlib.crc32(b"")
    events.append(tuple(v.tolist() if isinstance(v, np.ndarray) else v for v in values))
    return values[-1] if values else None


def lines(error):
    """File names left out: (function, line) of each frame but that of run() itself."""
    return [(f.name, f.lineno) for f in traceback.extract_tb(error.__traceback__)][1:]


def run(function, args):
    events.clear()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            outcome = function(*args)
        except Exception as error:
            outcome = (type(error), str(error), lines(error))
    said = [(str(w.message), w.category, w.filename, w.lineno) for w in caught]
    return outcome, list(events), said


def check(function, *calls, breaks=None, backends=BACKENDS, falls_back=False):
    """breaks: in how many places the last traced call leaves the graph."""
    for backend in backends:
        compiled = nl.compile(function, backend=backend)
        for args in calls:
            counts = []
            for _ in range(3):
                ours, plain = copy.deepcopy(args), copy.deepcopy(args)
                expected = run(function, plain)
                got = run(compiled, ours)
                compare(got, expected)
                compare(ours, plain, "arguments")
                counts.append(compiled.stats.compiles)
            assert counts[1] == counts[2], "compiled again and again"
        if breaks is not None:
            assert break_count(compiled) == breaks, [e.break_reason for e in compiled.entries]
        assert (compiled.stats.fallbacks > 0) == falls_back
    return compiled


X = np.arange(1.0, 9.0)
