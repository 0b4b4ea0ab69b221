"""Custom operators: functions that compiled code calls as one operation and never looks into.

    @numlift.custom_op("mylib::square", mutates_args=())
    def square(x: np.ndarray) -> np.ndarray:
        return my_extension.square(x)

    @square.register_fake
    def _(x):
        return np.empty_like(x)

The shape function tells the compiler what kind of result a call gives.
"""

import functools
import inspect
import re
import threading
import typing

import numpy as np

from . import _core
from ._core import EscapeHatchError
from .fake_array import FakeArray
from .hatches import arrays_in, same_value

__all__ = ["CustomOp", "custom_op"]

_NAME = re.compile(r"[A-Za-z_]\w*::[A-Za-z_]\w*\Z")
_KNOWN_RESULTS = 256

# What a parameter may be annotated with, and what is then accepted.
_KINDS = {
    np.ndarray: np.ndarray,
    int: (int, np.integer),
    float: (float, int, np.floating, np.integer),
    complex: (complex, float, int, np.number),
    bool: (bool, np.bool_),
    str: str,
    bytes: bytes,
    list: list,
    tuple: tuple,
    dict: dict,
    np.dtype: np.dtype,
}

_registered = {}
_lock = threading.Lock()


def _annotations(fn):
    try:
        return inspect.get_annotations(fn, eval_str=True)
    except Exception:
        return inspect.get_annotations(fn)


def _kind_of(annotation, parameter, name):
    """The type that an argument must have; None: any."""
    if annotation is inspect.Parameter.empty or isinstance(annotation, str):
        return None
    origin = getattr(annotation, "__origin__", annotation)
    if isinstance(origin, type) and origin in _KINDS:
        return _KINDS[origin]
    members = getattr(annotation, "__args__", None)
    # Union, Optional, A | B, whose class is typing.Union in newer versions.
    if members and (origin is typing.Union or not isinstance(origin, type)):
        none = type(None)
        kinds = [none if one in (None, none) else _kind_of(one, parameter, name) for one in members]
        if None in kinds:
            return None
        return tuple(k for kind in kinds for k in (kind if isinstance(kind, tuple) else (kind,)))
    raise TypeError(
        f"operator {name}: parameter {parameter!r} is annotated with {annotation!r}, which is none of "
        + ", ".join(kind.__name__ for kind in _KINDS)
    )


