"""nl.compile and the object it returns: what the user sees of it apart from speed."""

import copy
import functools
import gc
import inspect
import os
import pickle
import subprocess
import sys
import threading
import typing
import weakref

import numpy as np
import pytest

import numlift as nl
from numlift import testing


@nl.compile
def add(a, b):
    """Adds."""
    return a + b


def plain(a, b, *, scale=2.0):
    return a + b * scale


A, B = np.arange(8.0), np.linspace(0.0, 1.0, 8)


def same(got, want):
    assert type(got) is type(want)
    np.testing.assert_array_equal(got, want)
    if isinstance(want, np.ndarray):
        assert (got.dtype, got.shape, got.strides, got.flags.owndata, got.flags.writeable) == (
            want.dtype,
            want.shape,
            want.strides,
            want.flags.owndata,
            want.flags.writeable,
        )


# ---------------------------------------------------------------- spec 1.1 to 1.3


def test_result_is_that_of_the_plain_call():  # 1.1
    f = nl.compile(plain)
    same(f(A, B), plain(A, B))
    same(f(A, B, scale=3.0), plain(A, B, scale=3.0))
    same(f(b=A, a=B), plain(b=A, a=B))
    assert testing.break_count(f) == 0
    assert f.stats.fallbacks == 0


@pytest.mark.parametrize("backend", ["llvm", "graph", "eager"])
def test_every_backend_gives_the_same(backend):
    f = nl.compile(plain, backend=backend)
    same(f(A, B), plain(A, B))
    same(f(A, B), plain(A, B))
    assert f.stats.hits == 1


def test_decorator_forms_keep_what_a_function_shows():  # 1.2
    @nl.compile(fullgraph=True)
    def keywords(x: np.ndarray, y=1) -> np.ndarray:
        """Text."""
        return x + y

    keywords_wrapped = keywords.__wrapped__
    assert keywords.__name__ == "keywords"
    assert keywords.__doc__ == "Text."
    assert keywords.__qualname__ == keywords_wrapped.__qualname__
    assert keywords.__module__ == __name__
    assert inspect.signature(keywords) == inspect.signature(keywords_wrapped)
    assert add.__name__ == "add" and add.__doc__ == "Adds."
    assert inspect.signature(add) == inspect.signature(add.__wrapped__)
    assert "add" in repr(add)
    same(keywords(A), A + 1)


def test_nothing_is_compiled_at_decoration():  # 1.3
    f = nl.compile(plain)
    assert f.entries == [] and f.stats.compiles == 0
    f(A, B)
    assert len(f.entries) == 1 and f.stats.compiles == 1
    f(A, B)
    assert len(f.entries) == 1 and f.stats.compiles == 1


def test_unknown_backend_lists_the_known_ones():  # 1.8, 1.9
    assert nl.list_backends() == ["llvm", "cuda", "graph", "eager"]
    with pytest.raises(ValueError, match='"turbo".*"llvm", "cuda", "graph", "eager"'):
        nl.compile(plain, backend="turbo")


def test_what_is_not_callable_is_refused():
    with pytest.raises(TypeError, match="callable, not int"):
        nl.compile(3)


# ---------------------------------------------------------------- kinds of callables


class Layer:
    def __init__(self, w):
        self.w = w

    @nl.compile
    def method(self, x):
        return x * self.w

    @nl.compile
    @staticmethod
    def static(x):
        return x + 1.0

    @staticmethod
    @nl.compile
    def static_outside(x):
        return x + 2.0

    @nl.compile
    @classmethod
    def of_class(cls, x):
        return x + 3.0

    def __call__(self, x):
        return x - self.w


def test_methods_static_methods_and_class_methods():
    layer = Layer(np.full(8, 2.0))
    same(layer.method(A), A * 2.0)
    same(Layer.method(layer, A), A * 2.0)
    same(layer.static(A), A + 1.0)
    same(Layer.static(A), A + 1.0)
    same(layer.static_outside(A), A + 2.0)
    same(layer.of_class(A), A + 3.0)
    same(Layer.of_class(A), A + 3.0)


