"""What the tracer does itself when it meets a call of one of these (src/frame_eval/symbolic/transform_calls.cpp)."""

from .._core import Unsupported


class Restarted(Exception):
    """CPython runs code that only the tracer can: the program of a transform has given up."""


def variable(value, what):
    """A value that stands for `value` in a function that is differentiated."""
    raise Restarted


def pure_call(function, args, kwargs):
    """function(*args, **kwargs), without loops that the program runs itself, and without warnings."""
    raise Restarted


def check_scalar(value, what):
    """TypeError unless `value` is one real number."""
    raise Restarted


def check_inexact(value, what):
    """TypeError unless `value` has derivatives."""
    raise Restarted


def refuse(kind, message):
    """The error that the caller of the transform gets."""
    raise Restarted


def pull_back(variables, outputs, cotangents):
    """The cotangents of the variables."""
    raise Unsupported("a function made by numlift.vjp is called outside the compiled function that made it")


def push_forward(variables, tangents, outputs):
    """The tangents of the outputs."""
    raise Restarted


def check_sizes(values, axes, names):
    """ValueError, naming the arguments, unless all have one size along their axes (None: not mapped)."""
    raise Restarted


def example(value, axis):
    """A value that stands for each of those along the axis."""
    raise Restarted


def batch(examples, values, axes, outputs):
    """The outputs for all values that the examples stand for, along a new first axis."""
    raise Restarted
