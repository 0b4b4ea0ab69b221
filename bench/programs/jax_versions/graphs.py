import jax
import jax.numpy as jnp
from jax import lax


def spmv_csr(start, column, value, x):
    count = start.shape[0] - 1
    row = jnp.repeat(jnp.arange(count), jnp.diff(start), total_repeat_length=column.shape[0])
    return jax.ops.segment_sum(value * x[column], row, count, indices_are_sorted=True)


def page_rank(source, target, pages, damping, tolerance, limit):
    links = jnp.bincount(source, length=pages)
    dangling = links == 0
    share = 1.0 / jnp.maximum(links, 1)

    def go_on(state):
        _, change, step = state
        return (step < limit) & (change >= tolerance)

    def step(state):
        rank, _, step = state
        arriving = jax.ops.segment_sum((rank * share)[source], target, pages)
        lost = jnp.where(dangling, rank, 0.0).sum()
        new = (1.0 - damping) / pages + damping * (arriving + lost / pages)
        return new, jnp.abs(new - rank).sum(), step + 1

    rank, _, steps = lax.while_loop(go_on, step, (jnp.full(pages, 1.0 / pages), jnp.inf, 0))
    return rank, steps


def conjugate_gradient_grid(f, tolerance, limit):
    def go_on(state):
        *_, rr, steps = state
        return (rr > tolerance) & (steps < limit)

    def step(state):
        x, r, p, rr, steps = state
        wide = jnp.pad(p, 1)
        ap = 4.0 * p - wide[:-2, 1:-1] - wide[2:, 1:-1] - wide[1:-1, :-2] - wide[1:-1, 2:]
        alpha = rr / jnp.sum(p * ap)
        x, r = x + alpha * p, r - alpha * ap
        new = jnp.sum(r * r)
        return x, r, r + new / rr * p, new, steps + 1

    x, *_, steps = lax.while_loop(go_on, step, (jnp.zeros_like(f), f, f, jnp.sum(f * f), 0))
    return x, steps
