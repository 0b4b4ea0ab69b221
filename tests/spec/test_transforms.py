"""Lines of the specification on gradients and batches."""

import re

import numpy as np
import pytest

import numlift as nl


def one_graph(function, *args):
    return nl.explain(function)(*args).graph_count == 1


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_spec_5_1_5_3_a_gradient_inside_a_compiled_function(rng, dtype):
    def wrapper_fn(x):
        return nl.grad(lambda x: np.sin(x).sum())(x)

    x = rng.standard_normal((3, 3, 3)).astype(dtype)
    for fullgraph in (False, True):
        grad_x = nl.compile(wrapper_fn, fullgraph=fullgraph)(x)
        assert grad_x.shape == (3, 3, 3) and grad_x.dtype == dtype
        np.testing.assert_allclose(grad_x, np.cos(x), rtol=4 * np.finfo(dtype).eps)
    np.testing.assert_array_equal(wrapper_fn(x), grad_x)  # outside, too
    assert one_graph(wrapper_fn, x)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_spec_5_2_5_3_vmap_inside_a_compiled_function(rng, dtype):
    def my_fn(x):
        return nl.vmap(lambda x: x.sum(1))(x)

    x = rng.standard_normal((3, 3, 3)).astype(dtype)
    out = nl.compile(my_fn, fullgraph=True)(x)
    assert out.shape == (3, 3) and out.dtype == dtype
    np.testing.assert_allclose(out, x.sum(2), rtol=1e-5)
    np.testing.assert_array_equal(my_fn(x), out)
    assert one_graph(my_fn, x)


def test_spec_5_3_transforms_nest(rng):
    def per_row(x):
        return nl.vmap(nl.grad(lambda r: np.sin(r).sum() * r[0]))(x)

    x = rng.standard_normal((4, 3))
    want = np.stack([nl.grad(lambda r: np.sin(r).sum() * r[0])(row) for row in x])
    np.testing.assert_allclose(nl.compile(per_row, fullgraph=True)(x), want, rtol=1e-13)
    np.testing.assert_allclose(per_row(x), want, rtol=1e-13)
    assert one_graph(per_row, x)
    second = nl.grad(nl.grad(lambda v: v**4))
    assert second(2.0) == 48.0 and nl.compile(lambda v: second(v), fullgraph=True)(2.0) == 48.0


def test_spec_5_4_a_transform_around_a_compiled_function(rng):
    f = nl.compile(lambda x: (x**3).sum())
    x = rng.standard_normal(5)
    np.testing.assert_allclose(nl.grad(f)(x), 3 * x**2, rtol=1e-14)
    np.testing.assert_allclose(nl.vmap(f)(x[:, None]), x**3, rtol=1e-14)


@pytest.mark.parametrize(
    "function, words",
    [
        (lambda x: x * 2, [r"shape \(3,\)", "float64"]),
        (lambda x: (x > 0).sum(), [r"shape \(\)", "int64"]),
        (lambda x: x.astype(complex).sum(), [r"shape \(\)", "complex128"]),
    ],
)
def test_spec_5_5_a_gradient_of_what_is_no_real_number(function, words):
    for call in (
        nl.grad(function),
        nl.compile(lambda x: nl.grad(function)(x)),
        nl.compile(lambda x: nl.grad(function)(x), fullgraph=True),
    ):
        with pytest.raises(TypeError) as raised:
            call(np.ones(3))
        for word in words:
            assert re.search(word, str(raised.value)), raised.value


def test_spec_5_6_a_gradient_never_passes_a_graph_break(capsys):
    def breaks(x):
        y = x * 2
        print("here")
        return y.sum()

    for call in (
        nl.grad(breaks),
        nl.compile(lambda x: nl.grad(breaks)(x)),
        nl.compile(lambda x: nl.grad(breaks)(x), fullgraph=True),
        nl.grad(nl.compile(breaks)),
    ):
        with pytest.raises(nl.Unsupported, match="print"):
            call(np.ones(3))
    assert capsys.readouterr().out == ""
