"""The first call of a function: tracing, compiling and running it, in a fresh process."""

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


def run(quick):
    seconds = {k: v for k, v in in_fresh_processes(SCRIPTS, 3 if quick else 9).items() if v is not None}
    met = seconds["numlift"] < 0.040
    met = met and seconds["numlift"] < seconds.get("numba", 10) / 20
    met = met and seconds["numlift"] < seconds.get("jax", 10) / 2
    return [{"name": "first call of sin(x)**2+cos(x)**2*y", "seconds": seconds,
             "target": "< 40 ms, < 1/20 of numba, < 1/2 of jax", "met": met}]
