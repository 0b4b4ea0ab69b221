"""What is checked: (name, function, arguments). Every argument that is a float or complex array is differentiated."""

import numpy as np

# (domain, functions of one argument)
UNARY = [
    ((-2.0, 2.0), "sin cos tanh sinh cosh exp exp2 expm1 square negative positive arctan arcsinh deg2rad rad2deg conjugate"),
    ((0.3, 2.0), "log log2 log10 log1p sqrt cbrt reciprocal"),
    ((-0.8, 0.8), "arcsin arccos arctanh tan"),
    ((1.2, 3.0), "arccosh"),
    ((0.15, 0.85), "absolute sign floor ceil trunc rint"),
]
BINARY = [
    ((0.4, 2.0), "add subtract multiply divide power arctan2 hypot copysign logaddexp logaddexp2"),
    ((0.4, 2.0), "maximum minimum fmax fmin"),
]
SHAPES = [(), (0,), (1,), (3,), (2, 3)]
PAIRS = [((), (3,)), ((3,), ()), ((2, 1), (3,)), ((1,), (4,)), ((0,), (1,)), ((2, 3), (2, 3))]


def array(rng, shape, domain, strided=False):
    low, high = domain
    if strided and shape:
        return rng.uniform(low, high, tuple(2 * n for n in shape))[tuple(slice(None, None, -2) for _ in shape)]
    return rng.uniform(low, high, shape) if shape else np.float64(rng.uniform(low, high))


def elementwise():
    rng = np.random.default_rng(0)
    for domain, names in UNARY:
        for name in names.split():
            for shape in SHAPES:
                yield f"{name}{shape}", getattr(np, name), [array(rng, shape, domain)]
            yield f"{name} strided", getattr(np, name), [array(rng, (2, 3), domain, strided=True)]
    for domain, names in BINARY:
        for name in names.split():
            for a, b in PAIRS:
                yield f"{name}{a}{b}", getattr(np, name), [array(rng, a, domain), array(rng, b, domain)]
    yield "remainder", lambda x, y: np.remainder(x, y), [np.array([2.3, -3.1]), np.array([0.7, 0.9])]
    yield "fmod", lambda x, y: np.fmod(x, y), [np.array([2.3, -3.1]), np.array([0.7, 0.9])]
    yield "floor_divide", lambda x: np.floor_divide(x, 0.7), [np.array([2.3, -3.1])]
    yield "power constant", lambda x: x**3 + x**2.5 + x**2 + x**1 + x**0, [array(rng, (3,), (0.4, 2.0))]
    yield "power integers", lambda x: x ** np.arange(3), [array(rng, (3,), (0.4, 2.0))]
    yield "where", lambda x, y: np.where(x > 1, x * y, y), [array(rng, (4,), (0.4, 2.0)), array(rng, (4,), (0.4, 2.0))]
    yield "clip", lambda x: np.clip(x, 0.6, 1.5), [array(rng, (6,), (0.2, 2.0))]
    yield "heaviside", lambda x: np.heaviside(x, 0.5) * x, [np.array([-1.0, 2.0])]
    yield "mixed precision", lambda x: np.float32(2) * x + np.arange(3), [array(rng, (3,), (0.4, 2.0))]


def views():
    rng = np.random.default_rng(1)
    x = array(rng, (3, 4), (-1.0, 1.0))
    for name, function in {
        "slice": lambda x: x[1:, ::2],
        "reversed slice": lambda x: x[::-1, 1:3] * 2,
        "item": lambda x: x[1, 2] * x[0, 0],
        "row": lambda x: x[1] * x[-1],
        "new axis": lambda x: x[:, None] * x[None, :, :1].T,
        "transpose": lambda x: x.T @ np.ones(3) if False else x.T * 2,
        "reshape": lambda x: x.reshape(2, 6)[:, 1:],
        "ravel of a transpose": lambda x: x.T.ravel()[2:],
        "broadcast": lambda x: np.broadcast_to(x[:1], (5, 4)) * 1.5,
        "diagonal": lambda x: np.diagonal(x) * 3,
        "flip": lambda x: np.flip(x, 1) * x,
        "roll": lambda x: np.roll(x, 1, 0) * x,
        "repeat": lambda x: np.repeat(x, 2, axis=1),
        "tile": lambda x: np.tile(x, (2, 1)),
        "concatenate": lambda x: np.concatenate([x, x[:1] * 2, np.zeros((1, 4))]),
        "stack": lambda x: np.stack([x, x * x], axis=1),
        "split": lambda x: np.split(x, 2, axis=1)[1] * 2,
        "diff": lambda x: np.diff(x, axis=1),
        "tril": lambda x: np.tril(x) + np.triu(x, 1) * 2,
        "stencil": lambda x: x[1:-1, 1:-1] + x[:-2, 1:-1] * x[2:, 1:-1] + x[1:-1, :-2],
        "moveaxis": lambda x: np.moveaxis(x[:, :, None], 2, 0) * 2,
        "empty slice": lambda x: x[2:2],
    }.items():
        yield name, function, [x]


