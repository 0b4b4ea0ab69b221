"""The code of docs/hatches.md runs as it stands there."""

import pathlib
import re

import numlift as nl

PAGE = pathlib.Path(__file__).parents[2] / "docs" / "hatches.md"


def test_code_of_the_page(tmp_path, monkeypatch):
    monkeypatch.setenv("NUMLIFT_EXTENSIONS_DIR", str(tmp_path))
    text = PAGE.read_text()
    names = {"__name__": "hatches_page"}
    count = 0
    for block in re.finditer(r"^```python\n(.*?)^```", text, re.DOTALL | re.MULTILINE):
        line = text[: block.start(1)].count("\n")
        exec(compile("\n" * line + block[1], str(PAGE), "exec"), names)
        count += 1
    assert count > 10
    assert nl._core.get_stance() == "default" and not nl.config.ignore_logging_functions


def test_every_hatch_is_in_the_page():
    text = PAGE.read_text()
    for name in nl.compiler.__all__:
        assert name in text or name == "list_backends", name
