"""Tuples, lists, dicts, sets, slices, strings made inside; and read from outside."""

import collections

import numpy as np
from same_call import breaks, same

x = np.arange(6.0).reshape(2, 3)


def test_displays():
    same(lambda a: (a, [a + 1, 2, (3,)], {"k": a * 2}, None, True, "s", b"b", 1.5, 2j, ...), (x,))


def test_star_in_displays():
    def f(a):
        first = [a, a + 1]
        return [*first, *(1, 2)], (*first,), {**{"u": a}, "v": 2}

    same(f, (x,))


def test_unpacking():
    def f(a):
        p, q = a
        (r, *s), t = [(p, q, q), a]
        u, *v = "abc"
        return p + q, r, s, t, u, v

    same(f, (x,))


def test_unpacking_of_wrong_length_raises():
    def f(a):
        p, q, r = a
        return p

    same(f, (x,), whole=False)

    def g(a):
        p, q, r, *s = (1, 2)
        return a

    same(g, (x,), whole=False)


def test_swap():
    def f(a, b):
        a, b = b, a
        a, b, c = b, a, a
        return a, b, c

    same(f, (x, x + 1))


def test_list_methods():
    def f(a):
        items = [a]
        items.append(a + 1)
        items.extend([1, 2])
        items.extend((3,))
        items.insert(1, "one")
        items.insert(-1, "last but one")
        last = items.pop()
        second = items.pop(1)
        items += [7]
        items.reverse()
        copy = items.copy()
        copy.append(8)
        copy.remove(7)
        return items, copy, last, second, items.index(7), [1, 2, 2].count(2), len(items)

    same(f, (x,))


def test_list_item_assignment_and_deletion():
    def f(a):
        items = [1, 2, 3]
        items[1] = a
        items[-1] += 1
        del items[0]
        return items, items * 2, 2 * [0], [1] + [2]

    same(f, (x,))


def test_list_clear_and_sort():
    def f(a):
        items = [3, 1, 2]
        items.sort()
        words = ["bb", "a", "ccc"]
        words.sort(key=len, reverse=True)
        empty = [1]
        empty.clear()
        return a, items, words, empty

    same(f, (x,))


def test_errors_of_lists():
    def pop(a):
        return [].pop()

    def index(a):
        return [1].index(2)

    def item(a):
        return [1][3]

    def remove(a):
        [1].remove(2)

    for f in (pop, index, item, remove):
        same(f, (x,), whole=False)


def test_identity_of_containers():
    def f(a):
        p = [a]
        q = p
        q.append(1)
        return p, p is q, p is not [a], [p, p]

    same(f, (x,))


def test_same_list_twice_in_the_result():
    import numlift as nl

    @nl.compile
    def f(a):
        p = [a]
        return p, p

    p, q = f(x)
    assert p is q


def test_slices_of_sequences():
    def f(a):
        items = [0, 1, 2, 3, 4]
        t = (a, 1, 2)
        return items[1:3], items[::-1], items[-2:], t[:2], t[-1], "hello"[1:3], range(10)[2:8:2]

    same(f, (x,))


def test_slice_with_a_runtime_bound():
    def f(a, n):
        return [1, 2, 3, 4][:n], a[:n]

    same(f, (x, 1), (x, 2))


def test_dict_methods():
    def f(a):
        d = {"a": a, "b": 2}
        d["c"] = 3
        d.setdefault("d", []).append(a)
        d.setdefault("a", 5)
        d.update(e=5)
        d.update({"b": 6})
        d.update([("f", 7)])
        gone = d.pop("c")
        missing = d.pop("zz", None), d.get("zz"), d.get("zz", 1), d.get("b")
        del d["f"]
        copy = d.copy()
        copy["x"] = 1
        return d, copy, gone, missing, "a" in d, "zz" not in d, len(d), list(d), list(d.items()), list(d.values())

    same(f, (x,))


def test_dict_union_and_equality():
    def f(a):
        d = {"a": 1} | {"b": 2, "a": 3}
        d |= {"c": 4}
        return a, d, d == {"a": 3, "b": 2, "c": 4}, d != {}, {1: 2}.popitem(), dict(a=1), dict([(1, 2)]), dict({3: 4})

    same(f, (x,))


def test_keys_that_are_equal_numbers():
    def f(a):
        d = {1: "int"}
        d[1.0] = "float"
        d[True] = "bool"
        return a, d

    same(f, (x,))


