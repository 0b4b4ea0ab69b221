"""Every float16 function at every vector width, in a process of its own: no CPU has arithmetic for
all of what float16 needs, and code that LLVM cannot make used to end the process."""

import os
import subprocess
import sys
import warnings

import numpy as np
import pytest

import numlift as nl
from numlift.testing import break_count
from outcomes import compare

SIZES = (0, 1, 7, 64, 1001)
UNARY = """absolute sign negative positive square reciprocal sqrt cbrt exp exp2 expm1 log log2 log10 log1p sin cos tan arcsin arccos
arctan sinh cosh tanh arcsinh arccosh arctanh deg2rad rad2deg floor ceil trunc rint conjugate isnan isinf isfinite signbit logical_not real imag
round fix nan_to_num""".split()
BINARY = """add subtract multiply divide floor_divide remainder fmod power arctan2 hypot equal not_equal less less_equal greater
greater_equal logical_and logical_or logical_xor maximum minimum fmax fmin copysign""".split()
REDUCTIONS = "sum prod min max any all argmin argmax mean count_nonzero".split()
EXACT = set(
    """absolute sign negative positive square reciprocal sqrt floor ceil trunc rint conjugate isnan isinf isfinite signbit logical_not real imag
round fix nan_to_num add subtract multiply divide floor_divide remainder fmod equal not_equal less less_equal greater greater_equal logical_and
logical_or logical_xor maximum minimum fmax fmin copysign min max any all argmin argmax count_nonzero""".split()
)


def cases():
    """name, function of two float16 arrays, ULP."""
    for name in UNARY:
        yield name, lambda x, y, f=getattr(np, name): f(x), 0 if name in EXACT else 4
    for name in BINARY:
        yield name, lambda x, y, f=getattr(np, name): f(x, y), 0 if name in EXACT else 4
    for name in REDUCTIONS:
        # NumPy rounds every product to float16, which soon is nothing or infinity.
        prepared = (lambda x: np.copysign(np.float16(1), x)) if name == "prod" else abs
        ulp = 0 if name in EXACT else 64
        for axis in (None, 0, 1):
            yield f"{name}, axis {axis}", lambda x, y, f=getattr(np, name), p=prepared, a=axis: f(p(x[:, None] + y[None, :3]), axis=a), ulp
        yield name, lambda x, y, f=getattr(np, name), p=prepared: f(p(x)), ulp
    for dtype in "?bhilBHILefdFD":
        yield f"to {dtype}", lambda x, y, d=np.dtype(dtype): abs(x).astype(d), 0
    for dtype in "?bhilBHILefd":
        yield f"from {dtype}", lambda x, y, d=np.dtype(dtype): abs(x).astype(d).astype(np.float16), 0
    yield "where", lambda x, y: np.where(x > y, x, y), 0
    yield "where of its truth", lambda x, y: np.where(x, y, 2), 0
    yield "clip", lambda x, y: np.clip(x, -1, 2), 0
    yield "a float16 scalar", lambda x, y: x * np.float16(1.5) + np.float16(0.1), 0
    yield "truth of a comparison", lambda x, y: np.any(x < y) & np.all(x == x), 0
    yield "stores", lambda x, y: stored(x, y), 0
    yield "softmax", lambda x, y: np.exp(x - np.max(x, initial=0)) / np.sum(np.exp(x), initial=1), 64


def stored(x, y):
    out = np.zeros((2, x.size), np.float16)
    out[0] = x
    out[1, ::-1] = y
    return out


def arrays(size, layout):
    rng = np.random.default_rng(size)
    x, y = (np.round(rng.normal(size=2 * size) * 2, 2).astype(np.float16) for _ in range(2))
    x[::5] = 0
    y[::7] = -0.0
    if layout == "strided":
        return x[::2], y[::2]
    if layout == "reversed":
        return x[size:][::-1], y[size:][::-1]
    return x[:size], y[:size]


def check_all():
    for name, function, ulp in cases():
        compiled = nl.compile(function)
        for layout in ("contiguous", "strided", "reversed"):
            for size in SIZES:
                if size == 0 and name.split(",")[0] in ("min", "max", "argmin", "argmax"):
                    continue
                print(f"{name}, {layout}, {size} elements", flush=True)
                x, y = arrays(size, layout)
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    compare(compiled(x, y), function(x, y), ulp)
        assert break_count(compiled) == 0, f"{name}: left to CPython"
    print("done")


@pytest.mark.parametrize("vector_bytes", [16, 32, 64])
def test_every_function_of_float16(vector_bytes):
    environment = {**os.environ, "NUMLIFT_VECTOR_BYTES": str(vector_bytes), "NUMLIFT_STRICT": "1"}
    environment["PYTHONPATH"] = os.pathsep.join(sys.path)
    child = subprocess.run([sys.executable, __file__], env=environment, capture_output=True, text=True)
    last = child.stdout.splitlines()[-1:] or ["(nothing)"]
    assert child.returncode == 0 and last == ["done"], f"exit {child.returncode} after: {last[0]}\n{child.stderr[-3000:]}"


if __name__ == "__main__":
    check_all()
