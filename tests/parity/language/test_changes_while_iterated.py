"""Containers that change while they are iterated: the items, errors and ends are CPython's."""

import collections
import random
import zlib

import numpy as np
import pytest
from same_call import same

x = np.arange(3.0)

MAKERS = {
    "dict": lambda keys: {key: key * 2 for key in keys},
    "set": lambda keys: {key for key in keys},
    "list": lambda keys: [key for key in keys],
    "deque": lambda keys: collections.deque([key for key in keys]),
    "defaultdict": lambda keys: collections.defaultdict(None, {key: 1 for key in keys}),
    "OrderedDict": lambda keys: collections.OrderedDict({key: 1 for key in keys}),
}
ITERATIONS = {
    "iter": lambda box: iter(box),
    "reversed": lambda box: reversed(box),
    "keys": lambda box: iter(box.keys()),
    "items": lambda box: iter(box.items()),
    "values": lambda box: iter(box.values()),
    "reversed items": lambda box: reversed(box.items()),
    "reversed values": lambda box: reversed(box.values()),
}
HAS_VIEWS = ("dict", "defaultdict", "OrderedDict")
CHANGES = {
    "dict": ("set", "set", "set", "delete", "delete", "clear", "popitem", "pop", "setdefault"),
    "set": ("add", "add", "add", "discard", "discard", "clear", "pop_any"),
    "list": ("append", "insert", "delete_last", "delete_first", "reverse", "clear"),
    "deque": ("append", "appendleft", "pop_last", "popleft", "rotate", "clear"),
}
CHANGES["defaultdict"] = CHANGES["OrderedDict"] = CHANGES["dict"]


def change(box, name, key):
    if name in ("set", "setdefault"):
        if name == "set":
            box[key] = key * 3
        else:
            box.setdefault(key, key * 5)
    elif name == "delete":
        if key in box:
            del box[key]
    elif name == "pop":
        box.pop(key, None)
    elif name in ("add", "discard"):
        getattr(box, name)(key)
    elif name == "insert":
        box.insert(key // 2, key)
    elif name in ("append", "appendleft", "rotate"):
        getattr(box, name)(key)
    elif name in ("clear", "reverse"):
        getattr(box, name)()
    elif len(box) > 0:
        if name == "delete_last":
            del box[-1]
        elif name == "delete_first":
            del box[0]
        elif name == "pop_any":
            box.pop()
        elif name == "pop_last":
            box.pop()
        else:
            getattr(box, name)()


def run(a, make, iterate, before, plan):
    """What one iteration gives with changes before and between its steps, and how it ends."""
    box = make(range(before[0]))
    for name, key in before[1]:
        change(box, name, key)
    it = iterate(box)
    seen = []
    for changes in plan:
        try:
            item = next(it)
        except StopIteration:
            seen.append("end")
            if isinstance(box, collections.deque):
                break  # a deque's iterator goes on looking whether the deque changes
        except RuntimeError as error:
            seen.append(str(error))
        else:
            seen.append(item)
        for name, key in changes:
            change(box, name, key)
    return a + 1, seen, list(box)


def random_plan(rng, kind, size):
    def some(most):
        return [(rng.choice(CHANGES[kind]), rng.randrange(size + 3)) for _ in range(rng.randrange(most))]

    before = (size, some(3))
    plan = [some(2) for _ in range(size + 2)]
    # A size that comes back is what is hard to tell.
    if kind in HAS_VIEWS:
        plan[rng.randrange(3)] = [("delete", rng.randrange(size)), ("set", rng.randrange(size + 3))]
    if kind == "set":
        plan[rng.randrange(3)] = [("discard", rng.randrange(size)), ("add", rng.randrange(size + 9))]
    return before, plan


def can_be(kind, how):
    return kind in HAS_VIEWS or how == "iter" or (how == "reversed" and kind != "set")


@pytest.mark.parametrize("kind, how", [(k, h) for k in MAKERS for h in ITERATIONS if can_be(k, h)])
def test_random_changes(kind, how, rng):
    numbers = random.Random(int(rng.integers(1 << 30)))
    for size in (1, 2, 3, 5, 6, 8):
        for _ in range(2):
            before, plan = random_plan(numbers, kind, size)

            def f(a, make=MAKERS[kind], iterate=ITERATIONS[how]):
                return run(a, make, iterate, before, plan)

            same(f, (x,), whole=None, backends=("eager",))


def test_a_new_value_is_seen():
    def f(a, outside):
        seen = []
        for box in ({"p": 1, "q": 2}, outside):
            for key, value in box.items():
                seen.append((key, value))
                box["q"] = a
            for value in reversed(box.values()):
                seen.append(value)
                box["p"] = 7
        return seen

    same(f, (x, {"p": 1, "q": 2}))


def test_key_that_comes_back():
    def f(a):
        box = {"p": 1}
        try:
            for key in box:
                del box[key]
                box[key] = 1
        except RuntimeError as error:
            return a + 1, str(error)

    same(f, (x,), whole=False)


def test_the_error_stays():
    def f(a):
        box = {"p": 1, "q": 2}
        it = iter(box)
        box["n"] = 1
        said = []
        for _ in range(2):
            try:
                next(it)
            except RuntimeError as error:
                said.append(str(error))
            box.pop("n", None)
        return a + 1, said

    same(f, (x,))


def test_dict_and_list_from_outside():
    def f(a, box, items):
        said = []
        try:
            for key in reversed(box):
                box[key + "z"] = a
        except RuntimeError as error:
            said.append(str(error))
        for item in reversed(items):
            said.append(item)
            if len(said) < 5:
                items.insert(0, a)
        return a + 1, said

    same(f, (x, {"p": 1, "q": 2}, [1, 2, 3]))


def test_types_of_exhausted_iterators():
    def f(a):
        box = {"p": 1}
        iterators = [iter(box), iter(box.items()), reversed(box.values()), iter([1]), reversed([1])]
        for it in iterators:
            list(it)
        return a + 1, [type(it) for it in hand_out(iterators)], [list(it) for it in iterators]

    def hand_out(values):
        zlib.crc32(b"")
        return values

    same(f, (x,), whole=False)


def test_a_list_that_is_sorted_is_empty_meanwhile():
    def f(a, outside):
        seen = []
        for items in ([3, 1, 2], outside):
            items.sort(key=lambda v: (seen.append(len(items)), v)[1])
            seen.append(list(items))
        return a + 1, seen

    same(f, (x, [2, 1]))

    def g(a):
        items = [3, 1, 2]
        try:
            items.sort(key=lambda v: (items.append(v), v)[1])
        except ValueError as error:
            return a + 1, str(error), items

    same(g, (x,), whole=False)

    def h(a):
        items = [3, 1, 2]
        try:
            items.sort(key=lambda v: {}[v])
        except KeyError as error:
            return a + 1, error.args, items

    same(h, (x,), whole=None)
