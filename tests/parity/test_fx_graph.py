"""numlift.fx: graphs as Python objects, looked at, edited and run (Spec 1.8)."""

import copy
import inspect
import operator
import traceback

import numpy as np
import pytest

import numlift as nl
from numlift.fx import Graph, Node, Size, graph_module, map_arg
from numlift.testing import break_count

x = np.linspace(0.1, 1.0, 6)


def captured(function, *args):
    graphs = []

    def backend(graph, example_inputs):
        graphs.append(graph)
        return graph_module(graph)

    nl.compile(function, backend=backend, fullgraph=True)(*args)
    [graph] = graphs
    graph.lint()
    return graph


def by_hand():
    graph = Graph("by_hand")
    a, b = graph.placeholder("a"), graph.placeholder("b")
    product = graph.call_function(np.multiply, (a, b))
    total = graph.call_method("sum", (product,), {"axis": 0})
    graph.output((product, total))
    graph.lint()
    return graph


# ---- what a captured graph shows


def test_nodes_have_what_a_pass_asks_for():
    graph = captured(lambda u: np.sin(u) * 2, x)
    line = inspect.currentframe().f_lineno - 1
    assert [n.op for n in graph.nodes] == ["placeholder", "call_function", "call_function", "output"]
    u, sin, product, output = graph.nodes
    assert (u.name, u.target, u.meta["source"]) == ("u", "u", "u")
    assert sin.target is np.sin and sin.args == (u,) and sin.kwargs == {} and list(sin.users) == [product]
    assert product.target is np.multiply and product.args == (sin, np.float64(2.0)) and product.all_input_nodes == [sin]
    assert output.args == ((product,),) and graph.output_node() is output and list(product.users) == [output]
    assert sin.meta["dtype"] == np.float64 and sin.meta["kind"] == "array" and sin.meta["example_shape"] == (6,)
    assert (sin.meta["file"], sin.meta["line"], sin.meta["function"]) == (__file__, line, "<lambda>")
    assert graph.find_nodes(target=np.sin) == [sin] and graph.find_nodes(op="placeholder") == graph.placeholders == [u]
    assert u.next is sin and product.prev is sin and len(graph) == 4


def test_sizes_are_sizes_in_meta_and_inputs_where_they_are_needed():
    def function(u):
        v = np.sin(u)
        return np.broadcast_to(v, (3, u.shape[0] * 2))[:, : u.shape[0]] if False else np.zeros((u.shape[0], 2)) + v[:, None]

    graph = captured(function, x)
    u, size = graph.placeholders
    assert size.meta["source"] == "u.shape[0]" and size.meta["dtype"] == np.int64
    [shape] = u.meta["shape"]
    assert isinstance(shape, Size) and shape.hint == 6 and shape.text == size.name
    assert not captured(lambda u: u + 1, x).placeholders[1:]


def test_table_has_a_line_for_each_node(capsys):
    graph = captured(lambda u: np.sin(u)[:, None] * 2, x)
    graph.print_tabular()
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["op", "name", "target", "args", "kwargs", "type", "line"]
    assert len(lines) == 1 + len(graph)
    [sin] = [line for line in lines if "numpy.sin" in line]
    assert "float64[s0]" in sin and "test_fx_graph.py:" in sin
    assert "numpy.multiply" in str(graph)


def stored(v, u):
    v[1:4] = u[:3]
    return v


CODE = {
    "sin": (lambda u: np.sin(u) * 2 + u.sum(), (x,)),
    "reductions": (lambda u: (u.reshape(2, 3).max(0), np.argmax(u), np.any(u > 0.5)), (x,)),
    "views": (lambda u: (u.reshape(2, 3).T[::-1, None] + 1, u[::-2], u[None]), (x,)),
    "numbers": (lambda u, n, t: np.float32(u * n).astype(complex) + t * 1j + np.inf - np.nan, (x, 3, 0.5)),
    "stores": (lambda u: stored(np.zeros(6), u), (x,)),
    "externs": (lambda u: np.linalg.norm(u) + np.sort(u)[::-1] + np.interp(u, [0, 1], [2, 3]), (x,)),
    "unknown sizes": (lambda u: (v := np.unique(u)) - np.zeros(v.shape), (x,)),
    "where": (lambda u: np.where(u > 0.5, u, -u).clip(-1, 0.5), (x,)),
}


