"""Programs whose own source numba does not compile, as its users write them: loops, and prange where
iterations are independent (which counts under parallel=True only). Not decorated: the runner compiles them.
"""
