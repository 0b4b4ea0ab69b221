"""The reference back end on graphs with control flow: run_graph() runs a graph from its text."""

import pathlib

import numpy as np
import pytest
from numlift import _core

HEADER = """\
symbols: s0 = dim(0, 0) ~4, s1 = run ~0, s2 = run ~0
%0: f64[s0] = placeholder() {input=0, strides=[8]}
"""


def run(nodes, *inputs, externs=(), symbols=None):
    """The nodes behind the header; symbols: s0."""
    symbols = [len(inputs[0])] if symbols is None else symbols
    return _core.run_graph(HEADER + nodes, list(inputs), symbols, list(externs))


def golden_graphs():
    path = pathlib.Path(__file__).parents[1] / "golden/graph/regions/random.txt"
    sections = path.read_text().split("==== ")[1:]
    for graph, results in zip(sections[::2], sections[1::2], strict=True):
        name, text = graph.split("\n", 1)
        yield pytest.param(text, results.split("\n")[1:-1], id=name)


def numbers(line):
    return np.array([float(word) for word in line.split()[1:]])


@pytest.mark.parametrize("text, lines", list(golden_graphs()))
def test_random_graphs_give_what_the_evaluator_gives(text, lines):
    inputs = [numbers(line) for line in lines if line.startswith("input")]
    kept = [x.copy() for x in inputs]
    if "restart" in lines:
        with pytest.raises(RuntimeError, match="a check of the program does not hold"):
            _core.run_graph(text, inputs, [4])
    else:
        outputs, mutated = _core.run_graph(text, inputs, [4])
        for found, word in [(outputs, "output"), (mutated, "mutated")]:
            expected = [numbers(line) for line in lines if line.startswith(word)]
            assert len(found) == len(expected)
            for a, b in zip(found, expected, strict=True):
                assert np.array_equal(a.ravel(), b, equal_nan=True)
    # Only the caller of the program may store to them, when nothing can fail any more.
    for x, before in zip(inputs, kept, strict=True):
        assert np.array_equal(x, before)


def test_a_sum_over_the_elements():
    nodes = """\
%1: f64[] = empty()
%2: effect = loop() {counter=s1, trips=s0}
%3: f64[] = merge(%1)
%4: f64[] = view(%0) {map=[s1]}
%5: f64() = add(%3, %4)
%6: f64[] = store(%3, %5)
%7: effect = end(%2)
%8: f64[] = merge(%1)
%9: f64() = cast(%8)
return %8, %9
"""
    (array, scalar), mutated = run(nodes, np.arange(5.0))
    assert isinstance(array, np.ndarray) and array == 10.0
    assert type(scalar) is np.float64 and scalar == 10.0
    assert mutated == []
    assert run(nodes, np.empty(0))[0][1] == 0.0  # no iteration


def test_a_while_loop_with_break_and_continue():
    # i = 0
    # while True: i += 1; if i >= 6: break; if i % 2: continue; x[i // 2] = i
    nodes = """\
%1: py.i64 = size_value() {value=0}
%2: effect = assign(%1) {symbols=[s2]}
%3: effect = loop() {counter=s1}
%4: f64[s0] = merge(%0)
%5: py.i64 = size_value() {value=s2 + 1}
%6: effect = assign(%5) {symbols=[s2]}
%7: py.i64 = size_value() {value=s2}
%8: py.i64 = constant() {value=6}
%9: py.b8 = greater_equal(%7, %8)
%10: effect = if(%9)
%11: effect = break(%3)
%12: effect = end(%10)
%13: py.i64 = size_value() {value=mod(s2, 2)}
%14: py.i64 = constant() {value=0}
%15: py.b8 = not_equal(%13, %14)
%16: effect = if(%15)
%17: effect = continue(%3)
%18: effect = end(%16)
%19: f64[] = view(%4) {map=[floor(s2 / 2)]}
%20: py.f64 = cast(%7)
%21: f64[s0] = store(%19, %20)
%22: effect = end(%3)
%23: f64[s0] = merge(%0)
%24: py.i64 = size_value() {value=s2}
return %23, %24
mutates %23
"""
    x = np.full(4, -1.0)
    (array, i), (stored,) = run(nodes, x)
    assert array.tolist() == [-1.0, 2.0, 4.0, -1.0]
    assert type(i) is int and i == 6
    assert stored is array
    assert (x == -1.0).all()


