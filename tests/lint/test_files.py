"""Rules on the files themselves: size, words, format."""

import re
import shutil
import subprocess

import pytest

from lint.tree import ROOT, tracked_files

LINE_LIMIT = 600
# A file over the limit needs a reason here, e.g. "src/x/y.cpp": "one switch over all opcodes".
LONG_FILES = {"tools/break_examples.py": "a table: two programs a kind of break"}
SIZED = {".cpp", ".h", ".c", ".py", ".sh"}

# Hosts that texts may name.
ALLOWED_HOSTS = {"www.apache.org", "127.0.0.1", "localhost"}
FORBIDDEN = {
    "a path of somebody's machine": re.compile(r"(?<![\w.$}])/(?:work|root|home/\w+|Users/\w+)/\w"),
    "an issue or a pull request by number": re.compile(
        r"\b(?:issue|bug|pull request|pr|ticket)s? ?#?\d+|(?<![\w&])#\d{2,}\b(?!\w)", re.IGNORECASE
    ),
    "an address": re.compile(r"\b(?!127\.0\.0\.1|0\.0\.0\.0)(?:\d{1,3}\.){3}\d{1,3}\b"),
}
URL = re.compile(r"\b(?:https?|ftp|git|ssh)://([\w.-]+)")


def texts():
    for path in tracked_files():
        try:
            yield path, (ROOT / path).read_text()
        except UnicodeDecodeError:
            continue


def test_no_file_is_too_long():
    long_files = {
        p.as_posix() for p, text in texts() if p.suffix in SIZED and text.count("\n") > LINE_LIMIT
    }
    assert long_files == set(LONG_FILES), (
        f"over {LINE_LIMIT} lines without a reason: {sorted(long_files - set(LONG_FILES))}; "
        f"reasons no longer needed: {sorted(set(LONG_FILES) - long_files)}"
    )


def test_no_text_talks_of_machines_hosts_or_issues():
    found = []
    for path, text in texts():
        for number, line in enumerate(text.splitlines(), 1):
            for what, pattern in FORBIDDEN.items():
                if match := pattern.search(line):
                    found.append(f"{path}:{number}: {what}: {match[0]}")
            for host in URL.findall(line):
                if host not in ALLOWED_HOSTS:
                    found.append(f"{path}:{number}: a host: {host}")
    assert not found, "\n".join(found)


def test_text_files_end_well():
    found = []
    for path, text in texts():
        if text and not text.endswith("\n"):
            found.append(f"{path}: no newline at the end")
        if path.suffix in SIZED and "\t" in text:
            found.append(f"{path}: a tab")
        if path.suffix in SIZED and re.search(r"[ \t]$", text, re.MULTILINE):
            found.append(f"{path}: blanks at the end of a line")
    assert not found, "\n".join(found)


def test_relative_links_in_docs_lead_somewhere():
    found = []
    for path, text in texts():
        if path.suffix == ".md":
            for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", text):
                if not (ROOT / path.parent / target).exists():
                    found.append(f"{path}: {target}")
    assert not found, "\n".join(found)


def test_sources_are_formatted():
    tool = shutil.which("clang-format-19")
    if not tool:
        pytest.skip("clang-format-19 is not installed (on Debian: apt-get install clang-format-19)")
    sources = [p for p in tracked_files() if p.suffix in {".cpp", ".h", ".c"}]
    if not sources:
        pytest.skip("no sources")
    run = subprocess.run(
        [tool, "--dry-run", "-Werror", *map(str, sources)], cwd=ROOT, capture_output=True, text=True
    )
    bad = sorted(set(re.findall(r"^(\S+?):\d+:\d+: error", run.stderr, re.MULTILINE)))
    assert run.returncode == 0, f"run `make format`; not formatted: {bad}"
