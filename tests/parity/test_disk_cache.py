"""The disk cache: what one process has compiled, another loads (Spec 4.10)."""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

import numpy as np
import pytest

import numlift as nl

PACKAGE = pathlib.Path(nl.__file__).parent

# Loops, reductions, vector math, a NumPy loop, an extern call, a break, a captured loop that meets a NaN (so that
# its precise code is needed, too).
PROGRAM = """
import json, sys, warnings
import numpy as np
import numlift as nl

SCALE = 3.0

def helper(x):
    return np.sin(x) * SCALE

@nl.compile
def elementwise(x, y):
    return helper(x) ** 2 + np.cos(x) ** 2 * y, x.sum(), (x > 0.5).any()

@nl.compile
def by_numpy(x):
    return np.gcd((x * 10).astype(int), 6), np.sort(x)[::-1] + x[x > 0.3].sum()

@nl.compile
def broken(x):
    y = np.exp(x)
    print("between")
    return y * 2

@nl.compile
def looped(x):
    total = 0.0
    for i in range(len(x)):
        total += 1.0 / x[i]
    return total

x, y = np.linspace(0.1, 1.0, 50), np.linspace(1.0, 2.0, 50)
with warnings.catch_warnings(record=True) as seen:
    warnings.simplefilter("always")
    results = [elementwise(x, y), by_numpy(x), broken(x), looped(x), looped(np.append(x, 0.0))]
print(json.dumps({
    "results": [repr(np.asarray(part).tolist()) for r in results for part in (r if isinstance(r, tuple) else (r,))],
    "warnings": [str(w.message) for w in seen],
    "from_disk": [one["from_disk"] for one in nl.compile_times()],
    "graphs": [one["graph"] for one in nl.compile_times()],
    "entries": [f.entries[0].is_from_disk for f in (elementwise, by_numpy, looped)],
    "table": str(nl.compile_times()),
    "info": nl.compiler.disk_cache_info(),
}))
"""


