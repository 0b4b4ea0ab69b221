"""Runs a function plainly and compiled on equal arguments and compares all that NumPy promises: values to
the bit, dtypes, shapes, strides, which memory is shared, which object is the same, flags, exceptions."""

import numpy as np

import numlift as nl
from numlift.testing import break_count

BACKENDS = ("eager", "graph", "llvm")


def _arrays(value, path="result"):
    if isinstance(value, np.ndarray):
        yield path, value
    elif isinstance(value, (tuple, list)):
        for i, item in enumerate(value):
            yield from _arrays(item, f"{path}[{i}]")


def _compare(got, expected, path):
    assert type(got) is type(expected), f"{path}: {type(got)} for {type(expected)}"
    if isinstance(expected, (tuple, list)):
        assert len(got) == len(expected), path
        for i, (a, b) in enumerate(zip(got, expected)):
            _compare(a, b, f"{path}[{i}]")
    elif isinstance(expected, np.ndarray):
        assert got.dtype == expected.dtype, f"{path}: {got.dtype} for {expected.dtype}"
        assert got.shape == expected.shape, f"{path}: {got.shape} for {expected.shape}"
        np.testing.assert_array_equal(got, expected, err_msg=path)
        assert got.tobytes() == expected.tobytes(), path
        if expected.size:
            assert got.strides == expected.strides, f"{path}: {got.strides} for {expected.strides}"
        for flag in ("c_contiguous", "f_contiguous", "owndata", "aligned", "writeable"):
            assert getattr(got.flags, flag) == getattr(expected.flags, flag), f"{path}: {flag}"
    elif isinstance(expected, np.generic):
        assert got.dtype == expected.dtype and got.tobytes() == expected.tobytes(), f"{path}: {got!r} for {expected!r}"
    else:
        assert got == expected or (got != got and expected != expected), f"{path}: {got!r} for {expected!r}"


def _sharing(result, args):
    """Which arrays of the call are one object, and which look at the same memory."""
    arrays = list(_arrays(tuple(args), "args")) + list(_arrays(result))
    same, shared = set(), set()
    for i, (a, x) in enumerate(arrays):
        for b, y in arrays[i + 1 :]:
            if x is y:
                same.add((a, b))
            if x.size and y.size and np.shares_memory(x, y):
                shared.add((a, b))
    return same, shared


def _run(function, args):
    try:
        return function(*args), None
    except Exception as error:  # compared below
        return None, error


def check_call(compiled, function, make):
    """One call of each on the arguments that make() gives."""
    plain_args, args = make(), make()
    expected, expected_error = _run(function, plain_args)
    got, error = _run(compiled, args)
    if expected_error is not None:
        assert type(error) is type(expected_error), f"{error!r} for {expected_error!r}"
        assert str(error) == str(expected_error)
    else:
        assert error is None, repr(error)
        _compare(got, expected, "result")
        assert _sharing(got, args) == _sharing(expected, plain_args)
    _compare(tuple(args), tuple(plain_args), "args")


def check(function, *makes, native=True, backends=BACKENDS):
    """`makes`: functions that give fresh arguments. All of them go through one compiled function, so
    that sizes vary; `native`: the calls must not be left to CPython."""
    for backend in backends:
        compiled = nl.compile(function, backend=backend)
        for make in makes:
            check_call(compiled, function, make)
            if native:
                assert break_count(compiled) == 0, f"{backend}: left to CPython"


def array(*shape, dtype="f8", layout="C", start=0):
    """Fresh memory of distinct small values. Layouts: C, F, reversed, strided (gaps), offset."""
    count = int(np.prod(shape))
    values = (np.arange(count) + start) % 113 - 20
    if np.dtype(dtype).kind == "u" or np.dtype(dtype) == bool:
        values = abs(values)
    x = values.astype(dtype).reshape(shape)
    if np.dtype(dtype).kind == "c":
        x = x + np.array(1j, dtype) * (x[..., ::-1] if x.ndim else x)
        x = x.astype(dtype)
    if layout == "C" or not shape:
        return x
    if layout == "F":
        return np.asfortranarray(x)
    if layout == "reversed":
        return x[::-1].copy()[::-1]
    wide = np.zeros([2 * n for n in shape], dtype)
    view = wide[tuple(slice(None, None, 2) for _ in shape)]
    view[...] = x
    return view


LAYOUTS = ("C", "F", "reversed", "strided")