def test_arms_and_blocks():
    nodes = """\
%1: b8() = placeholder() {input=1, strides=[]}
%2: py.f64 = constant() {value=1}
%3: py.f64 = constant() {value=7}
%4: effect = block()
%5: effect = if(%1)
%6: f64[s0] = store(%0, %2)
%7: effect = else(%5)
%8: f64[s0] = merge(%0)
%9: f64[s0] = store(%8, %3)
%10: effect = break(%4)
%11: effect = end(%5)
%12: f64[s0] = merge(%0)
%13: f64[s0] = add(%12, %12)
%14: f64[s0] = store(%12, %13)
%15: effect = end(%4)
%16: f64[s0] = merge(%0)
return %16
mutates %16
"""
    for condition, expected in [(np.True_, 2.0), (np.False_, 7.0)]:
        (array,), _ = run(nodes, np.zeros(3), condition)
        assert array.tolist() == [expected] * 3


def test_an_if_without_else():
    nodes = """\
%1: b8() = placeholder() {input=1, strides=[]}
%2: py.f64 = constant() {value=1}
%3: effect = if(%1)
%4: f64[s0] = store(%0, %2)
%5: effect = end(%3)
%6: f64[s0] = merge(%0)
return %6
mutates %6
"""
    for condition in np.True_, np.False_:
        (array,), _ = run(nodes, np.zeros(3), condition)
        assert array.tolist() == [float(condition)] * 3


def test_symbols_are_assigned_all_at_once():
    # a, b = 0, 1; for _ in range(n): a, b = b, a + b
    nodes = """\
%1: py.i64 = constant() {value=0}
%2: py.i64 = constant() {value=1}
%3: effect = assign(%1, %2) {symbols=[s2, s3]}
%4: effect = loop() {counter=s1, trips=s0}
%5: py.i64 = size_value() {value=s3}
%6: py.i64 = size_value() {value=s2 + s3}
%7: effect = assign(%5, %6) {symbols=[s2, s3]}
%8: effect = end(%4)
%9: py.i64 = size_value() {value=s2}
return %9
"""
    header = HEADER.replace("s2 = run ~0", "s2 = run ~0, s3 = run ~0")
    for n, expected in [(0, 0), (1, 1), (10, 55), (90, 2880067194370816120)]:
        assert _core.run_graph(header + nodes, [np.zeros(n)], [n]) == ([expected], [])
    with pytest.raises(OverflowError):
        _core.run_graph(header + nodes, [np.zeros(120)], [120])


def test_trips_are_evaluated_once():
    nodes = """\
%1: py.i64 = constant() {value=3}
%2: effect = assign(%1) {symbols=[s2]}
%3: f64[] = empty()
%4: effect = loop() {counter=s1, trips=s2}
%5: f64[] = merge(%3)
%6: py.i64 = size_value() {value=s2 + 5}
%7: effect = assign(%6) {symbols=[s2]}
%8: py.i64 = size_value() {value=s1 + 1}
%9: py.f64 = cast(%8)
%10: f64() = add(%5, %9)
%11: f64[] = store(%5, %10)
%12: effect = end(%4)
%13: f64[] = merge(%3)
return %13
"""
    assert run(nodes, np.zeros(1))[0][0] == 1 + 2 + 3


ONE_NODE = """\
%1: {type} = placeholder() {{input=1, strides=[]}}
%2: effect = block()
%3: {type} = {op} {{fp={fp}}}
%4: effect = end(%2)
return
"""


@pytest.mark.parametrize(
    "type_, op, value, fp",
    [
        ("f64()", "divide(%1, %1)", np.float64(0.0), 4),
        ("f64()", "multiply(%1, %1)", np.float64(1e300), 2),
        ("i64()", "add(%1, %1)", np.int64(2**62), 2),
        ("py.i64", "add(%1, %1)", 2**62, 2),
        ("py.i64", "multiply(%1, %1)", 2**62, 2),
        ("py.i64", "negative(%1)", -(2**63), 2),
        ("i64()", "floor_divide(%1, %1)", np.int64(0), 1),
        ("i64()", "power(%1, %1)", np.int64(-1), 4),
    ],
)
def test_conditions_raise_as_far_as_the_node_says(type_, op, value, fp):
    with np.errstate(all="ignore"):
        with pytest.raises((FloatingPointError, ValueError)):
            run(ONE_NODE.format(type=type_, op=op, fp=fp), np.zeros(1), value)
    if not op.startswith("power"):  # which raises whatever np.errstate says
        with np.errstate(all="raise"):
            run(ONE_NODE.format(type=type_, op=op, fp=0).replace(" {fp=0}", ""), np.zeros(1), value)


