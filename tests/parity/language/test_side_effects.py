"""Changes of objects that existed before the call: seen at once inside, carried out in order behind the graph."""

import collections
import gc
import sys
import types
import weakref

import numpy as np
import pytest
from same_call import BACKENDS, breaks, compare, same

import numlift as nl
from numlift.testing import break_count

x = np.arange(6.0)


class Thing:
    shared = 1.0

    def __init__(self, k):
        self.k = k


def test_attributes_of_an_argument():
    def f(s, a):
        s.k = s.k + a.sum()
        s.new = a * 2
        s.shared = 5
        before = hasattr(s, "old")
        s.old = 1
        del s.old
        return s.k, s.new, before, hasattr(s, "old"), Thing.shared

    same(f, (Thing(2.0), x), (Thing(3), x))


def test_attributes_in_a_loop():
    def f(s, a):
        for i in range(5):
            s.k = s.k + a
        return s.k

    same(f, (Thing(x), x))
    entry = nl.compile(f)
    s = Thing(x)
    entry(s, x)
    np.testing.assert_array_equal(s.k, x * 6)


def test_one_object_by_two_names():
    def f(s, t, a):
        s.k = a
        return t.k + 1

    for first, second in [(1, 2), (2, 1)]:
        for backend in BACKENDS:
            compiled = nl.compile(f, backend=backend)
            for order in (first, second):
                s = Thing(x * 2)
                t = s if order == 1 else Thing(x * 3)
                np.testing.assert_array_equal(compiled(s, t, x), (x if order == 1 else x * 3) + 1)
                np.testing.assert_array_equal(s.k, x)


def test_one_list_by_two_names():
    def f(first, second, a):
        first.append(a)
        return len(second), a * 2

    compiled = nl.compile(f)
    for _ in range(2):
        items = [1]
        assert compiled([1], [2], x)[0] == 1
        assert compiled(items, items, x)[0] == 2
        assert len(items) == 2


def test_an_instance_and_its_dict():
    def f(s, d, a):
        d["k"] = 7.0
        return a * s.k

    for given in (lambda s: vars(s), lambda s: {}):
        s, t = Thing(2.0), Thing(2.0)
        expected = f(s, given(s), x)
        compiled = nl.compile(f)
        compiled(Thing(2.0), {"k": 1}, x)
        np.testing.assert_array_equal(compiled(t, given(t), x), expected)
        assert t.k == s.k


def test_a_module_and_its_dict():
    module = types.ModuleType("module")
    module.k = 2.0

    def f(d, a):
        d["k"] = 7.0
        return a * module.k

    compiled = nl.compile(f)
    np.testing.assert_array_equal(compiled({}, x), x * 2)
    np.testing.assert_array_equal(compiled(vars(module), x), x * 7)
    module.k = 3.0
    np.testing.assert_array_equal(compiled({}, x), x * 3)


def test_lists():
    def f(items, numbers, a):
        items[0] = a + 1
        items.insert(1, 5)
        last = items.pop()
        items.reverse()
        items += [a, 2]
        items.extend(i for i in (1, 2))
        items[1:3] = [a * 2]
        del items[0]
        items.append(items[0])
        numbers.remove(2)
        return a * last, len(items), items is items, items[-1], 5 in numbers, numbers

    same(f, ([1, 2.5, 3.0], [1, 2, 5], x))


def test_a_list_sorted_cleared_and_repeated():
    def f(items, more, a):
        items.sort(key=lambda i: -i)
        first = items[0]
        more *= 2
        more[::2] = [7, 8]
        del more[1:2]
        items.clear()
        items.append(first)
        return a * first, items, more

    same(f, ([1, 3, 2], [1, 2], x))


def test_append_does_not_look_at_the_list():
    def f(history, a):
        history.append(a.sum())
        history.extend((1, 2))
        return a + 1

    compiled = nl.compile(f)
    history = []
    for i in range(30):
        compiled(history, x + i)
    assert len(history) == 90 and history[3] == (x + 1).sum()
    assert compiled.stats.compiles == 1 and break_count(compiled) == 0


def test_a_list_that_grows_while_it_is_iterated():
    def f(items, a):
        total = a * 0
        for item in items:
            total = total + item
            if len(items) < 6:
                items.append(item + 1)
        return total, [i for i in items]

    same(f, ([1, 2], x))