@pytest.mark.parametrize("name", CODE)
def test_code_runs_as_it_stands_and_gives_the_same_numbers(name):
    function, args = CODE[name]
    graph = captured(function, *args)
    names = {}
    exec(graph.code, names)
    assert graph.python_code().globals == {}
    sizes = [n.meta["example"] for n in graph.placeholders[len(args) :]]
    found, expected = names[graph.python_code().name](*args, *sizes), function(*args)
    expected = expected if isinstance(expected, tuple) else (expected,)
    assert len(found) == len(expected)
    for a, b in zip(found, expected):
        np.testing.assert_array_equal(a, b)
        assert a.dtype == b.dtype


def test_code_of_everything_that_has_a_sign_or_no_name():
    graph = Graph("signs")
    a = graph.placeholder("a")
    secret = lambda v, *, k: v + k  # noqa: E731  (no import finds it)
    r = graph.call_function(operator.add, (a, 1))
    r = graph.call_function(operator.neg, (graph.call_function(operator.pow, (r, 2)),))
    r = graph.call_function(operator.getitem, (r, (slice(None, None, -1), None, Ellipsis)))
    part = graph.call_function(getattr, (r, "real"))
    graph.call_function(operator.setitem, (part, slice(0, 2), float("inf")))
    graph.call_function(setattr, (part, "flat", [-1.0, np.float32(0.5)]))
    r = graph.call_function(secret, (part,), {"k": {"x": (1, 2j)}["x"][0]})
    graph.output((r, np.dtype("f4"), None, "text", b"bytes", {"k": 1 + 2j}, float("nan")))
    graph.lint()
    code = graph.python_code()
    assert list(code.globals.values()) == [secret]
    for text in ("a + 1", "add ** 2", "-_pow", "[::-1, None, ...]", ".real", "[0:2] = float('inf')", ".flat = [-1.0, np.float32(0.5)]", "np.dtype('float32')"):
        assert text in graph.code, text
    result = graph_module(graph)(np.arange(3.0))
    np.testing.assert_array_equal(result[0], [[0.0], [1.5], [0.0]])
    assert result[1:6] == (np.dtype("f4"), None, "text", b"bytes", {"k": 1 + 2j})


def test_names_never_hide_what_the_code_needs():
    graph = Graph("np")
    nodes = [graph.placeholder(name) for name in ("np", "sum", "lambda", "a", "a", "numpy", "1st", "math")]
    import math

    graph.output((graph.call_function(np.add, (nodes[3], nodes[4])), graph.call_function(math.sqrt, (nodes[7],)), graph.call_function(sum, ([nodes[0], nodes[1]],))))
    graph.lint()
    assert len({n.name for n in graph.nodes}) == len(graph)
    assert graph_module(graph)(1, 2, 3, 4, 5, 6, 7, 9.0) == (9, 3.0, 3)


# ---- edits


def test_a_graph_by_hand_runs():
    module = graph_module(by_hand())
    product, total = module(x, x)
    np.testing.assert_array_equal(product, x * x)
    assert total == (x * x).sum()


def test_nodes_are_inserted_where_asked():
    graph = by_hand()
    a, b, product, total, output = graph.nodes
    with graph.inserting_before(product):
        one = graph.call_function(np.add, (a, 1))
        two = graph.call_function(np.add, (one, 1))
        with graph.inserting_after(total):
            last = graph.call_function(np.negative, (total,))
        three = graph.call_function(np.add, (two, 1))
    c = graph.placeholder("c")
    assert graph.nodes == [a, b, c, one, two, three, product, total, last, output]
    end = graph.call_function(np.exp, (last,))
    assert end.next is output
    graph.lint()


