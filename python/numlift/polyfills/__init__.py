"""Python code that stands for functions of the standard library that are written in C.

The symbolic interpreter runs it in their place, like code of the user's that nobody sees: a break inside
belongs to the instruction that called the C function, and CPython then calls the real one. Nothing here is
called in any other way. So a polyfill gives exactly what the C function gives, in the same order of effects
and as lazily, or it calls leave(): for arguments that the C function refuses, and for whatever else it does
not know. What a polyfill returns is shown to the user as the C function's result: a generator as its
iterator, a function as its callable object.

Loaded when first needed, so that importing numlift costs no more.
"""

from . import bisection, buffers, callables, collections_, heaps, instances, iterators, templates
from .instances import InstanceDict, del_own, own_names, own_value, set_own
from .marks import MAKERS, TABLE, exhausted, is_made_by, leave
from .quietly import call_quietly

__all__ = [
    "InstanceDict",
    "MAKERS",
    "TABLE",
    "call_quietly",
    "del_own",
    "exhausted",
    "is_made_by",
    "leave",
    "own_names",
    "own_value",
    "set_own",
    "bisection",
    "buffers",
    "callables",
    "collections_",
    "heaps",
    "instances",
    "iterators",
    "templates",
]
