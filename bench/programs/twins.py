"""The twins of scalar programs in C, compiled when they are asked for with the system's compiler."""

import ctypes
import os
import pathlib
import shutil
import subprocess
import tempfile

import numpy as np

SOURCE = pathlib.Path(__file__).with_name("twins.c")
INTEGER, REAL = ctypes.c_int64, ctypes.c_double


def build():
    """The compiled twins, or None and why not."""
    compiler = shutil.which(os.environ.get("CC") or "cc")
    if not compiler:
        return None, "no C compiler"
    with tempfile.TemporaryDirectory(prefix="numlift-twins-") as folder:
        library = os.path.join(folder, "twins.so")
        command = [compiler, "-O3", "-march=native", "-shared", "-fPIC", "-o", library, str(SOURCE), "-lm"]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            return None, f"{compiler} failed: {done.stderr.strip().splitlines()[-1]}"
        return ctypes.CDLL(library), None  # stays loaded when the file is gone


def _data(array):
    assert array.flags.c_contiguous
    return ctypes.c_void_p(array.ctypes.data)


def seidel_2d(library, steps, a):
    library.seidel_2d(INTEGER(steps), _data(a), INTEGER(a.shape[0]), INTEGER(a.shape[1]))


def gauss_seidel_rows(library, steps, u, f, h):
    n, m = u.shape
    library.gauss_seidel_rows(INTEGER(steps), _data(u), _data(f), REAL(h), INTEGER(n), INTEGER(m))


def smith_waterman(library, first, second, match, mismatch, gap):
    n, m = first.shape[0], second.shape[0]
    score, best = np.empty((n + 1, m + 1), dtype=np.int64), np.empty(3, dtype=np.int64)
    library.smith_waterman(_data(first), INTEGER(n), _data(second), INTEGER(m), INTEGER(match), INTEGER(mismatch),
                           INTEGER(gap), _data(score), _data(best))
    return score, *best.tolist()


def nussinov(library, sequence):
    n = sequence.shape[0]
    table = np.empty((n, n), dtype=np.int64)
    library.nussinov(_data(sequence), INTEGER(n), _data(table))
    return table


def crc16(library, data, polynomial):
    library.crc16.restype = INTEGER
    return library.crc16(_data(data), INTEGER(data.shape[0]), INTEGER(polynomial))


def deriche(library, image, alpha):
    out = np.empty_like(image)
    library.deriche(_data(image), INTEGER(image.shape[0]), INTEGER(image.shape[1]), REAL(alpha), _data(out))
    return out


def recursive_smoothing(library, signal, weight):
    out = np.empty_like(signal)
    library.recursive_smoothing(_data(signal), INTEGER(signal.shape[0]), REAL(weight), _data(out))
    return out


def histogram_loop(library, values, low, high, bins):
    counts = np.empty(bins, dtype=np.int64)
    library.histogram_loop(_data(values), INTEGER(values.shape[0]), REAL(low), REAL(high), INTEGER(bins), _data(counts))
    return counts


def spmv_csr(library, start, column, value, x):
    y = np.empty(start.shape[0] - 1)
    library.spmv_csr(_data(start), _data(column), _data(value), _data(x), INTEGER(y.shape[0]), _data(y))
    return y
