"""disable, skip, disallow_in_graph, allow_in_graph, graph_break, is_compiling (spec 6, 11, 12.18)."""

import types

import numpy as np
import pytest

import numlift as nl
from numlift import _core
from parity.hatch_tools import graphs, reasons

X = np.linspace(-1.0, 2.0, 12)


def b(x):
    return np.sin(x) + 1


def make_caller(a):
    def f(x):
        y = np.cos(x)
        y = a(y)
        return y + 1

    return f


def callee_of(function):
    """The compiled version of a function that one under skip() calls."""
    from numlift.hatches import _compiled_callees

    return _compiled_callees.get(function)


# ---------------------------------------------------------------- 11.1, 11.2, 11.3, 11.8


def test_disabled_function_and_its_callees_are_left_to_python():  # 11.1
    def b(x):
        return np.sin(x) + 1

    @nl.disable
    def a(x):
        return b(x) * 2

    f = nl.compile(make_caller(a))
    for _ in range(3):
        np.testing.assert_allclose(f(X), (np.sin(np.cos(X)) + 1) * 2 + 1, rtol=1e-14)
    assert sorted(graphs(f)) == [["add"], ["cos"]]
    assert callee_of(b) is None
    assert any("numlift.disable" in reason and "a" in reason for reason in reasons(f))


def test_callees_of_a_function_under_disable_not_recursive_are_compiled():  # 11.2
    def a(x):
        return b(x) * 2

    skipped = nl.disable(a, recursive=False)
    f = nl.compile(make_caller(skipped))
    for _ in range(3):
        np.testing.assert_allclose(f(X), (np.sin(np.cos(X)) + 1) * 2 + 1, rtol=1e-14)
    assert sorted(graphs(f)) == [["add"], ["cos"]]
    assert graphs(callee_of(b)) == [["sin", "add"]]


def test_explain_tells_all_graphs_of_a_call_with_disabled_functions():
    """Spec 11.1, 11.2"""

    def b(x):
        return np.sin(x) + 1

    def a(x):
        return b(x) * 2

    for recursive, operations in (True, ["cos", "add"]), (False, ["cos", "sin add", "add"]):
        explanation = nl.explain(make_caller(nl.disable(a, recursive=recursive)))(X)
        assert explanation.graph_break_count == 1
        found = [" ".join(op.removeprefix("numpy.") for op in ops) for ops in explanation.ops_per_graph]
        assert found == operations and explanation.graph_count == len(operations)


def ab_fn(x):
    return np.exp(x)


def aa_fn(x):
    return x * x


def test_skip_is_disable_not_recursive():  # 11.8
    @nl.skip
    def a_fn(x):
        return ab_fn(aa_fn(x))

    @nl.compile
    def f(x):
        return a_fn(x) - 1

    np.testing.assert_allclose(f(X), np.exp(X * X) - 1, rtol=1e-13)
    assert graphs(callee_of(aa_fn)) == [["multiply"]]
    assert graphs(callee_of(ab_fn)) == [["exp"]]
    assert graphs(f) == [["subtract"]]


def test_decorator_with_arguments_and_without():  # 11.3
    @nl.disable
    def one(x):
        "One."
        return x + 1

    @nl.disable(recursive=True)
    def two(x):
        return x + 1

    @nl.disable(reason="not yet")
    def three(x):
        return x + 1

    @nl.skip(reason="some day")
    def four(x):
        return x + 1

    assert (one.__name__, one.__doc__) == ("one", "One.")
    for function in (one, two, three, four):
        f = nl.compile(lambda x, function=function: function(x * 2.0))
        np.testing.assert_array_equal(f(X), X * 2.0 + 1)
        assert graphs(f) == [["multiply"]]


def test_the_reason_is_in_the_break_reason():  # 11.3
    @nl.disable(reason="talks to the printer")
    def a(x):
        return x + 1

    with pytest.raises(nl.Unsupported, match="talks to the printer"):
        nl.compile(make_caller(a), fullgraph=True)(X)


def test_library_functions():  # 11.3
    lib = types.ModuleType("lib")
    exec("def double(x):\n    return x + x\n", lib.__dict__)
    f = nl.compile(lambda x: lib.double(x) * 3.0)
    np.testing.assert_array_equal(f(X), 6.0 * X)
    assert graphs(f) == [["add", "multiply"]]
    lib.double = nl.disable(lib.double)
    np.testing.assert_array_equal(f(X), 6.0 * X)  # the guard sees the new function
    assert any("numlift.disable" in reason for reason in reasons(f))
    disabled = nl.disable(np.linalg.norm)
    g = nl.compile(lambda x: disabled(x) + 1.0)
    assert g(X) == np.linalg.norm(X) + 1.0
    assert any("norm" in reason for reason in reasons(g))


