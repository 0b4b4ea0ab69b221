"""The first call of a function: tracing, compiling and running it, in a fresh process."""

import tempfile

from .measure import in_fresh_processes

COMMON = """
import time, warnings
warnings.simplefilter("ignore")
import numpy as np
x = np.linspace(0.0, 1.0, 1000); y = np.linspace(1.0, 2.0, 1000)
def f(x, y):
    return np.sin(x) ** 2 + np.cos(x) ** 2 * y
"""
SCRIPTS = {
    "numlift": COMMON + """
import numlift as nl
f = nl.compile(f)
start = time.perf_counter(); f(x, y); print(time.perf_counter() - start)
""",
    "numba": COMMON + """
import numba
f = numba.njit(f)
start = time.perf_counter(); f(x, y); print(time.perf_counter() - start)
""",
    "jax": COMMON + """
import jax, jax.numpy as np
jax.config.update("jax_enable_x64", True)
f = jax.jit(f)
start = time.perf_counter(); f(x, y).block_until_ready(); print(time.perf_counter() - start)
""",
}

# The same in a process that finds the code on disk; {directory} is what an earlier one has filled.
FROM_DISK = """
import os
os.environ["NUMLIFT_DISK_CACHE"] = "1"
os.environ["NUMLIFT_CACHE_DIR"] = {directory!r}
""" + SCRIPTS["numlift"]
CHECK = """
assert [one["from_disk"] for one in nl.compile_times()] == [True]
"""


def second_process(repetitions):
    with tempfile.TemporaryDirectory() as directory:
        script = FROM_DISK.format(directory=directory)
        in_fresh_processes({"fill": script}, 1)
        seconds = in_fresh_processes({"numlift": script + CHECK, "compiling": SCRIPTS["numlift"]}, repetitions)
    met = seconds["numlift"] is not None and seconds["numlift"] < seconds["compiling"] / 2
    return {"name": "the same in a second process", "seconds": seconds,
            "target": "from the disk cache, < 1/2 of compiling", "met": met}


def run(quick):
    seconds = {k: v for k, v in in_fresh_processes(SCRIPTS, 3 if quick else 9).items() if v is not None}
    met = seconds["numlift"] < 0.040
    met = met and seconds["numlift"] < seconds.get("numba", 10) / 20
    met = met and seconds["numlift"] < seconds.get("jax", 10) / 2
    return [{"name": "first call of sin(x)**2+cos(x)**2*y", "seconds": seconds,
             "target": "< 40 ms, < 1/20 of numba, < 1/2 of jax", "met": met},
            second_process(5 if quick else 9)]
