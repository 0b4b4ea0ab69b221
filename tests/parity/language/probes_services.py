"""The standard library beyond containers and functions, each with an array."""

import asyncio
import atexit
import base64
import bisect
import calendar
import contextvars
import datetime
import decimal
import fractions
import gc
import hashlib
import heapq
import inspect
import io
import json
import logging
import math
import numbers
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
from probes_library import weighted

log = []
probe = Probes(__name__, log=log)


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
