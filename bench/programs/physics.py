"""Physics and numerical analysis: bodies, transforms, integrals, curves, detectors."""

import numpy as np

from .program import Program


def accelerations(position, mass, gravity, softening):
    """Newton's law between all pairs at once, softened at short distances."""
    apart = position[None, :, :] - position[:, None, :]
    inverse = (np.sum(apart * apart, axis=2) + softening * softening) ** -1.5
    return gravity * np.sum(apart * (inverse * mass[None, :])[:, :, None], axis=1)


def n_body(steps, position, velocity, mass, dt):
    """Gravitating bodies by kick, drift, kick (Aarseth, Gravitational N-Body Simulations, 2003, chapter 2;
    Verlet, Physical Review 159, 1967)."""
    kinetic = np.zeros(steps)
    force = accelerations(position, mass, 1.0, 0.1)
    for t in range(steps):
        velocity += 0.5 * dt * force
        position += dt * velocity
        force = accelerations(position, mass, 1.0, 0.1)
        velocity += 0.5 * dt * force
        kinetic[t] = 0.5 * np.sum(mass[:, None] * velocity**2)
    return kinetic


def mandelbrot_masks(left, right, bottom, top, width, height, limit):
    """Escape times, the whole picture in each step and masks for what is still inside (Mandelbrot, Annals of
    the New York Academy of Sciences 357, 1980)."""
    x = np.linspace(left, right, width)
    y = np.linspace(bottom, top, height)
    c = x + y[:, None] * 1j
    z = np.zeros_like(c)
    times = np.zeros(c.shape, dtype=np.int64)
    for n in range(limit):
        inside = np.abs(z) < 2.0
        times[inside] = n
        z[inside] = z[inside] ** 2 + c[inside]
    times[times == limit - 1] = 0
    return z, times


def mandelbrot_shrinking(left, right, bottom, top, width, height, limit):
    """Escape times, keeping only the points that have not escaped yet (Mandelbrot 1980)."""
    x = np.linspace(left, right, width)
    y = np.linspace(bottom, top, height)
    c = (x + y[:, None] * 1j).reshape(-1)
    times = np.zeros(c.shape[0], dtype=np.int32)
    index = np.arange(c.shape[0])
    z = np.zeros_like(c)
    for n in range(1, limit + 1):
        z = z * z + c
        escaped = z.real**2 + z.imag**2 > 4.0
        times[index[escaped]] = n
        stay = ~escaped
        if not stay.any():
            break
        index = index[stay]
        z = z[stay]
        c = c[stay]
    return times.reshape(height, width)


def stockham_fft(x):
    """The fast Fourier transform that sorts as it goes, radix two (Stockham 1966, in Van Loan, Computational
    Frameworks for the Fast Fourier Transform, 1992, section 1.7)."""
    n = x.shape[0]
    y = x.copy()
    stride = 1
    while stride < n:
        half = n // (2 * stride)
        upper, lower = y.reshape(2, half, stride)
        twiddle = np.exp(-1j * np.pi * np.arange(half) / half)
        out = np.empty((half, 2, stride), dtype=y.dtype)
        out[:, 0, :] = upper + lower
        out[:, 1, :] = (upper - lower) * twiddle[:, None]
        y = out.reshape(n)
        stride *= 2
    return y


def contour_integral(a, probe, centre, radius, nodes):
    """Moments of the resolvent around a circle, for the eigenvalues inside it (Sakurai and Sugiura, Journal of
    Computational and Applied Mathematics 159, 2003)."""
    n = a.shape[0]
    identity = np.eye(n)
    first = np.zeros(probe.shape, dtype=np.complex128)
    second = np.zeros(probe.shape, dtype=np.complex128)
    for k in range(nodes):
        turn = np.exp(2j * np.pi * (k + 0.5) / nodes)
        z = centre + radius * turn
        solved = np.linalg.solve(z * identity - a, probe)
        first += radius * turn / nodes * solved
        second += z * radius * turn / nodes * solved
    return first, second


def histogram_loop(values, low, high, bins):
    """Counts in equal bins, one value after the other (Pearson, Philosophical Transactions of the Royal
    Society A 186, 1895)."""
    counts = np.zeros(bins, dtype=np.int64)
    width = (high - low) / bins
    for value in values:
        if low <= value <= high:
            counts[min(int((value - low) / width), bins - 1)] += 1
    return counts


def azimuthal_integration(image, radius, rings):
    """The mean of a detector's image over rings around the beam (Ashiotis et al., Journal of Applied
    Crystallography 48, 2015)."""
    edge = radius.max()
    means = np.zeros(rings)
    for k in range(rings):
        inside = (radius >= edge * k / rings) & (radius < edge * (k + 1) / rings)
        means[k] = image[inside].mean()
    return means


def tendency(x, force):
    return (np.roll(x, -1, axis=1) - np.roll(x, 2, axis=1)) * np.roll(x, 1, axis=1) - x + force


def runge_kutta(steps, x, force, dt):
    """Lorenz's model of 1996 for many starts at once, by the classical fourth-order method (Kutta,
    Zeitschrift fuer Mathematik und Physik 46, 1901)."""
    spread = np.empty(steps)
    for t in range(steps):
        k1 = tendency(x, force)
        k2 = tendency(x + 0.5 * dt * k1, force)
        k3 = tendency(x + 0.5 * dt * k2, force)
        k4 = tendency(x + dt * k3, force)
        x = x + dt / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4)
        spread[t] = x.std()
    return x, spread


