"""allow_in_graph, nonstrict_trace, assume_constant_result, ignored functions (spec 6, 12.4 to 12.6, 12.15,
12.19 to 12.23)."""

import logging
import warnings
import zlib

import numpy as np
import pytest

import numlift as nl
from numlift import _core
from parity.hatch_tools import graphs, reasons

X = np.linspace(-1.0, 2.0, 12)
BACKENDS = ("llvm", "graph", "eager")


@pytest.fixture(autouse=True)
def _no_marks_left():
    yield
    nl.config.ignore_logging_functions.clear()
    assert not nl.config.check_escape_hatches


# ---------------------------------------------------------------- allow_in_graph


def checksum(x):
    """A foreign C function of array data."""
    return x + zlib.crc32(x.tobytes()) % 7


@pytest.mark.parametrize("backend", BACKENDS)
def test_allowed_function_is_one_operation(backend):  # 6.1
    allowed = nl.allow_in_graph(checksum)
    assert allowed is checksum
    f = nl.compile(lambda x: checksum(x * 2.0) + 1.0, fullgraph=True, backend=backend)
    for scale in (1.0, 2.0, 3.0):
        np.testing.assert_array_equal(f(X * scale), checksum(X * scale * 2.0) + 1.0)
    (ops,) = graphs(f)
    assert [op for op in ops if op != "extern_item"] == ["multiply", "extern", "add"]
    assert f.stats.restarts == 0
    _core.clear_mark(checksum)


def test_allowed_inline():  # 6.1
    def last_row(x):
        return np.array([float(zlib.crc32(row.tobytes())) for row in x])

    @nl.compile(fullgraph=True)
    def f(x):
        return nl.allow_in_graph(last_row)(x) + 1

    x = np.random.default_rng(1).standard_normal((2, 3))
    np.testing.assert_array_equal(f(x), last_row(x) + 1)
    assert f(x).shape == (2,)
    assert len(graphs(f)) == 1


def test_allowed_lambda_made_inside():  # 6.1
    @nl.compile(fullgraph=True)
    def f(x):
        return nl.allow_in_graph(lambda y: y + zlib.crc32(y.tobytes()))(x)

    np.testing.assert_array_equal(f(X), X + zlib.crc32(X.tobytes()))


def test_list_and_tuple_of_functions():  # 6.2
    def one(x):
        return x + len(str(x))

    def two(x):
        return x - len(str(x))

    for kind in (list, tuple):
        functions = nl.allow_in_graph(kind([one, two]))
        assert functions == kind([one, two])
        f = nl.compile(lambda x: functions[0](x) * functions[1](x), fullgraph=True)
        np.testing.assert_array_equal(f(X), one(X) * two(X))


class Opaque:
    pass


def test_arguments_and_results(rng):  # 6.3
    seen = []

    @nl.allow_in_graph
    def g(x, i, flag, ratio, z, none, text, dtype, pair, table, *, key=1.0):
        seen.append((i, flag, ratio, z, none, text, dtype, type(pair), type(table)))
        assert isinstance(text, str)
        return (x * i + ratio * key, [pair[0] - table["a"], table["b"]])

    def f(x, i, ratio):
        return g(x, i, True, ratio, 2j, None, "text", np.float32, (x, 1), {"a": x + 1, "b": 3}, key=ratio)

    compiled = nl.compile(f, fullgraph=True)
    for i, ratio in ((2, 0.5), (3, 1.5)):
        got, want = compiled(X, i, ratio), f(X, i, ratio)
        np.testing.assert_array_equal(got[0], want[0])
        assert type(got) is tuple and type(got[1]) is list
        np.testing.assert_array_equal(got[1][0], want[1][0])
        assert got[1][1] == want[1][1]
        assert seen[-1] == seen[-2]
    assert compiled.stats.compiles == 1


def test_other_arguments_are_named():  # 6.3
    thing = Opaque()

    @nl.allow_in_graph
    def g(x, helper):
        return x + len(str(type(helper)))

    with pytest.raises(nl.Unsupported, match="argument helper of .*g is a Opaque"):
        nl.compile(lambda x: g(x, thing), fullgraph=True)(X)
    with pytest.raises(nl.Unsupported, match="argument helper of .*g is a Opaque"):
        nl.compile(lambda x: g(x, helper=[1, thing]), fullgraph=True)(X)
    f = nl.compile(lambda x: g(x, thing))
    np.testing.assert_array_equal(f(X), g(X, thing))


