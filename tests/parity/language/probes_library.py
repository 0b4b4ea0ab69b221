"""Built-in functions and the standard library, each with an array."""

import asyncio
import atexit
import base64
import bisect
import calendar
import collections
import contextlib
import contextvars
import datetime
import decimal
import fractions
import functools
import gc
import hashlib
import heapq
import inspect
import io
import itertools
import json
import logging
import math
import numbers
import operator
import os
import queue
import random
import re
import statistics
import string
import struct
import sys
import tempfile
import textwrap
import threading
import time
import traceback
import types
import uuid
import warnings
from concurrent.futures import ThreadPoolExecutor

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


@probe()
def math_functions(x):
    k = math.sqrt(2) + math.floor(2.5) + math.gcd(12, 18) + math.hypot(3, 4)
    return x * k, math.isclose(1, 1 + 1e-12), math.inf, math.comb(5, 2), math.prod(x.shape)


@probe()
def math_on_an_element(x):
    return math.sqrt(x[0, 0]) + x, math.exp(float(x.sum()) / 100)


@probe()
def statistics_functions(x):
    return x - statistics.mean([1.5, 2.5, 4.0]), statistics.median([3, 1, 2])


@probe()
def random_module(x):
    return x * random.random() + random.randint(1, 6), random.choice([1, 2, 3])


@probe()
def regular_expression(x):
    m = re.match(r"(\w+)-(\d+)", "rows-3")
    return x * int(m.group(2)), re.sub("o", "0", m[1])


@probe()
def struct_and_json(x):
    k, n = struct.unpack("<hi", struct.pack("<hi", 2, 5))
    return x * k + n, json.loads(json.dumps({"a": [1, None], "b": x.tolist()}))["a"]


@probe()
def decimal_and_fractions(x):
    d = decimal.Decimal("1.25") * 2
    f = fractions.Fraction(1, 4) + 1
    return x * float(d) + float(f), str(d), f


@probe()
def heapq_and_bisect(x):
    h = [5, 1, 4]
    heapq.heapify(h)
    heapq.heappush(h, 0)
    return x * heapq.heappop(h) + bisect.bisect_left([1, 3, 5], 3), heapq.nlargest(2, h)


@probe()
def datetime_and_time(x):
    day = datetime.date(2024, 2, 28) + datetime.timedelta(days=2)
    started = time.perf_counter()
    return x * day.day, day.isoformat(), time.perf_counter() >= started, calendar.isleap(2024)


@probe()
def os_environment_and_path(x):
    os.environ.setdefault("PROBES_OF_NUMLIFT", "4")
    return x * int(os.environ["PROBES_OF_NUMLIFT"]), os.path.join("a", "b.c"), os.path.splitext("b.c")


@probe()
def print_between(x):
    y = x + 1
    print("shape", y.shape, sep=": ")
    print(y[0], end="!\n")
    return y * 2


@probe()
def standard_output_and_error(x):
    y = x * 2
    sys.stdout.write(f"{y.max()}\n")
    print("to the other", file=sys.stderr)
    return y - 1


@probe()
def warning_given(x):
    y = x + 1
    warnings.warn("careful", UserWarning, stacklevel=1)
    warnings.warn("of the caller", DeprecationWarning, stacklevel=2)
    return y * 2


@probe()
def warnings_caught(x):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warnings.warn("inside")
        y = x + 1
    return y, len(caught)


logger = logging.getLogger("numlift_probes")


@probe()
def logging_messages(x):
    y = x * 2
    logger.warning("shape %s", y.shape)
    logger.debug("not shown")
    return y + 1


@probe()
def file_written_and_read(x):
    with tempfile.TemporaryFile("w+") as f:
        f.write(f"{x[0, 1]}\n2\n")
        f.seek(0)
        return [x * float(line) for line in f]


@probe()
def string_io(x):
    s = io.StringIO()
    s.write("abc")
    print(x.ndim, file=s)
    return x + len(s.getvalue()), s.getvalue()


@probe()
def array_saved_and_loaded(x):
    b = io.BytesIO()
    np.save(b, x * 2)
    b.seek(0)
    return np.load(b) + 1


lock = threading.Lock()


@probe()
def lock_held(x):
    with lock:
        y = x + 1
    return y * 2, lock.locked()


@probe()
def thread_started(x):
    out = []
    t = threading.Thread(target=lambda: out.append(x * 2))
    t.start()
    t.join()
    return out[0] + 1


@probe()
def thread_pool(x):
    with ThreadPoolExecutor(2) as pool:
        return sum(pool.map(lambda row: row * 2, x))


@probe()
def queue_of_arrays(x):
    q = queue.Queue()
    q.put(x + 1)
    return q.get() * 2, q.empty()


@probe()
def asyncio_run(x):
    async def part(k):
        await asyncio.sleep(0)
        return x * k

    async def main():
        return await asyncio.gather(part(1), part(2))

    a, b = asyncio.run(main())
    return a + b


state = contextvars.ContextVar("state", default=2)


@probe()
def context_variable(x):
    token = state.set(5)
    y = x * state.get()
    state.reset(token)
    return y + state.get()


@probe()
def inspect_signature(x):
    names = list(inspect.signature(weighted).parameters)
    return x * len(names), names


@probe()
def frame_looked_at(x):
    y = x + 1
    frame = inspect.currentframe()
    return y, frame.f_code.co_name, sorted(frame.f_locals)[:2], sys._getframe().f_lineno - frame.f_lineno


@probe()
def traceback_formatted(x):
    try:
        y = x + 1
        raise ValueError("shown")
    except ValueError:
        return y, traceback.format_exc().splitlines()[-2:]


@probe()
def garbage_collected(x):
    y = x + 1
    cycle = [y]
    cycle.append(cycle)
    del cycle
    return y * 2, gc.collect() >= 0, gc.isenabled()


@probe()
def hashes_and_encodings(x):
    digest = hashlib.sha256(x.tobytes()).hexdigest()
    return x * len(digest), digest, base64.b64encode(b"ab"), uuid.UUID(int=5).hex


@probe()
def strings_of_the_library(x):
    t = string.Template("$a-b").substitute(a=x.ndim)
    return x + len(t), textwrap.shorten("one two three", 9), "tr".translate({116: "x"})


@probe()
def numeric_tower(x):
    return x * isinstance(x.ndim, numbers.Integral), isinstance(x[0, 0], numbers.Real)


@probe()
def types_of_the_library(x):
    view = types.MappingProxyType({"a": 3})
    return x * view["a"], isinstance(weighted, types.FunctionType), type(None) is types.NoneType


@probe()
def registered_and_unregistered(x):
    def leave():
        pass

    atexit.register(leave)
    y = x + 1
    atexit.unregister(leave)
    return y


@probe()
def system_exit(x):
    y = x + 1
    try:
        sys.exit(3)
    except SystemExit as e:
        return y * e.code


@probe()
def recursion_limit(x):
    def deep(n):
        return deep(n + 1)

    y = x + 1
    try:
        deep(0)
    except RecursionError as e:
        return y, type(e).__name__
