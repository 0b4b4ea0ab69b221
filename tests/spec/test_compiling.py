"""Lines of the specification on compiling, recompiling and fullgraph that have no test elsewhere."""

import inspect
import random

import numpy as np
import pytest

import numlift as nl
from numlift.testing import break_count

x = np.linspace(0.1, 1.0, 6)


def helper(v):
    return np.exp(v) - inner(v)


def inner(v):
    return v * v


def calls_helpers(v):
    return helper(v) + inner(v[::-1]).sum()


def broken(v):
    y = np.sqrt(v)
    print("between")
    return y * 2


def test_spec_1_4_a_function_without_breaks_is_one_graph():
    def f(v):
        y = np.sin(v) + v.mean()
        y[1:] *= 2
        return np.where(y > 0, y, -y).reshape(2, -1).T @ np.ones(2)

    explanation = nl.explain(f)(x)
    assert (explanation.graph_count, explanation.graph_break_count) == (1, 0)
    np.testing.assert_allclose(nl.compile(f)(x), f(x), rtol=1e-14)


def test_spec_1_5_called_functions_are_in_the_same_graph():
    explanation = nl.explain(calls_helpers)(x)
    assert explanation.graph_count == 1
    assert explanation.ops_per_graph[0].count("numpy.multiply") == 2 and "numpy.exp" in explanation.ops_per_graph[0]
    np.testing.assert_allclose(nl.compile(calls_helpers)(x), calls_helpers(x), rtol=1e-14)


def test_spec_1_6_what_cannot_be_captured_whole_is_several_graphs(capsys):
    explanation = nl.explain(broken)(x)
    assert (explanation.graph_count, explanation.graph_break_count) == (2, 1)
    compiled = nl.compile(broken)
    np.testing.assert_array_equal(compiled(x), np.sqrt(x) * 2)
    assert capsys.readouterr().out == "between\n" * 2
    assert {e.kind for e in compiled.entries} == {"program"}


@pytest.mark.parametrize("function", [calls_helpers, lambda v: (v[::2], {"k": v.sum()}), lambda v: np.sort(v)[0] + v])
def test_spec_3_5_fullgraph_changes_nothing_where_there_is_no_break(function):
    plain, full = nl.compile(function), nl.compile(function, fullgraph=True)
    for size in (6, 6, 8):
        v = np.linspace(0.1, 1.0, size)
        a, b = plain(v), full(v)
        assert repr(a) == repr(b)
    assert [e.graph.text for e in plain.entries] == [e.graph.text for e in full.entries]


def test_spec_4_1_a_second_call_of_the_kind_compiles_nothing():
    f = nl.compile(lambda v, n, flag: v * n if flag else v - n)
    f(x, 2, True)
    compiles = f.stats.compiles
    for n in range(3, 9):
        f(x + n, n, True)
    assert f.stats.compiles == compiles == 1
    f(x, 2, False)
    assert f.stats.compiles == 2


@pytest.mark.parametrize(
    "other", [x.astype("f4"), x.astype(complex), np.arange(6), x.reshape(2, 3), np.float64(2.0)], ids=lambda v: f"{v.dtype}, rank {v.ndim}"
)
def test_spec_4_5_another_dtype_or_rank_is_another_graph(other):
    f = nl.compile(lambda v: v * 2 + 1)
    for v in (x, other, x, other):
        result = f(v)
        assert result.dtype == (v * 2 + 1).dtype and np.array_equal(result, v * 2 + 1)
    assert f.stats.compiles == 2 and len(f.entries) == 2


def test_spec_4_6_only_what_a_change_concerns_is_compiled_again(monkeypatch):
    @nl.compile
    def f(v):
        y = np.sqrt(v)
        nl.graph_break()
        y = y + 1
        nl.graph_break()
        return y * MODES[MODE]

    monkeypatch.setitem(globals(), "MODES", {"a": 2.0, "b": 5.0})
    monkeypatch.setitem(globals(), "MODE", "a")
    np.testing.assert_array_equal(f(x), (np.sqrt(x) + 1) * 2)
    assert f.stats.compiles == 3
    monkeypatch.setitem(globals(), "MODE", "b")
    np.testing.assert_array_equal(f(x), (np.sqrt(x) + 1) * 5)
    assert f.stats.compiles == 4
    monkeypatch.setitem(globals(), "MODE", "a")
    np.testing.assert_array_equal(f(x), (np.sqrt(x) + 1) * 2)
    assert f.stats.compiles == 4


def numlift_state():
    return np.geterr(), np.get_printoptions(), random.getstate(), np.random.get_state()[1].tolist(), np.random.get_state()[2]


def draws(v):
    return v + np.random.rand(6)


def with_state(v):
    with np.errstate(all="ignore"):
        return v / 0.0


@pytest.mark.parametrize("function", [calls_helpers, broken, lambda v: np.sort(v) + np.unique(v).sum(), lambda v: v / 0.0, with_state, lambda v: np.linalg.svd(v.reshape(2, 3))[1]])
@pytest.mark.parametrize("backend", ["llvm", "graph", "eager"])
def test_spec_13_1_no_global_state_changes(function, backend):
    before = numlift_state()
    with np.errstate(all="ignore"):
        compiled = nl.compile(function, backend=backend)
        for _ in range(3):
            compiled(x)
        nl.explain(function)(x)
    assert numlift_state() == before


def test_spec_13_1_what_the_code_changes_is_changed_once():
    np.random.seed(5)
    expected = draws(x), numlift_state()
    np.random.seed(5)
    found = nl.compile(draws)(x), numlift_state()
    np.testing.assert_array_equal(found[0], expected[0])
    assert found[1] == expected[1]


def test_spec_1_2_the_signature_stays():
    def f(a, b=2, *, c: int = 3) -> np.ndarray:
        return a * b + c

    for compiled in (nl.compile(f), nl.compile(fullgraph=True)(f)):
        assert inspect.signature(compiled) == inspect.signature(f) and compiled.__wrapped__ is f
        np.testing.assert_array_equal(compiled(x, c=1), x * 2 + 1)
        assert break_count(compiled) == 0
