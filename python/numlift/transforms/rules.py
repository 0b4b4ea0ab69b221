"""Gradients of what NumPy computes by calls: by name of the call.

A rule gets the cotangent of the result, the result, and the call's arguments; it gives a cotangent for each
positional argument, or None where there is none, or NotImplemented for arguments it does not know. Rules are
traced like the user's code, so they may be differentiated themselves.
"""

import numpy as np

from .primitives import place, place_along, slide, sum_from_end, unpadded, winning
from .registry import adds_to

GRADIENTS = {}
_rule = adds_to(GRADIENTS)


def _sum_to(g, like):
    """The sum over the axes along which `like` was broadcast."""
    extra = g.ndim - like.ndim
    if extra > 0:
        g = g.sum(axis=tuple(range(extra)))
    axes = tuple(axis for axis in range(like.ndim) if like.shape[axis] == 1 and g.shape[axis] != 1)
    return g.sum(axis=axes, keepdims=True) if axes else g


def _transposed(a):
    return np.swapaxes(a, -1, -2)


# ---------------------------------------------------------------- products


@_rule("numpy.matmul", "numpy.linalg.matmul")
def matmul(g, result, a, b, /):
    if a.ndim == 1 and b.ndim == 1:
        return g * b, g * a
    left = a[None, :] if a.ndim == 1 else a
    right = b[:, None] if b.ndim == 1 else b
    if a.ndim == 1:
        g = g[..., None, :]
    if b.ndim == 1:
        g = g[..., None]
    to_left = _sum_to(np.matmul(g, _transposed(right)), left)
    to_right = _sum_to(np.matmul(_transposed(left), g), right)
    return to_left[0] if a.ndim == 1 else to_left, to_right[:, 0] if b.ndim == 1 else to_right


def _contraction(g, a, b, of_a, of_b):
    free_a = [axis for axis in range(a.ndim) if axis not in of_a]
    free_b = [axis for axis in range(b.ndim) if axis not in of_b]
    if not free_a and not free_b:
        return g * b.transpose([of_b[of_a.index(axis)] for axis in range(a.ndim)]), g * a.transpose(
            [of_a[of_b.index(axis)] for axis in range(b.ndim)]
        )
    split = len(free_a)
    to_a = np.tensordot(g, b, axes=(list(range(split, g.ndim)), free_b))
    order_b = sorted(of_b)
    places = [
        free_a.index(axis) if axis in free_a else split + order_b.index(of_b[of_a.index(axis)])
        for axis in range(a.ndim)
    ]
    to_a = to_a.transpose(places)
    to_b = np.tensordot(a, g, axes=(free_a, list(range(split))))
    order_a = sorted(of_a)
    places = [
        len(of_a) + free_b.index(axis) if axis in free_b else order_a.index(of_a[of_b.index(axis)])
        for axis in range(b.ndim)
    ]
    return to_a, to_b.transpose(places)


def _is_number(value):
    return np.ndim(value) == 0


def _scaled(g, a, b):
    if _is_number(a):
        return (g * b).sum(), g * a
    return g * b, (g * a).sum()


@_rule("numpy.dot", "numpy.ndarray.dot")
def dot(g, result, a, b, /):
    if _is_number(a) and _is_number(b):
        return g * b, g * a
    if _is_number(a) or _is_number(b):
        return _scaled(g, a, b)
    return _contraction(g, a, b, [a.ndim - 1], [max(b.ndim - 2, 0)])


@_rule("numpy.inner")
def inner(g, result, a, b, /):
    if _is_number(a) and _is_number(b):
        return g * b, g * a
    if _is_number(a) or _is_number(b):
        return _scaled(g, a, b)
    return _contraction(g, a, b, [a.ndim - 1], [b.ndim - 1])


@_rule("numpy.tensordot", "numpy.linalg.tensordot")
def tensordot(g, result, a, b, /, axes=2):
    if isinstance(axes, int):
        of_a, of_b = list(range(a.ndim - axes, a.ndim)), list(range(axes))
    else:
        of_a, of_b = axes
        of_a = [of_a] if isinstance(of_a, int) else list(of_a)
        of_b = [of_b] if isinstance(of_b, int) else list(of_b)
    of_a = [axis % a.ndim for axis in of_a]
    of_b = [axis % b.ndim for axis in of_b]
    return _contraction(g, a, b, of_a, of_b)


@_rule("numpy.vdot")
def vdot(g, result, a, b, /):
    to_a = np.conjugate(g * b).reshape(np.shape(a))
    return to_a, (g * np.conjugate(a)).reshape(np.shape(b))


