"""Places in which the interpreter stack is not plain when a call leaves the graph."""

import functools
import os
import sys
import weakref
import zlib

import numpy as np

from probes import Probes

log = []
probe = Probes(__name__, log=log)


def leave(value=None, *more, **named):
    """Not traced: it calls C code that numlift knows nothing about."""
    zlib.crc32(b"")
    log.append(len(more) + len(named))
    return value


def fail(text):
    zlib.crc32(b"")
    raise ValueError(text)


@probe()
def in_call_arguments(x):
    return np.add(x + 1, leave(x * 2)), max(1, leave(2), key=leave), dict(a=x + 2, b=leave(1))


@probe()
def in_method_call(x):
    return (x + 1).sum(axis=leave(0)), "a{}b".format(leave(1)), [3, 1].index(leave(1))


@probe()
def in_call_with_stars(x):
    return leave(*[x + 1, *leave([1, 2])], **{"k": leave(3), **leave({"j": 4})}) * 2


@probe()
def in_displays(x):
    return [x + 1, leave(x), x], (1, leave(2), x * 3), {"a": x, "b": leave(1), leave("c"): 2}, {1, leave(2)}


@probe()
def in_f_string(x):
    y = x + 1
    return f"{x.ndim}{leave(3)!r:>4}{leave('s')}{leave(2.5):.{leave(2)}f}", y


@probe()
def in_comprehensions(x):
    rows = [leave(row) * i for i, row in enumerate(x) if leave(i) != 1]
    table = {k: leave(x * k) for k in range(2)}
    return rows, table, sum(leave(r) for r in rows), [[leave(a + b) for a in range(2)] for b in range(2)]


@probe(3)
def in_comprehension_with_cells(x, k):
    fs = [lambda v: leave(v) * k + j for j in range(2)]
    x = leave(x + k)
    k = 5
    return [f(x) for f in fs]


@probe()
def in_loops_over_all_kinds(x):
    y = x
    for a, b in zip(x, {"p": 1, "q": 2}):
        y = y + leave(a)
        log.append(b)
    for i, c in enumerate("ab", 1):
        y = y * leave(i)
        log.append(c)
    for k, v in {"m": 3, "n": 4}.items():
        y = y + leave(v)
        log.append(k)
    for r in reversed(range(0, 6, 2)):
        y = y - leave(r)
    for n in map(lambda v: v + 1, (1, 2)):
        y = y + leave(n)
    for row in y:
        y = leave(y) + row
    return y


@probe()
def in_nested_loops_with_else(x):
    for i in range(3):
        for j in [1, 2, 3]:
            if leave(j) == 2:
                break
            x = x + j
        else:
            x = x * 100
        if leave(i) == 1:
            continue
        x = x - i
    else:
        x = leave(x) + 0.5
    return x


@probe()
def in_with_and_try(x):
    class Manager:
        def __enter__(self):
            return leave(2)

        def __exit__(self, *error):
            log.append(error[0])
            return leave(True)

    with Manager() as k, Manager():
        y = leave(x) * k
        try:
            y = y + leave(1)
            fail("inside")
        finally:
            y = y * leave(3)
            log.append("finally")
    return y + k


@probe()
def in_handler(x):
    try:
        fail("one")
    except ValueError as e:
        y = x + leave(1)
        log.append(type(sys.exc_info()[1]))
        try:
            fail("two")
        except ValueError as f:
            y = y * leave(2)
            log.append(str(f.__context__))
        log.append(str(e) + str(sys.exc_info()[1]))
    log.append(sys.exc_info()[1])
    return y


@probe()
def out_of_a_handler(x):
    try:
        fail("one")
    except ValueError:
        y = x + leave(1)
        y @ np.ones(9)


@probe()
def in_finally_on_the_way_out(x):
    try:
        y = x + 1
        fail("out")
    finally:
        log.append(leave(y * 2))


@probe()
def reraised_after_a_break(x):
    try:
        fail("again")
    except ValueError:
        x = leave(x + 1)
        log.append(x)
        raise


