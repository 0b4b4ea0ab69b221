"""Frames taken apart and put together again at every instruction.

A function is run unit by unit: each unit by a function of its own, made from the user's bytecode, that
gets all values of the frame as arguments and hands them back. The outcome is the plain function's.
"""

import contextlib
import copy
import sys
import threading
import traceback
import types

import pytest

events = []


def note(*values):
    events.append(values)
    return values[-1] if values else None


def arithmetic(a, b=2, *rest, c=3, **more):
    x = a + b * c - len(rest)
    y = -x if x > 3 else +x
    y **= 2
    return x, y, rest, more, not y, a < b <= c, a is b, a in rest


def loops(n):
    total, seen = 0, []
    for i in range(n):
        if i == 2:
            continue
        if i == 5:
            break
        for j in (1, 2, 3):
            total += i * j
            while total % 7:
                total += 1
        seen.append(total)
    else:
        seen.append("else")
    return total, seen


def comprehensions(n):
    squares = [i * i for i in range(n) if i % 2 == 0]
    table = {i: [j for j in range(i)] for i in squares}
    flat = {j for row in table.values() for j in row}
    i = 100
    return squares, table, sorted(flat), sum(x + i for x in squares)


def displays(a, b):
    first, *middle, last = [a, *b, a]
    merged = {"a": a, **{"b": b}, "c": (a, *b)}
    return [first, middle, last, merged, {*b, a}, b[::2], b[1:], f"{a!r:>5} {b} {a:.2f}"]


def swaps(a, b, c):
    a, b, c = c, a, b
    a, b = b, a
    d = [0, 1]
    d[0], d[1] = d[1], a
    d[b > 1] += c
    del d[0]
    return a, b, c, d


def calls(a):
    def inner(x, *args, k=1, **kwargs):
        return x + k + len(args) + len(kwargs)

    data = {"k": 5, "z": 1}
    return (
        inner(a),
        inner(a, 1, 2, k=3),
        inner(*(a, 2), **data),
        note(inner(note("x", a), note("y", a)), k if (k := a) else None),
        "a-b".split("-"),
        sorted([3, 1, 2], key=lambda v: -v),
    )


def closures(a):
    count = 0

    def add(step):
        nonlocal count
        count += step
        return count

    a += 1
    adders = [lambda v, i=i: v + i + a for i in range(3)]
    add(1)
    a += 1
    return add(2), count, [f(10) for f in adders]


def handled(values):
    out = []
    for v in values:
        try:
            out.append(1 / v)
        except ZeroDivisionError as error:
            out.append(str(error))
        except TypeError:
            out.append("type")
        else:
            out.append("fine")
        finally:
            out.append("end")
    return out


def raised(a):
    note("before", a)
    try:
        note("in", a)
        raise KeyError(a)
    finally:
        note("finally", a)


def not_set(a):
    if a:
        b = 1
    note(a)
    return b  # noqa: F821


@contextlib.contextmanager
def manager(tag, swallow=False):
    note("enter", tag)
    try:
        yield tag
    except ValueError:
        note("caught", tag)
        if not swallow:
            raise
    finally:
        note("exit", tag)


def managed(a):
    with manager("one") as one, manager("two", True):
        note(one)
        if a == 1:
            raise ValueError(a)
        if a == 2:
            return "returned"
    return "behind"


class Unbound:
    """Its methods are no functions: CPython finds nothing to give them as self."""

    __enter__ = staticmethod(lambda: note("entered"))
    __exit__ = staticmethod(lambda kind, value, traceback: note(kind, str(value), True))


def managed_otherwise(a):
    data = bytearray(a)
    with memoryview(data) as view, Unbound() as unbound:
        view[0] = 1
        with Unbound(), threading.Lock():
            if a == 2:
                raise KeyError(a)
        if a == 3:
            return data, unbound
        raise ValueError(a)
    data.append(1)  # the view is released
    return data


def matched(value):
    match value:
        case [x, y, *others]:
            return x, y, others
        case {"key": found, **others}:
            return found, others
        case str() as text if len(text) > 1:
            return text
        case 1 | 2:
            return "small"
        case _:
            return None


class Base:
    scale = 2

    def __init__(self, a):
        self.a = a

    def value(self, b):
        return self.a * self.scale + b

    @property
    def double(self):
        return self.a * 2


class Derived(Base):
    def value(self, b):
        inner = super().value(b) + self.double
        self.a += 1
        return (lambda: self.a + inner)()


def objects(a):
    one = Derived(a)
    one.scale = 3
    first = one.value(1)
    del one.scale
    return first, one.value(2), isinstance(one, Base), getattr(one, "missing", None)


def own_frame(a):
    b = a + 1
    c = b
    return sorted(locals().items()), c