def test_captured_arrays_are_read_anew():  # 6.5
    weights = [np.ones(12)]

    @nl.allow_in_graph
    def g(x):
        return x * weights[0]

    f = nl.compile(lambda x: g(x) + 1.0, fullgraph=True)
    np.testing.assert_array_equal(f(X), X + 1.0)
    weights[0] = np.full(12, 5.0)
    np.testing.assert_array_equal(f(X), 5.0 * X + 1.0)
    weights[0][:] = 2.0
    np.testing.assert_array_equal(f(X), 2.0 * X + 1.0)


LOOSE = np.ones(12)


def test_checks_find_broken_promises():  # 6.4
    state = {"calls": 0}

    def captures(x):
        return x + LOOSE

    def changes(x):
        x[0] = 100.0
        return x + 1.0

    def drifts(x):
        state["calls"] += 1
        return x + state["calls"]

    def fine(x):
        y = np.zeros_like(x)
        y[:] = x
        return y

    with nl.config.patch(check_escape_hatches=True):
        for function, text in [
            (captures, "uses an array from outside: global LOOSE"),
            (changes, r"changes arguments\[0\]\[0\]"),
            (drifts, "gives another result each time"),
        ]:
            nl.allow_in_graph(function)
            with pytest.raises(nl.EscapeHatchError, match=text):
                nl.compile(lambda x, function=function: function(x) * 2.0)(X.copy())
        nl.allow_in_graph(fine)
        np.testing.assert_array_equal(nl.compile(lambda x: fine(x) * 2.0, fullgraph=True)(X), X * 2.0)
    f = nl.compile(lambda x: captures(x) * 2.0, fullgraph=True)
    np.testing.assert_array_equal(f(X), (X + 1.0) * 2.0)
    with nl.config.patch(check_escape_hatches=True):
        with pytest.raises(nl.EscapeHatchError, match="LOOSE"):  # compiled before: compiled again
            f(X)


def test_a_change_found_at_run_time_leaves_the_inputs_alone():  # 6.4
    switch = [False]

    @nl.allow_in_graph
    def g(x):
        return x + (np.random.default_rng().random() if switch[0] else 0.0)

    def f(x, out):
        out[:] = x * 2.0
        return g(out)

    with nl.config.patch(check_escape_hatches=True):
        compiled = nl.compile(f, fullgraph=True)
        out = np.zeros_like(X)
        np.testing.assert_array_equal(compiled(X, out), X * 2.0)
        switch[0] = True
        out[:] = -1.0
        with pytest.raises(nl.EscapeHatchError, match="another result"):
            compiled(X, out)
        assert (out == -1.0).all()


class Affine:
    def __init__(self):
        self.w, self.b, self.name = np.eye(3), np.zeros(3), "affine"

    def __call__(self, x):
        return x @ self.w + self.b


def test_state_of_an_object():  # 6.6
    m = Affine()
    state = nl.extract_state(m)
    assert state.keys() == {"w", "b"}
    g = nl.allow_in_graph(lambda s, x: nl.functional_call(m, s, x))
    f = nl.compile(lambda s, x: g(s, x) * 1.0, fullgraph=True)
    x = np.arange(6.0).reshape(2, 3)
    np.testing.assert_array_equal(f(state, x), m(x))
    changed = {"w": np.eye(3) * 2.0, "b": np.ones(3)}
    np.testing.assert_array_equal(f(changed, x), x * 2.0 + 1.0)
    np.testing.assert_array_equal(m.w, np.eye(3))
    assert f.stats.compiles == 1


def test_an_allowed_function_that_raises():
    @nl.allow_in_graph
    def g(x, n):
        if n > 2:
            raise KeyError("too many")
        return x * n

    f = nl.compile(lambda x, n: g(x, n) + 1.0)
    np.testing.assert_array_equal(f(X, 2), X * 2 + 1.0)
    with pytest.raises(KeyError, match="too many"):
        f(X, 3)


# ---------------------------------------------------------------- nonstrict_trace


def g(x):
    y = np.sin(x)
    nl.graph_break()
    z = np.sin(y)
    return z


def test_graph_break_under_fullgraph():  # 12.4
    @nl.compile(fullgraph=True)
    def f(x):
        w = np.sin(x)
        return g(w)

    with pytest.raises(nl.Unsupported, match=r"Call to numlift\.graph_break\(\)"):
        f(X)


@pytest.mark.parametrize("backend", BACKENDS)
def test_nonstrict_trace(backend):  # 12.5
    @nl.compile(fullgraph=True, backend=backend)
    def f_rewritten(x):
        w = np.sin(x)
        return nl.nonstrict_trace(g)(w)

    for _ in range(2):
        np.testing.assert_allclose(f_rewritten(X), np.sin(np.sin(np.sin(X))), rtol=1e-14)
    assert graphs(f_rewritten) == [["sin"] * 3]


