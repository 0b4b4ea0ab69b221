"""The __dict__ of an instance. (instance_dict.h tells what it is; the interpreter knows the functions here
without a body.)"""

from .collections_ import View
from .marks import leave, polyfill


def own_names(owner):
    """The names under which the instance itself holds something, in order."""
    raise NotImplementedError


def own_value(owner, name, default):
    raise NotImplementedError


def set_own(owner, name, value):
    raise NotImplementedError


def del_own(owner, name):
    raise NotImplementedError


absent = object()


def _name(key):
    if type(key) is not str:
        leave()
    return key


class InstanceDict:
    def __len__(self):
        return len(own_names(self._owner))

    def __contains__(self, key):
        return own_value(self._owner, _name(key), absent) is not absent

    def __getitem__(self, key):
        value = own_value(self._owner, _name(key), absent)
        if value is absent:
            leave()
        return value

    def __setitem__(self, key, value):
        set_own(self._owner, _name(key), value)

    def __delitem__(self, key):
        if key not in self:
            leave()
        del_own(self._owner, key)

    def __iter__(self):
        return iter(self.keys())

    def __reversed__(self):
        return reversed(self.keys())

    def get(self, key, default=None, /):
        return own_value(self._owner, _name(key), default)

    def keys(self):
        return OwnNames(self._owner)

    def values(self):
        return OwnValues(self._owner)

    def items(self):
        return OwnItems(self._owner)

    def copy(self):
        return dict(self.items())

    __copy__ = copy

    def update(self, other=(), /, **more):
        for key, value in dict(other, **more).items():
            set_own(self._owner, _name(key), value)

    def setdefault(self, key, default=None, /):
        value = own_value(self._owner, _name(key), absent)
        if value is not absent:
            return value
        set_own(self._owner, key, default)
        return default

    def pop(self, key, /, *default):
        value = own_value(self._owner, _name(key), absent)
        if value is not absent:
            del_own(self._owner, key)
            return value
        if len(default) != 1:
            leave()
        return default[0]

    def popitem(self):
        names = own_names(self._owner)
        if not names:
            leave()
        name = names[-1]
        return name, self.pop(name)

    def clear(self):
        for name in own_names(self._owner):
            del_own(self._owner, name)

    def __or__(self, other):
        return self.copy() | dict(other) if isinstance(other, dict) else NotImplemented

    def __ior__(self, other):
        self.update(other)
        return self

    def __eq__(self, other):
        return self.copy() == dict(other) if isinstance(other, dict) else NotImplemented

    def __ne__(self, other):
        return self.copy() != dict(other) if isinstance(other, dict) else NotImplemented


class OwnNames(View):
    def __init__(self, owner):
        self._owner = owner

    @property
    def _view(self):
        return self._dict().keys()

    def _dict(self):
        owner = self._owner
        return {name: own_value(owner, name, None) for name in own_names(owner)}

    def _item(self, name):
        return name

    def __iter__(self):
        return _in_turn(self, own_names(self._owner))

    def __reversed__(self):
        return _in_turn(self, own_names(self._owner)[::-1])


class OwnValues(OwnNames):
    @property
    def _view(self):
        return self._dict().values()

    def _item(self, name):
        return own_value(self._owner, name, None)

    # Of values a dict's view has no more than this.
    def __eq__(self, other):
        leave()

    __ne__ = __and__ = __or__ = __sub__ = __xor__ = __eq__


class OwnItems(OwnNames):
    @property
    def _view(self):
        return self._dict().items()

    def _item(self, name):
        return name, own_value(self._owner, name, None)


def _in_turn(view, names):
    owner = view._owner
    for name in names:
        if own_names(owner)[:] != names and own_names(owner)[::-1] != names:
            leave()
        yield view._item(name)
    if len(own_names(owner)) != len(names):
        leave()


@polyfill("builtins.vars")
def variables(*objects):
    if len(objects) != 1:
        leave()
    return objects[0].__dict__
