"""Transforms as they are called: arguments, containers, errors, caches, and what they must not do."""

import collections
import dataclasses
import gc
import re
import weakref

import numpy as np
import pytest

import numlift as nl

Pair = collections.namedtuple("Pair", "a b")


@dataclasses.dataclass
class Parameters:
    w: np.ndarray
    b: float


def same_tree(got, want):
    assert type(got) is type(want)
    if isinstance(want, (tuple, list)):
        assert len(got) == len(want)
        for g, w in zip(got, want):
            same_tree(g, w)
    elif isinstance(want, dict):
        assert list(got) == list(want)
        for key in want:
            same_tree(got[key], want[key])
    elif dataclasses.is_dataclass(want):
        same_tree(vars(got), vars(want))
    elif isinstance(want, str):
        assert got == want
    elif want is not None:
        np.testing.assert_allclose(got, want, rtol=1e-14)


def outside_and_inside(call, *args):
    """What the call gives in plain Python and in a compiled function, which must be one graph."""
    plain = call(*args)
    same_tree(nl.compile(call, fullgraph=True)(*args), plain)
    return plain


# ---------------------------------------------------------------- arguments


def test_argnums():
    x, y = np.arange(3.0), np.arange(3.0) + 1

    def f(x, y):
        return (x * y).sum()

    same_tree(outside_and_inside(lambda x, y: nl.grad(f, argnums=1)(x, y), x, y), x)
    same_tree(outside_and_inside(lambda x, y: nl.grad(f, (0, 1))(x, y), x, y), (y, x))
    same_tree(outside_and_inside(lambda x, y: nl.grad(f, -1)(x, y), x, y), x)
    value, gradient = outside_and_inside(lambda x, y: nl.value_and_grad(f, (1,))(x, y), x, y)
    assert value == (x * y).sum() and type(value) is np.float64
    same_tree(gradient, (x,))


def test_keyword_arguments_are_constant():
    def f(x, *, scale=1.0, power):
        return (scale * x**power).sum()

    x = np.arange(3.0)
    same_tree(outside_and_inside(lambda x: nl.grad(f)(x, scale=3.0, power=2), x), 6 * x)


def test_auxiliary_data():
    def f(x):
        return (x * x).sum(), {"doubled": x * 2, "name": "f"}

    x = np.arange(3.0)
    gradient, aux = outside_and_inside(lambda x: nl.grad(f, has_aux=True)(x), x)
    same_tree((gradient, aux["doubled"]), (2 * x, 2 * x))
    (value, aux), gradient = outside_and_inside(lambda x: nl.value_and_grad(f, has_aux=True)(x), x)
    assert value == 5.0 and aux["name"] == "f"
    value, pull, aux = nl.vjp(f, x, has_aux=True)
    same_tree(pull(2.0), (4 * x,))
    value, change, aux = outside_and_inside(lambda x: nl.jvp(f, (x,), (x,), has_aux=True), x)
    assert value == 5.0 and change == 10.0
    with pytest.raises(TypeError, match="pair"):
        nl.grad(lambda x: x.sum(), has_aux=True)(x)


def test_containers():
    w, b = np.arange(3.0), 2.0

    def f(p, x):
        return (p["w"] * x).sum() + p["list"][0] * p["list"][1][1]

    got = outside_and_inside(lambda w, b: nl.grad(f)({"w": w, "list": [b, (None, b + 1)]}, np.ones(3)), w, b)
    same_tree(got, {"w": np.ones(3), "list": [np.float64(3.0), (None, np.float64(2.0))]})

    got = nl.grad(lambda p: (p.w * p.b).sum())(Parameters(w, b))
    same_tree(got, Parameters(np.full(3, 2.0), np.float64(3.0)))
    inside = nl.compile(lambda w, b: nl.grad(lambda p: (p.w * p.b).sum())(Parameters(w, b)), fullgraph=True)(w, b)
    same_tree(inside, got)

    got = outside_and_inside(lambda w: nl.grad(lambda p: (p.a * p.b).sum())(Pair(w, w + 1)), w)
    same_tree(got, Pair(w + 1, w))


