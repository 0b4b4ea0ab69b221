"""Each guard: it holds for what is the same, fails for what is not, and says why."""

import logging
import types
import warnings

import numpy as np
import pytest

import numlift as nl
from numlift import testing

X = np.arange(12.0).reshape(3, 4)


@pytest.fixture
def reasons(caplog):
    """The reasons of recompilations, as logged."""
    caplog.set_level(logging.INFO, logger="numlift.recompiles")
    with nl.config.patch(logs="recompiles"):
        yield lambda: [r.getMessage() for r in caplog.records if r.name == "numlift.recompiles"]


def check(compiled, function, *args):
    got, want = compiled(*args), function(*args)
    assert type(got) is type(want)
    np.testing.assert_array_equal(got, want)
    if isinstance(want, np.ndarray):
        assert (got.dtype, got.strides) == (want.dtype, want.strides)


def compiles(compiled):
    return compiled.stats.compiles


def twice(x):
    return x + x


@pytest.mark.parametrize(
    "other, found",
    [
        (X.astype("f4"), "x: found dtype f32, rank 2, C contiguous; expected dtype f64"),
        (X.ravel(), "x: found dtype f64, rank 1, C contiguous; expected dtype f64, rank 2"),
        (X.T, "x: found dtype f64, rank 2, Fortran contiguous; expected"),
        (X[:, ::2], "x: found dtype f64, rank 2, strided (axes by stride: 0 1)"),
        (X[:1], "size 1 along axis 0; expected"),
        (3, "x: found type int; expected"),
        (2.5, "x: found type float; expected"),
        (np.float64(2.5), "x: found type numpy.float64; expected"),
        ([1, 2], "x: found type list; expected"),
        (X.astype(">f8"), "an array that is not compiled"),
        (np.ma.masked_array(X), "an array that is not compiled"),
    ],
    ids=range(11),
)
def test_array_guards(other, found, reasons):
    f = nl.compile(twice)
    check(f, twice, X)
    check(f, twice, X + 1)
    assert compiles(f) == 1
    check(f, twice, other)
    assert compiles(f) == 2
    assert len(reasons()) == 1 and found in reasons()[0]
    assert "twice is compiled again" in reasons()[0]


def test_sizes_do_not_recompile():  # 4.2
    f = nl.compile(twice)
    for n in (3, 4, 5, 1000, 0):
        check(f, twice, np.arange(float(n)))
    assert compiles(f) == 1
    check(f, twice, np.arange(1.0))
    assert compiles(f) == 2


def test_the_usual_array_is_still_checked_in_full(reasons):
    f = nl.compile(twice)
    check(f, twice, np.ones((3, 4)))
    other_descriptor = np.ones((3, 4), np.dtype("f8", copy=True))
    assert other_descriptor.dtype is not np.dtype("f8")
    check(f, twice, other_descriptor)
    assert compiles(f) == 1
    misaligned = np.zeros(97, "u1")[1:].view("f8").reshape(3, 4)
    assert misaligned.flags.c_contiguous and not misaligned.flags.aligned
    for array in (misaligned, np.ones((3, 4), np.dtype(">f8")), np.ones((3, 1)), np.ones((1, 4))):
        check(f, twice, array)
    assert compiles(f) == 4 and len(reasons()) == 3  # the first two share one


def test_a_read_only_array_is_not_stored_to():
    def f(x):
        x += 1.0
        return x * 2.0

    compiled = nl.compile(f)
    np.testing.assert_array_equal(compiled(np.ones(3)), 4.0)
    fixed = np.ones(3)
    fixed.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        compiled(fixed)
    np.testing.assert_array_equal(fixed, 1.0)


def test_dynamic_false_fixes_sizes(reasons):  # 4.3
    f = nl.compile(twice, dynamic=False)
    check(f, twice, np.arange(3.0))
    check(f, twice, np.arange(3.0))
    assert compiles(f) == 1
    check(f, twice, np.arange(4.0))
    assert compiles(f) == 2
    assert "sizes: found 4 and 3" in reasons()[0] and "dynamic=False" in reasons()[0]


def test_equal_sizes_are_a_guard(reasons):
    def add(a, b):
        return a + b

    f = nl.compile(add)
    check(f, add, np.ones(3), np.ones(3))
    check(f, add, np.ones(5), np.ones(5))
    assert compiles(f) == 1
    with pytest.raises(ValueError, match="broadcast"):
        f(np.ones(3), np.ones(4))
    assert "sizes: found 3 and 4" in reasons()[0]


