"""Run an example: plain NumPy code on real data, plain and compiled, side by side.

    python examples/demo.py [digits]

`make demo EXAMPLE=digits` does the same after building what is missing.
"""

import importlib
import pathlib
import sys

EXAMPLES = sorted(
    path.stem for path in pathlib.Path(__file__).parent.glob("*.py") if path.stem != "demo"
)


def main():
    name = sys.argv[1] if len(sys.argv) > 1 else "digits"
    if name not in EXAMPLES:
        sys.exit(f"no example {name!r}; there are: {', '.join(EXAMPLES)}")
    importlib.import_module(name).main()


if __name__ == "__main__":
    main()
