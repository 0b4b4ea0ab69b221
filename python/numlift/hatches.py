"""Escape hatches: what the user says about single functions, and about compilation as a whole.

The table of marks is in the extension; here are the names that users call. docs/hatches.md is the
manual.
"""

import contextlib
import copy
import functools
import types
import weakref

import numpy as np

from . import _core, config
from ._core import EscapeHatchError

__all__ = [
    "allow_in_graph",
    "assume_constant_result",
    "disable",
    "disallow_in_graph",
    "extract_state",
    "functional_call",
    "graph_break",
    "is_compiling",
    "mark_dynamic",
    "mark_static",
    "nonstrict_trace",
    "set_stance",
    "skip",
]


def name_of(fn):
    """The function's name for messages: "module.name"."""
    name = getattr(fn, "__qualname__", None) or getattr(fn, "__name__", None) or type(fn).__name__
    module = getattr(fn, "__module__", None)
    return f"{module}.{name}" if isinstance(module, str) and module != "builtins" else name


def _check_callable(hatch, fn):
    if not callable(fn):
        raise TypeError(f"numlift.{hatch} takes a callable, not {type(fn).__name__}")


def _copy_function(fn, code):
    new = types.FunctionType(code, fn.__globals__, fn.__name__, fn.__defaults__, fn.__closure__)
    new.__kwdefaults__ = copy.copy(fn.__kwdefaults__)
    return functools.update_wrapper(new, fn)


def _marked_copy(fn, mark, text, code=None, target=None):
    """A callable that does what `fn` does, with a mark of its own: `fn` itself keeps none."""
    if isinstance(fn, types.FunctionType):
        # With a code object of its own, so that no guard takes one for the other.
        new = _copy_function(fn, code or fn.__code__.replace())
    else:

        def new(*args, **kwargs):
            return fn(*args, **kwargs)

        functools.update_wrapper(new, fn, updated=())
    _core.set_mark(new, mark, target, text)
    return new


def _plain(fn):
    return fn.__wrapped__ if isinstance(fn, _core.CompiledFunction) else fn


def _for_methods(hatch, fn):
    """staticmethod and classmethod objects get the hatch around the function inside."""
    if isinstance(fn, (staticmethod, classmethod)):
        return type(fn)(hatch(fn.__func__))
    return None


# ---------------------------------------------------------------- running in Python


def disable(fn=None, *, recursive=True, reason=None):
    """A callable that does what `fn` does and is never compiled, nor is what it calls.

    With recursive=False the functions that it calls are compiled when they are called. `reason` is
    shown where compiled code breaks because of it. Usable as a decorator, with arguments or without.
    """
    if reason is not None and not isinstance(reason, str):
        raise TypeError(f"reason is a str, not {type(reason).__name__}")
    if fn is None:
        return functools.partial(disable, recursive=recursive, reason=reason)
    inner = _for_methods(functools.partial(disable, recursive=recursive, reason=reason), fn)
    if inner is not None:
        return inner
    _check_callable("disable", fn)
    fn = _plain(fn)
    text = f"{name_of(fn)} is under numlift.disable"
    if not recursive:
        text = f"{name_of(fn)} is under numlift.skip"
    if reason:
        text += f": {reason}"
    if isinstance(fn, type):
        _change_mark(fn, "disabled", None, text)
        return fn
    code = None
    if not recursive and isinstance(fn, types.FunctionType):
        code = _core.code_with_wrapped_callees(fn.__code__, _compiled_callee)
    # The target says that in a compile_region what the function calls is looked at.
    return _marked_copy(fn, "disabled", text, code, None if recursive else _compiled_callee)


def skip(fn=None, *, reason=None):
    """`disable(fn, recursive=False)`: Python runs `fn`; the functions that it calls are compiled."""
    return disable(fn, recursive=False, reason=reason)


_compiled_callees = weakref.WeakKeyDictionary()


def _compiled_callee(value):
    """What a function under skip() calls in place of `value`."""
    if type(value) is types.MethodType:
        function = _compiled_callee(value.__func__)
        return value if function is value.__func__ else types.MethodType(function, value.__self__)
    if type(value) is not types.FunctionType or config.disable or _core.is_marked(value):
        return value
    compiled = _compiled_callees.get(value)
    if compiled is None:
        module = value.__globals__.get("__name__")
        if isinstance(module, str) and module.split(".")[0] in ("numpy", "numlift"):
            return value
        from . import compile

        compiled = compile(value)
        # The function is the key: the compiled one must not keep it alive by way of the table.
        _compiled_callees[value] = compiled
    return compiled


def graph_break(msg=""):
    """Compiled code breaks here. In plain Python it does nothing."""


def is_compiling():
    """True in code that is being compiled, and so in compiled code; False in plain Python."""
    return False


# ---------------------------------------------------------------- operations of a graph


def _change_mark(fn, mark, target, text):
    _core.set_mark(fn, mark, target, text)
    _core.drop_entries()


