"""Benchmarks: numlift against NumPy and, when installed, numba and jax, interleaved in one run.

    python -m bench [--quick] [--json FILE] [GROUP ...]

Groups: calls, breaks, regions, first_call, compile_time, import_time, shapes, kernels, programs. Every figure is a ratio of
medians taken in the same run. programs (`python -m bench programs [--only NAME,...] [--size SIZE,...]
[--peers PEER,...]`) has options and a summary of its own: bench/programs/__init__.py.
"""

import os

# What is compiled is measured as such; the disk cache has a row of its own, with a directory of its own.
os.environ["NUMLIFT_DISK_CACHE"] = "0"