def test_uses_are_replaced():
    graph = by_hand()
    a, b, product, total, output = graph.nodes
    with graph.inserting_after(product):
        doubled = graph.call_function(np.multiply, (product, 2))
    assert product.replace_all_uses_with(doubled) == [total, output]
    assert doubled.args == (product, 2) and list(product.users) == [doubled] and set(doubled.users) == {total, output}
    product.args = (a, a)
    assert list(b.users) == [] and list(a.users) == [product]
    product.update_arg(1, b)
    total.update_kwarg("axis", None)
    output.replace_input_with(total, b)
    graph.lint()
    np.testing.assert_array_equal(graph_module(graph)(x, x + 1)[0], x * (x + 1) * 2)
    assert output.args == ((doubled, b),)


def test_nodes_are_erased_and_dead_ones_with_them():
    graph = by_hand()
    a, b, product, total, output = graph.nodes
    with pytest.raises(RuntimeError, match="multiply is erased but used by _sum, output"):
        graph.erase_node(product)
    output.args = ((a,),)
    assert graph.eliminate_dead_code() is True
    assert graph.nodes == [a, b, output] and list(b.users) == []
    assert graph.eliminate_dead_code() is False
    graph.erase_node(b)
    graph.lint()
    np.testing.assert_array_equal(graph_module(graph)(x)[0], x)


def test_stores_are_not_dead():
    graph = captured(lambda u: stored(u, u * 2), x.copy())
    graph.eliminate_dead_code()
    a = x.copy()
    assert graph_module(graph)(a, 6) is not None and a[1] == 2 * x[0]


def test_an_index_from_data_is_a_subscript():
    graph = captured(lambda u: u.reshape(2, 3)[np.argmax(u[:2])] * 2, x)
    before = graph.code
    assert graph.eliminate_dead_code() is False and graph.code == before and "[argmax]" in before
    np.testing.assert_array_equal(graph_module(graph)(x)[0], x[3:] * 2)


def test_what_only_a_size_is_computed_from_is_not_dead():
    graph = Graph()
    a = graph.placeholder("a")
    half = graph.call_function(operator.floordiv, (graph.call_function(len, (a,)), 2))
    graph.call_function(operator.add, (half, 1))
    graph.output(graph.call_function(operator.getitem, (a, slice(None, Size("floordiv-1", 2)))))
    assert graph.eliminate_dead_code() is True and graph.eliminate_dead_code() is False
    graph.lint()
    np.testing.assert_array_equal(graph_module(graph)(x), x[:2])


def test_nodes_are_moved():
    graph = by_hand()
    a, b, product, total, output = graph.nodes
    one = graph.call_function(np.add, (a, b))
    product.prepend(one)
    assert graph.nodes[2] is one
    total.append(one)
    assert graph.nodes[4] is one
    graph.lint()


def test_copies_are_apart():
    graph = captured(lambda u: np.sin(u) * 2, x)
    other = copy.deepcopy(graph)
    assert other.code == graph.code and not set(other.nodes) & set(graph.nodes)
    other.find_nodes(target=np.sin)[0].target = np.cos
    np.testing.assert_array_equal(graph_module(graph)(x)[0], np.sin(x) * 2)
    np.testing.assert_array_equal(graph_module(other)(x)[0], np.cos(x) * 2)


def test_arguments_may_hold_nodes_at_any_depth():
    graph = Graph()
    a, n = graph.placeholder("a"), graph.placeholder("n")
    part = graph.call_function(operator.getitem, (a, (slice(n, None), None)))
    joined = graph.call_function(np.concatenate, ([part, part],), {"axis": 0})
    graph.output({"k": (joined, [n])})
    graph.lint()
    assert n.users == {part: None, graph.output_node(): None}
    result = graph_module(graph)(x, 2)
    np.testing.assert_array_equal(result["k"][0], np.concatenate([x[2:, None]] * 2))
    assert map_arg(part.args, str) == ("a", (slice("n", None), None))