class CustomOp:
    """What custom_op() makes: a callable with register_fake, register_autograd, register_vmap."""

    def __init__(self, name, fn, mutates_args):
        self.namespace, self.name = name.split("::")
        self._qualname = name
        self._fn = fn
        self._signature = inspect.signature(fn)
        annotations = _annotations(fn)
        self._kinds = {}
        for parameter in self._signature.parameters.values():
            if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
                raise TypeError(
                    f"operator {name}: parameter {parameter.name!r} has no fixed number of arguments"
                )
            annotation = annotations.get(parameter.name, inspect.Parameter.empty)
            self._kinds[parameter.name] = _kind_of(annotation, parameter.name, name)
        parameters = list(self._signature.parameters)
        for one in mutates_args:
            if one not in parameters:
                raise ValueError(f"operator {name}: mutates_args names {one!r}, which is no parameter")
        self._keyword_only = tuple(
            one.name for one in self._signature.parameters.values() if one.kind is one.KEYWORD_ONLY
        )
        self._mutated = tuple(i for i, one in enumerate(parameters) if one in mutates_args)
        self._fake = self.backward = self.setup_context = self.vmap = None
        self._promised = {}  # kinds of results that are as promised, by kind of arguments
        functools.update_wrapper(self, fn)

    def __repr__(self):
        return f"<numlift.CustomOp {self._qualname}>"

    # ------------------------------------------------------------ registering

    def _register(self, hatch, fn):
        if not callable(fn):
            raise TypeError(f"{self._qualname}.{hatch} takes a function, not {type(fn).__name__}")
        return fn

    def register_fake(self, fn):
        """`fn` gets the operator's arguments, arrays without values, and returns a result of the kind
        that the operator returns."""
        self._fake = self._register("register_fake", fn)
        self._promised.clear()
        _core.drop_entries()
        return fn

    def register_autograd(self, backward, /, *, setup_context=None):
        """Keeps the rule for gradients: backward(ctx, *grads), and setup_context(ctx, inputs, output)."""
        if setup_context is not None:
            self._register("register_autograd", setup_context)
        self.backward = self._register("register_autograd", backward)
        self.setup_context = setup_context
        return backward

    def register_vmap(self, fn):
        """Keeps the rule for batches: fn(info, in_dims, *args) -> (result, out_dims)."""
        self.vmap = self._register("register_vmap", fn)
        return fn

    @property
    def has_fake(self):
        return self._fake is not None

    # ------------------------------------------------------------ calls

    def __call__(self, *args, **kwargs):
        if kwargs or len(args) != len(self._kinds) or self._keyword_only:
            bound = self._signature.bind(*args, **kwargs)
            bound.apply_defaults()
            args = bound.arguments.values()
        return self._run(*args)

    def _check_arguments(self, args):
        for (name, kind), value in zip(self._kinds.items(), args):
            if kind is None or isinstance(value, kind):
                continue
            if isinstance(value, FakeArray) and (value.stands_for(kind)):
                continue
            wanted = kind if isinstance(kind, type) else kind[0]
            raise TypeError(
                f"{self._qualname}: argument {name!r} is a {type(value).__name__}, not {wanted.__name__}"
            )

    def _call(self, args):
        """fn(*args), with one argument for each parameter."""
        count = len(args) - len(self._keyword_only)
        return args[:count], dict(zip(self._keyword_only, args[count:]))

    def _run(self, *args):
        self._check_arguments(args)
        positional, keywords = self._call(args)
        if not _core.checks_escape_hatches():
            return self._fn(*positional, **keywords)
        names = list(self._signature.parameters)
        watched = [
            (f"argument {names[i]!r}{path[1:]}", array, array.copy())
            for i, value in enumerate(args)
            if i not in self._mutated
            for path, array in arrays_in(value, "_")
        ]
        result = self._fn(*positional, **keywords)
        for what, array, before in watched:
            if not same_value(array, before):
                raise EscapeHatchError(f"{self._qualname} changes {what}, which mutates_args does not name")
        return result

    # ------------------------------------------------------------ for the compiler

    def _bind(self, positional, names):
        """Where each parameter's argument stands in positional ones followed by `names`: its index,
        or (default,)."""
        keywords = {name: positional + i for i, name in enumerate(names)}
        bound = self._signature.bind(*range(positional), **keywords)
        return tuple(
            bound.arguments[name] if name in bound.arguments else (parameter.default,)
            for name, parameter in self._signature.parameters.items()
        )

    @staticmethod
    def _fake_array(shape, dtype, is_scalar):
        return FakeArray(shape, dtype, is_scalar)

    def _promise(self, args):
        positional, keywords = self._call(args)
        return self._fake(*positional, **keywords)

    def _plan(self, args):
        """(what compiled code calls, a result of the kind it gives, which arguments are changed)."""
        self._check_arguments(args)
        promised = _real(self._promise(args), f"the shape function of {self._qualname}")
        if not self._mutated:
            return self._run_checked, promised, ()
        changed = tuple(i for i in self._mutated if args[i] is not None)
        copies = tuple(np.empty(args[i].shape, args[i].dtype) for i in changed)
        run = functools.partial(self._run_on_copies, changed)
        return run, (promised, *copies), changed

    def _run_checked(self, *args):
        result = self._run(*args)
        self._check_result(args, result)
        return result

    def _run_on_copies(self, changed, *args):
        args = list(args)
        for i in changed:
            args[i] = args[i].copy()
        result = self._run(*args)
        self._check_result(args, result)
        return (result, *(args[i] for i in changed))

    def _check_result(self, args, result):
        for path, array in arrays_in(result):
            for _, given in arrays_in(args):
                if np.may_share_memory(array, given):
                    raise EscapeHatchError(f"{self._qualname}: {path} shares memory with an argument")
        key = _kind_key(args)
        found = _result_kind(result)
        if key is not None and self._promised.get(key) == found:
            return
        promise = self._promise([_fake(value) for value in args])
        if _result_kind(promise) != found:
            raise EscapeHatchError(
                f"{self._qualname} returned {_kind_text(result)}, "
                f"and its shape function promised {_kind_text(promise)}"
            )
        if key is not None:
            if len(self._promised) >= _KNOWN_RESULTS:
                self._promised.clear()
            self._promised[key] = found


