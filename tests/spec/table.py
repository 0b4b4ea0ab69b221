"""Which test shows which line. A test says so in its name (test_spec_3_2_…), in its docstring ("Spec 3.2, 3.4: …")
or in a comment at its def ("# 3.2")."""

import ast
import pathlib
import re
import tokenize

ROOT = pathlib.Path(__file__).parents[2]
# Sections and lines of parts that are not built yet.
LATER = ("9.3", "9.4", "9.5", "9.6", "9.7", "9.8", "9.9", "9.10", "9.11", "12.13")
NUMBER = r"\d+\.\d+"


def lines():
    """{number: title} in the order of the specification."""
    found = {}
    for line in pathlib.Path(__file__).with_name("lines.txt").read_text().splitlines():
        if line and not line.startswith("#"):
            number, title = line.split(" ", 1)
            found[number] = title
    return found


def is_later(number):
    return number in LATER or number.split(".")[0] in LATER


def _numbers_of(node, comments):
    found = []
    if name := re.match(r"test_spec((?:_\d+_\d+)+)", node.name):
        found += re.sub(r"_(\d+)_(\d+)", r" \1.\2", name[1]).split()
    for match in re.finditer(rf"\bspec ((?:{NUMBER}(?:, )?)+)", ast.get_docstring(node) or "", re.IGNORECASE):
        found += re.findall(NUMBER, match[1])
    for row in range(node.lineno, node.body[0].lineno):
        if match := re.match(rf"#\s*((?:{NUMBER}(?:, )?)+)", comments.get(row, "")):
            found += re.findall(NUMBER, match[1])
    return found


def tests_in(path):
    """(number, node id) for every mark in one file."""
    text = path.read_text()
    with tokenize.open(path) as file:
        comments = {t.start[0]: t.string for t in tokenize.generate_tokens(file.readline) if t.type == tokenize.COMMENT}
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test"):
            for number in _numbers_of(node, comments):
                yield number, f"{path.relative_to(ROOT).as_posix()}::{node.name}"


def shown_by():
    """{number: [node ids]}"""
    found = {number: [] for number in lines()}
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        for number, test in tests_in(path):
            if number not in found:
                raise ValueError(f"{test} names line {number}, which the specification does not have")
            if test not in found[number]:
                found[number].append(test)
    return found
