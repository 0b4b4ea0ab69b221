import jax.numpy as jnp
from jax import lax


def normal_cdf(x):
    t = 1.0 / (1.0 + 0.2316419 * jnp.abs(x))
    poly = t * (0.319381530 + t * (-0.356563782 + t * (1.781477937 + t * (-1.821255978 + t * 1.330274429))))
    tail = 0.3989422804014327 * jnp.exp(-0.5 * x * x) * poly
    return jnp.where(x >= 0.0, 1.0 - tail, tail)


def black_scholes(spot, strike, time, rate, volatility):
    root = volatility * jnp.sqrt(time)
    d1 = (jnp.log(spot / strike) + (rate + 0.5 * volatility * volatility) * time) / root
    d2 = d1 - root
    discounted = strike * jnp.exp(-rate * time)
    return (spot * normal_cdf(d1) - discounted * normal_cdf(d2),
            discounted * normal_cdf(-d2) - spot * normal_cdf(-d1))


def binomial_tree(spot, strike, rate, volatility, years, steps):
    dt = years / steps
    up, discount = jnp.exp(volatility * jnp.sqrt(dt)), jnp.exp(-rate * dt)
    p = (1.0 / discount - 1.0 / up) / (up - 1.0 / up)
    index = jnp.arange(steps + 1)
    value = jnp.maximum(strike[:, None] - spot * up ** (2.0 * index - steps), 0.0)

    def back(i, value):
        # All of the last level's width: what lies beyond this level's is never read again.
        n = steps - 1 - i
        held = discount * (p * jnp.roll(value, -1, axis=1) + (1.0 - p) * value)
        return jnp.maximum(held, strike[:, None] - spot * up ** (2.0 * index - n))

    return lax.fori_loop(0, steps, back, value)[:, 0]


def kalman_filter(measured, transition, observation, noise, error, x, p):
    identity = jnp.eye(x.shape[0])

    def step(state, measurement):
        x, p, likelihood = state
        x = transition @ x
        p = transition @ p @ transition.T + noise
        innovation = measurement - observation @ x
        s = observation @ p @ observation.T + error
        gain = p @ observation.T @ jnp.linalg.inv(s)
        x = x + gain @ innovation
        p = (identity - gain @ observation) @ p
        likelihood -= 0.5 * (innovation @ jnp.linalg.solve(s, innovation) + jnp.log(jnp.linalg.det(s)))
        return (x, p, likelihood), x

    (_, _, likelihood), track = lax.scan(step, (x, p, 0.0), measured)
    return track, likelihood
