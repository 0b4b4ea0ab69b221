"""Assertions, exceptions, match, scopes and coroutines, each on an array."""

import sys

import numpy as np

from probes import Probes

log = []
counts = {"calls": 0, "last": None}
total = 0
probe = Probes(__name__, log=log, counts=counts)


@probe()
def assert_on_a_number(x):
    assert x.ndim == 2, "two dimensions"
    return x + 1


@probe()
def assert_on_data(x):
    y = x * 2
    assert (y > 0).all(), f"minimum {y.min()}"
    return y + 1


@probe()
def assert_that_fails(x):
    y = x - 2
    assert (y > 0).all(), "must be positive"
    return y


@probe()
def try_except(x):
    try:
        y = x + 1
        raise ValueError("inside")
    except (KeyError, ValueError) as e:
        return y * len(str(e))


@probe()
def try_key_error(x):
    table = {"a": 1}
    try:
        k = table["b"]
    except KeyError as e:
        k = e.args[0]
    else:
        k = None
    return x + 1, k


@probe()
def try_else_finally(x):
    order = []
    try:
        y = x * 2
    except ValueError:
        order.append("except")
    else:
        order.append("else")
        y = y + 1
    finally:
        order.append("finally")
        y = y - x
    return y, order


@probe()
def return_in_finally(x):
    def f():
        for i in range(3):
            try:
                if i == 1:
                    return x * i
            finally:
                log.append(i)

    return f() + 1


@probe()
def raise_from(x):
    y = x + 1
    try:
        try:
            {}["k"]
        except KeyError as e:
            raise ValueError("outer") from e
    except ValueError as e:
        return y * 2, type(e.__cause__).__name__, e.__suppress_context__


@probe()
def reraise(x):
    try:
        try:
            raise ValueError("one")
        except ValueError:
            x = x + 1
            raise
    except Exception as e:
        return x * 2, repr(e)


@probe()
def raise_out_of_the_function(x):
    y = x * 2
    log.append(y.shape)
    raise RuntimeError(f"gave up after {len(y)} rows")


@probe()
def raise_from_none_out(x):
    y = x * 2
    try:
        y.no_such_attribute
    except AttributeError as e:
        raise LookupError("not there") from None if len(y) == 3 else e


@probe()
def error_of_numpy(x):
    y = x + 1
    return y + np.ones(5)


@probe()
def error_of_numpy_caught(x):
    try:
        return x @ x
    except ValueError as e:
        return x * 2, "mismatch" in str(e)


@probe()
def index_error_caught(x):
    y = x + 1
    try:
        return y[7]
    except IndexError as e:
        return y * 2, str(e)


@probe()
def exception_group(x):
    y = x + 1
    try:
        raise ExceptionGroup("two", [ValueError("a"), KeyError("b")])
    except* ValueError as group:
        y = y * len(group.exceptions)
    except* KeyError:
        y = y - 5
    return y


@probe()
def exception_group_out(x):
    try:
        y = x * 2
        raise ExceptionGroup("two", [ValueError("a"), TypeError("b")])
    except* ValueError:
        log.append(y.shape)


@probe()
def exception_notes(x):
    try:
        raise ValueError("noted")
    except ValueError as e:
        e.add_note("a note")
        return x + 1, e.__notes__


@probe()
def match_value_and_sequence(x):
    match x.shape:
        case (3, 5):
            return x
        case [3, n] if n > 3:
            y = x * n
    match [1, x, 3]:
        case [int(), z, *rest]:
            return y + z + len(rest)


@probe()
def match_mapping_and_class(x):
    match {"op": "add", "by": 2, "more": 1}:
        case {"op": "mul" | "div"}:
            return x
        case {"op": "add", "by": int(k), **rest}:
            y = x + k + rest["more"]
    match complex(1, 2):
        case complex(real=r, imag=2.0):
            return y * r


