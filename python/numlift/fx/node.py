"""A node of a graph: one call, with what it is called with."""

import re

OPS = ("placeholder", "call_function", "call_method", "output")


class Size:
    """A size known only when the program runs: an expression of the graph's size placeholders, in Python's words.
    `hint` is its value in the example."""

    __slots__ = ("text", "hint")

    def __init__(self, text, hint):
        self.text = text
        self.hint = hint

    @property
    def names(self):
        """Of the nodes that it is computed from."""
        return set(re.findall(r"[A-Za-z_]\w*", self.text)) - {"min", "max", "int"}

    def __repr__(self):
        return self.text

    def __eq__(self, other):
        return isinstance(other, Size) and self.text == other.text

    def __hash__(self):
        return hash(self.text)


def map_arg(arg, function):
    """`arg` with function(node) in place of every Node in it, containers included."""
    if isinstance(arg, Node):
        return function(arg)
    if isinstance(arg, tuple):
        items = [map_arg(item, function) for item in arg]
        return type(arg)(*items) if hasattr(arg, "_fields") else tuple(items)
    if isinstance(arg, list):
        return [map_arg(item, function) for item in arg]
    if isinstance(arg, dict):
        return {key: map_arg(item, function) for key, item in arg.items()}
    if isinstance(arg, slice):
        return slice(*(map_arg(part, function) for part in (arg.start, arg.stop, arg.step)))
    return arg


class Node:
    """Made by the methods of Graph. `op` is one of OPS; `target` the function called, the method's name, or the
    placeholder's name. `users` has the nodes that use it, in no particular order; `meta` what is known of the value:
    kind, dtype, shape, file, line, function."""

    def __init__(self, graph, name, op, target, args, kwargs):
        self.graph = graph
        self.name = name
        self.op = op
        self.target = target
        self.users = {}
        self.meta = {}
        self._args = ()
        self._kwargs = {}
        self._previous = self._next = None
        self._set_arguments(args, kwargs)

    def _set_arguments(self, args, kwargs):
        for used in self.all_input_nodes:
            del used.users[self]
        self._args, self._kwargs = tuple(args), dict(kwargs)
        for used in self.all_input_nodes:
            used.users[self] = None

    @property
    def args(self):
        return self._args

    @args.setter
    def args(self, args):
        self._set_arguments(args, self._kwargs)

    @property
    def kwargs(self):
        return self._kwargs

    @kwargs.setter
    def kwargs(self, kwargs):
        self._set_arguments(self._args, kwargs)

    @property
    def all_input_nodes(self):
        """The nodes among the arguments, each once, in order."""
        found = {}
        map_arg((self._args, self._kwargs), lambda node: found.setdefault(node))
        return list(found)

    @property
    def next(self):
        return self._next

    @property
    def prev(self):
        return self._previous

    def update_arg(self, index, value):
        args = list(self._args)
        args[index] = value
        self.args = args

    def update_kwarg(self, name, value):
        self.kwargs = {**self._kwargs, name: value}

    def replace_input_with(self, old, new):
        def replaced(node):
            return new if node is old else node

        self._set_arguments(map_arg(self._args, replaced), map_arg(self._kwargs, replaced))

    def replace_all_uses_with(self, new):
        """Every user of this node uses `new` instead (not `new` itself). Returns the users."""
        users = [user for user in self.users if user is not new]
        for user in users:
            user.replace_input_with(self, new)
        return users

    def prepend(self, node):
        """Moves `node` right before this one."""
        self.graph._check_own(node)
        if node is not self:
            self.graph._unlink(node)
            self.graph._link_before(self, node)

    def append(self, node):
        """Moves `node` right behind this one."""
        self.graph._check_own(node)
        if node is not self:
            self.graph._unlink(node)
            self.graph._link_before(self._next, node)

    @property
    def is_impure(self):
        """It may not be dropped although nothing uses it."""
        return self.op in ("placeholder", "output") or self.meta.get("effect", False)

    def __repr__(self):
        return self.name
