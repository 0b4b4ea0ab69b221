"""Modules written in C++, compiled when they are first asked for.

    module = numlift.cpp_extension.load_inline("squares", cpp_sources=source, functions=["square"])
"""

import contextlib
import hashlib
import importlib.util
import os
import pathlib
import shlex
import shutil
import stat
import subprocess
import sys
import sysconfig
import tempfile
import threading

import numpy as np

__all__ = ["load_inline"]

_lock = threading.Lock()
_loaded = {}


def cache_directory():
    """Where compiled modules are kept: NUMLIFT_EXTENSIONS_DIR, or a folder of the user's cache."""
    chosen = os.environ.get("NUMLIFT_EXTENSIONS_DIR")
    if chosen:
        return pathlib.Path(chosen)
    base = os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache"
    return pathlib.Path(base) / "numlift" / "cpp_extensions"


def _private_directory():
    path = cache_directory()
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    state = path.stat()
    if state.st_uid != os.getuid() or stat.S_IMODE(state.st_mode) & 0o022:
        raise RuntimeError(f"{path} may be written by others: nothing is loaded from there")
    return path


def _compiler():
    words = shlex.split(os.environ.get("CXX", ""))
    if words:
        if shutil.which(words[0]):
            return words
        raise RuntimeError(f"there is no C++ compiler {words[0]!r}, which CXX names")
    for name in ("c++", "g++", "clang++"):
        if shutil.which(name):
            return [name]
    raise RuntimeError("no C++ compiler was found (c++, g++ or clang++; or set CXX)")


def _source(name, cpp_sources, functions):
    parts = [cpp_sources] if isinstance(cpp_sources, str) else list(cpp_sources)
    lines = ["#include <pybind11/pybind11.h>"]
    for number, part in enumerate(parts):
        lines += [f'#line 1 "{name}.{number}.cpp"', part]
    lines += ['#line 1 "bindings of numlift"', f"PYBIND11_MODULE({name}, module) {{"]
    for function, doc in functions.items():
        lines.append(f'  module.def("{function}", &{function}, {_text(doc)});')
    return "\n".join(lines) + "\n}\n"


def _text(text):
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'


def _command(compiler, flags):
    try:
        import pybind11
    except ImportError:
        raise RuntimeError("load_inline needs the package pybind11: pip install pybind11") from None
    folders = [pybind11.get_include(), np.get_include(), sysconfig.get_paths()["include"]]
    command = [*compiler, "-O2", "-std=c++17", "-shared", "-fPIC", "-fvisibility=hidden"]
    command += [f"-I{folder}" for folder in folders] + list(flags)
    return command, pybind11.__version__


def load_inline(name, cpp_sources, functions=None, *, extra_cflags=(), verbose=False):
    """The module `name` made of C++ source that defines `functions` (names, or names with docstrings).

    pybind11 makes the bindings. The result is kept by source in a private folder; `verbose` prints the
    compiler's command.
    """
    if not isinstance(name, str) or not name.isidentifier():
        raise ValueError(f"a module's name is an identifier, not {name!r}")
    if functions is None:
        functions = []
    if isinstance(functions, str):
        functions = [functions]
    if not isinstance(functions, dict):
        functions = dict.fromkeys(functions, "")
    for function in functions:
        if not function.isidentifier():
            raise ValueError(f"a function's name is an identifier, not {function!r}")
    source = _source(name, cpp_sources, functions)
    command, version = _command(_compiler(), extra_cflags)
    known = "\0".join([source, *command, version, sys.version, np.__version__])
    key = hashlib.sha256(known.encode()).hexdigest()
    with _lock:
        if key not in _loaded:
            _loaded[key] = _load(name, _build(name, key, source, command, verbose))
        return _loaded[key]


def _build(name, key, source, command, verbose):
    folder = _private_directory() / key[:32]
    library = folder / f"{name}{sysconfig.get_config_var('EXT_SUFFIX')}"
    if library.exists():
        return library
    with tempfile.TemporaryDirectory(dir=_private_directory()) as temporary:
        made = pathlib.Path(temporary) / library.name
        text = pathlib.Path(temporary) / f"{name}.cpp"
        text.write_text(source)
        full = [*command, str(text), "-o", str(made)]
        if verbose:
            print(shlex.join(full), file=sys.stderr)
        run = subprocess.run(full, capture_output=True, text=True)
        if run.returncode != 0:
            raise RuntimeError(f"the C++ compiler could not make {name}:\n{run.stderr or run.stdout}")
        if verbose and run.stderr:
            print(run.stderr, file=sys.stderr)
        folder.mkdir(mode=0o700, exist_ok=True)
        with contextlib.suppress(OSError):
            shutil.copyfile(text, folder / text.name)
        os.replace(made, library)
    return library


def _load(name, library):
    spec = importlib.util.spec_from_file_location(name, library)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
