"""How the rules of calls get into their tables."""


def adds_to(table):
    """A decorator factory: @rule("numpy.cumsum", ...) enters the function under the names of these calls."""

    def rule(*names):
        def add(function):
            for name in names:
                table[name] = table[name.replace("numpy.ndarray", "ndarray")] = function
            return function

        return add

    return rule
