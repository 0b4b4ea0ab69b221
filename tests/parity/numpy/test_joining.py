"""Joining and splitting."""

import numpy as np
import pytest

from differential import LAYOUTS, array, check

NAMESPACE = {"np": np}

JOIN = [
    "np.concatenate([x, y])", "np.concatenate((x, y), axis=1)", "np.concatenate((x, y), axis=-1)", "np.concatenate([x, y], axis=None)", "np.concatenate([x])", "np.concatenate([x, y[:1]])",
    "np.concatenate([x, y], dtype='f4', casting='same_kind')", "np.concat([x, y])", "np.stack([x, y])", "np.stack([x, y], axis=1)", "np.stack([x, y], axis=-1)", "np.stack([x[0], y[0]], 1)", "np.hstack([x, y])",
    "np.hstack([x[0], y[0]])", "np.vstack([x, y])", "np.vstack([x[0], y])", "np.dstack([x, y])", "np.column_stack([x[:, 0], y])", "np.column_stack([x[0], y[0]])", "np.append(x, y)", "np.append(x, y, axis=0)",
    "np.append(x[0], 5)", "np.append(x[0], [1, 2])", "np.concatenate([x.T, y.T])", "np.concatenate([x, y.T.copy().T])", "np.concatenate([x[0], [1.0, 2.0]])", "np.concatenate(x)",
    "np.split(x, 2)", "np.split(x, [1, 3])", "np.split(x, 3, axis=1)", "np.array_split(x, 3)", "np.array_split(x, 4, axis=1)", "np.array_split(x[0], 4)", "np.hsplit(x, 2)", "np.vsplit(x, 2)", "np.hsplit(x[0], 3)",
    "np.split(x, [2, 9, 1])", "np.dsplit(x[None], 2)",
    "np.block([[x, y], [y, x]])", "np.pad(x, 1)",
]  # fmt: skip
if hasattr(np, "unstack"):
    JOIN += ["np.unstack(x)", "np.unstack(x, axis=1)"]


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("expression", JOIN)
def test_joining_and_splitting(expression, layout):
    function = eval(f"lambda x, y: {expression}", NAMESPACE)
    may_break = "block" in expression or "pad" in expression
    check(function, lambda: (array(4, 6, layout=layout), array(4, 6, layout=layout, start=5)), native=not may_break)


@pytest.mark.parametrize("dtypes", [("f4", "f8"), ("i4", "f4"), ("?", "i1"), ("u8", "i8"), ("c8", "f8"), ("f2", "i2")])
def test_dtypes_of_joined_arrays(dtypes):
    check(lambda x, y: np.concatenate([x, y]), lambda: (array(3, dtype=dtypes[0]), array(4, dtype=dtypes[1])))


def test_sizes_vary():
    makes = [lambda n=n, m=m: (array(n, 3), array(m, 3)) for n, m in [(2, 3), (3, 2), (4, 4), (1, 2), (0, 2)]]
    check(lambda x, y: np.concatenate([x, y]), *makes)
    check(lambda x, y: np.vstack([x, y, x]), *makes)


@pytest.mark.parametrize("expression", ["np.concatenate([])", "np.concatenate([x, y[0]])", "np.stack([x, y[:1]])", "np.split(x, 5)", "np.concatenate([x, x[:, :1]])", "np.concatenate([1, 2])"])
def test_what_numpy_refuses_raises(expression):
    check(eval(f"lambda x, y: {expression}", NAMESPACE), lambda: (array(4, 6), array(4, 6)), native=False)
