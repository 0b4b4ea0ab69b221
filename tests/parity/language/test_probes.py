"""Small functions, each with one feature of Python on an array: right compiled, and most in one graph."""

import os
import signal

import numpy as np
import pytest

import probes
from probes import check, line_of, load

# How many of them run in one graph today; it only grows. `python tests/parity/language/probes.py`
# prints those that do not, and why.
IN_ONE_GRAPH = 156

PARAMETERS = [
    pytest.param(
        group,
        probe,
        marks=[pytest.mark.xfail(strict=True, reason=probe.bug)] if probe.bug else [],
        id=probe.name,
    )
    for group, probe in load()
]


@pytest.mark.parametrize("backend", probes.CALLS)
@pytest.mark.parametrize("group, probe", PARAMETERS)
def test_probe(group, probe, backend):
    check(group, probe, backend)


def counted(x, n):
    k = 0
    while k < n:
        x = x + 1
        k += 1
    return x


def test_a_while_loop_that_runs_long():
    group, _ = load()[0]
    right, *_, reason = line_of(group, probes.Probe(counted, (8000,), None))
    assert right, reason


def test_names_are_unique():
    names = [probe.name for _, probe in load()]
    assert len(names) >= 150
    assert len(names) == len(set(names))


def test_count_in_one_graph():
    whole = [probe.name for group, probe in load() if not probe.bug and check(group, probe, "llvm")[0] == 0]
    assert len(whole) >= IN_ONE_GRAPH, f"{len(whole)}: {whole}"


def wrong_result(function):
    return lambda x, *more: (function(x, *more), 1)


def another_dtype(function):
    return lambda x, *more: np.asarray(function(x, *more), dtype="f4")


def argument_changed(function):
    def changed(x, *more):
        result = function(x, *more)
        x[0, 0] += 1
        return result

    return changed


def printed(function):
    def prints(x, *more):
        print("x")
        return function(x, *more)

    return prints


def run_twice(function):
    def twice(x, *more):
        function(x.copy(), *more)
        return function(x, *more)

    return twice


def another_line(function):
    def raises(x, *more):
        try:
            return function(x, *more)
        except Exception as error:
            error.__traceback__ = error.__traceback__.tb_next.tb_next
            raise

    return raises


class Fake:
    """What nl.compile returns, with a fault."""

    entries = []

    class stats:
        compiles = 0

    def __init__(self, function):
        self.function = function

    def __call__(self, *args):
        return self.function(*args)


@pytest.mark.parametrize(
    "fault, name",
    [
        (wrong_result, "for_rows"),
        (another_dtype, "for_range"),
        (argument_changed, "for_range"),
        (printed, "walrus"),
        (run_twice, "global_list_append"),
        (run_twice, "global_write"),
        (run_twice, "warning_given"),
        (another_line, "assert_that_fails"),
    ],
)
def test_a_fault_is_noticed(monkeypatch, fault, name):
    [(group, probe)] = [(g, p) for g, p in load() if p.name == name]
    monkeypatch.setattr(probes.nl, "compile", lambda function, backend: Fake(fault(function)))
    monkeypatch.setattr(probes, "break_count", lambda compiled: 0)
    with pytest.raises(AssertionError):
        check(group, probe, "llvm")


def test_a_crash_is_a_line_of_the_table():
    group, _ = load()[0]
    crash = probes.Probe(lambda x: os.kill(os.getpid(), signal.SIGKILL), (), None)
    right, *_, reason = line_of(group, crash)
    assert not right
    assert reason == "killed by SIGKILL"