@probe()
def match_nothing(x):
    match x.ndim:
        case 1:
            x = x * 0
        case 5 | 6 as n:
            x = x * n
        case _:
            x = x + 1
    return x


@probe()
def global_write(x):
    global total
    total += x.size
    total = total + 1
    return x + total


@probe()
def global_made_and_deleted(x):
    global fresh
    fresh = x.ndim
    y = x * fresh
    del fresh
    return y, "fresh" in globals()


@probe()
def global_list_append(x):
    log.append(x.ndim)
    log.append(x * 2)
    counts["calls"] += 1
    counts["last"] = x.shape
    return x - 1


@probe()
def del_local(x):
    y = x + 1
    del y
    try:
        return y  # noqa: F821
    except UnboundLocalError as e:
        return x * 2, str(e)


@probe()
def del_item_and_slice(x):
    rows = [x, x + 1, x + 2, 4]
    del rows[0], rows[-1:]
    table = {"a": 1, "b": 2}
    del table["a"]
    return rows, table


@probe()
def annotations_of_locals(x):
    k: int = 3
    late: float
    y: "np.ndarray" = x * k
    return y


@probe()
def inner_function_annotations(x):
    def f(a: int, b: "str" = "s") -> float:
        return a * 2

    return f(x), dict(f.__annotations__), f.__name__, f.__defaults__


@probe()
def decorator_inside(x):
    def twice(f):
        def inner(a):
            return f(f(a))

        return inner

    @twice
    def step(a):
        return a * 2 + 1

    return step(x)


@probe()
def import_inside(x):
    import math
    from os import path as p

    return x * math.pi, p.basename("a/b")


@probe()
def augmented_assignment(x):
    x += 1
    x[0] *= 2
    x[:, 1] -= x[:, 0]
    n = 5
    n //= 2
    n **= 3
    n <<= 1
    return x / n


@probe()
def conditional_import_and_version(x):
    if sys.version_info >= (3, 11) and sys.platform != "none":
        return x + 1
    return x - 1


@probe()
def identity(x):
    y = x
    z = x + 0
    return y is x, z is x, z is not None, x[0] is x[0], [y] == [x]


@probe()
def returns_its_argument(x):
    x[0, 0] = 9
    return x


@probe()
def if_on_data(x):
    y = x * 2
    if y.sum() > 3:
        y = y + 1
    else:
        y = y - 1
    return y * 3


@probe()
def while_on_data(x):
    n = 0
    while x.max() > 0.1:
        x = x / 2
        n += 1
    return x, n


@probe()
def truth_of_an_array(x):
    y = x + 1
    return y if y else x


@probe()
def async_function_run_inside(x):
    async def value(a):
        return a + 1

    async def main():
        return await value(x) * 2

    coroutine = main()
    try:
        coroutine.send(None)
    except StopIteration as stop:
        return stop.value


@probe()
def async_for_and_with(x):
    class Manager:
        async def __aenter__(self):
            return 2

        async def __aexit__(self, *error):
            log.append("exit")

    async def rows():
        for row in x:
            yield row

    async def main():
        async with Manager() as k:
            return [row * k async for row in rows()]

    try:
        main().send(None)
    except StopIteration as stop:
        return stop.value


@probe()
def eval_and_exec(x):
    k = eval("1 + 2")
    names = {}
    exec("def f(a):\n    return a * 2", names)
    return names["f"](x) + k


@probe()
def locals_and_globals(x):
    y = x + 1
    names = sorted(locals())
    return y, names, "probe" in globals()


if sys.version_info >= (3, 12):
    SOURCE = """
def type_parameters(x):
    type Pair[T] = tuple[T, T]

    def first[T: int](a: T) -> T:
        return a * 2

    class Box[T]:
        def __init__(self, value: T):
            self.value = value

    return first(x) + Box(x + 1).value, Pair.__name__
"""
    exec(compile(SOURCE, "<type_parameters>", "exec"))
    probe()(type_parameters)  # noqa: F821
