"""Cells and locals that share slots: one canonical instruction for the cell itself."""

import sys


def ops(core, function):
    return [(i[0], i[3]) for i in core.decode(function.__code__)[0]]


def test_captured_argument_is_loaded_as_a_cell(core):
    def outer(x, y):
        return lambda: x + y

    loads = [o for o in ops(core, outer) if o[0] in ("LoadClosure", "LoadFast")]
    assert loads == [("LoadClosure", 0), ("LoadClosure", 1)]


def test_free_variable_is_loaded_as_a_cell(core):
    def outer(x):
        def middle():
            return lambda: x

        return middle

    assert [o[0] for o in ops(core, outer(1)) if "Load" in o[0]][0] == "LoadClosure"


def test_tuple_before_a_function_without_closure_is_no_cell(core):
    def outer(x):
        return (lambda: x), ((x,), lambda: 0)

    names = [o[0] for o in ops(core, outer)]
    assert names.count("LoadClosure") == 1
    assert names.count("LoadDeref") == 1


def test_comprehension_variable_that_is_a_cell_outside(core):
    def outer(values):
        x = 10
        inner = lambda: x  # noqa: E731
        return [x + 1 for x in values], inner()

    again = outer.__code__.replace()
    outer.__code__ = core.reencode(again)
    assert outer([1, 2]) == ([2, 3], 10)
    if sys.version_info >= (3, 12):
        # Inside, x is a plain value in the cell's slot.
        assert [o[0] for o in ops(core, outer)].count("LoadClosure") == 1


def test_slots_tell_what_shares_them(core):
    def outer(x, y):
        z = 1
        return lambda: x + z

    slots = core.local_slots(outer.__code__)
    assert slots == [
        ("x", True, True, False),
        ("y", True, False, False),
        ("z", False, True, False),
    ]
    assert core.local_slots(outer(1, 2).__code__) == [
        ("x", False, False, True),
        ("z", False, False, True),
    ]
