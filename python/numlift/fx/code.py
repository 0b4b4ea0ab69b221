"""Graphs as Python source text."""

import importlib
import keyword
import math
import operator
import re

import numpy as np

_SYMBOLS = {  # what has a sign of its own in Python
    operator.add: "{} + {}",
    operator.sub: "{} - {}",
    operator.mul: "{} * {}",
    operator.truediv: "{} / {}",
    operator.floordiv: "{} // {}",
    operator.mod: "{} % {}",
    operator.pow: "{} ** {}",
    operator.matmul: "{} @ {}",
    operator.neg: "-{}",
    operator.pos: "+{}",
}


def _path_of(target):
    """(module, dotted name) by which an import finds the very object, or None."""
    if isinstance(target, np.ufunc):
        return ("numpy", target.__name__) if getattr(np, target.__name__, None) is target else None
    owner = getattr(target, "__self__", None)
    if isinstance(owner, np.ufunc):
        path = _path_of(owner)
        return path and (path[0], f"{path[1]}.{target.__name__}")
    name = getattr(target, "__qualname__", None)
    module = getattr(target, "__module__", None)
    if not isinstance(name, str):
        return None
    if isinstance(target, type) and issubclass(target, np.generic):
        module, name = "numpy", np.dtype(target).type.__name__
    for place in (module, "numpy", "builtins"):
        if not isinstance(place, str) or place == "__main__":
            continue
        try:
            found = importlib.import_module(place)
            for part in name.split("."):
                found = getattr(found, part)
        except (ImportError, AttributeError):
            continue
        if found is target:
            return place, name
    return None


def target_text(target):
    """The name of a function for people: "numpy.add.reduce"."""
    path = _path_of(target)
    if path is None:
        return getattr(target, "__qualname__", None) or type(target).__name__
    return path[1] if path[0] == "builtins" else f"{path[0].lstrip('_')}.{path[1]}"


class PythonCode:
    """`text`: imports and a function named after the graph. `globals`: the objects that no import finds, by the name
    that the text gives them; empty when the text runs as it stands."""

    def __init__(self, graph):
        self.globals = {}
        self._imports = {}
        self._taken = {node.name for node in graph.nodes}
        self.name = re.sub(r"\W", "_", graph.name) or "forward"
        lines, parameters = [], []
        for node in graph.nodes:
            if node.op == "placeholder":
                parameters.append(node.name)
            else:
                lines.append(f"    {self._statement(node)}{_comment(node)}")
        body = "\n".join(lines) or "    pass"
        used = {"np", *(module.split(".")[0] for module in self._imports), *self.globals, *self._taken}
        while not self.name.isidentifier() or keyword.iskeyword(self.name) or self.name in used:
            self.name = "forward" if self.name != "forward" else "forward_"
        imports = "".join(f"import {m}\n" if m != "numpy" else "import numpy as np\n" for m in sorted(self._imports))
        self.text = f"{imports}\n\ndef {self.name}({', '.join(parameters)}):\n{body}\n".lstrip("\n")

    def _statement(self, node):
        args, kwargs = node.args, node.kwargs
        if node.op == "output":
            return f"return {self._value(args[0])}"
        if node.target is operator.setitem:
            return f"{self._value(args[0])}[{self._index(args[1])}] = {self._value(args[2])}"
        if node.target is setattr and isinstance(args[1], str):
            return f"{self._value(args[0])}.{args[1]} = {self._value(args[2])}"
        return f"{node.name} = {self._call(node, args, kwargs)}"

    def _call(self, node, args, kwargs):
        if node.op == "call_method":
            return f"{self._value(args[0])}.{node.target}({self._arguments(args[1:], kwargs)})"
        target = node.target
        if not kwargs:
            if target is operator.getitem:
                return f"{self._value(args[0])}[{self._index(args[1])}]"
            if target is getattr and len(args) == 2 and str(args[1]).isidentifier():
                return f"{self._value(args[0])}.{args[1]}"
            if target in _SYMBOLS:
                return _SYMBOLS[target].format(*(self._operand(arg) for arg in args))
        return f"{self._object(target)}({self._arguments(args, kwargs)})"

    def _arguments(self, args, kwargs):
        texts = [self._value(arg) for arg in args]
        if all(key.isidentifier() for key in kwargs):
            texts += [f"{key}={self._value(arg)}" for key, arg in kwargs.items()]
        else:
            texts.append(f"**{self._value(kwargs)}")
        return ", ".join(texts)

    def _operand(self, arg):
        text = self._value(arg)
        return text if re.fullmatch(r"\w+", text) else f"({text})"

    def _index(self, index):
        if isinstance(index, tuple) and index and type(index) is tuple:
            return ", ".join(self._index_part(part) for part in index) + ("," if len(index) == 1 else "")
        return self._index_part(index)

    def _index_part(self, part):
        if not isinstance(part, slice):
            return self._value(part)
        start, stop, step = ("" if p is None else self._value(p) for p in (part.start, part.stop, part.step))
        return f"{start}:{stop}" + (f":{step}" if step else "")

    def _value(self, value):
        from .node import Node, Size

        if isinstance(value, Node):
            return value.name
        if isinstance(value, Size):
            return value.text
        if value is None or value is Ellipsis or type(value) in (bool, int, str, bytes):
            return "..." if value is Ellipsis else repr(value)
        if type(value) is float:
            return repr(value) if math.isfinite(value) else f"float('{value}')"
        if type(value) is complex:
            return f"complex({self._value(value.real)}, {self._value(value.imag)})"
        if type(value) is tuple:
            return f"({', '.join(map(self._value, value))}{',' if len(value) == 1 else ''})"
        if type(value) is list:
            return f"[{', '.join(map(self._value, value))}]"
        if type(value) is dict:
            return "{" + ", ".join(f"{self._value(k)}: {self._value(v)}" for k, v in value.items()) + "}"
        if isinstance(value, slice):
            return f"slice({', '.join(self._value(p) for p in (value.start, value.stop, value.step))})"
        if isinstance(value, np.dtype) and value.kind in "biufc" and value.isnative:
            self._imports["numpy"] = None
            return f"np.dtype('{value.name}')"
        if isinstance(value, np.generic) and value.dtype.kind in "biufc":
            return f"{self._object(type(value))}({self._value(value.item())})" if value.dtype.char not in "gG" else self._global(value)
        return self._object(value)

    def _object(self, value):
        path = _path_of(value)
        if path is None:
            return self._global(value)
        module, name = path
        if module.split(".")[0] in self._taken:
            return self._global(value)
        if module == "builtins":
            return name if name not in self._taken else self._global(value)
        self._imports[module] = None
        return f"np.{name}" if module == "numpy" else f"{module}.{name}"

    def _global(self, value):
        for name, known in self.globals.items():
            if known is value:
                return name
        wanted = re.sub(r"\W", "_", getattr(value, "__name__", None) or type(value).__name__)
        name, count = f"_{wanted}", 0
        while name in self.globals or name in self._taken:
            count += 1
            name = f"_{wanted}_{count}"
        self.globals[name] = value
        return name


def _comment(node):
    line = node.meta.get("line")
    return f"  # {node.meta['file'].rsplit('/', 1)[-1]}:{line}" if line else ""
