"""Built-in functions and the standard library, each with an array."""

import collections
import contextlib
import functools
import io
import itertools
import operator

import numpy as np

from probes import Probes

log = []
probe = Probes(__name__, log=log)


@probe()
def list_methods(x):
    rows = [x, 1]
    rows.append(2)
    rows.extend((3, 4))
    rows.insert(1, 9)
    k = rows.pop() + rows.pop(1)
    numbers_only = rows[1:]
    numbers_only.reverse()
    numbers_only.remove(1)
    return rows[0] * k + numbers_only.index(2) + numbers_only.count(3), numbers_only * 2


@probe()
def dict_methods(x):
    d = {"a": x, "b": 2}
    d.update(c=3)
    d.setdefault("d", []).append(4)
    k = d.pop("c") + d.get("z", 10)
    return d["a"] * k, list(d.items())[1:], d.keys() & {"b"}, {**d, "e": 1} | {"f": 2}


@probe()
def set_methods(x):
    s = {1, 2, 3}
    s.add(4)
    s.discard(1)
    return x * len(s | {9}), s & {2, 7}, s <= {2, 3, 4}, frozenset(s) ^ {2}


@probe()
def tuple_and_slices(x):
    t = (x, 2, 3)
    s = slice(1, None, 2)
    return (t + (4,))[s], x[s], x[:, slice(0, 2)], t[1:].index(3)


@probe()
def sorted_min_max_with_key(x):
    names = sorted(["bb", "a", "ccc"], key=len, reverse=True)
    biggest = max([x, x[:2], x[:1]], key=len)
    return biggest + 1, names, min(3, 1, 2), max([], default=4), min("b", "a", key=ord)


@probe()
def sort_in_place(x):
    rows = [3, 1, 2]
    rows.sort(key=lambda v: -v)
    return x * rows[0], rows


@probe()
def zip_enumerate_reversed(x):
    s = 0
    for i, (a, b) in enumerate(zip(x, reversed(x)), start=1):
        s = s + a * b * i
    return s


@probe()
def zip_strict(x):
    y = x + 1
    try:
        return list(zip(y, [1, 2], strict=True))
    except ValueError as e:
        return y, str(e)


@probe()
def map_and_filter(x):
    rows = map(lambda a, b: a * b, x, [1, 2, 3])
    odd = filter(lambda n: n % 2, range(5))
    return sum(rows), list(odd), list(filter(None, [0, 1, 2]))


@probe()
def any_all_sum_len(x):
    flags = [n > 1 for n in range(3)]
    return x * sum([1, 2], 3) + len(flags), any(flags), all(flags), all(n < 9 for n in x.shape)


@probe()
def next_and_iter(x):
    it = iter([x, x + 1])
    first = next(it)
    rest = next(it, None)
    return first + rest, next(it, "end")


@probe()
def iter_until_sentinel(x):
    left = [3, 2, 1]
    return x * sum(iter(left.pop, 3)), left


@probe()
def numbers_of_builtins(x):
    q, r = divmod(7, 3)
    return x * q + r, abs(-3), round(2.567, 2), pow(2, 5, 7), int("12") + float("1.5"), complex("1+2j")


@probe()
def number_methods(x):
    k = (13).bit_length() + (2.5).is_integer() + int.from_bytes(b"\x01\x02", "big")
    return x * k, (0.5).as_integer_ratio(), float.fromhex("0x1.8p1"), True + True


@probe()
def chr_ord_hash_repr_callable(x):
    return x * ord("a"), chr(98), repr([1, "a"]), callable(len), hash(3), bin(5), hex(255), ascii("é")


@probe()
def id_of_an_array(x):
    y = x + 1
    return id(y) == id(y), y


@probe()
def bytes_and_bytearray(x):
    b = bytes([1, 2]) + b"\x03"
    a = bytearray(b)
    a.append(4)
    return x * a[3], bytes(a), memoryview(b)[1]


@probe()
def type_made_by_call(x):
    made = type("Made", (), {"k": 3})
    return x * made.k


@probe()
def itertools_chain_product_islice(x):
    s = 0
    for i, j in itertools.product(range(2), repeat=2):
        s = s + x[i, j]
    rows = itertools.islice(itertools.chain(x, [x[0]]), 1, 4)
    return s, list(rows)


