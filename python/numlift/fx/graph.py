"""Graph: nodes in the order in which they run, and the ways to change them."""

import builtins
import contextlib
import keyword
import operator
import re

from .code import PythonCode, target_text
from .node import Node, Size, map_arg

EFFECTS = (operator.setitem, operator.delitem, setattr, delattr)


class Graph:
    """Placeholders come first, the output last. New nodes go to the end, before the output, unless
    `inserting_before` or `inserting_after` says another place."""

    def __init__(self, name="forward"):
        self.name = name
        self._names = set()
        self._nodes = {}  # owned nodes
        self._end = Node(self, "", "end", None, (), {})  # both ends of the list
        self._end._previous = self._end._next = self._end
        self._insert = None  # before which node; None: at the end

    # ---- the list

    @property
    def nodes(self):
        """A list, first node first: changing the graph does not change it."""
        found, node = [], self._end._next
        while node is not self._end:
            found.append(node)
            node = node._next
        return found

    def __len__(self):
        return len(self._nodes)

    def find_nodes(self, *, op=None, target=None):
        return [n for n in self.nodes if (op is None or n.op == op) and (target is None or n.target == target)]

    @property
    def placeholders(self):
        return self.find_nodes(op="placeholder")

    def output_node(self):
        last = self._end._previous
        return last if last.op == "output" else None

    def _check_own(self, node):
        if node not in self._nodes:
            raise ValueError(f"{node} is no node of this graph")

    def _unlink(self, node):
        node._previous._next, node._next._previous = node._next, node._previous

    def _link_before(self, place, node):
        node._previous, node._next = place._previous, place
        place._previous._next = place._previous = node

    # ---- new nodes

    def _free_name(self, wanted):
        wanted = re.sub(r"\W", "_", wanted).strip("_") or "node"
        if wanted[0].isdigit() or keyword.iskeyword(wanted) or hasattr(builtins, wanted) or wanted in ("np", "numpy"):
            wanted = "_" + wanted
        name, count = wanted, 0
        while name in self._names:
            count += 1
            name = f"{wanted}_{count}"
        self._names.add(name)
        return name

    def create_node(self, op, target, args=(), kwargs=None, name=None):
        def check(node):
            self._check_own(node)
            return node

        map_arg((args, kwargs or {}), check)
        node = Node(self, self._free_name(name or _name_of(op, target)), op, target, args, kwargs or {})
        if any(target is effect for effect in EFFECTS):
            node.meta["effect"] = True
        place = self._insert
        if place is None:
            output = self.output_node()
            place = output if output is not None and op != "output" else self._end
        self._nodes[node] = None
        self._link_before(place, node)
        return node

    def placeholder(self, name):
        """An input. It stands behind the other inputs, wherever nodes are inserted now."""
        with contextlib.ExitStack() as stack:
            inputs = self.placeholders
            if self._nodes:
                first = inputs[-1]._next if inputs else self._end._next
                stack.enter_context(self._inserting(first))
            node = self.create_node("placeholder", name, name=name)
        node.target = node.name
        return node

    def call_function(self, function, args=(), kwargs=None):
        if not callable(function):
            raise TypeError(f"call_function takes a callable, not {function!r}")
        return self.create_node("call_function", function, args, kwargs)

    def call_method(self, name, args=(), kwargs=None):
        """args[0].name(*args[1:], **kwargs)"""
        return self.create_node("call_method", name, args, kwargs)

    def output(self, result):
        if self.output_node() is not None:
            raise ValueError("the graph has an output: change its args, or erase it first")
        return self.create_node("output", "output", (result,))

    def node_copy(self, node, arg_transform=lambda node: node):
        """A node of another graph, with arguments as arg_transform(node) gives them."""
        copy = self.create_node(
            node.op,
            node.target,
            map_arg(node.args, arg_transform),
            map_arg(node.kwargs, arg_transform),
            name=node.name,
        )
        copy.meta = dict(node.meta)
        return copy

    def copy(self):
        graph, renamed = Graph(self.name), {}
        for node in self.nodes:
            renamed[node] = graph.node_copy(node, renamed.__getitem__)
        return graph

    __copy__ = copy

    def __deepcopy__(self, memo):
        return self.copy()

    @contextlib.contextmanager
    def _inserting(self, place):
        before, self._insert = self._insert, place
        try:
            yield
        finally:
            self._insert = before

    def inserting_before(self, node):
        self._check_own(node)
        return self._inserting(node)

    def inserting_after(self, node):
        self._check_own(node)
        return self._inserting(node._next)

    # ---- removal

    def erase_node(self, node):
        self._check_own(node)
        if node.users:
            raise RuntimeError(f"{node} is erased but used by {', '.join(map(str, node.users))}")
        node._set_arguments((), {})
        if self._insert is node:
            self._insert = node._next
        self._unlink(node)
        del self._nodes[node]

    def eliminate_dead_code(self):
        """Erases what nothing uses and that has no effect; what it would have warned of goes with it. True if
        anything was erased."""
        changed, named = False, set()
        for node in reversed(self.nodes):
            if not node.users and not node.is_impure and node.name not in named:
                self.erase_node(node)
                changed = True
                continue
            for size in _sizes_in((node.args, node.kwargs)):
                named.update(size.names)
        return changed

    # ---- looking at it

    def lint(self):
        """Raises ValueError, with the node's name, where the graph is no program."""
        seen, names, calls_began = set(), set(), False
        for node in self.nodes:
            if node.name in names or not node.name.isidentifier():
                raise ValueError(f"{node}: its name is no identifier of its own")
            names.add(node.name)
            if node.op == "placeholder" and calls_began:
                raise ValueError(f"{node}: a placeholder behind other nodes")
            calls_began = calls_began or node.op != "placeholder"
            if node.op == "call_function" and not callable(node.target):
                raise ValueError(f"{node}: its target {node.target!r} is not callable")
            if node.op == "call_method" and not (isinstance(node.target, str) and node.args):
                raise ValueError(f"{node}: a method needs a name and an object")
            if node.op == "output" and node._next is not self._end:
                raise ValueError(f"{node}: nodes behind the output")
            for used in node.all_input_nodes:
                if used not in self._nodes:
                    raise ValueError(f"{node}: it uses {used}, which is no node of the graph")
                if used not in seen:
                    raise ValueError(f"{node}: it uses {used}, which comes later")
                if node not in used.users:
                    raise ValueError(f"{node}: it uses {used} but is not among its users")
            for size in _sizes_in((node.args, node.kwargs)):
                unknown = size.names - {n.name for n in seen}
                if unknown:
                    raise ValueError(f"{node}: size {size} names {', '.join(sorted(unknown))}, which is no node above")
            for user in node.users:
                if user not in self._nodes or node not in user.all_input_nodes:
                    raise ValueError(f"{node}: {user} is among its users but does not use it")
            seen.add(node)
        if self.output_node() is None:
            raise ValueError("the graph has no output")

    def format_table(self):
        head = ("op", "name", "target", "args", "kwargs", "type", "line")
        rows = [head]
        for node in self.nodes:
            target = node.target if isinstance(node.target, str) else target_text(node.target)
            place = f"{node.meta['file']}:{node.meta['line']}" if node.meta.get("line") else ""
            kwargs = str(node.kwargs) if node.kwargs else ""
            rows.append((node.op, node.name, target, str(node.args), kwargs, type_text(node), place))
        widths = [max(len(row[i]) for row in rows) for i in range(len(head))]
        return "\n".join("  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in rows)

    def print_tabular(self):
        print(self.format_table())

    def python_code(self):
        """The graph as source text of a function, with the global names that it needs."""
        return PythonCode(self)

    @property
    def code(self):
        """Source text that runs as it stands: a function of the placeholders that returns a tuple."""
        return self.python_code().text

    def __str__(self):
        lines = [f"graph {self.name}:"]
        for node in self.nodes:
            what = node.target if isinstance(node.target, str) else target_text(node.target)
            args = ", ".join([*map(str, node.args), *(f"{k}={v}" for k, v in node.kwargs.items())])
            lines.append(f"    {node.name} = {node.op} {what}({args})")
        return "\n".join(lines)


def _sizes_in(arg):
    if isinstance(arg, Size):
        yield arg
    elif isinstance(arg, (tuple, list)):
        for item in arg:
            yield from _sizes_in(item)
    elif isinstance(arg, dict):
        yield from _sizes_in(list(arg.values()))
    elif isinstance(arg, slice):
        yield from _sizes_in([arg.start, arg.stop, arg.step])


def _name_of(op, target):
    if isinstance(target, str):
        return target
    text = target_text(target)
    parts = text.split(".")
    return "_".join(parts[-2:]) if parts[-1] in ("reduce", "accumulate", "outer", "at", "reduceat") else parts[-1]


def type_text(node):
    """"float64[3, s0]", "float64" for a number, "" where nothing is known."""
    dtype = node.meta.get("dtype")
    if dtype is None:
        return node.meta.get("kind", "")
    if node.meta.get("kind") == "array":
        return f"{dtype}[{', '.join(map(str, node.meta['shape']))}]"
    return str(dtype)
