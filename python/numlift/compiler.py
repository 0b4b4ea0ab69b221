"""numlift.compiler: the functions about compilation under one roof."""

from . import _core, list_backends, reset
from .custom_op import custom_op
from .hatches import (
    allow_in_graph,
    assume_constant_result,
    disable,
    disallow_in_graph,
    graph_break,
    is_compiling,
    mark_dynamic,
    mark_static,
    nonstrict_trace,
    set_stance,
    skip,
)

__all__ = [
    "allow_in_graph",
    "assume_constant_result",
    "custom_op",
    "disable",
    "disallow_in_graph",
    "disk_cache_info",
    "graph_break",
    "is_compiling",
    "list_backends",
    "mark_dynamic",
    "mark_static",
    "nonstrict_trace",
    "reset",
    "set_stance",
    "skip",
]


def disk_cache_info():
    """The disk cache of machine code, as this process has used it: a dict of "directory" ("" when it is
    off), and how many programs were "found" in it, "missed" (and so compiled), and "stored".
    """
    return _core.disk_cache_info()
