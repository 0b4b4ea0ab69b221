"""nl.explain, nl.compile_times and the reasons for compiling again."""

import logging
import re
import traceback

import numpy as np
import pytest

import numlift as nl


def toy_example(a, b):
    x = a / (np.abs(a) + 1)
    print("woo")
    if b.sum() < 0:
        b = b * -1
    return x * b


FIRST = toy_example.__code__.co_firstlineno
PRINT, IF = FIRST + 2, FIRST + 3
A, B = np.linspace(-1.0, 1.0, 10), np.ones(10)


def explained(b=B):
    return nl.explain(toy_example)(A, b)


def test_spec_2_1_runs_once_and_prints_a_report(capsys):
    calls = []

    def f(x):
        calls.append(1)
        return x + 1

    explanation = nl.explain(f)(A)
    assert calls == [1]
    print(explanation)
    assert capsys.readouterr().out.startswith("Graph Count: ")


def test_spec_2_2_report(capsys):
    report = str(explained())
    begin = [
        "Graph Count: 3",
        "Graph Break Count: 2",
        "Op Count: 6",
        "Break Reasons:",
        "  Break Reason 1:",
        "    Reason: builtin: print [str] False",
        "    User Stack:",
        f"      <FrameSummary file {__file__}, line {PRINT} in toy_example>",
        "  Break Reason 2:",
        "    Reason: generic_jump numpy.bool",
        "    User Stack:",
        f"      <FrameSummary file {__file__}, line {IF} in numlift_resume_in_toy_example_at_{PRINT}>",
    ]
    assert report.splitlines()[: len(begin)] == begin
    capsys.readouterr()


def test_spec_2_3_operations_of_each_graph(capsys):
    explanation = explained()
    assert explanation.ops_per_graph == [
        ["numpy.absolute", "numpy.add", "numpy.divide"],
        ["numpy.sum", "numpy.less"],
        ["numpy.multiply"],
    ]
    other = explained(-B)
    assert other.ops_per_graph[2] == ["numpy.multiply", "numpy.multiply"]
    assert (other.graph_count, other.graph_break_count, other.op_count) == (3, 2, 7)
    capsys.readouterr()


def test_spec_2_4_the_rest_of_the_report(capsys):
    report = str(explained())
    rest = report[report.index("Ops per Graph:") :]
    assert rest.startswith(
        "Ops per Graph:\n  Ops 1:\n    numpy.absolute\n    numpy.add\n    numpy.divide\n  Ops 2:\n"
    )
    assert re.search(
        r"Out Guards:\n  Guard 1:\n    Source: a\n    Kind: array\n    Condition: dtype f64, rank 1, "
        rf"C contiguous\n    User Line: .*test_explain.py:{FIRST}\n",
        rest,
    )
    assert re.search(r"Compile Times:\n  Graph +trace +guards +passes +schedule +emit +total", rest)
    assert report.count("\n  toy_example ") == 1
    capsys.readouterr()


def test_spec_2_5_attributes(capsys):
    explanation = explained()
    assert len(explanation.graphs) == explanation.graph_count == 3
    assert explanation.graph_break_count == len(explanation.break_reasons) == 2
    assert "divide" in explanation.graphs[0].text
    first, second = explanation.break_reasons
    assert (first.code, second.code) == ("GB0101", "GB0501")
    assert first.explanation and first.hints and second.hints
    assert all(isinstance(one, traceback.FrameSummary) for one in first.user_stack)
    assert first.user_stack[0].line == 'print("woo")'
    assert {guard.source for guard in explanation.out_guards} >= {"a", "b", "np.abs"}
    assert [one["graph"] for one in explanation.compile_times] == [
        "toy_example",
        f"numlift_resume_in_toy_example_at_{PRINT}",
        f"numlift_resume_in_toy_example_at_{IF}",
    ]
    assert repr(explanation) == "<numlift.Explanation: 3 graphs, 2 breaks, 6 operations>"
    assert explanation._repr_html_().startswith("<pre>Graph Count: 3")
    assert "&lt;FrameSummary" in explanation._repr_html_()
    capsys.readouterr()


def test_spec_2_5_user_stack_is_outermost_first(capsys):
    def inner(x):
        print("inside")
        return x + 1

    def outer(x):
        return inner(x * 2) * 3

    (reason,) = nl.explain(outer)(A).break_reasons
    assert [frame.name for frame in reason.user_stack] == ["outer", "inner"]
    assert [frame.line for frame in reason.user_stack] == [
        "return inner(x * 2) * 3",
        'print("inside")',
    ]
    capsys.readouterr()


def test_spec_2_6_reason_of_a_builtin(tmp_path):
    path = tmp_path / "x"
    path.write_text("text")
    name = str(path)

    def f(x):
        y = x + 1
        file = open(name, mode="r")
        file.close()
        return y * 2

    assert nl.explain(f)(A).break_reasons[0].reason == "builtin: open [str] True"


@pytest.mark.parametrize(
    "value, kind",
    [(np.ones(()), "numpy.ndarray"), (np.float64(2.0), "numpy.bool"), (np.ones(3), "numpy.bool")],
    ids=["0-d", "scalar", "sum"],
)
def test_spec_2_7_a_branch_names_the_kind_of_value(value, kind):
    def f(x):
        y = x if kind == "numpy.ndarray" else x.sum() > 0
        if y:
            return x + 1
        return x - 1

    (reason,) = nl.explain(f)(value).break_reasons
    assert reason.reason == f"generic_jump {kind}"
    assert reason.category == "generic_jump"


