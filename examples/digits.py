"""Handwritten digits (1,797 images of 8 x 8 pixels, shipped with scikit-learn): five NumPy functions
as people write them, run plain and with @nl.compile, compared and timed.

The data are repeated to the size of a small training set, so that the work is worth timing.
"""

import logging
import statistics
import time

import numpy as np
from rich.console import Console
from rich.table import Table
from sklearn.datasets import load_digits

import numlift as nl
import numlift.testing

# Largest difference allowed between plain and compiled, relative to the largest result. Elementwise
# arithmetic is bit-identical; exp and the order of sums are not (docs/design.md, Numerics).
TOLERANCE = 1e-12


def pca_step(X, v):
    """One step of power iteration towards the first principal component. (n, d), (d,) -> (d,)"""
    centred = X - X.mean(axis=0)
    w = centred.T @ (centred @ v)
    return w / np.sqrt(np.sum(w * w))


def softmax_loss(X, labels, W, b):
    """Mean cross entropy of softmax regression. (n, d), (n, k) one-hot, (d, k), (k,) -> scalar"""
    logits = X @ W + b
    shifted = logits - logits.max(axis=1, keepdims=True)
    log_sum = np.log(np.sum(np.exp(shifted), axis=1, keepdims=True))
    return -np.mean(np.sum(labels * (shifted - log_sum), axis=1))


def pairwise_distances(A, B):
    """Euclidean distances of all pairs of rows. (n, d), (m, d) -> (n, m)"""
    return np.sqrt(np.sum((A[:, None, :] - B[None, :, :]) ** 2, axis=-1))


def kmeans_assign(X, centres):
    """Index of the nearest centre of each row. (n, d), (k, d) -> (n,)"""
    return np.argmin(np.sum((X[:, None, :] - centres[None, :, :]) ** 2, axis=2), axis=1)


def edge_filter(images):
    """Gradient magnitude by Sobel's operator, squashed to (0, 1). (n, h, w) -> (n, h-2, w-2)"""
    left, right = images[:, :, :-2], images[:, :, 2:]
    gx = (right[:, :-2] - left[:, :-2]) + 2 * (right[:, 1:-1] - left[:, 1:-1]) + (right[:, 2:] - left[:, 2:])
    top, bottom = images[:, :-2, :], images[:, 2:, :]
    gy = (bottom[:, :, :-2] - top[:, :, :-2]) + 2 * (bottom[:, :, 1:-1] - top[:, :, 1:-1]) + (bottom[:, :, 2:] - top[:, :, 2:])
    return np.tanh(np.sqrt(gx * gx + gy * gy) / 16.0)


def cases():
    digits = load_digits()
    X = np.tile(digits.data, (8, 1))
    images = np.tile(digits.images, (8, 1, 1))
    labels = np.eye(10)[np.tile(digits.target, 8)]
    rng = np.random.default_rng(0)
    W, b = rng.normal(scale=0.1, size=(64, 10)), np.zeros(10)
    yield pca_step, (X, rng.normal(size=64))
    yield softmax_loss, (X, labels, W, b)
    yield pairwise_distances, (digits.data[:600], digits.data[600:1200])
    yield kmeans_assign, (X, digits.data[:10].copy())
    yield edge_filter, (images,)


def milliseconds(function, args, repeat=7):
    times = []
    for _ in range(repeat):
        start = time.perf_counter()
        function(*args)
        times.append((time.perf_counter() - start) * 1e3)
    return statistics.median(times)


def kernel_text(function, args):
    """The loop nests made for this call, as NUMLIFT_LOGS=output_code shows them (without the LLVM IR)."""
    texts = []

    class Collect(logging.Handler):
        def emit(self, record):
            texts.append(record.getMessage().split("; ModuleID")[0])

    logger, handler = logging.getLogger("numlift.output_code"), Collect()
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    try:
        with nl.config.patch(logs="output_code"):
            nl.compile(function)(*args)
    finally:
        logger.removeHandler(handler)
    return "".join(texts)


def largest_difference(expected, got):
    assert type(expected) is type(got), f"{type(got)}, not {type(expected)}"
    expected, got = np.asarray(expected), np.asarray(got)
    assert expected.dtype == got.dtype and expected.shape == got.shape
    return float(np.max(np.abs(expected.astype(float) - got.astype(float))) / max(1.0, np.max(np.abs(expected))))


def main():
    console = Console(width=110)
    table = Table(title=f"Digits: plain NumPy against @nl.compile, {nl.get_num_threads()} threads")
    for name in ("function", "graphs", "compile ms", "NumPy ms", "compiled ms", "speed-up", "largest difference"):
        table.add_column(name, justify="left" if name == "function" else "right")
    worst = 0.0
    for function, args in cases():
        compiled = nl.compile(function)
        difference = largest_difference(function(*args), compiled(*args))
        worst = max(worst, difference)
        plain_ms, compiled_ms = milliseconds(function, args), milliseconds(compiled, args)
        entry = compiled.entries[0] if compiled.entries else None
        table.add_row(
            function.__name__,
            str(len(compiled.entries)) if numlift.testing.break_count(compiled) == 0 else "0 (CPython)",
            f"{sum(entry.compile_ms.values()):.1f}" if entry else "-",
            f"{plain_ms:.2f}", f"{compiled_ms:.2f}", f"{plain_ms / compiled_ms:.1f}x", f"{difference:.1e}",
        )
        if function is pairwise_distances:
            shown = kernel_text(function, args)
    console.print(table)
    console.print(f"Tolerance {TOLERANCE:.0e}: largest difference {worst:.1e} of the largest result.")
    console.print(f"\nThe kernel made for {pairwise_distances.__name__}:\n")
    print(shown)
    if worst > TOLERANCE:
        raise SystemExit("a difference exceeds the tolerance")
