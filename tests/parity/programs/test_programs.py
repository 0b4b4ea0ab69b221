"""Whole programs (bench/programs): compiled they leave behind what plain Python and NumPy leave behind."""

import shutil

import numpy as np
import pytest
from bench.programs import twins
from bench.programs.catalogue import all_programs
from bench.programs.program import SIZES, difference

import numlift as nl

PROGRAMS = all_programs()


@pytest.fixture(params=PROGRAMS.values(), ids=PROGRAMS)
def program(request):
    return request.param


def test_compiled_gives_what_numpy_gives(program):
    args, untouched = program.inputs("small"), program.inputs("small")
    expected = program.outcome_of(program.function, args)
    compiled = nl.compile(program.function)
    for _ in range(2):
        assert difference(expected, program.outcome_of(compiled, args), program.rtol, program.atol) is None
    # Nothing is changed but what the program names: all calls share the rest.
    assert difference(untouched, args, 0.0, 0.0) is None


def test_programs_name_a_source_and_grow(program):
    text = program.function.__doc__
    assert any(str(year) in text for year in range(1880, 2026)), "no publication is named"
    sizes = [getattr(program, size) for size in SIZES]
    assert len({len(size) for size in sizes}) == 1
    for smaller, larger in zip(sizes, sizes[1:]):
        assert smaller != larger


def test_differences_are_found():
    a = np.arange(3.0)
    for other in (a.astype(np.float32), a[:, None], a + 1e-5, a.tolist(), None, (a,)):
        assert difference(a, other, 1e-10, 1e-12)
    assert difference((a, 1), (a.copy(), 1), 1e-10, 1e-12) is None
    assert difference((a, 1), (a, 2), 1e-10, 1e-12)
    assert difference(1, np.int64(1), 1e-10, 1e-12)
    assert difference(np.array([np.nan, 1.0]), np.array([np.nan, 1.0]), 1e-10, 1e-12) is None
    drawn, fresh = np.random.default_rng(1), np.random.default_rng(1)
    assert difference(fresh, drawn, 0.0, 0.0) is None
    drawn.random()
    assert difference(fresh, drawn, 0.0, 0.0)


@pytest.mark.skipif(not shutil.which("cc"), reason="no C compiler")
def test_c_twins_do_the_same_work():
    library, why_not = twins.build()
    assert library is not None, why_not
    twinned = [program for name, program in PROGRAMS.items() if hasattr(twins, name)]
    assert len(twinned) >= 4
    for program in twinned:
        args = program.inputs("small")
        expected = program.outcome_of(program.function, args)
        actual = program.outcome_of(lambda *args, p=program: getattr(twins, p.name)(library, *args), args)
        assert difference(expected, actual, program.rtol, program.atol) is None, program.name
