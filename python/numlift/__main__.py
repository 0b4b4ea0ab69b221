"""python -m numlift [run] [options] (script.py | -m module) [argument...]

Runs a program in a compile_region: each Python function that it calls is compiled.
"""

import argparse
import os
import runpy
import sys

from . import _core
from .region import compile_region


def _parser():
    parser = argparse.ArgumentParser(
        prog="python -m numlift",
        description="Runs a Python program with all of its functions compiled.",
        usage="python -m numlift [run] [options] (script.py | -m module) [argument...]",
    )
    parser.add_argument("-m", dest="module", action="store_true", help="what follows is a module's name")
    parser.add_argument("--backend", default="llvm", choices=_core.list_backends())
    parser.add_argument("--static", action="store_true", help="sizes and int arguments are constants")
    parser.add_argument(
        "--this-thread", action="store_true", help="only the main thread, not those it starts"
    )
    parser.add_argument("program", help="the script, or the module")
    parser.add_argument("arguments", nargs=argparse.REMAINDER, help="what the program finds in sys.argv")
    return parser


def main():
    words = sys.argv[1:]
    if words[:1] == ["run"]:
        del words[0]
    options = _parser().parse_args(words)
    sys.argv[:] = [options.program, *options.arguments]
    region = compile_region(
        dynamic=False if options.static else None,
        backend=options.backend,
        all_threads=not options.this_thread,
    )
    if options.module:
        # sys.path[0] is the current folder already, as `python -m` sets it.
        with region:
            runpy.run_module(options.program, run_name="__main__", alter_sys=True)
    else:
        if not sys.flags.safe_path:
            sys.path[0] = os.path.dirname(os.path.realpath(options.program))
        with region:
            runpy.run_path(options.program, run_name="__main__")


if __name__ == "__main__":
    main()
