"""How a polyfill says what it stands for, and what it asks the interpreter."""

TABLE = {}  # "module.name" of a C callable, as its __module__ and __qualname__ have it: its polyfill
MAKERS = set()  # those whose result the C callable makes again from the same arguments


def polyfill(*names, is_maker=False):
    """`is_maker`: calling the C callable once more, later, with the same arguments gives as good a result."""

    def add(function):
        TABLE.update(dict.fromkeys(names, function))
        if is_maker:
            MAKERS.update(names)
        return function

    return add

exhausted = object()  # yielded: the C iterator is at its end for now


def leave():
    """CPython calls the C function. (The interpreter knows this function.)"""
    raise NotImplementedError


def is_made_by(iterator, generator):
    """It is what this generator function of a polyfill gave. (The interpreter knows this function.)"""
    raise NotImplementedError
