from numba import prange


def channel_flow(u, force, h, dt, nu, tolerance, limit):
    n, m = u.shape
    steps = 0
    change = 1.0
    while change > tolerance and steps < limit:
        old = u.copy()
        moved = 0.0
        total = 0.0
        for i in prange(n):
            for j in range(m):
                value = 0.0
                if 0 < i < n - 1:
                    here, west, east = old[i, j], old[i, j - 1], old[i, (j + 1) % m]
                    value = (here - dt / h * here * (here - west)
                             + nu * dt / h**2 * (east + west + old[i + 1, j] + old[i - 1, j] - 4.0 * here) + dt * force)
                u[i, j] = value
                moved += abs(value - old[i, j])
                total += abs(value)
        change = moved / total
        steps += 1
    return steps