def test_bound_methods_callable_objects_lambdas_and_builtins():
    layer = Layer(np.full(8, 2.0))
    same(nl.compile(layer)(A), A - 2.0)
    same(nl.compile(layer.__call__)(A), A - 2.0)
    same(nl.compile(lambda x: x + x)(A), A + A)
    same(nl.compile(np.sin)(A), np.sin(A))
    same(nl.compile(functools.partial(plain, A))(B), plain(A, B))


def test_compiling_twice_compiles_the_function_inside():
    f = nl.compile(nl.compile(plain), backend="eager")
    assert f.__wrapped__ is plain
    same(f(A, B), plain(A, B))


def test_generators_and_coroutines_run_plainly():
    @nl.compile
    def numbers(x):
        yield x + 1.0
        yield x + 2.0

    first, second = numbers(A)
    same(first, A + 1.0)
    same(second, A + 2.0)

    @nl.compile
    async def later(x):
        return x + 1.0

    with pytest.raises(StopIteration) as stop:
        later(A).send(None)
    same(stop.value.value, A + 1.0)


# ---------------------------------------------------------------- binding


def signature_zoo():
    def defaults(a, b=1.0, *, c=2.0):
        return a + b + c

    def positional_only(a, b, /, c=3.0):
        return a + b + c

    def variable(a, *rest, k=1.0, **more):
        for one in rest:
            a = a + one
        return a + k + more.get("z", 0.0)

    def none():
        return 1.0

    return [defaults, positional_only, variable, none]


CALLS = [
    ((), {}),
    ((A,), {}),
    ((A, B), {}),
    ((A, B, B), {}),
    ((A, B, B, B), {}),
    ((A,), {"b": B}),
    ((A,), {"a": B}),
    ((), {"a": A}),
    ((), {"a": A, "b": B, "c": B}),
    ((A,), {"c": B}),
    ((A, B), {"k": 2.0, "z": 4.0}),
    ((A,), {"unknown": 1}),
]


@pytest.mark.parametrize("function", signature_zoo(), ids=lambda f: f.__name__)
@pytest.mark.parametrize("args, kwargs", CALLS, ids=range(len(CALLS)))
def test_arguments_bind_and_fail_to_bind_as_in_cpython(function, args, kwargs):
    compiled = nl.compile(function)
    try:
        want = function(*args, **kwargs)
    except TypeError as error:
        with pytest.raises(TypeError) as raised:
            compiled(*args, **kwargs)
        assert str(raised.value) == str(error)
        assert compiled.stats.compiles == 0
    else:
        for _ in range(2):
            same(compiled(*args, **kwargs), want)


def test_changed_defaults_and_code_are_seen():
    def f(a, b=1.0):
        return a + b

    def other(a, b=1.0):
        return a * b

    compiled = nl.compile(f)
    same(compiled(A), A + 1.0)
    f.__defaults__ = (5.0,)
    same(compiled(A), A + 5.0)
    f.__code__ = other.__code__
    same(compiled(A), A * 5.0)


# ---------------------------------------------------------------- object behaviour


def test_pickled_and_copied_by_reference():
    assert pickle.loads(pickle.dumps(add)) is add
    assert copy.copy(add) is add
    assert copy.deepcopy(add) is add


def test_weak_references_attributes_and_cycles():
    def f(a):
        return a + 1.0

    compiled = nl.compile(f)
    compiled.note = "x"
    assert compiled.note == "x"
    compiled(A)
    gone = weakref.ref(compiled)
    compiled.itself = compiled
    del compiled
    gc.collect()
    assert gone() is None


def test_a_function_in_a_namespace_of_its_own_is_collected():
    namespace = {"np": np, "nl": nl, "__name__": "made_up"}
    exec("@nl.compile\ndef f(a):\n    return np.sqrt(a)", namespace)
    namespace["f"](A)
    assert testing.break_count(namespace["f"]) == 0
    gone = weakref.ref(namespace["f"])
    del namespace
    gc.collect()
    assert gone() is None


