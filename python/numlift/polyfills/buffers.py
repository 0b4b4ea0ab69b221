"""Text and bytes that grow: io.StringIO and bytearray."""

from operator import index

from .marks import leave, polyfill


@polyfill("_io.StringIO")
class StringIO:
    """In the usual mode, in which line ends stay what they are. Iteration gives the object itself, which
    CPython makes."""

    def __init__(self, initial_value="", newline="\n"):
        if newline != "\n" or not (initial_value is None or type(initial_value) is str):
            leave()
        self._text = initial_value or ""
        self._place = 0
        self._is_closed = False

    def _must_be_open(self):
        if self._is_closed:
            leave()

    def write(self, s, /):
        self._must_be_open()
        if type(s) is not str:
            leave()
        if s:
            text = self._text
            place = self._place
            if place == len(text):
                self._text = text + s
            else:
                self._text = text[:place] + "\0" * (place - len(text)) + s + text[place + len(s) :]
            self._place = place + len(s)
        return len(s)

    def writelines(self, lines, /):
        self._must_be_open()
        for line in lines:
            self.write(line)

    def getvalue(self):
        self._must_be_open()
        return self._text

    def _taken(self, end):
        place = self._place
        if place >= len(self._text):
            return ""
        self._place = end
        return self._text[place:end]

    def _end(self, size):
        left = len(self._text)
        if size is None:
            return left
        size = index(size)
        return left if size < 0 else min(left, self._place + size)

    def read(self, size=-1, /):
        self._must_be_open()
        return self._taken(self._end(size))

    def readline(self, size=-1, /):
        self._must_be_open()
        end = self._end(size)
        found = self._text.find("\n", self._place, end)
        return self._taken(end if found < 0 else found + 1)

    def tell(self):
        self._must_be_open()
        return self._place

    def seek(self, pos, whence=0, /):
        self._must_be_open()
        pos = index(pos)
        if whence == 0:
            if pos < 0:
                leave()
            self._place = pos
        elif whence == 1 and pos == 0:
            pass
        elif whence == 2 and pos == 0:
            self._place = len(self._text)
        else:
            leave()
        return self._place

    def truncate(self, pos=None, /):
        self._must_be_open()
        pos = self._place if pos is None else index(pos)
        if pos < 0:
            leave()
        self._text = self._text[:pos]
        return pos

    def flush(self):
        self._must_be_open()

    def isatty(self):
        self._must_be_open()
        return False

    def readable(self):
        self._must_be_open()
        return True

    def writable(self):
        self._must_be_open()
        return True

    def seekable(self):
        self._must_be_open()
        return True

    def close(self):
        self._is_closed = True

    @property
    def closed(self):
        return self._is_closed

    def __enter__(self):
        self._must_be_open()
        return self

    def __exit__(self, kind, value, traceback):
        self._is_closed = True


@polyfill("builtins.bytearray")
class ByteArray:
    SHAPE = ("_items",)

    def __init__(self, source=b"", /):
        # An int would be a size, a text an encoding's matter, and an array has a buffer.
        if type(source) not in (bytes, list, tuple, range):
            leave()
        self._items = []
        for item in source:
            self._items.append(self._byte(item))

    def _byte(self, item):
        item = index(item)
        if not 0 <= item < 256:
            leave()
        return item

    def _place(self, i):
        i = index(i)
        if not -len(self._items) <= i < len(self._items):
            leave()
        return i

    def _others(self, other):
        if type(other) is not bytes:
            leave()
        return list(other)

    def __len__(self):
        return len(self._items)

    def __getitem__(self, i):
        if type(i) is slice:
            return bytearray(self._items[i])
        return self._items[self._place(i)]

    def __setitem__(self, i, item):
        if type(i) is slice:
            leave()
        # As CPython does: the item is looked at first.
        item = self._byte(item)
        self._items[self._place(i)] = item

    def __delitem__(self, i):
        if type(i) is slice:
            leave()
        del self._items[self._place(i)]

    def __contains__(self, item):
        return self._byte(item) in self._items

    def __iter__(self):
        return _items_of(self)

    def append(self, item, /):
        self._items.append(self._byte(item))

    def insert(self, i, item, /):
        i = index(i)
        self._items.insert(i, self._byte(item))

    def pop(self, i=-1, /):
        return self._items.pop(self._place(i))

    def reverse(self):
        self._items.reverse()

    def clear(self):
        self._items.clear()

    def copy(self):
        return bytearray(self._items)

    def extend(self, more, /):
        if type(more) not in (bytes, list, tuple, range):
            leave()
        # All or nothing.
        self._items.extend([self._byte(item) for item in more])

    def decode(self, encoding="utf-8", errors="strict"):
        return bytes(self._items).decode(encoding, errors)

    def hex(self):
        return bytes(self._items).hex()

    def startswith(self, prefix, /):
        return bytes(self._items).startswith(prefix)

    def endswith(self, suffix, /):
        return bytes(self._items).endswith(suffix)

    def find(self, part, /):
        return bytes(self._items).find(part)

    def count(self, part, /):
        return bytes(self._items).count(part)

    def __add__(self, other):
        return bytearray(self._items + self._others(other))

    def __iadd__(self, other):
        self._items.extend(self._others(other))
        return self

    def __mul__(self, n):
        return bytearray(self._items * index(n))

    def __eq__(self, other):
        return bytes(self._items) == other if type(other) is bytes else NotImplemented

    def __ne__(self, other):
        return bytes(self._items) != other if type(other) is bytes else NotImplemented


def _items_of(array):
    place = 0
    while place < len(array._items):
        item = array._items[place]
        place += 1
        yield item
