"""Sets and deques from outside: what is put in and taken out is seen inside, and done when the program has run."""

import collections

import numpy as np
import pytest
from same_call import BACKENDS, compare, run, same

import numlift as nl
from numlift.testing import break_count

x = np.arange(6.0)
deque = collections.deque


def both(f, make, whole=True):
    """As same(), of containers whose items are compared in their order."""
    for backend in BACKENDS:
        compiled = nl.compile(f, backend=backend)
        for _ in range(3):
            ours, plain = make(), make()
            (expected, expected_error), (got, error) = run(f, plain, {}), run(compiled, ours, {})
            assert repr(error) == repr(expected_error)
            compare(got, expected)
            compare([list(one) for one in ours[1:]], [list(one) for one in plain[1:]])
        if whole is not None:
            assert (break_count(compiled) == 0) == whole, [e.break_reason for e in compiled.entries]


def test_a_set_is_changed_and_read():
    def f(a, s):
        s.add(5)
        s.add("t")
        s.discard(1)
        had = 2 in s
        s.update([7, 8])
        s |= {9}
        s.remove(7)
        s -= {8}
        tests = 5 in s, 1 in s, len(s), bool(s), s == {2, 5, "t", 9}, s >= {2}, s.isdisjoint([1])
        return had, tests, a + 1

    both(f, lambda: (x, {1, 2}))


def test_putting_into_a_set_looks_at_nothing():
    def f(a, s):
        s.add(3)
        return a + 1

    compiled = nl.compile(f)
    for s in ({1}, set(), {"a", "b"}, {3}):
        expected = s | {3}
        compiled(x, s)
        assert s == expected
    assert compiled.stats.compiles == 1


def test_a_set_with_other_items():
    def f(a, s):
        return a + 1 if 2 in s else a * 2, len(s)

    same(f, (x, {1, 2}), (x, {1, 3}), (x, {2, 5, 6}), (x, set()))


def test_an_item_that_is_not_there():
    def f(a, s):
        try:
            s.remove(99)
        except KeyError as error:
            return a + 1, error.args

    both(f, lambda: (x, {1, 2}))


def test_a_set_is_cleared():
    def f(a, s):
        s.clear()
        empty = not s
        s.add(1)
        return a * 2, len(s), empty

    both(f, lambda: (x, {1, 2}))


def test_the_order_of_a_set_is_left_to_cpython():
    def f(a, s):
        s.add(16)
        return a + 1, [v for v in s]

    both(f, lambda: (x, {8, 0}), whole=False)


def test_a_set_is_put_into_another_one():
    def f(a, s, t):
        s |= t
        return a + 1, len(s)

    both(f, lambda: (x, {8}, {0, 16, 8}), whole=False)


def test_one_set_by_two_names():
    def f(a, s, t):
        s.add(1)
        return a * len(t)

    compiled = nl.compile(f)
    for _ in range(2):
        np.testing.assert_array_equal(compiled(x, {1}, {2, 3}), x * 2)
        one = {5}
        np.testing.assert_array_equal(compiled(x, one, one), x * 2)


@pytest.mark.parametrize("limit", [None, 4, 1])
def test_a_deque_is_changed_and_read(limit):
    def f(a, d):
        d.append(a.sum())
        d.appendleft(3)
        y = d.pop()
        d.extend([7, 8])
        z = d.popleft()
        d.rotate(1)
        d[0] = 4
        d += [1]
        tests = len(d), list(d), 7 in d, d.maxlen, d[0], [v for v in reversed(d)], bool(d)
        return y + a, z, tests, d == deque([1])

    both(f, lambda: (x, deque([1.0, 2.0, 5], limit)), whole=None if limit == 1 else True)


def test_putting_into_a_deque_looks_at_nothing():
    def f(a, d):
        d.append(a.sum())
        d.appendleft(3)
        return a + 1

    compiled = nl.compile(f)
    for items in ((), (1, 2), (4.0,)):
        for limit in (None, 2):
            d, plain = deque(items, limit), deque(items, limit)
            compiled(x, d)
            f(x, plain)
            assert d == plain
    assert compiled.stats.compiles == 1


def test_items_of_a_deque_are_removed():
    def f(a, d):
        d.remove(2.0)
        d.reverse()
        del d[0]
        d.insert(1, 6)
        return a + 1, len(d)

    both(f, lambda: (x, deque([1.0, 2.0, 5])))


def test_a_deque_of_another_length_and_bound():
    def f(a, d):
        d.append(1)
        return a * len(d)

    same(f, (x, deque([1], 2)), (x, deque([1, 2], 2)), (x, deque([1, 2], 3)), (x, deque()))


def test_a_deque_of_arrays():
    def f(a, d):
        d.append(a * 2)
        total = d[0]
        for one in d:
            total = total + one
        return total / len(d)

    both(lambda a, d: (f(a, d), 0)[0], lambda: (x, deque([x + 1], 3)))


def test_a_deque_that_changes_while_it_is_iterated():
    def f(a, d):
        try:
            for _ in d:
                d.append(1)
        except RuntimeError as error:
            return a + 1, str(error)

    both(f, lambda: (x, deque([1, 2])), whole=None)


def test_what_a_program_puts_in_is_seen_behind_a_break():
    def f(a, d, s):
        d.append(a.sum())
        s.add(1)
        print(end="")
        return a * len(d) + len(s)

    both(f, lambda: (x, deque(), set()), whole=False)
