"""Learning from data: clustering, regression, layers of networks."""

import numpy as np

from .program import Program


def k_means(points, centres, rounds):
    """Lloyd's algorithm (Lloyd, IEEE Transactions on Information Theory 28, 1982)."""
    label = np.zeros(points.shape[0], dtype=np.int64)
    for _ in range(rounds):
        distance = np.sum((points[:, None, :] - centres[None, :, :]) ** 2, axis=2)
        label = np.argmin(distance, axis=1)
        for k in range(centres.shape[0]):
            members = points[label == k]
            if members.shape[0] > 0:
                centres[k] = members.mean(axis=0)
    return label


def principal_components(data, start, components, rounds):
    """The largest principal components by power iteration and deflation (Hotelling, Journal of Educational
    Psychology 24, 1933)."""
    centred = data - data.mean(axis=0)
    matrix = centred.T @ centred / (data.shape[0] - 1)
    values = np.zeros(components)
    vectors = np.zeros((components, data.shape[1]))
    for c in range(components):
        v = start / np.linalg.norm(start)
        for _ in range(rounds):
            v = matrix @ v
            v /= np.linalg.norm(v)
        values[c] = v @ matrix @ v
        vectors[c] = v
        matrix -= values[c] * np.outer(v, v)
    return values, vectors


def logistic_regression(features, target, rate, penalty, rounds):
    """Gradient descent on the cross-entropy (Cox, Journal of the Royal Statistical Society B 20, 1958)."""
    weights = np.zeros(features.shape[1])
    bias = 0.0
    losses = np.zeros(rounds)
    for t in range(rounds):
        score = features @ weights + bias
        probability = 1.0 / (1.0 + np.exp(-score))
        error = probability - target
        losses[t] = np.mean(np.logaddexp(0.0, score) - target * score)
        weights -= rate * (features.T @ error / target.shape[0] + penalty * weights)
        bias -= rate * error.mean()
    return weights, bias, losses


def relu(x):
    return np.maximum(x, 0.0)


def softmax(x):
    """The normalised exponential over the last axis (Bridle, Neurocomputing: Algorithms, Architectures and
    Applications, 1990)."""
    e = np.exp(x - np.max(x, axis=-1, keepdims=True))
    return e / np.sum(e, axis=-1, keepdims=True)


def mlp_forward(x, w1, b1, w2, b2, w3, b3):
    """A network of three layers (Rumelhart, Hinton and Williams, Nature 323, 1986)."""
    x = relu(x @ w1 + b1)
    x = relu(x @ w2 + b2)
    return softmax(x @ w3 + b3)


def convolution(images, weights):
    """A loop over the pixels; channels last."""
    k = weights.shape[0]
    height, width = images.shape[1] - k + 1, images.shape[2] - k + 1
    out = np.empty((images.shape[0], height, width, weights.shape[3]), dtype=images.dtype)
    for i in range(height):
        for j in range(width):
            out[:, i, j, :] = np.sum(images[:, i : i + k, j : j + k, :, None] * weights[None], axis=(1, 2, 3))
    return out