class Process:
    """One run of a program in a process of its own."""

    def __init__(self, program, directory, **environment):
        environment = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join(sys.path),
            "NUMLIFT_DISK_CACHE": "1",
            "NUMLIFT_CACHE_DIR": str(directory),
            **{name: str(value) for name, value in environment.items()},
        }
        done = subprocess.run(
            [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        self.errors = done.stderr
        *self.printed, report = done.stdout.splitlines()
        for name, value in json.loads(report).items():
            setattr(self, name, value)


def entries(directory):
    return sorted((pathlib.Path(directory) / "code").iterdir())


@pytest.fixture(scope="module")
def filled(tmp_path_factory):
    """A directory that one process has filled, and that process."""
    directory = tmp_path_factory.mktemp("cache")
    return directory, Process(PROGRAM, directory)


def test_spec_4_10_a_second_process_compiles_nothing(filled):
    directory, first = filled
    assert first.from_disk == [False] * len(first.graphs) and first.info["found"] == 0
    assert first.info["stored"] == first.info["missed"] == len(entries(directory)) > len(first.graphs)
    before = entries(directory)
    second = Process(PROGRAM, directory)
    assert second.from_disk == [True] * len(first.graphs) and second.graphs == first.graphs
    assert second.info == {"directory": str(directory), "found": first.info["missed"], "missed": 0, "stored": 0}
    assert second.results == first.results and second.warnings == first.warnings and second.printed == first.printed
    assert first.warnings == ["divide by zero encountered in scalar divide"]
    assert second.entries == [True] * 3 and first.entries == [False] * 3
    assert second.table.count("from disk") == len(first.graphs) and "from disk" not in first.table
    assert entries(directory) == before
    assert second.errors == first.errors == ""


def test_timing_says_what_was_loaded(filled):
    directory, first = filled
    errors = Process(PROGRAM, directory, NUMLIFT_LOGS="timing,cache").errors
    lines = [line for line in errors.splitlines() if "emit" in line]
    assert len(lines) == len(first.graphs) and all(line.endswith("loaded from the disk cache") for line in lines)
    assert "numlift.cache" not in errors


def copied(filled, tmp_path):
    """The directory of `filled`, to change; and its process."""
    directory, first = filled
    shutil.copytree(directory, tmp_path / "cache")
    return tmp_path / "cache", first


def test_spec_4_10_a_changed_function_is_compiled(filled, tmp_path):
    directory, first = copied(filled, tmp_path)
    changed = Process(PROGRAM.replace("** 2 * y", "** 2 - y"), directory)
    assert changed.from_disk == [graph != "elementwise" for graph in first.graphs]
    assert changed.results[0] != first.results[0] and changed.results[1:] == first.results[1:]


def test_spec_4_10_a_changed_callee_or_global_is_compiled(filled, tmp_path):
    directory, first = copied(filled, tmp_path)
    changes = [
        (("SCALE = 3.0", "SCALE = 4.0"), True),  # a number is an input of the program: the code is the same
        (("SCALE = 3.0", "SCALE = np.float32(2.5)"), False),
        (("SCALE = 3.0", "SCALE = np.arange(50.0)"), False),
        (("np.sin(x) * SCALE", "np.sinh(x) * SCALE"), False),
    ]
    for change, is_same_code in changes:
        changed = Process(PROGRAM.replace(*change), directory)
        plain = Process(PROGRAM.replace(*change), directory, NUMLIFT_DISK_CACHE="0")
        assert changed.results == plain.results != first.results
        assert changed.from_disk == [is_same_code or graph != "elementwise" for graph in first.graphs]


def test_names_comments_and_lines_change_nothing(filled, tmp_path):
    directory, first = copied(filled, tmp_path)
    program = "\n\n# A comment.\n" + PROGRAM.replace("def elementwise(x, y)", "def other(x, y)").replace(
        "[elementwise(x, y)", "[other(x, y)").replace("(elementwise, by", "(other, by")
    other = Process(program, directory)
    assert other.from_disk == [True] * len(first.graphs) and other.results == first.results


@pytest.mark.parametrize(
    "environment", [{"NUMLIFT_CACHE_KEY": "release 2"}, {"NUMLIFT_VECTOR_BYTES": 16}], ids=["user's word", "CPU features"]
)
def test_spec_4_10_another_key_or_machine_is_another_entry(filled, tmp_path, environment):
    directory, first = copied(filled, tmp_path)
    other = Process(PROGRAM, directory, **environment)
    assert not any(other.from_disk)
    again = Process(PROGRAM, directory, **environment)
    assert all(again.from_disk) and again.results == other.results
    assert all(Process(PROGRAM, directory).from_disk)


BUILD_MARK = re.compile(rb"\x04\0\0\0\x14\0\0\0\x03\0\0\0GNU\0(.{20})", re.DOTALL)


def test_spec_4_10_another_build_is_another_entry(filled, tmp_path):
    directory, first = copied(filled, tmp_path)
    package = tmp_path / "other" / "numlift"
    package.mkdir(parents=True)
    for path in PACKAGE.iterdir():
        if path.name.startswith("_core.") and path.suffix == ".so":
            code = bytearray(path.read_bytes())
            mark = BUILD_MARK.search(code)
            code[mark.start(1)] ^= 0xFF
            (package / path.name).write_bytes(code)
        elif path.name != "__pycache__":
            (package / path.name).symlink_to(path.resolve())
    paths = os.pathsep.join([str(package.parent), *sys.path])
    other = Process(PROGRAM, directory, PYTHONPATH=paths)
    assert not any(other.from_disk) and other.results == first.results
    assert all(Process(PROGRAM, directory, PYTHONPATH=paths).from_disk)


@pytest.mark.parametrize("harm", ["cut short", "changed", "empty", "another's"])
def test_damaged_entries_are_made_anew_with_a_line_each(filled, tmp_path, harm):
    directory, first = copied(filled, tmp_path)
    files = entries(directory)
    whole = [path.read_bytes() for path in files]
    for number, path in enumerate(files):
        code = whole[number]
        path.write_bytes({
            "cut short": code[:-1],
            "changed": code[:200] + bytes([code[200] ^ 1]) + code[201:],
            "empty": b"",
            "another's": whole[number - 1],
        }[harm])
    again = Process(PROGRAM, directory, NUMLIFT_LOGS="cache")
    assert not any(again.from_disk) and again.results == first.results
    assert again.errors.count("numlift.cache: the disk cache: the entry ") == len(files)
    healed = Process(PROGRAM, directory, NUMLIFT_LOGS="cache")
    assert all(healed.from_disk) and healed.errors == ""


def given_away(path):
    path.mkdir(mode=0o700)
    try:
        os.chown(path, 65534, 65534)
    except PermissionError:
        pytest.skip("only root can give a directory away")
    return path


def open_to_all(path):
    path.mkdir()
    path.chmod(0o777)
    return path


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (lambda path: "/proc/numlift", "No such file or directory"),
        (given_away, "belongs to user 65534"),
        (open_to_all, "can be written by other users"),
    ],
    ids=["unwritable", "foreign", "open to all"],
)
def test_a_directory_that_cannot_be_used_switches_the_cache_off(filled, tmp_path, make, reason):
    _, first = filled
    directory = make(tmp_path / "cache")
    for _ in range(2):
        other = Process(PROGRAM, directory)
        assert not any(other.from_disk) and other.results == first.results
        (line,) = other.errors.splitlines()
        assert "numlift: the disk cache: off, for " in line and reason in line
        assert other.info == {"directory": "", "found": 0, "missed": 0, "stored": 0}
    # Where it is only the default directory that cannot be used, one asks for the line.
    def default(**more):
        return Process(PROGRAM, "", XDG_CACHE_HOME=directory, **more).errors

    assert default() == ""
    assert default(NUMLIFT_LOGS="cache").count("the disk cache: off") == 1


