"""Classes of the collections module. (library_objects.h tells how these classes are used.)"""

import collections
import collections.abc
from operator import index

from .iterators import equal
from .marks import leave, polyfill


@polyfill("collections.deque")
class Deque:
    SHAPE = ("_items", "_limit")

    def __init__(self, iterable=(), maxlen=None):
        if maxlen is not None:
            maxlen = index(maxlen)
            if maxlen < 0:
                leave()
        self._limit = maxlen
        self._items = []
        self._changes = 0
        self.extend(iterable)

    @property
    def maxlen(self):
        return self._limit

    def _changed(self):
        self._changes = self._changes + 1

    def append(self, x, /):
        self._items.append(x)
        self._changed()
        if self._limit is not None and len(self._items) > self._limit:
            self._items.pop(0)

    def appendleft(self, x, /):
        self._items.insert(0, x)
        self._changed()
        if self._limit is not None and len(self._items) > self._limit:
            self._items.pop()

    def extend(self, iterable, /):
        if iterable is self:
            iterable = list(iterable)
        for x in iterable:
            self.append(x)

    def extendleft(self, iterable, /):
        if iterable is self:
            iterable = list(iterable)
        for x in iterable:
            self.appendleft(x)

    def pop(self):
        if not self._items:
            leave()
        self._changed()
        return self._items.pop()

    def popleft(self):
        if not self._items:
            leave()
        self._changed()
        return self._items.pop(0)

    def clear(self):
        self._items.clear()
        self._changed()

    def rotate(self, n=1, /):
        n = index(n)
        count = len(self._items)
        if count > 1:
            n = n % count
            self._items = self._items[count - n :] + self._items[: count - n]
            self._changed()

    def reverse(self):
        self._items.reverse()

    def copy(self):
        return collections.deque(self._items, self._limit)

    __copy__ = copy

    def count(self, x, /):
        found = 0
        for item in self._items:
            if equal(item, x):
                found += 1
        return found

    def index(self, x, start=0, stop=None, /):
        count = len(self._items)
        stop = count if stop is None else stop
        if start < 0:
            start = max(start + count, 0)
        if stop < 0:
            stop = max(stop + count, 0)
        for i in range(start, min(stop, count)):
            if equal(self._items[i], x):
                return i
        leave()

    def insert(self, i, x, /):
        if self._limit is not None and len(self._items) >= self._limit:
            leave()
        self._items.insert(i, x)
        self._changed()

    def remove(self, x, /):
        for i in range(len(self._items)):
            if equal(self._items[i], x):
                del self._items[i]
                self._changed()
                return
        leave()

    def __len__(self):
        return len(self._items)

    def __getitem__(self, i):
        i = index(i)
        if not -len(self._items) <= i < len(self._items):
            leave()
        return self._items[i]

    def __setitem__(self, i, x):
        i = index(i)
        if not -len(self._items) <= i < len(self._items):
            leave()
        self._items[i] = x

    def __delitem__(self, i):
        i = index(i)
        if not -len(self._items) <= i < len(self._items):
            leave()
        del self._items[i]
        self._changed()

    def __contains__(self, x):
        for item in self._items:
            if equal(item, x):
                return True
        return False

    def __iter__(self):
        return _items_of(self, 1)

    def __reversed__(self):
        return _items_of(self, -1)

    def _other(self, other):
        return other._items if isinstance(other, collections.deque) else None

    def __eq__(self, other):
        items = self._other(other)
        return NotImplemented if items is None else self._items == items

    def __ne__(self, other):
        items = self._other(other)
        return NotImplemented if items is None else self._items != items

    def __lt__(self, other):
        items = self._other(other)
        return NotImplemented if items is None else self._items < items

    def __le__(self, other):
        items = self._other(other)
        return NotImplemented if items is None else self._items <= items

    def __gt__(self, other):
        items = self._other(other)
        return NotImplemented if items is None else self._items > items

    def __ge__(self, other):
        items = self._other(other)
        return NotImplemented if items is None else self._items >= items

    def __add__(self, other):
        items = self._other(other)
        return NotImplemented if items is None else collections.deque(self._items + items, self._limit)

    def __iadd__(self, other):
        self.extend(other)
        return self

    def __mul__(self, n):
        return collections.deque(self._items * index(n), self._limit)

    def __imul__(self, n):
        items = self._items * index(n)
        self.clear()
        self.extend(items)
        return self