@probe()
def itertools_accumulate_groupby(x):
    sums = list(itertools.accumulate(x, initial=0))
    groups = [(k, list(g)) for k, g in itertools.groupby([1, 1, 2], key=lambda v: v)]
    return sums[-1], groups


@probe()
def itertools_combinatorics(x):
    s = sum(a * b for a, b in itertools.combinations(list(x), 2))
    return s, list(itertools.permutations("ab")), list(itertools.pairwise([1, 2, 3]))


@probe()
def itertools_cycle_count_repeat(x):
    signs = itertools.cycle([1, -1])
    return [row * s * n + r for row, s, n, r in zip(x, signs, itertools.count(2), itertools.repeat(5))]


@probe()
def itertools_the_rest(x):
    a, b = itertools.tee(x)
    pairs = list(itertools.zip_longest(a, [1], fillvalue=0))
    take = list(itertools.takewhile(lambda v: v < 3, range(9)))
    drop = list(itertools.dropwhile(lambda v: v < 7, range(9)))
    return pairs[2], next(b), take, drop, list(itertools.starmap(pow, [(2, 3)]))


def weighted(a, b, *, k=1):
    return a * b + k


@probe()
def functools_partial(x):
    f = functools.partial(weighted, x, k=3)
    return f(2) + functools.partial(f, 5)()


@probe()
def functools_reduce(x):
    return functools.reduce(lambda a, b: a + b * 2, x, np.zeros(4)), functools.reduce(operator.mul, [1, 2, 3])


@functools.lru_cache(maxsize=4)
def factor(n):
    log.append(n)
    return n * 2


probe.resets.append(factor.cache_clear)


@probe()
def functools_lru_cache(x):
    return x * factor(3) + factor(3), factor.cache_info().hits


def logged(f):
    @functools.wraps(f)
    def wrapper(*args):
        log.append(f.__name__)
        return f(*args)

    return wrapper


@logged
def plus_one(a):
    return a + 1


@probe()
def functools_wraps(x):
    return plus_one(x) * 2


@functools.singledispatch
def kind(v):
    return 1


@kind.register
def _(v: int):
    return 2


@kind.register(np.ndarray)
def _(v):
    return v * 3


@probe()
def functools_singledispatch(x):
    return kind(x) + kind(3) + kind("s")


@probe()
def functools_cmp_to_key(x):
    rows = sorted([1, 3, 2], key=functools.cmp_to_key(lambda a, b: b - a))
    return x * rows[0], rows


@probe()
def operator_functions(x):
    y = operator.add(x, operator.mul(2, 3))
    return operator.getitem(y, 0), operator.neg(y), operator.index(3), operator.truth([])


@probe()
def operator_getters(x):
    a = operator.itemgetter(1)(x)
    shape = operator.attrgetter("shape")(x)
    total = operator.methodcaller("sum", axis=0)(x)
    return a, shape, total


@probe()
def deque(x):
    d = collections.deque([x, 1], maxlen=3)
    d.appendleft(2)
    d.append(3)
    d.rotate(1)
    return d[2] if d[1] is x else d[1], d[0], len(d)


@probe()
def ordered_and_default_dict(x):
    d = collections.defaultdict(list)
    d["a"].append(x)
    o = collections.OrderedDict(b=1, a=2)
    o.move_to_end("b")
    return d["a"][0] * 2, list(o), "z" in d


@probe()
def counter(x):
    c = collections.Counter("abca")
    return x * c["a"] + c["z"], c.most_common(1)


@probe()
def chain_map(x):
    m = collections.ChainMap({"a": 1}, {"b": x})
    m["c"] = 3
    return m["b"] * m["a"], m.maps[0]


@contextlib.contextmanager
def opened(k):
    log.append("open")
    try:
        yield k * 2
    finally:
        log.append("close")


@probe()
def contextlib_manager(x):
    with opened(x) as y:
        z = y + 1
    return z


@probe()
def contextlib_suppress_nullcontext(x):
    with contextlib.nullcontext(x) as y, contextlib.suppress(KeyError):
        y = y + 1
        {}["missing"]
        y = y * 100
    return y


@probe()
def contextlib_exit_stack(x):
    with contextlib.ExitStack() as stack:
        k = stack.enter_context(opened(2))
        stack.callback(log.append, "callback")
        y = x * k
    return y + 1


@probe()
def redirected_output(x):
    with contextlib.redirect_stdout(io.StringIO()) as out:
        print(x.shape)
        y = x + 1
    return y, out.getvalue()
