"""Strides and flags of views as NumPy shows them, also where they move nothing: on axes of size 1."""

import itertools

import numpy as np
import pytest

from differential import array, check

NAMESPACE = {"np": np}

# Each is made for every size of every axis from this list, so that axes of size 1 stand in all places.
SHAPES = [(4, 6), (1, 6), (4, 1), (1, 1)]
SHAPES_3D = [(2, 3, 4), (1, 3, 4), (2, 1, 4), (2, 3, 1), (1, 1, 4), (2, 1, 1), (1, 3, 1), (1, 1, 1)]

LAYOUTS = {
    "C": lambda *s: array(*s),
    "F": lambda *s: array(*s, layout="F"),
    "transposed": lambda *s: array(*reversed(s)).T,
    "reversed": lambda *s: array(*s)[::-1],
    "all reversed": lambda *s: np.flip(array(*s)),
    "strided": lambda *s: array(*s, layout="strided"),
    "last axis strided": lambda *s: array(*s[:-1], 2 * s[-1])[..., ::2],
    "part of rows": lambda *s: array(*s[:-1], s[-1] + 3)[..., 1:-2],
    "part of columns": lambda *s: array(s[0] + 3, *s[1:])[1:-2],
    "every second row": lambda *s: array(2 * s[0], *s[1:])[::2],
    "axes moved": lambda *s: np.moveaxis(array(s[-1], *s[:-1]), 0, -1),
    "new axis": lambda *s: array(*s)[:, None][:, 0],
}

VIEWS = [
    "x[None]", "x[:, None]", "x[..., None]", "x[None, ..., None]", "x[:1]", "x[:, :1]", "x[-1:]", "x[::-1]", "x[:, ::-1]", "x[::-1, None]",
    "x[1:2]", "x[::2]", "x[::-2, ::2]", "x[0][None]", "x[0, None, None]", "x[0]", "x[:, 0]", "x[..., 0]", "x[0, :, None]",
    "np.expand_dims(x, 0)", "np.expand_dims(x, 1)", "np.expand_dims(x, -1)", "np.expand_dims(x, (0, -1))",
    "x.squeeze()", "np.squeeze(x[None], 0)", "np.squeeze(x[:, None])", "x.T", "x.mT", "x[None].T", "np.swapaxes(x, 0, 1)", "np.swapaxes(x[None], 0, 2)",
    "np.moveaxis(x, 0, -1)", "np.moveaxis(x[:, None], 1, 0)", "np.rollaxis(x, 1)", "np.transpose(x[None], (1, 0, 2))",
    "np.atleast_1d(x)", "np.atleast_2d(x[0])", "np.atleast_3d(x)", "np.atleast_3d(x[0])", "np.atleast_2d(x[0, 0])", "np.atleast_1d(x[0, 0])", "np.atleast_3d(x[0, 0])",
    "np.flip(x)", "np.flip(x, 0)", "np.flipud(x)", "np.fliplr(x)", "np.rot90(x)", "np.rot90(x, 2)", "np.rot90(x, 3)",
    "np.broadcast_to(x, (3, 4, 6))", "np.broadcast_to(x[0], (1, 6))", "np.broadcast_to(x[:, :1], (4, 1))", "np.broadcast_to(x, x.shape)",
    "np.broadcast_to(x[None], (1, *x.shape))", "np.diagonal(x)", "x.diagonal(1)", "x.diagonal(-1)", "np.diag(x)", "x.view()", "x.real", "x[...]",
    "x.reshape(1, -1)", "x.reshape(-1, 1)", "x.reshape(-1)", "x.reshape(1, *x.shape)", "x.reshape(*x.shape, 1)", "x.reshape(x.shape[0], 1, x.shape[1])",
    "x.reshape(1, 1, -1)", "x.reshape(-1, 1, 1)", "x.reshape(1, -1, 1)", "x.reshape(1, *x.shape, 1)", "x.reshape(x.shape)", "x.reshape(1, *x.shape, order='F')",
    "x.reshape(*x.shape, 1, order='F')", "x.reshape(1, -1, order='F')", "x.reshape(-1, 1, order='F')", "x.ravel()", "x.ravel('K')", "x.flatten()",
    "x[0].reshape(1, -1)", "x[0].reshape(-1, 1)", "x[:, 0].reshape(1, -1)", "x[:, 0].reshape(-1, 1)", "x[0, ::-1].reshape(1, -1)", "x[0, ::-1].reshape(-1, 1)",
    "x[::-1, 0].reshape(1, -1)", "x[0].reshape(1, 1, -1)", "x[0][::2].reshape(1, -1)", "x[0, 0:1].reshape(1, 1)", "x[0, 0:1].reshape(())",
    "np.reshape(x[0], (1, -1))", "x[:, None].reshape(-1)", "x[:, None].reshape(x.shape)", "x[None].reshape(1, -1)",
    "x.copy()", "x.copy('K')", "x.copy('F')", "x[None].copy('K')", "x + 1", "x[None] + 1", "np.empty_like(x)[:0].shape", "x[:, None] * 2", "x.astype('f4')",
    "np.split(x, 1)", "np.atleast_2d(x[:, 0]).T", "np.matrix_transpose(x)", "(x + 1)[None]", "(x + 1).reshape(1, -1)", "(x.T + 1)[:, None]",
    "(x + 1)[:1]", "(x[::-1] + 1)[None].squeeze(0)", "np.concatenate([x, x])[None]", "x.sum(0, keepdims=True)", "x.sum(1, keepdims=True)", "x[:, None].sum(-1)",
]  # fmt: skip
VIEWS_3D = [
    "x.squeeze()", "x.T", "x.reshape(-1)", "x.reshape(1, -1)", "x.reshape(x.shape[0], -1)", "x.reshape(-1, x.shape[-1])", "x.reshape(*x.shape, 1)",
    "x.reshape(x.shape[0], 1, *x.shape[1:])", "x[:, 0]", "x[..., 0]", "x[::-1]", "x[:, ::-1]", "x.transpose(1, 0, 2)", "np.moveaxis(x, -1, 0)", "np.swapaxes(x, 0, 2)", "x.mT",
    "x[None]", "np.flip(x, 1)", "np.diagonal(x, 0, 1, 2)", "x.copy('K')", "x + 1", "x.reshape(*x.shape, order='F')", "x.reshape(-1, 1, order='F')",
]  # fmt: skip


