"""A driver and a compiler in place of NVIDIA's (fake_cuda.cpp), and how many kernels were tried.

The kernels are compiled for the host by shim.h and run there, so that the whole way of a program to a device
and back is tested on machines without one.
"""

import ctypes
import os
import shutil
import subprocess
from pathlib import Path

import pytest
from device.counts import KERNELS, MISSING

import numlift as nl

HERE = Path(__file__).parent


class FakeCuda:
    """What tests say to the driver: let a function fail, have so much memory; and what it has seen."""

    def __init__(self, path):
        self.path = str(path)
        self.library = ctypes.CDLL(self.path)
        self.library.fake_cuda_used_bytes.restype = ctypes.c_size_t
        self.library.fake_cuda_launches.restype = ctypes.c_int64
        self.library.fake_cuda_kernels_checked.restype = ctypes.c_int64

    def fail(self, symbol, error, good_calls=0):
        self.library.fake_cuda_fail(symbol.encode(), error, good_calls)

    def set_memory(self, count):
        self.library.fake_cuda_set_memory(ctypes.c_size_t(count))

    def reset(self):
        self.library.fake_cuda_reset()

    def used_bytes(self):
        return self.library.fake_cuda_used_bytes()

    def launches(self):
        return self.library.fake_cuda_launches()

    def kernels(self):
        return self.library.fake_cuda_kernels_checked()


@pytest.fixture(scope="session")
def fake_library(tmp_path_factory):
    if not shutil.which("g++"):
        MISSING["shim"] = "no g++"
        pytest.skip("the launch shim needs g++")
    # Compiled modules are kept by content in the build's folder, for the next run.
    build = os.environ.get("NUMLIFT_BUILD")
    folder = Path(build) / "fake-cuda" if build else tmp_path_factory.mktemp("fake-cuda")
    folder.mkdir(parents=True, exist_ok=True)
    path = tmp_path_factory.mktemp("driver") / "fake_cuda.so"
    subprocess.run(
        ["g++", "-std=c++17", "-O2", "-U_FORTIFY_SOURCE", "-shared", "-fPIC", "-fvisibility=hidden"]
        + ["-o", str(path), str(HERE / "fake_cuda.cpp"), "-ldl"],
        check=True,
    )
    os.environ["NUMLIFT_FAKE_CUDA"] = str(folder)
    os.environ["NUMLIFT_FAKE_CUDA_SHIM"] = str(HERE / "shim.h")
    return FakeCuda(path)


@pytest.fixture
def fake_cuda(fake_library):
    """The fake driver, in use for one test."""
    before = fake_library.kernels()
    fake_library.reset()
    with nl.config.patch(cuda_driver=fake_library.path, nvrtc=fake_library.path):
        yield fake_library
        fake_library.reset()
        nl.cuda.release_memory()
    KERNELS["shim"] += fake_library.kernels() - before


def pytest_terminal_summary(terminalreporter):
    if any(KERNELS.values()) or MISSING:
        terminalreporter.write_line(
            f"CUDA: NVRTC compiled {KERNELS['nvrtc']} kernels for sm_80 and sm_90"
            + (f" ({MISSING['nvrtc']})" if "nvrtc" in MISSING else "")
            + f"; the launch shim checked {KERNELS['shim']} against NumPy"
            + (f" ({MISSING['shim']})" if "shim" in MISSING else "")
        )
