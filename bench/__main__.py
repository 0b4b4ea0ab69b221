"""One runner for all benchmarks; see the package's docstring."""

import argparse
import importlib
import json
import platform

import numpy as np

import numlift as nl

GROUPS = ("calls", "breaks", "regions", "first_call", "import_time", "shapes", "kernels")


def duration(seconds):
    for unit, scale in (("s", 1), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= scale:
            return f"{seconds / scale:.3g} {unit}"
    return f"{seconds * 1e9:.0f} ns"


def main():
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("groups", nargs="*", help=f"of {', '.join(GROUPS)}; all when none is named")
    parser.add_argument("--quick", action="store_true", help="fewer repetitions")
    parser.add_argument("--json", metavar="FILE", help="write the figures there too")
    options = parser.parse_args()
    unknown = set(options.groups) - set(GROUPS)
    if unknown:
        parser.error(f"unknown group {sorted(unknown)[0]!r}; there are {', '.join(GROUPS)}")

    print(f"Python {platform.python_version()}, NumPy {np.__version__}, numlift {nl.__version__}, "
          f"{nl.get_num_threads()} threads; medians, implementations in turns\n")
    results, missed = {}, []
    for group in options.groups or GROUPS:
        rows = importlib.import_module(f"bench.{group}").run(options.quick)
        results[group] = rows
        print(f"{group}")
        for row in rows:
            ours = row["seconds"]["numlift"]
            others = ", ".join(
                f"{name} {duration(value)} ({value / ours:.2f}x)"
                for name, value in row["seconds"].items() if name != "numlift")
            print(f"  {row['name']:38} numlift {duration(ours):9} {others}")
            print(f"  {'':38} target: {row['target']}: {'met' if row['met'] else 'MISSED'}")
            if not row["met"]:
                missed.append(row["name"])
        print()
    print("(2.0x behind a name: it takes twice numlift's time)")
    print(f"missed: {', '.join(missed) if missed else 'none'}")
    if options.json:
        with open(options.json, "w") as file:
            json.dump(results, file, indent=1)


if __name__ == "__main__":
    main()
