"""CPython's own regression tests with every function compiled: the same must pass as without.

    tools/with_build.sh python3.12 extension python tests/cpython/run.py [--backend B] [test_x ...]

Functions without array work are compiled, too, since the point is to find faults of the tracer. A
module that fails is run plainly as well: what fails there does not count. allowed.txt names the tests
that look at frames, bytecode or reference counts on purpose.
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile
from fnmatch import fnmatchcase
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
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as ignored:
        ignored.write("\n".join(patterns))
        ignored.flush()
        command = [sys.executable, "-X", "faulthandler"]
        if not is_plain:
            command += ["-m", "numlift", "--backend", options.backend]
        command += ["-m", "test", "-v", "--ignorefile", ignored.name, module]
        environment = {**os.environ, "NUMLIFT_COMPILE_ALL": "1", "NUMLIFT_STRICT": "1", "NUMLIFT_DISK_CACHE": "0"}
        try:
            done = subprocess.run(
                command,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                errors="replace",
                timeout=options.timeout,
            )
        except subprocess.TimeoutExpired as expired:
            output = (expired.stdout or b"").decode(errors="replace")
            last = output.splitlines()[-1] if output else ""
            return set(BAD.findall(output)), f"still running after {options.timeout} s: {last}"
    if options.verbose:
        print(done.stdout)
    failed = set(BAD.findall(done.stdout))
    if done.returncode == 0 or failed:
        crashed = done.returncode < 0 or "numlift internal error" in done.stdout
        return failed, f"exit status {done.returncode}, or an internal error" if crashed else ""
    return failed, "\n".join(done.stdout.splitlines()[-20:])


def check(module, patterns, options):
    failed, trouble = run(module, patterns, options, is_plain=False)
    if failed or trouble:
        plainly, plain_trouble = run(module, patterns, options, is_plain=True)
        failed -= plainly
        if plain_trouble:
            trouble = ""
    failed = {name for name in failed if not any(fnmatchcase(name, p) for p in patterns)}
    for name in sorted(failed):
        print(f"    fails, and passes without numlift: {name}")
    if trouble:
        print(f"    {trouble}")
    return not failed and not trouble


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--backend", default="graph")
    parser.add_argument("--timeout", type=int, default=900)
    parser.add_argument("--verbose", action="store_true")
    parser.add_argument("modules", nargs="*")
    options = parser.parse_args()
    version = "{}.{}".format(*sys.version_info)
    patterns = allowed(version)
    bad = []
    for module in options.modules or MODULES:
        good = check(module, patterns, options)
        print(f"{'passed' if good else 'FAILED'}: {module}", flush=True)
        if not good:
            bad.append(module)
    print(f"Python {version}: {', '.join(bad) + ' failed' if bad else 'all passed'}")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
