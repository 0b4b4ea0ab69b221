"""One case: value, vjp, jvp, second order and vmap."""

import numpy as np

import numlift as nl

STEP = 1e-6


def _pair(cotangent, change):
    """How a cotangent counts a change: see numlift/graph/transforms.h."""
    return float(np.real(np.sum(np.asarray(cotangent) * np.asarray(change))))


def _like(rng, value):
    made = rng.uniform(0.5, 1.5, np.shape(value))
    if np.iscomplexobj(value):
        made = made + 1j * rng.uniform(0.5, 1.5, np.shape(value))
    return made if np.ndim(value) else made[()]


def _copies(args):
    return [np.array(a) if np.ndim(a) else a for a in args]


def _difference(function, args, place, direction):
    def at(step):
        moved = _copies(args)
        moved[place] = moved[place] + step * direction
        return np.asarray(function(*moved))

    return (at(STEP) - at(-STEP)) / (2 * STEP)


def _close(got, want, what, tolerance):
    np.testing.assert_allclose(got, want, rtol=tolerance, atol=tolerance, err_msg=what)


def check_value_and_vjp(function, args, tolerance=1e-5):
    rng = np.random.default_rng(7)
    value, pull = nl.vjp(function, *_copies(args))
    want = function(*_copies(args))
    assert np.shape(value) == np.shape(want) and np.asarray(value).dtype == np.asarray(want).dtype
    _close(value, want, "value", 1e-12 if np.asarray(want).dtype.itemsize >= 8 else 1e-5)
    cotangent = _like(rng, want)
    gradients = pull(cotangent)
    for place, (gradient, arg) in enumerate(zip(gradients, args)):
        assert np.shape(gradient) == np.shape(arg) and np.asarray(gradient).dtype == np.asarray(arg).dtype
        for _ in range(2):
            direction = _like(rng, arg)
            change = _difference(function, args, place, direction)
            _close(_pair(gradient, direction), _pair(cotangent, change), f"vjp of argument {place}", tolerance)


def check_jvp(function, args, tolerance=1e-5):
    rng = np.random.default_rng(8)
    tangents = [_like(rng, arg) for arg in args]
    value, change = nl.jvp(function, tuple(_copies(args)), tuple(tangents))
    want = sum(_difference(function, args, place, tangent) for place, tangent in enumerate(tangents))
    assert np.shape(change) == np.shape(value) and np.asarray(change).dtype == np.asarray(value).dtype
    _close(change, want, "jvp", tolerance)


def check_second_order(function, args, tolerance=1e-4):
    """The gradient of a function of the gradient, against differences of the first gradient."""
    rng = np.random.default_rng(9)
    weights = _like(rng, function(*_copies(args)))

    def loss(x, *rest):
        return np.real(np.sum(function(x, *rest) * weights))

    first = nl.grad(loss)
    directions = _like(rng, args[0])

    def slope(x, *rest):
        return np.real(np.sum(first(x, *rest) * directions))

    second = nl.grad(slope)(*_copies(args))
    direction = _like(rng, args[0])
    change = _difference(first, args, 0, direction)
    _close(_pair(second, direction), _pair(change, directions), "second order", tolerance)


def check_vmap(function, args, exact):
    """Bit for bit where each element is computed on its own."""
    stacks = [np.stack([np.asarray(a) * f for f in (1.0, 0.9, 1.1)]) for a in args]
    got = nl.vmap(function)(*stacks)
    want = np.stack([np.asarray(function(*[np.array(s[i]) if s[i].ndim else s[i] for s in stacks])) for i in range(3)])
    assert got.shape == want.shape and got.dtype == want.dtype
    if exact:
        np.testing.assert_array_equal(got, want)
    else:
        _close(got, want, "vmap", 1e-12 if got.dtype.itemsize >= 8 else 1e-5)