def test_dicts():
    def f(d, a):
        d["a"] = a * 2
        d["b"] = d.get("b", 0) + 1
        del d["c"]
        first = d["a"]
        d.setdefault("e", []).append(a)
        d.update(g=1, b=4)
        taken = d.pop("g"), d.pop("nothing", None)
        d["c"] = 9
        return first, list(d), "z" in d, taken, len(d), list(d.items())

    same(f, ({"c": 1, "b": 3}, x), ({"b": 3, "c": 1, "e": [2]}, x))


def test_dict_cleared_and_filled():
    def f(d, a):
        d.clear()
        d["n"] = a
        key, value = d.popitem()
        d |= {"m": 1}
        return key, value, d

    same(f, ({"c": 1}, x))


def test_dict_changes_its_size_while_it_is_iterated():
    def f(d, a):
        for key in d:
            d[key] = d[key] * 2
        for key in d:
            if key == "b":
                d["new"] = 1
        return a

    same(f, ({"a": 1, "b": 2}, x), ({"a": 1}, x), whole=None)


def test_a_cache():
    cache = {}

    def f(n, a):
        if n not in cache:
            cache[n] = a * n
        return cache[n] + 1

    plain = {}
    compiled = nl.compile(f)
    for n in (1, 2, 1, 2, 3, 1):
        if n not in plain:
            plain[n] = x * n
        np.testing.assert_array_equal(compiled(n, x), plain[n] + 1)
    assert list(cache) == [1, 2, 3]


def test_missing_keys_and_indices_raise_as_in_python():
    def key(d, a):
        d["x"] = a
        del d["nothing"]

    def index(items, a):
        items.append(a)
        items[9] = 1

    def attribute(s, a):
        s.x = a
        del s.nothing

    same(key, ({}, x), whole=None)
    same(index, ([], x), whole=None)
    same(attribute, (Thing(1), x), whole=None)


COUNT = 0


def test_globals():
    def f(a):
        global COUNT, FRESH
        COUNT += 1
        FRESH = a * COUNT
        other = read()
        del FRESH
        return other, COUNT

    def read():
        return FRESH + COUNT

    global COUNT
    for backend in BACKENDS:
        COUNT = 0
        compiled = nl.compile(f, backend=backend)
        for i in range(1, 4):
            value, count = compiled(x)
            assert count == i == COUNT and "FRESH" not in globals()
            np.testing.assert_array_equal(value, x * i + i)
        assert break_count(compiled) == 0


def test_attribute_of_a_module():
    module = types.ModuleType("module")
    module.k = 1.0

    def f(a):
        module.k = module.k + 1
        module.last = a * module.k
        return module.last

    compiled = nl.compile(f)
    for i in range(3):
        np.testing.assert_array_equal(compiled(x), x * (2 + i))
        assert module.k == 2 + i
    assert break_count(compiled) == 0


def test_variables_of_enclosing_functions():
    def make():
        count, last = 0, None

        def step(a):
            nonlocal count, last
            count += 1
            last = a * count
            return inner() + 1

        def inner():
            nonlocal last
            last = last + 1
            return last * count

        return step, lambda: (count, last)

    plain, state = make()
    ours, our_state = make()
    compiled = nl.compile(ours)
    for _ in range(3):
        np.testing.assert_array_equal(compiled(x), plain(x))
        assert our_state()[0] == state()[0]
        np.testing.assert_array_equal(our_state()[1], state()[1])
    assert break_count(compiled) == 0


def test_variable_of_an_enclosing_function_deleted():
    def make():
        value = 1.0

        def f(a):
            nonlocal value
            b = a * value
            del value
            return b

        return f, lambda: value

    f, read = make()
    np.testing.assert_array_equal(nl.compile(f)(x), x)
    with pytest.raises(NameError):
        read()


def test_changes_before_an_error_are_made():
    def f(s, items, a):
        s.k = a + 1
        items.append(a)
        return a.reshape(4, 4)

    same(f, (Thing(1), [], x), whole=None)


def test_changes_before_a_break_are_seen_by_it():
    seen = []

    def look(s, items, d):
        seen.append((float(s.k.sum()), len(items), tuple(d)))

    def f(s, items, d, a):
        s.k = a + 1
        items.append(a)
        d["a"] = 1
        nl.graph_break()
        look(s, items, d)
        s.k = s.k * 2
        items.append(s.k)
        return s.k

    same(f, (Thing(1), [], {}, x), whole=False)
    assert len(set(seen)) == 1


