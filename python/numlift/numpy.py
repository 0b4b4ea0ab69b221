"""NumPy's functions, each run by numlift alone: one operation at a time, for debugging.

    import numlift.numpy as np

A program that goes wrong when it is compiled, yet is right with this namespace in NumPy's place and without
numlift.compile, has its fault in the capture of the program; if it is wrong here, too, one operation is at
fault, and nothing else is needed to show it. Each call is compiled by itself (and kept), so that this is slow.

Everything NumPy has is here. Functions, ufuncs and the methods, operators and indexing of the arrays that
they return are carried out by numlift; arrays are of the class `ndarray` of this module, a subclass of
NumPy's that nobody else need know: `isinstance(anything, np.ndarray)` asks for NumPy's. All else (dtypes,
scalars, constants, exceptions) is NumPy's own.
"""

import functools
import sys
import types

import numpy as _numpy

from . import _core

# Programs for one kind of operation and arguments; past this many the oldest kinds start anew.
_MOST_PROGRAMS = 4096

_PROGRAMS = {}


def _kind(value):
    """Tells apart what needs a program of its own, so that no program is ever compiled again and again."""
    if isinstance(value, _numpy.ndarray):
        return (value.dtype, value.ndim, value.flags.c_contiguous, value.flags.f_contiguous, value.flags.writeable)
    if isinstance(value, (tuple, list)):
        return (type(value), *map(_kind, value))
    if isinstance(value, dict):
        return tuple((key, _kind(one)) for key, one in value.items())
    if isinstance(value, slice):
        return (slice, _kind(value.start), _kind(value.stop), _kind(value.step))
    return type(value) if isinstance(value, (int, float, complex, _numpy.generic)) else repr(value)


# `plain`, by id: an array of ours and the plain one in its place. (No closures: these would keep the arrays
# alive until the collector runs.)
def _strip(value, plain):
    if type(value) is ndarray:
        stripped = value.view(_numpy.ndarray)
        plain[id(stripped)] = (value, stripped)
        return stripped
    if type(value) in (tuple, list):
        return type(value)(_strip(item, plain) for item in value)
    if type(value) is dict:
        return {key: _strip(one, plain) for key, one in value.items()}
    return value


def _dress(value, plain):
    if type(value) is _numpy.ndarray:
        return plain[id(value)][0] if id(value) in plain else value.view(ndarray)
    if isinstance(value, (tuple, list)):
        dressed = [_dress(item, plain) for item in value]
        if all(one is other for one, other in zip(dressed, value)):
            return value
        # A named tuple, as numpy.linalg gives them, is made of its items one by one.
        return type(value)(*dressed) if hasattr(value, "_fields") else type(value)(dressed)
    return value


def _run(operation, function, args, kwargs):
    """function(*args, **kwargs) as a program of its own. `operation` names what `function` does."""
    plain = {}
    args, kwargs = _strip(args, plain), _strip(kwargs, plain)
    key = (operation, _kind(args), _kind(kwargs), repr(_numpy.geterr()))
    program = _PROGRAMS.pop(key, None)
    if program is None:
        program = _core.compile(_one_call(function), fullgraph=False, dynamic=None, backend="llvm")
        while len(_PROGRAMS) >= _MOST_PROGRAMS:
            del _PROGRAMS[next(iter(_PROGRAMS))]
    _PROGRAMS[key] = program
    return _dress(program(*args, **kwargs), plain)


def _one_call(function):
    def one_operation(*args, **kwargs):
        return function(*args, **kwargs)

    return one_operation


class _InPlaceOfNumPys(type):
    """What is of NumPy's class counts as of ours: the program asks for arrays, wherever they came from."""

    def __instancecheck__(cls, value):
        return isinstance(value, _numpy.ndarray)

    def __subclasscheck__(cls, other):
        return issubclass(other, _numpy.ndarray)


