"""compile_region: every Python function that is called in a stretch of a program is compiled."""

import functools
import inspect
import threading

from . import _core, config


class compile_region:
    """Inside, each Python function that this thread calls is compiled, as if it were decorated.

        with nl.compile_region():
            main()

    Also a decorator: calls of the decorated function are such a region. Functions without work on
    arrays are recognised and run as they are. `dynamic` and `backend` are those of compile();
    all_threads=True extends the region to all threads for as long as it lasts.
    """

    def __init__(self, *, dynamic=None, backend="llvm", all_threads=False):
        _core.check_backend(backend)
        if dynamic is not None and not isinstance(dynamic, bool):
            raise TypeError(f"dynamic is True, False or None, not {dynamic!r}")
        self._options = dynamic, backend, bool(all_threads)
        self._threads = []  # that have entered it

    def __enter__(self):
        dynamic, backend, everywhere = self._options
        if dynamic is None and not config.dynamic_shapes:
            dynamic = False
        _core.enter_region(dynamic, backend, everywhere)
        self._threads.append(threading.get_ident())
        return self

    def __exit__(self, *exc_info):
        if threading.get_ident() not in self._threads:
            raise RuntimeError("a compile_region is left on the thread that entered it")
        self._threads.remove(threading.get_ident())
        _core.leave_region()
        return False

    def __call__(self, fn):
        if not callable(fn):
            raise TypeError(f"compile_region decorates a callable, not {type(fn).__name__}")
        later = (inspect.iscoroutinefunction, inspect.isgeneratorfunction, inspect.isasyncgenfunction)
        if any(is_later(fn) for is_later in later):
            raise TypeError(
                f"{fn.__qualname__} runs piece by piece, between which other code runs: "
                "use `with compile_region():` inside it"
            )
        options = self._options

        @functools.wraps(fn)
        def wrapper(*args, **kwargs):
            with compile_region(dynamic=options[0], backend=options[1], all_threads=options[2]):
                return fn(*args, **kwargs)

        return wrapper
