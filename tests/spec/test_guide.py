"""Lines of the specification on removing graph breaks that have no test elsewhere."""

import os
import pathlib

import numpy as np
import pytest

import numlift as nl

x = np.linspace(-1.0, 1.0, 3)
DOCS = pathlib.Path(__file__).parents[2] / "docs"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_spec_12_2_an_iterator_made_inside_is_one_graph():
    def rewritten(xs):
        it = iter(xs)
        a = next(it)
        b = next(it)
        return a + b

    xs = [np.array(1.0), np.array(2.0)]
    result = nl.compile(rewritten, fullgraph=True)(xs)
    assert result == 3.0 and type(result) is np.float64
    assert nl.explain(rewritten)(xs).graph_count == 1


def saves(v):
    y = v**2 / 2
    np.save("foo.npy", y)
    z = y**3 / 6
    return z


def test_spec_12_16_input_and_output_raise_under_fullgraph(folder):
    with pytest.raises(nl.Unsupported, match=r"numpy\.save"):
        nl.compile(saves, fullgraph=True)(x)
    assert os.listdir(folder) == []


def test_spec_12_17_the_function_is_split(folder):
    g = nl.compile(lambda v: v**2 / 2, fullgraph=True)
    h = nl.compile(lambda y: y**3 / 6, fullgraph=True)
    y = g(x)
    np.save("foo.npy", y)
    np.testing.assert_array_equal(h(y), (x**2 / 2) ** 3 / 6)
    np.testing.assert_array_equal(np.load("foo.npy"), x**2 / 2)
    os.remove("foo.npy")

    explanation = nl.explain(saves)(x)
    assert (explanation.graph_count, explanation.graph_break_count) == (2, 1)
    np.testing.assert_array_equal(nl.compile(saves)(x), (x**2 / 2) ** 3 / 6)
    np.testing.assert_array_equal(np.load("foo.npy"), x**2 / 2)


def test_spec_12_23_the_manual_says_what_may_not_be_ignored():
    text = (DOCS / "hatches.md").read_text()
    assert "Functions that return something else than `None`, and functions made inside others, may or may not be ignored." in text


def test_spec_12_24_the_manual_tells_how_breaks_are_removed():
    text = (DOCS / "removing-breaks.md").read_text()
    places = [text.index(f"\n## {title}") for title in ("Rewrite", "An escape hatch", "Out of the compiled function", "Common breaks")]
    assert places == sorted(places)
    for word in ("next(", "nonstrict_trace", "custom_op", "load_inline", "np.save", "is_compiling", "ignore_logging_functions", "breaks.md", "hatches.md"):
        assert word in text, word


def test_spec_10_5_the_manual_has_chapters_on_faults_and_on_no_speed_up():
    text = (DOCS / "debugging.md").read_text()
    wrong, slow = text.index("\n## It gives another result"), text.index("\n## It is not faster")
    steps = text[wrong:slow]
    places = [steps.index(step) for step in ("NUMLIFT_DISABLE", 'backend="graph"', "NUMLIFT_VERIFY", "NUMLIFT_DUMP")]
    assert places == sorted(places)
    for topic in ("In-place", "`out=`", "Boolean masks", "`while`", "Small arrays", "breaks.md"):
        assert topic in text[slow:], topic