def test_a_branch_on_a_size_guards_its_outcome_alone():  # 4.4
    def f(x):
        return x + 1.0 if x.shape[0] > 10 else x - 1.0

    compiled = nl.compile(f)
    for n in (3, 5, 20, 30, 4):
        check(compiled, f, np.ones(n))
    assert compiles(compiled) == 2


def test_numbers_are_inputs():  # 4.7
    def f(x, k):
        return x * k

    compiled = nl.compile(f)
    for k in (2.0, 3.0, -1.5):
        check(compiled, f, X, k)
    assert compiles(compiled) == 1
    for k in (2, 3, 2**40):
        check(compiled, f, X, k)
    assert compiles(compiled) == 2


def test_constants_are_guarded_by_value(reasons):
    def f(x, how):
        return x + 1.0 if how == "up" else x - 1.0

    compiled = nl.compile(f)
    check(compiled, f, X, "up")
    check(compiled, f, X, "".join(["u", "p"]))
    assert compiles(compiled) == 1
    check(compiled, f, X, "down")
    assert "how: found 'down'; expected == 'up'" in reasons()[0]


def test_tuples_guard_type_and_length():
    def f(pair):
        total = pair[0]
        for one in pair[1:]:
            total = total + one
        return total

    compiled = nl.compile(f)
    check(compiled, f, (X, X))
    check(compiled, f, (X, X + 1))
    assert compiles(compiled) == 1
    check(compiled, f, (X, X, X))
    assert compiles(compiled) == 2


# ---------------------------------------------------------------- globals, closures, attributes

OFFSET = 1.0
WEIGHTS = np.arange(4.0)


def with_globals(x):
    return np.abs(x) * WEIGHTS + OFFSET


def test_globals_are_read_anew(monkeypatch):
    f = nl.compile(with_globals)
    check(f, with_globals, X)
    monkeypatch.setitem(globals(), "OFFSET", 7.0)
    check(f, with_globals, X)
    monkeypatch.setitem(globals(), "WEIGHTS", np.arange(4.0) + 3)
    check(f, with_globals, X)
    assert compiles(f) == 1  # run-time inputs
    monkeypatch.setitem(globals(), "WEIGHTS", np.arange(4, dtype="f4"))
    check(f, with_globals, X)
    assert compiles(f) == 2
    WEIGHTS[:] = 2
    check(f, with_globals, X)


def test_a_global_that_has_nothing_to_do_with_it_costs_no_recompile(monkeypatch):
    f = nl.compile(with_globals)
    check(f, with_globals, X)
    for value in range(5):
        monkeypatch.setitem(globals(), "UNRELATED", value)
        check(f, with_globals, X)
    assert compiles(f) == 1


def test_a_replaced_numpy_function_is_seen(monkeypatch, reasons):
    f = nl.compile(with_globals)
    check(f, with_globals, X)
    monkeypatch.setattr(np, "abs", np.negative)
    check(f, with_globals, X)
    assert "np.abs: found <numpy.ufunc negative>; expected is <numpy.ufunc absolute>" in reasons()[0]
    monkeypatch.undo()
    check(f, with_globals, X)
    assert compiles(f) == 2


def test_a_shadowed_builtin_is_seen():
    namespace = {"nl": nl}
    exec("def f(x):\n    return abs(x)", namespace)
    f = nl.compile(namespace["f"])
    np.testing.assert_array_equal(f(-X), X)
    namespace["abs"] = lambda x: x * 10
    np.testing.assert_array_equal(f(-X), -X * 10)
    del namespace["abs"]
    np.testing.assert_array_equal(f(-X), X)


def test_module_attributes_are_read_anew():
    module = types.ModuleType("settings")
    module.scale = 2.0
    namespace = {"settings": module}
    exec("def f(x):\n    return x * settings.scale", namespace)
    f = nl.compile(namespace["f"])
    np.testing.assert_array_equal(f(X), X * 2)
    module.scale = 3.0
    np.testing.assert_array_equal(f(X), X * 3)
    module.scale = 3
    np.testing.assert_array_equal(f(X), X * 3)


def test_closures_are_read_anew():
    k = 2.0

    def f(x):
        return x * k

    compiled = nl.compile(f)
    check(compiled, f, X)
    k = 5.0
    check(compiled, f, X)
    k = np.full(4, 3.0)
    check(compiled, f, X)
    assert compiles(compiled) == 2


class Model:
    def __init__(self):
        self.w = np.ones(4)
        self.mode = "a"

    def step(self, x):
        return x * self.w if self.mode == "a" else x + self.w


