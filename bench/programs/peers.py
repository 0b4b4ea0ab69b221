"""The peers' versions of a program, each as a callable that is timed as it is.

numba takes the program's own source, or the function of the same name in numba_versions where it does not
compile that or its users would write another. jax has versions of its own only, in jax_versions: functions
of the same arguments, those that are not arrays being static, which return what the program changes and
then its result. C has those in twins.c.
"""

import importlib
import types

import numpy as np

from . import twins

NAMES = ("numba", "numba parallel", "jax", "c")


class Peer:
    """`call(*args)` is one call. `arguments(args)` are what it takes in place of the program's, and
    `outcome(args, result)` is what Program.outcome gives."""

    def __init__(self, call, arguments, outcome):
        self.call, self.arguments, self.outcome = call, arguments, outcome


def _version(program, folder):
    try:
        module = importlib.import_module(f"{__package__}.{folder}.{program.theme}")
    except ModuleNotFoundError as error:
        if not error.name.startswith(__package__):
            raise
        return None
    return getattr(module, program.name, None)


def _jitted(function, jit):
    """The function compiled by numba, with the functions of its module that it calls."""
    scope = dict(function.__globals__)
    for name in function.__code__.co_names:
        helper = scope.get(name)
        if isinstance(helper, types.FunctionType) and helper.__module__ == function.__module__:
            scope[name] = _jitted(helper, jit)
    return jit(types.FunctionType(function.__code__, scope, function.__name__, function.__defaults__))


def _numba(program, **options):
    import numba

    function = _version(program, "numba_versions") or program.function
    return Peer(_jitted(function, numba.njit(**options)), lambda args: args, program.outcome)


def _jax(program):
    import jax

    jax.config.update("jax_enable_x64", True)
    function = _version(program, "jax_versions")
    if function is None:
        return None
    compiled = {}

    def call(*args):
        arrays = [arg for arg in args if isinstance(arg, jax.Array)]
        static = tuple(None if isinstance(arg, jax.Array) else arg for arg in args)
        if static not in compiled:

            def whole(*arrays):
                following = iter(arrays)
                return function(*(next(following) if arg is None else arg for arg in static))

            compiled[static] = jax.jit(whole)
        return jax.block_until_ready(compiled[static](*arrays))

    def arguments(args):
        return tuple(jax.device_put(arg) if isinstance(arg, np.ndarray) else arg for arg in args)

    def outcome(args, result):
        count = len(program.changed)
        if not count:
            return [], result
        results = list(result) if isinstance(result, tuple) else [result]
        rest = results[count:]
        return results[:count], rest[0] if len(rest) == 1 else tuple(rest) or None

    return Peer(call, arguments, outcome)


def _c(program):
    function = getattr(twins, program.name, None)
    if function is None:
        return None
    library, why_not = twins.build()
    if library is None:
        raise RuntimeError(why_not)
    return Peer(lambda *args: function(library, *args), lambda args: args, program.outcome)


_MAKERS = {
    "numba": _numba,
    "numba parallel": lambda program: _numba(program, parallel=True),
    "jax": _jax,
    "c": _c,
}


def make(name, program):
    """The peer's version, or None where there is none; an exception says why it cannot be had."""
    return _MAKERS[name](program)
