"""Pictures: edges, smoothing, thresholds."""

import numpy as np

from .program import Program


def sobel(image):
    """The size of the gradient (Sobel and Feldman 1968, in Duda and Hart, Pattern Classification and Scene
    Analysis, 1973)."""
    a = image
    across = (a[:-2, 2:] + 2.0 * a[1:-1, 2:] + a[2:, 2:]) - (a[:-2, :-2] + 2.0 * a[1:-1, :-2] + a[2:, :-2])
    down = (a[2:, :-2] + 2.0 * a[2:, 1:-1] + a[2:, 2:]) - (a[:-2, :-2] + 2.0 * a[:-2, 1:-1] + a[:-2, 2:])
    out = np.zeros_like(image)
    out[1:-1, 1:-1] = np.sqrt(across * across + down * down)
    return out


def bilateral_filter(image, reach, spatial, tonal):
    """Smoothing that keeps edges, a loop over the window (Tomasi and Manduchi, IEEE International Conference on
    Computer Vision, 1998)."""
    n, m = image.shape
    wide = np.zeros((n + 2 * reach, m + 2 * reach))
    wide[reach : reach + n, reach : reach + m] = image
    total = np.zeros_like(image)
    weights = np.zeros_like(image)
    for di in range(-reach, reach + 1):
        for dj in range(-reach, reach + 1):
            other = wide[reach + di : reach + di + n, reach + dj : reach + dj + m]
            weight = np.exp(-(di * di + dj * dj) / (2.0 * spatial**2) - (other - image) ** 2 / (2.0 * tonal**2))
            total += weight * other
            weights += weight
    return total / weights


def deriche(image, alpha):
    """A recursive smoothing filter along the rows, forward and backward, all rows at once (Deriche,
    International Journal of Computer Vision 1, 1987)."""
    e = np.exp(-alpha)
    k = (1.0 - e) ** 2 / (1.0 + 2.0 * alpha * e - e * e)
    a0, a1, a2, a3 = k, k * e * (alpha - 1.0), k * e * (alpha + 1.0), -k * e * e
    b1, b2 = 2.0 * e, -e * e
    m = image.shape[1]
    forward = np.zeros_like(image)
    backward = np.zeros_like(image)
    forward[:, 0] = a0 * image[:, 0]
    forward[:, 1] = a0 * image[:, 1] + a1 * image[:, 0] + b1 * forward[:, 0]
    for j in range(2, m):
        forward[:, j] = (a0 * image[:, j] + a1 * image[:, j - 1]
                         + b1 * forward[:, j - 1] + b2 * forward[:, j - 2])
    backward[:, m - 2] = a2 * image[:, m - 1]
    for j in range(m - 3, -1, -1):
        backward[:, j] = (a2 * image[:, j + 1] + a3 * image[:, j + 2]
                          + b1 * backward[:, j + 1] + b2 * backward[:, j + 2])
    return forward + backward


def recursive_smoothing(signal, weight):
    """Exponential smoothing there and back, sample by sample (Brown, Smoothing, Forecasting and Prediction of
    Discrete Time Series, 1963)."""
    out = np.empty_like(signal)
    state = signal[0]
    for i in range(signal.shape[0]):
        state = state + weight * (signal[i] - state)
        out[i] = state
    for i in range(signal.shape[0] - 1, -1, -1):
        state = state + weight * (out[i] - state)
        out[i] = state
    return out


def otsu_threshold(image):
    """The grey level that parts an image best (Otsu, IEEE Transactions on Systems, Man, and Cybernetics 9,
    1979)."""
    counts = np.bincount(image.ravel(), minlength=256)
    share = counts / image.size
    level = np.arange(256)
    below = np.cumsum(share)
    moment = np.cumsum(share * level)
    apart = below * (1.0 - below)
    between = np.zeros(256)
    usable = apart > 1e-12
    between[usable] = (moment[-1] * below[usable] - moment[usable]) ** 2 / apart[usable]
    threshold = int(np.argmax(between))
    return threshold, (image > threshold).astype(np.uint8) * np.uint8(255)


def total_variation(image, steps, weight, rate):
    """Denoising by descent on the smoothed total variation (Rudin, Osher and Fatemi, Physica D 60, 1992)."""
    u = image.copy()
    for _ in range(steps):
        right = np.zeros_like(u)
        down = np.zeros_like(u)
        right[:, :-1] = u[:, 1:] - u[:, :-1]
        down[:-1, :] = u[1:, :] - u[:-1, :]
        size = np.sqrt(right * right + down * down + 1e-6)
        right /= size
        down /= size
        divergence = right + down
        divergence[:, 1:] -= right[:, :-1]
        divergence[1:, :] -= down[:-1, :]
        u += rate * (weight * divergence - (u - image))
    return u


def grey(rng, n):
    both = np.where(rng.random((n, n)) < 0.4, rng.normal(80, 20, (n, n)), rng.normal(170, 25, (n, n)))
    return (np.clip(both, 0, 255).astype(np.uint8),)


PROGRAMS = [
    Program(sobel, lambda rng, n: (rng.random((n, n)),), (20,), (800,), (3_000,)),
    Program(bilateral_filter, lambda rng, n, reach: (rng.random((n, n)), reach, 2.0, 0.2), (12, 1), (150, 4), (500, 6)),
    Program(deriche, lambda rng, n, m: (rng.random((n, m)), 0.25), (10, 20), (480, 640), (2_000, 3_000)),
    Program(recursive_smoothing, lambda rng, n: (rng.normal(size=n), 0.1), (300,), (150_000,), (1_000_000,)),
    Program(otsu_threshold, grey, (20,), (2_500,), (6_000,)),
    Program(total_variation, lambda rng, n, steps: (rng.random((n, n)), steps, 0.1, 0.05), (16, 4), (200, 60), (700, 40)),
]
