"""Arrays that know their shape and dtype and no values: what shape functions work on.

Operations on them are done by NumPy on zeros that take no memory, and give fake arrays again; what
would show a value raises.
"""

import numpy as np

_NO_VALUES = "the array has a shape and a dtype and no values: a shape function may not read them"


class ValueReadError(RuntimeError):
    """A shape function asks for a value."""


def _raise(*args, **kwargs):
    raise ValueReadError(_NO_VALUES)


# Functions of arrays whose answer shows values.
_READERS = {
    np.allclose, np.array_equal, np.array_equiv, np.nonzero, np.argwhere, np.flatnonzero, np.unique,
    np.array_str, np.array_repr, np.array2string, np.where, np.extract, np.compress, np.count_nonzero,
}  # fmt: skip


class FakeArray:
    """In the place of an array; with is_scalar in the place of a NumPy scalar."""

    __slots__ = ("_zeros", "is_scalar")
    __hash__ = None

    def __init__(self, shape, dtype, is_scalar=False):
        self._zeros = np.broadcast_to(np.zeros((), dtype), shape)
        self.is_scalar = is_scalar

    def stands_for(self, kind):
        """Whether a value of that type may be here."""
        kinds = kind if isinstance(kind, tuple) else (kind,)
        if not self.is_scalar:
            return np.ndarray in kinds
        return any(issubclass(self.dtype.type, one) for one in kinds)

    shape = property(lambda self: self._zeros.shape)
    dtype = property(lambda self: self._zeros.dtype)
    ndim = property(lambda self: self._zeros.ndim)
    size = property(lambda self: self._zeros.size)
    itemsize = property(lambda self: self._zeros.itemsize)
    nbytes = property(lambda self: self._zeros.nbytes)
    T = property(lambda self: _faked(self._zeros.T))
    real = property(lambda self: _faked(self._zeros.real))
    imag = property(lambda self: _faked(self._zeros.imag))

    def __repr__(self):
        return f"FakeArray(shape={self.shape}, dtype={self.dtype})"

    def __len__(self):
        return len(self._zeros)

    def __getitem__(self, key):
        for one in key if isinstance(key, tuple) else (key,):
            if isinstance(one, FakeArray) and one.dtype == bool:
                _raise()
        return _faked(self._zeros[_shown(key)])

    def __setitem__(self, key, value):
        np.empty(self.shape, self.dtype)[_shown(key)] = _shown(value)

    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        if "out" in kwargs:
            raise TypeError("a shape function writes to no array: leave out= away")
        return _compute(getattr(ufunc, method), inputs, kwargs)

    def __array_function__(self, function, types, args, kwargs):
        if function in _READERS and not (function is np.where and len(args) == 3):
            _raise()
        return _compute(function, args, kwargs)

    __bool__ = __int__ = __float__ = __complex__ = __index__ = __iter__ = __contains__ = _raise
    __array__ = item = tolist = tobytes = nonzero = tofile = dump = dumps = __format__ = _raise


def _compute(function, args, kwargs):
    with np.errstate(all="ignore"):
        return _faked(function(*map(_shown, args), **{k: _shown(v) for k, v in kwargs.items()}))


def _shown(value):
    """Zeros in the place of fake arrays."""
    if isinstance(value, FakeArray):
        return value._zeros[()] if value.is_scalar else value._zeros
    if isinstance(value, (tuple, list)):
        return type(value)(map(_shown, value))
    return value


def _faked(value):
    if isinstance(value, np.ndarray):
        return FakeArray(value.shape, value.dtype)
    if isinstance(value, np.generic):
        return FakeArray((), value.dtype, is_scalar=True)
    if type(value) in (tuple, list):
        return type(value)(map(_faked, value))
    return value


def _add_operator(name):
    def operator(self, *others):
        with np.errstate(all="ignore"):
            result = getattr(_shown(self), name)(*map(_shown, others))
        return NotImplemented if result is NotImplemented else _faked(result)

    setattr(FakeArray, name, operator)


def _add_method(name):
    def method(self, *args, **kwargs):
        return _compute(getattr(_shown(self), name), args, kwargs)

    setattr(FakeArray, name, method)


for _name in ("add sub mul truediv floordiv mod pow matmul and or xor lshift rshift divmod").split():
    _add_operator(f"__{_name}__")
    _add_operator(f"__r{_name}__")
for _name in "neg pos abs invert lt le eq ne gt ge".split():
    _add_operator(f"__{_name}__")
for _name in (
    "all any argmax argmin argsort astype clip conj conjugate copy cumprod cumsum diagonal dot flatten "
    "max mean min prod ravel repeat reshape round searchsorted squeeze std sum swapaxes take trace "
    "transpose var view"
).split():
    _add_method(_name)
del _name