def test_nonstrict_decorator():  # 12.5
    @nl.nonstrict_trace
    def inner(x):
        "Doc."
        nl.graph_break()
        return g(x) * 2.0

    assert (inner.__name__, inner.__doc__) == ("inner", "Doc.")
    np.testing.assert_array_equal(inner(X), g(X) * 2.0)
    f = nl.compile(lambda x: inner(x + 1.0), fullgraph=True)
    np.testing.assert_allclose(f(X), g(X + 1.0) * 2.0, rtol=1e-14)
    assert graphs(f) == [["add", "sin", "sin", "multiply"]]


def test_nonstrict_of_a_function_made_inside():
    @nl.compile(fullgraph=True)
    def f(x, k):
        def inner(y):
            nl.graph_break()
            return y * k

        return nl.nonstrict_trace(inner)(x)

    np.testing.assert_array_equal(f(X, 3.0), X * 3.0)
    assert graphs(f) == [["multiply"]]


def test_nonstrict_function_that_cannot_be_traced_is_one_operation():
    @nl.nonstrict_trace
    def inner(x):
        nl.graph_break()
        return checksum(x)

    f = nl.compile(lambda x: inner(x * 2.0) + 1.0, fullgraph=True)
    np.testing.assert_array_equal(f(X), checksum(X * 2.0) + 1.0)
    assert len(graphs(f)) == 1


def test_a_nonstrict_function_is_handed_to_python():
    def f(x):
        h = nl.nonstrict_trace(g)
        zlib.crc32(b"")
        return h(x)

    compiled = nl.compile(f)
    np.testing.assert_allclose(compiled(X), f(X), rtol=1e-14)
    np.testing.assert_allclose(compiled(X), f(X), rtol=1e-14)


def test_nonstrict_values(rng):  # 12.6
    @nl.nonstrict_trace
    def inner(x, n, items, table):
        nl.graph_break()
        return {"sum": x * n + items[0], "pair": (table["a"], [items[1]])}

    f = nl.compile(lambda x, n: inner(x, n, [x, 2.0], {"a": x - 1.0}), fullgraph=True)
    got = f(X, 3)
    np.testing.assert_array_equal(got["sum"], X * 3 + X)
    np.testing.assert_array_equal(got["pair"][0], X - 1.0)
    assert got["pair"][1] == [2.0]
    thing = Opaque()
    with pytest.raises(nl.Unsupported, match="argument n of .*inner is a Opaque"):
        nl.compile(lambda x: inner(x, thing, [], {}), fullgraph=True)(X)

    @nl.nonstrict_trace
    def leaks(x):
        return thing

    with pytest.raises(nl.Unsupported, match="Opaque"):
        nl.compile(lambda x: (leaks(x), x + 1.0), fullgraph=True)(X)


# ---------------------------------------------------------------- assume_constant_result


def test_constant_result():
    calls = []

    @nl.assume_constant_result
    def scale(name):
        calls.append(name)
        return {"a": 2.0, "b": 3.0}[name]

    f = nl.compile(lambda x: x * scale("a") + scale("b"), fullgraph=True)
    for _ in range(3):
        np.testing.assert_array_equal(f(X), X * 2.0 + 3.0)
    assert set(calls) == {"a", "b"}
    count = len(calls)
    f(X)
    assert len(calls) == count
    assert scale("a") == 2.0 and len(calls) == count + 1  # plain Python calls it


def test_constant_array():
    values = [np.arange(12.0)]

    @nl.assume_constant_result
    def table():
        return values[0]

    f = nl.compile(lambda x: x + table(), fullgraph=True)
    np.testing.assert_array_equal(f(X), X + np.arange(12.0))
    values[0] = np.zeros(12)
    np.testing.assert_array_equal(f(X), X + np.arange(12.0))
    nl.reset()
    np.testing.assert_array_equal(f(X), X)


def test_constant_result_of_an_array():
    @nl.assume_constant_result
    def first(x):
        return 1.0

    with pytest.raises(nl.Unsupported, match=r"first \(assume_constant_result\) is called with a"):
        nl.compile(lambda x: x + first(x), fullgraph=True)(X)
    f = nl.compile(lambda x: x + first(x))
    np.testing.assert_array_equal(f(X), X + 1.0)


# ---------------------------------------------------------------- ignored functions


def bad_fn(y):
    np.save("foo.npy", y)


def test_ignored_function(tmp_path, monkeypatch):  # 12.19
    monkeypatch.chdir(tmp_path)
    nl.config.ignore_logging_functions.add(bad_fn)

    @nl.compile(fullgraph=True)
    def f(x):
        y = x**2 / 2
        bad_fn()
        z = y**3 / 6
        return z

    np.testing.assert_allclose(f(X), (X**2 / 2) ** 3 / 6, rtol=1e-14)
    assert not (tmp_path / "foo.npy").exists()
    assert len(graphs(f)) == 1