def test_spec_2_8_the_effects_happen_once(capsys):
    explained()
    assert capsys.readouterr().out == "woo\n"


def test_spec_2_9_the_other_side_is_one_graph_more(capsys):
    f = nl.compile(toy_example)
    np.testing.assert_array_equal(f(A, B), toy_example(A, B))
    compiles = f.stats.compiles
    np.testing.assert_array_equal(f(A, -B), toy_example(A, -B))
    assert f.stats.compiles == compiles + 1
    np.testing.assert_array_equal(f(A, -B), toy_example(A, -B))
    assert f.stats.compiles == compiles + 1
    capsys.readouterr()


def test_spec_2_10_names_of_resume_functions(capsys):
    f = nl.compile(toy_example)
    f(A, B)
    f(A, -B)
    assert {entry.site for entry in f.entries} == {
        "toy_example",
        f"numlift_resume_in_toy_example_at_{PRINT}",
        f"numlift_resume_in_toy_example_at_{IF}",
    }
    capsys.readouterr()


def test_spec_2_11_a_function_without_breaks():
    explanation = nl.explain(lambda x: np.sin(x) + 1)(A)
    assert explanation.graph_count == 1
    assert explanation.break_reasons == []
    lines = str(explanation).splitlines()
    assert lines[1] == "Graph Break Count: 0"
    assert lines[lines.index("Break Reasons:") + 1] == "Ops per Graph:"


def test_spec_2_12_leaves_no_entry(capsys):
    f = nl.compile(toy_example)
    f(A, B)
    before = (len(f.entries), f.stats.calls, f.stats.compiles)
    assert nl.explain(f)(A.astype("f4"), B).graph_count == 3
    assert (len(f.entries), f.stats.calls, f.stats.compiles) == before
    capsys.readouterr()


def test_a_loop_of_breaks_tells_each_once(capsys):
    def f(x, times):
        for _ in range(times):
            x = x + 1
            print("again")
        return x

    few, many = nl.explain(f)(A, 10), nl.explain(f)(A, 30)
    assert few.graph_break_count == many.graph_break_count < 10
    assert few.graph_count == many.graph_count
    assert "builtin: print [str] False" in [one.reason for one in few.break_reasons]
    assert capsys.readouterr().out == "again\n" * 40


def test_views_and_methods_are_operations_and_shapes_are_not():
    def f(x):
        rows = x.shape[0]
        return x.T[0].mean() * rows

    assert nl.explain(f)(np.ones((2, 3))).ops_per_graph == [
        ["numpy.ndarray.T", "numpy.ndarray.__getitem__", "numpy.mean", "numpy.multiply"]
    ]


def test_an_exception_of_the_call_is_the_users():
    def f(x):
        y = x + 1
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        nl.explain(f)(A)
    assert nl.explain(lambda x: x + 1)(A).graph_count == 1  # nothing is left recording


def test_methods_keywords_and_generators():
    class Layer:
        def scale(self, x, *, by=2.0):
            return x * by

    assert nl.explain(Layer().scale)(A, by=3.0).op_count == 1

    def numbers(x):
        yield x + 1

    (reason,) = nl.explain(numbers)(A).break_reasons
    assert reason.category == "generator"


def test_what_stops_half_way_is_told():
    with np.errstate(divide="warn"), pytest.warns(RuntimeWarning):
        explanation = nl.explain(lambda x: x / 0.0)(np.ones(3))
    assert (explanation.graph_count, explanation.graph_break_count) == (1, 0)
    assert [one.category for one in explanation.restarts] == ["restart"]
    assert "Restarts in CPython:\n  the program stopped half-way: " in str(explanation)


# ---------------------------------------------------------------- compiling again


def test_spec_4_8_reason_of_a_recompilation(caplog):
    f = nl.compile(lambda x: x + 1)
    caplog.set_level(logging.INFO, logger="numlift.recompiles")
    with nl.config.patch(logs="recompiles"):
        f(np.ones(3))
        f(np.ones((2, 2), "f4"))
    (line,) = [r.getMessage() for r in caplog.records if r.name == "numlift.recompiles"]
    assert "x: found dtype f32, rank 2" in line and "expected dtype f64, rank 1" in line
    newest, first = f.entries
    assert first.recompile_reason == "" and newest.recompile_reason in line
    explanation = nl.explain(f)(np.ones(3, "i8"))
    assert len(explanation.recompile_reasons) == 2
    assert "entry 2: x: found dtype i64, rank 1" in explanation.recompile_reasons[1]
    assert "Recompile Reasons:\n  entry 1: x: found dtype i64" in str(explanation)


def test_spec_4_11_compile_times():
    nl.reset()

    def measured(x):
        return np.sin(x) + 1

    f = nl.compile(measured)
    f(A)
    times = nl.compile_times()
    (line,) = times
    assert line["graph"].endswith("measured")
    stages = {"trace", "guards", "passes", "schedule", "emit", "total"}
    assert set(line) == {"graph", "from_disk", *stages}
    assert line["total"] > 0 and all(line[stage] >= 0 for stage in stages)
    assert line["trace"] == f.entries[0].compile_ms["trace"]
    assert re.search(r"measured +\d+\.\d\d ", str(times), re.MULTILINE)
    (explained_line,) = nl.explain(measured)(A).compile_times
    assert explained_line["graph"] == line["graph"] and explained_line["emit"] > 0
    nl.reset()
    assert nl.compile_times() == []
