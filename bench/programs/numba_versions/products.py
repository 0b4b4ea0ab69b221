import numpy as np
from numba import prange


def column_means(data):
    n, m = data.shape
    mean = np.zeros(m)
    for i in range(n):
        for j in range(m):
            mean[j] += data[i, j]
    return mean / n


def covariance(data):
    centred = data - column_means(data)
    return centred.T @ centred / (data.shape[0] - 1.0)


def correlation(data):
    n, m = data.shape
    scaled = data - column_means(data)
    deviation = np.sqrt(column_means(scaled * scaled))
    for j in prange(m):
        if deviation[j] <= 0.1:
            deviation[j] = 1.0
    scaled = scaled / (np.sqrt(n) * deviation)
    out = scaled.T @ scaled
    for j in range(m):
        out[j, j] = 1.0
    return out