def test_without_a_cache_everything_is_compiled(filled, tmp_path):
    directory, first = copied(filled, tmp_path)
    off = Process(PROGRAM, directory, NUMLIFT_DISK_CACHE="0")
    assert not any(off.from_disk) and off.results == first.results
    assert off.info == {"directory": "", "found": 0, "missed": 0, "stored": 0}


def test_the_default_directory_is_the_users(filled, tmp_path):
    home = tmp_path / "home"
    home.mkdir(mode=0o755)
    environment = {name: "" for name in ("NUMLIFT_CACHE_DIR", "XDG_CACHE_HOME")}
    first = Process(PROGRAM, "", **environment, HOME=home)
    assert first.info["directory"] == str(home / ".cache/numlift") and first.info["stored"] > 0
    assert (home / ".cache/numlift/code").stat().st_mode & 0o7777 == 0o700
    assert all(path.stat().st_mode & 0o7777 == 0o600 for path in entries(home / ".cache/numlift"))
    other = Process(PROGRAM, "", HOME=home, XDG_CACHE_HOME=tmp_path / "xdg")
    assert other.info["directory"] == str(tmp_path / "xdg/numlift") and not any(other.from_disk)


def test_its_size_is_bounded(filled, tmp_path):
    directory, first = copied(filled, tmp_path)
    program = """
import json
import numpy as np, numlift as nl
for number in range(60):
    f = nl.compile(eval(f"lambda x: np.sqrt(x) * {number + 0.5}"))
    f(np.ones(3))
print(json.dumps({"info": nl.compiler.disk_cache_info()}))
"""
    limit = 100_000
    assert Process(program, directory, NUMLIFT_DISK_CACHE_BYTES=limit).info["stored"] == 60
    total = sum((path.stat().st_size + 4095) // 4096 * 4096 for path in entries(directory))
    assert 0 < total <= limit * 17 / 16 + 4096


def test_processes_share_a_directory(filled, tmp_path):
    _, first = filled
    command = [sys.executable, "-c", PROGRAM]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "NUMLIFT_DISK_CACHE": "1", "NUMLIFT_CACHE_DIR": str(tmp_path / "cache")}
    started = [subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for _ in range(4)]
    for process in started:
        output, errors = process.communicate()
        assert process.returncode == 0 and errors == ""
        assert json.loads(output.splitlines()[-1])["results"] == first.results
    assert all(Process(PROGRAM, tmp_path / "cache").from_disk)
    assert all(re.fullmatch("[0-9a-f]{64}", path.name) for path in entries(tmp_path / "cache"))


def test_settings_may_change_in_a_process(tmp_path):
    def f(x):
        return np.tanh(x) * 7 + 1

    def from_disk():
        compiled = nl.compile(f)
        compiled(np.ones(4))
        return compiled.entries[0].is_from_disk

    with nl.config.patch(disk_cache=True, cache_dir=str(tmp_path / "one")):
        assert [from_disk(), from_disk()] == [False, True]
        explanation = nl.explain(f)(np.ones(4))
        assert explanation.compile_times[0]["from_disk"] and "from disk" in str(explanation)
        nl.config.cache_dir = str(tmp_path / "two")
        assert [from_disk(), from_disk()] == [False, True]
        nl.config.disk_cache = False
        assert from_disk() is False
    assert len(entries(tmp_path / "one")) == len(entries(tmp_path / "two")) == 1


def test_the_page_names_all_settings():
    page = (pathlib.Path(__file__).parents[2] / "docs/disk-cache.md").read_text()
    for name in "disk_cache", "cache_dir", "disk_cache_bytes", "cache_key":
        assert f"`{name}`" in page and f"`NUMLIFT_{name.upper()}`" in page
        assert re.search(rf"^{name} .*NUMLIFT_{name.upper()} ", nl.config.help(), re.MULTILINE)
