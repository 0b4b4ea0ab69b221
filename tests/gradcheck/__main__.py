"""Checks every case, or those whose names hold one of the words given, and prints what failed, then the rules."""

import sys
import traceback
import warnings

import numpy as np

from numlift import _core

from . import check
from .cases import FAMILIES, OF_UNKNOWN_SIZE

CHECKS = {
    "vjp": lambda family, f, args: check.check_value_and_vjp(f, args),
    "jvp": lambda family, f, args: check.check_jvp(f, args),
    "second": lambda family, f, args: check.check_second_order(f, args),
    "vmap": lambda family, f, args: check.check_vmap(f, args, exact=False),
}


def main():
    words = sys.argv[1:]
    passed = dict.fromkeys(CHECKS, 0)
    failed = []
    for family in FAMILIES:
        for name, function, args in family():
            if words and not any(word in name for word in words):
                continue
            for kind, run in CHECKS.items():
                if kind == "second" and name in OF_UNKNOWN_SIZE:
                    continue
                try:
                    with warnings.catch_warnings(), np.errstate(all="ignore"):
                        warnings.simplefilter("ignore")
                        run(family, function, args)
                    passed[kind] += 1
                except Exception as error:
                    failed.append((family.__name__, name, kind))
                    print(f"FAILED {family.__name__}: {name}: {kind}: {type(error).__name__}: {str(error).strip()[:400]}")
                    if "-v" in words:
                        traceback.print_exc()
    print("passed:", ", ".join(f"{count} {kind}" for kind, count in passed.items()), f"  failed: {len(failed)}")
    rules = _core.op_rules()
    without = {}
    for one in rules:
        reason = one["no_gradient"] or one["no_batching"]
        if reason:
            without.setdefault(reason, []).append(one["op"])
    full = sum(not one["no_gradient"] and not one["no_batching"] for one in rules)
    print(f"ops with every rule: {full} of {len(rules)}")
    for reason, ops in without.items():
        print(f"  {reason}: {', '.join(ops)}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
