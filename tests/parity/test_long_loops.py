"""Captured loops let signals and other threads in."""

import signal
import threading
import time

import numpy as np
import pytest

import numlift as nl


@nl.compile
def count_up(x, n):
    for i in range(n):
        x[0] = x[0] + 1.0
    return x


@nl.compile
def count_rows(x, n):
    for _ in range(n):
        for j in range(x.shape[0]):
            x[j] = x[j] + 1.0
    return x


@nl.compile
def never_ends(x):
    while x[0] >= 0.0:
        x[0] = x[0] + 1.0
    return x


class Alarm(Exception):
    pass


def ring(signum, frame):
    raise Alarm


@pytest.mark.parametrize("function, arguments", [
    (count_up, (10**13,)), (count_rows, (10**12,)), (never_ends, ())])
def test_a_signal_ends_a_long_loop(function, arguments):
    function(np.zeros(8), *(3 for _ in arguments)) if arguments else None
    x = np.zeros(8)
    if function is never_ends:
        x[0] = -1.0
        function(x)  # compiled for no iteration at all
        x[0] = 0.0
    before = signal.signal(signal.SIGALRM, ring)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.3)
        start = time.perf_counter()
        with pytest.raises(Alarm):
            function(x, *arguments)
        elapsed = time.perf_counter() - start
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert elapsed < 1.0  # 0.35 on a quiet machine
    assert x[0] > 2e6  # what was done until then stays done; CPython would not have come so far
    if function is count_rows:
        assert x.max() == x.min()  # whole iterations of the outer loop


def test_other_threads_run_meanwhile():
    count_up(np.zeros(8), 3)
    ticks = []
    stop = threading.Event()

    def tick():
        while not stop.is_set():
            ticks.append(time.perf_counter())
            time.sleep(0.005)

    thread = threading.Thread(target=tick)
    x = np.zeros(8)
    thread.start()
    try:
        count_up(x, 3 * 10**8)
    finally:
        stop.set()
        thread.join()
    assert x[0] == 3e8
    assert len(ticks) > 10


def test_nan_in_a_loop_is_no_warning_and_infinity_from_finite_numbers_is(recwarn):
    @nl.compile
    def product(x):
        y = np.float64(1.0)
        for i in range(len(x)):
            y = y * x[i]
        return y

    def plain(x):
        y = np.float64(1.0)
        for i in range(len(x)):
            y = y * x[i]
        return y

    many = np.linspace(0.5, 2.0, 100)
    assert product(many) == plain(many)
    assert not recwarn.list
    many[50] = np.nan
    assert np.isnan(product(many))
    assert not recwarn.list
    many[50] = np.inf
    assert product(many) == np.inf
    assert not recwarn.list
    many[50] = 1e308
    many[51] = 1e308
    assert product(many) == np.inf
    assert [str(w.message) for w in recwarn.list] == [
        "overflow encountered in scalar multiply"]
