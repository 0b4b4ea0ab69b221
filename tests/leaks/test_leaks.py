"""Calls leave nothing behind: references and allocator blocks are constant."""

import gc
import sys

import numpy as np
import pytest

import numlift as nl
from numlift import testing

CALLS = 100_000
A, B = np.arange(8.0), np.ones(8)


def add(a, b):
    return a + b


def pair(a, b):
    return (a + b, [a * b, {"k": a - b}])


def scalar(a, b):
    return (a * b).sum()


def view(a, b):
    return (a + b)[1:5]


def store(a, b):
    c = a + b
    c[2:4] = 1.0
    return c


def defaults(a, b=B, *, scale=2.0):
    return a * scale + b


def variable(*arrays, **named):
    return arrays[0] + arrays[1]


def broken(a, b):
    return a if a.sum() > 0 else b


@pytest.mark.parametrize(
    "function", [add, pair, scalar, view, store, defaults, variable, broken], ids=lambda f: f.__name__
)
def test_calls_leak_neither_references_nor_blocks(function):
    compiled = nl.compile(function)
    for _ in range(100):
        compiled(A, B)
    gc.collect()
    watched = [A, B, A.dtype, function, function.__globals__, np.add, None]
    before = [sys.getrefcount(one) for one in watched[:-1]]
    blocks, objects = testing.memory()["live_blocks"], sys.getallocatedblocks()
    for _ in range(CALLS if function is add else CALLS // 20):
        compiled(A, B)
    gc.collect()
    assert [sys.getrefcount(one) for one in watched[:-1]] == before
    assert testing.memory()["live_blocks"] == blocks
    assert sys.getallocatedblocks() - objects < 200


def test_a_dropped_function_gives_back_its_arguments_and_globals():
    weights = np.ones(8)
    namespace = {"w": weights}
    exec("def f(a):\n    return a * w", namespace)
    before = sys.getrefcount(weights)
    compiled = nl.compile(namespace["f"])
    compiled(A)
    compiled(A)
    assert sys.getrefcount(weights) == before
    del compiled
    gc.collect()
    assert sys.getrefcount(weights) == before


def test_restarts_leak_nothing():
    f = nl.compile(lambda a, b: a / b)
    zeros = np.zeros(8)
    f(A, B)
    blocks = testing.memory()["live_blocks"]
    with np.errstate(all="ignore"):
        f(A, B)
    for _ in range(7):
        with pytest.warns(RuntimeWarning):
            f(A, zeros)
        f(A, B)
    gc.collect()
    assert testing.memory()["live_blocks"] == blocks
    assert f.stats.restarts == 7


def test_big_blocks_are_reused_and_given_back_on_reset():
    f = nl.compile(add)
    big = np.ones(1 << 20)
    first = f(big, big)
    address = first.ctypes.data
    del first
    second = f(big, big)
    assert second.ctypes.data == address
    del second
    assert testing.memory()["kept_bytes"] >= big.nbytes
    nl.reset()
    assert testing.memory()["kept_bytes"] == 0


def test_the_limit_on_kept_memory_holds():
    f = nl.compile(add)
    big = np.ones(1 << 20)
    nl.reset()
    with nl.config.patch(cache_limit_bytes=0):
        f(big, big)
        assert testing.memory()["kept_bytes"] == 0
