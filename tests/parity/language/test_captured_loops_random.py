"""Random generators draw inside the program: the same numbers, in the same order, and the same state behind."""

import copy

import numpy as np
import pytest

import numlift as nl
from numlift.testing import break_count


def draws(function, *args, breaks=0):
    for backend in ("eager", "llvm"):
        compiled = nl.compile(function, backend=backend)
        ours, theirs = copy.deepcopy(args), copy.deepcopy(args)
        for _ in range(2):
            np.testing.assert_allclose(compiled(*ours), function(*theirs), rtol=1e-14)
            for mine, other in zip(ours, theirs):
                if isinstance(mine, np.random.Generator):
                    assert mine.bit_generator.state == other.bit_generator.state
        if breaks is not None:
            assert break_count(compiled) == breaks
    return compiled


def rng(seed=1):
    return np.random.default_rng(seed)


def test_draws_in_a_loop():
    def f(rng, n, m):
        total = np.zeros(m)
        for _ in range(n):
            total += rng.standard_normal(m) * rng.random()
        return total + rng.integers(0, 10, m)

    compiled = draws(f, rng(), 12, 20)
    # Another generator is no other program.
    compiled(rng(5), 12, 20)
    assert len(compiled.entries) == 1


@pytest.mark.parametrize(
    "method, args",
    [
        ("random", ()),
        ("random", (7,)),
        ("random", ((3, 4), np.float32)),
        ("standard_normal", ((2, 3),)),
        ("normal", (1.0, 2.0)),
        ("normal", (1.0, 2.0, 9)),
        ("uniform", (-1.0, 1.0, (4,))),
        ("integers", (100,)),
        ("integers", (0, 100, 6)),
        ("exponential", (2.0, 5)),
        ("poisson", (3.0, 5)),
        ("binomial", (10, 0.5, 4)),
        ("gamma", (2.0, 1.0, 4)),
    ],
)
def test_methods(method, args):
    def f(rng, x):
        return x.sum() + getattr(rng, method)(*args)

    draws(f, rng(), np.arange(4.0))


def test_a_size_by_keyword_and_parameters_that_are_arrays():
    def f(rng, x, n):
        s = 0.0
        for i in range(n):
            s += rng.normal(x, 1.0).sum() + rng.uniform(size=i + 1).sum() + rng.normal(scale=2.0, size=(2, n)).max()
        return s

    draws(f, rng(), np.arange(4.0), 12)


def test_a_program_that_restarts_has_drawn_nothing():
    def f(rng, x, n):
        total = 0.0
        for i in range(n):
            x[i] = rng.random()
            total += x[i]
        return total

    for n in (12, 20, 25):
        plain, ours = rng(), rng()
        x, y = np.zeros(20), np.zeros(20)
        compiled = nl.compile(f)
        compiled(rng(), np.zeros(20), 12)
        try:
            f(plain, x, n)
        except IndexError as error:
            with pytest.raises(IndexError, match=str(error)):
                compiled(ours, y, n)
        else:
            compiled(ours, y, n)
        assert plain.bit_generator.state == ours.bit_generator.state
        np.testing.assert_array_equal(x, y)


def test_arguments_that_numpy_refuses():
    def f(rng, x, n):
        for i in range(n):
            x[i] = rng.normal(0.0, 5.0 - i)
        return x

    plain, ours = rng(), rng()
    x, y = np.zeros(20), np.zeros(20)
    with pytest.raises(ValueError):
        f(plain, x, 20)
    with pytest.raises(ValueError):
        nl.compile(f)(ours, y, 20)
    assert plain.bit_generator.state == ours.bit_generator.state
    np.testing.assert_array_equal(x, y)


def test_two_generators_and_one_by_two_names():
    def f(a, b, n):
        s = np.zeros(3)
        for _ in range(n):
            s = s * 0.5 + a.random(3) - b.random(3)
        return s

    draws(f, rng(1), rng(2), 12)
    shared = rng(3)
    draws(f, shared, shared, 12)


def test_a_generator_made_inside_and_one_of_an_object():
    class Walk:
        def __init__(self, seed):
            self.rng = np.random.default_rng(seed)

    def f(walk, n):
        x = np.zeros(4)
        for _ in range(n):
            x = x + walk.rng.standard_normal(4)
        return x

    a, b = Walk(1), Walk(1)
    np.testing.assert_array_equal(nl.compile(f)(a, 12), f(b, 12))
    assert a.rng.bit_generator.state == b.rng.bit_generator.state

    def g(seed, n):
        rng = np.random.default_rng(seed)
        x = np.zeros(4)
        for _ in range(n):
            x = x + rng.standard_normal(4)
        return x

    draws(g, 7, 12, breaks=None)


# ---- permutations and choices


def test_permutations():
    def f(rng, x, n):
        total = np.zeros(len(x))
        for i in range(n):
            p = rng.permutation(len(x))
            total += x[p] * i
            total += rng.permutation(x)
        return total

    draws(f, rng(), np.arange(9.0), 12)


def test_choices():
    def f(rng, x, n):
        total = np.zeros(5)
        for i in range(n):
            total += rng.choice(x, 5) + x[rng.choice(len(x), size=5)] * i
            total[0] += rng.choice(x)
            total[1] += rng.choice(7)
            total += rng.choice(x, size=5, replace=False)
        return total

    draws(f, rng(), np.arange(9.0), 12)


@pytest.mark.parametrize("make", [lambda x: x, lambda x: x[::2], lambda x: x[::-1], lambda x: x.astype(np.int32)])
def test_shuffles(make):
    def f(rng, x, n):
        s = 0.0
        for i in range(n):
            rng.shuffle(x)
            s += x[0] * i
        return s, x

    for backend in ("eager", "llvm"):
        compiled = nl.compile(f, backend=backend)
        ours, theirs = (rng(), make(np.arange(20.0)), 15), (rng(), make(np.arange(20.0)), 15)
        for _ in range(2):
            got, expected = compiled(*ours), f(*theirs)
            assert got[0] == expected[0] and (got[1] == expected[1]).all() and got[1] is ours[1]
            assert ours[0].bit_generator.state == theirs[0].bit_generator.state
        assert break_count(compiled) == 0


@pytest.mark.parametrize("size", [0, 1, 2, 33])
def test_sizes_of_what_is_permuted(size):
    def f(rng, x):
        rng.shuffle(x)
        return rng.permutation(x) + x

    draws(f, rng(), np.arange(float(size)), breaks=0 if size else None)


def test_matrices_are_shuffled_by_numpy():
    def f(rng, x):
        rng.shuffle(x)
        return x + rng.permutation(x, axis=1)

    draws(f, rng(), np.arange(12.0).reshape(4, 3), breaks=None)
