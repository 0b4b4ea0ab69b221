import numpy as np
from numba import prange


def mandelbrot_masks(left, right, bottom, top, width, height, limit):
    x = np.linspace(left, right, width)
    y = np.linspace(bottom, top, height)
    last = np.zeros((height, width), dtype=np.complex128)
    times = np.zeros((height, width), dtype=np.int64)
    for i in prange(height):
        for j in range(width):
            c = complex(x[j], y[i])
            z = 0j
            for n in range(limit):
                if abs(z) >= 2.0:
                    break
                times[i, j] = n
                z = z * z + c
            last[i, j] = z
            if times[i, j] == limit - 1:
                times[i, j] = 0
    return last, times


def azimuthal_integration(image, radius, rings):
    edge = radius.max()
    total = np.zeros(rings)
    count = np.zeros(rings)
    for i in range(image.shape[0]):
        for j in range(image.shape[1]):
            r = radius[i, j]
            k = min(int(r / edge * rings), rings)
            # Rounding may put a radius at an edge one ring off.
            if r < edge * k / rings:
                k -= 1
            elif r >= edge * (k + 1) / rings:
                k += 1
            if k < rings:
                total[k] += image[i, j]
                count[k] += 1
    return total / count


def tendency(x, force):
    out = np.empty_like(x)
    n, m = x.shape
    for i in prange(n):
        for j in range(m):
            after = j + 1 if j + 1 < m else 0
            out[i, j] = (x[i, after] - x[i, j - 2]) * x[i, j - 1] - x[i, j] + force
    return out


def runge_kutta(steps, x, force, dt):
    spread = np.empty(steps)
    for t in range(steps):
        k1 = tendency(x, force)
        k2 = tendency(x + 0.5 * dt * k1, force)
        k3 = tendency(x + 0.5 * dt * k2, force)
        k4 = tendency(x + dt * k3, force)
        x = x + dt / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4)
        spread[t] = x.std()
    return x, spread


def lennard_jones(position, box):
    n = position.shape[0]
    energy = 0.0
    force = np.zeros_like(position)
    for i in range(n - 1):
        for j in range(i + 1, n):
            dx = position[i, 0] - position[j, 0]
            dy = position[i, 1] - position[j, 1]
            dz = position[i, 2] - position[j, 2]
            dx -= box * np.round(dx / box)
            dy -= box * np.round(dy / box)
            dz -= box * np.round(dz / box)
            inverse = 1.0 / (dx * dx + dy * dy + dz * dz)
            sixth = inverse**3
            energy += 4.0 * sixth * (sixth - 1.0)
            pull = 24.0 * inverse * sixth * (2.0 * sixth - 1.0)
            force[i, 0] += pull * dx
            force[i, 1] += pull * dy
            force[i, 2] += pull * dz
            force[j, 0] -= pull * dx
            force[j, 1] -= pull * dy
            force[j, 2] -= pull * dz
    return energy, force
