"""id()"""

import numpy as np
from same_call import BACKENDS, same

import numlift as nl
from numlift.testing import break_count

x = np.arange(6.0)


def test_of_objects_made_inside():
    def f(a):
        p, q = [1], [1]
        return id(p) == id(p), id(p) == id(q), id(p) != id(q), isinstance(id(p), int), a + 1

    same(f, (x,))


def test_of_arguments():
    def f(a, p, q):
        return a + 1 if id(p) == id(q) else a * 2

    one, other = [], []
    for backend in BACKENDS:
        compiled = nl.compile(f, backend=backend)
        for p, q in [(one, one), (one, other), (other, other)]:
            np.testing.assert_array_equal(compiled(x, p, q), f(x, p, q))
        assert break_count(compiled) == 0


def test_is_handed_out():
    def f(a, p):
        made = [p]
        return id(p), a * 2, made, id(made)

    given = {}
    for backend in BACKENDS:
        compiled = nl.compile(f, backend=backend)
        for _ in range(2):
            number, _, made, own = compiled(x, given)
            assert number == id(given)
            assert own == id(made)
        assert break_count(compiled) == 0


class Thing:
    pass


def test_of_what_lasts():
    table = {id(Thing): 1, id(np): 2}

    def f(a):
        return a * table[id(Thing)], id(np) == id(np), id(np) in table

    same(f, (x,))
