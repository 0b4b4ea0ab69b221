"""C functions of the standard library for which Python code is interpreted: values, laziness, order of
effects, errors and tracebacks are those of the C functions."""

import bisect
import heapq
import itertools
import operator

import numpy as np
import pytest
from broken_call import X, check, events, note
from same_call import breaks, same

import numlift as nl

x = np.arange(6.0).reshape(2, 3)


def counted(items, seen):
    for item in items:
        seen.append(item)
        yield item


ITERATORS = {
    "accumulate": lambda s: itertools.accumulate(s),
    "accumulate_with": lambda s: itertools.accumulate(s, lambda a, b: a * b, initial=2),
    "accumulate_nothing": lambda s: itertools.accumulate([], operator.mul),
    "chain_from_iterable": lambda s: itertools.chain.from_iterable([s, (7, 8)]),
    "combinations": lambda s: itertools.combinations(s, 2),
    "combinations_too_many": lambda s: itertools.combinations(s, 9),
    "combinations_none": lambda s: itertools.combinations(s, 0),
    "with_replacement": lambda s: itertools.combinations_with_replacement(s, 2),
    "with_replacement_of_nothing": lambda s: itertools.combinations_with_replacement([], 1),
    "permutations": lambda s: itertools.permutations(itertools.islice(s, 3)),
    "permutations_short": lambda s: itertools.permutations(s, 2),
    "compress": lambda s: itertools.compress(s, [1, 0, True]),
    "compress_long": lambda s: itertools.compress([1, 2], s),
    "cycle": lambda s: itertools.islice(itertools.cycle(s), 9),
    "cycle_of_nothing": lambda s: itertools.cycle([]),
    "dropwhile": lambda s: itertools.dropwhile(lambda v: v < 2, s),
    "takewhile": lambda s: itertools.takewhile(lambda v: v < 3, s),
    "filterfalse": lambda s: itertools.filterfalse(lambda v: v % 2, s),
    "filterfalse_none": lambda s: itertools.filterfalse(None, s),
    "islice": lambda s: itertools.islice(s, 3),
    "islice_from": lambda s: itertools.islice(s, 1, None),
    "islice_step": lambda s: itertools.islice(s, 1, 4, 2),
    "islice_step_past_the_end": lambda s: itertools.islice(s, 0, 3, 5),
    "islice_empty": lambda s: itertools.islice(s, 3, 1),
    "starmap": lambda s: itertools.starmap(pow, zip(s, s)),
    "zip_longest": lambda s: itertools.zip_longest(s, "ab", (), fillvalue=-1),
    "zip_longest_of_nothing": lambda s: itertools.zip_longest(),
    "groupby": lambda s: ((k, list(g)) for k, g in itertools.groupby(s, lambda v: v // 2)),
    "groups_left_alone": lambda s: (k for k, g in itertools.groupby(s, lambda v: v // 2)),
    "until": lambda s: iter(iter(s).__next__ if False else lambda: next(s), 3),
    "batched": lambda s: itertools.batched(s, 2),
}
if not hasattr(itertools, "batched"):
    del ITERATORS["batched"]


@pytest.mark.parametrize("name", ITERATORS)
@pytest.mark.parametrize("taken", [None, 0, 1, 2, 4])
def test_iterators_take_their_items_when_c_code_does(name, taken):
    make = ITERATORS[name]

    def f(a):
        seen = []
        source = counted([0, 1, 2, 3, 4], seen)
        made = make(source)
        if taken is None:
            return a * 2, list(made), seen
        got = []
        for _ in range(taken):
            got.append((next(made, "end"), len(seen)))
        return a * 2, got, seen, next(source, None)

    same(f, (x,))


def test_iterators_over_rows():
    def f(a):
        total = 0
        for i, j in itertools.combinations(a, 2):
            total = total + i * j
        *_, last = itertools.accumulate(a, initial=1.0)
        for first, second in itertools.zip_longest(a, a[:1], fillvalue=2.0):
            total = total + first * second
        return total + last

    same(f, (x,), (np.ones((3, 3)),))


def test_groups_share_their_iterator():
    def f(a):
        groups = itertools.groupby([1, 1, 2, 3, 3])
        k, first = next(groups)
        head = next(first)
        k2, second = next(groups)
        return a * k, head, list(first), k2, list(second), [k for k, _ in groups]

    same(f, (x,))


def test_tee():
    def f(a):
        seen = []
        one, two = itertools.tee(counted([a, 1, 2], seen))
        return next(one) * 2, next(one), len(seen), next(two) + 1, list(one), len(seen), list(two)

    same(f, (x,))
    same(lambda a: (a + 1, itertools.tee([1], 0), [next(t) for t in itertools.tee([5, 6], 3)]), (x,))


def test_tee_of_a_tee_is_a_copy():
    def f(a):
        one, _ = itertools.tee([1, 2, 3])
        next(one)
        two, three = itertools.tee(one)
        return a * next(one), next(two), next(three), list(one)

    same(f, (x,), whole=False)


@pytest.mark.parametrize(
    "function",
    [
        lambda: itertools.islice([1], -1),
        lambda: itertools.islice([1], 1, 2, 0),
        lambda: itertools.islice([1], 1.5),
        lambda: itertools.islice([1]),
        lambda: itertools.islice(5, 1),
        lambda: itertools.combinations([1], -1),
        lambda: itertools.permutations([1], "a"),
        lambda: itertools.accumulate(),
        lambda: itertools.accumulate([1], function=3),
        lambda: itertools.groupby(3),
        lambda: itertools.tee([1], -1),
        lambda: itertools.zip_longest([1], fill=3),
        lambda: itertools.starmap(pow),
        lambda: list(itertools.starmap(pow, [3])),
        lambda: iter(3, 4),
        lambda: operator.itemgetter(),
        lambda: operator.attrgetter(3),
        lambda: operator.methodcaller(),
        lambda: operator.indexOf([1, 2], 3),
        lambda: operator.index(1.5),
        lambda: operator.concat(1, 2),
        lambda: heapq.heappop([]),
        lambda: heapq.heappush((1,), 2),
        lambda: bisect.bisect_left([1], 2, -1),
        lambda: pow(2, 3, 0),
        lambda: int.from_bytes([1], "middle"),
        lambda: float.fromhex("zz"),
        lambda: str.upper(3),
    ],
)
def test_wrong_arguments_raise_as_in_c(function):
    def f(a):
        b = a + 1
        return b, function()

    same(f, (x,), whole=False)


def test_until_a_sentinel():
    def f(a):
        left = [3, 2, 1]
        return [a * v for v in iter(left.pop, 3)], left

    same(f, (x,))


# ---------------------------------------------------------------- who runs what


def test_a_key_function_with_a_break_is_run_once_an_item():
    def key(v):
        note("key", v)
        return v // 2

    def f(a):
        b = a * 2
        groups = [(k, list(g)) for k, g in itertools.groupby([1, 2, 3], key)]
        return b + 1, groups

    check(f, (X,))


def test_a_callback_that_raises_has_cpythons_traceback():
    def callback(a, b):
        note("callback", b)
        if b == 2:
            raise ValueError("two")
        return a + b

    def f(a):
        b = a * 2
        return list(itertools.accumulate([b, 1, 2, 3], callback))

    check(f, (X,))


def test_the_break_is_told_at_the_users_line():
    def f(a):
        b = a * 2
        return b, list(itertools.accumulate([1, 2], lambda p, q: note("in", q)))

    compiled = nl.compile(f)
    compiled(X)
    [stack] = [e.break_reason for e in compiled.entries if e.break_reason][:1]
    assert "numlift/polyfills" not in str(stack)
    explanation = nl.explain(f)(X)
    for reason in explanation.break_reasons:
        assert all("numlift/polyfills" not in frame.filename for frame in reason.user_stack), reason
    events.clear()


def test_what_is_handed_out_is_the_c_object():
    def f(a):
        b = a * 2
        it = itertools.islice([b, 1, 2], 1, None)
        get = operator.itemgetter(1, 2)
        call = operator.methodcaller("sum", axis=0)
        return type(it), next(it), list(it), get, get([1, 2, 3]), repr(call), operator.attrgetter("a.b")

    compiled = nl.compile(f)
    for _ in range(3):
        kind, second, rest, get, got, text, attribute = compiled(X)
        assert kind is itertools.islice
        assert (second, rest, got) == (1, [2], (2, 3))
        assert type(get) is operator.itemgetter and get("abc") == ("b", "c")
        assert text == "operator.methodcaller('sum', axis=0)"
        assert repr(attribute) == "operator.attrgetter('a.b')"


def test_a_library_iterator_is_no_generator():
    def f(a):
        it = itertools.cycle([a, 1])
        first = next(it)
        return first * 2, hasattr(it, "send"), type(it).__name__

    same(f, (x,), whole=None)


def test_an_iterator_that_is_half_way_goes_on_in_cpython():
    def f(a):
        it = itertools.cycle([1, 2, 3])
        b = a * next(it)
        note("between", b)
        return b * next(it), itertools.islice(it, 2)

    def g(a):
        b, rest = f(a)
        return b, list(rest)

    check(g, (X,))


# ---------------------------------------------------------------- operator, heapq, bisect


class Held:
    def __init__(self, v):
        self.v = v


def test_operator_module():
    def f(a):
        rows = [a, 1, 2, 1]
        del_from = [1, 2, 3]
        operator.delitem(del_from, 1)
        return (
            operator.itemgetter(0)(rows) * 2,
            operator.itemgetter(slice(1, 3))(rows),
            operator.itemgetter("k", "m")({"k": a, "m": 3})[1],
            operator.methodcaller("reshape", 6)(a),
            operator.methodcaller("sum", axis=1, keepdims=True)(a),
            operator.countOf([1, 2, 1], 1),
            operator.indexOf([1, 2, 1], 2),
            operator.concat([1], [2]),
            operator.abs(a),
            operator.index(True),
            operator.iadd([1], [2]),
            operator.ifloordiv(7, 2),
            del_from,
        )

    same(f, (x,))
    same(lambda h, a: operator.attrgetter("v", "v.v")(h)[1] * a, (Held(Held(3)), x))
    if hasattr(operator, "call"):
        same(lambda a: operator.call(np.sum, a, axis=0), (x,))


def test_methods_of_c_classes():
    def f(a):
        words = list(map(str.upper, ["a", "b"]))
        rows = []
        list.append(rows, a * 2)
        return rows[0], words, str.join("-", words), sorted(["b", "A"], key=str.lower), np.ndarray.sum(a)

    same(f, (x,))


@pytest.mark.parametrize("items", [[5, 1, 4, 2, 3, 9, 0], [1, 1.0, True, 0, 0.0], []])
def test_heaps(items):
    def f(a, items):
        heap = [i for i in items]
        heapq.heapify(heap)
        after = list(heap)
        heapq.heappush(heap, 3)
        pushed = heapq.heappushpop(heap, 2)
        replaced = heapq.heapreplace(heap, 7)
        order = [heapq.heappop(heap) for _ in range(len(heap))]
        return a + 1, after, pushed, replaced, order, heapq.nlargest(2, items), heapq.nsmallest(2, items)

    same(f, (x, tuple(items)), whole=None)


def test_heap_of_pairs():
    def f(a):
        heap = []
        for k, name in [(3, "c"), (1, "a"), (2, "b")]:
            heapq.heappush(heap, (k, name))
        k, name = heapq.heappop(heap)
        return a * k, name, heap, list(heapq.merge([1, 4], [2, 3]))

    same(f, (x,), whole=None)


def test_a_heap_from_outside():
    def f(a, heap):
        b = a * 2
        heapq.heappush(heap, 2)
        return b + heap[0]

    same(f, (x, [1, 3, 5]))


def test_bisection():
    def f(a):
        rows = [1, 3, 3, 5]
        bisect.insort(rows, 4)
        bisect.insort_left(rows, 3.0, key=float)
        return (
            a * bisect.bisect_left(rows, 3),
            bisect.bisect(rows, 3),
            bisect.bisect_right(rows, 3, 1, 3),
            bisect.bisect_left(rows, 2, key=lambda v: v / 2),
            rows,
        )

    same(f, (x,))
