"""Batches of what NumPy computes by calls: by name of the call, where NumPy does a batch at once.

A rule gets which of the positional arguments are batched, then the call's arguments, in which the batch is axis 0;
so it is in what it gives. Or NotImplemented: then the call is made for each of the batch. Traced like the user's
code.
"""

import numpy as np

from .primitives import place, sum_from_end
from .registry import adds_to

BATCHES = {}
_rule = adds_to(BATCHES)


def _widened(a, is_batched, rank):
    """With axes of size 1 behind the batch, so that an example has this rank."""
    missing = rank - (a.ndim - 1)
    return a[(slice(None),) + (None,) * missing] if is_batched and missing > 0 else a


@_rule("numpy.matmul", "numpy.linalg.matmul")
def matmul(batched, a, b, /):
    of_a, of_b = batched
    rank_a, rank_b = a.ndim - of_a, b.ndim - of_b
    if rank_a == 0 or rank_b == 0:
        return NotImplemented
    if not of_b and rank_b <= 2 and rank_a == 1:
        return np.matmul(a, b)
    if not of_a and rank_a <= 2 and rank_b == 1:
        return np.matmul(b, a.T)
    if not of_b and rank_b == 2 and rank_a == 2:
        size, rows, inner = a.shape
        return np.matmul(a.reshape((size * rows, inner)), b).reshape((size, rows, b.shape[1]))
    left = a[..., None, :] if rank_a == 1 else a
    right = b[..., :, None] if rank_b == 1 else b
    rank = max(rank_a, rank_b, 2)
    result = np.matmul(_widened(left, of_a, rank), _widened(right, of_b, rank))
    if rank_b == 1:
        result = result[..., 0]
    if rank_a == 1:
        result = result[..., 0] if rank_b == 1 else result[..., 0, :]
    return result


@_rule("numpy.dot", "numpy.ndarray.dot")
def dot(batched, a, b, /):
    if a.ndim - batched[0] > 2 or b.ndim - batched[1] > 2:
        return NotImplemented
    return matmul(batched, a, b)


@_rule("numpy.outer", "numpy.linalg.outer")
def outer(batched, a, b, /):
    if a.ndim - batched[0] != 1 or b.ndim - batched[1] != 1:
        return NotImplemented
    return a[..., :, None] * b[..., None, :]


def _on_matrices(function):
    def rule(batched, a, /):
        return function(a)

    return rule


for _name in ("inv", "det", "cholesky"):
    BATCHES["numpy.linalg." + _name] = _on_matrices(getattr(np.linalg, _name))

@_rule("numpy.linalg.solve")
def solve(batched, a, b, /):
    of_a, of_b = batched
    rank_a, rank_b = a.ndim - of_a, b.ndim - of_b
    if rank_b == 1:
        return np.linalg.solve(a, b[..., None])[..., 0]
    if rank_a != 2 or rank_b != 2:
        return NotImplemented
    return np.linalg.solve(a, b)


def _along(function):
    def rule(batched, a, /, axis=None, **others):
        if others:
            return NotImplemented
        if axis is None:
            return function(a.reshape((a.shape[0], a[0].size)), axis=1)
        return function(a, axis=axis if axis < 0 else axis + 1)

    return rule


for _name in ("cumsum", "cumprod"):
    _rule("numpy." + _name, "numpy.ndarray." + _name)(_along(getattr(np, _name)))


def _sorting(function):
    def rule(batched, a, /, axis=-1, **others):
        if others or axis is None:
            return NotImplemented
        return function(a, axis=axis if axis < 0 else axis + 1)

    return rule


for _name in ("sort", "argsort"):
    BATCHES["numpy." + _name] = _sorting(getattr(np, _name))
del _name


# ---------------------------------------------------------------- contractions


def _einsum(batched, names, target, operands):
    names = ["Z" + name if is_batched else name for name, is_batched in zip(names, batched)]
    return np.einsum(",".join(names) + "->Z" + target, *operands)


