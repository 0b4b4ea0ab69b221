"""Basic and advanced indexing, read and written, against NumPy."""

import numpy as np
import pytest

import numlift as nl
from differential import LAYOUTS, array, check

GET = [
    "x[0]", "x[-1]", "x[1, 2]", "x[-1, -2]", "x[1:]", "x[:-1]", "x[::2]", "x[::-1]", "x[1:3, ::-2]",
    "x[:, 1]", "x[:, -1:]", "x[..., 0]", "x[..., 1:]", "x[0, ...]", "x[1, 2, ...]", "x[None]", "x[:, None]",
    "x[None, ..., None]", "x[()]", "x[...]", "x[5:]", "x[:100]", "x[-100:2]", "x[3:1]", "x[3:1:-1]",
    "x[1::-1]", "x[:, 4:0:-2]", "x[np.int64(1)]", "x[np.uint8(2), 1:]", "x[1:3][0]", "x[::2][::-1]",
    "x.T[1:]", "x[1:].T[::-1]", "x[:, 1] + 1", "x[1:] - x[:-1]", "x[0][1]", "x[True and 1]",
    "x[slice(1, None)]", "x[slice(None), slice(None, None, -1)]",
]  # fmt: skip


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("expression", GET)
def test_basic_get_gives_the_view_that_numpy_gives(expression, layout):
    function = eval(f"lambda x: {expression}", {"np": np})
    check(function, lambda: (array(4, 6, layout=layout),), lambda: (array(5, 7, layout=layout),))


@pytest.mark.parametrize("expression", ["x[()]", "x[...]", "x[None]", "x[..., None]"])
def test_zero_dimensional_arrays_index_to_scalars_or_views(expression):
    check(eval(f"lambda x: {expression}"), lambda: (array(),))


@pytest.mark.parametrize("dtype", ["?", "i1", "u8", "f2", "f4", "c8", "c16"])
def test_an_element_is_a_scalar_of_the_dtype(dtype):
    check(lambda x: (x[0, 1], x[1]), lambda: (array(3, 4, dtype=dtype),))


@pytest.mark.parametrize(
    "expression",
    ["x[a]", "x[a:]", "x[:a]", "x[a:b]", "x[a:b, ::-1]", "x[:, a]", "x[b:a:-1]", "x[a, b]", "x[-a:]", "x[::a]"],
)
def test_bounds_known_only_at_run_time(expression):
    function = eval(f"lambda x, a, b: {expression}")
    makes = [
        lambda a=a, b=b, n=n: (array(n, 6), a, b) for a, b, n in [(1, 3, 5), (2, 4, 7), (1, 2, 3), (-1, 3, 5), (3, 5, 4)]
    ]
    check(function, *makes)


@pytest.mark.parametrize("expression", ["x[9]", "x[-9]", "x[0, 0, 0]", "x[1.5]", "x['a']", "x[..., ...]", "x[::0]"])
def test_a_wrong_index_raises_as_in_numpy(expression):
    check(eval(f"lambda x: {expression}"), lambda: (array(4, 5),), native=False)


def test_an_index_that_leaves_its_axis_later_raises():
    check(lambda x, i: x[i], lambda: (array(4), 2), lambda: (array(4), 5), native=False)


@pytest.mark.parametrize(
    "expression",
    [
        "x[k]", "x[[0, 2, 1]]", "x[k, 1]", "x[k, :2]", "x[m]", "x[m, 1]", "x[x > 3]", "x[True]", "x[np.array([1, 0])]",
        "x[k][:, 0]", "x[m].sum()", "x[~m]",
    ],
)  # fmt: skip
def test_advanced_get(expression):
    function = eval(f"lambda x, k, m: {expression}", {"np": np})
    check(
        function,
        lambda: (array(4, 6), np.array([0, 2, 3, 1, 1]), np.array([True, False, True, True])),
        lambda: (array(4, 6, start=7), np.array([3, 3, 0, 1, 1]), np.array([False, False, True, False])),
        native=False,
    )


