"""compile_region and python -m numlift: what is compiled, and that nothing else changes."""

import asyncio
import gc
import os
import subprocess
import sys
import textwrap
import threading
import traceback
import weakref
import zlib

import numpy as np
import pytest

import numlift as nl
from numlift import _core


@pytest.fixture(autouse=True)
def _no_region_is_left():
    nl.reset()
    yield
    assert not _core.is_in_region()


def compiled():
    """The names of what has been compiled since the last nl.reset()."""
    return {name.split(".")[-1] for name, *_ in _core.compile_log()}


def wave(x):
    return np.sin(x) * 2 + 1


def outer(x):
    zlib.crc32(b"")  # a break: what is called behind it is not inlined
    return wave(x) - 1


def run(script, *args, options=(), **environment):
    done = subprocess.run(
        [sys.executable, *options, *args],
        input=script,
        capture_output=True,
        text=True,
        env={**os.environ, **environment},
    )
    return done


# ---------------------------------------------------------------- what is compiled


def test_every_function_that_is_called_is_compiled():
    x = np.arange(5.0)
    expected = outer(x)
    assert compiled() == set()
    with nl.compile_region():
        assert _core.is_in_region()
        got = outer(x)
        called_by_c = list(map(wave, [x]))
    np.testing.assert_allclose(got, expected, rtol=1e-14)
    np.testing.assert_allclose(called_by_c[0], wave(x), rtol=1e-14)
    assert "wave" in compiled()


def test_outside_nothing_is_compiled():
    with nl.compile_region():
        pass
    wave(np.ones(3))
    assert compiled() == set()


def test_as_a_decorator():
    @nl.compile_region(backend="graph")
    def main(x, *, times=1):
        "the text"
        return sum(wave(x) for _ in range(times))

    assert main.__doc__ == "the text"
    np.testing.assert_allclose(main(np.ones(2), times=3), 3 * wave(np.ones(2)))
    assert not _core.is_in_region()

    def generator():
        yield 1

    async def coroutine():
        pass

    for later in (generator, coroutine):
        with pytest.raises(TypeError, match="piece by piece"):
            nl.compile_region()(later)
    with pytest.raises(TypeError, match="decorates a callable"):
        nl.compile_region()(3)


def test_options_are_checked():
    with pytest.raises(ValueError, match="unknown backend"):
        nl.compile_region(backend="no such")
    with pytest.raises(TypeError, match="dynamic is True, False or None"):
        nl.compile_region(dynamic=3)


def test_a_region_can_be_entered_again_and_inside_itself():
    region = nl.compile_region()
    with region, region:
        pass
    with region:
        with nl.compile_region(backend="eager"):
            wave(np.ones(3))
        assert _core.is_in_region()
    assert compiled() == {"wave"}


def test_closures_of_one_code_are_told_apart():
    def make(k, fn):
        def add(x):
            zlib.crc32(b"")
            return fn(x) + k

        return add

    one, two = make(1, np.sin), make(10, np.cos)
    x = np.arange(4.0)
    expected = [one(x), two(x), one(x)]
    with nl.compile_region():
        got = [one(x), two(x), one(x)]
    np.testing.assert_allclose(got, expected, rtol=1e-14)


def test_a_wrapper_that_only_hands_on_keeps_its_own_function():
    # A step that CPython runs from the function's beginning took another function's closure.
    def decorate(fn):
        def wrapper(*args):
            return Box(fn, args)

        return wrapper

    class Box:
        def __init__(self, fn, args):
            self.value = fn(*args)

    first, second = decorate(len), decorate(repr)
    with nl.compile_region(), nl.config.patch(compile_all=True):
        assert [first("abc").value, second("abc").value, first("ab").value] == [3, "'abc'", 2]


def test_all_kinds_of_arguments():
    def f(a, /, b, *rest, c=3, **named):
        return a + b * c + sum(rest) + sum(named.values())

    x = np.arange(3.0)
    calls = [((x, 1), {}), ((x, x, x, 2), {}), ((x,), {"b": 2, "c": x, "d": 5}), ((1, 2), {})]
    expected = [f(*args, **kwargs) for args, kwargs in calls]
    with nl.compile_region():
        for _ in range(3):
            got = [f(*args, **kwargs) for args, kwargs in calls]
            for one, other in zip(got, expected):
                np.testing.assert_array_equal(one, other)
        with pytest.raises(TypeError, match="missing 1 required positional argument: 'b'"):
            f(x)


def test_methods_properties_and_operators():
    class Vector:
        def __init__(self, data):
            self.data = data

        @property
        def norm(self):
            return np.sqrt((self.data**2).sum())

        def __add__(self, other):
            return Vector(self.data + other.data)

        def __getitem__(self, i):
            return self.data[i] * 1.0

    def use(v):
        return (v + v).norm, v[1], [w for w in v][:2]

    v = Vector(np.arange(4.0))
    expected = use(v)
    with nl.compile_region():
        for _ in range(3):
            assert use(v) == expected