def test_results_in_containers():
    x = np.arange(1.0, 4.0)

    def f(x):
        return {"square": x * x, "pair": (x[0], [x.sum()])}

    value, change = outside_and_inside(lambda x: nl.jvp(f, (x,), (np.ones(3),)), x)
    same_tree(change, {"square": 2 * x, "pair": (np.float64(1.0), [np.float64(3.0)])})
    value, pull = nl.vjp(f, x)
    same_tree(pull({"square": np.zeros(3), "pair": (1.0, [2.0])}), (np.array([3.0, 2.0, 2.0]),))
    jacobian = outside_and_inside(lambda x: nl.jacobian(f)(x), x)
    same_tree(jacobian["square"], np.diag(2 * x))
    same_tree(jacobian["pair"][0], np.array([1.0, 0.0, 0.0]))


def test_jacobian_and_hessian():
    x, y = np.arange(4.0), np.float64(2.0)
    got = outside_and_inside(lambda x, y: nl.jacobian(lambda x, y: x[1:] * y, (0, 1))(x, y), x, y)
    same_tree(got, (2 * np.eye(4)[1:], x[1:]))
    got = outside_and_inside(lambda x: nl.jacobian(lambda a: a @ a)(x.reshape(2, 2)), x)
    assert got.shape == (2, 2, 2, 2)
    step = 1e-6
    for i in np.ndindex(2, 2):
        d = np.zeros((2, 2))
        d[i] = step
        m = x.reshape(2, 2)
        np.testing.assert_allclose(got[(..., *i)], ((m + d) @ (m + d) - (m - d) @ (m - d)) / (2 * step), atol=1e-8)
    h = outside_and_inside(lambda x: nl.hessian(lambda x: (x**3).sum() + x[0] * x[1])(x), x)
    want = np.diag(6 * x)
    want[0, 1] = want[1, 0] = 1.0
    same_tree(h, want)


def test_vjp_inside_and_its_pullback():
    def both(x):
        value, pull = nl.vjp(lambda x: x * x, x)
        return value, pull(np.ones(3))[0] + pull(x)[0]

    x = np.arange(3.0)
    same_tree(outside_and_inside(both, x), (x * x, 2 * x + 2 * x * x))


def test_the_arguments_of_a_plain_vjp_are_kept():
    x = np.arange(3.0)
    _, pull = nl.vjp(lambda x: x * x, x)
    x[:] = 7.0
    same_tree(pull(np.ones(3)), (2 * np.arange(3.0),))


# ---------------------------------------------------------------- vmap


def test_axes_of_vmap(rng):
    a, b = rng.uniform(0.5, 1.5, (3, 2, 4)), rng.uniform(0.5, 1.5, (2, 3))  # no sum cancels
    got = outside_and_inside(lambda a, b: nl.vmap(lambda a, b: a.sum() * b, in_axes=(1, 0))(a, b), a, b)
    same_tree(got, np.stack([a[:, i].sum() * b[i] for i in range(2)]))
    got = outside_and_inside(lambda a, b: nl.vmap(lambda a, b: a * b.sum(), in_axes=(-1, None), out_axes=1)(a, b), a, b)
    same_tree(got, np.stack([a[..., i] * b.sum() for i in range(4)], axis=1))
    trees = nl.vmap(lambda p, c: (p["a"][0] * p["b"].sum(), c), in_axes=({"a": 1, "b": None}, 0), out_axes=(1, 0))
    got = outside_and_inside(lambda a, b: trees({"a": a, "b": b}, b), a, b)
    same_tree(got, (a[0].T * b.sum(), b))
    got = outside_and_inside(lambda a, b: nl.vmap(lambda x, *, y: x @ y, in_axes=(1,))(b, y=a[:, :, 0]), a, b)
    same_tree(got, np.stack([b[:, i] @ a[i, :, 0] for i in range(3)]))


def test_vmap_gives_the_bits_of_a_loop(rng):
    def f(x, y):
        a = np.zeros(3)
        a[1:] = np.sin(x)[:2] * y
        a[0] += np.exp(y)
        return a / (x + 4.0), np.where(x > 0, x, y), np.maximum(x, y).astype(np.float32)

    x, y = rng.standard_normal((5, 3)), rng.standard_normal(5)
    got = outside_and_inside(lambda x, y: nl.vmap(f)(x, y), x, y)
    compiled = nl.compile(f)
    rows = [compiled(x[i], y[i]) for i in range(5)]
    for k in range(3):
        np.testing.assert_array_equal(got[k], np.stack([row[k] for row in rows]))


