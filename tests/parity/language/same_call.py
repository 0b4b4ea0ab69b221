"""Runs a function plainly and compiled, on equal arguments, and compares the results to the bit."""

import copy
import enum

import numpy as np

import numlift as nl
from numlift.testing import break_count

BACKENDS = ("eager", "llvm")


def compare(got, expected, path="result"):
    assert type(got) is type(expected), f"{path}: {type(got)} for {type(expected)}"
    if isinstance(expected, (tuple, list)):
        assert len(got) == len(expected), path
        for i, (a, b) in enumerate(zip(got, expected)):
            compare(a, b, f"{path}[{i}]")
    elif isinstance(expected, enum.Enum):
        assert got is expected, f"{path}: {got!r} for {expected!r}"
    elif isinstance(expected, dict):
        assert list(got) == list(expected), path
        for key in expected:
            compare(got[key], expected[key], f"{path}[{key!r}]")
    elif isinstance(expected, np.ndarray):
        assert got.dtype == expected.dtype, f"{path}: {got.dtype} for {expected.dtype}"
        assert got.shape == expected.shape, f"{path}: {got.shape} for {expected.shape}"
        if expected.dtype.kind in "OVMmSU":
            assert got.tolist() == expected.tolist(), path
        else:
            np.testing.assert_allclose(got, expected, rtol=1e-15, atol=1e-15, err_msg=path)
    elif isinstance(expected, (float, np.floating)):
        # Powers and transcendental functions may differ in the last bits.
        np.testing.assert_allclose(got, expected, rtol=1e-15, atol=0, err_msg=path)
        assert np.signbit(got) == np.signbit(expected), path
    elif isinstance(expected, complex):
        for part in ("real", "imag"):
            ours, pythons = getattr(got, part), getattr(expected, part)
            # The sign of a NaN means nothing.
            if not (np.isnan(ours) and np.isnan(pythons)):
                compare(ours, pythons, f"{path}.{part}")
    elif type(expected).__module__.startswith(("test_", "tests.", "probes")) and hasattr(expected, "__dict__"):
        compare(vars(got), vars(expected), path)
    else:
        assert got == expected, f"{path}: {got!r} for {expected!r}"


def run(function, args, kwargs):
    try:
        return function(*args, **kwargs), None
    except Exception as error:  # compared by the caller
        return None, error


def same(function, *calls, whole=True, kwargs=None, backends=BACKENDS):
    """Each call (a tuple of arguments) goes through one compiled function, twice. whole: nothing is
    left to CPython; None: it does not matter."""
    kwargs = kwargs or {}
    for backend in backends:
        compiled = nl.compile(function, backend=backend)
        for args in calls:
            for _ in range(2):
                ours, plain = copy.deepcopy(args), copy.deepcopy(args)
                expected, expected_error = run(function, plain, kwargs)
                got, error = run(compiled, ours, kwargs)
                if expected_error is None:
                    assert error is None, repr(error)
                    compare(got, expected)
                else:
                    assert type(error) is type(expected_error), f"{error!r} for {expected_error!r}"
                    assert str(error) == str(expected_error)
                compare(ours, plain, "arguments")
                if whole is not None:
                    reasons = [entry.break_reason for entry in compiled.entries]
                    assert (break_count(compiled) == 0) == whole, f"{backend}: {reasons}"


def breaks(function, *args, reason=""):
    """The call is left to CPython, for a reason that contains this text."""
    same(function, args, whole=False)
    compiled = nl.compile(function)
    run(compiled, copy.deepcopy(args), {})
    assert reason in str(compiled.entries[0].break_reason), compiled.entries[0].break_reason
