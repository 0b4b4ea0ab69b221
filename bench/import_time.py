"""What importing numlift adds to importing NumPy."""

from .measure import in_fresh_processes

SCRIPT = """
import time
import numpy
start = time.perf_counter()
import {module}
print(time.perf_counter() - start)
"""


def run(quick):
    modules = {"numlift": "numlift", "numba": "numba", "jax": "jax"}
    scripts = {name: SCRIPT.format(module=module) for name, module in modules.items()}
    seconds = {k: v for k, v in in_fresh_processes(scripts, 3 if quick else 9).items() if v is not None}
    return [{"name": "import, beyond NumPy", "seconds": seconds, "target": "< 60 ms",
             "met": seconds["numlift"] < 0.060}]