def test_a_check_that_does_not_hold_ends_the_run():
    nodes = """\
%1: b8() = placeholder() {input=1, strides=[]}
extern: "f"
%2: effect = check(%1)
%3: object = extern() {call=0}
return %3
"""
    calls = []
    run(nodes, np.zeros(1), np.True_, externs=[lambda: calls.append(1)])
    assert calls == [1]
    with pytest.raises(RuntimeError):
        run(nodes, np.zeros(1), np.False_, externs=[lambda: calls.append(2)])
    assert calls == [1]


def test_extern_calls_run_in_every_iteration():
    nodes = """\
extern: "f" may_raise
%1: effect = loop() {counter=s1, trips=3}
%2: f64[s0] = merge(%0)
%3: py.i64 = size_value() {value=s1}
%4: object = extern(%2, %3) {call=0}
%5: f64() = extern_item(%4) {path=[]}
%6: f64[s0] = store(%2, %5)
%7: effect = end(%1)
%8: f64[s0] = merge(%0)
return %8
mutates %8
"""
    seen = []

    def f(x, i):
        seen.append((x.tolist(), i, type(i)))
        return np.float64(10.0 * (i + 1))

    (array,), _ = run(nodes, np.zeros(2), externs=[f])
    assert seen == [([0.0, 0.0], 0, int), ([10.0, 10.0], 1, int), ([20.0, 20.0], 2, int)]
    assert array.tolist() == [30.0, 30.0]


def test_values_do_not_change_with_the_buffers_they_came_from():
    nodes = """\
%1: c128[2] = placeholder() {input=1, strides=[16]}
%2: effect = block()
%3: f64[2] = real(%1)
%4: py.c128 = constant() {value=(7, 8)}
%5: c128[2] = store(%1, %4)
%6: f64[s0] = negative(%0)
%7: f64[s0] = store(%6, %3)
%8: i64[2] = iota() {axis=0}
%9: py.i64 = constant() {value=5}
%10: i64[2] = store(%8, %9)
%11: f64[2] = cast(%10)
%12: f64[s0] = store(%0, %11)
%13: f64[] = view(%12) {map=[0]}
%14: f64() = cast(%13)
%15: f64[s0] = store(%12, %7)
%16: f64[s0] = store(%15, %14)
%17: effect = end(%2)
%18: f64[s0] = merge(%0)
%19: c128[2] = merge(%1)
return %18
mutates %18, %19
"""
    x, z = np.array([1.0, 2.0]), np.array([3 + 4j, 5 + 6j])
    text = (HEADER + nodes).replace("[s0]", "[2]")
    (array,), (_, stored) = _core.run_graph(text, [x, z], [2])
    assert array.tolist() == [5.0, 5.0]
    assert stored.tolist() == [7 + 8j] * 2
    assert x.tolist() == [1.0, 2.0] and z.tolist() == [3 + 4j, 5 + 6j]


def test_a_graph_without_control_flow_computes_on_demand():
    nodes = """\
%1: f64[s0] = sqrt(%0)
%2: f64[s0] = negative(%0)
%3: f64[s0] = store(%0, %2)
%4: f64[] = view(%3) {map=[0]}
return %3, %4
mutates %3
"""
    x = np.array([4.0, 9.0])
    with np.errstate(all="raise"):
        (array, first), _ = run(nodes, x)
    assert array.tolist() == [-4.0, -9.0] and first == -4.0 and x.tolist() == [4.0, 9.0]


def test_wrong_text_is_a_value_error():
    with pytest.raises(ValueError, match="no return line"):
        _core.run_graph("graph f(0 inputs)\n", [])
    with pytest.raises(ValueError, match="has no end"):
        run("%1: effect = block()\nreturn\n", np.zeros(1))
