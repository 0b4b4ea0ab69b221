"""Statements and expressions of the language, each on an array."""


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
