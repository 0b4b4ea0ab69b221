"""Layers point one way, outside headers stay in their folder: by reading every #include."""

from pathlib import Path

import pytest

from lint.tree import MAY_INCLUDE, ROOT, code_of, includes, layer_of, layered_sources

KNOWS_PYTHON = {"py", "numpy_shim", "guards", "frame_eval", "bindings"}
# Who may ask for the version of Python besides src/frame_eval/cpython, and why.
ASKS_FOR_THE_VERSION = {
    "src/guards/dict_version.h": "guards stand below frame_eval and need one fact about dicts",
}
CPYTHON_HEADERS = {"opcode.h", "frameobject.h", "structmember.h", "datetime.h"}


def included_layer(path, name):
    """The layer of a quoted include, found as the compiler finds it."""
    if name.startswith("numlift/"):
        return layer_of(Path("include") / name)
    own = layer_of(path)
    for folder in (path.parent, Path("src") / own):
        target = ROOT / folder / name
        if target.is_file():
            return layer_of(target.resolve().relative_to(ROOT))
    return None


def complaint(path, is_angle, name):
    """Why a file may not include this, or None."""
    layer, folder = layer_of(path), "/".join(path.parts[:-1])
    if name == "Python.h":
        if path.as_posix() != "include/numlift/py/python.h":
            return 'Python.h is included by way of "numlift/py/python.h" only'
    elif name.startswith(("llvm/", "llvm-c/")):
        if not folder.startswith("src/codegen/cpu"):
            return "LLVM headers stay in src/codegen/cpu"
    elif name in {"cuda.h", "nvrtc.h", "cublas_v2.h"}:
        if not folder.startswith("src/codegen/cuda"):
            return "CUDA headers stay in src/codegen/cuda"
    elif name.startswith("internal/"):
        if not folder.startswith("src/frame_eval/cpython"):
            return "CPython's internal headers stay in src/frame_eval/cpython"
    elif name.startswith("cpython/") or name in CPYTHON_HEADERS:
        if layer not in KNOWS_PYTHON:
            return f"{layer} knows no CPython"
    elif name.startswith("numpy/"):
        if layer != "numpy_shim":
            return "NumPy's C API stays in numpy_shim"
    elif name.startswith("pybind11/"):
        if layer != "bindings":
            return "pybind11 stays in python/bindings"
    elif not is_angle:
        target = included_layer(path, name)
        if target is None:
            return "no such file in this layer or in include/"
        if target != layer and target not in MAY_INCLUDE[layer]:
            return f"{layer} may include {sorted(MAY_INCLUDE[layer])}, not {target}"
    return None


def test_every_folder_is_a_known_layer():
    assert {layer_of(p) for p in layered_sources()} <= set(MAY_INCLUDE)


def test_includes_obey_the_layers():
    found = []
    for path in layered_sources():
        for is_angle, name in includes(path):
            reason = complaint(path, is_angle, name)
            if reason:
                found.append(f"{path} includes {name}: {reason}")
    assert not found, "\n".join(found)


def test_the_version_of_python_is_asked_in_one_folder():
    macro = "PY_VERSION" + "_HEX"
    found = [
        p.as_posix()
        for p in layered_sources()
        if macro in code_of(p)
        and p.parts[:3] != ("src", "frame_eval", "cpython")
        and p.as_posix() not in ASKS_FOR_THE_VERSION
    ]
    assert not found, f"{macro} outside src/frame_eval/cpython: {found}"


@pytest.mark.parametrize(
    ("path", "is_angle", "name"),
    [
        ("src/graph/graph.cpp", False, "numlift/codegen/program.h"),
        ("src/support/log.cpp", False, "numlift/py/ref.h"),
        ("src/graph/graph.cpp", True, "Python.h"),
        ("src/codegen/schedule/fuse.cpp", False, "llvm/IR/Module.h"),
        ("src/guards/guard_set.cpp", False, "numlift/frame_eval/bytecode.h"),
        ("src/numpy_shim/output.cpp", False, "numlift/guards/guard.h"),
        ("src/guards/guard_set.cpp", True, "numpy/arrayobject.h"),
        ("src/graph/graph.cpp", False, "no_such_header.h"),
    ],
)
def test_a_forbidden_include_is_found(path, is_angle, name):
    assert complaint(Path(path), is_angle, name)