def _items_of(deque, step):
    changes = deque._changes
    left = len(deque)
    place = 0 if step == 1 else left - 1
    while True:
        if deque._changes != changes:
            leave()
        if not left:
            return
        item = deque._items[place]
        place += step
        left -= 1
        yield item


class Mapping:
    """A dict with other methods."""

    DICT = "_dict"

    def __len__(self):
        return len(self._dict)

    def __contains__(self, key):
        return key in self._dict

    def __iter__(self):
        return iter(self._dict)

    def __reversed__(self):
        return reversed(self._dict)

    def __setitem__(self, key, value):
        self._dict[key] = value

    def __delitem__(self, key):
        if key not in self._dict:
            leave()
        del self._dict[key]

    def __getitem__(self, key):
        if key not in self._dict:
            return self.__missing__(key)
        return self._dict[key]

    def __missing__(self, key):
        leave()

    def get(self, key, default=None, /):
        return self._dict.get(key, default)

    def keys(self):
        return View(self._dict.keys())

    def values(self):
        return View(self._dict.values())

    def items(self):
        return View(self._dict.items())

    def clear(self):
        self._dict.clear()

    def pop(self, key, /, *default):
        if len(default) > 1 or (not default and key not in self._dict):
            leave()
        return self._dict.pop(key, *default)

    def popitem(self):
        if not self._dict:
            leave()
        return self._dict.popitem()

    def setdefault(self, key, default=None, /):
        return self._dict.setdefault(key, default)

    def update(self, other=(), /, **kwargs):
        self._dict.update(other, **kwargs)

    def __eq__(self, other):
        if not isinstance(other, dict):
            return NotImplemented
        return self._dict == dict(other)

    def __ne__(self, other):
        if not isinstance(other, dict):
            return NotImplemented
        return self._dict != dict(other)


class View:
    """What keys(), values() and items() of such a dict give; CPython makes it when it gets it."""

    def __init__(self, view):
        self._view = view

    def __and__(self, other):
        return self._view & other

    def __or__(self, other):
        return self._view | other

    def __sub__(self, other):
        return self._view - other

    def __xor__(self, other):
        return self._view ^ other

    def __eq__(self, other):
        return self._view == other

    def __ne__(self, other):
        return self._view != other

    def __len__(self):
        return len(self._view)

    def __contains__(self, item):
        return item in self._view

    def __iter__(self):
        return iter(self._view)

    def __reversed__(self):
        return reversed(self._view)


class OrderedView(View):
    def __iter__(self):
        return _in_order(self._view)

    def __reversed__(self):
        return _in_order(reversed(self._view))


def _in_order(items):
    items = iter(items)
    while True:
        try:
            item = next(items)
        except StopIteration:
            return
        except RuntimeError:
            leave()
        yield item


class MergedMapping(Mapping):
    """Of `|` as dict has it."""

    def __or__(self, other):
        if not isinstance(other, dict):
            return NotImplemented
        made = self.copy()
        made.update(other)
        return made

    def __ior__(self, other):
        self._dict.update(other)
        return self


@polyfill("collections.defaultdict")
class DefaultDict(MergedMapping):
    SHAPE = ("_factory", "_dict")

    def __init__(self, default_factory=None, /, *args, **kwargs):
        if default_factory is not None and not callable(default_factory):
            leave()
        if len(args) > 1:
            leave()
        self._factory = default_factory
        self._dict = dict(*args, **kwargs)

    @property
    def default_factory(self):
        return self._factory

    def __missing__(self, key):
        if self._factory is None:
            leave()
        value = self._factory()
        self._dict[key] = value
        return value

    def copy(self):
        return collections.defaultdict(self._factory, self._dict)

    __copy__ = copy


@polyfill("collections.OrderedDict")
class OrderedDict(MergedMapping):
    SHAPE = ("_dict",)

    def __init__(self, other=(), /, **kwargs):
        self._dict = dict(other, **kwargs)

    def move_to_end(self, key, last=True):
        if key not in self._dict:
            leave()
        value = self._dict.pop(key)
        if last:
            self._dict[key] = value
        else:
            items = list(self._dict.items())
            self._dict.clear()
            self._dict[key] = value
            self._dict.update(items)

    def popitem(self, last=True):
        if not self._dict:
            leave()
        if last:
            return self._dict.popitem()
        for key in self._dict:
            break
        return key, self._dict.pop(key)

    def copy(self):
        return collections.OrderedDict(self._dict)

    def __iter__(self):
        return _in_order(self._dict)

    def __reversed__(self):
        return _in_order(reversed(self._dict))

    def keys(self):
        return OrderedView(self._dict.keys())

    def values(self):
        return OrderedView(self._dict.values())

    def items(self):
        return OrderedView(self._dict.items())

    def __eq__(self, other):
        if isinstance(other, collections.OrderedDict):
            return list(self._dict.items()) == list(other._dict.items())
        if not isinstance(other, dict):
            return NotImplemented
        return self._dict == dict(other)

    def __ne__(self, other):
        if not isinstance(other, dict):
            return NotImplemented
        return not self == other


