"""What NumPy gives beyond plain arithmetic on float arrays, each on an array."""

import threading

import numpy as np
import numpy.typing as npt

from probes import Probes

log = []
buffer = np.zeros((3, 4))
probe = Probes(__name__, log=log)


@probe()
def in_place_on_the_argument(x):
    x += 1
    x[0] = 7
    x[:, 1:3] *= 2
    return x.sum()


@probe()
def masked_store(x):
    y = x * 2
    y[y > 3] = 0
    y[[0, 2], [1, 1]] = -1
    return y


@probe()
def mask_read(x):
    y = x * 2
    z = y[y > 3]
    return z + 1, z.size


@probe()
def out_and_where(x):
    y = np.zeros_like(x)
    np.add(x, 1, out=y)
    np.multiply(x, 2, out=y, where=x > 1)
    return y


@probe()
def shape_arithmetic(x):
    r, c = x.shape
    y = x.reshape(c, r).T.ravel()[: r * 2].reshape(-1, r)
    return y + r * c - x.size // x.ndim, y.shape


@probe()
def containers_of_arrays_returned(x):
    return {"a": [x + 1, (x, x * 2)], "b": {"c": x.T}}


@probe()
def negative_steps(x):
    return x[::-1, ::-2] + 1, x.T[::-1], x[..., None].shape


@probe()
def matrix_product_and_einsum(x):
    return x @ x.T, np.einsum("ij,kj->ik", x, x), np.dot(x, x[0])


@probe()
def nonzero_and_where(x):
    i, j = np.nonzero(x > 2)
    return x[i, j] * 2, np.where(x > 1, x, -1), np.argwhere(x > 2)


@probe()
def item_and_float(x):
    k = x[1, 2].item() + float(x[0, 0]) + x.sum().item()
    return x * k, k


@probe()
def integer_of_an_element(x):
    i = int(x[0, 3])
    return x[i] * 2, i


@probe()
def element_as_an_index(x):
    order = np.argsort(-x[0])
    return x[:, order[0]], x[np.argmax(x[:, 0])]


@probe()
def tolist(x):
    rows = (x * 2).tolist()
    return x + len(rows), rows


@probe()
def dtype_looked_at(x):
    if x.dtype == np.float64 and x.dtype.kind == "f" and np.issubdtype(x.dtype, np.floating):
        x = x * x.dtype.itemsize
    return x, x.dtype.name, np.finfo(x.dtype).eps, np.result_type(x, np.int8)


@probe()
def flags_strides_base(x):
    v = x.T
    return v + 1, v.flags.f_contiguous, v.strides, v.base is x, x.nbytes, x.data.shape


@probe()
def scalar_types(x):
    s = np.float32(1.5) * np.int8(2)
    return x * s, s, type(x[0, 0]).__name__, np.bool_(True) & False, np.float64(2) ** 3


@probe()
def astype(x):
    i = (x * 4).astype(np.int32)
    return i % 5, i.astype("u1"), x.astype(np.complex64), (x > 1).astype(int)


@probe()
def errstate(x):
    with np.errstate(divide="ignore", invalid="raise"):
        y = x / np.zeros(4)
    return y


@probe()
def errstate_raises(x):
    with np.errstate(divide="raise"):
        try:
            return x / np.zeros(4)
        except FloatingPointError as e:
            return x, str(e)


@probe()
def division_warns(x):
    return x / np.zeros(4), np.log(x - 0.25)


@probe()
def random_generator(x):
    r = np.random.default_rng(5)
    return x + r.random(4), r.integers(0, 9, 3), r.permutation(4)


@probe()
def random_legacy(x):
    np.random.seed(4)
    return x * np.random.rand(4), np.random.randint(9)


@probe()
def ufunc_methods(x):
    y = np.ones(4)
    np.add.at(y, [0, 0, 2], 1)
    return np.add.reduce(x), np.multiply.accumulate(x, axis=1), np.subtract.outer(x[0], x[1]), y


@probe()
def ufunc_attributes(x):
    return np.add(x, 1), np.add.nin, np.add.__name__, np.sin.ntypes > 0


@probe()
def masked_array(x):
    m = np.ma.masked_greater(x, 2)
    return m.filled(0), m.sum(), m.mask


@probe()
def structured_array(x):
    s = np.zeros(3, dtype=[("a", "f8"), ("b", "i4")])
    s["a"] = x[:, 0] * 2
    s[1] = (5.0, 7)
    return s["a"] + 1, s["b"], s[1].item()


@probe()
def record_array(x):
    r = np.rec.fromarrays([x[0], x[1]], names="a,b")
    return r.a + r.b


@probe()
def datetime_array(x):
    days = np.datetime64("2024-02-28") + np.arange(3)
    return days.astype(int) + x[:, 0], str(days[2]), np.timedelta64(3, "D") / np.timedelta64(1, "h")


@probe()
def object_array(x):
    o = np.array([1, "a", None], dtype=object)
    p = np.array([2, 3], dtype=object)
    return x + 1, o, p * 2


