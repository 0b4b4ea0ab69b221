"""What is said about graph breaks: numlift.Unsupported, the log, the table of reasons and its page."""

import ast
import importlib.util
import logging
import pickle
import re
import subprocess
import sys
import traceback
from pathlib import Path

import numpy as np
import pytest

import numlift as nl
from numlift import _core

ROOT = Path(__file__).resolve().parents[2]
REASONS = {one["id"]: one for one in _core.break_reasons()}


def load(name):
    spec = importlib.util.spec_from_file_location(name, ROOT / "tools" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


TABLE = load("break_examples")
X = np.ones(3)


def run_program(text, decorator):
    """The value of the program's last line, with this in place of @nl.compile."""
    tree = ast.parse(text.replace("@nl.compile", decorator))
    last = ast.Expression(tree.body.pop().value)
    names = {"np": np, "nl": nl, "__name__": "example"}
    with nl.config.patch(max_graph_nodes=nl.config.max_graph_nodes):
        exec(compile(tree, "<example>", "exec"), names)
        return eval(compile(last, "<example>", "eval"), names)


def same(got, want):
    assert type(got).__qualname__ == type(want).__qualname__  # a class of the program is made twice
    np.testing.assert_array_equal(got, want)


# ---------------------------------------------------------------- the table


@pytest.mark.parametrize("category", TABLE.EXAMPLES)
def test_spec_3_6_the_example_breaks_as_it_says_and_runs_by_default(category):
    example, _ = TABLE.EXAMPLES[category]
    with pytest.raises(nl.Unsupported) as raised:
        run_program(example, "@nl.compile(fullgraph=True)")
    error = raised.value
    assert (error.category, error.code) == (category, REASONS[category]["code"])
    assert error.explanation == REASONS[category]["explanation"]
    assert error.hints == REASONS[category]["hints"].splitlines()
    assert error.reason in str(error) and error.code in str(error)
    same(run_program(example, "@nl.compile"), run_program(example, "@(lambda f: f)"))


@pytest.mark.parametrize("category", [c for c, (_, rewrite) in TABLE.EXAMPLES.items() if rewrite])
def test_spec_3_6_the_rewrite_has_no_break(category):
    _, rewrite = TABLE.EXAMPLES[category]
    got = run_program(rewrite, "@nl.compile(fullgraph=True)")
    same(got, run_program(rewrite, "@(lambda f: f)"))


def test_every_category_has_an_example_or_a_reason_for_none():
    kinds = [set(TABLE.EXAMPLES), set(TABLE.SHOWN), TABLE.WITHOUT_EXAMPLE]
    assert set().union(*kinds) == set(REASONS) and sum(map(len, kinds)) == len(REASONS)


def test_spec_3_6_an_import_of_what_is_not_loaded():
    sys.modules.pop("colorsys", None)

    @nl.compile(fullgraph=True)
    def f(x):
        import colorsys

        return x * colorsys.rgb_to_hsv(0.5, 0.5, 0.5)[2]

    with pytest.raises(nl.Unsupported) as raised:
        f(X)
    assert raised.value.category == "import_statement"
    assert raised.value.reason == "import of colorsys, which is not loaded"
    import colorsys  # noqa: F401

    same(f(X), X * 0.5)


def test_spec_3_6_a_statement_that_is_not_traced():
    def f(x):
        from . import tables

        return x

    with pytest.raises(nl.Unsupported) as raised:
        nl.compile(f, fullgraph=True)(X)
    assert raised.value.category == "unsupported_instruction"


def test_codes_are_stable_in_form_and_distinct():
    codes = [one["code"] for one in REASONS.values()]
    assert len(set(codes)) == len(codes)
    assert all(re.fullmatch(r"GB\d{4}", code) for code in codes)


def test_the_source_uses_no_other_category():
    used = set()
    for path in (ROOT / "src" / "frame_eval").rglob("*.cpp"):
        text = path.read_text()
        used |= set(re.findall(r'throw_break\(\s*"(\w+)"', text))
        used |= set(re.findall(r'Break(?: reason)?\{\s*"(\w+)"', text))
        used |= set(re.findall(r'category = "(\w+)"', text))
    assert len(used) > 10 and used <= set(REASONS)


def test_spec_3_6_the_page_is_what_the_table_makes():
    subprocess.run([sys.executable, ROOT / "tools" / "break_docs.py", "--check"], check=True)


# ---------------------------------------------------------------- numlift.Unsupported


def inner(x):
    value = x * 2 + (3 if x.sum() > 0 else 4)
    return value


def outer(x):
    return inner(x + 1) * 3


def test_spec_3_3_the_message():
    with pytest.raises(nl.Unsupported) as raised:
        nl.compile(outer, fullgraph=True)(X)
    line = inner.__code__.co_firstlineno
    source = "    value = x * 2 + (3 if x.sum() > 0 else 4)"
    marker = " " * source.index("x.sum()") + "^" * len("x.sum() > 0")
    assert str(raised.value) == (
        "generic_jump numpy.bool\n"
        "  GB0501: branch on the value of an array\n"
        f"  Explanation: {REASONS['generic_jump']['explanation']}\n"
        "  Hint: Use np.where to choose between values.\n"
        "  Hint: Or move the test out of the compiled function.\n"
        "  Example and rewrite: docs/breaks.md, GB0501\n"
        "\n"
        "from user code:\n"
        f'  File "{__file__}", line {outer.__code__.co_firstlineno + 1}, in outer\n'
        "    return inner(x + 1) * 3\n"
        "           ^^^^^^^^^^^^\n"
        f'  File "{__file__}", line {line + 1}, in inner\n'
        f"{source}\n"
        f"{marker}"
    )


def test_spec_3_3_attributes():
    with pytest.raises(nl.Unsupported) as raised:
        nl.compile(outer, fullgraph=True)(X)
    error = raised.value
    assert (error.reason, error.code) == ("generic_jump numpy.bool", "GB0501")
    assert error.category == "generic_jump" and len(error.hints) == 2
    assert [type(frame) for frame in error.user_stack] == [traceback.FrameSummary] * 2
    assert [frame.name for frame in error.user_stack] == ["outer", "inner"]
    last = error.user_stack[-1]
    assert last._original_line[last.colno : last.end_colno] == "x.sum() > 0" if hasattr(
        last, "_original_line"
    ) else last.colno is not None
    copy = pickle.loads(pickle.dumps(error))
    assert str(copy) == str(error) and copy.code == error.code
    assert nl.Unsupported("text").hints == ()


def test_spec_3_4_it_is_an_ordinary_exception():
    try:
        nl.compile(outer, fullgraph=True)(X)
    except Exception as error:
        assert "from user code:" in str(error)
    assert issubclass(nl.Unsupported, RuntimeError)


def test_the_marker_counts_characters_not_bytes():
    def f(x):
        größe = x * 2; äü = print("ß", größe); return äü  # fmt: skip

    with pytest.raises(nl.Unsupported) as raised:
        nl.compile(f, fullgraph=True)(X)
    source, marker = str(raised.value).splitlines()[-2:]
    begin = marker.index("^")
    assert source[begin : begin + marker.count("^")] == 'print("ß", größe)'


def test_code_without_source_has_a_message_too():
    names = {}
    exec("def f(x):\n    return print(x)", names)
    with pytest.raises(nl.Unsupported) as raised:
        nl.compile(names["f"], fullgraph=True)(X)
    assert str(raised.value).endswith('File "<string>", line 2, in f')


def test_spec_3_1_3_2_the_first_break_raises_and_nothing_has_happened(capsys):
    def f(a, b):
        a += 1
        print("woo")
        if b.sum() < 0:
            b = b * -1
        return a * b

    a = np.ones(3)
    with pytest.raises(nl.Unsupported) as raised:
        nl.compile(f, fullgraph=True)(a, X)
    assert raised.value.reason == "builtin: print [str] False"
    assert capsys.readouterr().out == "" and (a == 1).all()


def test_spec_3_1_what_is_never_traced_raises_too():
    def numbers(x):
        yield x + 1

    with pytest.raises(nl.Unsupported) as raised:
        nl.compile(numbers, fullgraph=True)(X)
    assert raised.value.category == "generator"
    with pytest.raises(nl.Unsupported, match="not written in Python"):
        nl.compile(np.sin, fullgraph=True)(X)


def test_spec_1_7_a_c_function_is_named():
    import zlib

    def f(x):
        y = x * 2
        c = zlib.crc32(y.tobytes())
        return y + c % 7

    explanation = nl.explain(f)(X)
    assert explanation.graph_count == 2
    assert any("zlib.crc32" in one.reason for one in explanation.break_reasons)
    same(nl.compile(f)(X), f(X))


def test_spec_12_1_12_3_next_of_an_iterator_from_outside():
    def f(xs):
        a = next(xs)
        b = next(xs)
        return a + b

    xs = iter([np.array(1.0), np.array(2.0)])
    with pytest.raises(nl.Unsupported) as raised:
        nl.compile(f, fullgraph=True)(xs)
    assert raised.value.reason == "next() of a list_iterator that came in from outside"
    assert any("call iter() on it inside" in hint for hint in raised.value.hints)
    assert len(list(xs)) == 2
    xs = iter([np.array(1.0), np.array(2.0)])
    assert nl.compile(f)(xs) == 3.0 and list(xs) == []


FEATURES = {
    "datetime64": (np.array(["2024-01-01"], "M8[D]"), "opaque_dtype", "datetime64[D]"),
    "str": (np.array(["a"]), "opaque_dtype", "<U1"),
    "object": (np.array([1, None], object)[:1], "opaque_dtype", "object"),
    "longdouble": (np.ones(2, np.longdouble), "opaque_dtype", "float128"),
    "structured": (np.zeros(2, "i4,f8"), "opaque_dtype", "f0"),
    "matrix": (np.ones((2, 2)).view(np.matrix), "array_subclass", "matrix, a subclass"),
    "recarray": (np.zeros(2, "i4,f8").view(np.recarray), "array_subclass", "recarray"),
    "masked": (np.ma.array([1.0, 2.0], mask=[0, 1]), "masked_array", "masked array"),
}


@pytest.mark.parametrize("name", FEATURES)
def test_spec_7_8_the_reason_names_the_feature(name):
    value, category, text = FEATURES[name]

    @nl.compile(fullgraph=True)
    def f(x):
        return x == x

    with pytest.raises(nl.Unsupported) as raised:
        f(value)
    assert raised.value.category == category and text in raised.value.reason


# ---------------------------------------------------------------- error_on_graph_break


def breaking(x):
    y = x + 1
    print("woo")
    return y * 2


def test_a_region_around_the_call(capsys):
    f = nl.compile(breaking)
    with nl.error_on_graph_break(True):
        with pytest.raises(nl.Unsupported, match="builtin: print"):
            f(X)
        with nl.error_on_graph_break(False):
            same(f(X), (X + 1) * 2)
        with pytest.raises(nl.Unsupported):  # compiled code that breaks is there now
            f(X)
    same(f(X), (X + 1) * 2)
    assert capsys.readouterr().out == "woo\n" * 2


def test_a_region_as_a_decorator(capsys):
    @nl.error_on_graph_break(True)
    @nl.compile
    def outside(x):
        return breaking(x)

    @nl.compile
    @nl.error_on_graph_break(True)
    def inside(x):
        return breaking(x)

    for f in (outside, inside):
        with pytest.raises(nl.Unsupported):
            f(X)
        assert f.__name__ in ("outside", "inside")
    assert capsys.readouterr().out == ""


def test_a_region_inside_compiled_code(capsys):
    @nl.compile
    def f(x, strict):
        print("before")
        y = x * 3
        with nl.error_on_graph_break(strict):
            y = y + 1
            print("inside")
        print("behind")
        return y * 2

    same(f(X, False), (X * 3 + 1) * 2)
    assert capsys.readouterr().out == "before\ninside\nbehind\n"
    with pytest.raises(nl.Unsupported) as raised:
        f(X, True)
    assert raised.value.user_stack[-1].line == 'print("inside")'
    same(nl.compile(breaking)(X), (X + 1) * 2)  # the region has ended


def test_false_inside_true(capsys):
    @nl.compile
    def f(x):
        with nl.error_on_graph_break(False):
            y = x + 1
            print("allowed")
        return y * 2

    with nl.error_on_graph_break(True):
        same(f(X), (X + 1) * 2)
        same(f(X), (X + 1) * 2)
    assert capsys.readouterr().out == "allowed\n" * 2


def test_fullgraph_stays_in_force():
    f = nl.compile(breaking, fullgraph=True)
    with nl.error_on_graph_break(False), pytest.raises(nl.Unsupported):
        f(X)


def test_a_region_without_breaks_is_one_graph():
    def f(x):
        with nl.error_on_graph_break(True):
            y = x + 1
        return y * 2

    explanation = nl.explain(f)(X)
    assert (explanation.graph_count, explanation.graph_break_count) == (1, 0)


def test_a_region_takes_a_bool():
    with pytest.raises(TypeError, match="True or False"):
        nl.error_on_graph_break("yes")


# ---------------------------------------------------------------- the log


def test_the_log_tells_what_where_why_and_what_to_do(caplog, capsys):
    caplog.set_level(logging.INFO, logger="numlift.breaks")
    with nl.config.patch(logs="breaks"):
        nl.compile(breaking)(X)
    line = breaking.__code__.co_firstlineno + 2
    (text,) = [r.getMessage() for r in caplog.records if r.name == "numlift.breaks"]
    assert text == (
        "graph break in breaking: builtin: print [str] False (GB0101: call of a builtin function)\n"
        f"  where: {__file__}:{line} in breaking\n"
        '    print("woo")\n'
        "    ^^^^^^^^^^^^\n"
        f"  why: {REASONS['builtin_call']['explanation']}\n"
        "  numlift: a program runs up to here, then CPython runs this step; "
        f"numlift_resume_in_breaking_at_{line} goes on\n"
        f"  fix: {REASONS['builtin_call']['hints']}"
    )
    capsys.readouterr()


def test_spec_4_9_the_limit_has_a_code():
    f = nl.compile(lambda x: x + 1, fullgraph=True)
    with nl.config.patch(recompile_limit=1):
        f(np.ones(2))
        with pytest.raises(nl.Unsupported) as raised:
            f(np.ones((2, 2)))
    assert raised.value.code == "GB0802" and "x: found dtype f64, rank 2" in raised.value.reason
