"""For the tests of escape hatches: which graphs a compiled function has, and what is in them."""

import re

import numlift as nl

_NODE = re.compile(r"^\s*%\d+: \S.* = (\w+)\(", re.MULTILINE)
_NO_WORK = {"placeholder", "constant", "view", "size_value", "extern_item"}


def operations(entry):
    """Names of the operations of an entry's graph, in order."""
    return [op for op in _NODE.findall(entry.graph.text) if op not in _NO_WORK]


def graphs(compiled):
    """Operations of every graph that has some, in the order of the sites."""
    assert isinstance(compiled, nl._core.CompiledFunction)
    found = [operations(entry) for entry in compiled.entries]
    return [ops for ops in found if ops]


def reasons(compiled):
    return [entry.break_reason for entry in compiled.entries if entry.break_reason]