def outcome_is_numpys(expression, shapes, layout):
    # One compiled function a shape: axes of size 1 make another program anyway, and a failure names its shape.
    function = eval(f"lambda x: {expression}", NAMESPACE)
    for shape in shapes:
        check(function, lambda: (LAYOUTS[layout](*shape),), native=False)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("expression", VIEWS)
def test_matrices(expression, layout):
    outcome_is_numpys(expression, SHAPES, layout)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("expression", VIEWS_3D)
def test_three_axes(expression, layout):
    outcome_is_numpys(expression, SHAPES_3D, layout)


@pytest.mark.parametrize("first, second", itertools.product(["v[None]", "v[:, None]", "v.T", "v.reshape(1, -1)", "v[::-1]", "v.squeeze()", "v[:1]"], repeat=2))
def test_views_of_views(first, second):
    function = eval(f"lambda x: (lambda v: {second})({first})", NAMESPACE)
    for layout in LAYOUTS:
        for shape in SHAPES:
            check(function, lambda: (LAYOUTS[layout](*shape),), native=False, backends=["llvm"])


def test_one_program_serves_slices_of_one_element_and_of_more():
    check(lambda x, n: (x[:n], x[:n].T, x[:n][None]), *[lambda n=n: (array(4, 6), n) for n in (3, 2, 1, 4)])


def test_strides_that_moved_nothing_move_once_the_shape_is_changed_back():
    """The array that a call returns is an ordinary one: NumPy computes with its strides."""
    import numlift as nl

    x = array(4, 6)
    got = nl.compile(lambda x: x[:, None, ::-1])(x)
    np.testing.assert_array_equal(np.lib.stride_tricks.as_strided(got, (2, 1, 6)), x[:2, None, ::-1])
    assert np.shares_memory(got, x)