def test_functions_under_hatches_are_left_alone():
    def callee(x):
        return np.cos(x) + 1

    def caller(x):
        return callee(x) * 2

    disabled, skipped = nl.disable(caller), nl.skip(caller)
    x = np.ones(3)
    with nl.compile_region():
        disabled(x)
        assert compiled() == set()
        skipped(x)
        assert "callee" in compiled() and "caller" not in compiled()


def test_switches_hold_in_regions():
    x = np.ones(3)
    with nl.compile_region():
        with nl.config.patch(disable=True):
            wave(x)
        with nl.set_stance("force_eager"):
            wave(x)
        assert compiled() == set()
        with pytest.raises(nl.Unsupported), nl.error_on_graph_break(True):
            outer(x)


def test_numpys_own_functions_run_as_they_are():
    with nl.compile_region():
        np.histogram(np.arange(5.0))
    assert compiled() == set()


# ---------------------------------------------------------------- functions with nothing to gain


def test_functions_without_arrays_are_left_alone_after_two_calls():
    def plain(a, b):
        return a + b

    with nl.compile_region():
        for i in range(2):
            plain(i, 1)
        looked_at = _core.region_stats()["looked_at"]
        for i in range(10):
            plain(i, 1)
        assert _core.region_stats()["looked_at"] == looked_at
        assert compiled() == set()
        # An array among the arguments is another matter.
        assert plain(np.ones(2), 1).tolist() == [2.0, 2.0]
        assert compiled() == {"plain"}


def test_functions_that_are_left_alone_keep_nothing_alive():
    class Thing:
        pass

    def touch(thing):
        return (thing, thing.__class__, zlib.crc32(b""))

    thing = Thing()
    with nl.compile_region():
        for _ in range(3):
            touch(thing)
    references = weakref.ref(thing), weakref.ref(Thing)
    del thing, Thing
    gc.collect()
    assert [reference() for reference in references] == [None, None]


def test_nl_reset_forgets_everything():
    with nl.compile_region():
        wave(np.ones(2))
        nl.reset()
        assert compiled() == set()
        wave(np.ones(2))
    assert compiled() == {"wave"}


# ---------------------------------------------------------------- frames are CPython's


def depth_reached():
    def down():
        try:
            return 1 + down()
        except RecursionError:
            return 1

    return down()


def test_recursion_limits_are_as_without():
    expected = depth_reached()
    with nl.compile_region():
        got = depth_reached()
    assert abs(got - expected) <= 3  # the block itself runs a frame or two higher


def test_deep_recursion_follows_the_users_limit():
    def down(n):
        return 0 if n == 0 else 1 + down(n - 1)

    before = sys.getrecursionlimit()
    sys.setrecursionlimit(20_000)
    try:
        with nl.compile_region():
            assert down(4000) == 4000
            sys.setrecursionlimit(1_000_000)
            with pytest.raises(RecursionError):
                down(900_000)
    finally:
        sys.setrecursionlimit(before)


def test_tracebacks_and_frames():
    def fails(x):
        y = x * 2
        raise ValueError(y.sum())

    def middle(x):
        zlib.crc32(b"")
        fails(x)

    def lines():
        try:
            middle(np.ones(2))
        except ValueError as error:
            frames = traceback.extract_tb(error.__traceback__)
            return str(error), [(f.name, f.lineno, f.line) for f in frames][1:]

    def names():
        zlib.crc32(b"")
        frame, found = sys._getframe(), []
        for _ in range(2):
            found.append((frame.f_code.co_name, frame.f_lineno))
            frame = frame.f_back
        return found

    def caller():
        return names()

    expected = lines(), caller()
    with nl.compile_region():
        for _ in range(3):
            assert (lines(), caller()) == expected


def test_generators_and_coroutines():
    def numbers(x):
        try:
            for i in range(3):
                got = yield x * i
                if got:
                    yield got
        finally:
            log.append("closed")

    async def twice(x):
        await asyncio.sleep(0)
        return wave(x) * 2

    async def stream(x):
        for i in range(2):
            yield await twice(x * i)

    async def main(x):
        return [y async for y in stream(x)] + list(await asyncio.gather(twice(x), twice(x + 1)))

    def use(x):
        generator = numbers(x)
        first = next(generator)
        sent = generator.send("sent")
        with pytest.raises(KeyError):
            generator.throw(KeyError("thrown"))
        other = numbers(x)
        next(other)
        other.close()
        return first, sent, asyncio.run(main(x))

    x, log = np.arange(3.0), []
    expected = use(x)
    with nl.compile_region():
        got = use(x)
    assert log == ["closed"] * 4
    np.testing.assert_array_equal(got[0], expected[0])
    assert got[1] == expected[1]
    np.testing.assert_allclose(got[2], expected[2], rtol=1e-14)


def test_arguments_die_when_the_function_lets_go_of_them():
    class Thing:
        pass

    def drop(things):
        zlib.crc32(b"")
        reference = weakref.ref(things.pop())
        del things
        zlib.crc32(b"")
        return reference() is None

    with nl.compile_region():
        assert [drop([Thing()]) for _ in range(4)] == [True] * 4


# ---------------------------------------------------------------- threads and processes


