"""Views: shapes, strides, shared memory, and copies where NumPy copies."""

import numpy as np
import pytest

from differential import LAYOUTS, array, check

NAMESPACE = {"np": np}

VIEWS = [
    "x.T", "x.mT", "x.transpose()", "x.transpose(1, 0)", "x.transpose((1, 0))", "x.transpose(None)", "np.transpose(x)",
    "np.transpose(x, (1, 0))", "np.transpose(x, (0, 1))", "x.swapaxes(0, 1)", "np.swapaxes(x, 0, -1)",
    "np.moveaxis(x, 0, 1)", "np.moveaxis(x, [0, 1], [1, 0])", "np.rollaxis(x, 1)", "np.rollaxis(x, 0, 2)", "np.rollaxis(x, 1, 1)",
    "np.expand_dims(x, 0)", "np.expand_dims(x, 1)", "np.expand_dims(x, (0, -1))", "np.squeeze(x[None, :, None])",
    "np.squeeze(x[None], 0)", "x.squeeze()", "np.flip(x)", "np.flip(x, 0)", "np.flip(x, (0, 1))", "np.flipud(x)",
    "np.fliplr(x)", "np.rot90(x)", "np.rot90(x, 2)", "np.rot90(x, 3)", "np.rot90(x, 0)", "np.rot90(x, -1)", "np.rot90(x, 1, (1, 0))",
    "x.reshape(24)", "x.reshape(-1)", "x.reshape(2, 12)", "x.reshape(2, 2, 6)", "x.reshape((3, -1))", "x.reshape(4, 6)",
    "x.reshape(4, 1, 6)", "x.reshape(1, 4, 6, 1)", "x.reshape(-1, 1)", "x.reshape(24, order='F')",
    "x.reshape(2, 12, order='F')", "x.reshape(-1, order='A')", "np.reshape(x, (6, 4))", "x.ravel()", "np.ravel(x)", "x.ravel('F')",
    "x.flatten()", "x.flatten('F')", "x.T.ravel()", "x.T.reshape(-1)", "x[:, :3].reshape(-1)", "x[1:].reshape(-1)",
    "x.copy()", "x.copy('F')", "x.copy(order='K')", "np.copy(x)", "x.T.copy()", "x.T.copy('K')", "x.view()", "x[:, 0].reshape(-1, 1)",
    "np.broadcast_to(x, (3, 4, 6))", "np.broadcast_to(x[0], (2, 6))", "np.broadcast_to(x[:, :1], (4, 5))",
    "np.broadcast_to(2.5, (2, 3))", "np.diagonal(x)", "x.diagonal(1)", "x.diagonal(-2)", "np.diagonal(x, 1, 1, 0)", "x.diagonal(9)",
    "np.diag(x)", "np.diag(x[0])", "np.diag(x[0], 2)", "np.diag(x[0], -1)", "x.real", "x.imag", "np.real(x)", "np.imag(x)",
    "np.atleast_1d(x)", "np.atleast_2d(x[0])", "np.atleast_3d(x)", "np.atleast_3d(x[0])", "np.atleast_1d(x[0, 0])",
    "np.matrix_transpose(x)", "np.tril(x)", "np.triu(x)", "np.tril(x, -1)", "np.triu(x, 2)", "np.trace(x)",
    "np.roll(x, 1)", "np.roll(x, 2, 0)", "np.roll(x, -1, axis=1)", "np.roll(x, 100, axis=1)", "np.roll(x, 0, 0)",
    "np.repeat(x, 2)", "np.repeat(x, 3, axis=0)", "np.repeat(x, 2, 1)", "x.repeat(2, 0)", "np.tile(x, 2)", "np.tile(x, (2, 1))",
    "np.tile(x, (2, 1, 1))", "np.tile(x, 1)", "np.tile(x[0], (3, 2))",
    "x.shape", "x.ndim", "x.size", "x.dtype", "x.itemsize", "x.nbytes", "x.strides", "np.shape(x)", "np.ndim(x)", "np.size(x)",
    "np.size(x, 1)", "len(x)", "x[1:].shape", "x.T.strides", "x.reshape(x.shape)", "x.reshape(x.shape[0], -1)", "x.reshape(x.size)",
]  # fmt: skip
MAY_BREAK = {"x.reshape(2, 2, 6)", "x.reshape((3, -1))", "x.reshape(2, 12)", "x.reshape(-1, order='A')", "np.reshape(x, (6, 4))",
             "x.strides", "x.T.strides"}  # fmt: skip


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("expression", VIEWS)
def test_views_and_copies(expression, layout):
    function = eval(f"lambda x: {expression}", NAMESPACE)
    check(function, lambda: (array(4, 6, layout=layout),), native=expression not in MAY_BREAK)


