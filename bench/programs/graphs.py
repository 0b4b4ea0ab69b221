"""Sparse matrices and graphs: gathers, scatters, rows of different length."""

import numpy as np

from .program import Program


def spmv_csr(start, column, value, x):
    """A sparse matrix times a vector, row by row (Saad, Iterative Methods for Sparse Linear Systems, 2003,
    section 3.4: the CSR format)."""
    y = np.zeros(start.shape[0] - 1, dtype=value.dtype)
    for i in range(y.shape[0]):
        row = slice(start[i], start[i + 1])
        y[i] = value[row] @ x[column[row]]
    return y


def page_rank(source, target, pages, damping, tolerance, limit):
    """The power iteration for the ranks of linked pages (Page, Brin, Motwani and Winograd, The PageRank
    Citation Ranking, 1999)."""
    links = np.bincount(source, minlength=pages)
    dangling = links == 0
    share = 1.0 / np.maximum(links, 1)
    rank = np.full(pages, 1.0 / pages)
    for step in range(limit):
        given = rank * share
        arriving = np.bincount(target, weights=given[source], minlength=pages)
        lost = rank[dangling].sum()
        new = (1.0 - damping) / pages + damping * (arriving + lost / pages)
        change = np.abs(new - rank).sum()
        rank = new
        if change < tolerance:
            break
    return rank, step + 1


def conjugate_gradient_grid(f, tolerance, limit):
    """Conjugate gradients for Poisson's equation, the matrix being a stencil (Saad 2003, section 6.7)."""
    x = np.zeros_like(f)
    r = f.copy()
    p = np.zeros((f.shape[0] + 2, f.shape[1] + 2))
    p[1:-1, 1:-1] = r
    rr = np.sum(r * r)
    steps = 0
    while rr > tolerance and steps < limit:
        inner = p[1:-1, 1:-1]
        ap = 4.0 * inner - p[:-2, 1:-1] - p[2:, 1:-1] - p[1:-1, :-2] - p[1:-1, 2:]
        alpha = rr / np.sum(inner * ap)
        x += alpha * inner
        r -= alpha * ap
        new = np.sum(r * r)
        p[1:-1, 1:-1] = r + new / rr * inner
        rr = new
        steps += 1
    return x, steps


def breadth_first(start, neighbour, root):
    """Distances in links from one node, a frontier at a time (Moore, Proceedings of the International Symposium
    on the Theory of Switching, 1959)."""
    nodes = start.shape[0] - 1
    distance = np.full(nodes, -1, dtype=np.int64)
    distance[root] = 0
    frontier = np.array([root])
    level = 0
    while frontier.size:
        level += 1
        found = np.zeros(nodes, dtype=np.bool_)
        for node in frontier:
            found[neighbour[start[node] : start[node + 1]]] = True
        frontier = np.flatnonzero(found & (distance < 0))
        distance[frontier] = level
    return distance


def sparse_rows(rng, n, average):
    length = rng.integers(1, 2 * average, n)
    start = np.concatenate([[0], np.cumsum(length)])
    return start, rng.integers(0, n, start[-1])


def sparse_matrix(rng, n, average):
    start, column = sparse_rows(rng, n, average)
    return start, column, rng.random(start[-1]), rng.random(n)


def web(rng, pages, links):
    target = (pages * rng.random(links) ** 3).astype(np.int64)
    return rng.integers(0, pages - 1, links), target, pages, 0.85, 1e-10, 60


PROGRAMS = [
    Program(spmv_csr, sparse_matrix, (40, 5), (20_000, 12), (300_000, 12)),
    Program(page_rank, web, (20, 60), (50_000, 200_000), (500_000, 2_000_000)),
    Program(conjugate_gradient_grid, lambda rng, n, limit: (rng.random((n, n)), 1e-12, limit), (10, 30), (120, 300),
            (400, 400), rtol=1e-6),
    Program(breadth_first, lambda rng, n, average: (*sparse_rows(rng, n, average), 0), (40, 3), (30_000, 4),
            (300_000, 4)),
]