def test_changes_are_undone_by_nobody_when_a_program_restarts():
    def f(s, items, a):
        items.append(1)
        s.k += 1
        b = np.log(a)
        s.k += 1
        return b

    with np.errstate(all="raise"):
        same(f, (Thing(1), [], x + 1), (Thing(1), [], x), whole=None)


def test_results_alias_what_was_stored():
    def f(s, items, a):
        s.k = a * 2
        items.append(s.k)
        return s.k, items

    for _ in range(2):
        s, items = Thing(1), []
        k, back = nl.compile(f)(s, items, x)
        assert s.k is k and items[0] is k and back is items


def test_values_replaced_in_the_object_can_be_returned():
    def f(s, items, a):
        old, first = s.k, items[0]
        s.k, items[0] = a, 2
        return old, first, a + 1

    same(f, (Thing([1]), [(1, [2])], x))


def test_finalizers_run_in_order():
    log = []

    class Dying:
        def __init__(self, name):
            self.name = name

        def __del__(self):
            log.append(self.name)

    def f(s, a):
        log.append("first")
        s.k = None
        log.append("second")
        b = a + 1
        s.k = b
        log.append("third")
        return b

    for _ in range(2):
        log.clear()
        f(Thing(Dying("dead")), x)
        expected = list(log)
        log.clear()
        nl.compile(f)(Thing(Dying("dead")), x)
        assert log == expected == ["first", "dead", "second", "third"]


def test_what_a_frame_drops_goes_before_the_next_change():
    log = []

    def f(a):
        print(end="")
        b = a * 2
        nl.graph_break()
        weakref.finalize(b, log.append, "dead")
        log.append("before")
        del b
        log.append("after")
        return a + 1

    for _ in range(2):
        log.clear()
        f(x)
        expected = list(log)
        log.clear()
        nl.compile(f)(x)
        gc.collect()
        assert log == expected == ["before", "dead", "after"]


def test_references_are_balanced():
    class Marker:
        pass

    def f(s, items, d, a):
        s.k = items
        items.append(d)
        d["s"] = s
        nl.graph_break()
        items.pop()
        d.pop("s")
        s.k = None
        return a + 1

    compiled = nl.compile(f)
    marker = Marker()
    s, items, d = Thing(marker), [marker], {"m": marker}
    for _ in range(3):
        compiled(s, items, d, x)
    counts = [sys.getrefcount(o) for o in (s, items, d, marker)]
    for _ in range(20):
        compiled(s, items, d, x)
    assert [sys.getrefcount(o) for o in (s, items, d, marker)] == counts


def test_class_attributes():
    class Base:
        made = 0
        last = None

    class Derived(Base):
        last = 1

    class Other(Base):
        pass

    def f(a):
        Base.made += 1
        thing = Other()
        before = thing.last, Derived.last
        Base.last = a * Base.made
        Other.fresh = 3
        thing.made = 7
        return before, thing.last, Derived.last, Derived().made, Other.made, thing.made, hasattr(Base, "fresh"), Other.fresh

    for backend in BACKENDS:
        compiled = nl.compile(f, backend=backend)
        Base.made, Base.last = 0, None
        plain = [f(x) for _ in range(3)]
        Base.made, Base.last = 0, None
        del Other.fresh
        for expected in plain:
            compare(compiled(x), expected)
        assert Base.made == 3 and Other.fresh == 3
        np.testing.assert_array_equal(Base.last, x * 3)
        assert break_count(compiled) == 0


def test_other_kinds_are_left_to_python():
    class Meta:
        def method(self):
            return 1

    def class_attribute(a):
        Meta.method = lambda self: 2
        return a + Meta().method()

    breaks(class_attribute, x, reason="attribute 'method'")
    same(lambda b, a: (b.append(1), a + 1), (bytearray(), x), whole=False)
    same(lambda d, a: (d.append(1), a + 1), (collections.deque(), x), whole=None)


def test_slots_of_an_argument():
    class Slotted:
        __slots__ = ("a", "b", "__weakref__")

    def f(s, a):
        s.b = s.a * 2
        del s.a
        had = hasattr(s, "a")
        s.a = s.b + a
        return s.a, had

    for backend in BACKENDS:
        compiled = nl.compile(f, backend=backend)
        for _ in range(3):
            s, t = Slotted(), Slotted()
            s.a = t.a = 2.0
            expected, got = f(s, x), compiled(t, x)
            np.testing.assert_array_equal(got[0], expected[0])
            assert got[1] is expected[1] is False and t.b == s.b
            np.testing.assert_array_equal(t.a, s.a)
        assert break_count(compiled) == 0
