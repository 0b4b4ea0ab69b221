"""set_stance, mark_dynamic, mark_static, compile(dynamic=), trace_numpy, numlift.compiler (spec 4.2, 4.3,
10.1, 13.3)."""

import os
import pathlib
import subprocess
import sys

import numpy as np
import pytest

import numlift as nl
from parity.hatch_tools import graphs, reasons

X = np.linspace(-1.0, 2.0, 12)


@pytest.fixture(autouse=True)
def _default_stance():
    yield
    left = nl._core.get_stance()
    nl.set_stance("default")
    assert left == "default"


def add(x, y=1.0):
    return x + y


# ---------------------------------------------------------------- the stance


def test_force_eager():
    f = nl.compile(add)
    with nl.set_stance("force_eager"):
        np.testing.assert_array_equal(f(X), X + 1.0)
        assert f.stats.compiles == 0
    f(X)
    assert f.stats.compiles == 1
    hits = f.stats.hits
    nl.set_stance("force_eager")
    np.testing.assert_array_equal(f(X), X + 1.0)
    assert f.stats.hits == hits
    nl.set_stance("default")
    f(X)
    assert f.stats.hits == hits + 1


def test_eager_on_recompile():
    f = nl.compile(add)
    f(X)
    with nl.set_stance("eager_on_recompile"):
        np.testing.assert_array_equal(f(X[:5]), X[:5] + 1.0)
        assert (f.stats.hits, f.stats.fallbacks) == (1, 0)
        np.testing.assert_array_equal(f(X.astype(np.float32)), X.astype(np.float32) + 1.0)
    assert f.stats.compiles == 1 and f.stats.fallbacks == 1


def test_fail_on_recompile():
    f = nl.compile(add)
    f(X)
    with nl.set_stance("fail_on_recompile"):
        np.testing.assert_array_equal(f(X), X + 1.0)
        with pytest.raises(RuntimeError, match="add would be compiled.*fail_on_recompile.*dtype"):
            f(X.astype(np.float32))
        with pytest.raises(RuntimeError, match="nothing is compiled yet"):
            nl.compile(lambda x: x * 2.0)(X)
    f(X.astype(np.float32))


def test_stance_behind_a_graph_break():
    log = []

    def f(x):
        y = x + 1.0
        log.append(1)
        nl.graph_break()
        return y * 2.0

    compiled = nl.compile(f)
    with nl.set_stance("force_eager"):
        np.testing.assert_array_equal(compiled(X), (X + 1.0) * 2.0)
    assert compiled.stats.compiles == 0
    compiled(X)
    with nl.set_stance("fail_on_recompile"):
        np.testing.assert_array_equal(compiled(X), (X + 1.0) * 2.0)
    assert log == [1] * 3


def test_stance_as_decorator():
    f = nl.compile(add)

    @nl.set_stance("force_eager")
    def run(x):
        "Runs."
        assert nl._core.get_stance() == "force_eager"
        return f(x)

    assert nl._core.get_stance() == "default"
    assert (run.__name__, run.__doc__) == ("run", "Runs.")
    for _ in range(2):
        run(X)
        assert nl._core.get_stance() == "default"
    assert f.stats.compiles == 0


def test_stances_nest_and_survive_exceptions():
    outer = nl.set_stance("force_eager")
    with pytest.raises(KeyError):
        with outer:
            with nl.set_stance("fail_on_recompile"):
                assert nl._core.get_stance() == "fail_on_recompile"
            assert nl._core.get_stance() == "force_eager"
            raise KeyError
    assert nl._core.get_stance() == "default"
    nl.set_stance("eager_on_recompile")
    with outer:
        assert nl._core.get_stance() == "force_eager"
    assert nl._core.get_stance() == "eager_on_recompile"
    nl.set_stance("default")


def test_unknown_stance():
    with pytest.raises(ValueError, match='unknown stance "fast"; the stances are "default", "force_eager"'):
        nl.set_stance("fast")
    with pytest.raises(TypeError):
        nl.set_stance("default")(3)


# ---------------------------------------------------------------- sizes


def sizes_of(f, sizes=(3, 4, 5, 1000, 0)):
    for size in sizes:
        np.testing.assert_array_equal(f(np.ones(size)), np.full(size, 2.0))
    return f.stats.compiles


def test_dynamic():  # 4.2, 4.3
    assert sizes_of(nl.compile(add)) == 1
    assert sizes_of(nl.compile(add, dynamic=True)) == 1
    assert sizes_of(nl.compile(add, dynamic=False)) == 5
    f = nl.compile(lambda x: x * 2.0 if x.shape[0] > 10 else x + 1.0, dynamic=True)
    assert sizes_of(f, (3, 5, 2)) == 1  # the outcome of the branch is guarded, not the size
    f(np.ones(20))
    assert f.stats.compiles == 2
    with pytest.raises(TypeError, match="dynamic is True, False or None"):
        nl.compile(add, dynamic=3)