def test_vmap_of_integers_and_truth_values():
    x = np.arange(6).reshape(2, 3)
    same_tree(outside_and_inside(lambda x: nl.vmap(lambda r: (r * 2, r > 1, r.argmax(), 7))(x), x), (x * 2, x > 1, np.array([2, 2]), np.array([7, 7])))


def test_vmap_of_none_and_of_one():
    f = nl.vmap(lambda r: np.sin(r).sum())
    assert f(np.ones((0, 3))).shape == (0,)
    assert f(np.ones((1, 3))).shape == (1,)


def test_nested_vmap(rng):
    a, b = rng.standard_normal((3, 2)), rng.standard_normal((4, 2))
    got = outside_and_inside(lambda a, b: nl.vmap(lambda x: nl.vmap(lambda y: x @ y)(b))(a), a, b)
    same_tree(got, a @ b.T)


def test_vmap_leaves_no_single_example_behind():
    seen = []

    def f(r):
        seen.append(r * 2)
        return r.sum()

    with pytest.raises(nl.Unsupported, match="example"):
        nl.vmap(f)(np.ones((3, 2)))
    assert seen == []


# ---------------------------------------------------------------- bad input


def raises(error, match, call, *args):
    for one in (call, nl.compile(call), nl.compile(call, fullgraph=True)):
        with pytest.raises(error, match=match):
            one(*args)


def test_sizes_that_differ():
    a, b = np.ones((3, 2)), np.ones(4)
    raises(ValueError, r"argument 0 along axis 0: 3, argument 1 along axis 0: 4", lambda a, b: nl.vmap(np.add)(a, b), a, b)
    raises(ValueError, r"argument y along axis 0: 4", lambda a, b: nl.vmap(lambda x, y: x)(a, y=b), a, b)
    raises(ValueError, "no axis 1", lambda a, b: nl.vmap(np.sum, in_axes=1)(b), a, b)
    raises(ValueError, "no argument", lambda a, b: nl.vmap(lambda x: x, in_axes=None)(b), a, b)
    raises(ValueError, "in_axes", lambda a, b: nl.vmap(np.add, in_axes=(0,))(a, b), a, b)


def test_integers_have_no_gradient():
    raises(TypeError, "argument 0 of numlift.grad has dtype int64", lambda x: nl.grad(lambda x: x.sum() * 1.0)(x), np.arange(3))
    raises(TypeError, "dtype bool", lambda x: nl.grad(lambda x: x.sum() * 1.0)(x), np.array([True]))
    raises(TypeError, "argument 0 of numlift.grad is a str", lambda x: nl.grad(lambda s: 1.0)("a"), np.arange(3))
    raises(TypeError, "dtype int64", lambda x: nl.jvp(lambda x: x.astype(int), (x,), (x,)), np.ones(3))
    raises(ValueError, "argnums", lambda x: nl.grad(lambda x: x.sum(), 1)(x), np.ones(3))
    for bad in (1.5, (), "0", (0, None), True):
        with pytest.raises(TypeError, match="argnums"):
            nl.grad(np.sum, bad)
    with pytest.raises(TypeError, match="callable"):
        nl.grad(3)


def test_what_has_no_rule_is_named():
    def f(x):
        return np.interp(x, np.array([0.0, 1.0]), np.array([0.0, 2.0])).sum()

    raises(nl.Unsupported, r"numpy\.interp has no gradient rule \(.*test_transforms\.py:\d+\)", lambda x: nl.grad(f)(x), np.ones(3))
    # A part that hangs on no variable needs none.
    same_tree(nl.grad(lambda x: f(np.ones(3)) * x)(2.0), np.float64(6.0))


def test_cotangents_that_do_not_fit():
    _, pull = nl.vjp(lambda x: x * 2, np.ones(3))
    with pytest.raises(ValueError, match="cotangent"):
        pull(np.ones(4))
    with pytest.raises(ValueError, match="2 cotangents are given for 1"):
        pull((np.ones(3), np.ones(3)))


