"""Whole programs on the device: what they leave behind is what plain Python and NumPy leave behind."""

import re

import pytest
from bench.programs.catalogue import all_programs
from bench.programs.program import difference
from device.counts import KERNELS, MISSING

import numlift as nl
from numlift import testing

PROGRAMS = all_programs()


@pytest.fixture(params=PROGRAMS.values(), ids=PROGRAMS)
def program(request):
    return request.param


def test_on_the_device_gives_what_numpy_gives(program, fake_cuda):
    args, untouched = program.inputs("small"), program.inputs("small")
    expected = program.outcome_of(program.function, args)
    compiled = nl.compile(program.function, backend="cuda")
    for _ in range(2):
        assert difference(expected, program.outcome_of(compiled, args), program.rtol, program.atol) is None
    assert difference(untouched, args, 0.0, 0.0) is None


def test_nvrtc_compiles_every_kernel(program):
    nl.cuda.find_compiler()
    if why := nl._core.missing_cuda_compiler():
        MISSING["nvrtc"] = "it was not found"
        pytest.skip(why)
    compiled = nl.compile(program.function)
    program.outcome_of(compiled, program.inputs("small"))
    for source in testing.cuda_sources(compiled):
        if "__global__" not in source:
            continue
        for arch in (80, 90):
            assert testing.cuda_compiler_messages(source, arch) == ""
        KERNELS["nvrtc"] += len(re.findall("__global__", source))
