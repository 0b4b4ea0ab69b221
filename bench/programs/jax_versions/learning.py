import jax
import jax.numpy as jnp
from jax import lax


def k_means(points, centres, rounds):
    k = centres.shape[0]

    def step(_, state):
        centres, _ = state
        distance = jnp.sum((points[:, None, :] - centres[None, :, :]) ** 2, axis=2)
        label = jnp.argmin(distance, axis=1)
        count = jnp.bincount(label, length=k)[:, None]
        total = jax.ops.segment_sum(points, label, k)
        return jnp.where(count > 0, total / jnp.maximum(count, 1), centres), label

    return lax.fori_loop(0, rounds, step, (centres, jnp.zeros(points.shape[0], jnp.int64)))


def principal_components(data, start, components, rounds):
    centred = data - data.mean(axis=0)

    def component(matrix, _):
        def power(_, v):
            v = matrix @ v
            return v / jnp.linalg.norm(v)

        v = lax.fori_loop(0, rounds, power, start / jnp.linalg.norm(start))
        value = v @ matrix @ v
        return matrix - value * jnp.outer(v, v), (value, v)

    return lax.scan(component, centred.T @ centred / (data.shape[0] - 1), length=components)[1]


def logistic_regression(features, target, rate, penalty, rounds):
    def loss(parameters):
        weights, bias = parameters
        score = features @ weights + bias
        return jnp.mean(jnp.logaddexp(0.0, score) - target * score)

    def step(parameters, _):
        value, (weights, bias) = jax.value_and_grad(loss)(parameters)
        old_weights, old_bias = parameters
        return (old_weights - rate * (weights + penalty * old_weights), old_bias - rate * bias), value

    (weights, bias), losses = lax.scan(step, (jnp.zeros(features.shape[1]), 0.0), length=rounds)
    return weights, bias, losses


def softmax(x):
    return jax.nn.softmax(x, axis=-1)


def mlp_forward(x, w1, b1, w2, b2, w3, b3):
    x = jax.nn.relu(x @ w1 + b1)
    x = jax.nn.relu(x @ w2 + b2)
    return softmax(x @ w3 + b3)


def convolution(images, weights, padding="VALID"):
    return lax.conv_general_dilated(images, weights, (1, 1), padding, dimension_numbers=("NHWC", "HWIO", "NHWC"))


def max_pool(x):
    return lax.reduce_window(x, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")


def lenet(images, conv1, bias1, conv2, bias2, w1, b1, w2, b2):
    x = max_pool(jax.nn.relu(convolution(images, conv1) + bias1))
    x = max_pool(jax.nn.relu(convolution(x, conv2) + bias2))
    x = x.reshape(x.shape[0], -1)
    return jax.nn.relu(x @ w1 + b1) @ w2 + b2


def batch_norm(x):
    mean = jnp.mean(x, axis=(0, 1, 2), keepdims=True)
    return (x - mean) / jnp.sqrt(jnp.var(x, axis=(0, 1, 2), keepdims=True) + 1e-5)


def resnet_block(x, conv1, conv2, conv3):
    y = jax.nn.relu(batch_norm(convolution(x, conv1, "SAME")))
    y = jax.nn.relu(batch_norm(convolution(y, conv2, "SAME")))
    return jax.nn.relu(batch_norm(convolution(y, conv3, "SAME")) + x)


def layer_norm(x, gain, bias):
    mean = x.mean(axis=-1, keepdims=True)
    variance = ((x - mean) ** 2).mean(axis=-1, keepdims=True)
    return gain * (x - mean) / jnp.sqrt(variance + 1e-5) + bias


def attention(x, wq, wk, wv, wo, heads):
    length, width = x.shape
    each = width // heads
    q, k, v = ((x @ w).reshape(length, heads, each).transpose(1, 0, 2) for w in (wq, wk, wv))
    score = q @ k.transpose(0, 2, 1) / each**0.5
    score = jnp.where(jnp.triu(jnp.ones((length, length), bool), 1), -1e9, score)
    return (softmax(score) @ v).transpose(1, 0, 2).reshape(length, width) @ wo


def gelu(x):
    return jax.nn.gelu(x, approximate=True)