def test_tuple_keys():
    def f(a, i):
        d = {(0, 1): a, (1, 0): a * 2}
        return d[0, 1] + d[(1, 0)], d.get((i, 1))

    same(f, (x, 0), (x, 5))


def test_missing_key_raises():
    same(lambda a: {"a": a}["b"], (x,), whole=False)


def test_sets():
    def f(a):
        s = {1, 2, 2}
        s.add(3)
        s.discard(7)
        t = {2, 3, 9}
        return a, s, s | t, s & t, s - t, s ^ t, 2 in s, 5 in s, len(s), sorted(s), s == {1, 2, 3}, {4 for _ in range(3)}

    same(f, (x,))


def test_changed_dict_while_iterating():
    def f(a):
        d = {1: 2}
        for k in d:
            d[k + 1] = a
        return d

    same(f, (x,), whole=False)


def test_list_that_grows_while_it_is_iterated():
    def f(a):
        items = [1]
        for i in items:
            if i < 4:
                items.append(i + 1)
        return items, a

    same(f, (x,))


def test_comparison_of_sequences():
    def f(a):
        return (
            (1, 2) < (1, 3), (1,) == [1], [1, [2]] == [1, [2]], (1, 2) >= (1,), a.shape == (2, 3), a.shape != (3, 2),
            a.shape < (2, 4), [] == [], () != (), (1, "a") == (1, "a"),
        )

    same(f, (x,), (x[:, :2],))


def test_membership():
    def f(a, n):
        return 2 in [1, 2], 3 not in (1, 2), "b" in "abc", n in (1, 2, 3), n in range(10), n in {4: 1}, a.ndim in (1, 2)

    same(f, (x, 1), (x, 4), (x, 40))


def test_comprehensions():
    def f(a):
        n = 3
        return (
            [a * i for i in range(n)],
            {k: v * a for k, v in [("p", 1), ("q", 2)]},
            [i * j for i in range(3) for j in range(i) if (i + j) % 2],
            [[a[i, j] for j in range(3)] for i in range(2)],
            [b for b in (a, 1, None) if b is not None],
        )

    same(f, (x,))


def test_comprehension_leaves_outer_variable_alone():
    def f(a):
        i = 7
        b = [a * i for i in range(2)]
        return b, i

    same(f, (x,))


def test_comprehension_with_a_captured_variable():
    def f(a):
        gs = [(lambda: a * i) for i in range(3)]
        return [g() for g in gs]

    same(f, (x,))


def test_strings():
    def f(a):
        name = "row"
        k = 3
        text = f"{name}_{k:03d}_{1.5:.2f}_{name!r:>8}"
        return a, text, "-".join(["a", "b"]), "a b".split(), "%s=%d" % (name, k), "{}".format(k), name.upper(), name + "s", name * 2, "a" < "b"

    same(f, (x,))


def test_runtime_value_in_an_f_string():
    breaks(lambda a, n: f"{n}", x, 3, reason="formatted string")
    breaks(lambda a: f"{a}", x, reason="formatted string")


def test_named_tuple_made_inside():
    Point = collections.namedtuple("Point", "u v w", defaults=(9,))

    def f(a):
        p = Point(a, v=2)
        q, r, s = p
        return p, p.u + p.v, p[2], len(p), q, Point(1, 2, 3)

    same(f, (x,))


def test_outside_list_and_dict():
    weights = [2.0, x, 3]
    table = {"u": x, "v": 2.0, 3: "three"}

    def f(a):
        total = a * weights[0] + weights[1] + weights[-1]
        for w in weights:
            total = total + w
        for k, v in table.items():
            if k == "v":
                total = total * v
        return total, len(weights), table["u"], table.get("w", 5), "u" in table, 3 in table, list(table), weights[1:], bool(table)

    same(f, (x,))


def test_arguments_that_are_containers():
    def f(items, d, t):
        (p, q), r = t
        return items[0] + d["k"], p * q, r, len(items), len(d), len(t)

    same(f, ([x, 2], {"k": x}, ((x, 2.0), "s")))


def test_chained_comparison_and_boolean_operators():
    def f(a, n):
        return 1 < n < 5, n and 7, n or 8, not n, 0 <= n != 3, a.ndim == 2 and n > 1, [] or "empty", () and 1

    same(f, (x, 0), (x, 3), (x, 9))


def test_slice_objects():
    def f(a):
        s = slice(0, 2)
        t = slice(None, None, -1)
        return a[s], a[:, t], s.start, t.step, [1, 2, 3][s]

    same(f, (x,))
