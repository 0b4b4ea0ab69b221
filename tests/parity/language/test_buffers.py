"""io.StringIO and bytearray made inside."""

import io

import numpy as np
from broken_call import X, check, note
from same_call import same

x = np.arange(6.0).reshape(2, 3)


def test_text():
    def f(a):
        s = io.StringIO()
        n = s.write("abc\n")
        s.write("de")
        s.writelines(["x\n", "y"])
        s.seek(0)
        first = s.readline()
        rest = s.read(3)
        place = s.tell()
        s.seek(0, 2)
        s.write("!")
        s.seek(20)
        s.write("z")
        whole = s.getvalue()
        s.truncate(4)
        s.seek(0)
        with io.StringIO("q\nr") as t:
            read = t.read(), t.closed
        ends = s.read(), s.read(), s.readline()
        kinds = isinstance(s, io.StringIO), type(s) is io.StringIO, s.readable(), t.closed
        return a * n, first, rest, place, whole, read, ends, kinds

    same(f, (x,))


def test_text_at_breaks_and_errors():
    def printed(a):
        s = io.StringIO()
        s.write("abc")
        y = a + 1
        print(y.sum(), file=s)
        s.write("d")
        return y, s.getvalue(), list(io.StringIO("a\nb"))

    def closed(a):
        s = io.StringIO()
        s.close()
        try:
            s.write("a")
        except ValueError as error:
            return a + 1, str(error)

    def bytes_given(a):
        try:
            io.StringIO().write(b"a")
        except TypeError as error:
            return a + 1, str(error)

    def line_ends(a):
        s = io.StringIO("a\r\nb", newline=None)
        return a + 1, s.read()

    for function in (printed, closed, bytes_given, line_ends):
        same(function, (x,), whole=None)


def test_bytes():
    def f(a):
        b = bytearray(b"abc")
        alias = b
        b.append(100)
        b[0] = 65
        b += b"xyz"
        b.extend([1, 2])
        b.insert(1, 7)
        k = b.pop()
        del b[1]
        c = b[1:3]
        d = bytearray([1, 2]) + b"q"
        b.reverse()
        return (
            a * k,
            b.decode("latin1"),
            c.hex(),
            len(b),
            65 in b,
            [i for i in b],
            d * 2,
            b,
            alias is b,
            c == b"bc",
            b.find(b"x"),
            list(b),
            isinstance(b, bytearray),
        )

    same(f, (x,))


def test_bytes_at_breaks_and_errors():
    def seen(a):
        b = bytearray(b"abc")
        y = a + 1
        note("now", bytes(b))
        b[0] = 3
        return y, b, memoryview(b)[1]

    check(seen, (X,))

    def too_large(a):
        b = bytearray(b"abc")
        try:
            b.append(300)
        except ValueError as error:
            return a + b[0], str(error), b

    def none_there(a):
        b = bytearray(b"abc")
        try:
            b[7]
        except IndexError as error:
            return a + 1, str(error)

    for function in (too_large, none_there):
        same(function, (x,), whole=None)
