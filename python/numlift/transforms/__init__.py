"""Derivatives and batches of functions: docs/transforms.md is the manual.

A transformed function is compiled when it is called. Inside compiled functions the tracer goes into the code of
`inside`, so that a transform and what is around it are one graph.
"""

import functools
import types

import numpy as np

from .. import _core
from .._core import Unsupported
from . import inside, trees
from .intrinsics import Restarted

__all__ = ["grad", "hessian", "jacobian", "jvp", "value_and_grad", "vjp", "vmap"]


class Transformed:
    """A function made of another one by a transform."""

    def __init__(self, fun, kind, argnums=0, has_aux=False, in_axes=0, out_axes=0):
        self.fun = fun
        self.kind = kind
        self.argnums = argnums
        self.has_aux = has_aux
        self.in_axes = in_axes
        self.out_axes = out_axes

    def __call__(self, /, *args, **kwargs):
        return _apply(self, *args, **kwargs)

    def __repr__(self):
        return f"numlift.{self.kind}({self.fun!r})"


# ---------------------------------------------------------------- calls from plain Python


def _apply(transformed, /, *args, **kwargs):
    entry = _entry_of(transformed)
    try:
        with np.errstate(all="ignore"):
            return entry(transformed, *args, **kwargs)
    except Restarted:
        pass
    except Unsupported as error:
        if error.category == "recompile_limit":
            # So many kinds of arguments: the oldest programs go.
            _entries.pop(_key_of(transformed), None)
            return _apply(transformed, *args, **kwargs)
        if error.category != "would_raise":
            raise
        _raise_as_plain(transformed, args, kwargs)
        raise
    return _once_more(transformed, args, kwargs)


def _inside(transformed, /, *args, **kwargs):
    raise Restarted


def _entry(transformed, /, *args, **kwargs):
    return _inside(transformed, *args, **kwargs)


def _new_entry():
    # A function of its own: the versions that are compiled of it are for one user's function.
    return _core.compile(types.FunctionType(_entry.__code__, globals()), fullgraph=True, dynamic=None, backend="llvm")


_entries = {}  # by code, the least recently used first
_MOST_ENTRIES = 256


def _key_of(transformed):
    """What is compiled for one function serves all functions of its code."""
    kinds = []
    fun = transformed
    while isinstance(fun, Transformed):
        kinds.append((fun.kind, repr(fun.argnums), fun.has_aux, repr(fun.in_axes), repr(fun.out_axes)))
        fun = fun.fun
    fun = getattr(fun, "__wrapped__", fun)
    if not isinstance(fun, (np.ufunc, types.BuiltinFunctionType)):
        fun = getattr(getattr(fun, "__func__", fun), "__code__", type(fun))
    return fun, *kinds


def _entry_of(transformed):
    key = _key_of(transformed)
    entry = _entries.pop(key, None) or _new_entry()
    _entries[key] = entry
    while len(_entries) > _MOST_ENTRIES:
        _entries.pop(next(iter(_entries)), None)
    return entry


def _once_more(transformed, args, kwargs):
    """The program met something that it was not made for: the function raises, or a size is another."""
    from ..hatches import set_stance

    _raise_as_plain(transformed, args, kwargs)
    with set_stance("default"), np.errstate(all="ignore"):
        try:
            return _new_entry()(transformed, *args, **kwargs)
        except Restarted:
            raise RuntimeError(f"{transformed!r} meets an error that the function itself does not") from None


def _raise_as_plain(transformed, args, kwargs):
    """Calls the function itself, so that what it raises is its own."""
    fun = transformed.fun
    if isinstance(fun, Transformed):
        return
    if transformed.kind in ("jvp", "pullback"):
        args, kwargs = args[0], {}
    if transformed.kind == "vmap":
        axes = transformed.in_axes
        axes = [axes] * len(args) if axes is None or isinstance(axes, int) else axes
        args = [_first(arg, axis) for arg, axis in zip(args, axes)]
        kwargs = {key: _first(value, 0) for key, value in kwargs.items()}
    fun(*args, **kwargs)


def _first(value, axes):
    leaves = []
    structure = trees.flatten(value, leaves)
    along = trees.prefix(axes, structure)
    return trees.unflatten(structure, [x if a is None else np.take(x, 0, a) for x, a in zip(leaves, along)])