def max_pool(x):
    out = np.empty((x.shape[0], x.shape[1] // 2, x.shape[2] // 2, x.shape[3]), dtype=x.dtype)
    for i in range(out.shape[1]):
        for j in range(out.shape[2]):
            out[:, i, j, :] = np.max(x[:, 2 * i : 2 * i + 2, 2 * j : 2 * j + 2, :], axis=(1, 2))
    return out


def lenet(images, conv1, bias1, conv2, bias2, w1, b1, w2, b2):
    """Two convolutions with pooling, then two dense layers, like LeNet-5 (LeCun, Bottou, Bengio and Haffner,
    Proceedings of the IEEE 86, 1998)."""
    x = max_pool(relu(convolution(images, conv1) + bias1))
    x = max_pool(relu(convolution(x, conv2) + bias2))
    x = x.reshape(x.shape[0], -1)
    x = relu(x @ w1 + b1)
    return x @ w2 + b2


def padded_convolution(x, weights):
    """The same size out as in: each pixel's window as a row, times a matrix."""
    k = weights.shape[0]
    pad = k // 2
    n, height, width, channels = x.shape
    wide = np.zeros((n, height + 2 * pad, width + 2 * pad, channels), dtype=x.dtype)
    wide[:, pad : pad + height, pad : pad + width, :] = x
    matrix = weights.reshape(-1, weights.shape[3])
    out = np.empty((n, height, width, weights.shape[3]), dtype=x.dtype)
    for i in range(height):
        for j in range(width):
            out[:, i, j, :] = wide[:, i : i + k, j : j + k, :].reshape(n, -1) @ matrix
    return out


def batch_norm(x):
    """Normalised over the batch and the pixels, as in training (Ioffe and Szegedy, Batch Normalization,
    2015)."""
    mean = np.mean(x, axis=(0, 1, 2), keepdims=True)
    std = np.std(x, axis=(0, 1, 2), keepdims=True)
    return (x - mean) / np.sqrt(std**2 + 1e-5)


def resnet_block(x, conv1, conv2, conv3):
    """A bottleneck block with its short cut (He, Zhang, Ren and Sun, Deep Residual Learning for Image
    Recognition, 2016)."""
    y = relu(batch_norm(padded_convolution(x, conv1)))
    y = relu(batch_norm(padded_convolution(y, conv2)))
    y = batch_norm(padded_convolution(y, conv3))
    return relu(y + x)


def layer_norm(x, gain, bias):
    """Each row to mean zero and variance one (Ba, Kiros and Hinton, Layer Normalization, 2016)."""
    mean = x.mean(axis=-1, keepdims=True)
    variance = ((x - mean) ** 2).mean(axis=-1, keepdims=True)
    return gain * (x - mean) / np.sqrt(variance + 1e-5) + bias


def attention(x, wq, wk, wv, wo, heads):
    """Causal attention with several heads (Vaswani et al., Attention Is All You Need, 2017)."""
    length, width = x.shape
    each = width // heads
    q = (x @ wq).reshape(length, heads, each).transpose(1, 0, 2)
    k = (x @ wk).reshape(length, heads, each).transpose(1, 0, 2)
    v = (x @ wv).reshape(length, heads, each).transpose(1, 0, 2)
    score = q @ k.transpose(0, 2, 1) / np.sqrt(each)
    later = np.triu(np.ones((length, length), dtype=bool), 1)
    score = np.where(later, -1e9, score)
    mixed = softmax(score) @ v
    return mixed.transpose(1, 0, 2).reshape(length, width) @ wo


def gelu(x):
    """The Gaussian error linear unit by its tanh form (Hendrycks and Gimpel, Gaussian Error Linear Units,
    2016)."""
    return 0.5 * x * (1.0 + np.tanh(np.sqrt(2.0 / np.pi) * (x + 0.044715 * x**3)))


def clusters(rng, n, d, k, rounds):
    points = rng.normal(size=(n, d)) + 4.0 * rng.integers(0, k, n)[:, None]
    return points, points[rng.permutation(n)[:k]].copy(), rounds


def labelled(rng, n, d, rounds):
    x = rng.normal(size=(n, d))
    return x, (x @ rng.normal(size=d) > 0.0).astype(np.float64), 0.5, 1e-3, rounds


def single(rng, *shapes):
    return tuple((0.3 * rng.normal(size=shape)).astype(np.float32) for shape in shapes)


def of_mlp(rng, n, a, b, c, d):
    return single(rng, (n, a), (a, b), (b,), (b, c), (c,), (c, d), (d,))


def of_lenet(rng, n, side, c1, c2, hidden):
    last = ((side - 4) // 2 - 4) // 2
    return single(rng, (n, side, side, 1), (5, 5, 1, c1), (c1,), (5, 5, c1, c2), (c2,),
                  (last * last * c2, hidden), (hidden,), (hidden, 10), (10,))


def of_block(rng, n, side, wide, narrow):
    return single(rng, (n, side, side, wide), (1, 1, wide, narrow), (3, 3, narrow, narrow), (1, 1, narrow, wide))


def of_attention(rng, length, width, heads):
    return (*single(rng, (length, width), *[(width, width)] * 4), heads)


FLOAT32 = {"rtol": 1e-3, "atol": 1e-4}

PROGRAMS = [
    Program(k_means, clusters, (60, 2, 3, 4), (8_000, 4, 8, 10), (60_000, 6, 10, 15), changes=("centres",)),
    Program(principal_components, lambda rng, n, d, c, rounds: (rng.normal(size=(n, d)) * np.arange(1.0, d + 1.0) ** 2,
                                                                rng.random(d), c, rounds),
            (40, 5, 2, 10), (2_000, 120, 5, 60), (10_000, 400, 8, 100), rtol=1e-6),
    Program(logistic_regression, labelled, (40, 4, 10), (10_000, 20, 60), (60_000, 30, 60), rtol=1e-8),
    Program(mlp_forward, of_mlp, (8, 12, 16, 10, 5), (512, 784, 512, 256, 10), (2_048, 784, 1_024, 512, 10), **FLOAT32),
    Program(lenet, of_lenet, (2, 16, 2, 3, 8), (8, 28, 6, 16, 120), (64, 28, 6, 16, 120), **FLOAT32),
    Program(resnet_block, of_block, (2, 5, 8, 4), (8, 28, 64, 16), (16, 56, 128, 32), **FLOAT32),
    Program(softmax, lambda rng, *shape: single(rng, shape), (2, 3, 16), (16, 64, 1_024), (64, 128, 2_048), **FLOAT32),
    Program(layer_norm, lambda rng, n, d: single(rng, (n, d), (d,), (d,)), (8, 16), (2_048, 768), (16_384, 1_024),
            **FLOAT32),
    Program(attention, of_attention, (8, 12, 3), (256, 256, 8), (1_024, 512, 8), **FLOAT32),
    Program(gelu, lambda rng, n, d: single(rng, (n, d)), (8, 16), (512, 512), (4_096, 2_048), **FLOAT32),
]