@pytest.mark.parametrize("expression", ["x.T", "x.reshape(-1)", "x.ravel()", "x.reshape(x.shape[1], -1)", "np.flip(x)", "x.flatten()",
                                        "x.diagonal()", "np.roll(x, 1, 0)", "np.tile(x, 2)", "np.repeat(x, 2)", "x.reshape(2, -1)"])  # fmt: skip
def test_sizes_vary_without_another_answer(expression):
    function = eval(f"lambda x: {expression}", NAMESPACE)
    shapes = [(4, 6), (6, 4), (2, 8), (3, 2)]
    check(function, *[lambda s=s: (array(*s),) for s in shapes])


@pytest.mark.parametrize("expression", ["x.real", "x.imag", "x.T.imag", "x[1:].real", "x.real + x.imag", "np.real(x)", "x.conj()", "x[0, 0].real", "x[0, 0].imag"])
@pytest.mark.parametrize("dtype", ["c8", "c16"])
def test_parts_of_complex_arrays(expression, dtype):
    check(eval(f"lambda x: {expression}", NAMESPACE), lambda: (array(3, 4, dtype=dtype),))


def test_parts_are_written_in_place():
    def function(x):
        x.real = 2
        x.imag[1:] += 1
        return x

    check(function, lambda: (array(3, 4, dtype="c16"),))


def test_a_view_sees_later_stores_and_passes_its_own_on():
    def function(x):
        v = x[1:]
        w = v.T
        x[2] = 50.0
        w[0] = -1.0
        y = v.copy()
        v[...] = 0.0
        return v, w, y

    check(function, lambda: (array(4, 6),))


def test_views_of_fresh_arrays_share_their_memory():
    def function(x):
        y = x + 1
        z = y.T
        y[0, 0] = 5
        return y, z, y[1:], y.reshape(-1)

    check(function, lambda: (array(4, 6),))


def test_equal_views_are_two_objects():
    def function(x):
        a, b = x[1:], x[1:]
        return a, b, x[:], x

    check(function, lambda: (array(4, 6),))


@pytest.mark.parametrize("expression", ["x.reshape(5, 5)", "x.reshape(-1, -1)", "x.transpose(0, 0)", "np.squeeze(x, 0)",
                                        "np.broadcast_to(x, (3, 3))", "np.swapaxes(x, 0, 5)", "np.moveaxis(x, 0, 9)"])  # fmt: skip
def test_what_numpy_refuses_raises(expression):
    check(eval(f"lambda x: {expression}", NAMESPACE), lambda: (array(4, 6),), native=False)


@pytest.mark.parametrize("shape", [(0, 3), (1, 4), (4, 1), (1, 1)])
@pytest.mark.parametrize("expression", ["x.T", "x.reshape(-1)", "x[::-1]", "x.ravel()", "x.squeeze()", "np.flip(x)", "x[1:]", "np.roll(x, 1)", "x + x.T.copy().T"])
def test_axes_of_no_or_one_element(expression, shape):
    check(eval(f"lambda x: {expression}", NAMESPACE), lambda: (array(*shape),))