def test_methods_and_static_methods():
    class Model:
        scale = 2.0

        @nl.disable
        def scaled(self, x):
            return x * self.scale

        @nl.disable
        @staticmethod
        def shifted(x):
            return x + 1.0

    model = Model()
    f = nl.compile(lambda x: model.shifted(model.scaled(x - 1.0)) / 2.0)
    np.testing.assert_array_equal(f(X), ((X - 1.0) * 2.0 + 1.0) / 2.0)
    assert sorted(graphs(f)) == [["divide"], ["subtract"]]


def test_disable_of_a_compiled_function_runs_it_plainly():
    @nl.compile
    def inner(x):
        return x + 1.0

    plain = nl.disable(inner)
    np.testing.assert_array_equal(plain(X), X + 1.0)
    assert inner.stats.calls == 0
    again = nl.compile(plain)
    np.testing.assert_array_equal(again(X), X + 1.0)
    assert graphs(again) == []
    with pytest.raises(nl.Unsupported, match="numlift.disable"):
        nl.compile(plain, fullgraph=True)(X)


def test_the_original_function_is_not_marked():
    def plain(x):
        return x + 1.0

    nl.disable(plain)
    f = nl.compile(lambda x: plain(x) * 2.0)
    np.testing.assert_array_equal(f(X), (X + 1.0) * 2.0)
    assert graphs(f) == [["add", "multiply"]]


@pytest.mark.parametrize("hatch", ["disable", "skip", "allow_in_graph", "disallow_in_graph",
                                   "nonstrict_trace", "assume_constant_result"])  # fmt: skip
def test_what_is_no_callable_is_refused(hatch):
    with pytest.raises(TypeError, match=f"{hatch if hatch != 'skip' else 'disable'} takes a callable"):
        getattr(nl, hatch)(3)


def test_bad_reason():
    with pytest.raises(TypeError, match="reason is a str"):
        nl.disable(b, reason=3)


# ---------------------------------------------------------------- skip: the rewritten code


def helper(x, k=1.0):
    return x * k


class Holder:
    def method(self, x):
        return x * 3.0

    @staticmethod
    def static(x):
        return x * 5.0


def everything(x, *rest, scale=2.0, **more):
    holder = Holder()
    local = helper
    total = helper(x, k=scale) + local(x) + holder.method(x) + Holder.static(x)
    total = total + sum(helper(x)[i] for i in range(2)) + len(rest) + len(more)
    try:
        helper(x, nothing=1)
    except TypeError as error:
        caught = str(error)
    with np.errstate(all="ignore"):
        values = [helper(v) for v in (1.0, 2.0)]

    def inner(y):
        return helper(y) + scale

    return total, caught, values, inner(x), "".join(["a", "b"]), {**more}, [*rest], max(rest, default=0)


def test_rewritten_code_does_what_the_code_did():  # 11.2
    skipped = nl.skip(everything)
    for args, kwargs in [((X,), {}), ((X, 1, 2), {"scale": 3.0, "other": 4})]:
        got, want = skipped(*args, **kwargs), everything(*args, **kwargs)
        np.testing.assert_array_equal(got[0], want[0])
        np.testing.assert_array_equal(got[3], want[3])
        assert got[1:3] + got[4:] == want[1:3] + want[4:]
    assert graphs(callee_of(helper)) != []


def test_rewritten_generators_and_closures():
    offset = 4.0

    def shift(x):
        return x + offset

    @nl.skip
    def items(x):
        for i in range(3):
            yield shift(x) * i

    for got, i in zip(items(X), range(3)):
        np.testing.assert_array_equal(got, (X + 4.0) * i)
    assert graphs(callee_of(shift)) == [["add"]]


def raising(x):
    return helper(x) + undefined  # noqa: F821


def test_tracebacks_of_rewritten_code_are_the_users():
    skipped = nl.skip(raising)
    with pytest.raises(NameError) as caught:
        skipped(X)
    frame = caught.traceback[-1]
    assert frame.name == "raising"
    assert frame.lineno == raising.__code__.co_firstlineno  # pytest counts from 0


def test_rewriting_the_standard_library():
    """Code of every kind still compiles, and says the same about itself."""
    import argparse
    import json.encoder
    import textwrap

    count = 0
    for module in (argparse, json.encoder, textwrap, types):
        for value in vars(module).values():
            for one in vars(value).values() if isinstance(value, type) else [value]:
                if isinstance(one, types.FunctionType):
                    code = _core.code_with_wrapped_callees(one.__code__, lambda value: value)
                    assert (code.co_name, code.co_flags) == (one.__code__.co_name, one.__code__.co_flags)
                    count += 1
    assert count > 100
    skip = nl.skip(textwrap.TextWrapper._wrap_chunks)
    wrapper = textwrap.TextWrapper(width=20)
    chunks = wrapper._split("the quick brown fox jumps over the lazy dog")[::-1]
    assert skip(wrapper, list(chunks)) == wrapper._wrap_chunks(list(chunks))


