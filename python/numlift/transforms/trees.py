"""Containers as arguments and results: tuples, lists, dicts, named tuples, dataclasses, None.

Traced like the user's code. A structure is None for a leaf, else (class, keys, parts).
"""


def flatten(value, leaves):
    """The structure of `value`; what is no container is appended to `leaves`."""
    kind = type(value)
    if kind is tuple or kind is list:
        return (kind, None, [flatten(item, leaves) for item in value])
    if kind is dict:
        return (kind, list(value), [flatten(value[key], leaves) for key in value])
    if value is None:
        return (kind, None, [])
    if hasattr(kind, "__dataclass_fields__"):
        keys = [name for name in kind.__dataclass_fields__]
        return (kind, keys, [flatten(getattr(value, name), leaves) for name in keys])
    if issubclass(kind, tuple) and hasattr(kind, "_fields"):
        return (kind, None, [flatten(item, leaves) for item in value])
    leaves.append(value)
    return None


def build(structure, leaves):
    """The value of that structure whose leaves the iterator `leaves` gives."""
    if structure is None:
        return next(leaves)
    kind, keys, parts = structure
    items = [build(part, leaves) for part in parts]
    if kind is list:
        return items
    if kind is tuple:
        return tuple(items)
    if kind is dict:
        return dict(zip(keys, items))
    if keys is not None:
        return kind(**dict(zip(keys, items)))
    if hasattr(kind, "_fields"):
        return kind(*items)
    return None


def unflatten(structure, leaves):
    return build(structure, iter(leaves))


def leaf_count(structure):
    if structure is None:
        return 1
    count = 0
    for part in structure[2]:
        count += leaf_count(part)
    return count


def prefix(axes, structure):
    """One axis a leaf: `axes` is an axis, None, or containers of these as in the value."""
    if axes is None or structure is None or isinstance(axes, int):
        return [axes] * leaf_count(structure)
    parts = structure[2]
    if type(axes) is dict:
        axes = [axes[key] for key in structure[1]]
    found = []
    if len(axes) != len(parts):
        return None
    for one, part in zip(axes, parts):
        inner = prefix(one, part)
        if inner is None:
            return None
        found += inner
    return found
