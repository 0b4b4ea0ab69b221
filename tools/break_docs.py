"""Writes docs/breaks.md from the table of break reasons and the examples beside this file.

    tools/with_build.sh python3 extension python tools/break_docs.py [--check]
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from break_examples import EXAMPLES, SHOWN

from numlift import _core

TARGET = Path(__file__).resolve().parents[1] / "docs" / "breaks.md"

HEAD = """\
# Graph breaks

Where compiled code cannot go on, the graph ends: CPython runs one step (a call, a branch), and a
new graph begins behind it. That is a graph break. It is never wrong, and costs little where it is
rare; inside a hot loop it costs the fusion of what is before and behind.

Find them with `print(numlift.explain(f)(x))` or `NUMLIFT_LOGS=breaks`; with
`numlift.compile(fullgraph=True)`, or inside `with numlift.error_on_graph_break(True):`, a break
raises `numlift.Unsupported`. Each has a code, and each code a section here: the cause, an example
that breaks so, and a rewrite without the break. The examples begin with
`import numpy as np` and `import numlift as nl`.

This page is made by `tools/break_docs.py` from `include/numlift/frame_eval/break_reasons.def` and
`tools/break_examples.py`.
"""


def section(reason):
    lines = [f"## {reason['code']}: {reason['text']}", "", reason["explanation"]]
    for hint in reason["hints"].splitlines():
        lines += ["", f"- {hint}"] if not lines[-1].startswith("- ") else [f"- {hint}"]
    example, rewrite = {**SHOWN, **EXAMPLES}.get(reason["id"], ("", ""))
    if example:
        lines += ["", "```python", example, "```"]
    if rewrite:
        lines += ["", "Without the break:", "", "```python", rewrite, "```"]
    return "\n".join(lines)


def page():
    reasons = _core.break_reasons()
    contents = [f"- [{one['code']}](#{anchor(one)}): {one['text']}" for one in reasons]
    return "\n\n".join([HEAD + "\n" + "\n".join(contents), *map(section, reasons)]) + "\n"


def anchor(reason):
    title = f"{reason['code']}: {reason['text']}".lower()
    kept = "".join(c for c in title if c.isalnum() or c in " -_")
    return kept.replace(" ", "-")


if __name__ == "__main__":
    if "--check" not in sys.argv[1:]:
        TARGET.write_text(page())
    elif TARGET.read_text() != page():
        sys.exit(f"{TARGET} is not what tools/break_docs.py makes: run it without --check")