SET = [
    "x[0] = 5", "x[1, 2] = y[0, 0]", "x[1:] = y[:-1]", "x[:, 1] = 7.5", "x[::2] += 1", "x[1:] -= y[1:]",
    "x[...] = 3", "x[:] = y", "x[0] += 1", "x[1, 1] *= 2", "x[:, None, 0] = 2", "x[::-1] = y", "x[:] = x[::-1]",
    "x[1:] = x[:-1]", "x[:-1] = x[1:]", "x[1:] += x[:-1]", "x.T[1:] = 4", "x[:, 0] = x[:, 1]", "x[0] = y[0][None]",
    "x[-1] = [1, 2, 3, 4, 5]", "x[:2, :2] = [[1, 2], [3, 4]]", "x[1] = y[1]; x[1, 0] = 9", "x[...] += y",
    "v = x[1:3]; v += 1; v[0] = 2", "v = x.T; v *= 2", "x[x > 3] = 0", "x[y < 2] = 1.5", "x[2:2] = 1",
    "x[0], x[1] = y[1], y[0]", "x[:] = True", "x[1] = np.float32(2.5)", "x[1] = np.int8(3)", "a = x[0, 0]; x[0, 0] = 77; x[1, 1] = a",
]  # fmt: skip


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("statement", SET)
def test_basic_set_writes_what_numpy_writes(statement, layout):
    namespace = {"np": np}
    exec(f"def function(x, y):\n  {statement}\n  return x", namespace)
    check(
        namespace["function"],
        lambda: (array(4, 5, layout=layout), array(4, 5, layout=layout, start=3)),
        lambda: (array(6, 5, layout=layout), array(6, 5, layout=layout, start=3)),
    )


@pytest.mark.parametrize("dtype", ["?", "i1", "u2", "i8", "f2", "f4", "c8"])
@pytest.mark.parametrize("value", ["1", "True", "2.5", "np.float64(3.25)", "np.int64(5)", "y[0]", "300", "-1", "1j"])
def test_assignment_casts_as_numpy_does(value, dtype):
    namespace = {"np": np}
    exec(f"def function(x, y):\n  x[1] = {value}\n  x[2:4] = {value}\n  return x", namespace)
    check(namespace["function"], lambda: (array(6, dtype=dtype), array(3)), native=False)


@pytest.mark.parametrize("statement", ["x[0] = y", "x[:2] = y", "x[9] = 1", "x[m] = y", "x[[0, 1]] = 5", "x[m, 0] = 1"])
def test_assignments_that_raise_or_are_not_compiled(statement):
    namespace = {}
    exec(f"def function(x, y, m):\n  {statement}\n  return x", namespace)
    check(
        namespace["function"],
        lambda: (array(4, 5), array(3), np.array([True, False, True, False])),
        native=False,
    )


def test_a_read_only_array_is_not_written():
    def make():
        x = array(4)
        x.flags.writeable = False
        return (x,)

    def function(x):
        x[0] = 1

    check(function, make, native=False)


def test_iteration_sees_what_the_loop_wrote():
    def function(x):
        total = 0.0
        for value in x:
            x[2] = 100.0
            total = total + value
        return total

    check(function, lambda: (array(4),))


@pytest.mark.parametrize("function", [lambda x: [row * 2 for row in x], lambda x: len(x), lambda x: sum(x)])
def test_rows_of_an_array(function):
    check(function, lambda: (array(3, 4),))


def test_unpacking_gives_rows_or_scalars():
    def function(x, y):
        a, b = x
        c, d = y
        return a + b, c, d

    check(function, lambda: (array(2, 3), array(2)))


BY_DATA = ["x[i]", "x[i, j]", "x[:, j]", "x[i, ::-1]", "x[i][j]", "x[None, i]", "x[..., j]", "x[i][None].T", "x[i].reshape(1, -1)", "x[i] + x[:, j][0]", "(x + 1)[i]", "x[i, 1]", "x[i, [0, 1]]", "x[i:]"]


@pytest.mark.parametrize("expression", BY_DATA)
def test_integers_that_only_the_run_knows(expression):
    """Views where NumPy gives views; one program for all values."""
    function = eval(f"lambda x, k: (lambda i, j: {expression})(np.argmax(k), int(k[0]))", {"np": np})
    makes = [lambda k=k: (array(4, 6), np.array(k)) for k in ([3, 0, 1], [1, 5, 2], [0, 1, 2], [-1, -2, -3], [-4, 1, 1])]
    check(function, *makes, native=expression not in ("x[i:]", "x[i, [0, 1]]"))
    compiled = nl.compile(function)
    for make in makes:
        compiled(*make())
    assert expression == "x[i:]" or compiled.stats.compiles == 1


@pytest.mark.parametrize("expression", ["x[i]", "x[:, i]", "x[0, i]"])
def test_integers_from_data_that_lie_outside(expression):
    function = eval(f"lambda x, k: (lambda i: {expression})(k[0])", {"np": np})
    check(function, *[lambda k=k: (array(4, 6), np.array([k])) for k in (1, -1, 3, 9, -9)], native=False)


def test_stores_at_integers_from_data():
    def function(x, k):
        i = np.argmin(k)
        x[i] = 7
        x[:, k[1]] += x[i, 0]
        y = x[i]
        x[i, 2] = -1
        return y, x[k[0]]

    check(function, *[lambda k=k: (array(4, 6), np.array(k)) for k in ([3, 0, 1], [1, 2, 0], [0, 1, 2])])
