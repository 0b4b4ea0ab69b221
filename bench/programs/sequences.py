"""Sequences, paths and tables: dynamic programming and its kin, mostly scalar loops."""

import numpy as np

from .program import Program


def floyd_warshall(path):
    """All shortest paths, in place (Floyd, Communications of the ACM 5, 1962; Warshall, Journal of the ACM 9,
    1962)."""
    for k in range(path.shape[0]):
        path[:] = np.minimum(path, path[:, k : k + 1] + path[k])


def smith_waterman(first, second, match, mismatch, gap):
    """The best local alignment of two sequences and where it ends (Smith and Waterman, Journal of Molecular
    Biology 147, 1981)."""
    n, m = first.shape[0], second.shape[0]
    score = np.zeros((n + 1, m + 1), dtype=np.int64)
    best = 0
    end_first = 0
    end_second = 0
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            same = match if first[i - 1] == second[j - 1] else mismatch
            value = max(0, score[i - 1, j - 1] + same, score[i - 1, j] - gap, score[i, j - 1] - gap)
            score[i, j] = value
            if value > best:
                best = value
                end_first = i
                end_second = j
    return score, int(best), end_first, end_second


def nussinov(sequence):
    """The largest number of base pairs of a folded RNA (Nussinov and Jacobson, Proceedings of the National
    Academy of Sciences 77, 1980)."""
    n = sequence.shape[0]
    table = np.zeros((n, n), dtype=np.int64)
    for i in range(n - 1, -1, -1):
        for j in range(i + 1, n):
            best = max(table[i, j - 1], table[i + 1, j])
            pair = 1 if sequence[i] + sequence[j] == 3 else 0
            if i < j - 1:
                best = max(best, table[i + 1, j - 1] + pair)
            for k in range(i + 1, j):
                best = max(best, table[i, k] + table[k + 1, j])
            table[i, j] = best
    return table


def crc16(data, polynomial):
    """A checksum of a message, bit by bit (Peterson and Brown, Proceedings of the IRE 49, 1961)."""
    crc = 0xFFFF
    for byte in data:
        crc ^= int(byte) << 8
        for _ in range(8):
            if crc & 0x8000:
                crc = ((crc << 1) ^ polynomial) & 0xFFFF
            else:
                crc = (crc << 1) & 0xFFFF
    return crc


def viterbi(observed, start, transition, emission):
    """The likeliest path through a hidden Markov model, in logarithms (Viterbi, IEEE Transactions on
    Information Theory 13, 1967)."""
    steps, states = observed.shape[0], start.shape[0]
    log_transition = np.log(transition)
    log_emission = np.log(emission)
    score = np.log(start) + log_emission[:, observed[0]]
    back = np.zeros((steps, states), dtype=np.int64)
    for t in range(1, steps):
        candidates = score[:, None] + log_transition
        back[t] = np.argmax(candidates, axis=0)
        score = np.max(candidates, axis=0) + log_emission[:, observed[t]]
    path = np.zeros(steps, dtype=np.int64)
    path[-1] = np.argmax(score)
    for t in range(steps - 1, 0, -1):
        path[t - 1] = back[t, path[t]]
    return path, np.max(score)


def time_warp(a, b):
    """The cost of the best warping of one series onto another, diagonal after diagonal (Sakoe and Chiba, IEEE
    Transactions on Acoustics, Speech, and Signal Processing 26, 1978)."""
    n, m = a.shape[0], b.shape[0]
    cost = np.full((n + 1, m + 1), np.inf)
    cost[0, 0] = 0.0
    for d in range(2, n + m + 1):
        i = np.arange(max(1, d - m), min(n, d - 1) + 1)
        j = d - i
        here = np.abs(a[i - 1] - b[j - 1])
        cost[i, j] = here + np.minimum(np.minimum(cost[i - 1, j], cost[i, j - 1]), cost[i - 1, j - 1])
    return cost[n, m]


def distances(rng, n):
    path = rng.integers(1, 100, (n, n)).astype(np.float64)
    path[rng.random((n, n)) < 0.7] = 1e6
    np.fill_diagonal(path, 0.0)
    return (path,)


def stochastic(rng, *shape):
    rows = rng.random(shape) + 0.01
    return rows / rows.sum(axis=-1, keepdims=True)


def hidden_markov(rng, steps, states, symbols):
    return (rng.integers(0, symbols, steps), stochastic(rng, states), stochastic(rng, states, states),
            stochastic(rng, states, symbols))


PROGRAMS = [
    Program(floyd_warshall, distances, (20,), (200,), (600,), changes=("path",)),
    Program(smith_waterman, lambda rng, n: (rng.integers(0, 4, n), rng.integers(0, 4, n), 3, -2, 1),
            (20,), (220,), (750,)),
    Program(nussinov, lambda rng, n: (rng.integers(0, 4, n),), (14,), (70,), (160,)),
    Program(crc16, lambda rng, n: (rng.integers(0, 256, n, dtype=np.uint8), 0x1021), (200,), (50_000,), (700_000,)),
    Program(viterbi, hidden_markov, (20, 5, 6), (1_500, 60, 30), (6_000, 150, 50)),
    Program(time_warp, lambda rng, n: (rng.random(n), rng.random(n)), (20,), (600,), (3_000,)),
]