@polyfill("collections.Counter")
class Counter(Mapping):
    SHAPE = ("_dict",)

    def __init__(self, iterable=None, /, **kwargs):
        self._dict = {}
        self.update(iterable, **kwargs)

    def __missing__(self, key):
        return 0

    def __delitem__(self, key):
        if key in self._dict:
            del self._dict[key]

    def update(self, iterable=None, /, **kwargs):
        if iterable is not None:
            if _is_mapping(iterable):
                adds = len(self._dict) > 0
                for key, count in iterable.items():
                    self._dict[key] = count + self._dict.get(key, 0) if adds else count
            else:
                for key in iterable:
                    self._dict[key] = self._dict.get(key, 0) + 1
        if kwargs:
            self.update(kwargs)

    def subtract(self, iterable=None, /, **kwargs):
        if iterable is not None:
            if _is_mapping(iterable):
                for key, count in iterable.items():
                    self._dict[key] = self._dict.get(key, 0) - count
            else:
                for key in iterable:
                    self._dict[key] = self._dict.get(key, 0) - 1
        if kwargs:
            self.subtract(kwargs)

    def most_common(self, n=None):
        pairs = sorted(self._dict.items(), key=_second, reverse=True)
        return pairs if n is None else pairs[: max(n, 0)]

    def elements(self):
        return _elements(list(self._dict.items()))

    def total(self):
        return sum(self._dict.values())

    def copy(self):
        return collections.Counter(self._dict)

    __copy__ = copy

    def _positive(self, pairs):
        return collections.Counter(dict([(key, count) for key, count in pairs if count > 0]))

    def __add__(self, other):
        if not isinstance(other, collections.Counter):
            return NotImplemented
        mine = [(key, count + other[key]) for key, count in self._dict.items()]
        return self._positive(mine + [pair for pair in other.items() if pair[0] not in self._dict])

    def __sub__(self, other):
        if not isinstance(other, collections.Counter):
            return NotImplemented
        mine = [(key, count - other[key]) for key, count in self._dict.items()]
        rest = [(key, 0 - count) for key, count in other.items() if key not in self._dict]
        return self._positive(mine + rest)

    def __or__(self, other):
        if not isinstance(other, collections.Counter):
            return NotImplemented
        mine = [(key, max(other[key], count)) for key, count in self._dict.items()]
        return self._positive(mine + [pair for pair in other.items() if pair[0] not in self._dict])

    def __and__(self, other):
        if not isinstance(other, collections.Counter):
            return NotImplemented
        return self._positive([(key, min(other[key], count)) for key, count in self._dict.items()])

    def _become(self, other):
        counts = list(other.items())
        self._dict.clear()
        self._dict.update(counts)
        return self

    def __iadd__(self, other):
        for key, count in other.items():
            self._dict[key] = self._dict.get(key, 0) + count
        return self._become(self._positive(list(self._dict.items())))

    def __isub__(self, other):
        for key, count in other.items():
            self._dict[key] = self._dict.get(key, 0) - count
        return self._become(self._positive(list(self._dict.items())))

    def __ior__(self, other):
        for key, count in other.items():
            if count > self._dict.get(key, 0):
                self._dict[key] = count
        return self._become(self._positive(list(self._dict.items())))

    def __iand__(self, other):
        for key, count in list(self._dict.items()):
            if other[key] < count:
                self._dict[key] = other[key]
        return self._become(self._positive(list(self._dict.items())))

    def __eq__(self, other):
        if not isinstance(other, collections.Counter):
            return NotImplemented
        for key in list(self._dict) + list(other):
            if self._dict.get(key, 0) != other[key]:
                return False
        return True

    def __ne__(self, other):
        if not isinstance(other, collections.Counter):
            return NotImplemented
        return not self == other


def _is_mapping(iterable):
    return isinstance(iterable, dict) or isinstance(iterable, collections.abc.Mapping)


def _second(pair):
    return pair[1]


def _elements(pairs):
    for key, count in pairs:
        for _ in range(count):
            yield key
