"""`python -m bench.device`: the whole-array expressions of bench.kernels on a GPU, beside cupy and torch.

numlift copies its arrays there and back in each call, as NumPy programs need it; so does torch.compile with NumPy
arrays. cupy is timed on arrays that are on the device already, and with the copies.
"""

import importlib.util
import sys

import numlift as nl

from .kernels import cases
from .measure import per_call_seconds


def with_cupy(function, args):
    import cupy

    there = [cupy.asarray(arg) for arg in args]

    def resident():
        function(*there)
        cupy.cuda.get_current_stream().synchronize()

    return resident, lambda: cupy.asnumpy(function(*[cupy.asarray(arg) for arg in args]))


def with_torch(function, args):
    import torch

    compiled = torch.compile(function)

    def call():
        with torch.device("cuda"):
            return compiled(*args)

    return call


def columns(function, args):
    on_cpu, on_gpu = nl.compile(function), nl.compile(function, backend="cuda")
    yield "numpy", lambda: function(*args)
    yield "numlift, CPU", lambda: on_cpu(*args)
    yield "numlift, GPU", lambda: on_gpu(*args)
    if importlib.util.find_spec("cupy"):
        resident, copied = with_cupy(function, args)
        yield "cupy, with copies", copied
        yield "cupy, on the device", resident
    if importlib.util.find_spec("torch"):
        yield "torch, with copies", with_torch(function, args)


def main():
    if why := nl.cuda.missing():
        sys.exit(why)
    for name, function, args, _ in cases(quick=True):
        print(name)
        for column, call in columns(function, args):
            try:
                seconds = per_call_seconds({"call": call}, repetitions=5)["call"]
                print(f"  {column:22} {1e3 * seconds:10.3f} ms")
            except Exception as error:  # a peer's trouble is its line in the table
                print(f"  {column:22} {type(error).__name__}: {error}")


if __name__ == "__main__":
    main()