def _each(hatch, fn):
    return type(fn)(hatch(one) for one in fn)


def allow_in_graph(fn):
    """Makes calls of `fn` one operation of the graph, whose code is not looked into.

    Also undoes disallow_in_graph. A list or tuple of functions gives a list or tuple. The user
    promises that the result depends on the arguments only and that the function changes nothing
    outside; config.check_escape_hatches looks whether it is so.
    """
    if isinstance(fn, (list, tuple)):
        return _each(allow_in_graph, fn)
    _check_callable("allow_in_graph", fn)
    if _core.clear_mark(fn):
        _core.drop_entries()
    if _is_known(fn):
        return fn
    _change_mark(fn, "allowed", _allowed_target(fn), name_of(fn))
    _allowed.add(fn)
    return fn


def _allowed_target(fn):
    """What compiled code calls in place of `fn`; None: fn itself."""
    return checked(_plain(fn)) if config.check_escape_hatches else None


class _Allowed:
    """The functions under allow_in_graph, to mark them anew when checking is switched on or off."""

    def __init__(self):
        self.references = []

    def add(self, fn):
        try:
            self.references.append(weakref.ref(fn, self._forget))
        except TypeError:
            self.references.append(lambda: fn)

    def _forget(self, reference):
        self.references.remove(reference)

    def refresh(self):
        for reference in list(self.references):
            fn = reference()
            if fn is not None and _core.is_marked(fn):
                _core.set_mark(fn, "allowed", _allowed_target(fn), name_of(fn))
        _core.drop_entries()


_allowed = _Allowed()
config._on_change["check_escape_hatches"] = _allowed.refresh


def _is_known(fn):
    """NumPy's own functions, methods of arrays and scalars, and builtins have rules already."""
    if isinstance(fn, np.ufunc):
        return True
    if issubclass(getattr(fn, "__objclass__", object), (np.ndarray, np.generic)):
        return True
    module = getattr(fn, "__module__", None) or ""
    return module.split(".")[0] in ("numpy", "builtins", "math", "operator")


def disallow_in_graph(fn):
    """Calls of `fn`, a NumPy function for instance, are run by CPython wherever they appear.

    A list or tuple of functions gives a list or tuple.
    """
    if isinstance(fn, (list, tuple)):
        return _each(disallow_in_graph, fn)
    _check_callable("disallow_in_graph", fn)
    _change_mark(fn, "disallowed", None, f"numlift.disallow_in_graph({name_of(fn)})")
    return fn


def nonstrict_trace(fn):
    """A callable that does what `fn` does; inside it graph_break() has no effect.

    Its operations are part of the graph around it. What cannot be traced is called as one operation.
    """
    inner = _for_methods(nonstrict_trace, fn)
    if inner is not None:
        return inner
    _check_callable("nonstrict_trace", fn)
    fn = _plain(fn)
    return _marked_copy(fn, "nonstrict", name_of(fn))


def assume_constant_result(fn):
    """A callable that does what `fn` does; compiled code calls it once, while it is compiled."""
    inner = _for_methods(assume_constant_result, fn)
    if inner is not None:
        return inner
    _check_callable("assume_constant_result", fn)
    fn = _plain(fn)
    return _marked_copy(fn, "constant_result", name_of(fn))


# ---------------------------------------------------------------- checks


def arrays_in(value, path="result"):
    """(path, array) of every array in a value of tuples, lists and dicts."""
    if isinstance(value, np.ndarray):
        yield path, value
    elif isinstance(value, (tuple, list)):
        for i, item in enumerate(value):
            yield from arrays_in(item, f"{path}[{i}]")
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from arrays_in(item, f"{path}[{key!r}]")


def same_value(a, b):
    if type(a) is not type(b):
        return False
    if isinstance(a, np.ndarray):
        return a.dtype == b.dtype and a.shape == b.shape and _same_bits(a, b)
    if isinstance(a, (tuple, list)):
        return len(a) == len(b) and all(map(same_value, a, b))
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(same_value(a[key], b[key]) for key in a)
    return a == b or (a != a and b != b)


def _same_bits(a, b):
    if a.dtype.hasobject:
        return bool(np.array_equal(a, b))
    return a.tobytes() == b.tobytes()


def _captured_arrays(fn):
    code = getattr(fn, "__code__", None)
    if code is None:
        return
    for name, cell in zip(code.co_freevars, fn.__closure__ or ()):
        with contextlib.suppress(ValueError):
            yield from arrays_in(cell.cell_contents, f"variable {name}")
    for name in code.co_names:
        if name in fn.__globals__:
            yield from arrays_in(fn.__globals__[name], f"global {name}")
    for value in (fn.__defaults__ or ()) + tuple((fn.__kwdefaults__ or {}).values()):
        yield from arrays_in(value, "a default")


