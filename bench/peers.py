"""The peers that are installed, each as compile(function) -> callable returning NumPy results."""


def numba_or_none():
    try:
        import numba
    except ImportError:
        return None

    return lambda function: numba.njit(parallel=True)(function)


def jax_or_none():
    try:
        import jax
    except ImportError:
        return None
    jax.config.update("jax_enable_x64", True)
    import numpy as np

    def compile_for_jax(function):
        import types

        import jax.numpy as jnp

        # The same source with jax.numpy in place of numpy.
        twin = types.FunctionType(function.__code__, {**function.__globals__, "np": jnp}, function.__name__)
        jitted = jax.jit(twin)

        def call(*args):
            return np.asarray(jitted(*args).block_until_ready())

        return call

    return compile_for_jax


def installed():
    found = {"numba": numba_or_none(), "jax": jax_or_none()}
    return {name: compile_with for name, compile_with in found.items() if compile_with}
