import numpy as np
from numba import prange


def k_means(points, centres, rounds):
    n, d = points.shape
    k = centres.shape[0]
    label = np.zeros(n, dtype=np.int64)
    for _ in range(rounds):
        for i in prange(n):
            nearest = 0
            least = np.inf
            for c in range(k):
                distance = 0.0
                for j in range(d):
                    distance += (points[i, j] - centres[c, j]) ** 2
                if distance < least:
                    least = distance
                    nearest = c
            label[i] = nearest
        total = np.zeros((k, d))
        count = np.zeros(k)
        for i in range(n):
            count[label[i]] += 1
            for j in range(d):
                total[label[i], j] += points[i, j]
        for c in range(k):
            if count[c] > 0:
                for j in range(d):
                    centres[c, j] = total[c, j] / count[c]
    return label


def principal_components(data, start, components, rounds):
    n, d = data.shape
    mean = np.zeros(d)
    for i in range(n):
        for j in range(d):
            mean[j] += data[i, j]
    centred = data - mean / n
    matrix = centred.T @ centred / (n - 1)
    values = np.zeros(components)
    vectors = np.zeros((components, d))
    for c in range(components):
        v = start / np.linalg.norm(start)
        for _ in range(rounds):
            v = matrix @ v
            v /= np.linalg.norm(v)
        values[c] = np.dot(v, matrix @ v)
        vectors[c] = v
        matrix -= values[c] * np.outer(v, v)
    return values, vectors


def relu(x):
    out = np.empty_like(x)
    values = x.reshape(-1)
    flat = out.reshape(-1)
    for i in prange(flat.shape[0]):
        flat[i] = max(values[i], np.float32(0.0))
    return out


def softmax(x):
    out = np.empty_like(x)
    rows = x.reshape(-1, x.shape[-1])
    flat = out.reshape(-1, x.shape[-1])
    for i in prange(rows.shape[0]):
        most = rows[i, 0]
        for j in range(rows.shape[1]):
            most = max(most, rows[i, j])
        total = np.float32(0.0)
        for j in range(rows.shape[1]):
            flat[i, j] = np.exp(rows[i, j] - most)
            total += flat[i, j]
        for j in range(rows.shape[1]):
            flat[i, j] /= total
    return out


def mlp_forward(x, w1, b1, w2, b2, w3, b3):
    x = relu(x @ w1 + b1)
    x = relu(x @ w2 + b2)
    return softmax(x @ w3 + b3)


def convolution(images, weights, pad, bias):
    count, height, width, channels = images.shape
    k, _, _, filters = weights.shape
    rows, columns = height + 2 * pad - k + 1, width + 2 * pad - k + 1
    out = np.empty((count, rows, columns, filters), dtype=images.dtype)
    for image in prange(count):
        for i in range(rows):
            for j in range(columns):
                for f in range(filters):
                    out[image, i, j, f] = bias[f]
                for di in range(max(0, pad - i), min(k, height + pad - i)):
                    for dj in range(max(0, pad - j), min(k, width + pad - j)):
                        for c in range(channels):
                            value = images[image, i + di - pad, j + dj - pad, c]
                            for f in range(filters):
                                out[image, i, j, f] += value * weights[di, dj, c, f]
    return out


def max_pool(x):
    count, height, width, channels = x.shape
    out = np.empty((count, height // 2, width // 2, channels), dtype=x.dtype)
    for n in prange(count):
        for i in range(height // 2):
            for j in range(width // 2):
                for c in range(channels):
                    out[n, i, j, c] = max(max(x[n, 2 * i, 2 * j, c], x[n, 2 * i, 2 * j + 1, c]),
                                          max(x[n, 2 * i + 1, 2 * j, c], x[n, 2 * i + 1, 2 * j + 1, c]))
    return out


def lenet(images, conv1, bias1, conv2, bias2, w1, b1, w2, b2):
    x = max_pool(relu(convolution(images, conv1, 0, bias1)))
    x = max_pool(relu(convolution(x, conv2, 0, bias2)))
    flat = relu(x.reshape(x.shape[0], -1) @ w1 + b1)
    return flat @ w2 + b2


def batch_norm(x):
    channels = x.shape[3]
    rows = x.reshape(-1, channels)
    mean = np.zeros(channels)
    square = np.zeros(channels)
    for i in range(rows.shape[0]):
        for c in range(channels):
            mean[c] += rows[i, c]
    mean /= rows.shape[0]
    for i in range(rows.shape[0]):
        for c in range(channels):
            square[c] += (rows[i, c] - mean[c]) ** 2
    scale = 1.0 / np.sqrt(square / rows.shape[0] + 1e-5)
    out = np.empty_like(x)
    flat = out.reshape(-1, channels)
    for i in prange(rows.shape[0]):
        for c in range(channels):
            flat[i, c] = (rows[i, c] - mean[c]) * scale[c]
    return out


def resnet_block(x, conv1, conv2, conv3):
    y = relu(batch_norm(convolution(x, conv1, 0, np.zeros(conv1.shape[3], dtype=np.float32))))
    y = relu(batch_norm(convolution(y, conv2, conv2.shape[0] // 2, np.zeros(conv2.shape[3], dtype=np.float32))))
    y = batch_norm(convolution(y, conv3, 0, np.zeros(conv3.shape[3], dtype=np.float32)))
    values = x.reshape(-1)
    flat = y.reshape(-1)
    for i in prange(flat.shape[0]):
        flat[i] += values[i]
    return relu(y)


def layer_norm(x, gain, bias):
    n, d = x.shape
    out = np.empty_like(x)
    for i in prange(n):
        mean = np.float32(0.0)
        for j in range(d):
            mean += x[i, j]
        mean /= np.float32(d)
        variance = np.float32(0.0)
        for j in range(d):
            variance += (x[i, j] - mean) ** 2
        scale = np.float32(1.0) / np.sqrt(variance / np.float32(d) + np.float32(1e-5))
        for j in range(d):
            out[i, j] = gain[j] * (x[i, j] - mean) * scale + bias[j]
    return out


def attention(x, wq, wk, wv, wo, heads):
    length, width = x.shape
    each = width // heads
    q, k, v = x @ wq, x @ wk, x @ wv
    mixed = np.empty_like(x)
    for h in prange(heads):
        part = slice(h * each, (h + 1) * each)
        score = q[:, part].copy() @ k[:, part].copy().T / np.float32(np.sqrt(each))
        for i in range(length):
            score[i, i + 1 :] = -1e9
        mixed[:, part] = softmax(score) @ v[:, part].copy()
    return mixed @ wo
