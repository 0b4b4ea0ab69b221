"""What the lint tests know about the source tree: its files and their layers."""

import os
import re
import subprocess
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

# A layer may include itself and these (docs/design.md). One that is not named here may not exist.
MAY_INCLUDE = {
    "support": set(),
    "graph": {"support"},
    "codegen": {"graph", "support"},
    "py": {"support"},
    "numpy_shim": {"py", "codegen", "graph", "support"},
    "guards": {"numpy_shim", "py", "graph", "support"},
    "frame_eval": {"guards", "numpy_shim", "py", "codegen", "graph", "support"},
    "bindings": {"frame_eval", "guards", "numpy_shim", "py", "codegen", "graph", "support"},
}

SOURCE_SUFFIXES = {".h", ".cpp", ".c", ".def", ".inc"}
_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*(?P<open>["<])(?P<name>[^">]+)[">]', re.MULTILINE)


@cache
def tracked_files():
    """Paths relative to the root: what git has or would take; without git, all but build output."""
    listing = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    if listing.returncode == 0:
        names = listing.stdout.splitlines()
    else:
        skip = {"build", "dist", ".git", "__pycache__"}
        names = [
            os.path.relpath(os.path.join(folder, name), ROOT)
            for folder, subfolders, files in os.walk(ROOT)
            if not subfolders.__setitem__(slice(None), [s for s in subfolders if s not in skip])
            for name in files
        ]
    return sorted(Path(n) for n in names if (ROOT / n).is_file())


def layer_of(path):
    """The layer that a source file belongs to, or None: tests, examples and the like."""
    parts = Path(path).parts
    if parts[:2] == ("python", "bindings"):
        return "bindings"
    if parts[0] == "src" and len(parts) > 2:
        return parts[1]
    if parts[:2] == ("include", "numlift") and len(parts) > 3:
        return parts[2]
    return None


def layered_sources():
    return [p for p in tracked_files() if p.suffix in SOURCE_SUFFIXES and layer_of(p)]


def public_headers():
    return [p for p in tracked_files() if p.parts[0] == "include" and p.suffix == ".h"]


@cache
def includes(path):
    """(is_angle, name) of each #include of a file."""
    text = (ROOT / path).read_text()
    return [(m["open"] == "<", m["name"]) for m in _INCLUDE.finditer(text)]


def code_of(path):
    """The text of a C++ file without its comments."""
    return re.sub(r"//[^\n]*|/\*.*?\*/", "", (ROOT / path).read_text(), flags=re.DOTALL)
