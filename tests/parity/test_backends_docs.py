"""The code of docs/backends.md and docs/removing-breaks.md runs as it stands there."""

import pathlib
import re

import pytest

import numlift as nl

DOCS = pathlib.Path(__file__).parents[2] / "docs"


@pytest.mark.parametrize("page, blocks", [("backends.md", 7), ("removing-breaks.md", 6)])
def test_code_of_the_page(page, blocks, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = DOCS / page
    text = path.read_text()
    names = {"__name__": "page"}
    count = 0
    for block in re.finditer(r"^```python\n(.*?)^```", text, re.DOTALL | re.MULTILINE):
        line = text[: block.start(1)].count("\n")
        exec(compile("\n" * line + block[1], str(path), "exec"), names)
        count += 1
    assert count >= blocks
    assert not any(tmp_path.iterdir())


def test_the_page_names_all_there_is():
    text = (DOCS / "backends.md").read_text()
    for name in nl.list_backends():
        assert f'`"{name}"`' in text
    for owner, left_out in ((nl.fx.Graph, {"create_node", "format_table", "output_node"}), (nl.fx.Node, {"graph", "is_impure", "update_arg", "update_kwarg"})):
        for name in vars(owner):
            assert name.startswith("_") or name in left_out or name in text, name