@probe()
def return_through_finally(x):
    def f():
        for i in range(3):
            try:
                with np.errstate(all="ignore"):
                    if leave(i) == 1:
                        return x * leave(2)
            finally:
                log.append(leave(i))

    return f() + 1


def one(x):
    return two(x + 1) * 2


def two(x):
    y = x * 3
    try:
        y = y + three(y)
    finally:
        log.append("two")
    return y - 1


def three(x):
    z = [leave(v) for v in (x, 1)]
    return z[0] + z[1]


@probe()
def in_nested_calls(x):
    return one(x) + one(x * 2)


@probe()
def raised_in_nested_calls(x):
    def inner(a):
        b = a + leave(1)
        fail("deep")
        return b

    def outer(a):
        try:
            return inner(a * 2)
        except KeyError:
            return a

    try:
        return outer(x)
    except ValueError as e:
        return x + 1, str(e)


@probe()
def in_callbacks(x):
    rows = sorted(x, key=lambda r: -leave(r[0]))
    total = functools.reduce(lambda a, b: leave(a) + b, rows)
    return total, list(map(lambda r: leave(r) * 2, rows)), max(range(3), key=lambda v: leave(-v))


@probe()
def in_generator_and_consumer(x):
    def rows():
        for r in x:
            yield leave(r) * 2
            log.append("next")

    out = []
    for r in rows():
        out.append(leave(r) + 1)
        if len(out) == 2:
            break
    return out


@probe()
def in_yield_from_and_send(x):
    def inner():
        got = yield leave(x)
        return leave(got)

    def outer():
        r = yield from inner()
        try:
            yield r * 2
        finally:
            log.append("closed")

    g = outer()
    a = next(g)
    b = g.send(a + 1)
    g.close()
    return b


@probe()
def unset_and_deleted_locals(x):
    a = 1
    if leave(False):
        b = 2
    del a
    y = leave(x) + 1
    try:
        return b
    except UnboundLocalError:
        a = leave(5)
    return y + a


@probe()
def cells_made_late(x):
    def read():
        return late

    try:
        read()
    except NameError as e:
        log.append(str(e))
    y = leave(x) * 2
    late = y + 1
    return leave(read()) + late


@probe()
def nonlocal_changed_at_a_break(x):
    n = 0

    def up(v):
        nonlocal n
        n += leave(v)
        return n

    y = x + up(1) + leave(up(2))
    n = n * 10
    return y + up(3), n


@probe()
def in_conditions(x):
    y = x + 1
    a = leave(0) or leave(y) if leave(True) and not leave(False) else x
    return a * 2 if 1 < leave(2) < leave(3) <= 3 else a, (n := leave(4)) + n


@probe()
def in_match(x):
    match leave([1, x + 1, {"k": 2}]):
        case [int(a), y, {"k": b}] if leave(a) == 1:
            return y * leave(b)


@probe()
def in_subscripts_and_stores(x):
    y = x + 1
    y[leave(0), leave(1) :] += leave(5)
    y[leave(slice(1, 2))] = leave(y[0]) * 2
    rows = [y, 1]
    rows[leave(1)] = leave(x)
    (a, *rows[1:]), b = (leave(1), y, 3), leave(4)
    return rows, a, b, y[:: leave(2)]


@probe()
def views_across_a_break(x):
    y = x * 2
    v, w = y[0], y.T
    leave(v)
    v += 1
    z = leave(w)
    z[1] = 0
    return y, v, v.base is y, w.base is y, z is w


@probe()
def aliases_across_a_break(x):
    a = [x + 1]
    b = (a, a, {"a": a})
    leave()
    a.append(x)
    c = x
    c += 1
    leave()
    return b, b[0] is b[2]["a"], c is x, a[1] is x


@probe()
def store_before_a_break_that_fails(x):
    x += 1
    y = x * 2
    x[0] = leave(7)
    fail(f"{y[0, 0]}")


@probe()
def file_kept_by_a_local(x):
    file = leave(open(__file__))
    descriptor = file.fileno()
    leave()
    return os.read(descriptor, 3), x + 1


@probe
def array_kept_by_a_local(x):
    y = x + 1
    alive = weakref.ref(leave(y))
    leave()
    return alive() is not None, x