@_rule("numpy.einsum")
def einsum(batched, subscripts, /, *operands, **others):
    if type(subscripts) is not str or "." in subscripts or "Z" in subscripts or others:
        return NotImplemented
    text = subscripts.replace(" ", "")
    if "->" in text:
        given, target = text.split("->")
    else:
        given = text
        letters = given.replace(",", "")
        target = "".join([c for c in sorted(set(letters)) if letters.count(c) == 1])
    return _einsum(batched[1:], given.split(","), target, operands)


def _contraction(batched, a, b, of_a, of_b):
    rank_a, rank_b = a.ndim - batched[0], b.ndim - batched[1]
    name_a = "abcdefghijkl"[:rank_a]
    name_b = "mnopqrstuvwx"[:rank_b]
    for i, j in zip(of_a, of_b):
        name_b = name_b.replace("mnopqrstuvwx"[j], name_a[i])
    target = "".join([c for c in name_a if c not in name_b] + [c for c in name_b if c not in name_a])
    return _einsum(batched, [name_a, name_b], target, [a, b])


@_rule("numpy.inner")
def inner(batched, a, b, /):
    rank_a, rank_b = a.ndim - batched[0], b.ndim - batched[1]
    if rank_a == 0 or rank_b == 0:
        return NotImplemented
    return _contraction(batched, a, b, [rank_a - 1], [rank_b - 1])


@_rule("numpy.tensordot", "numpy.linalg.tensordot")
def tensordot(batched, a, b, /, axes=2):
    rank_a, rank_b = a.ndim - batched[0], b.ndim - batched[1]
    if isinstance(axes, int):
        of_a, of_b = list(range(rank_a - axes, rank_a)), list(range(axes))
    else:
        of_a, of_b = axes
        of_a = [of_a] if isinstance(of_a, int) else of_a
        of_b = [of_b] if isinstance(of_b, int) else of_b
    return _contraction(batched, a, b, [i % rank_a for i in of_a], [j % rank_b for j in of_b])


# ---------------------------------------------------------------- indices


def _with_batch(key):
    return (slice(None),) + (key if type(key) is tuple else (key,))


def _numbers(count, like):
    """0, 1, … along axis 0, as an index beside one that is batched."""
    return np.arange(count).reshape((count,) + (1,) * (like.ndim - 1))


@_rule("numpy.ndarray.__getitem__")
def get_item(batched, a, key, /):
    of_a, of_key = batched
    if not of_key:
        return a[_with_batch(key)]
    if key.dtype == bool:
        return NotImplemented
    return a[_numbers(a.shape[0], key), key] if of_a else a[key]


@_rule("numpy.take", "numpy.ndarray.take")
def take(batched, a, indices, /, axis=None, **others):
    of_a, of_indices = batched
    if others or axis is None or (of_indices and axis != 0):
        return NotImplemented
    if not of_indices:
        return np.take(a, indices, axis=axis if axis < 0 else axis + 1)
    return a[_numbers(a.shape[0], indices), indices] if of_a else np.take(a, indices, axis=0)


@_rule("numlift.sum_from_end")
def summed_from_end(batched, like, values, axis, /):
    if axis is None or not batched[0] or not batched[1]:
        return NotImplemented
    return sum_from_end(like, values, axis if axis < 0 else axis + 1)


@_rule("numpy.take_along_axis")
def take_along_axis(batched, a, indices, axis=-1, /):
    if axis is None:
        return NotImplemented
    if not batched[0]:
        a = np.broadcast_to(a, (indices.shape[0],) + a.shape)
    if not batched[1]:
        indices = np.broadcast_to(indices, (a.shape[0],) + indices.shape)
    return np.take_along_axis(a, indices, axis if axis < 0 else axis + 1)


@_rule("numlift.place")
def placed(batched, like, key, values, /):
    of_like, of_key, of_values = batched
    count = like.shape[0] if of_like else key.shape[0] if of_key else values.shape[0]
    if not of_like:
        like = np.broadcast_to(like, (count,) + like.shape)
    if not of_values:
        values = np.broadcast_to(values, (count,) + np.shape(values))
    if not of_key:
        return place(like, _with_batch(key), values)
    if key.dtype == bool:
        return NotImplemented
    return place(like, (_numbers(count, key), key), values)
