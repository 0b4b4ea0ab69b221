"""NUMLIFT_LOGS=perf_hints: what prevented fusion, by the user's lines (Spec 10.6)."""

import logging

import numpy as np
import pytest

import numlift as nl

x = np.linspace(0.0, 3.0, 40)


def changes_in_place(v):
    v[1:] += 1  # here
    return v * 2  # other


def writes_to_out(v):
    out = np.empty(40)
    np.multiply(v, 2, out=out)  # here
    return out[::-1] + v  # other


def changes_what_was_read(v):
    w = np.sqrt(v)  # other
    v[::2] = 0.5  # here
    return w + v


def writes_through_a_mask(v):
    total = v[::-1] * 2  # other
    v[v > 2] = 0.5  # here
    return total + v


def reads_through_a_mask(v):
    w = v * 2
    chosen = w[w > 1]  # here
    return chosen + 1


def loops_while(v):
    count = 0
    while v.sum() < 1000:  # here
        v = v * 2 + 1
        count += 1
    return v, count


def loops(v, count):
    total = 0.0
    for i in range(count):  # here
        v[1:] = v[:-1] * 0.5 + i
        total += v.sum()
    return total


def line_of(function, mark):
    code = function.__code__
    lines = open(code.co_filename).read().splitlines()
    for number in range(code.co_firstlineno, code.co_firstlineno + 10):
        if lines[number - 1].endswith(f"# {mark}"):
            return f"{code.co_filename}:{number}"
    raise AssertionError(mark)


def hints_of(caplog, function, *args):
    compiled = nl.compile(function)
    with nl.config.patch(logs="perf_hints"), caplog.at_level(logging.INFO, logger="numlift.perf_hints"):
        caplog.clear()
        result = compiled(*(np.copy(a) if isinstance(a, np.ndarray) else a for a in args))
    expected = function(*(np.copy(a) if isinstance(a, np.ndarray) else a for a in args))
    for one, other in zip(result, expected) if isinstance(result, tuple) else [(result, expected)]:
        np.testing.assert_allclose(one, other, rtol=1e-13)
    assert {record.name for record in caplog.records} <= {"numlift.perf_hints"}
    return caplog.messages


@pytest.mark.parametrize(
    ("function", "text"),
    [
        (changes_in_place, "the change in place and the work at {other} are two loops"),
        (writes_to_out, "the change in place and the work at {other} are two loops"),
        (changes_what_was_read, "the change in place needs a temporary array for what is computed at {other}"),
        (writes_through_a_mask, "the change in place needs a temporary array for what is computed at {other}"),
        (reads_through_a_mask, "numpy.ndarray.__getitem__ is NumPy's: what comes before and behind it cannot be one loop (of a mask:"),
        (loops_while, "which way this goes hangs on an array's value"),
    ],
)
def test_spec_10_6_what_prevented_fusion_is_told(caplog, function, text):
    if "{other}" in text:
        text = text.format(other=line_of(function, "other"))
    found = [hint for hint in hints_of(caplog, function, x) if f"{line_of(function, 'here')}: {text}" in hint]
    assert len(found) >= 1 and found[0].startswith(function.__name__)
    if function is not loops_while:  # whose rounds are compiled one by one
        assert len(found) == 1


def test_spec_10_6_a_loop_of_several_loops_over_arrays(caplog):
    (hint,) = (h for h in hints_of(caplog, loops, x, 20) if "each round" in h)
    assert hint.startswith(f"loops: {line_of(loops, 'here')}: each round of this loop runs ")


@pytest.mark.parametrize(
    "function",
    [
        lambda v: np.exp(v - v.max()) / np.exp(v - v.max()).sum(),
        lambda v: np.where(v > 1, v, 0) * 2 + v.mean(),
        lambda v: np.sort(v),
    ],
)
def test_where_nothing_is_to_gain_nothing_is_said(caplog, function):
    assert hints_of(caplog, function, x) == []


def test_hints_are_silent_by_default(caplog):
    with caplog.at_level(logging.INFO):
        nl.compile(changes_in_place)(x.copy())
    assert caplog.messages == []