def test_attributes_of_objects_are_read_anew():
    model = Model()

    def f(m, x):
        return m.step(x)

    compiled = nl.compile(f)
    check(compiled, f, model, X)
    model.w = np.full(4, 7.0)
    check(compiled, f, model, X)
    assert compiles(compiled) == 1
    model.mode = "b"
    check(compiled, f, model, X)
    model.w[0] = -1
    check(compiled, f, model, X)
    other = Model()
    check(compiled, f, other, X)


def test_a_replaced_method_is_seen():
    class Local(Model):
        pass

    model = Local()

    def f(m, x):
        return m.step(x)

    compiled = nl.compile(f)
    check(compiled, f, model, X)
    Local.step = lambda self, x: x - self.w
    check(compiled, f, model, X)
    model.step = lambda x: x * 100
    check(compiled, f, model, X)


def test_dicts_and_lists_are_read_anew():
    def f(parameters, x):
        return x * parameters["w"] + parameters["b"]

    compiled = nl.compile(f)
    parameters = {"w": np.ones(4), "b": 1.0}
    check(compiled, f, parameters, X)
    parameters["w"] = np.full(4, 2.0)
    parameters["b"] = 4.0
    check(compiled, f, parameters, X)

    def total(items):
        result = items[0]
        for one in items[1:]:
            result = result + one
        return result

    compiled = nl.compile(total)
    items = [X, X]
    check(compiled, total, items)
    items[1] = X * 3
    check(compiled, total, items)
    items.append(X)
    check(compiled, total, items)


def test_a_changed_helper_is_seen():
    def helper(x):
        return x + 1.0

    def other(x):
        return x - 1.0

    def f(x):
        return helper(x)

    compiled = nl.compile(f)
    check(compiled, f, X)
    helper.__code__ = other.__code__
    check(compiled, f, X)


# ---------------------------------------------------------------- error state


def test_errstate_is_part_of_an_entry():
    def divide(a, b):
        return a / b

    f = nl.compile(divide)
    zeros = np.zeros(3)
    check(f, divide, np.ones(3), np.ones(3))
    with pytest.warns(RuntimeWarning, match="divide by zero"):
        f(np.ones(3), zeros)
    with np.errstate(divide="ignore"):
        check(f, divide, np.ones(3), zeros)
        check(f, divide, np.ones(3), zeros)
        assert f.stats.restarts == 1
    with np.errstate(divide="raise"), pytest.raises(FloatingPointError, match="divide by zero"):
        f(np.ones(3), zeros)
    with np.errstate(under="raise"), pytest.raises(FloatingPointError, match="underflow"):
        nl.compile(lambda x: x * x)(np.array([1e-200]))


# ---------------------------------------------------------------- aliases


def test_a_stored_input_that_overlaps_another_runs_in_cpython():
    def f(a, b):
        a[1:] = a[1:] + b[:-1]
        return a

    compiled = nl.compile(f)
    a, b = np.arange(6.0), np.arange(6.0)
    assert compiled(a, b) is a
    np.testing.assert_array_equal(a, f(np.arange(6.0), np.arange(6.0)))
    shared, plain = np.arange(6.0), np.arange(6.0)
    compiled(shared, shared)
    np.testing.assert_array_equal(shared, f(plain, plain))
    base, plain = np.arange(8.0), np.arange(8.0)
    compiled(base[1:7], base[:6])
    f(plain[1:7], plain[:6])
    np.testing.assert_array_equal(base, plain)
    assert compiles(compiled) <= 2


def test_a_restart_undoes_stores():
    def f(a, b):
        a += 1.0
        return a / b

    compiled = nl.compile(f)
    a = np.zeros(3)
    compiled(a, np.ones(3))
    np.testing.assert_array_equal(a, 1)
    with pytest.warns(RuntimeWarning, match="divide by zero"):
        compiled(a, np.zeros(3))
    np.testing.assert_array_equal(a, 2)


def test_a_restart_behind_a_store_that_needed_no_checks_undoes_it():
    def f(a, b):
        a[1:] = a[:-1]
        return a / b

    compiled = nl.compile(f)
    for divisor, warns in ((1.0, False), (0.0, True), (2.0, False)):
        a, want = np.arange(1.0, 6.0), np.arange(1.0, 6.0)
        if warns:
            with pytest.warns(RuntimeWarning, match="divide by zero"):
                got = compiled(a, np.full(5, divisor))
            with np.errstate(divide="ignore"):
                result = f(want, np.full(5, divisor))
        else:
            got, result = compiled(a, np.full(5, divisor)), f(want, np.full(5, divisor))
        np.testing.assert_array_equal(a, want)
        np.testing.assert_array_equal(got, result)
    assert compiles(compiled) == 1 and compiled.stats.restarts == 1


