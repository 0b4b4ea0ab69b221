"""numlift.config: the options, as attributes of this module.

    numlift.config.recompile_limit = 16
    with numlift.config.patch(strict=True): ...

The names, defaults, environment variables and meanings are those of one table; `print(config.help())`
shows it.
"""

import collections.abc
import contextlib
import sys
import types

from . import _core

_names = frozenset(_core.option_names())


def _text(value):
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


# What is called after an option has changed, by its name.
_on_change = {}


def _set(name, value):
    _core.set_option(name, _text(value))
    if name in _on_change:
        _on_change[name]()


def help():
    """The table of options as text."""
    return _core.options_help()


class patch(contextlib.ContextDecorator):
    """Sets options for a while: a context manager and a decorator."""

    def __init__(self, **options):
        for name in options:
            if name not in _names:
                raise AttributeError(f"numlift.config has no option {name!r}")
        self._options = options
        self._saved = []

    def __enter__(self):
        self._saved.append({name: _core.get_option(name) for name in self._options})
        try:
            for name, value in self._options.items():
                _set(name, value)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *exc_info):
        for name, value in self._saved.pop().items():
            _set(name, value)
        return False


class IgnoredFunctions(collections.abc.MutableSet):
    """Functions that compiled code does not call: the call gives None, its arguments are evaluated.

    Entries are functions, methods of a class (`logging.Logger.info`: of all loggers) or of an object
    (`logger.info`: of that logger only).
    """

    def __init__(self):
        self._functions = set()

    def __contains__(self, fn):
        return fn in self._functions

    def __iter__(self):
        return iter(set(self._functions))

    def __len__(self):
        return len(self._functions)

    def __repr__(self):
        return f"{type(self).__name__}({self._functions})"

    def add(self, fn):
        if not callable(fn):
            raise TypeError(f"ignore_logging_functions holds callables, not {type(fn).__name__}")
        if fn not in self._functions:
            self._functions.add(fn)
            _core.set_mark(fn, "ignored")
            _core.drop_entries()

    def discard(self, fn):
        if fn in self._functions:
            self._functions.discard(fn)
            _core.clear_mark(fn)
            _core.drop_entries()

    def update(self, functions):
        for fn in functions:
            self.add(fn)


_ignored = IgnoredFunctions()


def _replace_ignored(functions):
    new = list(functions)
    for fn in new:
        if not callable(fn):
            raise TypeError(f"ignore_logging_functions holds callables, not {type(fn).__name__}")
    for fn in _ignored:
        if fn not in new:
            _ignored.discard(fn)
    _ignored.update(new)


# Names that are no options of the extension's table: how they are read and replaced.
_objects = {"ignore_logging_functions": (lambda: _ignored, _replace_ignored)}


class _ConfigModule(types.ModuleType):
    def __getattr__(self, name):
        if name in _objects:
            return _objects[name][0]()
        if name in _names:
            return _core.get_option(name)
        raise AttributeError(f"numlift.config has no option {name!r}")

    def __setattr__(self, name, value):
        if name in _objects:
            _objects[name][1](value)
        elif name in _names:
            _set(name, value)
        elif name.startswith("__"):
            super().__setattr__(name, value)
        else:
            raise AttributeError(f"numlift.config has no option {name!r}")

    def __dir__(self):
        return sorted({*_names, *_objects, "help", "patch"})


sys.modules[__name__].__class__ = _ConfigModule
