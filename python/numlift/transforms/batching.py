"""A call of NumPy for each of a batch: what vmap makes of functions that have no rule of their own."""

import numpy as np


class Slot:
    """Stands for one operand in the arguments of a call."""

    __slots__ = ("index", "is_batched")

    def __init__(self, index, is_batched):
        self.index = index
        self.is_batched = is_batched

    def of(self, operands, k):
        value = operands[self.index]
        if not self.is_batched:
            return value
        return value[k]


def _fill(template, operands, k):
    if type(template) is Slot:
        return template.of(operands, k)
    if type(template) in (tuple, list):
        return type(template)(_fill(item, operands, k) for item in template)
    if type(template) is dict:
        return {key: _fill(item, operands, k) for key, item in template.items()}
    if type(template) is slice:
        return slice(*(_fill(part, operands, k) for part in (template.start, template.stop, template.step)))
    return template


def _slots(template):
    if type(template) is Slot:
        yield template
    elif type(template) in (tuple, list):
        for item in template:
            yield from _slots(item)
    elif type(template) is dict:
        yield from _slots(tuple(template.values()))
    elif type(template) is slice:
        yield from _slots((template.start, template.stop, template.step))


def _part(result, path):
    for index in path:
        result = result[index]
    return result


class BatchedCall:
    """Called with the operands, gives the parts of the results at `paths`, each stacked along axis 0."""

    slot = Slot

    @staticmethod
    def arguments(*args, **kwargs):
        return args, kwargs

    def __init__(self, function, template, paths):
        self.function = function
        self.template = template
        self.paths = paths
        self.batched = next(slot.index for slot in _slots(template) if slot.is_batched)

    def __call__(self, *operands):
        count = len(operands[self.batched])
        rows = [[] for _ in self.paths]
        for k in range(max(count, 1)):
            args, kwargs = _fill(self.template, self._operands(operands, count), k)
            result = self.function(*args, **kwargs)
            for row, path in zip(rows, self.paths):
                row.append(_part(result, path))
        return tuple(np.stack([np.asarray(item) for item in row])[:count] for row in rows)

    def _operands(self, operands, count):
        if count:
            return operands
        # What the results of none look like is known from a call on ones.
        batched = {slot.index for slot in _slots(self.template) if slot.is_batched}
        return [np.ones((1,) + o.shape[1:], o.dtype) if i in batched else o for i, o in enumerate(operands)]
