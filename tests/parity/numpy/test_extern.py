"""Functions that NumPy itself runs inside the program, sizes known only then included."""

import numpy as np
import pytest

from differential import array, check

NAMESPACE = {"np": np}

EXPRESSIONS = [
    "np.unique(x)", "np.unique(x, return_counts=True)", "np.nonzero(x)", "np.flatnonzero(x > 0)", "np.argwhere(x > 0)", "np.where(x > 0)", "np.compress([True, False, True], x)", "np.extract(x > 0, x)",
    "np.delete(x, 1)", "np.trim_zeros(x)", "np.union1d(x, y)", "np.intersect1d(x, y)", "np.setdiff1d(x, y)", "np.unique(x)[::-1] + 1", "np.unique(x).sum()", "x[x > 0] * 2", "x[x > 0].mean()",
    "np.take(x, [0, 1])", "np.sort(x)[::-1]", "np.histogram(x, 4)", "np.insert(x, 1, 5)", "np.allclose(x, y)", "np.array_equal(x, x)", "np.cumsum(x)[1:]", "np.select([x > 0, x < -5], [x, y])", "np.pad(x, 2)",
    "len(np.unique(x))", "np.unique(x).shape", "np.unique(x).size + 1",
]  # fmt: skip


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_extern(expression):
    function = eval(f"lambda x, y: {expression}", NAMESPACE)
    check(function, lambda: (array(9), array(9, start=4)), lambda: (array(12, start=3), array(12, start=18)), native=False)