def _fake(value):
    if isinstance(value, np.ndarray):
        return FakeArray(value.shape, value.dtype)
    if isinstance(value, np.generic):
        return FakeArray((), value.dtype, is_scalar=True)
    if isinstance(value, (tuple, list)):
        return type(value)(_fake(item) for item in value)
    if isinstance(value, dict):
        return {key: _fake(item) for key, item in value.items()}
    return value


def _real(value, what):
    """Arrays and scalars in the place of fake ones."""
    if isinstance(value, FakeArray):
        return value.dtype.type() if value.is_scalar else np.empty(value.shape, value.dtype)
    if type(value) in (tuple, list):
        return type(value)(_real(item, what) for item in value)
    if type(value) is np.ndarray or isinstance(value, np.generic):
        return np.empty(value.shape, value.dtype) if isinstance(value, np.ndarray) else value
    if value is None or type(value) in (bool, int, float, complex):
        return value
    raise TypeError(f"{what} returns a {type(value).__name__}")


def _kind_key(value):
    """Hashable, and the same for arguments that the shape function cannot tell apart; None: unknown."""
    if isinstance(value, np.ndarray):
        return (value.dtype, value.shape)
    if isinstance(value, np.generic):
        return (np.generic, value.dtype)
    if isinstance(value, (tuple, list)):
        keys = tuple(map(_kind_key, value))
        return None if None in keys else (type(value), keys)
    if value is None or isinstance(value, (bool, int, float, complex, str, bytes)):
        return (type(value), repr(value))
    return None


def _result_kind(value):
    """Equal for results of one structure, and of the same dtypes and shapes."""
    if isinstance(value, (np.ndarray, FakeArray)):
        is_scalar = isinstance(value, FakeArray) and value.is_scalar
        return (np.generic, value.dtype) if is_scalar else (np.ndarray, value.dtype, value.shape)
    if isinstance(value, np.generic):
        return (np.generic, value.dtype)
    if isinstance(value, (tuple, list)):
        return (type(value), *map(_result_kind, value))
    return type(value)


def _kind_text(value):
    if isinstance(value, FakeArray) and value.is_scalar:
        return f"a NumPy scalar {value.dtype}"
    if isinstance(value, (np.ndarray, FakeArray)):
        return f"an array {value.dtype} of shape {tuple(value.shape)}"
    if isinstance(value, np.generic):
        return f"a NumPy scalar {value.dtype}"
    if isinstance(value, (tuple, list)):
        return f"a {type(value).__name__} of ({', '.join(map(_kind_text, value))})"
    return "None" if value is None else f"a {type(value).__name__}"


def custom_op(name, fn=None, /, *, mutates_args):
    """Registers `fn` as the operator `name` ("namespace::name"). Usable as a decorator.

    `mutates_args` names the parameters whose arrays it writes to; everything else it leaves as it is.
    """
    if not isinstance(name, str):
        raise TypeError(f"an operator's name is a str, not {type(name).__name__}")
    if not _NAME.match(name):
        raise ValueError(f"an operator's name has the form namespace::name, not {name!r}")
    if isinstance(mutates_args, str):
        raise TypeError("mutates_args is a collection of names, such as ('out',)")
    mutated = tuple(mutates_args)
    if fn is None:
        return lambda inner: custom_op(name, inner, mutates_args=mutated)
    if not callable(fn):
        raise TypeError(f"numlift.custom_op takes a function, not {type(fn).__name__}")
    op = CustomOp(name, fn, mutated)
    with _lock:
        if name in _registered:
            raise ValueError(f"there is an operator {name} already")
        _registered[name] = op
    _core.set_mark(op, "custom_op", None, name)
    return op
