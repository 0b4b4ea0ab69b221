"""backend=: by name, and callables of the user's that get the graph of every compiled piece (Spec 1.8, 1.9, 10.4)."""

import gc
import importlib
import threading
import warnings
import weakref

import numpy as np
import pytest

import differential
import numlift as nl
from differential import LAYOUTS, array
from numlift.testing import break_count

x = np.linspace(0.1, 1.0, 6)


def as_it_is(graph, example_inputs):
    return nl.graph_module(graph)


def natively(graph, example_inputs):
    """The graph's source text through the default backend, in one graph again."""
    return nl.compile(nl.graph_module(graph).forward, fullgraph=True)


class Recorder:
    def __init__(self):
        self.graphs, self.examples, self.calls = [], [], 0

    def __call__(self, graph, example_inputs):
        self.graphs.append(graph)
        self.examples.append(example_inputs)
        module = nl.graph_module(graph)

        def run(*inputs):
            self.calls += 1
            return module(*inputs)

        return run


def plain(x, y):
    z = np.sin(x) + y
    return z * 2, z.sum()


# ---- which there are

# "cuda" needs a device: tests of its own are below.
HERE = [name for name in nl.list_backends() if name != "cuda"]


@pytest.mark.parametrize("backend", HERE)
def test_named_backends_give_numpys_answer(backend):
    """Spec 1.8, 10.4: "eager" and "graph" run the graph with NumPy, "llvm" as machine code."""
    f = nl.compile(plain, backend=backend)
    a, b = f(x, x)
    np.testing.assert_allclose(a, plain(x, x)[0], rtol=1e-15)
    assert type(b) is np.float64
    assert f.entries[0].kind == ("program" if backend == "llvm" else "graph")


def divides_quietly(x):
    with np.errstate(all="ignore"):
        return x / x


def divides_loudly(x):
    with np.errstate(all="ignore"):
        y = x / x
    with np.errstate(divide="warn", invalid="warn"):
        return y + 1 / x


@pytest.mark.parametrize("backend", HERE)
@pytest.mark.parametrize("function", [divides_quietly, divides_loudly])
@pytest.mark.parametrize("mode", ["ignore", "warn", "raise"])
def test_each_operation_reports_by_the_errstate_it_stands_under(backend, function, mode):
    """Spec 1.8: not by the caller's."""
    compiled = nl.compile(function, backend=backend)
    answers = []
    for f in function, compiled:
        with np.errstate(all=mode, under="ignore"), warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            answers.append((str(f(np.array([0.0, 2.0]))), [str(w.message) for w in seen]))
    assert answers[0] == answers[1]
    assert len(answers[0][1]) == (1 if function is divides_loudly else 0)
    assert compiled.entries[0].restarts == len(answers[0][1])


def test_backends_are_listed():
    """Spec 1.9"""
    assert nl.list_backends() == ["llvm", "cuda", "graph", "eager"]
    with pytest.raises(ValueError, match='unknown backend "turbo"; the backends are "llvm", "cuda", "graph", "eager"'):
        nl.compile(plain, backend="turbo")


def run_on_cuda(how):
    if how == "compile":
        f = nl.compile(plain, backend="cuda")  # known: nothing is asked of the machine yet
        return f(x, x)
    if how == "fullgraph":
        return nl.compile(plain, backend="cuda", fullgraph=True)(x, x)
    with nl.compile_region(backend="cuda"):
        return plain(x, x)


@pytest.mark.parametrize("how", ["compile", "fullgraph", "region"])
def test_cuda_is_known_and_says_what_is_missing(how):
    """Spec 1.8: "cuda" is a backend everywhere; a call says what keeps it from running (tests/device has the rest)."""
    with nl.config.patch(cuda_driver="libno_such_driver.so.1"):
        missing = "^no CUDA device: libno_such_driver.so.1, a part of NVIDIA's driver, is not installed$"
        for _ in range(2):
            with pytest.raises(RuntimeError, match=missing) as caught:
                run_on_cuda(how)
    assert not isinstance(caught.value, nl.Unsupported)


@pytest.mark.parametrize("backend", [None, 3, ["llvm"]])
def test_what_is_no_backend(backend):
    with pytest.raises(TypeError, match="backend is a name or a callable, not"):
        nl.compile(plain, backend=backend)


# ---- a callable


