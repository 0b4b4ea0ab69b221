"""What a call does, and whether two calls did the same."""

import re
import warnings

import numpy as np

# What may round otherwise than NumPy. A program of reals without any must give NumPy's numbers to the bit.
ROUNDS = re.compile(r"\b(?:sum|mean|dot|prod|exp|sin|cos)\b|@|\*\*")

# Of partial sums that also have infinities or NaN among their operands: docs/design.md, Numerics.
UNTOLD = re.compile(r"overflow encountered in (?:dot|matmul|reduce)")


class Outcome:
    def __init__(self, function, args, file):
        self.args = args
        self.result, self.error, self.where = None, None, None
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                self.result = function(*args)
            except Exception as error:  # compared
                self.error = (type(error).__name__, str(error))
                trace, lines = error.__traceback__, []
                while trace is not None:
                    if trace.tb_frame.f_code.co_filename == file:
                        lines.append(trace.tb_lineno)
                    trace = trace.tb_next
                self.where = lines
        found = [(w.category.__name__, str(w.message), w.lineno) for w in caught]
        self.warnings = [warning for warning in found if not UNTOLD.match(warning[1])]


def _differs(got, expected, tolerance):
    if type(got) is not type(expected):
        return f"{type(got).__name__} for {type(expected).__name__}"
    if isinstance(expected, (tuple, list)):
        if len(got) != len(expected):
            return f"{len(got)} values for {len(expected)}"
        for i, (a, b) in enumerate(zip(got, expected)):
            if why := _differs(a, b, tolerance):
                return f"[{i}]: {why}"
        return None
    if isinstance(expected, (np.ndarray, np.generic)):
        if got.dtype != expected.dtype or got.shape != expected.shape:
            return f"{got.dtype}{got.shape} for {expected.dtype}{expected.shape}"
        exact = tolerance == 0 or expected.dtype.kind not in "fc"
        if exact:
            equal = np.array_equal(got, expected, equal_nan=expected.dtype.kind in "fc")
        else:
            near = 1e-4 if expected.dtype == np.float32 else tolerance
            scale = np.max(np.abs(expected), where=np.isfinite(expected), initial=1.0)
            equal = np.allclose(got, expected, rtol=near, atol=near * scale, equal_nan=True)
        if equal or expected.size < 12:
            return None if equal else f"{got.tolist()} for {expected.tolist()}"
        place = np.unravel_index(
            np.argmax((got != expected) & ((got == got) | (expected == expected))), got.shape
        )
        place = tuple(int(i) for i in place)
        return f"{got[place]!r} for {expected[place]!r} at {place} of {expected.shape}"
    if isinstance(expected, (float, complex)) and tolerance:
        equal = np.isclose(got, expected, rtol=tolerance, atol=tolerance, equal_nan=True)
    else:
        equal = got == expected or (got != got and expected != expected)
    return None if equal else f"{got!r} for {expected!r}"


def _arrays(value):
    if isinstance(value, np.ndarray):
        return [value]
    return [a for v in value for a in _arrays(v)] if isinstance(value, (tuple, list)) else []


def _sharing(outcome):
    """Which arrays are one object, or share memory, among the arguments and results."""
    arrays = _arrays(outcome.args) + _arrays(outcome.result)
    pairs = [(a, b) for i, a in enumerate(arrays) for b in arrays[:i]]
    return [(a is b, np.shares_memory(a, b)) for a, b in pairs]


def difference(got, expected, tolerance):
    """None, or (what kind of difference, text)."""
    if got.error != expected.error:
        if got.error and expected.error:
            return "error", f"{got.error} for {expected.error}"
        return "error", f"raises {got.error} for {expected.error or expected.result!r}"
    if got.where != expected.where:
        return "line", f"raised at lines {got.where} for {expected.where}"
    if why := _differs(got.result, expected.result, tolerance):
        return "value", f"result: {why}"
    if why := _differs(got.args, expected.args, tolerance):
        return "value", f"arguments: {why}"
    if got.warnings != expected.warnings:
        return "warnings", f"warnings {got.warnings} for {expected.warnings}"
    if _sharing(got) != _sharing(expected):
        return "sharing", f"arrays share memory otherwise: {_sharing(got)} for {_sharing(expected)}"
    return None
