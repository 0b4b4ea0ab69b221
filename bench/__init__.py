"""Benchmarks: numlift against NumPy and, when installed, numba and jax, interleaved in one run.

    python -m bench [--quick] [--json FILE] [GROUP ...]

Groups: calls, first_call, kernels, shapes, import_time. Every figure is a ratio of medians taken in the same run.
"""