def checked(fn):
    """`fn`, called in a way that finds broken promises: see config.check_escape_hatches."""
    name = name_of(fn)

    def run(*args, **kwargs):
        for path, _ in _captured_arrays(fn):
            raise EscapeHatchError(f"{name} (allow_in_graph) uses an array from outside: {path}")
        first = copy.deepcopy((args, kwargs))
        second = copy.deepcopy((args, kwargs))
        result = fn(*args, **kwargs)
        for (path, now), (_, before) in zip(
            arrays_in((args, kwargs), "arguments"), arrays_in(first, "arguments")
        ):
            if not same_value(now, before):
                raise EscapeHatchError(f"{name} (allow_in_graph) changes {path}")
        if not same_value(result, fn(*second[0], **second[1])):
            raise EscapeHatchError(f"{name} (allow_in_graph) gives another result each time")
        return result

    return run


# ---------------------------------------------------------------- state of objects


def extract_state(obj):
    """{name: value} of the attributes of `obj` that are arrays or numbers."""
    kinds = (np.ndarray, np.generic, bool, int, float, complex)
    return {name: value for name, value in vars(obj).items() if isinstance(value, kinds)}


def functional_call(obj, state, *args, **kwargs):
    """obj(*args, **kwargs) with the attributes in `state`; `obj` stays as it is."""
    other = copy.copy(obj)
    vars(other).update(state)
    return other(*args, **kwargs)


# ---------------------------------------------------------------- sizes


def _axes(array, axes, hatch):
    if type(array) is not np.ndarray:
        raise TypeError(f"numlift.{hatch} takes an array, not {type(array).__name__}")
    if axes is None:
        axes = range(array.ndim)
    elif isinstance(axes, (list, tuple)):
        axes = [_axis(axis, array, hatch) for axis in axes]
    else:
        axes = [_axis(axes, array, hatch)]
    return sum(1 << axis for axis in set(axes))


def _axis(axis, array, hatch):
    if isinstance(axis, bool) or not isinstance(axis, (int, np.integer)):
        raise TypeError(f"numlift.{hatch} takes the numbers of axes, not {type(axis).__name__}")
    if not -array.ndim <= axis < array.ndim:
        raise np.exceptions.AxisError(int(axis), array.ndim)
    return int(axis) % array.ndim


def mark_static(array, axes=None):
    """Code compiled for this very array takes its size along these axes (None: all) as fixed."""
    bits = _axes(array, axes, "mark_static")
    fixed, dynamic = _core.axis_marks(array)
    _core.mark_axes(array, fixed | bits, dynamic & ~bits)


def mark_dynamic(array, axes):
    """Code compiled for this very array must serve any size along these axes.

    That is so by default. Under compile(dynamic=False) the marked axes stay free, and code that fixes
    the size of one raises EscapeHatchError.
    """
    bits = _axes(array, axes, "mark_dynamic")
    for axis, size in enumerate(array.shape):
        if bits >> axis & 1 and size == 1:
            raise ValueError(f"axis {axis} has size 1, which is always compiled on its own")
    fixed, dynamic = _core.axis_marks(array)
    _core.mark_axes(array, fixed & ~bits, dynamic | bits)


# ---------------------------------------------------------------- the stance


class set_stance(contextlib.ContextDecorator):
    """What all compiled functions do: a function, a context manager and a decorator.

    "default"; "force_eager": run plainly; "eager_on_recompile": use what is compiled, run everything
    else plainly; "fail_on_recompile": … and raise RuntimeError for everything else.
    """

    def __init__(self, stance="default"):
        self._stance = stance
        self._at_first = _core.get_stance()  # None once it has been entered
        self._before = []
        _core.set_stance(stance)

    def __call__(self, fn):
        _check_callable("set_stance", fn)
        _core.set_stance(self._at_first)  # only calls of the decorated function have it
        stance = self._stance

        @functools.wraps(fn)
        def wrapper(*args, **kwargs):
            with set_stance(stance):
                return fn(*args, **kwargs)

        return wrapper

    def __enter__(self):
        self._before.append(self._at_first or _core.get_stance())
        self._at_first = None
        _core.set_stance(self._stance)
        return self

    def __exit__(self, *exc_info):
        _core.set_stance(self._before.pop())
        return False


# ---------------------------------------------------------------- the hatches' own marks

for _fn, _mark in [
    (graph_break, "graph_break"),
    (is_compiling, "is_compiling"),
    (nonstrict_trace, "make_nonstrict"),
    (allow_in_graph, "make_allowed"),
    (disable, "outside_only"),
    (skip, "outside_only"),
    (disallow_in_graph, "outside_only"),
    (assume_constant_result, "outside_only"),
    (set_stance, "outside_only"),
    (mark_static, "outside_only"),
    (mark_dynamic, "outside_only"),
]:
    _core.set_mark(_fn, _mark, None, f"numlift.{_fn.__name__}")
del _fn, _mark