def test_a_compiled_function_calls_itself():
    @nl.compile
    def count(x, n):
        return x if n == 0 else count(x + 1.0, n - 1)

    same(count(A, 5), A + 5.0)


def test_deep_recursion_through_a_compiled_function():
    @nl.compile
    def down(n):
        return 0 if n == 0 else down(n - 1) + len(str(n)) * 0

    assert down(900) == 0


# ---------------------------------------------------------------- entries, stats, config


def test_entries_tell_guards_graph_and_cost():
    f = nl.compile(plain)
    f(A, B)
    f(A, B)
    (entry,) = f.entries
    assert entry.kind == "program" and entry.hits == 2
    assert any(g.startswith("a: dtype f64, rank 1, C contiguous") for g in entry.guards)
    assert "multiply" in entry.graph.text and "multiply" in entry.graph.table
    assert entry.code_size > 0 and entry.kernels == 1
    assert set(entry.compile_ms) == {"trace", "guards", "passes", "schedule", "emit"}
    assert all(ms >= 0 for ms in entry.compile_ms.values())


def test_stats_count():
    f = nl.compile(plain)
    f(A, B)
    f(A, B)
    f(A.astype("f4"), B.astype("f4"))
    with pytest.raises(TypeError):
        f(A)
    s = f.stats
    assert (s.calls, s.hits, s.misses, s.compiles, s.fallbacks, s.restarts) == (4, 1, 2, 2, 1, 0)


def test_config_has_the_options_and_nothing_else():
    assert nl.config.recompile_limit == 8
    with nl.config.patch(recompile_limit=3, strict=False):
        assert nl.config.recompile_limit == 3 and nl.config.strict is False
    assert nl.config.recompile_limit == 8

    @nl.config.patch(recompile_limit=5)
    def inside():
        return nl.config.recompile_limit

    assert inside() == 5 and nl.config.recompile_limit == 8
    with pytest.raises(AttributeError, match="no option 'turbo'"):
        nl.config.turbo
    with pytest.raises(AttributeError, match="no option 'turbo'"):
        nl.config.turbo = 1
    with pytest.raises(AttributeError, match="no option 'turbo'"):
        nl.config.patch(turbo=1)
    with pytest.raises(ValueError, match="recompile_limit"):
        nl.config.recompile_limit = "many"


def test_number_of_threads():
    before = nl.get_num_threads()
    nl.set_num_threads(1)
    assert nl.get_num_threads() == 1
    nl.set_num_threads(before)
    with pytest.raises(ValueError):
        nl.set_num_threads(0)


def test_reset_empties_and_the_next_call_compiles_again():  # 13.3
    f = nl.compile(plain)
    want = f(A, B)
    nl.reset()
    assert f.entries == []
    same(f(A, B), want)
    assert len(f.entries) == 1


# ---------------------------------------------------------------- processes and threads


def run_python(code, **environment):
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **environment},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return done


def test_numlift_disable_returns_the_function_unchanged():  # 13.4
    code = "import numlift as nl\ndef f(): pass\nprint(nl.compile(f) is f)"
    assert run_python(code, NUMLIFT_DISABLE="1").stdout == "True\n"
    assert run_python(code, NUMLIFT_DISABLE="0").stdout == "False\n"


def test_numlift_logs_help_prints_the_channels():
    done = run_python("import numlift", NUMLIFT_LOGS="help")
    assert "recompiles" in done.stderr and "output_code" in done.stderr and done.stdout == ""


def test_logs_go_to_logging_when_it_is_set_up():
    code = (
        "import logging, sys\n"
        "logging.basicConfig(stream=sys.stdout, level=logging.INFO, format='%(name)s %(message)s')\n"
        "import numpy as np, numlift as nl\n"
        "f = nl.compile(lambda x: x + 1.0)\n"
        "f(np.ones(3)); f(np.ones((2, 2)))\n"
    )
    out = run_python(code, NUMLIFT_LOGS="recompiles").stdout
    assert out.startswith("numlift.recompiles <lambda> is compiled again: x: found dtype f64, rank 2")


