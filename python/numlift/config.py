"""numlift.config: the options, as attributes of this module.

    numlift.config.recompile_limit = 16
    with numlift.config.patch(strict=True): ...

The names, defaults, environment variables and meanings are those of one table; `print(config.help())`
shows it.
"""

import contextlib
import sys
import types

from . import _core

_names = frozenset(_core.option_names())


def _text(value):
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


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
                _core.set_option(name, _text(value))
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *exc_info):
        for name, value in self._saved.pop().items():
            _core.set_option(name, _text(value))
        return False


class _ConfigModule(types.ModuleType):
    def __getattr__(self, name):
        if name in _names:
            return _core.get_option(name)
        raise AttributeError(f"numlift.config has no option {name!r}")

    def __setattr__(self, name, value):
        if name in _names:
            _core.set_option(name, _text(value))
        elif name.startswith("__"):
            super().__setattr__(name, value)
        else:
            raise AttributeError(f"numlift.config has no option {name!r}")

    def __dir__(self):
        return sorted({*_names, "help", "patch"})


sys.modules[__name__].__class__ = _ConfigModule
