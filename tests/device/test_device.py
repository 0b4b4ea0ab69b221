"""numlift.device: where functions run, what is copied, and what is said when the device fails."""

import os
import subprocess
import sys

import numpy as np
import pytest

import numlift as nl


def outer_sum(X, Y):
    return np.sum(X[:, :, None] * Y[:, None, :], axis=(-2, -1))


@pytest.fixture
def xy(rng):
    return rng.standard_normal((64, 24)), rng.standard_normal((64, 24))


def test_a_block_runs_on_the_device_and_gives_ndarrays(fake_cuda, xy):
    """Spec 9.1, with the driver of the tests: copied there, run, copied back."""
    compiled = nl.compile(outer_sum)
    with nl.device("cuda"):
        launches, transfers = fake_cuda.launches(), nl.cuda.transfer_count()
        result = compiled(*xy)
    assert type(result) is np.ndarray
    np.testing.assert_allclose(result, outer_sum(*xy), rtol=1e-10)
    assert fake_cuda.launches() > launches
    # Two arrays there, the result and the program's status back.
    assert nl.cuda.transfer_count() - transfers == 4


def test_the_device_is_a_guard(fake_cuda, xy):
    """Spec 9.2: code for each device, and none is made anew."""
    compiled = nl.compile(outer_sum)
    compiled(*xy)
    before = compiled.stats.compiles
    with nl.device("cuda"):
        compiled(*xy)
        assert compiled.stats.compiles == before + 1
        with nl.device("cpu"):
            launches = fake_cuda.launches()
            compiled(*xy)
            assert fake_cuda.launches() == launches
        compiled(*xy)
        assert fake_cuda.launches() > launches
    launches = fake_cuda.launches()
    compiled(*xy)
    assert fake_cuda.launches() == launches
    assert compiled.stats.compiles == before + 1


def test_without_a_device_the_block_raises():
    with nl.config.patch(cuda_driver="/nowhere/libcuda.so"):
        with pytest.raises(RuntimeError, match="^no CUDA device: /nowhere/libcuda.so, .* is not installed$"):
            with nl.device("cuda"):
                pytest.fail("the block was entered")
        with pytest.raises(RuntimeError, match="^no CUDA device"):
            nl.compile(outer_sum, backend="cuda")(np.ones((2, 2)), np.ones((2, 2)))
        assert not nl.cuda.is_available()


def test_unknown_devices_and_other_types():
    with pytest.raises(ValueError, match="unknown device 'gpu'; the devices are 'cpu', 'cuda'"):
        nl.device("gpu")
    with pytest.raises(TypeError, match="a device is named by a str, not int"):
        nl.device(0)


def test_a_machine_with_a_driver_and_no_gpu(fake_cuda):
    fake_cuda.fail("cuDeviceGetCount", 100)
    with pytest.raises(RuntimeError, match="no CUDA device: NVIDIA's driver finds no GPU"):
        with nl.device("cuda"):
            pass
    fake_cuda.fail("cuInit", 999)
    with pytest.raises(RuntimeError, match="no CUDA device: NVIDIA's driver answers with error 999"):
        with nl.device("cuda"):
            pass


def shift(x):
    x += 1.0
    return np.exp(x) * 2.0


# Every function of the driver that a run calls, with errors that it can give.
@pytest.mark.parametrize(
    ("symbol", "error", "text"),
    [
        ("cuMemAlloc_v2", 2, "the GPU's memory is full.*cuMemAlloc of .* bytes.*CUDA_ERROR_OUT_OF_MEMORY"),
        ("cuMemcpyHtoDAsync_v2", 700, "read or written where it must not: cuMemcpyHtoDAsync"),
        ("cuMemsetD8Async", 719, "a kernel has failed: cuMemsetD8Async"),
        ("cuLaunchKernel", 719, "a kernel has failed: cuLaunchKernel failed with CUDA_ERROR_LAUNCH_FAILED"),
        ("cuLaunchKernel", 999, "the GPU does not answer any more"),
        ("cuStreamSynchronize", 700, "read or written where it must not: cuStreamSynchronize"),
        ("cuMemcpyDtoHAsync_v2", 999, "the GPU does not answer any more"),
        ("cuCtxSetCurrent", 1, "cuCtxSetCurrent failed with CUDA_ERROR_INVALID_VALUE"),
    ],
)
def test_errors_of_the_driver_name_the_users_line(fake_cuda, symbol, error, text):
    compiled = nl.compile(shift, backend="cuda")
    x = np.linspace(0.0, 1.0, 1000)
    expected = shift(x.copy())
    np.testing.assert_allclose(compiled(x.copy()), expected, rtol=1e-14)
    nl.cuda.release_memory()
    fake_cuda.fail(symbol, error)
    y = x.copy()
    with pytest.raises(RuntimeError, match=text) as raised:
        compiled(y)
    if symbol != "cuCtxSetCurrent":
        line = shift.__code__.co_firstlineno
        assert f"{__file__}:{line + 1} in shift" in str(raised.value) or f":{line + 2} in shift" in str(
            raised.value
        )
    # Nothing has happened to the caller's array, and the next call is as good as any.
    np.testing.assert_array_equal(y, x)
    fake_cuda.reset()
    np.testing.assert_allclose(compiled(y), expected, rtol=1e-14)