@_rule("numpy.outer", "numpy.linalg.outer")
def outer(g, result, a, b, /):
    flat_a, flat_b = np.ravel(a), np.ravel(b)
    return (g * flat_b).sum(axis=1).reshape(np.shape(a)), (g * flat_a[:, None]).sum(axis=0).reshape(
        np.shape(b)
    )


@_rule("numpy.linalg.vecdot", "numpy.vecdot")
def vecdot(g, result, a, b, /):
    wide = g[..., None]
    return _sum_to(np.conjugate(wide * b), a), _sum_to(wide * np.conjugate(a), b)


@_rule("numpy.cross", "numpy.linalg.cross")
def cross(g, result, a, b, /):
    if a.shape[-1] != 3 or b.shape[-1] != 3:
        return NotImplemented
    return _sum_to(np.cross(b, g), a), _sum_to(np.cross(g, a), b)


@_rule("numpy.einsum")
def einsum(g, result, subscripts, /, *operands, optimize=False):
    if type(subscripts) is not str or "." in subscripts:
        return NotImplemented
    text = subscripts.replace(" ", "")
    if "->" in text:
        given, target = text.split("->")
    else:
        given = text
        letters = given.replace(",", "")
        target = "".join([c for c in sorted(set(letters)) if letters.count(c) == 1])
    names = given.split(",")
    gradients = []
    for k, operand in enumerate(operands):
        own = names[k]
        others = [names[i] for i in range(len(names)) if i != k]
        known = target + "".join(others)
        if any([own.count(c) != 1 for c in own]):
            return NotImplemented
        found = "".join([c for c in own if c in known])
        rest = [operands[i] for i in range(len(operands)) if i != k]
        part = np.einsum(",".join([target] + others) + "->" + found, g, *rest)
        if len(found) != len(own):
            index = tuple([slice(None) if c in known else None for c in own])
            part = np.broadcast_to(part[index] if found else part, operand.shape)
        gradients.append(part)
    return (None, *gradients)


@_rule("numpy.convolve")
def convolve(g, result, a, v, /, mode="full"):
    if mode == "full" and not (np.iscomplexobj(a) or np.iscomplexobj(v)):
        return slide(g, v), slide(g, a)
    if mode == "full":
        return np.correlate(g, np.conjugate(v), "valid"), np.correlate(g, np.conjugate(a), "valid")
    if mode == "valid" and a.size >= v.size:
        return np.convolve(g, v[::-1], "full"), np.correlate(a, np.conjugate(g), "valid")[::-1]
    return NotImplemented


@_rule("numpy.correlate")
def correlate(g, result, a, v, /, mode="valid"):
    if np.iscomplexobj(a) or np.iscomplexobj(v) or mode != "valid" or a.size < v.size:
        return NotImplemented
    return np.convolve(g, v), np.correlate(a, g)


@_rule("numlift.slide")
def slid(g, result, longer, shorter, /):
    return np.convolve(g, shorter), slide(longer, g)


# ---------------------------------------------------------------- along axes


@_rule("numpy.cumsum", "numpy.ndarray.cumsum", "numpy.cumulative_sum")
def cumsum(g, result, a, /, axis=None, dtype=None, include_initial=False):
    if include_initial:
        return NotImplemented
    return (sum_from_end(a, g, axis),)


@_rule("numlift.sum_from_end")
def summed_from_end(g, result, like, values, axis, /):
    return None, np.cumsum(g, axis=axis), None


@_rule("numpy.cumprod", "numpy.ndarray.cumprod", "numpy.cumulative_prod")
def cumprod(g, result, a, /, axis=None, dtype=None, include_initial=False):
    """Not a number where an element is 0."""
    if include_initial:
        return NotImplemented
    return (sum_from_end(a, g * result, axis) / a,)


def _sorted(g, a, axis):
    order = np.argsort(a, axis=axis)
    return np.take_along_axis(g, np.argsort(order, axis=axis), axis)


@_rule("numpy.sort")
def sort(g, result, a, /, axis=-1, kind=None, stable=None):
    if axis is None:
        return (_sorted(g, a.ravel(), 0).reshape(a.shape),)
    return (_sorted(g, a, axis),)


@_rule("numpy.ndarray.sort")
def sort_in_place(g, result, a, name, /, axis=-1, kind=None, stable=None):
    return _sorted(g, a, axis), None