def test_import_adds_little_to_numpy():
    code = (
        "import numpy, time\n"
        "start = time.perf_counter()\n"
        "import numlift\n"
        "print(time.perf_counter() - start)\n"
    )
    assert min(float(run_python(code).stdout) for _ in range(3)) < 0.2


def test_several_threads_compile_and_call_the_same_function():  # 13.2
    f = nl.compile(lambda a, b: a * b + a)
    arrays = [np.arange(16.0), np.arange(16, dtype="f4"), np.arange(4.0).reshape(2, 2)]
    wants = [a * a + a for a in arrays]
    errors = []
    start = threading.Barrier(8)

    def work(seed):
        try:
            start.wait()
            for i in range(300):
                k = (i + seed) % len(arrays)
                same(f(arrays[k], arrays[k]), wants[k])
                if seed == 0 and i % 50 == 49:
                    nl.reset()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []


def test_a_forked_child_compiles():
    code = (
        "import os, numpy as np, numlift as nl\n"
        "f = nl.compile(lambda x: x * 2.0)\n"
        "f(np.ones(4))\n"
        "pid = os.fork()\n"
        "if pid == 0:\n"
        "    ok = (f(np.ones(4)) == 2).all() and (f(np.ones((2, 2))) == 2).all()\n"
        "    os._exit(0 if ok else 1)\n"
        "assert os.waitpid(pid, 0)[1] == 0\n"
    )
    run_python(code)


# ---------------------------------------------------------------- watched code runs plainly


def test_trace_functions_see_every_line():
    f = nl.compile(plain)
    f(A, B)
    lines = []

    def tracer(frame, event, arg):
        if frame.f_code is plain.__code__:
            lines.append(event)
        return tracer

    sys.settrace(tracer)
    try:
        f(A, B)
    finally:
        sys.settrace(None)
    assert "line" in lines
    f(A, B)
    assert f.stats.hits >= 1


# ---------------------------------------------------------------- results are ordinary arrays


def test_results_own_their_memory_and_can_be_resized():
    out = add(A, B)
    assert out.base is None and out.flags.owndata
    out.resize((16,), refcheck=False)
    np.testing.assert_array_equal(out[:8], A + B)
    assert (out[8:] == 0).all()


def test_results_are_aligned_to_a_cache_line():
    for n in (1, 7, 1000, 200_000):
        assert add(np.ones(n), np.ones(n)).ctypes.data % 64 == 0


def test_inspect_takes_it_for_the_function_that_it_wraps():
    import inspect

    async def coroutine(x):
        return x

    def generator(x):
        yield x

    def plain(x, y=2, *, z=3):
        return x

    assert inspect.iscoroutinefunction(nl.compile(coroutine))
    assert inspect.isgeneratorfunction(nl.compile(generator))
    compiled = nl.compile(plain)
    assert not inspect.iscoroutinefunction(compiled)
    assert compiled.__code__ is plain.__code__
    assert compiled.__defaults__ == (2,) and compiled.__kwdefaults__ == {"z": 3}
    assert inspect.signature(compiled) == inspect.signature(plain)


def test_annotations_are_those_of_the_function():
    def f(a: int, b: "text" = 2) -> float:  # noqa: F821
        return a + b

    compiled = nl.compile(f)
    assert compiled.__annotations__ is f.__annotations__
    assert typing.get_type_hints(compiled, localns={"text": str}) == {"a": int, "b": str, "return": float}
    compiled.__annotations__ = {"a": complex}
    assert compiled.__annotations__ == {"a": complex} and f.__annotations__["a"] is int
    del compiled.__annotations__
    assert compiled.__annotations__ is f.__annotations__
    with pytest.raises(AttributeError):
        nl.compile(len).__annotations__
