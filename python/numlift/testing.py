"""For tests of code that uses numlift."""

from . import _core
from .config import patch


def break_count(compiled):
    """In how many places the last traced call of `compiled` left the graph; a fall back of the whole
    call is one."""
    return _core.break_count(compiled)


def cuda_sources(compiled):
    """The kernels of each compiled piece as CUDA C++, for reading and for NVRTC; "" for what has none. No
    GPU is needed."""
    return _core.cuda_sources(compiled)


def cuda_compiler_messages(kernels, arch):
    """What NVRTC says of such kernels for compute capability `arch` (80, 90): "" when it has neither errors
    nor warnings."""
    return _core.cuda_compiler_messages(kernels, arch)


def strict():
    """Context manager and decorator: an internal error of numlift raises RuntimeError instead of
    letting CPython run the call."""
    return patch(strict=True)


def memory():
    """Blocks that numlift's allocator has handed out (live_blocks) and bytes it keeps (kept_bytes)."""
    return _core.pool_stats()
