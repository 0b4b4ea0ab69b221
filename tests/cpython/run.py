"""CPython's own regression tests with every function compiled: the same must pass as without.

    tools/with_build.sh python3.12 extension python tests/cpython/run.py [--backend B] [--jobs N]
        [--timeout SECONDS] [test_x ...]

Functions without array work are compiled, too, since the point is to find faults of the tracer. A
module that fails is run plainly as well: what fails there does not count. A module that crashes or
takes too long has failed, and the others run all the same. allowed.txt names the tests that look at
frames, bytecode or reference counts on purpose.
"""

import argparse
import contextlib
import os
import re
import signal
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from fnmatch import fnmatchcase
from importlib.util import find_spec
from pathlib import Path

MODULES = """
test_grammar test_generators test_exceptions test_class test_descr test_dataclasses test_contextlib
test_functools test_itertools test_collections test_enum test_iter test_list test_dict test_set
test_scope test_super test_with test_raise test_traceback test_inspect test_patma test_unpack
test_listcomps test_dictcomps test_sys_settrace test_coroutines test_asyncgen test_weakref test_gc
test_operator test_statistics test_json test_decimal
""".split()

BAD = re.compile(r"^(?:ERROR|FAIL): \S+ \((\S+)\)", re.MULTILINE)


def allowed(version):
    """Patterns of test names that may differ on this version."""
    patterns = []
    for line in (Path(__file__).parent / "allowed.txt").read_text().splitlines():
        if line.strip() and not line.startswith("#"):
            pattern, versions, _ = line.split(maxsplit=2)
            if versions == "all" or version in versions.split(","):
                patterns.append(pattern)
    return patterns


def run(module, patterns, options, is_plain):
    """(names of failed tests, what went wrong beside them or "")."""
    command = [sys.executable, "-X", "faulthandler"]
    if not is_plain:
        command += ["-m", "numlift", "--backend", options.backend]
    environment = {**os.environ, "NUMLIFT_COMPILE_ALL": "1", "NUMLIFT_STRICT": "1", "NUMLIFT_DISK_CACHE": "0"}
    with tempfile.TemporaryDirectory() as folder:
        ignored = Path(folder, "ignored.txt")
        ignored.write_text("\n".join(patterns))
        written = Path(folder, "output.txt")
        with written.open("wb") as output:
            # A file, no pipe: processes that a test leaves behind would keep a pipe open.
            process = subprocess.Popen(
                [*command, "-m", "test", "-v", "--ignorefile", str(ignored), module],
                env=environment,
                cwd=folder,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
            try:
                status = process.wait(timeout=options.timeout)
            except subprocess.TimeoutExpired:
                status = None
            finally:
                # The module's whole session, with what it has started.
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        text = written.read_text(errors="replace")
    if options.verbose:
        print(text)
    failed = set(BAD.findall(text))
    tail = "\n".join(text.splitlines()[-20:])
    if status is None:
        return failed, f"still running after {options.timeout} s:\n{tail}"
    if status < 0:
        return failed, f"killed by signal {-status}:\n{tail}"
    if "numlift internal error" in text:
        at = text.index("numlift internal error")
        return failed, text[text.rfind("\n", 0, at) + 1 : at + 400]
    return failed, "" if status == 0 or failed else tail


def check(module, patterns, options):
    """What is wrong with the module, as lines; none: it passes as without numlift."""
    failed, trouble = run(module, patterns, options, is_plain=False)
    if failed or trouble:
        plainly, plain_trouble = run(module, patterns, options, is_plain=True)
        failed -= plainly
        if plain_trouble:
            trouble = ""
    failed = {name for name in failed if not any(fnmatchcase(name, p) for p in patterns)}
    lines = [f"fails, and passes without numlift: {name}" for name in sorted(failed)]
    return lines + trouble.splitlines()


def check_safely(module, patterns, options):
    """The same; what goes wrong with one module leaves the others alone."""
    try:
        return check(module, patterns, options)
    except OSError as error:
        return [f"could not be run: {error}"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--backend", default="graph")
    parser.add_argument("--timeout", type=int, default=600, help="seconds a module may take")
    parser.add_argument("--jobs", type=int, default=1, help="modules run at a time")
    parser.add_argument("--verbose", action="store_true")
    parser.add_argument("modules", nargs="*")
    options = parser.parse_args()
    version = "{}.{}".format(*sys.version_info)
    patterns = allowed(version)
    bad = []
    modules = options.modules or MODULES
    missing = [module for module in modules if find_spec(f"test.{module}") is None]
    if missing:
        sys.exit(
            f"Python {version} has no test.{missing[0]}; in Debian, CPython's tests are the package "
            "lib{}-testsuite".format("python{}.{}".format(*sys.version_info))
        )
    with ThreadPoolExecutor(options.jobs) as pool:
        results = pool.map(lambda module: check_safely(module, patterns, options), modules)
        for module, lines in zip(modules, results, strict=True):
            for line in lines:
                print(f"    {line}")
            print(f"{'FAILED' if lines else 'passed'}: {module}", flush=True)
            if lines:
                bad.append(module)
    print(f"Python {version}: {', '.join(bad) + ' failed' if bad else 'all passed'}")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