def haversine_distances(latitude, longitude, other_latitude, other_longitude):
    """Great-circle distances between all pairs of two sets, in kilometres (Sinnott, Sky and Telescope 68,
    1984)."""
    here, there = np.radians(latitude)[:, None], np.radians(other_latitude)[None, :]
    across = np.radians(other_longitude)[None, :] - np.radians(longitude)[:, None]
    a = np.sin(0.5 * (there - here)) ** 2 + np.cos(here) * np.cos(there) * np.sin(0.5 * across) ** 2
    return 2.0 * 6371.0 * np.arcsin(np.sqrt(a))


def cubic_spline(x, y, points):
    """A natural cubic spline through (x, y), evaluated at many points (de Boor, A Practical Guide to Splines,
    1978, chapter 4)."""
    n = x.shape[0]
    h = x[1:] - x[:-1]
    slope = (y[1:] - y[:-1]) / h
    bend = np.zeros(n)
    pivot = np.zeros(n)
    for i in range(1, n - 1):
        p = 2.0 * (h[i - 1] + h[i]) - h[i - 1] * pivot[i - 1]
        pivot[i] = h[i] / p
        bend[i] = (6.0 * (slope[i] - slope[i - 1]) - h[i - 1] * bend[i - 1]) / p
    for i in range(n - 2, 0, -1):
        bend[i] -= pivot[i] * bend[i + 1]
    k = np.clip(np.searchsorted(x, points) - 1, 0, n - 2)
    t = points - x[k]
    linear = slope[k] - h[k] * (2.0 * bend[k] + bend[k + 1]) / 6.0
    return y[k] + t * (linear + t * (0.5 * bend[k] + t * (bend[k + 1] - bend[k]) / (6.0 * h[k])))


def lennard_jones(position, box):
    """Energy and forces of a Lennard-Jones fluid, a loop over the particles (Allen and Tildesley, Computer
    Simulation of Liquids, 1987, chapter 5)."""
    energy = 0.0
    force = np.zeros_like(position)
    for i in range(position.shape[0] - 1):
        apart = position[i] - position[i + 1 :]
        apart -= box * np.round(apart / box)
        inverse = 1.0 / np.sum(apart * apart, axis=1)
        sixth = inverse**3
        energy += np.sum(4.0 * sixth * (sixth - 1.0))
        pull = (24.0 * inverse * sixth * (2.0 * sixth - 1.0))[:, None] * apart
        force[i] += pull.sum(axis=0)
        force[i + 1 :] -= pull
    return energy, force


def bodies(rng, steps, n):
    return steps, rng.normal(size=(n, 3)), rng.normal(size=(n, 3)), rng.random(n) / n, 0.01


def detector(rng, n, rings):
    y, x = np.mgrid[:n, :n] - 0.5 * (n - 1) + rng.random()
    return rng.random((n, n)), np.hypot(x, y), rings


def lattice(rng, side):
    grid = np.stack(np.meshgrid(*(np.arange(side),) * 3), axis=-1).reshape(-1, 3) * 1.2
    return grid + 0.05 * rng.normal(size=grid.shape), 1.2 * side


def picture(rng, n, limit):
    return -2.25, 0.75, -1.25, 1.25, n, n - n // 8, limit


def earth(rng, n, m):
    return rng.uniform(-90, 90, n), rng.uniform(-180, 180, n), rng.uniform(-90, 90, m), rng.uniform(-180, 180, m)


def curve(rng, n, points):
    x = np.cumsum(rng.random(n) + 0.1)
    return x, rng.normal(size=n), rng.uniform(x[0], x[-1], points)


PROGRAMS = [
    Program(n_body, bodies, (5, 20), (20, 250), (15, 700), changes=("position", "velocity")),
    Program(mandelbrot_masks, picture, (20, 10), (200, 60), (600, 100), peers_differ=0.01),
    Program(mandelbrot_shrinking, picture, (20, 10), (250, 100), (1_000, 200), peers_differ=0.01),
    Program(stockham_fft, lambda rng, power: (rng.normal(size=2**power) + 1j * rng.normal(size=2**power),),
            (6,), (17,), (20,), rtol=1e-8, atol=1e-9),
    Program(contour_integral,
            lambda rng, n, m, nodes: (np.diag(np.linspace(-1.0, 1.0, n)) + 0.1 / n * rng.random((n, n)),
                                      rng.random((n, m)) + 0j, 0.5, 0.31, nodes),
            (10, 3, 4), (120, 20, 16), (300, 30, 20), rtol=1e-6),
    Program(histogram_loop, lambda rng, n, bins: (rng.normal(size=n), -3.0, 3.0, bins), (500, 20), (100_000, 100),
            (1_000_000, 100)),
    Program(azimuthal_integration, detector, (20, 6), (400, 60), (1_200, 200)),
    Program(runge_kutta, lambda rng, steps, n, m: (steps, 8.0 + 0.01 * rng.normal(size=(n, m)), 8.0, 0.01),
            (4, 3, 12), (40, 60, 200), (80, 200, 500), rtol=1e-6),
    Program(haversine_distances, earth, (20, 30), (800, 900), (3_000, 3_500)),
    Program(cubic_spline, curve, (20, 50), (10_000, 200_000), (100_000, 3_000_000)),
    Program(lennard_jones, lattice, (2,), (9,), (15,)),
]
