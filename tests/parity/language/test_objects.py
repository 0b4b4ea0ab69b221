"""Objects of builtin and of users' classes: identity, life, attributes, comparison, as in CPython."""

import enum
import gc
import itertools
import sys
import types
import weakref
import zlib

import numpy as np
import pytest

import numlift as nl
from same_call import same


x = np.arange(6.0)


def leave():
    """A break: C code that numlift knows nothing about."""
    zlib.crc32(b"")


def check(function, *args):
    same(function, args, whole=None)


# ---------------------------------------------------------------- sequences


def test_what_would_be_a_copy_of_a_tuple_is_the_tuple():
    def f(t):
        return [t * 1 is t, t[:] is t, (t + ()) is t, (() + t) is t, tuple(t) is t, t * 2 is t]

    check(f, (1, 2, 3))


def test_a_huge_repetition_raises_memory_error():
    # The items were laid out one by one until the memory was used up.
    def f(n):
        try:
            return [1, 2] * n
        except MemoryError:
            return "no memory"

    check(f, sys.maxsize)
    check(lambda: [] * sys.maxsize)


def test_iterators_that_are_exhausted_stay_so():
    # Behind a break a reversed list began anew.
    def f(items):
        forward, backward = iter(items), reversed(items)
        list(forward), list(backward)
        leave()
        items.append(5)
        return list(forward), list(backward)

    def g():
        items = [1, 2, 3]
        backward = reversed(items)
        next(backward)
        items.append(4)
        leave()
        return list(backward)

    check(f, [1, 2, 3])
    check(g)


def test_product_stays_itself():
    def f():
        pairs = itertools.product("ab", (1, 2), repeat=1)
        next(pairs)
        leave()
        return type(pairs) is itertools.product, list(pairs)

    check(f)


def test_containers_in_themselves():
    # The tracer followed them without end.
    def f():
        d, items = {}, []
        d["set"] = {1, ("a", 2)}
        items.append(set(d))
        d["own"] = d
        items.append(items)
        leave()
        return d["own"] is d, items[1] is items, len(repr(d)), items[0]

    check(f)


def test_large_containers_are_compared_in_no_time():
    def f(a, b, c, d):
        return a == b, c == d, c != d

    numbers = list(range(3000))
    keys = dict.fromkeys(numbers, 1)
    check(f, numbers, list(numbers), keys, dict(keys))


def test_sets_of_both_kinds_are_equal():
    def f(word, frozen):
        return [frozenset("ab") == set(word), set(word) == frozen, frozen != set(word), {1} == frozenset()]

    check(f, "abba", frozenset("ab"))


def test_slices_compare_by_their_parts():
    class Keys:
        def __getitem__(self, key):
            return key

    def f(keys, n):
        return [keys[0:10] == slice(0, 10), keys[1:n] == slice(1, n), keys[::2] == slice(0, None, 2)]

    check(f, Keys(), 5)


# ---------------------------------------------------------------- life


class Counted:
    alive = 0

    def __new__(cls):
        cls.alive += 1
        return object.__new__(cls)

    def __del__(self):
        type(self).alive -= 1


def test_a_finalizer_runs_where_the_variable_goes():
    def f():
        one = Counted()
        two = Counted()
        found = [Counted.alive]
        del one
        found.append(Counted.alive)
        two = None
        found.append(Counted.alive)
        return found, two

    check(f)


class Node:
    pass


def test_a_cycle_that_is_left_is_collected_behind_a_break():
    def f():
        node = Node()
        reference = weakref.ref(node)
        node.own = [node]
        del node
        gc.collect()
        return reference() is None

    check(f)


def test_variables_that_are_deleted_keep_nothing_behind_a_break():
    def g(things):
        thing = things.pop()
        reference = weakref.ref(thing)
        members = {thing, 1}
        leave()
        del thing, members
        leave()
        return reference() is None

    for _ in range(2):
        compiled = nl.compile(g)
        assert [compiled([Node()]) for _ in range(4)] == [True] * 4


# ---------------------------------------------------------------- attributes


def test_hasattr_is_asked_again_in_each_call():
    # True was taken for granted.
    class Thing:
        pass

    def f(thing):
        return hasattr(thing, "name"), getattr(thing, "name", "none")

    compiled, thing = nl.compile(f), Thing()
    for names in ({"name": 1}, {}, {"name": 2}, {}):
        thing.__dict__.clear()
        thing.__dict__.update(names)
        assert compiled(thing) == f(thing)


def test_attributes_of_modules():
    class Special(types.ModuleType):
        number = 1

    def f(module):
        return (
            getattr(module, "__dict__", None) is not None,
            hasattr(module, "number"),
            module.__class__.__name__,
        )

    for module in types.ModuleType("plain"), Special("special"):
        assert nl.compile(f)(module) == f(module)


