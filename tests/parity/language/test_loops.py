"""for and while over what is known while tracing, and the builtins that give iterators."""

import itertools

import numpy as np
from same_call import breaks, compare, same

import numlift as nl
from numlift.testing import break_count

x = np.arange(12.0).reshape(4, 3)


def test_range():
    def f(a):
        for i in range(3):
            a = a + i
        for i in range(5, 0, -2):
            a = a * i
        return a

    same(f, (x,))


def test_range_of_an_argument_and_of_a_size():
    def f(a, n):
        total = a[0]
        for i in range(n):
            total = total + i
        for i in range(len(a)):
            total = total + a[i]
        for i in range(a.shape[1]):
            total = total + a[0, i]
        return total

    same(f, (x, 3), (x, 0), (x[:2], 3))


def test_break_continue_else():
    def f(a, n):
        for i in range(10):
            if i == 2:
                continue
            if i > n:
                break
            a = a + i
        else:
            a = a * 100
        for _ in ():
            a = a - 1
        else:
            a = a * 2
        return a

    same(f, (x, 4), (x, 20))


def test_while():
    def f(a):
        i = 0
        while i < 5:
            a = a + i
            i += 1
            if i == 4:
                break
        else:
            a = -a
        while True:
            return a

    same(f, (x,))


def test_nested_loops_and_return():
    def f(a):
        for i in range(3):
            for j in range(3):
                if i * j == 2:
                    return a + i, j
        return None

    same(f, (x,))


def test_rows_of_an_array():
    def f(a):
        total = 0
        for row in a:
            for value in row:
                total = total + value
        return total, [r * 2 for r in a]

    same(f, (x,))


def test_enumerate_zip_reversed_map_filter():
    def f(a):
        out = []
        for i, (p, q) in enumerate(zip(a, [1, 2, 3, 4]), 5):
            out.append(p * q + i)
        for r in reversed(out):
            a = a + r
        out.extend(map(lambda u: u * 2, [1, 2]))
        out.extend(map(lambda u, v: u * v, [1, 2], (3, 4, 5)))
        out.extend(filter(lambda u: u > 1, [0, 1, 2, 3]))
        out.extend(filter(None, [0, 1, "", "a"]))
        return a, out, list(zip()), list(enumerate("ab", start=3)), list(reversed((1, 2))), list(reversed("ab"))

    same(f, (x,))


def test_zip_strict():
    same(lambda a: list(zip([1, 2], [3, 4], strict=True)), (x,))
    same(lambda a: list(zip([1, 2], [3], strict=True)), (x,), whole=False)
    same(lambda a: list(zip([1], [3, 4], strict=True)), (x,), whole=False)


def test_dict_views():
    def f(a):
        d = {"p": a, "q": 2}
        total = 0
        for key in d:
            total = total + len(key)
        for value in d.values():
            total = total + value
        for key, value in d.items():
            total = total + value
        keys = d.keys()
        d["r"] = 3
        return total, list(keys), len(keys), "r" in keys, list(reversed(list(d)))

    same(f, (x,))


def test_iter_and_next():
    def f(a):
        it = iter([1, 2, 3])
        first = next(it)
        rest = [v for v in it]
        return a, first, rest, next(it, "none left")

    same(f, (x,))
    same(lambda a: next(iter([])), (x,), whole=False)


def test_generator_expressions():
    def f(a):
        return (
            sum(a[i] for i in range(3)), any(v > 2 for v in (1, 2, 3)), all(v > 2 for v in (1, 2, 3)),
            max(v * 2 for v in (1, 3, 2)), min((v for v in (4, 2)), default=0), tuple(i for i in range(3)),
            list(v + 1 for v in [1, 2] if v > 1), sorted(-v for v in (1, 2)), "".join(c for c in "ab"),
            dict((k, 1) for k in "ab"),
        )

    same(f, (x,))


def test_generator_functions():
    def rows(a):
        for i in range(len(a)):
            yield a[i] * i
        return "end"

    def chain(a):
        result = yield from rows(a)
        yield result

    def f(a):
        lazily = rows(a)
        first = next(lazily)
        return first, list(lazily), [v for v in chain(a)][-1]

    same(f, (x,))


def test_generator_runs_as_lazily_as_python():
    def f(a):
        log = []

        def g():
            for i in range(3):
                log.append(i)
                yield i

        it = g()
        log.append("made")
        next(it)
        log.append("one")
        return log, any(v == 1 for v in g()), log, a

    same(f, (x,))


def test_generator_handed_out_is_left_to_python():
    def f(a):
        return (v for v in a)

    import numlift as nl

    compiled = nl.compile(f)
    assert [v.tolist() for v in compiled(x)] == x.tolist()
    assert hasattr(compiled(x), "send")


def test_generator_function_itself():
    import numlift as nl

    @nl.compile
    def f(a):
        got = yield a * 2
        yield got

    g = f(x)
    assert (next(g) == x * 2).all()
    assert g.send(5) == 5


def test_itertools():
    def f(a):
        return (
            a, list(itertools.product([1, 2], "ab")), list(itertools.chain([1], (2, 3))),
            list(itertools.repeat(7, 2)), list(itertools.pairwise([1, 2, 3])),
            [v for v, _ in zip(itertools.count(3, 2), range(3))], list(itertools.product(range(2), repeat=2)),
        )

    same(f, (x,))


def test_long_loop_is_left_to_python():
    seen = []

    def f(a):
        for k in range(100_000):
            a = a + 1
            if k % 50_000 == 0:
                seen.append(k)
        return a

    breaks(f, np.zeros(2), reason="a loop that runs more than")


def test_loop_variable_is_left_over():
    def f(a):
        for i, row in enumerate(a):
            pass
        return i, row

    same(f, (x,))


def test_long_straight_code_is_one_graph():
    body = "".join(f"    x = x * {i % 7}.5 + y\n    y = y - x[{i % 5}]\n" for i in range(500))
    namespace = {}
    exec(f"def f(x, y):\n{body}    return x, y", namespace)
    f = namespace["f"]
    args = np.linspace(0.0, 1e-300, 9), np.linspace(1.0, 2.0, 9) * 1e-300
    compiled = nl.compile(f, backend="graph")
    with np.errstate(all="ignore"):
        compare(compiled(*args), f(*args))
    assert break_count(compiled) == 0


def test_an_unrolled_loop_of_too_many_operations_is_broken_up():
    def f(x):
        for name in NAMES:
            for letter in "abcdefghij":
                x = x + len(name) * ord(letter)
                x = x * 0.5 - x[1:].sum() / 64.0
        return x

    compiled = nl.compile(f, backend="graph")
    x = np.linspace(0.0, 1.0, 9)
    compare(compiled(x), f(x))
    reasons = [entry.break_reason for entry in compiled.entries]
    assert any("an unrolled loop of" in reason for reason in reasons), reasons


NAMES = tuple("n" * (i % 5 + 1) for i in range(64))