def test_sizes_fixed_by_the_environment():  # 4.2
    code = """
import numpy as np, numlift as nl
f = nl.compile(lambda x: x + 1.0)
g = nl.compile(lambda x: x + 1.0, dynamic=True)
for size in (3, 4, 5):
    f(np.ones(size)), g(np.ones(size))
print(f.stats.compiles, g.stats.compiles)
"""
    for value, expected in (("1", "1 1\n"), ("0", "3 1\n")):
        environment = {**os.environ, "NUMLIFT_DYNAMIC_SHAPES": value,
                       "PYTHONPATH": str(pathlib.Path(nl.__file__).parents[1])}  # fmt: skip
        run = subprocess.run(
            [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
        )
        assert run.stdout == expected


def test_config_dynamic_shapes():
    with nl.config.patch(dynamic_shapes=False):
        f = nl.compile(add)
    assert sizes_of(f) == 5


def test_mark_static():
    f = nl.compile(lambda x: x * 2.0)
    x = np.ones((3, 4))
    nl.mark_static(x, 1)
    f(x)
    f(np.ones((7, 4)))  # only axis 1 is fixed
    assert f.stats.compiles == 1
    f(np.ones((3, 5)))
    assert f.stats.compiles == 2
    y = np.ones((3, 4))
    nl.mark_static(y)
    g = nl.compile(lambda x: x * 2.0)
    for shape in ((3, 4), (3, 5), (4, 4)):
        g(y if shape == (3, 4) else np.ones(shape))
    assert g.stats.compiles == 2


def test_mark_dynamic():
    f = nl.compile(lambda x: x * 2.0, dynamic=False)
    x = np.ones((3, 4))
    nl.mark_dynamic(x, 0)
    f(x)
    f(np.ones((7, 4)))
    assert f.stats.compiles == 1
    f(np.ones((7, 5)))
    assert f.stats.compiles == 2


def test_mark_dynamic_of_a_size_that_the_code_fixes():
    def f(x):
        return sum({i: x[i] * 2.0 for i in range(x.shape[0])}.values())

    x = np.ones((3, 4))
    nl.mark_dynamic(x, [0])
    with pytest.raises(nl.EscapeHatchError, match="axis 0 of x is marked dynamic.*fixes its size to 3"):
        nl.compile(f)(x)
    nl.mark_static(x, 0)  # the later word holds
    np.testing.assert_array_equal(nl.compile(f)(x), f(x))


def test_bad_marks():
    x = np.ones((3, 1))
    with pytest.raises(TypeError, match="takes an array"):
        nl.mark_static([1.0])
    with pytest.raises(TypeError, match="numbers of axes"):
        nl.mark_dynamic(x, "0")
    with pytest.raises(np.exceptions.AxisError):
        nl.mark_static(x, 2)
    with pytest.raises(ValueError, match="axis 1 has size 1"):
        nl.mark_dynamic(x, -1)


# ---------------------------------------------------------------- trace_numpy


def numpy_code(x, n):
    x = np.asarray(x)
    y = np.sin(x[1:]) + x[:-1]
    y[0] = 3.0
    total = float(y.sum()) + n * 2
    return y.reshape(-1, 1), total, np.linalg.norm(y), x.T


@pytest.mark.parametrize("backend", ["llvm", "graph", "eager"])
def test_numpy_left_to_numpy(backend):  # 10.1
    f = nl.compile(numpy_code, backend=backend)
    f(X, 3)
    assert graphs(f) != []
    with nl.config.patch(trace_numpy=False):
        for n in (3, 4):
            got, want = f(X, n), numpy_code(X, n)
            for a, b in zip(got, want):
                np.testing.assert_array_equal(a, b)
                assert type(a) is type(b)
        assert graphs(f) == []
        assert any("trace_numpy" in reason for reason in reasons(f))
        with pytest.raises(nl.Unsupported, match="config.trace_numpy is False"):
            nl.compile(lambda x: x + 1.0, fullgraph=True)(X)
    f(X, 3)
    assert graphs(f) != []


# ---------------------------------------------------------------- numlift.compiler


def test_compiler_namespace():
    for name in nl.compiler.__all__:
        assert getattr(nl.compiler, name) is getattr(nl, name)


def test_reset():  # 13.3
    f = nl.compile(add)
    f(X)
    nl.compiler.reset()
    assert f.entries == []
    np.testing.assert_array_equal(f(X), X + 1.0)
    assert f.stats.compiles == 2
