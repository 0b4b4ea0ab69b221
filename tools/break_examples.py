"""For each category of break: a program that breaks so, and the same without the break.

The last line of each is the call. "" where there is no rewrite. Tests run all of them; break_docs.py
puts them into docs/breaks.md.
"""


def _pair(example, rewrite=""):
    return example.strip("\n"), rewrite.strip("\n")


# Categories without a program that always breaks so: they depend on what the process did before, or
# belong to switches and escape hatches that have tests of their own.
WITHOUT_EXAMPLE = {
    "graph_break",
    "disallowed",
    "outside_only",
    "hatch_argument",
    "custom_op_without_fake",
    "custom_op_fake",
    "disabled",
    "nothing_to_gain",
}
# Examples for the page alone; other tests bring these about.
SHOWN = {
    "transform_type": _pair(
        """
def f(x):
    return x * x

nl.grad(f)(np.ones(3))  # TypeError: the result has shape (3,)
""",
        """
def f(x):
    return (x * x).sum()

nl.grad(f)(np.ones(3))
""",
    ),
    "transform_rule": _pair(
        """
def loss(x):
    return np.interp(x, [0.0, 1.0], [0.0, 2.0]).sum()

@nl.compile
def f(x):
    return nl.grad(loss)(x)

f(np.linspace(0.1, 0.9, 3))
""",
        """
def loss(x):
    return np.clip(2 * x, 0.0, 2.0).sum()

@nl.compile
def f(x):
    return nl.grad(loss)(x)

f(np.linspace(0.1, 0.9, 3))
""",
    ),
    "transform_value": _pair(
        """
nl.vmap(np.add)(np.ones((3, 2)), np.ones(2))  # ValueError: sizes 3 and 2
""",
        """
nl.vmap(np.add, in_axes=(0, None))(np.ones((3, 2)), np.ones(2))
""",
    ),
    "import_statement": _pair(
        """
@nl.compile
def f(x):
    import colorsys  # nobody has imported it yet
    return x * colorsys.rgb_to_hsv(0.5, 0.5, 0.5)[2]

f(np.ones(3))
""",
        """
import colorsys

@nl.compile
def f(x):
    return x * colorsys.rgb_to_hsv(0.5, 0.5, 0.5)[2]

f(np.ones(3))
""",
    ),
    "unsupported_instruction": _pair(
        """
def load(x):
    from . import tables  # a relative import
    return x * tables.factor
""",
        """
from . import tables  # at the top of the file

def load(x):
    return x * tables.factor
""",
    ),
    "restart": _pair(
        """
@nl.compile
def f(x):
    return x / x

f(np.zeros(3))  # NumPy warns of 0/0: CPython runs the call
""",
        """
with np.errstate(invalid="ignore"):
    f(np.zeros(3))
""",
    ),
    "recompile_limit": _pair(
        """
@nl.compile
def f(x, word):
    return x + len(word)

for word in ["a", "b", "c", "d", "e", "f", "g", "h", "i"]:
    f(np.ones(3), word)  # each call is compiled for its word
""",
        """
@nl.compile
def f(x, length):
    return x + length

for word in ["a", "b", "c", "d", "e", "f", "g", "h", "i"]:
    f(np.ones(3), len(word))
""",
    ),
}