LINT = {
    "uses what comes later": lambda g: g.nodes[3].append(g.nodes[2]),
    "a node of another graph": lambda g: setattr(g.nodes[2], "args", (by_hand().nodes[0],)),
    "no output": lambda g: g.erase_node(g.nodes[-1]),
    "a target that is not callable": lambda g: setattr(g.nodes[2], "target", 3),
    "a name twice": lambda g: setattr(g.nodes[2], "name", "a"),
    "a placeholder behind a call": lambda g: g.nodes[2].append(g.nodes[1]),
    "behind the output": lambda g: g.nodes[-1].append(g.nodes[3]),
    "users that are none": lambda g: g.nodes[0].users.update({g.nodes[3]: None}),
    "a size of nothing": lambda g: setattr(g.nodes[2], "args", (g.nodes[0], Size("s7*2", 3))),
}


@pytest.mark.parametrize("fault", LINT)
def test_lint_notices(fault):
    graph = by_hand()
    LINT[fault](graph)
    with pytest.raises(ValueError):
        graph.lint()
    with pytest.raises(ValueError):
        graph_module(graph)


@pytest.mark.parametrize(
    "call, error",
    [
        (lambda g: g.call_function("sin", ()), TypeError),
        (lambda g: g.call_function(np.sin, (by_hand().nodes[0],)), ValueError),
        (lambda g: g.output(1), ValueError),
        (lambda g: g.erase_node(by_hand().nodes[3]), ValueError),
        (lambda g: g.inserting_before(by_hand().nodes[3]), ValueError),
        (lambda g: g.nodes[0].append(by_hand().nodes[3]), ValueError),
    ],
)
def test_wrong_edits_raise_at_once(call, error):
    with pytest.raises(error):
        call(by_hand())


# ---- passes of users, with native code behind them


def sin_becomes_cos(graph):
    for node in graph.find_nodes(target=np.sin):
        with graph.inserting_after(node):
            new = graph.call_function(np.cos, node.args)
        node.replace_all_uses_with(new)
    graph.eliminate_dead_code()


@pytest.mark.parametrize("native", [False, True])
def test_a_pass_of_the_users(native):
    """The pass sees every piece; the default backend makes code of what it leaves."""
    inner = []

    def backend(graph, example_inputs):
        sin_becomes_cos(graph)
        module = nl.graph_module(graph)
        assert "np.sin" not in module.code
        inner.append(nl.compile(module.forward, fullgraph=True) if native else module)
        return inner[-1]

    @nl.compile(backend=backend)
    def f(u):
        v = np.sin(u) * 2
        nl.graph_break()
        return v + np.sin(v[::-1])

    for size in (6, 9):
        u = np.linspace(0.1, 1.0, size)
        v = np.cos(u) * 2
        np.testing.assert_allclose(f(u), v + np.cos(v[::-1]), rtol=1e-14)
    assert len(inner) == 2
    if native:
        assert all(break_count(g) == 0 and g.entries[0].kind == "program" and len(g.entries) == 1 for g in inner)


def test_a_module_is_made_anew_after_changes():
    module = graph_module(by_hand())
    [product] = module.graph.find_nodes(target=np.multiply)
    product.target = np.add
    np.testing.assert_array_equal(module(x, x)[0], x * x)
    module.recompile()
    np.testing.assert_array_equal(module(x, x)[0], x + x)
    assert "np.add(a, b)" in module.code


def test_tracebacks_show_the_graphs_lines():
    with pytest.raises(ValueError) as caught:
        graph_module(by_hand())(x, x[:2])
    assert "multiply = np.multiply(a, b)" in "".join(traceback.format_exception(caught.value))


def test_nodes_print_as_their_names():
    graph = by_hand()
    assert repr(graph.nodes[2]) == "multiply" and isinstance(graph.nodes[2], Node)
    assert repr(graph_module(graph)) == "<numlift.fx.GraphModule of by_hand, 5 nodes>"
