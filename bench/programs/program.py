"""What a program of this package is: a plain NumPy function, its inputs, and what counts as the same result."""

import copy
import dataclasses
import inspect
import zlib
from collections.abc import Callable

import numpy as np

SIZES = ("small", "middle", "large")


@dataclasses.dataclass(frozen=True)
class Program:
    """One function as its author wrote it, with arguments in three sizes.

    `make(rng, *parameters)` gives the arguments; small, middle and large are its parameters. `changes`
    names the arguments that the function changes in place: every call gets fresh copies of these, and
    they are compared as the result is. `peers_differ` is the share of values in which peers may be off, where
    one rounding decides which way a point goes. In plain NumPy small takes well under 10 ms, middle 5 to 300 ms,
    large at most about 2 s.
    """

    function: Callable
    make: Callable
    small: tuple
    middle: tuple
    large: tuple
    changes: tuple = ()
    rtol: float = 1e-10
    atol: float = 1e-12
    peers_differ: float = 0.0

    @property
    def name(self):
        return self.function.__name__

    @property
    def theme(self):
        return self.function.__module__.rpartition(".")[2]

    @property
    def changed(self):
        names = list(inspect.signature(self.function).parameters)
        return tuple(names.index(name) for name in self.changes)

    def inputs(self, size):
        """The same arguments each time, newly made."""
        rng = np.random.default_rng([zlib.crc32(self.name.encode()), SIZES.index(size)])
        return tuple(self.make(rng, *getattr(self, size)))

    def fresh(self, args):
        """The arguments for one more call: those that it changes are copies, the others are shared."""
        return tuple(_copy(arg) if i in self.changed else arg for i, arg in enumerate(args))

    def outcome_of(self, function, args):
        """What one more call of `function`, this program's or one made of it, leaves behind."""
        args = self.fresh(args)
        return self.outcome(args, function(*args))

    def outcome(self, args, result):
        """All that a call leaves behind: what it changed, and what it returned."""
        return [args[i] for i in self.changed], result


def _copy(value):
    return value.copy(order="K") if isinstance(value, np.ndarray) else copy.deepcopy(value)


def arrays_of(value):
    """The arrays of a result, in order."""
    if isinstance(value, (tuple, list)):
        return [array for part in value for array in arrays_of(part)]
    return [] if value is None else [np.asarray(value)]


def difference(expected, actual, rtol, atol):
    """In words, how `actual` is not what NumPy gave; None where it is the same.

    Types, dtypes and shapes are the same exactly; so are values other than floating-point ones.
    """
    if type(expected) is not type(actual):
        return f"{type(actual).__name__} instead of {type(expected).__name__}"
    if isinstance(expected, (tuple, list)):
        if len(expected) != len(actual):
            return f"{len(actual)} results instead of {len(expected)}"
        found = (difference(e, a, rtol, atol) for e, a in zip(expected, actual))
        return next((text for text in found if text), None)
    if isinstance(expected, np.random.Generator):
        same = expected.bit_generator.state == actual.bit_generator.state
        return None if same else "the generator is in another state"
    if isinstance(expected, np.ndarray):
        if expected.dtype != actual.dtype:
            return f"dtype {actual.dtype} instead of {expected.dtype}"
        if expected.shape != actual.shape:
            return f"shape {actual.shape} instead of {expected.shape}"
    elif not isinstance(expected, (np.generic, int, float, complex)):
        return None if expected == actual else f"{actual!r} instead of {expected!r}"
    return difference_of_values(expected, actual, rtol, atol)


def difference_of_values(expected, actual, rtol, atol, share=0.0):
    """The same for values alone, which may be of any numeric type; a share of them may differ."""
    expected, actual = np.asarray(expected), np.asarray(actual)
    if expected.shape != actual.shape:
        return f"shape {actual.shape} instead of {expected.shape}"
    exact = expected.dtype.kind in "biu" and actual.dtype.kind in "biu"
    same = actual == expected if exact else np.isclose(actual, expected, rtol, atol, equal_nan=True)
    wrong = np.ravel(~np.asarray(same))
    if wrong.sum() <= share * wrong.size:
        return None
    at = int(np.argmax(wrong))
    return (f"{int(wrong.sum())} of {wrong.size} values differ, first at {at}: "
            f"{actual.ravel()[at]!s} instead of {expected.ravel()[at]!s}")
