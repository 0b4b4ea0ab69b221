"""python -m numlift: the program runs as under python, compiled."""

import os
import subprocess
import sys

import pytest

SCRIPT = """
import sys, os
import numpy as np
from numlift import _core

def wave(x):
    return np.sin(x) + 1

def main():
    print(__name__, sys.argv, os.path.basename(sys.path[0]), sys.modules["__main__"].__dict__ is globals())
    wave(np.ones(3))
    return 3 if _core.is_in_region() and _core.compile_log() else 4

if __name__ == "__main__":
    if len(sys.argv) > 1 and sys.argv[1] == "fails":
        raise ValueError("on purpose")
    sys.exit(main())
"""


@pytest.fixture
def program(tmp_path):
    folder = tmp_path / "programs"
    folder.mkdir()
    (folder / "script.py").write_text(SCRIPT)
    return folder / "script.py"


def run(*words, cwd=None):
    return subprocess.run(
        [sys.executable, "-m", "numlift", *map(str, words)],
        capture_output=True,
        text=True,
        cwd=cwd,
        env=dict(os.environ),
    )


@pytest.mark.parametrize("before", [[], ["run"], ["--backend", "graph", "--static", "--this-thread"]])
def test_a_script(program, before):
    done = run(*before, program, "--backend", "its own")
    assert done.stdout == f"__main__ {[str(program), '--backend', 'its own']} programs True\n", done.stderr
    assert done.returncode == 3


def test_a_module(program):
    done = run("-m", "script", "x", cwd=program.parent)
    assert done.stdout == f"__main__ {[str(program), 'x']} programs True\n", done.stderr
    assert done.returncode == 3


def test_an_exception_ends_it_as_under_python(program):
    done = run(program, "fails")
    assert done.returncode == 1
    lines = done.stderr.splitlines()
    assert lines[-1] == "ValueError: on purpose"
    assert f'  File "{program}", line 16, in <module>' in lines


def test_without_a_program_it_explains_itself():
    done = run()
    assert done.returncode == 2 and "usage: python -m numlift" in done.stderr
    done = run("--backend", "no such", "x.py")
    assert done.returncode == 2 and "invalid choice" in done.stderr


def test_a_sub_interpreter_is_refused():
    script = """
import importlib, numlift
names = "_interpreters", "_xxsubinterpreters"
interpreters = next(m for m in map(lambda n: __import__("importlib.util").util.find_spec(n) and importlib.import_module(n), names) if m)
inside = '''
try:
    import numlift
    numlift.compile_region().__enter__()
except (RuntimeError, ImportError) as error:
    print("refused")
'''
one = interpreters.create()
interpreters.run_string(one, inside)
interpreters.destroy(one)  # one that is left over may keep CPython 3.11 from coming to its end
print("end")
"""
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", script], capture_output=True, text=True, timeout=60)
    assert (done.stdout, done.returncode) == ("refused\nend\n", 0), done.stderr
