"""Lines of the specification on debugging that have no test elsewhere."""

import pathlib

import numpy
import pytest

import numlift as nl
import numlift.numpy as np
from numlift.numpy import linalg

x = numpy.linspace(-1.0, 2.0, 7)


def plain(value):
    return value.view(numpy.ndarray)


def same(ours, numpys):
    assert type(ours) is (np.ndarray if isinstance(numpys, numpy.ndarray) else type(numpys))
    if isinstance(numpys, (tuple, list)):
        assert len(ours) == len(numpys)
        for one, other in zip(ours, numpys):
            same(one, other)
    elif isinstance(numpys, (numpy.ndarray, numpy.generic)):
        assert ours.dtype == numpys.dtype
        numpy.testing.assert_allclose(numpy.asarray(ours), numpys, rtol=1e-14)
    else:
        assert ours == numpys


# Programs over the namespace `np` and an array.
PROGRAMS = [
    lambda np, v: np.sin(v) + np.exp(v) * 2 - v[::-1],
    lambda np, v: (np.sum(v), v.mean(), np.add.reduce(v), v.max() > 1),
    lambda np, v: np.where(v > 0, v, 0).reshape(1, -1).T @ np.ones((1, 3)),
    lambda np, v: np.sort(v)[::2].tolist(),
    lambda np, v: (np.float32(3) + v.astype("f4"), np.pi, np.int8(3)),
    lambda np, v: np.modf(v),
    lambda np, v: np.linalg.norm(np.outer(v, v)),
    lambda np, v: np.linalg.eigh(np.eye(3) * 2)[0],
    lambda np, v: np.fft.rfft(v).real,
    lambda np, v: np.asarray(np.random.default_rng(3).standard_normal(4)),
    lambda np, v: np.concatenate([v, v.copy(), [1, 2]]).cumsum(),
    lambda np, v: np.array(["b", "a"]).tolist(),
    lambda np, v: np.arange(12).reshape(3, 4)[1:, [0, 2]],
]


@pytest.mark.parametrize("number", range(len(PROGRAMS)))
def test_spec_10_2_the_namespace_gives_what_numpy_gives(number):
    program = PROGRAMS[number]
    same(program(np, np.array(x)), program(numpy, x.copy()))


def test_spec_10_2_operations_are_numlifts_one_at_a_time():
    nl.reset()
    v = np.array(x)
    nl.reset()
    result = np.cos(v) * 2 + 1
    assert type(result) is np.ndarray and isinstance(x, np.ndarray) and issubclass(numpy.ndarray, np.ndarray)
    # Three compilations, each of one operation; nothing of the program around them.
    assert [one["graph"].split(".")[-1] for one in nl.compile_times()] == ["one_operation"] * 3
    np.cos(v) * 2 + 1
    assert len(nl.compile_times()) == 3
    cos = np.cos(x)  # of an array of NumPy's, too
    assert type(cos) is np.ndarray and len(nl.compile_times()) == 3
    assert np.cos.nin == 1 and np.cos.__name__ == "cos" and "cosine" in np.cos.__doc__.lower()
    assert linalg.norm(v) == np.linalg.norm(v) and "sin" in dir(np)


def test_spec_10_2_changes_in_place_keep_their_object():
    v = np.array(x)
    same_object = v
    v += 1
    v[1:] = 5
    v.sort()
    assert v is same_object and np.asarray(v) is v
    numpy.testing.assert_array_equal(plain(v), [0] + [5] * 6)
    out = np.empty(7)
    assert np.add(v, 1, out=out) is out and out[0] == 1
    first, second = np.empty(7), np.empty(7)
    found = np.divmod(v, 2, first, second)
    assert found[0] is first and found[1] is second and second[1] == 1
    assert np.shares_memory(v[::2], v)


def test_spec_10_2_errors_and_unknown_names_are_numpys():
    with pytest.raises(ValueError, match=r"could not be broadcast together with shapes \(3,\) \(4,\)"):
        np.zeros(3) + np.zeros(4)
    with pytest.raises(IndexError, match="out of bounds"):
        np.zeros(3)[5]
    with pytest.raises(AttributeError):
        np.no_such_function
    with pytest.warns(RuntimeWarning, match="divide by zero encountered in divide"):
        np.ones(3) / np.zeros(3)
    with np.errstate(divide="raise"), pytest.raises(FloatingPointError):
        np.ones(3) / np.zeros(3)


def guide(X, Y):
    return np.sum(X[:, :, None] * Y[:, None, :], axis=(-2, -1))


def test_spec_10_3_the_program_of_the_guide():
    X, Y = np.random.randn(128, 16), np.random.randn(128, 16)
    expected = numpy.sum(plain(X)[:, :, None] * plain(Y)[:, None, :], axis=(-2, -1))
    Z = guide(X, Y)
    assert isinstance(Z, np.ndarray) and Z.shape == (128,)
    assert numpy.allclose(Z, expected)
    assert numpy.allclose(nl.compile(guide)(plain(X), plain(Y)), expected)


def test_spec_10_3_the_report_of_a_fault_says_how_to_send_an_example():
    """The warning of an internal fault, which nothing here can bring about, and the manual say the same."""
    page = (pathlib.Path(__file__).parents[2] / "docs/debugging.md").read_text()
    assert "import numlift.numpy as np" in page and "smallest program" in page
    extension = pathlib.Path(nl._core.__file__).read_bytes()
    assert b"with the smallest program that shows it" in extension and b"`import numlift.numpy as np`" in extension