# The tracer goes into the code of `inside` for both.
for _fn in (_apply, _inside):
    _core.set_mark(_fn, "stood_for", inside.call, "a transformed function")
del _fn


# ---------------------------------------------------------------- what users call


def _check(name, fun, argnums=0):
    if not callable(fun):
        raise TypeError(f"numlift.{name} takes a callable, not {type(fun).__name__}")
    places = argnums if isinstance(argnums, tuple) else (argnums,)
    if not places or any(isinstance(place, bool) or not isinstance(place, int) for place in places):
        raise TypeError(f"argnums of numlift.{name} is an int or a tuple of ints, not {argnums!r}")


def grad(fun, argnums=0, has_aux=False):
    """A function that gives the gradient of `fun`, whose result is one real number.

    argnums: the position of the argument, or a tuple of positions; the gradient has the structure of that
    argument (tuples, lists, dicts, dataclasses of arrays and floats). has_aux: `fun` gives (result, auxiliary
    data), and the gradient function (gradient, auxiliary data).

    Whatever else `fun` reads is constant. The arguments are copies for `fun`: what it stores into them is not seen
    outside. For complex z = x + iy the gradient is df/dx - i df/dy. No floating-point warnings are given.
    """
    _check("grad", fun, argnums)
    return Transformed(fun, "grad", argnums, bool(has_aux))


def value_and_grad(fun, argnums=0, has_aux=False):
    """As `grad`; the function gives (result, gradient), or ((result, auxiliary data), gradient)."""
    _check("value_and_grad", fun, argnums)
    return Transformed(fun, "value_and_grad", argnums, bool(has_aux))


def jacobian(fun, argnums=0, has_aux=False):
    """A function that gives all derivatives of `fun`: arrays of the result's shape, then the argument's."""
    _check("jacobian", fun, argnums)
    return Transformed(fun, "jacobian", argnums, bool(has_aux))


def hessian(fun, argnums=0, has_aux=False):
    """A function that gives all second derivatives of `fun`."""
    _check("hessian", fun, argnums)
    first = Transformed(fun, "jacobian", argnums, bool(has_aux))
    return Transformed(first, "jacobian", argnums, bool(has_aux))


def jvp(fun, primals, tangents, has_aux=False):
    """(fun(*primals), how the result changes when the arguments change by the tangents)

    With has_aux, `fun` gives (result, auxiliary data), which comes as a third item.
    """
    return Transformed(fun, "jvp", 0, bool(has_aux))(primals, tangents)


def vjp(fun, *primals, has_aux=False):
    """(fun(*primals), a function that takes a cotangent of the result and gives a tuple of the arguments')

    With has_aux, `fun` gives (result, auxiliary data), which comes as a third item. Called from plain Python, the
    arguments are copied, and the function computes `fun` again each time.
    """
    if _core_is_compiling():
        return inside.vjp(fun, primals, has_aux)
    return _plain_vjp(fun, primals, bool(has_aux))


def _plain_vjp(fun, primals, has_aux):
    _check("vjp", fun)
    leaves = []
    structure = trees.flatten(primals, leaves)

    def copies():
        return trees.unflatten(structure, [np.copy(x) if isinstance(x, np.ndarray) else x for x in leaves])

    kept = copies()
    result = Transformed(fun, "value")(*copies())
    if has_aux and (type(result) is not tuple or len(result) != 2):
        raise TypeError("numlift.vjp with has_aux=True: the function gives no pair (result, auxiliary data)")
    pull = functools.partial(Transformed(fun, "pullback", 0, has_aux), kept)
    return (result[0], pull, result[1]) if has_aux else (result, pull)


def _core_is_compiling():
    """True in code that is being traced."""
    return False


_core.set_mark(_core_is_compiling, "is_compiling", None, "numlift.is_compiling")


def vmap(fun, in_axes=0, out_axes=0):
    """A function that does what `fun` does for each of a batch of arguments.

    in_axes: the axis of the arguments to map over, None for those that are the same for all, or a tuple of one a
    positional argument; where an argument is a container, containers of these. Keyword arguments are mapped over
    axis 0. out_axes: where the batch lies in the results.
    """
    _check("vmap", fun)
    return Transformed(fun, "vmap", 0, False, in_axes, out_axes)
