"""custom_op and cpp_extension.load_inline (spec 12.7 to 12.12, 12.14, 12.15)."""

import functools
import itertools
import os
import pathlib
import subprocess
import sys
import zlib

import numpy as np
import pytest

import numlift as nl
from numlift import cpp_extension
from parity.hatch_tools import graphs, reasons

X = np.linspace(-1.0, 2.0, 12)
BACKENDS = ("llvm", "graph", "eager")
_numbers = itertools.count()

SOURCE = """
#include <pybind11/numpy.h>
namespace py = pybind11;
py::array_t<double> square_cpu(py::array_t<double, py::array::c_style> input) {
    py::array_t<double> output(input.request().shape);
    for (py::ssize_t i = 0; i < input.size(); ++i)
        output.mutable_data()[i] = input.data()[i] * input.data()[i];
    return output;
}"""


def unique():
    """A name that no other test has registered."""
    return f"tests::op{next(_numbers)}"


@pytest.fixture(scope="module")
def square_module(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("NUMLIFT_EXTENSIONS_DIR", str(tmp_path_factory.mktemp("extensions")))
        yield cpp_extension.load_inline(
            name="square_cpu_kernel",
            cpp_sources=SOURCE,
            functions=["square_cpu"],
            extra_cflags=["-O0"],
        )


def shifted(calls=None):
    """An operator that adds a number from foreign code, with its shape function."""

    @nl.custom_op(unique(), mutates_args=())
    def op(x: np.ndarray, k: float = 1.0) -> np.ndarray:
        if calls is not None:
            calls.append(x.shape)
        return x + k * (zlib.crc32(x.tobytes()) % 7)

    op.register_fake(lambda x, k=1.0: np.empty_like(x))
    return op


# ---------------------------------------------------------------- 12.7, 12.8


def test_a_function_of_an_extension_is_named(square_module):  # 12.7
    def square(x):
        return square_module.square_cpu(x)

    np.testing.assert_array_equal(square(X), X * X)
    with pytest.raises(nl.Unsupported, match="square_cpu"):
        nl.compile(lambda x: square(x), fullgraph=True)(np.ones((3, 3)))
    f = nl.compile(lambda x: square(x + 1.0) + 1.0)
    np.testing.assert_array_equal(f(X), (X + 1.0) * (X + 1.0) + 1.0)


@pytest.mark.parametrize("backend", BACKENDS)
def test_operator_around_an_extension(square_module, backend):  # 12.8
    @nl.custom_op(unique(), mutates_args=())
    def square(x: np.ndarray) -> np.ndarray:
        return square_module.square_cpu(x)

    @square.register_fake
    def _(x):
        return np.empty_like(x)

    f = nl.compile(lambda x: square(x), fullgraph=True, backend=backend)
    for shape in ((3, 3), (4, 5), (2, 7)):
        x = np.random.default_rng(1).standard_normal(shape)
        np.testing.assert_array_equal(f(x), x * x)
    assert len(graphs(f)) == 1 and reasons(f) == []
    assert f.stats.compiles == 1 and f.stats.restarts == 0
    np.testing.assert_array_equal(square(X), X * X)


def test_the_operator_is_not_called_while_compiling():
    calls = []
    op = shifted(calls)
    f = nl.compile(lambda x: op(x * 2.0) - 1.0, fullgraph=True)
    f(X)
    assert calls == [(12,)]
    np.testing.assert_array_equal(f(X), op(X * 2.0) - 1.0)


def test_arguments_by_name_defaults_and_containers():
    @nl.custom_op(unique(), mutates_args=())
    def op(x: np.ndarray, weights: list, *, k: float = 2.0, name: str | None = None):
        return (x * k + sum(weights), len(name or ""))

    op.register_fake(lambda x, weights, *, k=2.0, name=None: (np.empty_like(x), 0))

    def f(x, k):
        first = op(x, [1.0, x])
        second = op(weights=[x, x], x=x, k=k, name="abc")
        return first[0] + second[0], second[1]

    compiled = nl.compile(f, fullgraph=True)
    for k in (3.0, 4.0):
        got, want = compiled(X, k), f(X, k)
        np.testing.assert_array_equal(got[0], want[0])
        assert got[1] == want[1] and type(got[1]) is int
    assert compiled.stats.compiles == 1


def test_a_method_as_operator_result_of_several_arrays():
    @nl.custom_op(unique(), mutates_args=())
    def split(x: np.ndarray):
        return x[: len(x) // 2].copy(), x.sum(), None

    split.register_fake(lambda x: (np.empty(len(x) // 2, x.dtype), x.sum(), None))
    f = nl.compile(lambda x: split(x + 1.0), fullgraph=True)
    for x in (X, X[:7], np.float32(X)):
        got, want = f(x), split(x + 1.0)
        np.testing.assert_array_equal(got[0], want[0])
        assert type(got[1]) is type(want[1]) and got[1] == want[1]
        assert got[2] is None and got[0].dtype == want[0].dtype


# ---------------------------------------------------------------- 12.9


def test_names_and_schemas():  # 12.9
    def fn(x: np.ndarray, out: np.ndarray):
        out[:] = x

    for bad in ("square", "a::b::c", "::b", "a::", "a b::c"):
        with pytest.raises(ValueError, match="namespace::name"):
            nl.custom_op(bad, fn, mutates_args=())
    with pytest.raises(TypeError, match="a str"):
        nl.custom_op(3, fn, mutates_args=())
    name = unique()
    nl.custom_op(name, fn, mutates_args={"out"})
    with pytest.raises(ValueError, match=f"there is an operator {name} already"):
        nl.custom_op(name, fn, mutates_args={"out"})
    with pytest.raises(ValueError, match="mutates_args names 'y', which is no parameter"):
        nl.custom_op(unique(), fn, mutates_args=("y",))
    with pytest.raises(TypeError, match="collection of names"):
        nl.custom_op(unique(), fn, mutates_args="out")
    with pytest.raises(TypeError, match="takes a function, not int"):
        nl.custom_op(unique(), 3, mutates_args=())
    with pytest.raises(TypeError, match="parameter 'args' has no fixed number"):
        nl.custom_op(unique(), lambda *args: None, mutates_args=())

    def odd(x: np.ndarray, thing: zlib.compressobj.__class__):
        return x

    with pytest.raises(TypeError, match="parameter 'thing' is annotated with"):
        nl.custom_op(unique(), odd, mutates_args=())
    with pytest.raises(TypeError, match="register_fake takes a function"):
        nl.custom_op(unique(), fn, mutates_args=()).register_fake(3)


def test_arguments_against_the_schema():
    op = shifted()
    with pytest.raises(TypeError, match=r"argument 'x' is a list, not ndarray"):
        op([1.0, 2.0])
    with pytest.raises(TypeError, match=r"argument 'k' is a str, not float"):
        op(X, "a")
    f = nl.compile(lambda x: op(x, "a") + 1.0)
    with pytest.raises(TypeError, match=r"argument 'k' is a str, not float"):
        f(X)
    with pytest.raises(nl.Unsupported, match="argument 'k' is a str"):
        nl.compile(lambda x: op(x, "a") + 1.0, fullgraph=True)(X)
    with pytest.raises(TypeError):
        op(X, 1.0, 2.0)


def test_rules_for_transforms_are_kept():
    op = shifted()

    def backward(ctx, grad):
        return grad, None

    def context(ctx, inputs, output):
        pass

    def batched(info, in_dims, x, k):
        return op(x, k), 0

    assert op.register_autograd(backward, setup_context=context) is backward
    assert (op.backward, op.setup_context) == (backward, context)
    assert op.register_vmap(batched) is batched and op.vmap is batched
    with pytest.raises(TypeError, match="register_autograd takes a function"):
        op.register_autograd(None)
    with pytest.raises(TypeError, match="register_vmap takes a function"):
        op.register_vmap("no")


# ---------------------------------------------------------------- 12.10


def test_without_shape_function():  # 12.10
    @nl.custom_op(unique(), mutates_args=())
    def op(x: np.ndarray):
        return x + 1.0

    with pytest.raises(nl.Unsupported, match="(?s)tests::op.*register_fake"):
        nl.compile(lambda x: op(x) * 2.0, fullgraph=True)(X)
    f = nl.compile(lambda x: op(x * 3.0) * 2.0)
    np.testing.assert_array_equal(f(X), (X * 3.0 + 1.0) * 2.0)
    assert graphs(f) == [["multiply"], ["multiply"]]
    assert any("tests::op" in reason for reason in reasons(f))
    op.register_fake(lambda x: np.empty_like(x))  # what broke is compiled again
    np.testing.assert_array_equal(f(X), (X * 3.0 + 1.0) * 2.0)
    assert len(graphs(f)) == 1


READS = {
    "bool": lambda x: x if x[0] > 0 else x,
    "float": lambda x: np.empty(int(float(x[0]))),
    "item": lambda x: np.empty(int(x.max().item())),
    "array": lambda x: np.asarray(x),
    "iterate": lambda x: np.array([v for v in x]),
    "mask": lambda x: x[x > 0],
    "nonzero": lambda x: np.nonzero(x)[0],
    "unique": lambda x: np.unique(x),
}


@pytest.mark.parametrize("how", READS)
def test_a_shape_function_that_reads_a_value(how):  # 12.10
    op = shifted()
    op.register_fake(lambda x, k=1.0: READS[how](x))
    with pytest.raises(nl.Unsupported, match="(?s)no values"):
        nl.compile(lambda x: op(x) * 2.0, fullgraph=True)(X)
    f = nl.compile(lambda x: op(x) * 2.0)
    np.testing.assert_array_equal(f(X), op(X) * 2.0)


SHAPES = {
    "empty_like": (lambda x: np.empty_like(x), lambda x: x.copy()),
    "operators": (lambda x: (x + 1) * x - 2.0, lambda x: (x + 1) * x - 2.0),
    "ufunc": (lambda x: np.sqrt(x) > 1, lambda x: np.sqrt(np.abs(x)) > 1),
    "sum": (lambda x: x.sum(axis=0), lambda x: x.sum(axis=0)),
    "matmul": (lambda x: x.T @ x, lambda x: x.T @ x),
    "concatenate": (lambda x: np.concatenate([x, x]), lambda x: np.concatenate([x, x])),
    "slice": (lambda x: x[1:, ::2].copy(), lambda x: x[1:, ::2].copy()),
    "reshape": (lambda x: x.reshape(-1), lambda x: x.reshape(-1).copy()),
    "astype": (lambda x: x.astype(np.float32), lambda x: x.astype(np.float32)),
    "shape": (lambda x: np.empty((x.shape[0], 2), x.dtype), lambda x: x[:, :2].copy()),
    "zeros": (lambda x: np.zeros(x.shape, np.int8), lambda x: np.zeros(x.shape, np.int8)),
    "where": (lambda x: np.where(x > 0, x, 0.0), lambda x: np.where(x > 0, x, 0.0)),
    "scalar": (lambda x: x.max(), lambda x: x.max()),
}


@pytest.mark.parametrize("how", SHAPES)
def test_what_a_shape_function_may_do(how):  # 12.10
    fake, real = SHAPES[how]
    op = nl.custom_op(unique(), lambda x: real(x), mutates_args=())
    op.register_fake(lambda x: fake(x))
    f = nl.compile(lambda x: op(x * 1.0), fullgraph=True)
    for shape in ((4, 3), (5, 6)):
        x = np.random.default_rng(2).random(shape)
        got, want = f(x), op(x * 1.0)
        assert type(got) is type(want) and got.dtype == want.dtype
        np.testing.assert_array_equal(got, want)
    assert f.stats.restarts == 0


# ---------------------------------------------------------------- 12.11


@pytest.mark.parametrize(
    "promise, found",
    [
        (lambda x: np.empty(x.shape, np.float32), "float64"),
        (lambda x: np.empty((*x.shape, 2)), r"shape \(12,\)"),
        (lambda x: np.empty(x.shape[0] + 1), r"shape \(12,\)"),
        (lambda x: (np.empty_like(x),), "an array"),
        (lambda x: None, "an array"),
        (lambda x: x.sum(), "an array"),
    ],
)
@pytest.mark.parametrize("fullgraph", [False, True])
@pytest.mark.parametrize("backend", BACKENDS)
def test_another_result_than_promised(promise, found, fullgraph, backend):  # 12.11
    op = nl.custom_op(unique(), lambda x: x + 1.0, mutates_args=())
    op.register_fake(lambda x: promise(x))
    f = nl.compile(lambda x: op(x * 2.0), fullgraph=fullgraph, backend=backend)
    for _ in range(2):
        with pytest.raises(RuntimeError, match=f"tests::op.* returned .*{found}.*promised") as caught:
            f(X)
        assert caught.type is nl.EscapeHatchError


def test_a_difference_at_a_later_call():  # 12.11
    @nl.custom_op(unique(), mutates_args=())
    def op(x: np.ndarray):
        return x if len(x) < 20 else x.astype(np.float32)

    op._fn = lambda x: x.copy() if len(x) < 20 else x.astype(np.float32)
    op.register_fake(lambda x: np.empty_like(x))

    def f(x, out):
        out += 1.0
        return op(x)

    compiled = nl.compile(f, fullgraph=True)
    out = np.zeros(3)
    np.testing.assert_array_equal(compiled(X, out), X)
    assert (out == 1.0).all()
    with pytest.raises(RuntimeError, match="float32 of shape"):
        compiled(np.ones(20), out)
    assert (out == 1.0).all()  # what the program stored before is undone


def test_a_result_that_is_an_argument():
    op = nl.custom_op(unique(), lambda x: x, mutates_args=())
    op.register_fake(lambda x: np.empty_like(x))
    with pytest.raises(nl.EscapeHatchError, match="shares memory with an argument"):
        nl.compile(lambda x: op(x * 2.0), fullgraph=True)(X)


def test_an_operator_that_raises():
    @nl.custom_op(unique(), mutates_args=())
    def op(x: np.ndarray):
        if x[0] > 0:
            raise ZeroDivisionError("positive")
        return x + 1.0

    op.register_fake(lambda x: np.empty_like(x))
    f = nl.compile(lambda x: op(x) * 2.0, fullgraph=True)
    np.testing.assert_array_equal(f(-np.ones(3)), np.zeros(3))
    with pytest.raises(ZeroDivisionError, match="positive"):
        f(np.ones(3))


# ---------------------------------------------------------------- 12.12


def accumulate():
    @nl.custom_op(unique(), mutates_args={"out"})
    def op(x: np.ndarray, out: np.ndarray) -> None:
        out += x
        out[0] = zlib.crc32(out.tobytes()) % 5

    op.register_fake(lambda x, out: None)
    return op


@pytest.mark.parametrize("backend", BACKENDS)
def test_operator_that_writes(backend):  # 12.12
    op = accumulate()

    def f(x, out):
        out *= 2.0
        before = out + 0.0
        answer = op(x, out)
        between = out[1:] + 1.0
        out[1] = 7.0
        op(x, out=out)
        return before, between, answer, out

    compiled = nl.compile(f, fullgraph=True, backend=backend)
    for size in (12, 5):
        x = X[:size]
        ours, plain = np.ones(size), np.ones(size)
        got, want = compiled(x, ours), f(x, plain)
        for a, b in zip(got[:2], want[:2]):
            np.testing.assert_array_equal(a, b)
        assert got[2] is None
        assert got[3] is ours
        np.testing.assert_array_equal(ours, plain)
    assert compiled.stats.restarts == 0


def test_operator_that_writes_to_a_view_and_to_what_is_made_inside():  # 12.12
    op = accumulate()

    def f(x, out):
        mine = np.zeros(6)
        op(x[:6], mine)
        op(x[:6], out[::2])
        return mine

    compiled = nl.compile(f, fullgraph=True)
    for _ in range(2):
        ours, plain = np.ones(12), np.ones(12)
        np.testing.assert_array_equal(compiled(X, ours), f(X, plain))
        np.testing.assert_array_equal(ours, plain)


def test_operator_that_writes_to_its_other_argument():
    op = accumulate()
    f = nl.compile(lambda x: op(x, x))
    ours, plain = X.copy(), X.copy()
    f(ours)
    op(plain, plain)
    np.testing.assert_array_equal(ours, plain)


def test_operator_that_writes_to_a_read_only_array():
    op = accumulate()
    out = np.zeros(12)
    out.flags.writeable = False
    f = nl.compile(lambda x, out: op(x, out))
    with pytest.raises(ValueError, match="read-only"):
        f(X, out)


def test_undeclared_writes_are_found():  # 12.15
    @nl.custom_op(unique(), mutates_args=())
    def op(x: np.ndarray, y: np.ndarray):
        y[0] = 5.0
        return x + 1.0

    op.register_fake(lambda x, y: np.empty_like(x))
    with nl.config.patch(check_escape_hatches=True):
        f = nl.compile(lambda x, y: op(x, y) + 1.0)
        with pytest.raises(nl.EscapeHatchError, match="changes argument 'y', which mutates_args does not"):
            f(X, np.zeros(3))
        with pytest.raises(nl.EscapeHatchError, match="changes argument 'y'"):
            op(X, np.zeros(3))


# ---------------------------------------------------------------- 12.14


def test_modules_are_cached_by_source(tmp_path, monkeypatch, capfd):  # 12.14
    monkeypatch.setenv("NUMLIFT_EXTENSIONS_DIR", str(tmp_path / "a"))
    source = "int twice(int x) { return 2 * x; }  // %d"
    load = functools.partial(cpp_extension.load_inline, extra_cflags=["-O0"])
    one = load("twice_module", source % 1, ["twice"], verbose=True)
    assert "-shared" in capfd.readouterr().err
    assert one.twice(21) == 42
    assert load("twice_module", source % 1, ["twice"], verbose=True) is one
    assert capfd.readouterr().err == ""
    monkeypatch.setattr(cpp_extension, "_loaded", {})
    load("twice_module", source % 1, ["twice"], verbose=True)  # from disk
    assert capfd.readouterr().err == ""
    load("twice_module", source % 2, {"twice": 'says "2x"\n'}, verbose=True)
    assert "-shared" in capfd.readouterr().err
    folder = tmp_path / "a"
    assert folder.stat().st_mode & 0o077 == 0
    assert len(list(folder.glob("*/twice_module*.so"))) == 2


def test_the_compilers_text_is_in_the_error(tmp_path, monkeypatch):  # 12.14
    monkeypatch.setenv("NUMLIFT_EXTENSIONS_DIR", str(tmp_path))
    with pytest.raises(RuntimeError, match="(?s)could not make broken.*broken.0.cpp:2.*nonsense"):
        cpp_extension.load_inline("broken", "\nnonsense here;", ["f"])
    assert list(tmp_path.iterdir()) == []


def test_no_compiler(tmp_path, monkeypatch):  # 12.14
    monkeypatch.setenv("NUMLIFT_EXTENSIONS_DIR", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CXX", raising=False)
    with pytest.raises(RuntimeError, match="no C\\+\\+ compiler"):
        cpp_extension.load_inline("nothing", "int f() { return 1; }", ["f"])
    monkeypatch.setenv("CXX", "no-such-compiler -O1")
    with pytest.raises(RuntimeError, match="no-such-compiler"):
        cpp_extension.load_inline("nothing", "int f() { return 1; }", ["f"])


def test_a_folder_that_others_may_write(tmp_path, monkeypatch):  # 12.14
    folder = tmp_path / "open"
    folder.mkdir()
    folder.chmod(0o777)
    monkeypatch.setenv("NUMLIFT_EXTENSIONS_DIR", str(folder))
    with pytest.raises(RuntimeError, match="may be written by others"):
        cpp_extension.load_inline("nothing", "int f() { return 1; }", ["f"])


def test_bad_names():
    with pytest.raises(ValueError, match="identifier"):
        cpp_extension.load_inline("not a name", "", ["f"])
    with pytest.raises(ValueError, match="identifier"):
        cpp_extension.load_inline("name", "", ["f()"])


def test_two_processes_make_one_module(tmp_path):  # 12.14
    code = (
        "import sys; from numlift import cpp_extension\n"
        "m = cpp_extension.load_inline('both', 'int f() { return 5; }', ['f'], extra_cflags=['-O0'])\n"
        "print(m.f())\n"
    )
    environment = {**os.environ, "NUMLIFT_EXTENSIONS_DIR": str(tmp_path),
                   "PYTHONPATH": os.pathsep.join([str(pathlib.Path(nl.__file__).parents[1])])}  # fmt: skip
    runs = [
        subprocess.Popen([sys.executable, "-c", code], env=environment, stdout=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    assert [run.communicate()[0] for run in runs] == ["5\n", "5\n"]
