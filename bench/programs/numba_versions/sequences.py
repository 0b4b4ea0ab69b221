import numpy as np
from numba import prange


def viterbi(observed, start, transition, emission):
    steps, states = observed.shape[0], start.shape[0]
    log_transition = np.log(transition).T.copy()
    log_emission = np.log(emission)
    score = np.log(start) + log_emission[:, observed[0]]
    back = np.zeros((steps, states), dtype=np.int64)
    for t in range(1, steps):
        new = np.empty_like(score)
        for j in prange(states):
            best = 0
            most = score[0] + log_transition[j, 0]
            for i in range(1, states):
                value = score[i] + log_transition[j, i]
                if value > most:
                    most = value
                    best = i
            back[t, j] = best
            new[j] = most + log_emission[j, observed[t]]
        score = new
    path = np.zeros(steps, dtype=np.int64)
    path[-1] = np.argmax(score)
    for t in range(steps - 1, 0, -1):
        path[t - 1] = back[t, path[t]]
    return path, np.max(score)


def time_warp(a, b):
    n, m = a.shape[0], b.shape[0]
    before = np.full(m + 1, np.inf)
    before[0] = 0.0
    for i in range(n):
        row = np.full(m + 1, np.inf)
        for j in range(m):
            row[j + 1] = abs(a[i] - b[j]) + min(before[j + 1], row[j], before[j])
        before = row
    return before[m]
