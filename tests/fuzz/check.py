"""Runs one program plainly and compiled."""

import logging
import re
import signal
import warnings

import numpy as np

import numlift as nl
from numlift.testing import break_count

from .arguments import arguments
from .comparison import ROUNDS, Outcome, difference

FILE = "<fuzz>"
REFUSAL = re.compile(r"the loop at line \d+ is not captured: (.*)")
TOLERANCE = 1e-9


class TooLong(BaseException):
    pass


class _Reasons(logging.Handler):
    def __init__(self):
        super().__init__()
        self.found = []

    def emit(self, record):
        self.found += REFUSAL.findall(record.getMessage())


reasons = _Reasons()


def set_up():
    nl.config.strict = True
    nl.config.verify = True
    nl.config.logs = "breaks"
    logger = logging.getLogger("numlift")
    logger.propagate = False
    logger.handlers[:] = [reasons]
    logger.setLevel(logging.DEBUG)
    for name in list(logging.root.manager.loggerDict):
        if name.startswith("numlift."):
            logging.getLogger(name).handlers[:] = []


def load(source):
    namespace = {"__name__": "fuzz"}
    warnings.simplefilter("ignore", SyntaxWarning)
    exec(compile(source, FILE, "exec"), namespace)
    return namespace["f"]


def _stop(signum, frame):
    raise TooLong


def plain_outcome(function, args):
    """None where plain Python takes too long for a program of a fuzzer."""
    signal.signal(signal.SIGALRM, _stop)
    signal.setitimer(signal.ITIMER_REAL, 1)
    try:
        return Outcome(function, args, FILE)
    except TooLong:
        return None
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def _disturbed(args):
    rng = np.random.default_rng(1)
    made = []
    for value in args:
        if isinstance(value, np.ndarray) and value.dtype.kind in "fc":
            size = 1e-6 if value.dtype == np.float32 else 1e-13
            value[...] = value * (1 + size * rng.uniform(-1, 1, value.shape))
        made.append(value)
    return made


def run_plainly(source, calls):
    function = load(source)
    done = [plain_outcome(function, arguments(call)) for call in calls]
    return {"kind": "long" if None in done else "same"}


def check(source, calls, backend="llvm"):
    """{"kind": "same" | "long" | "sensitive" | kind of difference, "text", "captured", "reasons"}."""
    function = load(source)
    # NumPy's own complex products depend on the length and the place.
    tolerance = TOLERANCE if ROUNDS.search(source) or "complex128" in str(calls) else 0
    reasons.found.clear()
    compiled = nl.compile(load(source), backend=backend)
    captured = True
    raised = 0
    for number, call in enumerate([*calls, calls[0]]):
        expected = plain_outcome(function, arguments(call))
        if expected is None:
            return {"kind": "long"}
        raised += expected.error is not None
        got = Outcome(compiled, arguments(call), FILE)
        # What raises is left to CPython by design.
        if expected.error is None and not expected.warnings and break_count(compiled):
            captured = False
        if found := difference(got, expected, tolerance):
            kind, text = found
            if got.error and "internal" in got.error[1]:
                kind = "internal"
            if tolerance and kind in ("value", "error", "warnings", "line"):
                other = plain_outcome(function, _disturbed(arguments(call)))
                if other is None or difference(other, expected, tolerance * 100):
                    return {"kind": "sensitive"}
            # A fault that is made smaller must stay the same fault.
            place = re.search(r"src/\S+", got.error[1]) if kind == "internal" else None
            like = [
                kind,
                expected.error and expected.error[0],
                got.error and got.error[0],
                place and place[0],
            ]
            return {"kind": kind, "text": f"call {number}: {text}", "like": like}
    return {"kind": "same", "captured": captured, "raised": raised, "reasons": reasons.found[:1]}
