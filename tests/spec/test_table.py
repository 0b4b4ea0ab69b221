"""The table of the specification's lines is complete, and every line has a test or is known to come later."""

import re

import pytest

from spec import table


def test_lines_are_numbered_without_gaps():
    numbers = [tuple(map(int, number.split("."))) for number in table.lines()]
    assert numbers[0] == (1, 1) and numbers[-1] == (13, 4)
    for before, after in zip(numbers, numbers[1:]):
        assert after in ((before[0], before[1] + 1), (before[0] + 1, 1))


def test_every_line_has_a_test_or_comes_later():
    without = [number for number, tests in table.shown_by().items() if not tests]
    assert [number for number in without if not table.is_later(number)] == []
    # What was to come later and is there now is struck from the list.
    assert [name for name in table.LATER if not any(n == name or n.split(".")[0] == name for n in without)] == []


def test_marks_are_found_in_names_docstrings_and_comments(tmp_path, monkeypatch):
    monkeypatch.setattr(table, "ROOT", tmp_path)
    path = tmp_path / "test_some.py"
    path.write_text(
        "def test_spec_1_2_3_4_five(a): pass\n"
        'def test_b():\n    """Spec 5.6, 7.8: nine 10.11."""\n'
        "@decorated  # 1.1\ndef test_c(x):  # 12.13, 1.2\n    return 0  # 3.3\n"
        "def helper(): pass  # 2.2\n"
        "def test_d(): return 1.5  # about 2.5 of them\n"
    )
    found = list(table.tests_in(path))
    assert re.findall(r"\d+\.\d+", str(found)) == ["1.2", "3.4", "5.6", "7.8", "12.13", "1.2"]
    assert {test for _, test in found} == {f"test_some.py::{name}" for name in ("test_spec_1_2_3_4_five", "test_b", "test_c")}


def test_a_mark_of_no_line_is_an_error(monkeypatch):
    monkeypatch.setattr(table, "lines", lambda: {"1.1": "all there is"})
    with pytest.raises(ValueError, match="which the specification does not have"):
        table.shown_by()
