"""Random expressions over the variables of a scope, which are known by what they hold:

x, X    1-D and 2-D arrays of floats or complex numbers; k, K of integers; m a 1-D array of bools
i       an int that is a valid index for sure (unless the arrays are empty)
n       any small int;  u  an int of any size;  s  a number of any class;  b  a bool
L, A    lists of numbers and of arrays that loops change (in every third program)

All arrays have sides of one length (most of the time), so that most programs run to their end.
"""

import random

FLOATS = ("0.5", "1.5", "-2.0", "0.25", "3.0", "0.0", "1", "2", "-1")
INTS = ("0", "1", "2", "3", "-1", "7", "5")
COMPARE = ("<", "<=", ">", ">=", "==", "!=")


class Variable:
    def __init__(self, name, kind, fixed=False):
        self.name, self.kind, self.fixed = name, kind, fixed


class Expressions:
    def __init__(self, seed):
        self.rng = random.Random(seed)
        self.budget = self.rng.choice((4, 6, 8, 12, 16))
        self.counter = 0
        self.loops = []  # "for" or "while", outermost first
        self.helpers = []
        self.is_helper = False
        self.float_dtype = self.rng.choice(("float64",) * 6 + ("float32",) * 2 + ("complex128",))
        self.int_dtype = self.rng.choice(("int64",) * 5 + ("int32",))
        self.has_lists = seed % 3 == 1
        self.is_risky = self.rng.random() < 0.3  # indices out of range, divisions by zero, unset names

    # ---- small choices

    def chance(self, probability):
        return self.rng.random() < probability

    def pick(self, *options):
        """One of (weight, function) pairs, called."""
        return self.rng.choices([o[1] for o in options], [o[0] for o in options])[0]()

    def fresh(self, prefix):
        self.counter += 1
        return f"{prefix}{self.counter}"

    def names(self, kinds, writable=False):
        return [v.name for v in self.scope if v.kind in kinds and not (writable and v.fixed)]

    def name(self, kinds, writable=False):
        found = self.names(kinds, writable)
        # Those made last are the most interesting.
        return self.rng.choice(found + found[-2:]) if found else None

    # ---- ints

    def index(self):
        """An int that is a valid index, or nearly so."""
        i = self.name("i")
        k = self.name("k")
        options = [(1, lambda: self.rng.choice(("0", "-1")))]
        if i:
            options.append((9, lambda: i))
            options.append((2, lambda: f"{i} - 1"))
            options.append((1, lambda: f"-{i} - 1"))
            options.append((1, lambda: f"-{i}"))
            if self.is_risky:
                options.append((1, lambda: f"{i} + 1"))
            if k:
                options.append((1, lambda: f"{k}[{i}]"))
        array = self.name("xkm")
        if array:
            options.append((1, lambda: f"{self.int(1)} % len({array})"))
            options.append((0.5, lambda: f"len({array}) - 1"))
        if self.is_risky:
            options.append((0.5, lambda: self.small_int()))
        return self.pick(*options)

    def small_int(self):
        options = [(1, lambda: self.rng.choice(INTS))]
        for kind, weight in (("i", 4), ("n", 4)):
            if self.name(kind):
                options.append((weight, lambda kind=kind: self.name(kind)))
        array, matrix = self.name("xkm"), self.name("XK")
        if array:
            options.append((1, lambda: f"len({array})"))
            options.append((1, lambda: f"{array}.shape[0]"))
        if matrix:
            options.append((1, lambda: f"{matrix}.shape[{self.rng.choice('01')}]"))
        return self.pick(*options)

    def int(self, depth=2):
        options = [(3, self.small_int)]
        if self.name("u"):
            options.append((2, lambda: self.name("u")))
        if depth > 0:
            options += [
                (2, lambda: f"({self.int(depth - 1)} {self.rng.choice('+-')} {self.int(depth - 1)})"),
                (
                    1,
                    lambda: (
                        f"({self.small_int()} * {self.int(depth - 1)})"
                        if not self.name("u")
                        else self.small_int()
                    ),
                ),
                (0.5, lambda: f"({self.int(depth - 1)} * {self.rng.choice(INTS)})"),
                (1, lambda: f"({self.int(depth - 1)} {self.rng.choice(('//', '%'))} {self.int_divisor()})"),
                (1, lambda: f"({self.int(depth - 1)} {self.rng.choice('&|^')} {self.int(depth - 1)})"),
                (0.3, lambda: f"({self.int(depth - 1)} >> {self.rng.choice('012')})"),
                (0.3, lambda: f"({self.small_int()} << {self.rng.choice('0123')})"),
                (0.3, lambda: f"({self.small_int()} ** {self.rng.choice('0123')})"),
                (
                    0.4,
                    lambda: f"{self.rng.choice(('min', 'max'))}({self.int(depth - 1)}, {self.int(depth - 1)})",
                ),
                (0.3, lambda: f"abs({self.int(depth - 1)})"),
                (0.2, lambda: f"(-{self.int(depth - 1)})"),
                (0.2, lambda: f"(~{self.int(depth - 1)})"),
                (0.4, lambda: f"int({self.bool(depth - 1)})"),
                (
                    0.5,
                    lambda: (
                        f"int({self.element()})" if self.float_dtype != "complex128" else self.small_int()
                    ),
                ),
                (
                    0.3,
                    lambda: f"({self.int(depth - 1)} if {self.bool(depth - 1)} else {self.int(depth - 1)})",
                ),
            ]
        return self.pick(*options)

    def int_divisor(self):
        return self.int(1) if self.is_risky and self.chance(0.5) else self.rng.choice(("2", "3", "-2", "7"))

    # ---- numbers of any class

    def element(self):
        array, matrix = self.name("xk"), self.name("XK")
        options = []
        if array:
            options.append((2, lambda: f"{array}[{self.index()}]"))
        if matrix:
            options.append((2, lambda: f"{matrix}[{self.index()}, {self.index()}]"))
            options.append((0.5, lambda: f"{matrix}[{self.index()}][{self.index()}]"))
        if not options:
            return self.rng.choice(FLOATS)
        return self.pick(*options)

    def number(self, depth=2):
        is_complex = self.float_dtype == "complex128"
        options = [(1, lambda: self.rng.choice(FLOATS)), (4, self.element), (1, lambda: self.int(1))]
        if self.name("s"):
            options.append((4, lambda: self.name("s")))
        if self.name("L"):
            options.append((2, self.list_item))
        if depth > 0:
            n = lambda: self.number(depth - 1)  # noqa: E731
            options += [
                (3, lambda: f"({n()} {self.rng.choice('+-*')} {n()})"),
                (0.7, lambda: f"({n()} / {self.divisor()})"),
                (1, self.reduction),
                (0.3, lambda: f"(-{n()})"),
                (0.4, lambda: f"abs({n()})"),
                (0.4, lambda: f"({n()} if {self.bool(depth - 1)} else {n()})"),
                (0.3, lambda: f"{n()} ** {self.rng.choice('0123')}"),
            ]
            if not is_complex:
                options += [
                    (0.3, lambda: f"({n()} {self.rng.choice(('//', '%'))} {self.divisor()})"),
                    (0.6, lambda: f"{self.rng.choice(('min', 'max'))}({n()}, {n()})"),
                    (0.4, lambda: f"float({n()})"),
                    (0.4, lambda: f"int({n()})"),
                    (
                        0.3,
                        lambda: f"math.{self.rng.choice(('sqrt(abs', 'cos(float', 'floor(float', 'exp(-abs'))}({n()}))",
                    ),
                    (
                        0.3,
                        lambda: f"np.{self.rng.choice(('sqrt(np.abs', 'sin(np.float64', 'floor(np.abs', 'sign(np.abs'))}({n()}))",
                    ),
                ]
            if self.helpers and not self.is_helper:
                options.append((0.7, self.call))
        return self.pick(*options)

    def list_item(self):
        L = self.name("L")
        return self.pick(
            (2, lambda: f"{L}[-1]"),
            (1, lambda: f"{L}[0]"),
            (1, lambda: f"{L}[{self.small_int()} % len({L})]"),
            (0.5, lambda: f"{L}[{self.index()}]"),
            (1, lambda: f"len({L})"),
        )

    def divisor(self):
        if self.is_risky and self.chance(0.4):
            return self.number(1)
        return self.rng.choice(("2", "4.0", "-2.0", "0.5", f"(1 + abs({self.number(0)}))"))

    def reduction(self):
        x = self.vector(1, self.section()) if self.chance(0.4) else None
        array = x or self.name("xkXK")
        if not array:
            return "0.5"
        if self.chance(0.25):
            section = self.section()
            a, b = self.vector(0, section), self.vector(0, section)
            return self.rng.choice((f"np.dot({a}, {b})", f"({a} @ {b})"))
        which = self.rng.choice(("sum", "sum", "min", "max", "mean", "any", "argmax", "prod"))
        if which in ("min", "max", "argmax") and self.float_dtype == "complex128":
            which = "sum"
        return f"np.{which}({array})" if self.chance(0.5) else f"({array}).{which}()"

    def bool(self, depth=2):
        is_complex = self.float_dtype == "complex128"
        part = ".real" if is_complex else ""
        compare = lambda: self.rng.choice(COMPARE)  # noqa: E731
        options = [
            (3, lambda: f"{self.int(1)} {compare()} {self.int(1)}"),
            (2, lambda: f"{self.element()}{part} {compare()} {self.element()}{part}"),
            (2, lambda: f"{self.element()}{part} {compare()} {self.rng.choice(FLOATS)}"),
            (0.5, lambda: f"{self.element()}"),
            (0.5, lambda: f"{self.small_int()} % 2"),
        ]
        if not is_complex:
            options.append((2, lambda: f"{self.number(1)} {compare()} {self.number(1)}"))
            options.append(
                (
                    0.5,
                    lambda: f"{self.rng.choice(FLOATS)} < {self.number(1)} {compare()} {self.rng.choice(FLOATS)}",
                )
            )
        if self.name("b"):
            options.append((1.5, lambda: self.name("b")))
        if self.name("m"):
            options.append((1, lambda: f"{self.name('m')}[{self.index()}]"))
        if depth > 0:
            options += [
                (
                    0.6,
                    lambda: f"({self.bool(depth - 1)} {self.rng.choice(('and', 'or'))} {self.bool(depth - 1)})",
                ),
                (0.4, lambda: f"not ({self.bool(depth - 1)})"),
            ]
        return self.pick(*options)

    # ---- arrays

    def section(self):
        """The text of a slice of an axis."""
        i = self.name("i") or "1"
        return self.pick(
            (2, lambda: ":"),
            (2, lambda: f":{i}"),
            (2, lambda: f"{i}:"),
            (1, lambda: "::2"),
            (1, lambda: "1:"),
            (1, lambda: ":-1"),
            (0.7, lambda: "::-1"),
            (0.7, lambda: f"{i} + 1:"),
            (0.5, lambda: f":{i}:2"),
            (0.5, lambda: f"{i}::-1"),
            (0.5, lambda: f"{self.small_int()}:{self.small_int()}"),
            (0.3, lambda: f"-{i}:"),
            (0.3, lambda: f"{i}:{i} + 2"),
        )

    def part(self, section):
        """A writable 1-D view of this section, as text; None where there is none."""
        options = []
        array, matrix = self.name("xk"), self.name("XK")
        if array:
            options.append(
                (3, lambda: array if section == ":" and self.chance(0.6) else f"{array}[{section}]")
            )
        if matrix:
            options.append(
                (
                    1.5,
                    lambda: (
                        f"{matrix}[{self.index()}, {section}]"
                        if section != ":"
                        else f"{matrix}[{self.index()}]"
                    ),
                )
            )
            options.append((0.5, lambda: f"{matrix}[{self.index()}][{section}]"))
            options.append((1, lambda: f"{matrix}[{section}, {self.index()}]"))
        return self.pick(*options) if options else None

    def vector(self, depth, section=":"):
        """A 1-D array of the section's length (or, now and then, another one)."""
        leaf = lambda: self.part(section) or "np.zeros(3)"  # noqa: E731
        options = [(2, leaf)]
        if depth > 0:
            v = lambda: self.vector(depth - 1, section)  # noqa: E731
            options += [
                (3, lambda: f"({v()} {self.rng.choice('+-*')} {v()})"),
                (2, lambda: f"({v()} {self.rng.choice('+-*')} {self.number(1)})"),
                (0.5, lambda: f"({v()} / {self.rng.choice(('2', '4.0', '-0.5'))})"),
                (
                    0.5,
                    lambda: f"np.where({v()} {self.rng.choice(('!=', '=='))} {self.rng.choice(FLOATS)}, {v()}, {v()})",
                ),
                (0.5, lambda: f"np.abs({v()})"),
                (0.3, lambda: f"(-{v()})"),
                (0.3, lambda: f"({v()}).copy()"),
            ]
            if section == ":" and self.name("X"):
                options.append((0.5, lambda: f"({self.name('X')} @ {self.vector(0)})"))
                options.append((0.4, lambda: f"{self.name('X')}.sum(axis={self.rng.choice('01')})"))
            if section == ":" and self.name("k") and self.name("x"):
                options.append((0.5, lambda: f"{self.name('x')}[{self.name('k')}]"))
            if self.float_dtype != "complex128":
                options.append((0.5, lambda: f"np.{self.rng.choice(('maximum', 'minimum'))}({v()}, {v()})"))
        return self.pick(*options)

    def matrix(self, depth):
        X = self.name("XK") or "np.ones((2, 2))"
        options = [(2, lambda: X), (0.5, lambda: f"{X}.T")]
        if depth > 0:
            options += [
                (2, lambda: f"({self.matrix(depth - 1)} {self.rng.choice('+-*')} {self.matrix(depth - 1)})"),
                (1, lambda: f"({self.matrix(depth - 1)} {self.rng.choice('+-*')} {self.vector(depth - 1)})"),
                (1, lambda: f"({self.matrix(depth - 1)} {self.rng.choice('+-*')} {self.number(1)})"),
                (0.5, lambda: f"({self.matrix(0)} @ {self.matrix(0)})"),
                (0.4, lambda: f"{self.matrix(depth - 1)}.copy()"),
            ]
        return self.pick(*options)

    def call(self):
        name, kinds = self.rng.choice(self.helpers)
        args = [self.number(0) if kind == "s" else self.name(kind) for kind in kinds]
        return "0.5" if None in args else f"{name}({', '.join(args)})"
