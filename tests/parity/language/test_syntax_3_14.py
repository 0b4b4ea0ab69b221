"""What CPython 3.14 has that no version before it has. Newer syntax is compiled from text."""

import functools
import heapq
import sys
import warnings
import zlib

import numpy as np
import pytest

import numlift as nl

from same_call import compare, same

pytestmark = pytest.mark.skipif(sys.version_info < (3, 14), reason="new in CPython 3.14")

x = np.arange(1.0, 7.0).reshape(2, 3)


def made(source, **names):
    """The function `f` of this text."""
    names |= {"__name__": __name__, "np": np, "zlib": zlib}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SyntaxWarning)
        exec(compile(source, "<text>", "exec"), names)
    return names["f"]


def test_except_without_parentheses():
    f = made("""
def f(a, key):
    try:
        return a * {"k": 2}[key]
    except KeyError, IndexError:
        return a + 1
""")
    same(f, (x, "k"), (x, "other"))


def test_leaving_a_finally_block():
    f = made("""
def f(a, n):
    try:
        for i in range(n):
            try:
                a = a + i
                if i == 3:
                    raise ValueError(i)
            finally:
                if i == 2:
                    break
                if i == 1:
                    continue
        return a
    finally:
        if n > 8:
            return a * 2
""")
    same(f, (x, 2), (x, 6), (x, 9))


def template_parts(template):
    shown = [(i.value, i.expression, i.conversion, i.format_spec) for i in template.interpolations]
    return template.strings, shown, template.values


def test_template_strings():
    f = made(
        """
def f(a, name):
    b = a + 1
    plain, empty = t"no value", t""
    made = t"{name} is {b.ndim!r:>{b.ndim}} {name=}{b}" t" and more"
    assert made.interpolations[-1].value is b
    assert list(empty) == [] and list(plain) == ["no value"]
    kinds = [type(part).__name__ for part in made]
    return b * 2, template_parts(plain), template_parts(empty), template_parts(made), kinds, type(made).__name__
""",
        template_parts=template_parts,
    )
    same(f, (x, "n"), (x, 3))


def test_template_strings_that_are_taken_apart():
    f = made("""
from string.templatelib import Interpolation, Template, convert

def f(a, name):
    out = []
    for part in t"<{name}> of {a.ndim:>3}, {name!r}" + t"{1}":
        match part:
            case str() as text:
                out.append(text)
            case Interpolation(value, text, conversion, spec):
                out.append(format(convert(value, conversion), spec))
    return a + len(out), "".join(out), isinstance(t"", Template)
""")
    same(f, (x, "n"), whole=None)


def test_template_strings_handed_out():
    f = made(
        """
def f(a, name):
    b = a + 1
    first = t"{name:{'>4'}} {zlib.crc32(b'')} {b}"
    return first, t"{first}" + t"{b!s}"
""",
        zlib=zlib,
    )
    compiled = nl.compile(f)
    for name in ("n", "n", 3):
        ours, plain = compiled(x, name), f(x, name)
        compare(template_parts(ours[0]), template_parts(plain[0]))
        assert type(ours[1]) is type(plain[1]) and ours[1].values[0] is ours[0]
        compare(template_parts(ours[1])[1][1], template_parts(plain[1])[1][1])


def test_annotations_of_functions_made_inside():
    f = made("""
def f(a, other):
    k = 2.0

    def inner(v: other, w: "text" = 2, *, z: k = 3) -> [k, a.ndim]:
        late: Undefined = v
        return late * k + w + z

    b = inner(a)
    zlib.crc32(b"")
    k = 4
    return b, inner.__annotations__, inner.__annotate__(1), inner.__defaults__, inner.__kwdefaults__
""")
    same(f, (x, int), whole=False)


def test_annotations_that_name_nothing():
    f = made("""
def f(a):
    def inner(v: Undefined = 1):
        return a * v

    b = inner()
    try:
        return inner.__annotations__
    except NameError as error:
        return b, inner(2), str(error)
""")
    same(f, (x,), whole=None)


def test_annotations_of_classes_made_inside():
    f = made("""
def f(a, other):
    k = a.ndim

    class Record:
        size: other = k
        later: "text"
        if k > 1:
            sometimes: k
        else:
            never: k

        def method(self, v: size) -> other:
            return v * self.size

    k = 5
    return Record().method(a), Record.__annotations__, Record.method.__annotations__
""")
    same(f, (x, int), whole=False)


def test_heaps_with_the_largest_first():
    def f(a, items):
        heap = list(items)
        heapq.heapify_max(heap)
        heapq.heappush_max(heap, 4)
        first = heapq.heappop_max(heap)
        second = heapq.heapreplace_max(heap, 0)
        third = heapq.heappushpop_max(heap, 7)
        return a * first, heap, second, third

    same(f, (x, [3, 1, 9, 2, 8]))


def test_placeholders_of_partial():
    hole = functools.Placeholder

    def minus(p, q, r=0, *rest, k=1):
        return p - q * k + r, rest

    outside = functools.partial(minus, hole, 2, hole, 5, k=3)

    def f(a):
        own = functools.partial(minus, hole, a)
        nested = functools.partial(own, 5, 6)
        return own(a + 1), nested(7), outside(a, 4), outside(a, 4, 5, k=2), functools.partial(outside, 1)(a)

    same(f, (x,))

    def refused(a):
        b = a + 1
        try:
            return b, outside(b)
        except TypeError as error:
            first = str(error)
        try:
            return functools.partial(minus, 1, hole)
        except TypeError as error:
            return b, first, str(error)

    same(refused, (x,), whole=False)


class Shifted:
    by = functools.partial(lambda k, self, a: a + k, 3)


def test_partial_binds_as_a_method():
    def f(a, s):
        return s.by(a), Shifted.by(s, a)

    same(f, (x, Shifted()), whole=None)


def test_any_and_all_loop_in_the_caller():
    def f(a, rows):
        some = any(row > 2 for row in rows)
        every = all(row > 2 for row in rows)
        return a * some, every, tuple(row * 2 for row in rows)

    same(f, (x, [1, 2, 3]), (x, [3, 4]), (x, []))

    def replaced(a):
        any = lambda values: list(values)  # noqa: A001, E731
        return a + 1, any(k > 1 for k in range(3))

    same(replaced, (x,))


def test_not_implemented_has_no_truth():
    def f(a):
        b = a + 1
        try:
            return b if NotImplemented else a
        except TypeError as error:
            return b * 2, str(error)

    same(f, (x,), whole=None)


def test_constants_without_a_place_of_their_own():
    f = made("""
def f(a, k):
    try:
        assert k == 255, k
    except AssertionError as error:
        return a - 256, error.args
    return a * 255 + 256 - -1
""")
    same(f, (x, 255), (x, 3))
