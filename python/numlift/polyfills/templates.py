"""Template strings, which CPython has from 3.14 on. (library_objects.h tells how these classes are used.)"""

from .marks import leave, polyfill

try:
    from string import templatelib
except ImportError:
    templatelib = None  # nobody can make one


@polyfill("string.templatelib.Interpolation")
class Interpolation:
    SHAPE = ("_value", "_expression", "_conversion", "_format_spec")

    def __init__(self, value, expression="", conversion=None, format_spec=""):
        if type(expression) is not str or type(format_spec) is not str:
            leave()
        if conversion is not None and (type(conversion) is not str or conversion not in ("a", "r", "s")):
            leave()
        self._value = value
        self._expression = expression
        self._conversion = conversion
        self._format_spec = format_spec

    @property
    def value(self):
        return self._value

    @property
    def expression(self):
        return self._expression

    @property
    def conversion(self):
        return self._conversion

    @property
    def format_spec(self):
        return self._format_spec


@polyfill("string.templatelib.Template")
class Template:
    SHAPE = ("*_parts",)

    def __init__(self, *args):
        parts, strings, interpolations = [], [""], []
        for one in args:
            if type(one) is str:
                strings[-1] = strings[-1] + one
            elif type(one) is templatelib.Interpolation:
                interpolations.append(one)
                strings.append("")
            else:
                leave()
        for i in range(len(strings)):
            if strings[i]:
                parts.append(strings[i])
            if i < len(interpolations):
                parts.append(interpolations[i])
        self._parts = tuple(parts)
        self._strings = tuple(strings)
        self._interpolations = tuple(interpolations)

    @property
    def strings(self):
        return self._strings

    @property
    def interpolations(self):
        return self._interpolations

    @property
    def values(self):
        return tuple([one.value for one in self._interpolations])

    def __iter__(self):
        return iter(self._parts)
