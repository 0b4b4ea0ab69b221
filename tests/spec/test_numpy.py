"""Lines of the specification on NumPy's semantics and on compiling for the CPU that have no test elsewhere."""

import gc
import os
import re
import subprocess
import sys
import warnings

import numpy as np
import pytest

import numlift as nl
from numlift.testing import break_count

x = np.arange(6.0) - 2


def same(found, expected):
    assert type(found) is type(expected), (type(found), type(expected))
    if isinstance(expected, (tuple, list)):
        assert len(found) == len(expected)
        for a, b in zip(found, expected):
            same(a, b)
    elif isinstance(expected, (np.ndarray, np.generic)):
        assert found.dtype == expected.dtype and found.shape == expected.shape
        np.testing.assert_array_equal(found, expected)
    else:
        assert found == expected


def check(function, *makes):
    """A plain and a compiled call, of fresh arguments each; returns what is compiled."""
    compiled = nl.compile(function)
    plain_args, args = [make() for make in makes], [make() for make in makes]
    same(compiled(*args), function(*plain_args))
    for a, b in zip(args, plain_args):
        if isinstance(a, np.ndarray):
            same(a, b)
    return compiled


# ---- section 7


def test_spec_7_1_the_installed_numpy_says_what_is_right():
    assert tuple(map(int, np.__version__.split(".")[:2])) >= (2, 4)
    check(lambda v: (np.sum(v), np.mean(v, axis=0, keepdims=True), v // 3, v % -3), lambda: x.copy())


def test_spec_7_2_what_cannot_be_traced_is_run_by_numpy():
    inside = check(lambda v: np.linalg.norm(v) + np.sort(v)[::-1] * 2, lambda: x.copy())
    assert break_count(inside) == 0  # called inside the program
    check(lambda v: np.vectorize(lambda e: e + 1)(v) * 2, lambda: x.copy())


def test_spec_7_3_numpy_scalars_stay_scalars():
    compiled = check(lambda v: (np.float32(3), v.sum(), v[0], v[1] + 1, v[0] > 0, v.astype("f4").max(), float(v.sum()), int(v[1]), bool(v[0] > 0)), lambda: x.copy())
    assert break_count(compiled) == 0
    a = nl.compile(lambda v: np.asarray(v[0]))(x)
    assert type(a) is np.ndarray and a.shape == ()


@pytest.mark.parametrize("view", ["np.flip(v)", "v[::-1]", "np.flipud(v)", "v[::-2]", "v.reshape(2, 3)[::-1, ::-1]", "v[4:1:-1]"])
def test_spec_7_4_reversed_arrays_are_views(view):
    function = eval(f"lambda v: {view}", {"np": np})
    v = x.copy()
    result, expected = nl.compile(function)(v), function(v)
    assert result.strides == expected.strides and np.shares_memory(result, v)
    result[...] = 7.0
    np.testing.assert_array_equal(v, np.where(np.isin(np.arange(6), function(np.arange(6))), 7.0, x))


def test_spec_7_5_promotion_is_that_of_nep_50():
    compiled = check(lambda v: (np.float32(3) + 3.0, np.ones(2, np.int8) + 100, np.float32(3) + np.float64(3), v.astype("f4") * 2.5, v.astype("u1") + 1), lambda: abs(x))
    assert break_count(compiled) == 0
    with pytest.raises(OverflowError, match="Python integer 300 out of bounds for uint8"):
        nl.compile(lambda v: np.uint8(1) + 300)(x)


def test_spec_7_6_index_functions_give_tuples_of_arrays():
    check(lambda m: (np.tril_indices(3), np.triu_indices(4, 1), np.tril_indices_from(m), np.triu_indices_from(m)), lambda: np.ones((3, 3)))


RECORDS = np.array([(1, 2.5), (3, 4.5)], dtype=[("a", "i4"), ("b", "f8")])


class Sub(np.ndarray):
    pass


class Function:
    def __array_function__(self, function, types, args, kwargs):
        return ("function", function.__name__)


class Ufunc:
    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        return ("ufunc", ufunc.__name__, method)


class Interface:
    def __init__(self):
        self.held = x.copy()
        self.__array_interface__ = self.held.__array_interface__


class Wrap:
    def __array__(self, dtype=None, copy=None):
        return x.copy()

    def __array_wrap__(self, array, context=None, return_scalar=False):
        return ["wrapped", float(array.sum())]


M = np.arange(9.0).reshape(3, 3)
UNUSUAL = {  # by letter of the line: functions and what makes their arguments
    "a": [
        (lambda v: v + np.timedelta64(1, "D"), lambda: np.array(["2020-01-01", "2021-03-04"], "M8[D]")),
        (lambda v: (v[1:] - v[:-1], np.datetime64("2020-01-01")), lambda: np.array(["2020-01-01", "2021-03-04"], "M8[D]")),
        (lambda v: (np.strings.upper(v), v == "ab", v[0]), lambda: np.array(["ab", "cde"])),
        (lambda v: (v[0], v[::-1]), lambda: np.array([b"ab", b"cde"])),
        (lambda v: (v["a"] + 1, v["b"] * 2, v[0]), RECORDS.copy),
        (lambda v: np.zeros(len(v), dtype=[("k", "f4")])["k"] + v, lambda: x.copy()),
        (lambda v: v.b * 2, lambda: RECORDS.copy().view(np.recarray)),
        (lambda v: v[::-1], lambda: np.array([b"ab", b"cd"]).view("V2")),
    ],
    "b": [
        (lambda v: v * 2 + 1, lambda: x.astype("g")),
        (lambda v: v * 2j, lambda: x.astype("G")),
        (lambda v: np.longdouble(1) / 3 + v[0], lambda: x.copy()),
        *((lambda v: (v * 2 + 1, v // 3, v.sum()), lambda d=d: np.arange(5, dtype=d)) for d in ("u2", "u4", "u8")),
    ],
    "c": [(lambda v: v * 2 + 1, lambda: x.copy().view(Sub)), (lambda v: v[1:].T, lambda: M.copy().view(np.matrix))],
    "d": [(lambda v: (v + 1).filled(0), lambda: np.ma.array(x, mask=x < 0)), (lambda v: v.mean(), lambda: np.ma.array(x, mask=x < 0))],
    "e": [
        (lambda v: np.matmul(v, v, axes=[(-2, -1), (-2, -1), (-2, -1)]), lambda: M.copy()),
        (lambda v: (np.add.reduce(v), np.add.accumulate(v), np.add.outer(v, v), np.add.reduceat(v, [0, 2, 3])), lambda: x.copy()),
        (lambda v: np.add.at(v, [0, 0, 3], 1.5), lambda: x.copy()),
    ],
    "f": [(lambda v: (np.sort(v), np.argsort(v)), lambda: (x * (1 - 2j))[::-1].copy()), (lambda v: np.sort(v), lambda: (x * 1j).astype("F"))],
    "g": [
        (lambda v: np.poly1d([1.0, 2.0])(v) + 1, lambda: x.copy()),
        (lambda v: np.polynomial.Polynomial([1.0, 2.0])(v) * 2, lambda: x.copy()),
        (lambda v: np.polyval([1.0, 2.0, 3.0], v), lambda: x.copy()),
    ],
    "h": [
        (lambda v, a, b: np.divmod(v, 2.0, a, b), lambda: x.copy(), lambda: x.copy(), lambda: x.copy()),
        (lambda v, a, b: np.modf(v, a, b), lambda: x.copy(), lambda: x.copy(), lambda: x.copy()),
        (lambda v, a, b: np.divmod(v, 2.0, out=(a, b)), lambda: x.copy(), lambda: x.copy(), lambda: x.copy()),
    ],
    "i": [
        (lambda o: np.sum(o), Function),
        (lambda o: np.add(o, 1), Ufunc),
        (lambda o, v: v * o, Ufunc, lambda: x.copy()),
        (lambda o: np.add(o, 1), Interface),
        (lambda o: np.asarray(o) * 2, Interface),
        (lambda o: np.negative(o), Wrap),
    ],
    "j": [(lambda v: (v.ctypes.shape[0], v.ctypes.strides[0], v * 2), lambda: x.copy())],
}


@pytest.mark.parametrize("letter", UNUSUAL)
def test_spec_7_7_unusual_arguments_give_numpys_result(letter):
    for function, *makes in UNUSUAL[letter]:
        check(function, *makes)


@pytest.mark.parametrize("outputs", ["a, b", "a", "None, b", "out=(a, b)", "out=(None, b)", "out=(v, b)"])
@pytest.mark.parametrize("call", ["np.divmod(v, 2.0, ", "np.modf(v, "])
def test_spec_7_7_outputs_by_position_are_the_results(call, outputs):
    function = eval(f"lambda v, a, b: {call}{outputs})", {"np": np})

    def who_is_who(f):
        arguments = [x * 3, x.copy(), x.copy()]
        results = f(*arguments)
        return [[r is one for one in arguments] for r in results], [r.tolist() for r in results], [a.tolist() for a in arguments]

    assert who_is_who(nl.compile(function)) == who_is_who(function)


def test_spec_7_7_unsigned_integers_and_ufunc_methods_are_compiled():
    cases = UNUSUAL["b"][3:] + [UNUSUAL["e"][1]] + UNUSUAL["f"]
    for function, *makes in cases:
        assert break_count(check(function, *makes)) == 0


# ---- section 8


def plain_fn(X, Y):
    return np.sum(X[:, :, None] * Y[:, None, :], axis=(-2, -1))


def annotated_fn(X: np.ndarray, Y: "nonsense") -> np.ndarray:  # noqa: F821
    return np.sum(X[:, :, None] * Y[:, None, :], axis=(-2, -1))


def inputs(rng):
    return rng.standard_normal((1024, 64)), rng.standard_normal((1024, 64))


def test_spec_8_1_the_program_of_the_guide(rng):
    X, Y = inputs(rng)
    explanation = nl.explain(plain_fn)(X, Y)
    assert (explanation.graph_count, explanation.graph_break_count) == (1, 0)
    Z = nl.compile(plain_fn)(X, Y)
    assert type(Z) is np.ndarray and Z.shape == (1024,) and Z.dtype == np.float64
    assert np.allclose(Z, plain_fn(X, Y))


def test_spec_8_2_annotations_have_no_effect(rng):
    X, Y = inputs(rng)
    f, g = nl.compile(plain_fn), nl.compile(annotated_fn)
    np.testing.assert_array_equal(f(X, Y), g(X, Y))
    lines = [re.sub(r"#.*|graph \w+", "", c.entries[0].graph.text) for c in (f, g)]
    assert lines[0] == lines[1]


PROGRAM = """
import numpy as np
import numlift as nl

@nl.compile
def f(x):
    return np.sin(x) * 2 + 1

for size in (5, 5, 9):
    f(np.ones(size))
print("done", nl.get_num_threads())
"""


def run(**environment):
    path = os.pathsep.join(sys.path)
    command = [sys.executable, "-c", PROGRAM]
    return subprocess.run(command, env={**os.environ, "PYTHONPATH": path, **environment}, capture_output=True, text=True, check=True)


def test_spec_8_3_generated_code_is_printed_on_demand():
    quiet, loud = run(), run(NUMLIFT_LOGS="output_code")
    assert quiet.stderr == "" and loud.stdout == quiet.stdout
    assert loud.stderr.count("target triple") == 1  # once a compilation
    assert "define" in loud.stderr and "_ZGV" in loud.stderr


def test_spec_8_4_product_and_sum_are_one_kernel_without_a_temporary(rng):
    X, Y = inputs(rng)
    f = nl.compile(plain_fn)
    nl.reset()
    gc.collect()  # other tests leave arrays in cycles
    Z = f(X, Y)
    assert f.entries[0].kernels == 1
    stats = nl._core.pool_stats()
    assert stats["live_blocks"] == 1 and stats["kept_bytes"] < 2**20  # the result alone
    del Z


def test_spec_8_5_results_do_not_depend_on_the_number_of_threads(rng):
    X, Y = inputs(rng)
    f = nl.compile(lambda X, Y: (plain_fn(X, Y), np.sin(X).sum(), (X * Y).mean(0)))
    before = nl.get_num_threads()
    results = []
    try:
        for count in (1, 2, 5):
            nl.set_num_threads(count)
            assert nl.get_num_threads() == count
            results.append([np.asarray(part).tobytes() for part in f(X, Y)])
    finally:
        nl.set_num_threads(before)
    assert results[0] == results[1] == results[2]
    assert run(OMP_NUM_THREADS="1").stdout == "done 1\n"
    assert run(OMP_NUM_THREADS="3").stdout == "done 3\n"


def test_spec_8_6_a_print_in_between_makes_two_graphs(rng, capsys):
    def f(X, Y):
        product = X[:, :, None] * Y[:, None, :]
        print("x")
        return np.sum(product, axis=(-2, -1))

    X, Y = (a[:64] for a in inputs(rng))
    explanation = nl.explain(f)(X, Y)
    assert (explanation.graph_count, explanation.graph_break_count) == (2, 1)
    assert np.allclose(nl.compile(f)(X, Y), plain_fn(X, Y))
    assert capsys.readouterr().out == "x\nx\n"


@pytest.mark.parametrize("dtypes", ["ff", "FF", "DD", "ii", "bb", "fd", "Fd", "id", "?f", "ee", "QB"])
def test_spec_8_7_dtypes_are_numpys(dtypes, rng):
    X, Y = ((rng.random((8, 5)) * 10).astype(d) for d in dtypes)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Z, expected = nl.compile(plain_fn)(X, Y), plain_fn(X, Y)
    assert Z.dtype == expected.dtype and Z.shape == (8,)
    np.testing.assert_allclose(Z, expected, rtol=1e-2 if "e" in dtypes else 1e-5)


# ---- section 10


def in_place(v, out):
    v[1:] += 1
    np.add(v, 1, out=out)
    v[v > 2] = 0.5
    positive = out[out > 0]
    v[::2] *= positive.sum()
    return positive * 2, v


def until(v):
    count = 0
    while v.sum() < 100:
        v = v * 2 + 1
        count += 1
    return v, count


def test_spec_10_6_stores_masks_and_loops_over_arrays():
    """That they work; what the hints say is in parity/test_perf_hints.py."""
    compiled = check(in_place, lambda: x.copy(), lambda: x.copy())
    assert break_count(compiled) == 0
    check(until, lambda: x.copy())
    check(until, lambda: x + 3)
