"""How many kernels a test run has tried, for its summary."""

KERNELS = {"nvrtc": 0, "shim": 0}
# Why one of them was left out.
MISSING = {}
