import numpy as np
from numba import prange


def ising_checkerboard(sweeps, spins, beta, rng):
    n, m = spins.shape
    magnetisation = np.empty(sweeps)
    for sweep in range(sweeps):
        for colour in range(2):
            drawn = rng.random((n, m))
            for i in prange(n):
                for j in range((i + colour) % 2, m, 2):
                    field = (spins[i - 1, j] + spins[(i + 1) % n, j] + spins[i, j - 1] + spins[i, (j + 1) % m])
                    up = 1.0 / (1.0 + np.exp(-2.0 * beta * field))
                    spins[i, j] = 1 if drawn[i, j] < up else -1
        magnetisation[sweep] = spins.mean()
    return magnetisation