# ---------------------------------------------------------------- 11.4


@pytest.fixture
def sin_disallowed():
    nl.disallow_in_graph(np.sin)
    yield
    nl.allow_in_graph(np.sin)


def test_disallowed_operator_runs_by_itself(sin_disallowed):  # 11.4
    @nl.compile
    def f(x):
        return np.sin(x + 1) + 1

    np.testing.assert_array_equal(f(X), np.sin(X + 1) + 1)
    assert graphs(f) == [["add"], ["add"]]
    assert any("sin" in reason for reason in reasons(f))
    nl.allow_in_graph(np.sin)
    np.testing.assert_allclose(f(X), np.sin(X + 1) + 1, rtol=1e-15)
    assert graphs(f) == [["add", "sin", "add"]]
    nl.disallow_in_graph(np.sin)
    np.testing.assert_array_equal(f(X), np.sin(X + 1) + 1)
    assert graphs(f) == [["add"], ["add"]]


def test_disallowed_under_fullgraph(sin_disallowed):
    with pytest.raises(nl.Unsupported, match=r"disallow_in_graph\(.*sin"):
        nl.compile(lambda x: np.sin(x), fullgraph=True)(X)


def test_disallowed_python_function_and_method():
    def plain(x):
        return x + 1.0

    functions = [plain, np.ndarray.sum]
    assert nl.disallow_in_graph(functions) == functions
    try:
        f = nl.compile(lambda x: plain(x * 2.0).sum() * 2.0)
        assert f(X) == (X * 2.0 + 1.0).sum() * 2.0
        assert any("plain" in reason for reason in reasons(f))
        assert any("sum" in reason for reason in reasons(f))
    finally:
        assert nl.allow_in_graph(functions) == functions
        _core.clear_mark(plain)
        nl.reset()


# ---------------------------------------------------------------- 11.5, 11.6, 11.7


def test_graph_break_in_a_callee():  # 11.5
    def g(x):
        nl.graph_break(msg="here it is")
        return x + 1

    @nl.compile
    def f(x):
        y = x * 2
        y = g(y)
        return y * 3

    for _ in range(2):
        np.testing.assert_array_equal(f(X), (X * 2 + 1) * 3)
    assert sorted(graphs(f)) == [["add", "multiply"], ["multiply"]]
    assert any("here it is" in reason for reason in reasons(f))


def test_graph_break_in_plain_python_does_nothing():  # 11.6
    assert nl.graph_break() is None
    assert nl.graph_break("text") is None
    assert nl.graph_break(msg="text") is None


@pytest.mark.parametrize("hatch", ["disable", "skip", "disallow_in_graph", "assume_constant_result"])
def test_settings_inside_compiled_code_break(hatch):  # 11.7
    def inner(x):
        return x + 1

    def f(x):
        getattr(nl, hatch)(inner)
        return x * 2

    with pytest.raises(nl.Unsupported, match="Use it outside the compiled function"):
        nl.compile(f, fullgraph=True)(X)
    compiled = nl.compile(f)
    np.testing.assert_array_equal(compiled(X), X * 2)
    if hatch != "disallow_in_graph":  # its effect is that nothing stays compiled
        assert any(hatch in reason for reason in reasons(compiled))
    _core.clear_mark(inner)


# ---------------------------------------------------------------- 12.18


def test_is_compiling():  # 12.18
    def f(x):
        return (x + 1.0, nl.is_compiling())

    compiled = nl.compile(f, fullgraph=True)
    assert compiled(X)[1] is True
    assert f(X)[1] is False
    assert nl.is_compiling() is False
    with nl.config.patch(disable=True):
        assert compiled(X)[1] is False


def test_code_for_plain_python_only(tmp_path):  # 12.18
    path = tmp_path / "foo.npy"

    @nl.compile(fullgraph=True)
    def f(x):
        y = x**2 / 2
        if not nl.is_compiling():
            np.save(path, y)
        z = y**3 / 6
        return z

    np.testing.assert_allclose(f(X), (X**2 / 2) ** 3 / 6, rtol=1e-14)
    assert not path.exists()
    assert len(graphs(f)) == 1
    f.__wrapped__(X)
    assert path.exists()


def test_marks_keep_no_function_alive():
    import gc
    import weakref

    def make():
        def a(x):
            return x + 1

        copies = [nl.disable(a), nl.nonstrict_trace(a), nl.skip(a)]
        nl.allow_in_graph(a)
        return [weakref.ref(one) for one in (a, *copies)]

    references = make()
    gc.collect()
    assert [reference() for reference in references] == [None] * 4
