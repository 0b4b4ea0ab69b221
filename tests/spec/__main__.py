"""`python -m tests.spec` runs the tests of every line of the specification and prints line, tests and result;
`--list` runs nothing; numbers or sections after it (`3 12.4`) choose lines. The exit code is 1 when a test fails or
a line that should have one has no test."""

import argparse
import collections
import subprocess
import sys
import tempfile
import xml.etree.ElementTree

from .table import ROOT, is_later, lines, shown_by


def run(tests):
    """{node id without parameters: Counter of outcomes}"""
    outcomes = collections.defaultdict(collections.Counter)
    with tempfile.NamedTemporaryFile(suffix=".xml") as report:
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--junitxml={report.name}", "-o", "junit_family=xunit1", *tests]
        subprocess.run(command, cwd=ROOT, stdout=subprocess.DEVNULL, check=False)
        for case in xml.etree.ElementTree.parse(report.name).iter("testcase"):
            kinds = {child.tag for child in case}
            outcome = "failed" if kinds & {"failure", "error"} else "skipped" if "skipped" in kinds else "passed"
            outcomes[f"{case.get('file')}::{case.get('name').split('[')[0]}"][outcome] += 1
    return outcomes


def main():
    parser = argparse.ArgumentParser(prog="python -m tests.spec", description=__doc__)
    parser.add_argument("--list", action="store_true", help="run nothing")
    parser.add_argument("lines", nargs="*", help="numbers or sections")
    options = parser.parse_args()
    titles, shown = lines(), shown_by()
    if options.lines:
        titles = {n: t for n, t in titles.items() if n in options.lines or n.split(".")[0] in options.lines}
    wanted = sorted({test for number in titles for test in shown[number]})
    outcomes = {} if options.list or not wanted else run(wanted)
    counts, without = collections.Counter(), []
    for number, title in titles.items():
        total = sum((outcomes.get(test, collections.Counter()) for test in shown[number]), collections.Counter())
        if not shown[number]:
            result = "later" if is_later(number) else "NO TEST"
            without.append(number)
        elif options.list:
            result = ""
        elif total["failed"] or not total["passed"] + total["skipped"]:
            result = "FAILED"
        else:
            result = "passed" if total["passed"] else "skipped"
        counts[result] += 1
        print(f"{number:<6} {result:<8} {title}")
        for test in shown[number]:
            found = ", ".join(f"{count} {what}" for what, count in outcomes.get(test, {}).items())
            print(f"{'':15} {test.removeprefix('tests/')}{'  ' + found if found else ''}")
    print()
    print("  ".join(f"{count} {what or 'with a test'}" for what, count in counts.items()))
    if without:
        print("without a test:", ", ".join(without))
    return 1 if counts["FAILED"] or counts["NO TEST"] else 0


if __name__ == "__main__":
    sys.exit(main())
