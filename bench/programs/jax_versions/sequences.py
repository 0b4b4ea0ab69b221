import jax.numpy as jnp
from jax import lax


def floyd_warshall(path):
    return lax.fori_loop(0, path.shape[0], lambda k, path: jnp.minimum(path, path[:, k, None] + path[k]), path)


def smith_waterman(first, second, match, mismatch, gap):
    m = second.shape[0]

    def row(above, letter):
        same = jnp.where(second == letter, match, mismatch)
        open_ended = jnp.maximum(jnp.maximum(above[:-1] + same, above[1:] - gap), 0)
        # Gaps along the row cost gap each: a running maximum in slanted values.
        slant = gap * jnp.arange(1, m + 1)
        scores = jnp.concatenate([jnp.zeros(1, above.dtype), lax.cummax(open_ended + slant) - slant])
        return scores, scores

    zero = jnp.zeros(m + 1, dtype=jnp.int64)
    _, rows = lax.scan(row, zero, first)
    score = jnp.concatenate([zero[None], rows])
    at = jnp.argmax(score)
    return score, score.ravel()[at], at // (m + 1), at % (m + 1)


def crc16(data, polynomial):
    def byte(crc, value):
        crc = crc ^ (value.astype(jnp.int32) << 8)
        for _ in range(8):
            shifted = (crc << 1) & 0xFFFF
            crc = jnp.where(crc & 0x8000, shifted ^ polynomial, shifted)
        return crc, None

    return lax.scan(byte, jnp.int32(0xFFFF), data)[0]


def viterbi(observed, start, transition, emission):
    log_transition, log_emission = jnp.log(transition), jnp.log(emission)

    def forward(score, symbol):
        candidates = score[:, None] + log_transition
        return jnp.max(candidates, axis=0) + log_emission[:, symbol], jnp.argmax(candidates, axis=0)

    score, back = lax.scan(forward, jnp.log(start) + log_emission[:, observed[0]], observed[1:])
    last = jnp.argmax(score)

    def backward(state, pointers):
        return pointers[state], pointers[state]

    _, before = lax.scan(backward, last, back, reverse=True)
    return jnp.append(before, last), jnp.max(score)
