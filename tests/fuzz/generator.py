"""Random functions with loops over arrays and numbers: the text of a module that defines f(...), decided
by the seed."""

from .expressions import COMPARE, FLOATS, INTS, Expressions, Variable


class Generator(Expressions):
    # ---- statements

    def declare(self, kind, prefix=None, fixed=False):
        prefix = (
            prefix
            or {"x": "v", "X": "M", "k": "w", "n": "n", "u": "u", "s": "s", "b": "b", "i": "i", "m": "m", "T": "t", "L": "l", "A": "a"}[
                kind
            ]
        )
        variable = Variable(self.fresh(prefix), kind, fixed)
        self.scope.append(variable)
        return variable.name

    def target(self, kind):
        """A variable to assign to: an old one, or a new one."""
        old = self.name(kind, writable=True)
        if old and self.chance(0.75):
            return old
        return self.declare(kind)

    def assign(self, kind, text):
        """`text` is made before the name is declared: it does not read the name."""
        return [f"{self.target(kind)} = {text}"]

    def in_place(self, place, value):
        return [f"{place} {self.rng.choice(('', '', '+', '-', '*', '+'))}= {value}"]

    def element_store(self):
        array = self.name("xk")
        matrix = self.name("XK")
        options = []
        if array:
            options.append((2, lambda: f"{array}[{self.index()}]"))
        if matrix:
            options.append((2, lambda: f"{matrix}[{self.index()}, {self.index()}]"))
            options.append((0.5, lambda: f"{matrix}[{self.index()}][{self.index()}]"))
        if not options:
            return ["pass"]
        return self.in_place(self.pick(*options), self.number())

    def slice_store(self):
        section = self.section()
        place = self.part(section)
        if place is None:
            return ["pass"]
        value = self.number(1) if self.chance(0.3) else self.vector(self.rng.choice((0, 1, 1, 2)), section)
        if "[" not in place and self.chance(0.5):
            place = f"{place}[...]"
        if "[" not in place:
            return [f"{place} {self.rng.choice('+-*')}= {value}"]
        return self.in_place(place, value)

    def matrix_store(self):
        X = self.name("XK")
        if not X:
            return ["pass"]
        value = self.pick(
            (2, lambda: self.matrix(1)), (1, lambda: self.vector(1)), (1, lambda: self.number(1))
        )
        place = self.rng.choice((f"{X}[...]", X, f"{X}[:]"))
        return [
            (
                f"{place} {self.rng.choice('+-*')}= {value}"
                if place == X or self.chance(0.5)
                else f"{place} = {value}"
            )
        ]

    def overlap(self):
        x = self.name("xk")
        if not x:
            return ["pass"]
        i = self.name("i") or "1"
        a, b = self.rng.choice(
            (
                ("1:", ":-1"),
                (":-1", "1:"),
                (":", "::-1"),
                ("::2", "::2"),
                (f"{i}:", f":len({x}) - {i}"),
                ("1:-1", "2:"),
            )
        )
        operator = self.rng.choice(("", "", "+", "*", "-"))
        value = self.rng.choice((f"{x}[{b}]", f"{x}[{b}] + {x}[{a}]", f"{x}[{b}] * {self.number(0)}"))
        return [f"{x}[{a}] {operator}= {value}"]

    def rebind(self):
        kind = self.rng.choice("xxxkX")
        if not self.name(kind):
            return ["pass"]
        if kind == "X":
            return self.assign("X", self.matrix(1))
        source = self.name(kind)
        text = self.pick(
            (
                2,
                lambda: f"{source} {self.rng.choice('+-*')} {self.rng.choice(INTS) if kind == 'k' else self.number(1)}",
            ),
            (1, lambda: self.vector(1) if kind == "x" else f"{source}.copy()"),
            (1, lambda: f"{source}.copy()"),
            (1, lambda: source),
            (0.7, lambda: f"{source}[{self.section()}]"),
            (0.5, lambda: f"np.zeros_like({source})" if kind == "x" else f"np.arange(len({source}))"),
            (0.3, lambda: f"{source}[:]"),
            (0.3, lambda: f"np.concatenate(({source}[:2], {source}))[: len({source}) + 1]"),
        )
        return self.assign(kind, text)

    def row_alias(self):
        X = self.name("X")
        if not X:
            return ["pass"]
        return self.assign(
            "x",
            self.rng.choice((f"{X}[{self.index()}]", f"{X}[:, {self.index()}]", f"{X}.T[{self.index()}]")),
        )

    def swap(self):
        kind = self.rng.choice("xxsXnu")
        found = self.names(kind, writable=True)
        if len(found) < 2:
            return self.rebind()
        a, b = self.rng.sample(found, 2)
        if kind == "s" and self.chance(0.5):
            return [f"{a}, {b} = {b}, {a} + {b}"]
        return [f"{a}, {b} = {b}, {a}"]

    def masked(self):
        x = self.name("xk")
        if not x:
            return ["pass"]
        part = ".real" if self.float_dtype == "complex128" else ""
        mask = f"{x}{part} {self.rng.choice(COMPARE)} {self.rng.choice(FLOATS)}"
        if self.name("m") and self.chance(0.5):
            mask = self.name("m")
        k = self.name("k")
        options = [
            (2, lambda: [f"{x}[{mask}] {self.rng.choice(('', '+', '*'))}= {self.number(1)}"]),
            (1, lambda: self.assign("s", f"{x}[{mask}].sum()")),
            (0.5, lambda: self.assign("x", f"{x}[{mask}]")),
            (0.5, lambda: self.assign("m", mask)),
        ]
        if k:
            options.append((1, lambda: [f"{x}[{k}] {self.rng.choice(('', '+', '*'))}= {self.number(1)}"]))
            options.append((0.5, lambda: self.assign("x", f"{x}[{k}]")))
            options.append((0.5, lambda: [f"np.{self.rng.choice(('add', 'maximum'))}.at({x}, {k}, {self.number(0)})"]))
        options.append((0.4, lambda: self.assign("k", f"np.flatnonzero({mask})")))
        return self.pick(*options)

    def list_change(self):
        L, A = self.name("L", writable=True), self.name("A", writable=True)
        options = []
        if L:
            options += [
                (5, lambda: [f"{L}.append({self.number(1)})"]),
                (1, lambda: [f"{L}.append({self.int(1)})"]),
                (1, lambda: [f"{L}.append(float({self.small_int()}))"]),
                (0.7, lambda: [f"if {L}:", [f"{self.target('s')} = {L}.pop()"]]),
                (1, lambda: [f"{L}[{self.rng.choice(('0', '-1', f'{self.small_int()} % len({L})'))}] = {self.number(1)}"]),
                (0.5, lambda: self.assign("x", f"np.array({L})")),
                (0.7, lambda: [f"{self.target('L')} = [{self.number(1)} for {self.fresh('q')} in range({self.small_int()})]"]),
                (0.4, lambda: [f"{self.target('L')} = [{self.rng.choice(FLOATS)}] * {self.rng.choice(('3', '20'))}"]),
                (0.4, lambda: [f"{L} = []"]),
            ]
        if A:
            options += [
                (2, lambda: [f"{A}.append({self.vector(1)})"]),
                (1, lambda: [f"{A}.append({self.name('x') or 'np.ones(2)'})"]),
                (0.5, lambda: [f"if {A}:", [f"{self.target('x')} = {A}[-1]"]]),
                (0.5, lambda: [f"if {A}:", [f"{self.target('x')} = np.array({A})[0]"]]),
                (0.3, lambda: [f"if {A}:", [f"{A}[-1][0] += {self.number(0)}"]]),
            ]
        return self.pick(*options) if options else ["pass"]

    def tuple_state(self):
        t = self.name("T", writable=True)
        if not t:
            return ["pass"]
        return self.pick(
            (2, lambda: [f"{t} = ({t}[0] {self.rng.choice('+-')} {self.number(1)}, {t}[1])"]),
            (2, lambda: [f"{t} = ({t}[0], {self.vector(1)})"]),
            (1, lambda: [f"{t} = ({t}[0] * 0.5, {t}[1] + {self.number(0)})"]),
            (1, lambda: self.assign("s", f"{t}[0]")),
            (1, lambda: self.assign("x", f"{t}[1] * 1.5")),
        )

    def scalar(self):
        kind = self.rng.choice("ssssuub")
        value = {"s": self.number, "u": self.int, "b": self.bool}[kind]()
        old = self.name(kind, writable=True)
        if old and kind == "u" and self.chance(0.15):
            return [f"{old} *= {self.small_int()}"]  # out of 64 bits, now and then
        if old and self.chance(0.5) and kind != "b":
            operator = self.rng.choice("+-+-*" if kind == "s" else "+-+-&^|")
            return [f"{old} {operator}= {value}"]
        return self.assign(kind, value)

    def leave(self):
        """break, continue or return under a condition."""
        condition = self.bool()
        words = ["break", "continue"] if self.loops else []
        if self.chance(0.3) or not words:
            words = [self.returning()]
        return [f"if {condition}:", [self.rng.choice(words)]]

    def branch(self):
        lines = [f"if {self.bool()}:", self.inner()]
        if self.chance(0.25):
            lines += [f"elif {self.bool()}:", self.inner()]
        if self.chance(0.5):
            lines += ["else:", self.inner()]
        return lines

    def inner(self, declared=()):
        """A block of its own: what it declares may be unset behind it, so that only risky programs see it."""
        before = len(self.scope)
        self.scope.extend(declared)
        body = self.block(self.rng.choice((1, 1, 2, 2, 3)))
        if not (self.is_risky and self.chance(0.3)):
            del self.scope[before:]
        return body

    def for_loop(self):
        made = []

        def new(prefix, kind):
            made.append(Variable(self.fresh(prefix), kind, self.chance(0.9)))
            return made[-1].name

        def over_range():
            array = self.name("xkX")
            whole = (f"len({array})", f"{array}.shape[0]") if array else ("3",)
            inner = self.name("i")
            forms = [
                (4, "i", f"range({self.rng.choice(whole)})"),
                (1, "i", f"range(1, {self.rng.choice(whole)})"),
                (1, "i", f"range({self.rng.choice(whole)} - 1, -1, -1)"),
                (0.7, "i", f"range(0, {self.rng.choice(whole)}, 2)"),
                (0.5, "i", f"reversed(range({self.rng.choice(whole)}))"),
                (2, "n", f"range({self.small_int()})"),
                (
                    1,
                    "n",
                    f"range({self.small_int()}, {self.small_int()}, {self.rng.choice(('-1', '2', '-2', '1', '3'))})",
                ),
            ]
            if self.is_risky:
                forms.append((0.5, "n", f"range(0, {self.small_int()}, {self.small_int()})"))
            if inner:
                forms += [(3, "i", f"range({inner})"), (2, "i", f"range({inner}, {self.rng.choice(whole)})")]
                forms += [
                    (1, "i", f"range({inner} + 1, {self.rng.choice(whole)})"),
                    (1, "i", f"range({inner}, -1, -1)"),
                ]
            _, kind, text = self.rng.choices(forms, [f[0] for f in forms])[0]
            return f"for {new('i' if kind == 'i' else 'j', kind)} in {text}:"

        def over_array():
            kind = self.rng.choice("xxXk")
            array = self.name(kind)
            if not array:
                return over_range()
            item = {"x": "s", "X": "x", "k": "s"}[kind]
            form = self.rng.randrange(5)
            if form == 4:
                return f"for {new('e', item)} in reversed({array}):"
            if form == 0:
                other = self.name("xk") or array
                return f"for {new('e', item)}, {new('e', 's')} in zip({array}, {other}):"
            if form == 1:
                return f"for {new('i', 'i')}, {new('e', item)} in enumerate({array}):"
            text = self.vector(1) if kind == "x" and self.chance(0.2) else array
            return f"for {new('e', item)} in {text}:"

        head = over_range() if self.chance(0.75) else over_array()
        self.loops.append("for")
        body = self.inner(made)
        self.loops.pop()
        lines = [head, body]
        if self.chance(0.12):
            lines += ["else:", self.inner()]
        return lines

    def while_loop(self):
        counter = self.fresh("c")
        down = self.chance(0.5)
        first = self.small_int()
        test = f"{counter} > 0" if down else f"{counter} < {self.small_int()}"
        if self.chance(0.35):
            test = f"{test} and {self.bool(1)}"
        elif self.chance(0.15):
            test = f"{self.bool(1)} and {test}"
        variable = Variable(counter, "n", True)
        step = f"{counter} {'-' if down else '+'}= {self.rng.choice('112')}"
        self.loops.append("while")
        body = self.inner([variable])
        self.loops.pop()
        self.scope.append(variable)
        has_jump = "continue" in str(body)
        body = body + [step] if self.chance(0.5) and not has_jump else [step, *body]
        lines = [
            f"{counter} = {first if down else self.rng.choice(('0', '1', '-1'))}",
            f"while {test}:",
            body,
        ]
        if self.chance(0.1):
            lines += ["else:", self.inner()]
        return lines

    def statement(self):
        self.budget -= 1
        nests = len(self.loops) < 3 and self.budget > 0
        options = [
            (3, self.element_store),
            (3, self.slice_store),
            (0.7, self.matrix_store),
            (1, self.overlap),
            (1.5, self.rebind),
            (0.5, self.row_alias),
            (0.7, self.swap),
            (1, self.masked),
            (1 if self.names("T") else 0, self.tuple_state),
            (3 if self.names("LA") else 0, self.list_change),
            (4, self.scalar),
            (0.8 if self.loops else 0.1, self.leave),
        ]
        if nests:
            options += [
                (5 if not self.loops else 2, self.for_loop),
                (1.5 if not self.loops else 0.7, self.while_loop),
            ]
            options.append((2 if self.loops else 0.7, self.branch))
        return self.pick(*options)

    def block(self, length):
        lines = []
        for _ in range(length):
            lines += self.statement()
        return lines

    def returning(self):
        found = [v.name for v in self.scope if v.kind != "i"] or ["0"]
        chosen = self.rng.sample(found, min(len(found), self.rng.choice((1, 1, 2, 3))))
        return "return " + ", ".join(chosen)

    # ---- functions

    def function(self, name, parameters, length):
        self.scope = [Variable(text, kind) for text, kind in parameters]
        self.loops = []
        lines = []
        for kind, texts in (
            ("s", ("0", "0.0", "1", "1.5", "0")),
            ("u", ("0", "1")),
            ("b", ("False", "True")),
        ):
            if self.chance(0.5 if kind == "s" else 0.25):
                lines.append(f"{self.declare(kind)} = {self.rng.choice(texts)}")
        if self.has_lists:
            first = self.rng.choice(("", "", "0.0", "1", "0.5, 1.5", f"{self.element()}"))
            lines.append(f"{self.declare('L')} = [{first}]")
            if self.chance(0.3):
                lines.append(f"{self.declare('A')} = []")
        x = self.name("x")
        if x and self.chance(0.2):
            lines.append(f"{self.declare('T')} = (0.0, {x} + 1)")
        if not self.is_helper:
            lines += self.for_loop() if self.chance(0.8) else self.while_loop()
        lines += self.block(length)
        lines.append(self.returning())
        return [f"def {name}({', '.join(text for text, _ in parameters)}):", lines]

    def module(self):
        lines = ["import math", "import numpy as np", ""]
        if self.chance(0.2):
            budget, self.budget, self.is_helper = self.budget, 3, True
            lines += self.function("g", [("p", "x"), ("q", "s")], 2)
            self.helpers.append(("g", "xs"))
            self.budget, self.is_helper = budget, False
        pool = [
            ("x", "x"),
            ("y", "x"),
            ("A", "X"),
            ("B", "X"),
            ("k", "k"),
            ("m", "m"),
            ("n", "n"),
            ("h", "n"),
            ("t", "s"),
        ]
        parameters = [pool[0]] + self.rng.sample(pool[1:], self.rng.randint(1, 4))
        lines += self.function("f", parameters, self.rng.choice((0, 1, 1, 2)))
        return "\n".join(layout(lines)) + "\n", parameters


def layout(lines, indent=0):
    for line in lines:
        if isinstance(line, list):
            yield from layout(line or ["pass"], indent + 1)
        else:
            yield "    " * indent + line
