"""On a real GPU: the same programs as on the fake one. Run by tools/gpu_check.sh; elsewhere skipped."""

import numpy as np
import pytest
from bench.programs.catalogue import all_programs
from bench.programs.program import difference

import numlift as nl

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not nl.cuda.is_available(), reason=nl.cuda.missing() or "a GPU"),
]

PROGRAMS = all_programs()


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_programs_give_what_numpy_gives(program):
    args = program.inputs("small")
    expected = program.outcome_of(program.function, args)
    compiled = nl.compile(program.function, backend="cuda")
    for _ in range(2):
        # Elementary functions are others' than the CPU's: the programs carry their rounding on.
        rtol = max(program.rtol, 1e-9)
        assert difference(expected, program.outcome_of(compiled, args), rtol, program.atol) is None


def test_sums_are_the_same_every_time():
    compiled = nl.compile(lambda x: (x.sum(), x.sum(axis=0), x.sum(axis=1)), backend="cuda")
    x = np.random.default_rng(1).standard_normal((1000, 777))
    first = compiled(x)
    np.testing.assert_allclose(first[0], x.sum(), rtol=1e-12)
    for _ in range(3):
        for one, other in zip(first, compiled(x)):
            np.testing.assert_array_equal(one, other)


def test_elementary_functions():
    x = np.linspace(-3.0, 3.0, 10_001)
    for function in (np.sin, np.cos, np.tan, np.exp, np.expm1, np.sinh, np.cosh, np.tanh, np.arctan, np.cbrt):
        compiled = nl.compile(lambda x, f=function: f(x), backend="cuda")
        np.testing.assert_array_max_ulp(compiled(x), function(x), maxulp=8)