def test_a_callable_gets_the_graph_once_and_its_result_is_run():
    """Spec 1.8: the callable gets every graph of the function, and what it returns is run in its place."""
    recorder = Recorder()
    f = nl.compile(plain, backend=recorder)
    assert recorder.graphs == []
    for size in (6, 6, 9):
        y = np.linspace(0.0, 1.0, size)
        np.testing.assert_array_equal(f(y, y)[0], plain(y, y)[0])
    assert len(recorder.graphs) == 1 and recorder.calls == 3
    assert [type(e) for e in recorder.examples[0][:2]] == [np.ndarray] * 2 and recorder.examples[0][0].shape == (6,)
    assert f.entries[0].kind == "backend" and break_count(f) == 0


def test_every_piece_of_a_function_with_breaks_goes_to_the_callable(capsys):
    recorder = Recorder()

    @nl.compile(backend=recorder)
    def f(a, b):
        y = a / (np.abs(a) + 1)
        print("woo")
        if b.sum() < 0:
            b = b * -1
        return y * b

    for sign in (1, -1, 1):
        np.testing.assert_array_equal(f(x, sign * x), x / (np.abs(x) + 1) * x)
    assert capsys.readouterr().out == "woo\n" * 3
    assert [g.name for g in recorder.graphs][0] == "test_every_piece_of_a_function_with_breaks_goes_to_the_callable__locals__f"
    assert len(recorder.graphs) == 4  # before print, up to the branch, both of its sides
    assert recorder.calls == 9


def test_guards_are_ours():
    recorder = Recorder()
    f = nl.compile(lambda a, n: a * n if a.ndim == 1 else a + n, backend=recorder)
    for args in [(x, 2), (x, 3), (x.reshape(2, 3), 2), (x.astype("f4"), 2), (x, 5)]:
        differential.check_call(f, f.__wrapped__, lambda args=args: args)
    assert len(recorder.graphs) == 3


def test_numbers_and_sizes_are_inputs():
    recorder = Recorder()
    f = nl.compile(lambda a, n, t: np.reshape(a, (2, -1)) * t + n + a.shape[0], backend=recorder)
    for size in (6, 8):
        a = np.arange(float(size))
        np.testing.assert_array_equal(f(a, 3, 0.5), a.reshape(2, -1) * 0.5 + 3 + size)
    [graph] = recorder.graphs
    assert [n.name for n in graph.placeholders[:3]] == ["a", "n", "t"]
    sizes = graph.placeholders[3:]
    assert [n.meta["source"] for n in sizes] == ["a.shape[0]"]
    assert recorder.examples[0][1:] == [3, 0.5, 6]


def test_an_exception_of_the_backend_is_the_users():
    class Mine(Exception):
        pass

    def backend(graph, example_inputs):
        raise Mine("no such target")

    f = nl.compile(plain, backend=backend)
    for _ in range(2):
        with pytest.raises(Mine, match="no such target"):
            f(x, x)


@pytest.mark.parametrize("error", [ValueError("by the program"), KeyError(3), KeyboardInterrupt()])
def test_an_exception_of_its_program_is_the_users(error):
    def backend(graph, example_inputs):
        def run(*inputs):
            raise error

        return run

    f = nl.compile(plain, backend=backend)
    with pytest.raises(type(error)) as caught:
        f(x, x)
    assert caught.value is error


@pytest.mark.parametrize("made", [None, 3, "graph"])
def test_a_backend_that_returns_no_callable(made):
    def mine(graph, example_inputs):
        return made

    with pytest.raises(TypeError, match=r"the backend test_a.*mine returned \w+, which is not callable"):
        nl.compile(plain, backend=mine)(x, x)


@pytest.mark.parametrize(
    "result, message",
    [
        (lambda z: z, "returned numpy.ndarray, not a tuple with the graph's 1 results"),
        (lambda z: (z, z), "returned 2 results, the graph has 1"),
        (lambda z: (z.astype("f4"),), "result 0 .* dtype"),
        (lambda z: (z[0],), "result 0 .* array"),
        (lambda z: (z[None],), "result 0 .* rank"),
        (lambda z: ("z",), "result 0 .* array"),
    ],
)
def test_a_program_that_returns_something_else(result, message):
    f = nl.compile(lambda a: a * 2.0, backend=lambda graph, examples: lambda a, *sizes: result(a * 2.0))
    with pytest.raises(TypeError, match=message):
        f(x)


