"""Code objects of the standard library."""

import importlib.util
import marshal
import pathlib
import sysconfig
import types
import warnings


def nested(code):
    """`code` and every code object in it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from nested(constant)


def stdlib_files():
    root = pathlib.Path(sysconfig.get_paths()["stdlib"])
    for path in sorted(root.rglob("*.py")):
        if "site-packages" not in path.parts:
            yield path


def load_code(path):
    """The module's code, from its cached .pyc where it has a current one; None when it is not Python."""
    cached = pathlib.Path(importlib.util.cache_from_source(str(path)))
    if cached.exists():
        data = cached.read_bytes()
        if data[:4] == importlib.util.MAGIC_NUMBER:
            return marshal.loads(data[16:])
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return compile(path.read_bytes(), str(path), "exec", dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError):
        return None
