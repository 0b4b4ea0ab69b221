"""What gradient rules need of NumPy and NumPy has no function for: single operations of a graph."""

import numpy as np

from .. import _core


def place(like, key, values):
    """Zeros of the shape of `like`, to which the values are added at [key]."""
    result = np.zeros(like.shape, np.asarray(values).dtype)
    np.add.at(result, key, values)
    return result


def place_along(like, indices, values, axis):
    """The same for the indices of take_along_axis."""
    result = np.zeros(like.shape, values.dtype)
    if axis is None:
        np.add.at(result.reshape(-1), indices, values)
        return result
    axis %= like.ndim
    key = list(np.ogrid[tuple(slice(size) for size in indices.shape)])
    key[axis] = indices
    np.add.at(result, tuple(key), values)
    return result


def winning(like, key):
    """Which of the values stored by like[key] = values are there afterwards: the last one at each place."""
    places = np.empty(like.shape, np.int64)
    shape = places[key].shape
    numbers = np.arange(np.prod(shape, dtype=np.int64)).reshape(shape)
    places[key] = numbers
    return np.asarray(places[key] == numbers)


def sum_from_end(like, values, axis):
    """Along the axis: the sum of each element and those behind it, in the shape of `like`."""
    along = 0 if axis is None else axis
    return np.flip(np.cumsum(np.flip(values, along), axis=along), along).reshape(like.shape).copy()


def unpadded(like, values, width):
    """What np.pad(like, width) takes from `like`."""
    before = np.broadcast_to(np.asarray(width), (like.ndim, 2))[:, 0]
    return values[tuple(slice(b, b + size) for b, size in zip(before, like.shape))].copy()


def slide(longer, shorter):
    """np.correlate(longer, shorter, "valid") of real vectors, for sizes that only the run tells."""
    return np.correlate(longer, shorter, "valid")


for _fn in (place, place_along, slide, sum_from_end, unpadded, winning):
    _core.set_mark(_fn, "allowed", None, "numlift." + _fn.__name__)
del _fn