EXAMPLES = {
    "builtin_call": _pair(
        """
@nl.compile
def f(x):
    y = x + 1
    print("half done")
    return y * 2

f(np.ones(3))
""",
        """
@nl.compile
def f(x):
    return (x + 1) * 2

print("before")
f(np.ones(3))
""",
    ),
    "c_call": _pair(
        """
import zlib

@nl.compile
def f(x):
    check = zlib.crc32(b"text")
    return x + check % 7

f(np.ones(3))
""",
        """
import zlib

@nl.compile
def f(x, check):
    return x + check % 7

f(np.ones(3), zlib.crc32(b"text"))
""",
    ),
    "object_made": _pair(
        """
class Pair:
    def __init__(self, a, b):
        self.a, self.b = a, b

    def __del__(self):
        pass

@nl.compile
def f(x):
    pair = Pair(x, x + 1)
    return pair.a * pair.b

f(np.ones(3))
""",
        """
class Pair:
    def __init__(self, a, b):
        self.a, self.b = a, b

@nl.compile
def f(x):
    pair = Pair(x, x + 1)
    return pair.a * pair.b

f(np.ones(3))
""",
    ),
    "class_made": _pair(
        """
class Meta(type):
    pass

@nl.compile
def f(x):
    class Scale(metaclass=Meta):
        factor = 2.0
    return x * Scale.factor

f(np.ones(3))
""",
        """
class Meta(type):
    pass

class Scale(metaclass=Meta):
    factor = 2.0

@nl.compile
def f(x):
    return x * Scale.factor

f(np.ones(3))
""",
    ),
    "outside_iterator": _pair(
        """
@nl.compile
def f(xs):
    a = next(xs)
    b = next(xs)
    return a + b

f(iter([np.ones(3), np.ones(3)]))
""",
        """
@nl.compile
def f(xs):
    it = iter(xs)
    a = next(it)
    b = next(it)
    return a + b

f([np.ones(3), np.ones(3)])
""",
    ),
    "unsupported_call": _pair(
        """
@nl.compile
def f(x, n):
    return x * pow(n, 5, 3)

f(np.ones(3), 7)
""",
        """
@nl.compile
def f(x, n):
    return x * (n**5 % 3)

f(np.ones(3), 7)
""",
    ),
    "generator": _pair(
        """
@nl.compile
def f(x):
    yield x + 1
    yield x + 2

list(f(np.ones(3)))
""",
        """
@nl.compile
def f(x):
    return [x + 1, x + 2]

f(np.ones(3))
""",
    ),
    "with_statement": _pair(
        """
import threading

lock = threading.Lock()

@nl.compile
def f(x):
    with lock:
        return x + 1

f(np.ones(3))
""",
        """
import threading

lock = threading.Lock()

@nl.compile
def f(x):
    return x + 1

with lock:
    result = f(np.ones(3))
result
""",
    ),
    "unsupported_value": _pair(
        """
import datetime

@nl.compile
def f(x, span):
    return x * (span * 2).days

f(np.ones(3), datetime.timedelta(days=1))
""",
        """
import datetime

@nl.compile
def f(x, days):
    return x * (days * 2)

f(np.ones(3), datetime.timedelta(days=1).days)
""",
    ),
    "finalizer": _pair(
        """
class Timer:
    def __del__(self):
        print("done")

@nl.compile
def f(x, timer):
    y = x * 2
    del timer
    return y + 1

f(np.ones(3), Timer())
""",
        """
class Timer:
    def __del__(self):
        print("done")

@nl.compile
def f(x, timer):
    return x * 2 + 1

f(np.ones(3), Timer())
""",
    ),
    "set_order": _pair(
        """
@nl.compile
def f(x, factors):
    for factor in factors:
        x = x * factor
    return x

f(np.ones(3), {2.0, 3.0})
""",
        """
@nl.compile
def f(x, factors):
    for factor in factors:
        x = x * factor
    return x

f(np.ones(3), (2.0, 3.0))
""",
    ),
    "identity": _pair(
        """
@nl.compile
def f(a, b):
    return a if a is b else a + b

f(np.ones(3), np.ones(3))
""",
        """
@nl.compile
def f(a, b, same):
    return a if same else a + b

f(np.ones(3), np.ones(3), False)
""",
    ),
    "handed_over": _pair(
        """
@nl.compile
def f(x):
    return (x * k for k in (1.0, 2.0))

list(f(np.ones(3)))
""",
        """
@nl.compile
def f(x):
    return [x * k for k in (1.0, 2.0)]

f(np.ones(3))
""",
    ),
    "opaque_dtype": _pair(
        """
@nl.compile
def f(days):
    return days.max()

f(np.array(["2024-01-01"], "M8[D]"))
""",
        """
@nl.compile
def f(days):
    return days.max()

f(np.array(["2024-01-01"], "M8[D]").astype(np.int64)).astype("M8[D]")
""",
    ),
    "array_subclass": _pair(
        """
class Tagged(np.ndarray):
    pass

@nl.compile
def f(x):
    return x + 1

f(np.ones(3).view(Tagged))
""",
        """
class Tagged(np.ndarray):
    pass

@nl.compile
def f(x):
    return x + 1

f(np.asarray(np.ones(3).view(Tagged))).view(Tagged)
""",
    ),
    "masked_array": _pair(
        """
@nl.compile
def f(x):
    return x + 1

f(np.ma.array([1.0, 2.0], mask=[False, True]))
""",
        """
@nl.compile
def f(x, mask):
    return np.where(mask, 0.0, x + 1)

x = np.ma.array([1.0, 2.0], mask=[False, True])
f(x.data, x.mask)
""",
    ),
    "array_protocol": _pair(
        """
class Column:
    def __init__(self, values):
        self.values = values

    def __array__(self, dtype=None, copy=None):
        return np.array(self.values, dtype)

@nl.compile
def f(x, column):
    return x + column

f(np.ones(2), Column([1.0, 2.0]))
""",
        """
class Column:
    def __init__(self, values):
        self.values = values

    def __array__(self, dtype=None, copy=None):
        return np.array(self.values, dtype)

@nl.compile
def f(x, column):
    return x + column

f(np.ones(2), np.asarray(Column([1.0, 2.0])))
""",
    ),
    "unsupported_numpy": _pair(
        """
@nl.compile
def f(x):
    return np.piecewise(x, [x < 1, x >= 1], [-1.0, 1.0])

f(np.ones(3))
""",
        """
@nl.compile
def f(x):
    return np.where(x < 1, -1.0, 1.0)

f(np.ones(3))
""",
    ),
    "numpy_argument": _pair(
        """
@nl.compile
def f(x):
    return np.ptp(x, out=np.empty(())) + x

f(np.ones(3))
""",
        """
@nl.compile
def f(x):
    return np.ptp(x) + x

f(np.ones(3))
""",
    ),
    "generic_jump": _pair(
        """
@nl.compile
def f(x):
    if x.sum() > 0:
        return x + 1
    return x - 1

f(np.ones(3))
""",
        """
@nl.compile
def f(x):
    return np.where(x.sum() > 0, x + 1, x - 1)

f(np.ones(3))
""",
    ),
    "data_dependent": _pair(
        """
@nl.compile
def f(x):
    return np.zeros(int(x.sum())) + 1

f(np.ones(3))
""",
        """
@nl.compile
def f(n):
    return np.zeros(n) + 1

f(int(np.ones(3).sum()))
""",
    ),
    "too_long": _pair(
        """
@nl.compile
def f(x):
    total = 0.0
    for row in x:
        total = total + row
    return total

f(np.ones((1000, 3)))
""",
        """
@nl.compile
def f(x):
    return x.sum(axis=0)

f(np.ones((1000, 3)))
""",
    ),
    "too_deep": _pair(
        """
def halve(x, times):
    return x if times == 0 else halve(x / 2, times - 1)

@nl.compile
def f(x):
    return halve(x, 400)

f(np.ones(3))
""",
        """
@nl.compile
def f(x):
    return x / 2.0**400

f(np.ones(3))
""",
    ),
    "too_many_operations": _pair(
        """
nl.config.max_graph_nodes = 20

@nl.compile
def f(x):
    for name in "abcdefghijklmnopqrstuvwxyz":
        x = x + ord(name)
    return x

f(np.ones(3))
""",
        """
@nl.compile
def f(x):
    return x + sum(range(97, 123))

f(np.ones(3))
""",
    ),
    "attribute_set": _pair(
        """
class State:
    def scaled(self, x):
        return x

@nl.compile
def f(x):
    State.scaled = lambda self, x: x * 2
    return State().scaled(x) + 1

f(np.ones(3))
""",
        """
@nl.compile
def f(scaled, x):
    return scaled(x) + 1

f(lambda x: x * 2, np.ones(3))
""",
    ),
    "side_effect": _pair(
        """
@nl.compile
def f(marks, x):
    marks[0] = 7
    return x * 2

f(bytearray(3), np.ones(3))
""",
        """
@nl.compile
def f(marks, x):
    marks[0] = 7
    return x * 2

f([0, 0, 0], np.ones(3))
""",
    ),
    "would_raise": _pair(
        """
error = ValueError("no")

@nl.compile
def f(x):
    try:
        raise error
    except ValueError:
        return x + 1

f(np.ones(3))
""",
        """
@nl.compile
def f(x):
    try:
        raise ValueError("no")
    except ValueError:
        return x + 1

f(np.ones(3))
""",
    ),
}