def reductions():
    rng = np.random.default_rng(2)
    x = array(rng, (2, 3, 2), (0.4, 2.0))
    for name, function in {
        "sum": lambda x: x.sum(),
        "sum over axes": lambda x: x.sum(axis=(0, 2)),
        "sum keepdims": lambda x: x.sum(1, keepdims=True) * x,
        "mean": lambda x: x.mean(axis=1),
        "var": lambda x: x.var(axis=0),
        "std": lambda x: x.std(),
        "prod": lambda x: x.prod(axis=1),
        "prod of all": lambda x: np.prod(x),
        "min": lambda x: x.min(axis=1),
        "max": lambda x: x.max(),
        "ptp": lambda x: np.ptp(x, axis=0),
        "softmax": lambda x: np.exp(x - x.max(-1, keepdims=True)) / np.exp(x - x.max(-1, keepdims=True)).sum(-1, keepdims=True),
        "add.reduce": lambda x: np.add.reduce(x, axis=1),
    }.items():
        yield name, function, [x]
    yield "prod with a zero", lambda x: np.prod(x), [np.array([2.0, 0.0, 3.0])]
    yield "prod with zeros", lambda x: np.prod(x), [np.array([0.0, 0.0, 3.0])]
    yield "sum of none", lambda x: x.sum(), [np.ones(0)]
    yield "sum of one", lambda x: x.sum(axis=0), [np.ones((1, 3))]


def _stored(x):
    a = np.zeros(5)
    a[1:4] = x[:3] * x[1:4]
    a[2] = 3 * x[0]
    a[::2] += x[:3]
    return a * a


def _in_place(x):
    y = x * 2
    y *= x
    y[1:] -= y[:-1]
    np.sin(y, out=y)
    return y


def _overwritten(x):
    y = np.exp(x)
    z = y * y
    y[:] = x
    return z + y


def _argument(x):
    x[0] = 2.0 * x[1]
    x += 1.0
    return x * x


def _views_of_memory(x):
    a = np.empty((2, 4))
    a[0] = x
    a[1] = x[::-1]
    b = a.T
    b[1] *= 3.0
    a.reshape(-1)[2:4] = x[:2] ** 2
    return a * np.arange(8.0).reshape(2, 4)


def _unrolled(x):
    total = np.zeros(3)
    for i in range(4):
        total += np.sin(total + x[i])
    return total


def _fancy(x):
    y = x.copy()
    y[np.array([0, 2, 0])] = x[np.array([1, 1, 3])] * 2
    return y


def stores():
    rng = np.random.default_rng(3)
    x = array(rng, (4,), (0.4, 2.0))
    for function in (_stored, _in_place, _overwritten, _argument, _views_of_memory, _unrolled, _fancy):
        yield function.__name__.strip("_").replace("_", " "), function, [x]
    yield "copyto", lambda x: _copyto(x), [x]
    yield "fill", lambda x: _filled(x), [x]


def _copyto(x):
    y = np.ones(4)
    np.copyto(y, x, where=np.array([True, False, True, False]))
    return y * x


def _filled(x):
    y = np.empty(3)
    y.fill(x[1])
    return y * x[:3]


