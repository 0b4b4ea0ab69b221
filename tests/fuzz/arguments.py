"""Arguments made from their descriptions (program.Program.calls)."""

import numpy as np


def _values(kind, dtype, shape, rng):
    if dtype == "bool":
        return rng.integers(0, 2, shape).astype(bool)
    if kind in "kK":  # they are used as indices, too
        return rng.integers(0, max(shape[0], 1), shape).astype(dtype)
    # Few bits, so that most sums are exact in any order.
    values = rng.integers(-8, 9, shape) / 4
    if dtype == "complex128":
        values = values + 1j * rng.integers(-4, 5, shape) / 2
    return values.astype(dtype)


def _placed(values, how):
    if how == "gaps":
        memory = np.zeros([2 * n for n in values.shape], values.dtype)
        placed = memory[tuple(slice(None, None, 2) for _ in values.shape)]
    elif how == "reversed":
        placed = np.empty_like(values)[::-1]
    elif how == "turned":
        placed = np.empty(values.shape[::-1], values.dtype).T
    else:
        return values
    placed[...] = values
    return placed


def arguments(call):
    made = []
    for one in call:
        if one[0] == "number":
            made.append(one[1])
        elif one[0] == "alias":
            array = made[one[1]]
            made.append({"same": array, "view": array[:], "reversed": array[::-1]}[one[2]])
        else:
            _, kind, dtype, shape, how, seed = one
            made.append(_placed(_values(kind, dtype, shape, np.random.default_rng(seed)), how))
    return made