def test_what_the_function_raises_is_its_own():
    def f(x):
        if x.shape[0] > 2:
            raise KeyError("too long")
        return x.sum()

    with pytest.raises(KeyError, match="too long"):
        nl.grad(f)(np.ones(3))
    with pytest.raises(KeyError, match="too long"):
        nl.vmap(f)(np.ones((2, 3)))
    with pytest.raises(np.linalg.LinAlgError, match="Singular"):
        nl.grad(lambda a: np.linalg.inv(a).sum())(np.zeros((2, 2)))
    same_tree(nl.grad(f)(np.ones(2)), np.ones(2))


def test_nothing_warns():
    with np.errstate(all="raise"):
        assert nl.grad(np.sqrt)(0.0) == np.inf
        assert np.isnan(nl.grad(lambda x: np.sqrt(x) * 0)(0.0))
        assert nl.compile(lambda x: nl.grad(np.sqrt)(x))(0.0) == np.inf


# ---------------------------------------------------------------- what they must not do


def test_arguments_are_copies():
    def f(x):
        x *= 2
        x[0] = 0
        return x.sum()

    x = np.ones(3)
    same_tree(outside_and_inside(lambda x: nl.grad(f)(x), x), np.array([0.0, 2.0, 2.0]))
    same_tree(x, np.ones(3))


def test_results_share_no_memory():
    a, b = nl.grad(lambda x, y: (x + y).sum(), (0, 1))(np.ones(3), np.ones(3))
    assert not np.shares_memory(a, b) and a.flags.writeable and b.flags.writeable
    a[0] = 5
    assert b[0] == 1


def test_captured_arrays_are_constant_and_read_anew():
    w = np.ones(3)
    g = nl.grad(lambda x: (w * x).sum())
    same_tree(g(np.zeros(3)), w)
    w[:] = 2.0
    same_tree(g(np.zeros(3)), np.full(3, 2.0))
    with pytest.raises(nl.Unsupported, match="stores to an array that it did not make"):

        def f(x):
            w[0] = x[0]
            return (w * x).sum()

        nl.grad(f)(np.ones(3))


def test_one_program_serves_all_functions_of_one_code():
    def made(k):
        return lambda x: (x * k).sum()

    nl.reset()
    for k in range(1, 6):
        same_tree(nl.grad(made(float(k)))(np.ones(3)), np.full(3, float(k)))
        same_tree(nl.grad(made(float(k)))(np.ones(5)), np.full(5, float(k)))
    assert sum("entry" in name for name, *_ in map(tuple, compile_names())) <= 1


def compile_names():
    return [(str(one[0] if isinstance(one, tuple) else getattr(one, "function", one)),) for one in nl.compile_times()]


def test_functions_are_not_kept_alive():
    def f(x):
        return (x * x).sum()

    array = np.ones(3)
    h = lambda x: (f(x) * array).sum()  # noqa: E731
    nl.grad(h)(np.ones(3))
    alive = weakref.ref(h)
    del h
    gc.collect()
    assert alive() is None


def test_sizes_may_change():
    g = nl.grad(lambda x: (x[1:] * x[:-1]).sum())
    for n in (4, 5, 2, 9):
        x = np.arange(float(n))
        want = np.zeros(n)
        want[1:] += x[:-1]
        want[:-1] += x[1:]
        same_tree(g(x), want)


def test_gradient_of_a_gradient_step():
    """Through stores, views and a loop that is unrolled, twice."""

    def inner(w, x):
        for _ in range(3):
            w = w - 0.1 * nl.grad(lambda w: ((w * x) ** 2).sum())(w)
        return (w**2).sum()

    w, x = np.array([1.0, 2.0]), np.array([0.5, 1.5])
    got = outside_and_inside(lambda w, x: nl.grad(inner)(w, x), w, x)
    same_tree(got, 2 * w * (1 - 0.2 * x**2) ** 6)


def test_the_backend_graph_gives_the_same():
    def f(x):
        return nl.grad(lambda x: (np.sin(x)[1:] * x[:-1]).sum())(x)

    x = np.arange(4.0)
    want = nl.compile(f)(x)
    for backend in ("graph", "eager"):
        np.testing.assert_allclose(nl.compile(f, backend=backend)(x), want, rtol=1e-14)


def test_repr_names_the_function():
    assert re.match(r"numlift\.grad\(<function ", repr(nl.grad(test_repr_names_the_function)))