def test_the_call_gives_none_and_evaluates_its_arguments():  # 12.20
    nl.config.ignore_logging_functions.add(bad_fn)

    def f(x, items):
        answer = bad_fn(x / items[3], name=1)
        return x + 1.0, answer

    compiled = nl.compile(f)
    assert compiled(X, [1, 2, 3, 4])[1] is None
    with pytest.raises(IndexError):
        compiled(X, [1, 2])


logger = logging.getLogger("numlift.test.one")
other = logging.getLogger("numlift.test.other")


def logging_function(x):
    logger.info("value %s", 1)
    return x + 1.0


def other_logging_function(x):
    other.info("value %s", 1)
    return x + 1.0


def test_one_logger_is_ignored():  # 12.21
    ignored = nl.config.ignore_logging_functions
    f = nl.compile(logging_function, fullgraph=True)
    g = nl.compile(other_logging_function, fullgraph=True)
    ignored.add(logger.info)
    assert logger.info in ignored and other.info not in ignored
    np.testing.assert_array_equal(f(X), X + 1.0)
    with pytest.raises(nl.Unsupported):
        g(X)
    ignored.remove(logger.info)
    with pytest.raises(nl.Unsupported):
        f(X)


def test_all_loggers_are_ignored():  # 12.21
    f = nl.compile(logging_function, fullgraph=True)
    g = nl.compile(other_logging_function, fullgraph=True)
    nl.config.ignore_logging_functions = {logging.Logger.info}
    np.testing.assert_array_equal(f(X), X + 1.0)
    np.testing.assert_array_equal(g(X), X + 1.0)
    nl.config.ignore_logging_functions = set()
    with pytest.raises(nl.Unsupported):
        f(X)


def test_print_and_warn_are_ignored(capsys):  # 12.22
    def f(x):
        print("woo")
        warnings.warn("oh", stacklevel=1)
        return x + 1.0

    compiled = nl.compile(f)
    nl.config.ignore_logging_functions.update([print, warnings.warn])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_array_equal(compiled(X), X + 1.0)
    assert capsys.readouterr().out == ""
    assert len(graphs(compiled)) == 1 and reasons(compiled) == []
    nl.config.ignore_logging_functions.clear()
    with pytest.warns(UserWarning, match="oh"):
        np.testing.assert_array_equal(compiled(X), X + 1.0)
    assert capsys.readouterr().out == "woo\n"


def test_bad_entries():
    with pytest.raises(TypeError, match="holds callables"):
        nl.config.ignore_logging_functions.add("print")
    with pytest.raises(TypeError, match="holds callables"):
        nl.config.ignore_logging_functions = [print, 3]
    assert len(nl.config.ignore_logging_functions) == 0


# ---------------------------------------------------------------- which object is marked


def test_functions_of_one_code_are_told_apart():
    def make(k):
        def step(x):
            return x + k

        return step

    one, two = make(1.0), make(2.0)
    nl.config.ignore_logging_functions.add(two)
    f = nl.compile(lambda step, x: step(x))
    np.testing.assert_array_equal(f(one, X), X + 1.0)
    assert f(two, X) is None
    np.testing.assert_array_equal(f(one, X), X + 1.0)


def test_bound_methods_as_arguments():
    class Model:
        def __init__(self, k):
            self.k = k

        @nl.disable
        def left(self, x):
            return x * self.k

        @nl.nonstrict_trace
        def traced(self, x):
            nl.graph_break()
            return x * self.k

    f = nl.compile(lambda method, x: method(x + 1.0) + 1.0)
    models = [Model(2.0), Model(3.0)]
    for _ in range(3):
        for model in models:
            np.testing.assert_array_equal(f(model.left, X), (X + 1.0) * model.k + 1.0)
    assert any("numlift.disable" in reason for reason in reasons(f))
    h = nl.compile(lambda x: models[0].traced(x) + 1.0, fullgraph=False)
    np.testing.assert_array_equal(h(X), X * 2.0 + 1.0)


def test_method_of_one_object_is_ignored_wherever_it_comes_from():
    class Sink:
        def __init__(self):
            self.seen = []

        def write(self, x):
            self.seen.append(1)
            return self

    quiet, loud = Sink(), Sink()
    nl.config.ignore_logging_functions.add(quiet.write)
    f = nl.compile(lambda write, x: (write(x), x + 1.0)[0])
    for _ in range(2):
        assert f(quiet.write, X) is None
        assert f(loud.write, X) is loud
    assert (quiet.seen, loud.seen) == ([], [1, 1])
