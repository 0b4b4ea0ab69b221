"""As differential.py, and warnings: what a call returns, raises and warns, with a tolerance in ULP for
functions that are not exact. Arguments of every dtype and layout."""

import warnings

import numpy as np

import numlift as nl
from numlift.testing import break_count

DTYPES = "?bhilBHILefdFD"
INTEGERS = "bhilBHIL"
INEXACT = "efdFD"


def data(dtype, *shape, seed=0):
    """Small numbers, negative ones and zeros among them where the dtype has them."""
    rng = np.random.default_rng([seed, ord(dtype), *shape])
    kind = np.dtype(dtype).kind
    if kind == "b":
        x = rng.integers(0, 2, shape)
    elif kind in "iu":
        x = rng.integers(0 if kind == "u" else -5, 9, shape)
    else:
        x = np.round(rng.normal(size=shape) * 3, 2)
        if kind == "c":
            x = x + 1j * np.round(rng.normal(size=shape), 2)
    return np.asarray(x).astype(dtype)


def layouts(dtype):
    """One array a kind of memory order: contiguous both ways, transposed, strided, reversed, broadcast,
    with axes of size 1, 0-d, empty, and one longer than a vector register."""
    return {
        "0d": data(dtype),
        "1d": data(dtype, 5),
        "one": data(dtype, 1),
        "long": data(dtype, 133),
        "gaps": data(dtype, 10)[::2],
        "reversed": data(dtype, 5)[::-1],
        "c": data(dtype, 3, 4),
        "f": np.asfortranarray(data(dtype, 3, 4)),
        "gaps2": data(dtype, 3, 8)[:, ::2],
        "reversed2": data(dtype, 3, 4)[::-1, ::-1],
        "row": data(dtype, 1, 4),
        "column": data(dtype, 3, 1),
        "f1": np.asfortranarray(data(dtype, 3, 1, 4)),
        "turned": data(dtype, 2, 3, 4).transpose(1, 2, 0),
        "turned2": data(dtype, 2, 3, 4).transpose(2, 0, 1),
        "empty": data(dtype, 0, 3),
    }


def fresh(value):
    """An equal array in memory of its own, with the same strides."""
    if not isinstance(value, np.ndarray) or value.size == 0:
        return value.copy() if isinstance(value, np.ndarray) else value
    low, high = np.lib.array_utils.byte_bounds(value)
    memory = np.zeros(high - low, np.uint8)
    offset = value.__array_interface__["data"][0] - low
    copy = np.ndarray(value.shape, value.dtype, memory, offset, value.strides)
    copy[...] = value
    return copy


def outcome(function, args):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            result, error = function(*args), None
        except Exception as raised:  # compared
            result, error = None, (type(raised), str(raised))
    return result, error, [(w.category, str(w.message)) for w in caught]


def _real_parts(x):
    return np.stack([x.real, x.imag]) if x.dtype.kind == "c" else x


def compare(got, expected, ulp, path="result"):
    assert type(got) is type(expected), f"{path}: {type(got)} for {type(expected)}"
    if isinstance(expected, (tuple, list)):
        assert len(got) == len(expected), path
        for i, (a, b) in enumerate(zip(got, expected)):
            compare(a, b, ulp, f"{path}[{i}]")
    elif isinstance(expected, (np.ndarray, np.generic)):
        assert (got.dtype, got.shape) == (expected.dtype, expected.shape), path
        if expected.size:
            assert got.strides == expected.strides, f"{path}: strides {got.strides} for {expected.strides}"
        a, b = np.asarray(got), np.asarray(expected)
        if a.dtype.kind in "fc":
            a, b = _real_parts(a), _real_parts(b)
            numbers = ~np.isnan(b)
            np.testing.assert_array_equal(np.isnan(a), ~numbers, err_msg=path)
            a, b = a[numbers], b[numbers]
            if ulp == 0:
                np.testing.assert_array_equal(np.signbit(a), np.signbit(b), err_msg=path)
            else:
                finite = np.isfinite(b)
                np.testing.assert_array_equal(a[~finite], b[~finite], err_msg=path)
                a, b = a[finite], b[finite]
                if b.size:
                    # Parts of a complex number are as near as the number's size allows.
                    scale = np.spacing(np.maximum(abs(a), abs(b)).max() if expected.dtype.kind == "c" else abs(b))
                    assert (abs(a - b) <= ulp * scale).all(), f"{path}: {a} for {b}"
                return
        np.testing.assert_array_equal(a, b, err_msg=path)
    elif isinstance(expected, float) and ulp:
        assert abs(got - expected) <= ulp * np.spacing(abs(expected)), f"{path}: {got!r} for {expected!r}"
    else:
        assert got == expected or (got != got and expected != expected), f"{path}: {got!r} for {expected!r}"


def check(function, *args, ulp=0, native=True, backend="llvm", compiled=None):
    """Compares one call. `native`: it must not be left to CPython."""
    compiled = compiled or nl.compile(function, backend=backend)
    plain_args = [fresh(x) for x in args]
    our_args = [fresh(x) for x in args]
    expected, expected_error, expected_warnings = outcome(function, plain_args)
    got, error, warned = outcome(compiled, our_args)
    assert error == expected_error
    assert warned == expected_warnings
    if expected_error is None:
        compare(got, expected, ulp)
    compare(our_args, plain_args, ulp, "args")
    if native and expected_error is None:
        assert break_count(compiled) == 0, compiled.entries[-1].break_reason
    return compiled
