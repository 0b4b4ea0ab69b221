"""Captured graphs as Python objects, for backends and passes of one's own.

    import numpy as np
    import numlift as nl

    def backend(graph, example_inputs):
        graph.print_tabular()
        return nl.graph_module(graph)

    @nl.compile(backend=backend)
    def f(x):
        return np.sin(x) + 1
"""

from .backend import ask_backend
from .graph import Graph
from .module import GraphModule, graph_module
from .node import Node, Size, map_arg

__all__ = ["Graph", "GraphModule", "Node", "Size", "ask_backend", "graph_module", "map_arg"]
