"""Calls of pure functions while tracing."""

import warnings


def call_quietly(function, args, kwargs):
    """A function that warns is left to CPython: here that is an error."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return function(*args, **kwargs)
