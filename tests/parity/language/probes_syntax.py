"""Statements and expressions of the language, each on an array."""

import sys

import numpy as np

from probes import Probes

log = []
counts = {"calls": 0, "last": None}
total = 0
probe = Probes(__name__, log=log, counts=counts)


def double(v):
    return v * 2


@probe(3)
def if_on_a_number(x, n):
    if n > 2:
        return x + n
    return x - n


@probe()
def ternary_and_or(x):
    flag = None
    y = x + 1 if flag is None else x
    return (flag or y) * (x.ndim and 3)


@probe()
def for_range(x):
    for i in range(1, 8, 3):
        x = x * i + 0.5
    return x


@probe()
def for_rows(x):
    s = 0.0
    for row in x:
        s = s + row * 2
    return s


@probe()
def while_counter(x):
    n = 0
    while n < 4:
        x, n = x + n, n + 1
    return x, n


@probe()
def loop_else_break_continue(x):
    for i in range(10):
        if i % 2:
            continue
        if i == 6:
            break
        x = x + i
    else:
        x = x * 0
    for _ in ():
        x = x * 0
    else:
        x = x - 1
    return x


@probe()
def list_comprehension(x):
    rows = [row * i for i, row in enumerate(x) if i != 1]
    return rows[0] + rows[1]


@probe()
def dict_and_set_comprehension(x):
    table = {k: x * k for k in range(3)}
    keys = {k % 2 for k in table}
    return table[2] + sum(keys)


@probe(2.5)
def nested_comprehension_with_closure(x, k):
    grid = [[(x * k)[i, j] for j in range(2)] for i in range(2)]
    return np.array(grid) + k


@probe()
def generator_expression(x):
    return sum(row * 2 for row in x)


@probe()
def generator_function(x):
    def rows(a):
        for i in range(len(a)):
            yield a[i] * i

    return [r + 1 for r in rows(x)]


@probe()
def generator_send(x):
    def running():
        s = 0
        while True:
            v = yield s
            if v is None:
                return
            s = s + v

    g = running()
    next(g)
    a = g.send(x)
    b = g.send(x * 2)
    g.close()
    return a, b


@probe()
def yield_from(x):
    def inner(a):
        yield a + 1
        return a * 2

    def outer(a):
        r = yield from inner(a)
        yield r

    a, b = outer(x)
    return a - b


@probe()
def generator_throw(x):
    def g():
        try:
            yield x + 1
        except ValueError as e:
            yield x * len(str(e))

    it = g()
    first = next(it)
    return first, it.throw(ValueError("four"))


@probe()
def generator_returned(x):
    return sum((v * 2 for v in x), start=np.zeros(4)), list(v + 1 for v in x)


@probe()
def lambda_call(x):
    f = lambda a, b=2: a * b  # noqa: E731
    return f(x) + (lambda: x)()


@probe()
def closure_read(x):
    k = 3

    def inner(y):
        return y * k + x

    return inner(x)


@probe()
def closure_nonlocal(x):
    acc = x

    def push(v):
        nonlocal acc
        acc = acc + v

    push(1)
    push(x)
    return acc


@probe()
def closures_of_a_loop(x):
    fs = []
    for i in range(3):
        fs.append(lambda: x * i)
    return [f() for f in fs]


def countdown(x, n):
    return x if n == 0 else countdown(x * 2, n - 1)


@probe()
def recursion(x):
    return countdown(x, 3)


@probe()
def recursion_of_inner_function(x):
    def fold(rows):
        return rows[0] if len(rows) == 1 else rows[0] + fold(rows[1:])

    return fold(list(x))


@probe()
def parameters_of_all_kinds(x):
    def f(a, /, b, c=2, *rest, d, e=5, **more):
        return a * b + c * sum(rest) + d - e + more["z"]

    return f(x, 1, 3, 4, 5, d=6, z=7) + f(x, b=2, d=1, z=0)


@probe()
def call_with_stars(x):
    def f(a, b, *, k=1):
        return a + b * k

    pair, options = (x, x + 1), {"k": 3}
    return f(*pair, **options) + f(x, *[2], **{})


@probe()
def mutable_default(x):
    def f(a, seen=[]):  # noqa: B006
        seen.append(len(seen))
        return a + len(seen)

    return f(x) + f(x)


@probe()
def unpack_star(x):
    first, *rest = [x, x + 1, x + 2]
    (a, b), *c, d = [(1, 2), 3, 4, 5]
    return first + rest[1] * a - b + len(c) + d


@probe()
def unpack_array(x):
    a, b, c = x
    (d, *_), _, (*_, e) = x
    return a + b - c, d, e


@probe()
def star_in_displays(x):
    rows = [*x, x[0]]
    table = {**{"a": x}, "b": x + 1}
    return rows[3] + (*rows, 1)[-1], {*(1, 2), 3}, table["b"]


@probe()
def walrus(x):
    if (n := len(x)) > 2 and (y := x * n) is not None:
        return y + n
    return x


@probe()
def chained_comparison(x):
    n = len(x)
    return x * (1 < n <= 3 != 5), np.all(0 < x) == True  # noqa: E712


@probe("km")
def f_string_of_numbers(x, unit):
    text = f"{x.ndim}-d, {x.shape[0]:>4d} {unit!r} {2.5:.3f} {'=' * 3}"
    return x + len(text), text


@probe()
def f_string_of_an_array(x):
    y = x * 2
    text = f"{y[0]} and {y.sum():.2f}"
    return text, y + 1


@probe()
def string_methods(x):
    words = " a,b ,c ".strip().split(",")
    text = "-".join(w.upper() for w in words).replace("B", "bb").zfill(12)
    return x * len(text), text, text.startswith("0"), text.partition("-"), text[::-1]


@probe()
def string_formatting(x):
    text = "{} {k:>5} %s".format(x.ndim, k="v") % ("s",)
    return x + len(text), text, "%05.2f|%-4d|%x" % (3.14159, 7, 255)


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
