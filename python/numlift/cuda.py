"""What this machine has of CUDA, and what numlift does with it."""

import glob
import importlib.util
import os

from . import _core, config

__all__ = ["is_available", "missing", "release_memory", "transfer_count"]


def find_compiler():
    """Lets NVRTC be found where pip puts it, unless config.nvrtc names one or the system has one."""
    if config.nvrtc or not _core.missing_cuda_compiler():
        return
    spec = importlib.util.find_spec("nvidia")
    for folder in spec.submodule_search_locations if spec else ():
        # The wheel of CUDA 13 has one folder for all libraries, older ones a folder each.
        for pattern in ("cu*/lib/libnvrtc.so.*", "cuda_nvrtc/lib/libnvrtc.so.*"):
            found = sorted(glob.glob(os.path.join(folder, pattern)))
            if found:
                config.nvrtc = found[-1]
                return


def missing():
    """Why no program can run on a GPU here: "no CUDA device: ..."; "" when one can."""
    find_compiler()
    return _core.missing_for_cuda()


def is_available():
    """Whether programs can run on a GPU."""
    return not missing()


def transfer_count():
    """Copies between host and device since the start of the process."""
    return _core.cuda_transfer_count()


def release_memory():
    """Gives device memory that is kept for reuse back to the driver."""
    _core.cuda_release_memory()
