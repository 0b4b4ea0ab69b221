"""From the description of a captured graph (_core) to a Graph of NumPy calls.

Memory is explicit in a captured graph: a store gives the next version of a buffer, and only the newest version is
read. So the stores are carried out in place, in their order, and every version is one and the same array here."""

import operator
import re

import numpy as np

from .graph import Graph
from .node import Node, Size


def make_complex(real, imag, dtype):
    """A complex array, or number, of its parts, bit for bit."""
    value = np.empty(np.shape(real), dtype)
    value.real = real
    value.imag = imag
    return value if value.ndim else value[()]


INDEX = "numpy.ndarray index"  # an extern that gives an index, plus 2, as a size


class Capture:
    """`graph`; `inputs` and `sizes`: which inputs and symbols of the program its placeholders are, in order."""

    def __init__(self, description):
        self.described = description
        self.nodes = description["nodes"]
        self.symbols = description["symbols"]
        self.graph = Graph(re.sub(r"\W", "_", description["name"]))
        self.values = {}  # by node: Node, number or Size
        self.diagonals = {}  # by node: (array, subscript) for stores
        self.names = {}  # symbol -> name of its node
        self.indices = {}  # place in an axis -> the number that it is
        self._hints = {f"s{i}": symbol[3] for i, symbol in enumerate(self.symbols)}
        self._make_placeholders()
        for index, node in enumerate(self.nodes):
            self.place = node["place"]
            if node["op"] != "placeholder":
                self.values[index] = self._convert(index, node)
        self._make_output()

    # ---- inputs

    def _make_placeholders(self):
        described = [(n["input"], i) for i, n in enumerate(self.nodes) if n["op"] == "placeholder"]
        used = self.used = self._used_symbols()
        ints = [(self.symbols[s][1], s) for s in used if self.symbols[s][0] == "int"]
        self.inputs = sorted({i for i, _ in described} | {i for i, _ in ints})
        self.sizes = [s for s in used if self.symbols[s][0] in ("dim", "stride")]
        names = self.described["inputs"]
        by_input = {}
        for position in self.inputs:
            name = names[position]
            by_input[position] = self.graph.placeholder(name if name.isidentifier() else _short_name(name))
            by_input[position].meta["source"] = name
        for position, symbol in ints:
            self.names[symbol] = by_input[position].name
            self._note_number(by_input[position], symbol)
        for symbol in self.sizes:
            kind, position, axis, hint = self.symbols[symbol]
            node = self.graph.placeholder(f"s{symbol}")
            self.names[symbol] = node.name
            self._note_number(node, symbol)
            node.meta["source"] = f"{names[position]}.{'shape' if kind == 'dim' else 'strides'}[{axis}]"
        for position, index in described:
            self.values[index] = by_input[position]
            self._note_type(by_input[position], self.nodes[index])

    def _note_number(self, node, symbol):
        node.meta.update(kind="python scalar", dtype=np.dtype(np.int64), shape=(), example=self.symbols[symbol][3])

    def _used_symbols(self):
        """In the attributes of nodes that become arguments: shapes of what is made, places in views."""
        found = set()

        def note(size):
            if isinstance(size, str):
                found.update(int(s) for s in re.findall(r"\bs(\d+)\b", size))

        for node in self.nodes:
            if "size" in node:
                note(node["size"])
            elif node["op"] in ("view", "reshape", "empty", "iota") or node["op"].startswith("reduce_arg"):
                for size in node["shape"]:
                    note(size)
            for start, _, _, *slice_parts in node.get("map", ()):
                for size in (start, *slice_parts):
                    note(size)
        for node in self.nodes:  # the extent of what a view looks at
            if node["op"] == "view":
                for size in self.nodes[node["operands"][0]]["shape"]:
                    note(size)
        return sorted(found)

    # ---- sizes

    def size(self, text):
        if isinstance(text, int):
            return text
        if text in self.indices:
            return self.indices[text]
        hint = eval(text, {"min": min, "max": max}, self._hints)  # of our own making: sums, products, // and %
        return Size(re.sub(r"\bs(\d+)\b", lambda m: self.names.get(int(m[1]), m[0]), text), hint)

    def shape(self, node):
        return tuple(self.size(size) for size in node["shape"])

    # ---- nodes

    def call(self, target, *args, **kwargs):
        node = self.graph.call_function(target, args, kwargs)
        file, node.meta["line"], node.meta["function"] = self.place
        node.meta["file"] = file
        return node

    def _note_type(self, node, described):
        node.meta.update(kind=described["kind"])
        if described["kind"] in ("array", "numpy scalar", "python scalar"):
            shape = self.shape(described)
            node.meta.update(dtype=described["dtype"], shape=shape)
            node.meta["example_shape"] = tuple(s.hint if isinstance(s, Size) else s for s in shape)

    def _convert(self, index, node):
        operands = [self.values[i] for i in node["operands"]]
        value = getattr(self, f"_{node['class']}")(index, node, operands)
        if isinstance(value, Node):
            if "kind" not in value.meta:
                self._note_type(value, node)
            if node["fp"]:
                value.meta["fp_checks"] = node["fp"]
        return value

    def _as_array(self, value, node):
        """NumPy's functions give a scalar where the graph has an array of rank 0."""
        return self.call(np.asarray, value) if node["kind"] == "array" and not node["shape"] else value

    def _elementwise(self, index, node, operands):
        if node["op"] == "make_complex":
            return self._as_array(self.call(make_complex, *operands, node["dtype"]), node)
        if node["op"] == "cast":
            of_array = self.nodes[node["operands"][0]]["kind"] == "array"
            if of_array and node["kind"] == "array":
                return self._as_array(self.call(np.astype, *operands, node["dtype"]), node)
            return self._as_array(self.call(node["dtype"].type, *operands), node)
        value = self.call(node["function"], *operands)
        if node["op"] == "select" and node["kind"] != "array":
            value = self.call(operator.getitem, value, ())
        return self._as_array(value, node)

    def _reduction(self, index, node, operands):
        axes, described = node["axes"], self.nodes[node["operands"][0]]
        rank = len(described["shape"])
        if not node["op"].startswith("reduce_arg"):
            value = self.call(node["function"], *operands, axis=axes if len(axes) != 1 else axes[0])
            return self._as_array(value, node)
        value = operands[0]
        if len(axes) == 1:
            return self._as_array(self.call(node["function"], value, axis=axes[0]), node)
        if len(axes) == rank:
            return self._as_array(self.call(node["function"], value), node)
        kept = tuple(axis for axis in range(rank) if axis not in axes)
        value = self.call(np.transpose, value, kept + axes)
        value = self.call(np.reshape, value, (*self.shape(node), -1))
        return self._as_array(self.call(node["function"], value, axis=-1), node)

    def _gather(self, index, node, operands):
        source, *places = operands
        return self.call(operator.getitem, source, tuple(places))

    def _gufunc(self, index, node, operands):
        return self._as_array(self.call(node["function"], *operands), node)

    def _leaf(self, index, node, operands):
        if node["op"] == "constant":
            return node["value"]
        if node["op"] == "size_value":
            return self.size(node["size"])
        shape = self.shape(node)
        if node["op"] == "iota":
            axis = node["axis"]
            line = self.call(np.arange, shape[axis])
            if len(shape) == 1:
                return line
            place = tuple(slice(None) if k == axis else None for k in range(len(shape)))
            return self.call(np.broadcast_to, self.call(operator.getitem, line, place), shape)
        assert node["op"] == "empty", node["op"]
        if list(node["order"]) in ([], list(range(len(shape)))):
            return self.call(np.empty, shape, node["dtype"])
        if _is_reversed(node["order"]):
            return self.call(np.empty, shape, node["dtype"], "F")
        turned = self.call(np.empty, tuple(shape[axis] for axis in node["order"]), node["dtype"])
        return self.call(np.transpose, turned, _inverse(node["order"]))

    def _memory(self, index, node, operands):
        if node["op"] == "store":
            place, where = self.diagonals.get(node["operands"][0], (operands[0], ...))
            self.call(operator.setitem, place, where, operands[1])
            root = node["operands"][0]
            while self.nodes[root]["class"] == "view":
                root = self.nodes[root]["operands"][0]
            return self.values[root]
        order = list(node["order"])
        if order in ([], list(range(len(order)))):
            return self.call(np.array, operands[0], order="C")
        return self.call(np.array, operands[0], order="F" if _is_reversed(order) else "K")

    def _extern(self, index, node, operands):
        if node["op"] == "extern":
            name, function, arguments = self.described["externs"][node["call"]]
            args, kwargs = arguments(operands)
            if name == INDEX:  # the number itself serves
                return args[0]
            call = self.call(function, *args, **kwargs)
            call.meta.update(kind="object", effect=not node["pure"], name=name)
            return call
        value = operands[0]
        extern = self.nodes[node["operands"][0]]
        if self.described["externs"][extern["call"]][0] == INDEX:
            for symbol, (kind, where, axis, _) in enumerate(self.symbols):
                if kind == "extern" and where == index and axis == 0:
                    self.indices[f"s{symbol}-2"] = value
                    self.names[symbol] = f"(int({value})+2)"
            return value
        for position in node["path"]:
            value = self.call(operator.getitem, value, position)
        for symbol, (kind, where, axis, _) in enumerate(self.symbols):
            if kind == "extern" and where == index and symbol in self.used:
                shape = self.call(getattr, value, "shape")
                size = self.call(operator.getitem, shape, axis)
                self._note_number(size, symbol)
                self.names[symbol] = size.name
        if node["kind"] != "effect" and isinstance(value, Node):
            self._note_type(value, node)
        return value

    # ---- views

    def _view(self, index, node, operands):
        value = operands[0]
        if node["op"] == "part_view":
            return self.call(getattr, value, node["part"])
        if node["op"] == "reshape":
            return self.call(np.reshape, value, self.shape(node))
        extents = [self.size(size) for size in self.nodes[node["operands"][0]]["shape"]]
        shape = self.shape(node)
        if self._is_broadcast(node["map"], extents, shape):
            return self.call(np.broadcast_to, value, shape)
        named = []  # the view's axes in the operand's order
        first, turned = [], []  # subscripts; a second one turns axes round
        for (start, step, axis, *parts), extent in zip(node["map"], extents):
            if axis < 0 or step == 0:
                first.append(self.size(start))
                continue
            named.append(axis)
            low, end, stride = map(self.size, parts)
            first.append(slice(*(None if part == usual else part for part, usual in ((low, 0), (end, extent), (stride, 1)))))
            turned.append(slice(None, None, -1 if step < 0 else None))
        if len(set(named)) < len(named):
            return self._diagonal(index, value, first, turned, named, shape)
        missing = [k for k in range(len(shape)) if k not in named]
        if not shape:
            first.append(...)  # an array, not its element
        in_order = named == sorted(named)
        is_turned = any(s.step for s in turned)
        if in_order and not is_turned:
            value = self._subscript(value, first, named, missing)
        else:
            if any(part != slice(None) for part in first):
                value = self._subscript(value, first, named, [])
            if is_turned:
                value = self.call(operator.getitem, value, tuple(turned))
            if not in_order:
                value = self.call(np.transpose, value, tuple(named.index(k) for k in sorted(named)))
            if missing:
                subscript = tuple(None if k in missing else slice(None) for k in range(len(shape)))
                value = self.call(operator.getitem, value, subscript)
        if any(shape[k] != 1 for k in missing):
            value = self.call(np.broadcast_to, value, shape)
        return value

    @staticmethod
    def _is_broadcast(axes, extents, shape):
        """np.broadcast_to and no more: every axis in its place, or of size 1."""
        offset = len(shape) - len(extents)
        if offset < 0:
            return False
        stretched = any(size != 1 for size in shape[:offset])
        for k, ((start, step, axis, *_), extent) in enumerate(zip(axes, extents)):
            size = shape[k + offset]
            if (start, step, axis) == (0, 1, k + offset) and size == extent:
                continue
            if axis >= 0 or extent != 1:
                return False
            stretched = stretched or size != 1
        return stretched

    def _subscript(self, value, subscripts, named, missing):
        """value[subscripts], with new axes at the view's axes `missing` (the others come in order)."""
        rank = len(named) + len(missing)
        parts, axis = [], 0
        for subscript in subscripts:
            if isinstance(subscript, slice):
                while axis in missing:
                    parts.append(None)
                    axis += 1
                axis += 1
            parts.append(subscript)
        parts += [None] * (rank - axis)
        if not parts and not isinstance(value, Node):
            return value
        if all(part == slice(None) for part in parts):
            return self.call(operator.getitem, value, ...)
        if not subscripts:  # a number has no subscripts
            return self.call(np.reshape, value, (1,) * rank)
        while parts and parts[-1] == slice(None):
            parts.pop()
        return self.call(operator.getitem, value, tuple(parts) if len(parts) != 1 else parts[0])

    def _diagonal(self, index, value, first, turned, named, shape):
        value = self._subscript(value, first, named, [])
        value = self.call(operator.getitem, value, tuple(turned)) if any(s.step for s in turned) else value
        if len(named) == 2:  # NumPy's own view is read-only: a store goes to the elements by number
            self.diagonals[index] = value, (line := self.call(np.arange, shape[0]), line)
        twice = next(axis for axis in named if named.count(axis) == 2)
        places = [k for k, axis in enumerate(named) if axis == twice]
        value = self.call(np.diagonal, value, 0, *places)
        left = [axis for axis in named if axis != twice] + [twice]
        if left != sorted(left):
            value = self.call(np.transpose, value, tuple(left.index(k) for k in sorted(left)))
        missing = [k for k in range(len(shape)) if k not in left]
        if missing:
            value = self.call(operator.getitem, value, tuple(None if k in missing else slice(None) for k in range(len(shape))))
            if any(shape[k] != 1 for k in missing):
                value = self.call(np.broadcast_to, value, shape)
        return value

    # ---- the end

    def _make_output(self):
        self.place = ("", 0, "")
        self.graph.output(tuple(self.values[i] for i in self.described["outputs"]))


def _is_reversed(order):
    return list(order) == list(range(len(order)))[::-1]


def _inverse(order):
    return tuple(list(order).index(k) for k in range(len(order)))


def _short_name(source):
    """Of "self.weight" or "closure w of f": what it is called at the end."""
    words = re.findall(r"[A-Za-z_]\w*", source.split(" of ")[0])
    return words[-1] if words else "input"
