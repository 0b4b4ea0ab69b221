"""Pure functions of the library on known values, copies, functions chosen by class."""

import copy
import functools
import json
import os.path
import re
import statistics
import struct
import textwrap
import warnings
from fractions import Fraction

import numpy as np
import pytest
from same_call import same

import numlift as nl

x = np.arange(6.0).reshape(2, 3)


def test_pure_functions():
    def f(a):
        m = re.match(r"(\w+)-(\d+)", "rows-3")
        k, n = struct.unpack("<hi", struct.pack("<hi", 2, 5))
        if re.search("z", "abc"):
            a = a + 1000
        return (
            a * int(m.group(2)) + k + n,
            m[1],
            m.groups(),
            m.start(),
            re.findall("o", "foo"),
            re.sub("o", "0", "foo"),
            json.loads(json.dumps({"a": [1, None], "b": {"c": 2.5}})),
            os.path.splitext(os.path.join("a", "b.c")),
            statistics.median([3, 1, 2]),
            textwrap.shorten("one two three", 9),
            float(Fraction(1, 4) + 1),
            Fraction(3, 6).numerator,
            int.from_bytes(b"\x01\x02", "big"),
            float.fromhex("0x1.8p1"),
            "abc".translate(str.maketrans("a", "z")),
            bytes([1, 2]) + bytes.fromhex("03"),
            repr([1, {"a": (2.5, None)}]),
            f"{[1, 'a']} {(2,)!r:>8}",
            hash((1, 2)) == hash((1, 2)),
            format(2.5, ".3f"),
            pow(2, 5, 7),
        )

    same(f, (x,))


def test_results_are_new_in_each_call():
    def f(a):
        made = json.loads('{"a": [1]}')
        made["a"].append(2)
        return a + 1, made

    compiled = nl.compile(f)
    first, second = compiled(x)[1], compiled(x)[1]
    assert first == second == {"a": [1, 2]}
    assert first is not second and first["a"] is not second["a"]


@pytest.mark.parametrize(
    "text",
    [
        "re.compile('(')",
        "struct.unpack('<h', b'1')",
        "json.loads('{')",
        "statistics.mean([])",
        "Fraction(1, 0)",
        "hash([])",
        "bytes([300])",
        "int.from_bytes(b'1', 'middle')",
    ],
)
def test_errors_are_the_functions_own(text):
    scope = {"re": re, "struct": struct, "json": json, "statistics": statistics, "Fraction": Fraction}
    exec(f"def f(a):\n    b = a + 1\n    return b, {text}", scope)
    same(scope["f"], (x,), whole=False)


def test_a_function_that_warns_is_called_by_cpython():
    def f(a):
        b = a + 1
        return b, re.compile("[[a]").pattern

    compiled = nl.compile(f)
    for _ in range(2):
        re.purge()
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            compiled(x)
        assert [w.category for w in caught] == [FutureWarning]


def test_copies():
    def f(a):
        rows = [a, [1, 2], {"k": a}]
        flat, deep = copy.copy(rows), copy.deepcopy(rows)
        rows[1].append(3)
        same_tuple = (1, (2, "a"))
        return (
            copy.copy(a) * 2,
            flat[1],
            deep[1],
            deep[0] is deep[2]["k"],
            deep[0] is a,
            flat[0] is a,
            copy.copy({1, 2}),
            copy.deepcopy(({"q": 1}, 2))[0],
            copy.deepcopy(2.5),
            copy.copy("a"),
            copy.deepcopy(same_tuple) == same_tuple,
            copy.copy(len) is len,
        )

    same(f, (x,))
    same(lambda a: copy.copy(a) + copy.deepcopy(a), (np.asfortranarray(x),))
    same(lambda a, rows: (a * 2, copy.copy(rows), copy.deepcopy([rows])), (x, [1, [2]]), whole=None)


def test_copy_of_a_list_that_holds_itself():
    def f(a):
        cycle = [a * 2]
        cycle.append(cycle)
        ring = copy.deepcopy(cycle)
        return ring[1] is ring, ring[0]

    same(f, (x,), whole=False)


@functools.singledispatch
def kind(v):
    return "other"


@kind.register
def _(v: int):
    return "int"


@kind.register(np.ndarray)
def _(v):
    return v * 3


@kind.register(tuple)
def _(v):
    return kind(v[0])


def test_functions_chosen_by_class():
    same(lambda a: (kind(a), kind(3), kind("s"), kind(True), kind((a, 1))), (x,))


def test_a_function_registered_later_is_seen():
    def f(a):
        return a + 1, kind(2.5)

    compiled = nl.compile(f)
    assert compiled(x)[1] == "other"
    kind.register(float, lambda v: "float")
    try:
        assert compiled(x)[1] == "float"
        kind.register(float, lambda v: "again")
        assert compiled(x)[1] == "again"
    finally:
        kind.register(float, kind.dispatch(object))


def test_a_function_registered_inside():
    # The search for the function filled the cache that the trace had just seen to be empty.
    def f(a):
        @functools.singledispatch
        def shape(obj):
            return "base"

        shape.register(int, lambda number: number + 1)
        return a + 1, shape("s"), shape(1), shape([1])

    same(f, (x,), whole=False)