def of_the_caller(expression):
    frame = sys._getframe(1)
    return eval(expression, frame.f_globals, frame.f_locals)


@probe()
def locals_read_by_the_called(x):
    a = x * 2
    b = x + 1
    return of_the_caller("a * b + x") + 1


@probe()
def locals_in_a_traceback(x):
    def inner(a):
        b = a * 2
        fail("deep")
        return b

    try:
        inner(x + 1)
    except ValueError as e:
        trace = e.__traceback__
        return sorted(trace.tb_frame.f_locals), sorted(trace.tb_next.tb_frame.f_locals)


class Dying:
    def __init__(self, name):
        self.name = name

    def __del__(self):
        log.append(self.name)


@probe()
def lifetimes_across_breaks(x):
    z = leave([Dying("a")])
    y = x + 1
    log.append("before del")
    del z
    log.append("after del")
    k = leave(Dying("b"))
    k = leave(2)
    log.append("after store")
    leave(Dying("temporary"))
    log.append("after call")
    for d in [Dying("c"), Dying("d")]:
        y = y + leave(1)
    log.append("after loop")
    return leave(y) * k


@probe(Dying("argument"))
def lifetime_of_an_argument(x, d):
    def inner(e):
        f = leave(Dying("local"))
        y = leave(x)
        log.append("leaving")
        return y + 1

    y = inner(leave(Dying("inner")))
    log.append("left")
    del d
    log.append("deleted")
    return leave(y)


@probe()
def lifetime_of_an_array(x):
    y = x + 1
    r = weakref.ref(leave(y))
    a = r() is y
    z = leave(y * 2)
    del y
    b = r() is None
    leave()
    return a, b, r() is None, z


@probe()
def many_locals(x):
    a0 = a1 = a2 = a3 = a4 = a5 = a6 = a7 = a8 = a9 = x + 1
    b0, b1, b2, b3, b4, b5, b6, b7, b8, b9 = range(10)
    c = leave(a0)
    return a0 + a1 + a2 + a3 + a4 + a5 + a6 + a7 + a8 + a9 + c, [b0, b1, b2, b3, b4, b5, b6, b7, b8, b9]


LONG = "def extended_arguments(x):\n" + "".join(
    f"    v{i} = x * {i + 0.25}\n" + (f"    if leave({i}) < 0:\n        return v{i}\n" if i % 60 == 7 else "")
    for i in range(300)
)
exec(compile(LONG + "    return " + " + ".join(f"v{i}" for i in range(300)), "<extended_arguments>", "exec"))
probe()(extended_arguments)  # noqa: F821


@probe()
def recursion_with_breaks(x):
    def tree(a, n):
        if leave(n) == 0:
            return a
        return tree(a * 2, n - 1) + tree(a + 1, n - 1)

    return tree(x, 3)


@probe()
def class_body_with_breaks(x):
    class Local:
        k = leave(3)
        rows = [leave(r) * 2 for r in x]

        @property
        def total(self):
            return leave(self.rows[0]) + self.k

        def __eq__(self, other):
            return leave(True)

    return Local().total + 1, Local() == 3


@probe()
def async_with_breaks(x):
    async def part(a):
        return leave(a) + 1

    async def main():
        out = [leave(await part(x * i)) for i in range(2)]
        try:
            await part(np.ones(7) + x)
        except ValueError:
            out.append(await part(leave(1)))
        return out

    try:
        main().send(None)
    except StopIteration as stop:
        return stop.value


@probe()
def dict_changed_while_iterated(x):
    d = {"a": x}
    y = x + 1
    for k in d:
        y = y + leave(1)
        d[k + "b"] = y
    return y


@probe()
def list_changed_while_iterated(x):
    rows = [1, 2, 3]
    for r in rows:
        x = x + leave(r)
        if len(rows) < 6:
            rows.append(r * 2)
        if r == 2:
            rows.remove(1)
    return x, rows


@probe()
def exception_with_its_frame(x):
    y = x + 1
    try:
        fail("framed")
    except ValueError as e:
        frame = e.__traceback__.tb_frame
        return y, frame.f_code.co_name, e.__traceback__.tb_lineno - frame.f_code.co_firstlineno
