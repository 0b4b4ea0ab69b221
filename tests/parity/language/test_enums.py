"""Members of enum classes are constants; whatever of them is the user's code is traced as such."""

import enum
import sys

import numpy as np
import pytest
from same_call import same

x = np.arange(6.0).reshape(2, 3)


class Color(enum.Enum):
    RED = 1
    BLUE = "b"
    ALIAS = 1

    @property
    def text(self):
        return f"{self.name}!"

    def scaled(self, a):
        return a * len(self.text)

    @classmethod
    def default(cls):
        return cls.BLUE


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 300


class Ratio(float, enum.Enum):
    HALF = 0.5


class Word(enum.StrEnum):
    ONE = "one"


class Bits(enum.Flag):
    A = enum.auto()
    B = enum.auto()
    AB = A | B


class Mask(enum.IntFlag):
    R = 4
    W = 2


class Loud(enum.Enum):
    A = 1
    B = 2

    def __eq__(self, other):
        seen.append((self.name, getattr(other, "name", other)))
        return True

    __hash__ = None


seen = []


@pytest.mark.parametrize("member", list(Color))
def test_members_and_attributes(member):
    def f(a, c):
        if c is Color.RED:
            a = a * c.value
        return (
            c.scaled(a),
            c.name,
            c == Color.BLUE,
            c != Color.ALIAS,
            c in (Color.BLUE,),
            {Color.RED: 1, Color.BLUE: 2}[c],
            Color.default(),
            c,
            f"{c}",
            repr(c),
            hash(c) == hash(c),
            isinstance(c, Color),
            type(c) is Color,
        )

    same(f, (x, member))


def test_classes():
    def f(a):
        return (
            a * len(Color),
            [c.name for c in Color],
            Color["BLUE"],
            Color(1),
            Color(Color.RED),
            Color("b"),
            Color.RED in Color,
            list(Bits),
            Word.ONE + "s",
            Word("one").upper(),
        )

    same(f, (x,))


@pytest.mark.parametrize("dtype", ["f4", "f8", "u1", "i4", "?"])
def test_numbers(dtype):
    def f(a):
        return a * Level.LOW, Level.HIGH - a.astype("i8"), a > Level.LOW, a.sum() + Level.HIGH

    same(f, (x.astype(dtype),))


def test_numbers_of_python():
    def f(a):
        return (
            a * (Level.LOW + 1),
            type(Level.LOW + 1),
            Level.HIGH > Level.LOW,
            sorted([Level.HIGH, Level.LOW]),
            sum(Level),
            -Level.HIGH,
            int(Level.HIGH),
            float(Level.LOW),
            Ratio.HALF * 2,
            [5, 6, 7][Level.LOW],
            list(range(Level.LOW)),
            a.reshape(6)[: Level.LOW + 2],
            str(Level.HIGH),
            max(Level.LOW, 3),
        )

    same(f, (x,))
    same(lambda a: (a * Ratio.HALF, a[Level.LOW]), (x,), whole=None)


def test_flags():
    def f(a):
        both = Bits.A | Bits.B
        none = Bits.A & Bits.B
        return (
            a * both.value,
            both is Bits.AB,
            Bits.A in both,
            bool(none),
            ~Bits.A == Bits.B,
            both ^ Bits.A,
            Mask.R | Mask.W,
            a + int(Mask.R | Mask.W),
        )

    same(f, (x,))


def test_what_is_not_there():
    same(lambda a: (a + 1, Color(7)), (x,), whole=False)
    same(lambda a: (a + 1, Color["GREEN"]), (x,), whole=False)
    same(lambda a: (a + 1, Color.RED < Color.BLUE), (x,), whole=False)
    same(lambda a: (a + 1, Color.RED.nothing), (x,), whole=False)


def test_an_eq_of_the_users_is_run_as_often_as_in_cpython():
    def f(a):
        b = a * 2
        return b + 1, Loud.A == Loud.B, Loud.A in [Loud.B]

    plain = f(x)
    told = list(seen)
    import numlift as nl

    compiled = nl.compile(f)
    for _ in range(3):
        seen.clear()
        got = compiled(x)
        assert got[1:] == plain[1:]
        assert seen == told
    seen.clear()


def test_version_of_python():
    def f(a):
        if sys.version_info >= (3, 8) and sys.version_info[0] == 3 and sys.version_info.major > 2:
            a = a + 1
        return a * 2, sys.version_info[:2], sys.float_info.max, sys.flags.optimize

    same(f, (x,))


class Weights(enum.IntFlag):
    A = 1
    B = 2


def test_a_flag_equals_its_number():
    # A number known only at run time was taken for another type, which no member equals.
    def f(a, n):
        return a + 1, Weights.A == n, n == Weights.A, Weights.B != n, Weights.B > n, n in (Weights.B, Weights.A), Weights.A == 1.0

    same(f, (x, 1), (x, 2), (x, 1.0), (x, True))