class ndarray(_numpy.ndarray, metaclass=_InPlaceOfNumPys):
    """An array whose operators, methods and functions numlift carries out."""

    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        function = ufunc if method == "__call__" else getattr(ufunc, method)
        return _run((ufunc, method), function, inputs, _plain_out(kwargs))

    def __array_function__(self, function, types, args, kwargs):
        return _run(function, function, args, kwargs)


def _plain_out(kwargs):
    """Without the tuple that NumPy makes of one out=."""
    out = kwargs.get("out")
    if type(out) is tuple and len(out) == 1:
        kwargs = {**kwargs, "out": out[0]}
    return kwargs


def _method(name):
    original = getattr(_numpy.ndarray, name)

    # By its name, as a program would call it.
    call = eval(f"lambda self, *args, **kwargs: self.{name}(*args, **kwargs)")

    @functools.wraps(original, assigned=("__name__", "__doc__"))
    def method(self, *args, **kwargs):
        return _run(("method", name), call, (self, *args), kwargs)

    return method


# These look at the object itself or make another of it: there is no operation in them.
_NOT_OPERATIONS = {"view", "setflags", "dump", "dumps", "tofile", "setfield", "getfield", "data"}

for _name, _value in vars(_numpy.ndarray).items():
    if not _name.startswith("_") and callable(_value) and _name not in _NOT_OPERATIONS:
        setattr(ndarray, _name, _method(_name))
del _name, _value


def _get_item(self, index):
    return self[index]


def _set_item(self, index, value):
    self[index] = value


ndarray.__getitem__ = lambda self, index: _run("getitem", _get_item, (self, index), {})
ndarray.__setitem__ = lambda self, index, value: _run("setitem", _set_item, (self, index, value), {})


class _Ufunc:
    """A ufunc of NumPy's, carried out by numlift whatever its arguments are."""

    def __init__(self, ufunc):
        self._ufunc = ufunc
        functools.update_wrapper(self, ufunc, assigned=("__name__", "__doc__"), updated=())

    def __call__(self, *args, **kwargs):
        return _run((self._ufunc, "__call__"), self._ufunc, args, kwargs)

    def __getattr__(self, name):
        value = getattr(self._ufunc, name)
        return _function((self._ufunc, name), value) if callable(value) else value

    def __repr__(self):
        return repr(self._ufunc)


def _function(operation, function):
    @functools.wraps(function, assigned=("__name__", "__doc__", "__module__"))
    def call(*args, **kwargs):
        return _run(operation, function, args, kwargs)

    return call


class _Namespace(types.ModuleType):
    """A module of NumPy's with its functions replaced, made as they are asked for."""

    def __init__(self, module):
        super().__init__(__name__ + module.__name__.removeprefix("numpy"), module.__doc__)
        self.__dict__["_module"] = module

    def __getattr__(self, name):
        return _replaced(self, self._module, name)

    def __dir__(self):
        return dir(self._module)


# Its functions change what is around a program, or look at it: they are called as they are.
_AS_THEY_ARE = {
    *("errstate", "seterr", "geterr", "seterrcall", "geterrcall", "printoptions", "set_printoptions"),
    *("get_printoptions", "test", "show_config", "show_runtime", "info", "get_include", "setbufsize", "getbufsize"),
    *("default_rng", "seed", "get_state", "set_state"),
}


def _replaced(namespace, module, name):
    value = getattr(module, name)
    if isinstance(value, types.ModuleType):
        if not value.__name__.startswith("numpy."):
            raise AttributeError(f"module {namespace.__name__!r} has no attribute {name!r}")
        value = _Namespace(value)
    elif isinstance(value, _numpy.ufunc):
        value = _Ufunc(value)
    elif callable(value) and not isinstance(value, type) and name not in _AS_THEY_ARE:
        value = _function(value, value)
    vars(namespace)[name] = value
    return value


def __getattr__(name):
    if name.startswith("__") and name != "__version__":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return _replaced(sys.modules[__name__], _numpy, name)


def __dir__():
    return sorted({*dir(_numpy), "ndarray"})