def asserts(a):
    assert a > 0, f"got {a}"
    import math

    return math.floor(a)


def generators(n):
    def produce():
        for i in range(n):
            got = yield i
            note(got)
        return "done"

    def delegate():
        result = yield from produce()
        yield result

    return list(delegate())


CASES = [
    (arithmetic, (1,), {}),
    (arithmetic, (1, 5, 6, 7), {"c": 1, "d": 2}),
    (loops, (3,), {}),
    (loops, (9,), {}),
    (comprehensions, (5,), {}),
    (displays, (1, (2, 3)), {}),
    (swaps, (1, 2, 3), {}),
    (calls, (4,), {}),
    (closures, (1,), {}),
    (handled, ([1, 0, "a", 2.0],), {}),
    (raised, (3,), {}),
    (not_set, (0,), {}),
    (not_set, (1,), {}),
    (managed, (0,), {}),
    (managed, (1,), {}),
    (managed, (2,), {}),
    (managed_otherwise, (2,), {}),
    (managed_otherwise, (3,), {}),
    (matched, ([1, 2, 3, 4],), {}),
    (matched, ({"key": 1, "b": 2},), {}),
    (matched, ("text",), {}),
    (matched, (2,), {}),
    (matched, (None,), {}),
    (objects, (5,), {}),
    (own_frame, (5,), {}),
    (asserts, (1.5,), {}),
    (asserts, (-1,), {}),
    (generators, (3,), {}),
    (Derived.value, (Derived(3), 4), {}),
]


def run(call, args, kwargs):
    events.clear()
    try:
        outcome = call(*copy.deepcopy(args), **kwargs)
    except Exception as error:
        frames = traceback.extract_tb(error.__traceback__)
        own = [(f.lineno, f.name) for f in frames if f.filename == __file__ and f.name != "__call__"]
        outcome = (type(error), str(error), own[1:])
    return repr(outcome), list(events)


def bind(function, args, kwargs):
    import inspect

    bound = inspect.signature(function).bind(*args, **kwargs)
    bound.apply_defaults()
    code = function.__code__
    count = code.co_argcount + code.co_kwonlyargcount
    count += bool(code.co_flags & inspect.CO_VARARGS) + bool(code.co_flags & inspect.CO_VARKEYWORDS)
    return [bound.arguments[name] for name in code.co_varnames[:count]]


class Stepper:
    """Runs a function in steps of one unit; `every` leaves out so many places between two steps."""

    def __init__(self, core, function):
        self.core = core
        self.function = function
        self.code = function.__code__
        self.made = {}
        self.steps = 0

    def unit(self, place):
        key = (place[0], tuple(place[1]), tuple(place[2]))
        if key not in self.made:
            stop, slots = place[0], place[1]
            if stop == 0 and self.function.__closure__:
                # The cells are there behind the instruction that copies them.
                ops = [instruction[0] for instruction in self.core.decode(self.code)[0]]
                stop = ops.index("CopyFreeVars") + 1
                kinds = self.core.local_slots(self.code)
                slots = slots + [i for i, kind in enumerate(kinds) if kind[3]]
            if self.core.can_leave_after(self.code, stop):
                function, after = self.core.unit_function(
                    self.code, self.function.__globals__, place, stop, slots
                )
                if place[0] == 0:
                    closure = self.function.__closure__
                    function = types.FunctionType(
                        function.__code__, function.__globals__, closure=closure
                    )
                made = function, after
            else:
                made = self.core.rest_function(self.code, self.function.__globals__, place), []
            self.made[key] = made
        return self.made[key]

    def __call__(self, *args, **kwargs):
        values = bind(self.function, args, kwargs)
        place = (0, list(range(len(values))), [])
        while True:
            function, after = self.unit(place)
            where, values = self.core.call_unit(function, *values)
            self.steps += 1
            if where is None:
                return values
            place = after[where]
            assert len(values) == len(place[1]) + sum(place[2])


@pytest.mark.parametrize("function,args,kwargs", CASES, ids=lambda c: getattr(c, "__name__", None))
def test_every_instruction(core, function, args, kwargs):
    """The same values, events, exceptions and lines, wherever the frame is cut."""
    expected = run(function, args, kwargs)
    stepped = Stepper(core, function)
    assert run(stepped, args, kwargs) == expected
    again = run(stepped, args, kwargs)
    assert again == expected
    assert stepped.steps > 4


def test_references(core):
    """No step keeps or loses a reference."""
    marker = object()

    def uses(x):
        y = [x, x]
        for z in y:
            (z, x)
        return [z for z in y]

    stepped = Stepper(core, uses)
    for _ in range(3):
        stepped(marker)
    before = sys.getrefcount(marker)
    for _ in range(50):
        stepped(marker)
    assert sys.getrefcount(marker) == before
