"""The code of docs/backends.md runs as it stands there."""

import pathlib
import re

import numlift as nl

PAGE = pathlib.Path(__file__).parents[2] / "docs" / "backends.md"


def test_code_of_the_page():
    text = PAGE.read_text()
    names = {"__name__": "backends_page"}
    count = 0
    for block in re.finditer(r"^```python\n(.*?)^```", text, re.DOTALL | re.MULTILINE):
        line = text[: block.start(1)].count("\n")
        exec(compile("\n" * line + block[1], str(PAGE), "exec"), names)
        count += 1
    assert count >= 7


def test_the_page_names_all_there_is():
    text = PAGE.read_text()
    for name in nl.list_backends():
        assert f'`"{name}"`' in text
    for owner, left_out in ((nl.fx.Graph, {"create_node", "format_table", "output_node"}), (nl.fx.Node, {"graph", "is_impure", "update_arg", "update_kwarg"})):
        for name in vars(owner):
            assert name.startswith("_") or name in left_out or name in text, name
