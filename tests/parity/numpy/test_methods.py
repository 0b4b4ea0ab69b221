"""Methods and attributes of arrays and NumPy scalars."""

import numpy as np
import pytest

from differential import array, check

NAMESPACE = {"np": np}

METHODS = [
    "x.sum()", "x.sum(0)", "x.mean(axis=1)", "x.min()", "x.max(1)", "x.prod()", "x.std()", "x.var(0)", "x.any()", "x.all(0)", "x.argmax()", "x.argmin(1)", "x.astype('f4')", "x.astype(int)",
    "x.clip(0, 3)", "x.round(1)", "x.cumsum()", "x.cumsum(0)", "x.cumprod(1)", "x.dot(x.T)", "x.argsort()", "x.conj()", "x.trace()", "x.take([0, 2])", "x.nonzero()", "x[0, 0].item()", "x.ravel().searchsorted(3)",
    "x[0, 1].astype('f4')", "x[0].sum().dtype", "x[0, 0].shape", "x[0, 0].ndim", "x[0, 0].T", "x[0, 0].copy()", "x[0, 0].reshape(1)", "x.sum().real", "x.mean().dtype", "x[0, 0].size", "x.sum()[()]",
]  # fmt: skip


@pytest.mark.parametrize("expression", METHODS)
def test_methods(expression):
    check(eval(f"lambda x: {expression}", NAMESPACE), lambda: (array(4, 6),), backends=("graph", "llvm"), native=False)


@pytest.mark.parametrize("statement", ["x.sort()", "x.resize((2, 2))", "x.setflags(write=False)", "x.partition(1)", "x.put([0], 5)", "x.shape = (24,)"])
def test_methods_that_change_the_array_are_left_to_numpy(statement):
    namespace = {}
    exec(f"def function(x):\n  {statement}\n  return x", namespace)
    check(namespace["function"], lambda: (array(4, 6),), native=False)
