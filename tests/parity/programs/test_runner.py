"""The runner of bench/programs: what goes wrong with a program is told in its row, and ends nothing."""

import numpy as np
from bench import programs
from bench.programs import worker
from bench.programs.program import Program

import numlift as nl


def test_a_program_is_checked_and_timed():
    rows = list(programs.run(True, only=["sobel"], sizes=["small"]))
    assert [row["name"] for row in rows] == ["sobel, small"]
    assert rows[0]["correct"] and {"numpy", "numlift"} <= set(rows[0]["seconds"])
    assert all(seconds > 0 for seconds in rows[0]["seconds"].values())
    assert rows[0]["first_call"] > rows[0]["seconds"]["numlift"]


def test_a_process_that_ends_early_is_a_row():
    rows = programs.run_program("no_such_program", ["small", "middle"], ["middle"], ["numba"], 1.0)
    assert [row["size"] for row in rows] == ["small", "middle"]
    assert all("KeyError: 'no_such_program'" in row["failure"] for row in rows)


def test_a_process_that_is_silent_for_too_long_is_a_row(monkeypatch):
    monkeypatch.setattr(programs, "STEP_SECONDS", 0.01)
    rows = programs.run_program("sobel", ["small"], ["small"], [], 1.0)
    assert "over 0.01 s" in rows[0]["failure"]


def plus_one(x):
    x += 1.0
    return x.sum()


def one_row(monkeypatch, compiled):
    monkeypatch.setattr(nl, "compile", lambda function: compiled)
    program = Program(plus_one, lambda rng, n: (rng.random(n),), (3,), (30,), (300,), changes=("x",))
    return worker.run_size(program, "small", [], True, 0.01)


def test_a_wrong_result_is_a_row(monkeypatch):
    row = one_row(monkeypatch, lambda x: (x + 1.0).sum())
    assert row["failure"].startswith("wrong result of the first call: 3 of 3 values differ")
    assert "numlift" not in row["seconds"] and row["seconds"]["numpy"] > 0


def test_another_type_is_a_wrong_result(monkeypatch):
    row = one_row(monkeypatch, lambda x: float(plus_one(x)))
    assert row["failure"] == f"wrong result of the first call: float instead of {np.float64.__name__}"


def test_an_exception_is_a_row(monkeypatch):
    def fails(x):
        raise ValueError("of no use\nto anybody")

    assert one_row(monkeypatch, fails)["failure"] == "ValueError: of no use"


def test_the_summary_tells_what_is_slower():
    def row(name, seconds, **more):
        return {"program": name, "size": "middle", "correct": True, "seconds": seconds, "first_call": 0.01,
                "breaks": 0, **more}

    lines = programs.summary([
        row("fast", {"numlift": 1.0, "numpy": 4.0, "numba": 2.0, "c": 0.5}),
        row("slow", {"numlift": 4.0, "numpy": 1.0, "jax": 2.0}, breaks=3, first_call=0.5),
        {"program": "bad", "size": "middle", "correct": False, "seconds": {"numpy": 1.0}},
    ])
    text = "\n".join(lines)
    assert lines[0] == "middle: 3 programs; not correct: 1 (bad)"
    assert "NumPy's time / numlift's:          1x (2)" in text
    assert "best of numba and jax / numlift's: 1x (2)" in text
    assert "C's time / numlift's:              0.5x (1)" in text
    assert "slower than 0.97 x NumPy: 1 (slow)" in text
    assert "slower than 0.9 x the best peer: 1 (slow)" in text
    assert "most 500 ms (slow)" in text and "without a break: 1 of 2 (50 %)" in text