@_rule("numpy.take", "numpy.ndarray.take")
def take(g, result, a, indices, /, axis=None, mode="raise"):
    if mode != "raise":
        return NotImplemented
    if axis is None:
        return place(np.ravel(a), indices, g).reshape(np.shape(a)), None
    key = (slice(None),) * (axis % a.ndim) + (indices,)
    return place(a, key, g), None


@_rule("numpy.take_along_axis")
def take_along_axis(g, result, a, indices, /, axis=-1):
    return place_along(a, indices, g, axis), None, None


@_rule("numpy.ndarray.__getitem__")
def get_item(g, result, a, key, /):
    return place(a, key, g), None


@_rule("numpy.ndarray.__setitem__")
def set_item(g, result, a, key, value, /):
    left = g.copy()
    left[key] = 0.0
    part = g[key]
    if np.ndim(value) == 0:
        return left, None, np.where(winning(a, key), part, 0.0).sum()
    return left, None, _sum_to(np.where(winning(a, key), part, 0.0), value)


@_rule("numlift.place")
def placed(g, result, like, key, values, /):
    return None, None, g[key]


@_rule("numlift.place_along")
def placed_along(g, result, like, indices, values, axis, /):
    return None, None, np.take_along_axis(g, indices, axis), None


@_rule("numpy.nansum")
def nansum(g, result, a, /, axis=None, dtype=None, keepdims=False):
    if axis is not None and not keepdims:
        g = np.expand_dims(g, axis)
    return (np.where(np.isnan(a), 0.0, g),)


@_rule("numpy.pad")
def pad(g, result, a, width, /, mode="constant", constant_values=0):
    if mode != "constant" or type(constant_values) not in (int, float):
        return NotImplemented
    return unpadded(a, g, width), None


@_rule("numlift.unpadded")
def unpadded_again(g, result, like, values, width, /):
    return None, np.pad(g, width), None


@_rule("numpy.trace", "numpy.ndarray.trace", "numpy.linalg.trace")
def trace(g, result, a, /, offset=0):
    if a.ndim != 2:
        return NotImplemented
    return (g * np.eye(a.shape[0], a.shape[1], k=offset, dtype=a.dtype),)


# ---------------------------------------------------------------- linear algebra


@_rule("numpy.linalg.solve")
def solve(g, result, a, b, /):
    to_b = np.linalg.solve(_transposed(a), g)
    if b.ndim == 1:
        return _sum_to(-(to_b[..., :, None] * result[..., None, :]), a), _sum_to(to_b, b)
    return _sum_to(-np.matmul(to_b, _transposed(result)), a), _sum_to(to_b, b)


@_rule("numpy.linalg.inv")
def inv(g, result, a, /):
    turned = _transposed(result)
    return (-np.matmul(np.matmul(turned, g), turned),)


def _of_matrices(value):
    return value if np.ndim(value) == 0 else value[..., None, None]


@_rule("numpy.linalg.det")
def det(g, result, a, /):
    return (_of_matrices(g * result) * _transposed(np.linalg.inv(a)),)


@_rule("numpy.linalg.slogdet")
def slogdet(g, result, a, /):
    if np.iscomplexobj(a):
        return NotImplemented
    if g[1] is None:
        return (None,)
    return (_of_matrices(g[1]) * _transposed(np.linalg.inv(a)),)


@_rule("numpy.linalg.cholesky")
def cholesky(g, result, a, /):
    if np.iscomplexobj(a):
        return NotImplemented
    size = a.shape[-1]
    lower = np.tril(np.ones((size, size), a.dtype)) - np.eye(size, dtype=a.dtype) / 2
    inverse = np.linalg.inv(result)
    middle = np.matmul(_transposed(result), g) * lower
    part = np.matmul(np.matmul(_transposed(inverse), middle), inverse)
    return ((part + _transposed(part)) / 2,)


@_rule("numpy.linalg.norm", "numpy.linalg.vector_norm")
def norm(g, result, a, /, ord=None, axis=None, keepdims=False):
    is_plain = ord is None or (type(ord) is str and ord == "fro")
    is_vector = isinstance(axis, int) or (axis is None and a.ndim == 1)
    if np.iscomplexobj(a) or not (is_plain or (is_vector and type(ord) in (int, float) and ord == 2)):
        return NotImplemented
    scale = np.where(result == 0, 0.0, g / np.where(result == 0, 1.0, result))
    if axis is not None and not keepdims:
        scale = np.expand_dims(scale, axis)
    return (a * scale,)
