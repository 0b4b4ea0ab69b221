"""One runner for all benchmarks; see the package's docstring."""

import argparse
import importlib
import json
import platform

import numpy as np

import numlift as nl

GROUPS = ("calls", "breaks", "regions", "first_call", "compile_time", "import_time", "shapes", "kernels", "programs")


def duration(seconds):
    for unit, scale in (("s", 1), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= scale:
            return f"{seconds / scale:.3g} {unit}"
    return f"{seconds * 1e9:.0f} ns"


def names(text):
    return text.split(",")


def show(row):
    ours = row["seconds"].get("numlift")
    others = ", ".join(
        f"{name} {duration(value)}" + (f" ({value / ours:.2f}x)" if ours else "")
        for name, value in row["seconds"].items() if name != "numlift")
    print(f"  {row['name']:38} {f'numlift {duration(ours):9} ' if ours else ''}{others}")
    for note in row.get("notes", ()):
        print(f"  {'':38} {note}")
    print(f"  {'':38} target: {row['target']}: {'met' if row['met'] else 'MISSED'}", flush=True)


def main():
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("groups", nargs="*", help=f"of {', '.join(GROUPS)}; all when none is named")
    parser.add_argument("--quick", action="store_true", help="fewer repetitions")
    parser.add_argument("--only", metavar="NAME,...", type=names, help="of the programs, these")
    parser.add_argument("--size", metavar="SIZE,...", type=names, help="of the programs: small, middle, large")
    parser.add_argument("--peers", metavar="PEER,...", type=names, help="of the programs' peers, these; 'none': NumPy alone")
    parser.add_argument("--json", metavar="FILE", help="write the figures there too")
    options = parser.parse_args()
    unknown = set(options.groups) - set(GROUPS)
    if unknown:
        parser.error(f"unknown group {sorted(unknown)[0]!r}; there are {', '.join(GROUPS)}")

    print(f"Python {platform.python_version()}, NumPy {np.__version__}, numlift {nl.__version__}, "
          f"{nl.get_num_threads()} threads; medians, implementations in turns\n")
    results, missed = {}, []
    for group in options.groups or GROUPS:
        module = importlib.import_module(f"bench.{group}")
        chosen = {"only": options.only, "sizes": options.size, "chosen_peers": options.peers} if group == "programs" else {}
        rows = results[group] = []
        print(f"{group}")
        for row in module.run(options.quick, **chosen):  # a long group gives its rows one by one
            rows.append(row)
            show(row)
            if not row["met"]:
                missed.append(row["name"])
            if options.json:
                with open(options.json, "w") as file:
                    json.dump(results, file, indent=1)
        for line in module.summary(rows) if hasattr(module, "summary") else ():
            print(f"  {line}")
        print()
    print("(2.0x behind a name: it takes twice numlift's time)")
    print(f"missed: {', '.join(missed) if missed else 'none'}")


if __name__ == "__main__":
    main()