def test_a_region_is_its_threads_own():
    with nl.compile_region():
        thread = threading.Thread(target=wave, args=(np.ones(3),))
        thread.start()
        thread.join()
    assert compiled() == set()
    with nl.compile_region(all_threads=True):
        thread = threading.Thread(target=wave, args=(np.ones(3),))
        thread.start()
        thread.join()
    assert compiled()


def test_a_region_is_left_where_it_was_entered():
    region = nl.compile_region()
    errors = []

    def leave():
        try:
            region.__exit__(None, None, None)
        except RuntimeError as error:
            errors.append(str(error))

    with region:
        thread = threading.Thread(target=leave)
        thread.start()
        thread.join()
    assert errors == ["a compile_region is left on the thread that entered it"]


def test_many_threads_in_regions():
    x, failures = np.arange(6.0), []
    expected = outer(x)

    def work():
        with nl.compile_region():
            for _ in range(200):
                if not np.allclose(outer(x), expected):
                    failures.append("another result")

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def test_the_child_of_a_fork_goes_on():
    script = """
import os, sys, numpy as np, numlift as nl
from numlift import _core
def f(x): return np.sin(x) + 1
with nl.compile_region():
    f(np.ones(3))
    child = os.fork()
    for n in range(2, 5):
        assert np.allclose(f(np.ones(n)), np.sin(1) + 1)
    assert _core.is_in_region()
assert not _core.is_in_region()
if child == 0: os._exit(7)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
print("done")
"""
    done = run(script, "-W", "ignore", "-")
    assert (done.stdout, done.returncode) == ("done\n", 0), done.stderr


# ---------------------------------------------------------------- tools that look on


def events_of(install, call):
    events = []

    def tool(frame, event, argument):
        if frame.f_code.co_filename == __file__:
            events.append((event, frame.f_code.co_name, frame.f_lineno))
        return tool

    install(tool)
    try:
        call()
    finally:
        install(None)
    return events


async def steps(n):
    for i in range(n):
        yield i


async def sum_of_steps(n):
    total = 0
    async for i in steps(n):
        total += i
    return total


def drive(coroutine):
    try:
        while True:
            coroutine.send(None)
    except StopIteration as end:
        return end.value


def generated(n):
    def inner():
        got = yield from range(n)
        return got

    return list(inner())


@pytest.mark.parametrize("install", [sys.settrace, sys.setprofile], ids=["trace", "profile"])
def test_events_are_those_of_plain_python(install):
    own = {f.__code__ for f in (steps, sum_of_steps, drive, generated)}

    def events():
        seen = []

        def note(frame, event, argument):
            if frame.f_code in own:
                seen.append((frame.f_code.co_name, event, frame.f_lineno, type(argument)))
            return note

        install(note)
        try:
            result = drive(sum_of_steps(3)), generated(2)
        finally:
            install(None)
        return result, seen

    plain = events()
    with nl.compile_region(), nl.config.patch(compile_all=True):
        for _ in range(3):
            assert events() == plain
        # The hook is back.
        outer(np.arange(5.0))
    assert any("outer" in name for name in compiled())


@pytest.mark.parametrize("install", [sys.settrace, sys.setprofile], ids=["trace", "profile"])
def test_tracers_and_profilers_see_every_frame(install):
    x = np.ones(3)
    decorated = nl.compile(outer)
    expected = events_of(install, lambda: outer(x))

    def in_region(call):
        with nl.compile_region():
            return call(x)

    in_region(outer), in_region(decorated)
    hits = decorated.stats.hits
    events = events_of(install, lambda: in_region(outer))
    own = events_of(install, lambda: decorated(x))
    assert decorated.stats.hits == hits
    expected, events, own = (
        [event for event in found if event[1] in ("outer", "wave")] for found in (expected, events, own)
    )
    assert ("call", "wave") in [event[:2] for event in expected]
    assert events == expected and own == expected


@pytest.mark.skipif(sys.version_info < (3, 12), reason="sys.monitoring is new in 3.12")
def test_tools_of_sys_monitoring_see_every_frame():
    x, seen = np.ones(3), []
    monitoring = sys.monitoring
    with nl.compile_region():
        outer(x)
        monitoring.use_tool_id(3, "test")
        monitoring.register_callback(
            3, monitoring.events.PY_START, lambda code, offset: seen.append(code.co_name)
        )
        monitoring.set_events(3, monitoring.events.PY_START)
        try:
            outer(x)
        finally:
            monitoring.set_events(3, 0)
            monitoring.free_tool_id(3)
    assert [name for name in seen if name in ("outer", "wave")] == ["outer", "wave"]


def test_stepping_aside_is_said_once():
    script = """
import sys, numpy as np, numlift as nl
def f(x): return np.sin(x) + 1
g = nl.compile(f)
sys.settrace(lambda *args: None)
with nl.compile_region():
    for _ in range(3): f(np.ones(2)), g(np.ones(2))
"""
    done = run(script, "-", NUMLIFT_LOGS="breaks")
    assert done.returncode == 0
    assert done.stderr == (
        "numlift.breaks: a debugger, a profiler or a tool of sys.monitoring looks on: "
        "CPython runs what it watches\n"
    )