@pytest.mark.parametrize("symbol", ["cuModuleLoadData", "cuModuleGetFunction", "nvrtcCompileProgram"])
def test_errors_while_code_is_made(fake_cuda, symbol):
    compiled = nl.compile(lambda x: np.cos(x) + x, backend="cuda")
    fake_cuda.fail(symbol, 200)
    with pytest.raises(RuntimeError, match="CUDA|NVRTC"):
        compiled(np.ones(3))
    fake_cuda.reset()
    np.testing.assert_allclose(compiled(np.ones(3)), np.cos(1.0) + 1.0)


def test_a_full_device_gives_up_what_it_keeps(fake_cuda):
    compiled = nl.compile(lambda x: np.sin(x) + 1.0, backend="cuda")
    compiled(np.ones(500_000))
    assert fake_cuda.used_bytes() > 8_000_000
    # Room for the next two arrays, or for what is kept.
    fake_cuda.set_memory(13_000_000)
    np.testing.assert_allclose(compiled(np.ones(700_000))[-1], np.sin(1.0) + 1.0)
    fake_cuda.set_memory(1000)
    nl.cuda.release_memory()
    with pytest.raises(RuntimeError, match="the GPU's memory is full"):
        compiled(np.ones(900_000))


def test_memory_is_used_again(fake_cuda):
    compiled = nl.compile(lambda x: np.sin(x) + 1.0, backend="cuda")
    compiled(np.ones(100_000))
    used = fake_cuda.used_bytes()
    for _ in range(5):
        compiled(np.ones(100_000))
    assert fake_cuda.used_bytes() == used


@pytest.mark.filterwarnings("error")
def test_what_numpy_warns_of_runs_in_numpy(fake_cuda):
    compiled = nl.compile(lambda x: 1.0 / x, backend="cuda")
    compiled(np.ones(10))
    with pytest.raises(RuntimeWarning, match="divide by zero"):
        compiled(np.zeros(10))


def test_stores_to_views_write_their_elements_only(fake_cuda):
    def both(a, b):
        a *= 2.0
        b += 100.0
        return a.sum() + b.sum()

    def call(function):
        base = np.arange(20.0)
        return base, function(base[::2], base[1::2])

    base, total = call(nl.compile(both, backend="cuda"))
    expected, expected_total = call(both)
    np.testing.assert_array_equal(base, expected)
    assert total == expected_total


def test_arrays_whose_elements_are_not_aligned(fake_cuda):
    raw = np.zeros(8 * 10 + 1, np.uint8)
    x = raw[1:].view(np.float64)
    x[...] = np.arange(10.0)
    compiled = nl.compile(lambda x: x * 2.0 + 1.0, backend="cuda")
    np.testing.assert_array_equal(compiled(x), np.arange(10.0) * 2.0 + 1.0)


def test_what_the_device_cannot_do_runs_on_the_host(fake_cuda):
    compiled = nl.compile(lambda a, b: np.tanh(a @ b) + 1.0, backend="cuda")
    a, b = np.random.default_rng(1).standard_normal((2, 30, 30))
    np.testing.assert_allclose(compiled(a, b), np.tanh(a @ b) + 1.0, rtol=0, atol=1e-14)


def test_a_break_in_a_block(fake_cuda, capsys):
    def broken(X, Y):
        product = X[:, :, None] * Y[:, None, :]
        print("oops, a graph break!")
        return np.sum(product, axis=(-2, -1))

    X, Y = np.random.default_rng(2).standard_normal((2, 16, 8))
    with nl.device("cuda"):
        compiled = nl.compile(broken)
        launches = fake_cuda.launches()
        result = compiled(X, Y)
        assert fake_cuda.launches() >= launches + 2
    assert capsys.readouterr().out == "oops, a graph break!\n"
    np.testing.assert_allclose(result, outer_sum(X, Y), rtol=1e-10)


def test_a_dry_run_prints_what_would_run():
    """Spec 8.3: the CUDA C++, too."""
    code = """
import numlift as nl, numpy as np
@nl.compile
def f(x):
    return np.sin(x) * 2.0
f(np.ones(5))
"""
    environment = {**os.environ, "NUMLIFT_CUDA_DRYRUN": "1", "NUMLIFT_LOGS": "output_code"}
    run = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert "__global__ void" in run.stderr
    assert "nl_sin(" in run.stderr
    environment["NUMLIFT_CUDA_DRYRUN"] = "0"
    run = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert "__global__" not in run.stderr