def test_what_numpy_would_report_is_reported_by_cpython():
    def f(a, b):
        a[0] = 1.0
        return a / b

    compiled = nl.compile(f, backend=as_it_is)
    for make in (lambda: (np.ones(3), np.ones(3)), lambda: (np.ones(3), np.zeros(3))):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            np.testing.assert_array_equal(compiled(*make()), f(*make()))
        ours, theirs = caught[: len(caught) // 2], caught[len(caught) // 2 :]
        assert [(str(w.message), w.lineno) for w in ours] == [(str(w.message), w.lineno) for w in theirs]
    assert len(caught) == 2
    a, b = np.arange(3.0), np.zeros(3)
    with np.errstate(all="raise"), pytest.raises(FloatingPointError):
        compiled(a, b)
    np.testing.assert_array_equal(a, [1, 1, 2])


def test_the_program_may_be_a_compiled_function():
    f = nl.compile(plain, backend=natively)
    for size in (6, 7):
        y = np.linspace(0.0, 1.0, size)
        np.testing.assert_allclose(f(y, y)[0], plain(y, y)[0], rtol=1e-15)


def test_the_backend_may_call_compiled_functions_and_the_function_itself():
    calls = []

    def backend(graph, example_inputs):
        if not calls:
            calls.append(f(x, x + 1)[1])
        calls.append(nl.compile(np.sin)(x))
        return nl.graph_module(graph)

    f = nl.compile(plain, backend=backend)
    np.testing.assert_array_equal(f(x, x)[0], plain(x, x)[0])
    assert calls[0] == plain(x, x + 1)[1]


def test_many_threads_ask_the_backend_once():
    recorder = Recorder()
    f = nl.compile(plain, backend=recorder)
    results = []
    threads = [threading.Thread(target=lambda: results.append(f(x, x)[1])) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [plain(x, x)[1]] * 8 and len(recorder.graphs) == 1


def test_graph_and_program_die_with_the_function():
    class Backend:
        def __call__(self, graph, example_inputs):
            return nl.graph_module(graph)

    backend = Backend()
    f = nl.compile(lambda a: a + 1, backend=backend)
    f(x)
    backend.function = f  # a cycle
    dead = weakref.ref(backend)
    del f, backend
    gc.collect()
    assert dead() is None


def test_fullgraph_and_dynamic_mean_what_they_mean():
    recorder = Recorder()
    f = nl.compile(lambda a: a + 1, backend=recorder, dynamic=False)
    for size in (3, 4, 3):
        f(np.ones(size))
    assert len(recorder.graphs) == 2
    with pytest.raises(nl.Unsupported):
        nl.compile(lambda a: print(a), backend=recorder, fullgraph=True)(x)


# ---- all of NumPy that is captured, by way of the Python graph


def expressions():
    found = []
    for module, names in {"test_views": ["VIEWS"], "test_strides": ["VIEWS", "VIEWS_3D"], "test_extern": ["EXPRESSIONS"]}.items():
        for name in names:
            found += [(module, e) for e in getattr(importlib.import_module(module), name)]
    return found


def arguments(module, expression, layout):
    if module == "test_extern":
        return array(9), array(9, start=4)
    three = expression in getattr(importlib.import_module("test_strides"), "VIEWS_3D") and module == "test_strides"
    return (array(*((2, 3, 4) if three else (4, 6)), layout=layout),)


@pytest.mark.parametrize("backend", [as_it_is, natively])
@pytest.mark.parametrize("module, expression", expressions())
def test_the_python_graph_means_what_the_program_means(module, expression, backend):
    names = "x, y" if module == "test_extern" else "x"
    function = eval(f"lambda {names}: {expression}", {"np": np})
    for layout in LAYOUTS:
        compiled = nl.compile(function, backend=backend)
        differential.check_call(compiled, function, lambda: arguments(module, expression, layout))


PROGRAMS = [
    lambda x: np.where(x > 0, x, -x) + np.clip(x, -1, 2),
    lambda x: x.astype("f4") + np.float32(1),
    lambda x: (x.astype(complex) * 1j).imag,
    lambda x: np.argmax(x, axis=0) + np.argmin(x),
    lambda x: (x.max(0, keepdims=True), x.min(), np.any(x > 3), np.all(x > -100, axis=1)),
    lambda x: np.arange(x.shape[0])[:, None] * x,
    lambda x: np.zeros((x.shape[1], 3)) + x[0, 0],
    lambda x: np.full_like(x, np.inf) * 0.0 if False else np.full_like(x, 2.5),
    lambda x: np.gcd(np.abs(x).astype(int), 4),
    lambda x: np.diagonal(x)[::-1] + 1,
    lambda x: np.concatenate([x, x * 2], axis=1)[:, ::-3],
    lambda x: x.var(axis=1) / x.std(),
    lambda x: np.linalg.norm(x) + np.linalg.svd(x, compute_uv=False),
    lambda x: np.nonzero(x > 0)[0] + 1,
    lambda x: np.unique(x)[1:] - np.unique(x)[:-1],
    lambda x: x @ x.T,
    lambda x: np.roll(x, 2, 1) + np.tile(x, (1, 1)),
    lambda x: x[::-1].T[1:, ::2].reshape(-1, 1) * x[0],
    lambda x: np.isnan(x).sum() + np.count_nonzero(x),
    lambda x: float(x[0, 0]) * x + int(3),
    lambda x: [x[0].sum(), {"k": x * 2, "t": (x.shape, x.dtype)}][1]["k"],
    lambda x: x.mean(axis=(0, 1)) * x[0, 0] ** 2,
    lambda x: (np.add(x, 1, order="F"), np.add(x.T, 1, order="C"), np.eye(2, 3, order="F")),
    lambda x: [y := x[np.argmax(x[:, 0])], y, y[::-1]],
]


def stores(x):
    y = x + 1
    v = y[1:, ::2]
    v[...] = 0.5
    v.T[0] += x[1:, 0]
    x[x.shape[0] - 1] = y[0]
    x[:, 1] *= 2
    np.add(x, 1, out=x)
    return x, v, y


def stores_of_parts(x):
    z = x.astype(complex)
    z.real = 3
    z.imag[1:] = x[1:]
    return z, z.imag


def overlapping(x):
    x[1:] = x[:-1]
    x[::-1] = x
    return x[::2]


@pytest.mark.parametrize("backend", [as_it_is, natively])
@pytest.mark.parametrize("function", [*PROGRAMS, stores, stores_of_parts, overlapping])
def test_programs(function, backend):
    compiled = nl.compile(function, backend=backend)
    for shape in ((4, 6), (5, 5), (3, 8)):
        differential.check_call(compiled, function, lambda: (array(*shape, start=3) * 1.0,))
        differential.check_call(compiled, function, lambda: (array(*shape, start=3, layout="F") * 1.0,))


# ---- loops


def sums_of_prefixes(x, out):
    total = 0.0
    for i in range(x.shape[0]):
        total += x[i]
        if total > 1.0:
            total -= 1.0
        out[i] = total
    return total


def test_loops_run_by_every_named_backend():
    """Spec 1.8: the graph has the loop, which "graph" and "eager" run node by node."""
    for backend in HERE:
        compiled = nl.compile(sums_of_prefixes, backend=backend)
        for count in 0, 1, 9:
            y = np.linspace(0.1, 0.9, count)
            ours, numpys = np.zeros(count), np.zeros(count)
            assert compiled(y, ours) == sums_of_prefixes(y, numpys)
            assert np.array_equal(ours, numpys)
        assert any("loop(" in str(entry.graph) for entry in compiled.entries), backend


def test_a_loop_that_restarts_has_stored_nothing():
    def f(x, out):
        for i in range(x.shape[0]):
            out[i] = 1.0 / x[i]

    for backend in HERE:
        compiled = nl.compile(f, backend=backend)
        y = np.array([1.0, 2.0, 0.0, 4.0])
        out = np.full(4, -1.0)
        with np.errstate(divide="raise"), pytest.raises(FloatingPointError):
            compiled(y, out)
        assert out.tolist() == [1.0, 0.5, -1.0, -1.0]  # by CPython, up to the line that raises
        assert compiled.entries[0].restarts == 1


def test_a_callable_gets_no_control_flow():
    """docs/backends.md: "The graph is a straight list of calls"."""
    recorder = Recorder()
    compiled = nl.compile(sums_of_prefixes, backend=recorder)
    y = np.linspace(0.1, 0.9, 5)
    for _ in range(2):
        ours, numpys = np.zeros(5), np.zeros(5)
        assert compiled(y, ours) == sums_of_prefixes(y, numpys)
        assert np.array_equal(ours, numpys)
    for graph in recorder.graphs:
        graph.lint()
    assert not any("loop(" in str(entry.graph) for entry in compiled.entries)