@probe()
def string_array(x):
    s = np.array(["a", "bc"])
    return x * len(s), np.char.upper(s), s == "bc"


@probe()
def long_double(x):
    y = x.astype(np.longdouble) + 1
    return y.astype(float), y.dtype.itemsize


@probe()
def half_and_complex(x):
    return x.astype(np.float16) + 1, (x + 1j * x).conj(), np.abs(x * 1j), (x * 1j).real


@probe()
def vectorize(x):
    return np.vectorize(lambda a: a + 1 if a > 1 else 0)(x)


@probe()
def apply_along_axis(x):
    return np.apply_along_axis(lambda row: row[::-1] * 2, 1, x)


@probe()
def nditer_and_ndenumerate(x):
    s = 0.0
    for (i, j), v in np.ndenumerate(x):
        s += v * (i - j)
    for v in np.nditer(x):
        s = s + v
    return s, sum(1 for _ in x.flat)


@probe()
def iteration_over_elements(x):
    return [float(v) * 2 for v in x[0]], [a + b for a, b in zip(x[0], x[1])]


@probe()
def sort_unique_searchsorted(x):
    y = np.sort(-x, axis=None)
    u, n = np.unique(np.round(x), return_counts=True)
    return y, u, n, np.searchsorted(u, 1.5)


@probe()
def concatenate_stack_split(x):
    a, b = np.split(x, 2, axis=1)
    return np.concatenate([a, b, a], axis=1), np.stack([a, b]), np.vstack((x, x[0])), np.tile(x, (2, 1))


@probe()
def linear_algebra(x):
    m = x @ x.T + np.eye(3)
    return np.linalg.inv(m), np.linalg.norm(x), np.linalg.solve(m, x[:, 0])


@probe()
def linear_algebra_error(x):
    try:
        return np.linalg.inv(np.zeros((2, 2)))
    except np.linalg.LinAlgError as e:
        return x + 1, str(e)


@probe()
def fourier(x):
    return np.fft.ifft(np.fft.fft(x)).real + 1


@probe()
def polynomial_and_interpolation(x):
    return np.polyval([1, 2, 3], x), np.interp(x[0], [0, 1, 2], [0, 10, 20]), np.cumsum(x, axis=1)


@probe()
def array_of_lists_and_scalars(x):
    return np.array([[1, 2], [3, 4]]) * x[0, 0], np.array([x[0], x[1]]), np.array(3.0) + x, np.asarray(x) is x


@probe()
def zero_dimensional_and_empty(x):
    e = x[:0]
    return e + 1, e.sum(), np.array(2.5)[()], x.sum(keepdims=True)


@probe()
def array_from_a_buffer(x):
    b = x.tobytes()
    return np.frombuffer(b).reshape(3, 4) + 1, np.frombuffer(b, dtype="u1")[:9]


@probe()
def matrix_class(x):
    m = np.matrix(x)
    return np.asarray(m * m.T), type(m).__name__


@probe()
def read_only_array(x):
    y = x + 1
    y.flags.writeable = False
    try:
        y[0] = 1
    except ValueError as e:
        return y * 2, str(e)


@probe()
def shares_memory(x):
    v = x[1:]
    v += 1
    return x, np.shares_memory(v, x), np.may_share_memory(x, x + 1)


@probe(np.arange(5), 2)
def indices_with_step(x, i, k):
    return x.ravel()[i * k], x[i[:3], i[1:4] % 4], np.take(x, i), x[k]


@probe(buffer)
def aliased_arguments(x, b):
    b[...] = x
    c = b
    c *= 2
    return b + x, c is b


@probe()
def print_options(x):
    with np.printoptions(precision=2):
        text = str(x / 3)
    return text, x + 1


@probe()
def typed_annotations(x):
    def f(a: npt.NDArray[np.float64]) -> npt.NDArray:
        return a * 2

    return f(x)


local = threading.local()


@probe()
def thread_local(x):
    local.k = 3
    y = x * local.k
    del local.k
    return y, hasattr(local, "k")


@probe(np.float32(2), 3, True, 1 + 2j)
def scalars_as_arguments(x, a, n, flag, z):
    return x * a + n, x[n - 1 if flag else 0], x * z, a * n


@probe({"k": 2, "w": np.ones(4)}, [1, (2, 3)])
def containers_as_arguments(x, d, pair):
    d["k"] += 1
    d["new"] = x * d["k"]
    d["w"] += 1
    pair.append(d["w"])
    a, (b, c), *_ = pair
    return d["new"] + a + b * c


@probe()
def unknown_attribute(x):
    y = x + 1
    return y.nothing


@probe()
def method_of_the_class(x):
    return np.ndarray.sum(x, axis=0), np.ndarray.__add__(x, 1), x.__mul__(2)


@probe()
def setattr_on_an_array(x):
    y = x + 1
    y.shape = (4, 3)
    return y * 2