def test_a_restart_before_the_first_store_leaves_the_input_alone():
    def f(a, b):
        a[1:] = a[:-1] / b

    compiled = nl.compile(f)
    for divisor in (1.0, 0.0, 2.0):
        a, want = np.arange(1.0, 6.0), np.arange(1.0, 6.0)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            compiled(a, np.full(4, divisor))
        with np.errstate(divide="ignore"):
            f(want, np.full(4, divisor))
        np.testing.assert_array_equal(a, want)
        assert len(caught) == (divisor == 0)
    assert compiles(compiled) == 1 and compiled.stats.restarts == 1


# ---------------------------------------------------------------- limits and breaks


def test_recompile_limit_ends_in_cpython_with_one_warning(caplog):  # 4.9
    f = nl.compile(twice)
    with nl.config.patch(recompile_limit=3):
        for rank in range(1, 6):
            check(f, twice, np.ones((2,) * rank))
            check(f, twice, np.ones((2,) * rank))
    assert compiles(f) == 3
    (warning,) = [r.getMessage() for r in caplog.records if r.name == "numlift"]
    assert "twice was compiled 3 times (recompile_limit)" in warning
    assert "x: found dtype f64, rank 4" in warning
    nl.reset()
    check(f, twice, np.ones(2))
    assert compiles(f) == 4


def test_recompile_limit_raises_with_fullgraph():  # 4.9
    f = nl.compile(twice, fullgraph=True)
    with nl.config.patch(recompile_limit=1):
        check(f, twice, np.ones(2))
        with pytest.raises(nl.Unsupported, match="recompile_limit"):
            f(np.ones((2, 2)))


def test_a_break_is_traced_once_and_counted(caplog):
    def f(x):
        if x.sum() > 0:
            return x
        return -x

    compiled = nl.compile(f)
    caplog.set_level(logging.INFO, logger="numlift.breaks")
    with nl.config.patch(logs="breaks"):
        for _ in range(3):
            check(compiled, f, X)
    assert compiles(compiled) == 2  # up to the branch, and the side that is taken
    assert testing.break_count(compiled) == 1
    first, second = compiled.entries
    assert first.kind == "program" and first.break_reason
    assert second.kind == "program" and not second.break_reason
    (line,) = [r.getMessage() for r in caplog.records if r.name == "numlift.breaks"]
    assert f"test_guards.py:{f.__code__.co_firstlineno + 1} in " in line


def test_fullgraph_raises_at_the_break_with_the_users_line():
    def f(x):
        if x.sum() > 0:
            return x
        return -x

    with pytest.raises(nl.Unsupported) as raised:
        nl.compile(f, fullgraph=True)(X)
    text = str(raised.value)
    assert isinstance(raised.value, RuntimeError)
    assert "from user code:" in text and "if x.sum() > 0:" in text


def test_the_same_code_with_other_globals_is_another_function():
    def plain(g, a):
        return g(a)

    def scaled(a):
        return a * SCALE

    twins = [types.FunctionType(scaled.__code__, {"SCALE": scale}) for scale in (2.0, 3.0)]
    f = nl.compile(plain)
    for g in twins:
        np.testing.assert_array_equal(f(g, X), plain(g, X))


@pytest.mark.parametrize("branch", [
    lambda x, n: x + n if n > 2.5 else x - n,
    lambda x, n: x + n if 2.5 <= n else x - n,
    lambda x, n: x + n if n == 1.0 or n else x - n,
    lambda x, n: x * 2 if n != 3 else x - n,
])
def test_a_branch_on_a_number_guards_the_outcome(branch):  # 4.4, 4.7
    compiled = nl.compile(branch)
    for n in (1.0, 2.0, 2.5, 3.0, 4.0, 5.5, 0.0, -0.0, float("nan"), float("inf")):
        check(compiled, branch, X, n)
    assert compiles(compiled) <= 4


def test_a_branch_on_an_int_against_a_float():
    def f(x, n):
        return x + n if n > 2.5 else x - n

    compiled = nl.compile(f)
    for n in (1, 2, 3, 4, -7, 10**12):
        check(compiled, f, X, n)
    assert compiles(compiled) == 2
