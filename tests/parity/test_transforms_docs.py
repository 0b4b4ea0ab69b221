"""The code of docs/transforms.md runs as it stands there."""

import pathlib
import re

import numlift as nl
from numlift import transforms

PAGE = pathlib.Path(__file__).parents[2] / "docs" / "transforms.md"


def test_code_of_the_page():
    text = PAGE.read_text()
    names = {"__name__": "transforms_page"}
    count = 0
    for block in re.finditer(r"^```python\n(.*?)^```", text, re.DOTALL | re.MULTILINE):
        line = text[: block.start(1)].count("\n")
        exec(compile("\n" * line + block[1], str(PAGE), "exec"), names)
        count += 1
    assert count == 4


def test_every_transform_is_in_the_page():
    for name in transforms.__all__:
        assert f"`nl.{name}" in PAGE.read_text() and callable(getattr(nl, name)), name