def test_a_number_without_the_attribute_raises():
    def is_finite(x):
        try:
            return x.is_finite()
        except AttributeError:
            return "no such method"

    def f(x):
        leave()
        return is_finite(x), x.real, x.imag

    check(f, 5)
    check(f, 2.5)


def test_a_descriptor_that_can_only_be_set_hides_nothing():
    class Descriptor:
        def __set__(self, owner, value):
            owner.__dict__["a"] = value

    class Owner:
        a = Descriptor()

    def f(owner):
        return owner.a

    owner = Owner()
    assert nl.compile(f)(owner) is f(owner)
    owner.a = 42
    check(f, owner)


def test_proxies_that_say_of_what_class_they_are():
    class Real:
        pass

    class Proxy:
        __class__ = property(lambda self: Real)

    def f(proxy):
        return isinstance(proxy, Real), isinstance(proxy, Proxy), proxy.__class__.__name__, type(proxy).__name__

    assert nl.compile(f)(Proxy()) == f(Proxy()) == (True, True, "Real", "Proxy")


def test_super_checks_its_arguments():
    class Base:
        def name(self):
            return "base"

    class Derived(Base):
        def name(self):
            return "derived"

        def of_super(self):
            return super().name(), super().__class__.__name__

    def f(a, b):
        try:
            return super(a, b).name()
        except TypeError as error:
            return str(error)

    for second in (Derived(), 42, Base()):
        assert nl.compile(f)(Derived, second) == f(Derived, second)
    check(Derived.of_super, Derived())


def test_super_while_the_class_is_made():
    # The class has no resolution order yet.
    class Meta(type):
        def mro(cls):
            return super().mro()

    def f():
        class Made(metaclass=Meta):
            pass

        return Made.__mro__[-1] is object

    with nl.compile_region(), nl.config.patch(compile_all=True):
        assert f() and f()


# ---------------------------------------------------------------- statements


def test_imports_load_modules_inside_packages():
    def f():
        from email import mime

        return mime.__name__

    sys.modules.pop("email.mime", None)
    import email

    email.__dict__.pop("mime", None)
    check(f)


def test_imports_by_a_replaced_import_function(monkeypatch):
    import builtins

    seen = []

    def record(name, *args):
        seen.append(name)
        return original(name, *args)

    def f():
        import math

        return math.pi

    original = builtins.__import__
    compiled = nl.compile(f)
    compiled()
    monkeypatch.setattr(builtins, "__import__", record)
    compiled()
    assert seen == ["math"]


def test_a_pattern_that_names_one_key_twice():
    class Keys:
        a = b = "x"

    def f(d):
        match d:
            case {Keys.a: 1, Keys.b: 1}:
                return True
        return False

    with pytest.raises(ValueError, match="duplicate key"):
        nl.compile(f)({"x": 1, "y": 2})


def test_special_methods_with_results_that_python_refuses():
    class Odd:
        def __init__(self, value):
            self.value = value

        def __bool__(self):
            return self.value

    class Sized:
        def __init__(self, value):
            self.value = value

        def __len__(self):
            return self.value

    def truth(kind, value, a):
        return a + 1 if kind(value) else a - 1

    for value in (True, False, 1, "yes", None, np.True_):
        same(truth, (Odd, value, x), whole=None)
    for value in (0, 3, -1, 2.0, None):
        same(truth, (Sized, value, x), whole=None)


def test_divmod_is_a_method_of_its_own():
    class Number:
        def __divmod__(self, other):
            return "divmod", other

        def __floordiv__(self, other):
            return "floordiv"

        def __mod__(self, other):
            return "mod"

    same(lambda a: (divmod(Number(), 3), Number() // 3, divmod(7, 2), a * 2), (x,), whole=None)


def test_a_member_of_another_enum_counts_by_its_value():
    class First(enum.IntEnum):
        A = 1

    class Second(enum.IntEnum):
        B = 1
        C = 3

    same(lambda a: (First.A in Second, Second.C in Second, Second.B in First, a * 2), (x,), whole=None)


class OtherModule(types.ModuleType):
    k = 1


def test_the_class_of_a_module_is_set():
    def f(a):
        module = types.ModuleType("m")
        leave()
        a = a + 1
        module.__class__ = OtherModule
        return a, type(module), module.k, "__class__" in vars(module)

    same(f, (x,), whole=False)


def test_attribute_of_an_immutable_class():
    def f(a):
        try:
            itertools.accumulate.name = 1
        except TypeError as error:
            return a + 1, str(error)

    same(f, (x,), whole=False)
