"""Running a graph: its source text, compiled by CPython."""

import itertools
import linecache

_count = itertools.count()


class GraphModule:
    """A callable that does what its graph says: called with the placeholders' values in order, it returns what the
    output node has. `forward` is the plain function; after changes of the graph, `recompile` makes it anew."""

    def __init__(self, graph):
        self.graph = graph
        self.recompile()

    def recompile(self):
        self.graph.lint()
        made = self.graph.python_code()
        self.code = made.text
        file = f"<numlift graph {next(_count)} {made.name}>"
        # Tracebacks show its lines.
        linecache.cache[file] = (len(self.code), None, self.code.splitlines(True), file)
        names = dict(made.globals)
        exec(compile(self.code, file, "exec"), names)
        self.forward = names[made.name]

    def __call__(self, *inputs):
        return self.forward(*inputs)

    def print_readable(self):
        print(self.code)

    def __repr__(self):
        return f"<numlift.fx.GraphModule of {self.graph.name}, {len(self.graph)} nodes>"


def graph_module(graph):
    """The graph as a callable. `nl.compile(nl.graph_module(graph).forward)` makes native code of it."""
    return GraphModule(graph)
