"""copyto, fill, and in-place work through views."""

import numpy as np
import pytest

from differential import array, check

STATEMENTS = [
    "np.copyto(x, y)", "np.copyto(x, 3)", "np.copyto(x, y[0])", "np.copyto(x, y, where=y > 2)", "np.copyto(x[1:], y[:-1])", "x.fill(2)", "x.fill(y[0, 0])",
    "x[1:].fill(0.5)", "x.T.fill(1)", "np.copyto(x, y, casting='unsafe')", "np.add(x, y, out=x[:])", "np.multiply(x, 2, out=x.T.T)",
]  # fmt: skip


@pytest.mark.parametrize("statement", STATEMENTS)
def test_stores(statement):
    namespace = {"np": np}
    exec(f"def function(x, y):\n  {statement}\n  return x", namespace)
    check(namespace["function"], lambda: (array(4, 5), array(4, 5, start=9)))


@pytest.mark.parametrize("dtype", ["i4", "f4", "c16", "?"])
def test_copyto_follows_the_casting_rule(dtype):
    def function(x, y):
        np.copyto(x, y)
        return x

    check(function, lambda: (array(6, dtype=dtype), array(6)), native=False)


def test_several_views_of_one_array_in_place():
    def function(x):
        a, b = x[::2], x[1::2]
        a += 1
        b *= a
        x[2:] = x[:-2]
        a -= b
        return a, b

    check(function, lambda: (array(8, 3),))


def test_two_arguments_that_share_memory():
    def function(x, y):
        x[1:] = y[:-1]
        y += 1
        return x

    def make():
        base = array(9)
        return base[:8], base[1:]

    check(function, make, native=False)