def calls():
    rng = np.random.default_rng(4)

    def m(*shape):
        return array(rng, shape, (-1.0, 1.0))

    well = m(3, 3) + 3 * np.eye(3)
    yield "matmul", lambda a, b: a @ b, [m(2, 3), m(3, 4)]
    yield "matmul vector", lambda a, b: a @ b, [m(2, 3), m(3)]
    yield "vector matmul", lambda a, b: a @ b, [m(3), m(3, 2)]
    yield "matmul vectors", lambda a, b: a @ b, [m(3), m(3)]
    yield "matmul batches", lambda a, b: a @ b, [m(2, 1, 2, 3), m(4, 3, 2)]
    yield "matmul transposed", lambda a, b: a.T @ b[:, ::-1], [m(3, 2), m(3, 4)]
    yield "dot", np.dot, [m(2, 3), m(3, 4)]
    yield "dot vectors", np.dot, [m(3), m(3)]
    yield "dot of more axes", np.dot, [m(2, 3), m(2, 3, 2)]
    yield "method dot", lambda a, b: a.dot(b), [m(2, 3), m(3)]
    yield "inner", np.inner, [m(2, 3), m(4, 3)]
    yield "outer", np.outer, [m(2), m(3)]
    yield "vdot", np.vdot, [m(2, 2), m(2, 2)]
    yield "tensordot", lambda a, b: np.tensordot(a, b, axes=([0, 2], [1, 0])), [m(2, 3, 4), m(4, 2, 3)]
    yield "tensordot by number", lambda a, b: np.tensordot(a, b, 2), [m(2, 3, 4), m(3, 4, 2)]
    yield "einsum", lambda a, b: np.einsum("ij,jk->ik", a, b), [m(2, 3), m(3, 2)]
    yield "einsum sums", lambda a, b: np.einsum("ij,k->k", a, b), [m(2, 3), m(2)]
    yield "einsum implicit", lambda a, b: np.einsum("ij,j", a, b), [m(2, 3), m(3)]
    yield "cross", np.cross, [m(4, 3), m(4, 3)]
    yield "convolve", lambda a, v: np.convolve(a, v), [m(5), m(3)]
    yield "convolve valid", lambda a, v: np.convolve(a, v, "valid"), [m(5), m(3)]
    yield "cumsum", lambda x: np.cumsum(x, axis=1), [m(2, 3)]
    yield "cumsum of all", lambda x: np.cumsum(x) * 2, [m(2, 3)]
    yield "method cumsum", lambda x: x.cumsum(0), [m(2, 3)]
    yield "cumprod", lambda x: np.cumprod(x + 2.0), [m(4)]
    yield "sort", lambda x: np.sort(x, axis=0) * np.arange(4.0)[:, None], [m(4, 2)]
    yield "sort in place", lambda x: _sorted(x), [m(4)]
    yield "take", lambda x: np.take(x, np.array([0, 2, 0]), axis=0), [m(3, 2)]
    yield "take of all", lambda x: np.take(x, np.array([0, 5, 0])), [m(3, 2)]
    yield "take along axis", lambda x: np.take_along_axis(x, np.argsort(x, axis=1), 1), [m(2, 3)]
    yield "fancy index", lambda x: x[np.array([0, 2, 0])] * 2, [m(3, 2)]
    yield "fancy indices", lambda x: x[np.array([0, 2, 0]), np.array([1, 1, 1])], [m(3, 2)]
    yield "mask", lambda x: x[np.array([True, False, True])].sum(), [m(3)]
    yield "pad", lambda x: np.pad(x, ((1, 0), (2, 1))), [m(2, 2)]
    yield "pad by one", lambda x: np.pad(x, 1) * 2, [m(3)]
    yield "trace", np.trace, [m(3, 3)]
    yield "nansum", lambda x: np.nansum(x, axis=0), [m(3, 2)]
    yield "solve", np.linalg.solve, [well, m(3, 2)]
    yield "solve vector", np.linalg.solve, [well, m(3)]
    yield "inv", np.linalg.inv, [well]
    yield "inv of two", np.linalg.inv, [np.stack([well, well.T + 1])]
    yield "det", np.linalg.det, [well]
    yield "slogdet", lambda a: np.linalg.slogdet(a)[1], [well]
    yield "cholesky", lambda a: np.linalg.cholesky(a @ a.T + np.eye(3)), [m(3, 3)]
    yield "norm", np.linalg.norm, [m(3)]
    yield "norm along an axis", lambda x: np.linalg.norm(x, axis=1), [m(2, 3)]


def _sorted(x):
    y = x * 1.0
    y.sort()
    return y * np.arange(4.0)


def complex_numbers():
    rng = np.random.default_rng(5)
    z = array(rng, (3,), (0.4, 1.5)) + 1j * array(rng, (3,), (0.2, 1.0))
    for name in "sin cos exp log sqrt square tanh arctan reciprocal conjugate absolute negative sinh".split():
        yield f"complex {name}", getattr(np, name), [z]
    yield "complex parts", lambda z: z.real * 2 + z.imag**2, [z]
    yield "complex product", lambda z, w: z * w / (z + w), [z, z[::-1] * 1j]
    yield "complex of real", lambda x: x * (1 + 2j) + np.exp(1j * x), [array(rng, (3,), (0.4, 1.5))]
    yield "complex store", _complex_store, [z, array(rng, (3,), (0.4, 1.5))]
    yield "complex matmul", lambda a, b: a @ b, [z[:, None] * z, z]
    yield "complex power", lambda z: z**2 + z**-1.0, [z]


def _complex_store(z, x):
    w = z * 2
    w.imag[1:] = x[1:]
    w.real[0] = x[0]
    return w * w


# The sizes of what these compute are known to NumPy only: no other array can be combined with them.
OF_UNKNOWN_SIZE = {"convolve", "cumsum of all", "pad", "pad by one"}

FAMILIES = (elementwise, views, reductions, stores, calls, complex_numbers)


def all_cases():
    for family in FAMILIES:
        yield from family()
