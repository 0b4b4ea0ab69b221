"""Each public header compiles alone. Results are kept by content, so a second run is quick."""

import hashlib
import os
import shutil
import subprocess
import sysconfig
from pathlib import Path

import numpy
import pytest

from lint.tree import ROOT, includes, public_headers

CACHE = ROOT / "build" / "lint"
COMMAND = [
    os.environ.get("CXX", "g++"),
    *("-std=c++20", "-fsyntax-only", "-Wall", "-Wextra", "-x", "c++"),
    f"-I{ROOT / 'include'}",
    *("-isystem", sysconfig.get_paths()["include"], "-isystem", numpy.get_include()),
]


def closure(header):
    """The header and all of ours that it reaches."""
    seen, pending = set(), [header]
    while pending:
        path = pending.pop()
        if path not in seen:
            seen.add(path)
            own = [Path("include") / n for _, n in includes(path) if n.startswith("numlift/")]
            pending += [p for p in own if (ROOT / p).is_file()]
    return sorted(seen)


@pytest.mark.parametrize("header", public_headers(), ids=str)
def test_header_compiles_alone(header):
    if not shutil.which(COMMAND[0]):
        pytest.skip(f"no {COMMAND[0]}")
    digest = hashlib.sha256(repr([COMMAND, str(header)]).encode())
    for path in closure(header):
        digest.update((ROOT / path).read_bytes())
    passed = CACHE / digest.hexdigest()
    if passed.exists():
        return
    name = header.relative_to("include").as_posix()
    # Twice, so that a missing #pragma once shows.
    source = f'#include "{name}"\n#include "{name}"\n'
    run = subprocess.run([*COMMAND, "-"], input=source, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    CACHE.mkdir(parents=True, exist_ok=True)
    passed.touch()
