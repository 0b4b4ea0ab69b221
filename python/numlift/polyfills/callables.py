"""operator and functools."""

from .marks import leave, polyfill
from .iterators import equal


@polyfill("operator.itemgetter", is_maker=True)
def itemgetter(item, /, *items):
    if not items:

        def get(obj, /):
            return obj[item]

    else:
        items = (item,) + items

        def get(obj, /):
            return tuple([obj[one] for one in items])

    return get


@polyfill("operator.attrgetter", is_maker=True)
def attrgetter(attr, /, *attrs):
    names = (attr,) + attrs
    for name in names:
        if type(name) is not str:
            leave()
    paths = [name.split(".") for name in names]

    def get_one(obj, path):
        for name in path:
            obj = getattr(obj, name)
        return obj

    if not attrs:

        def get(obj, /):
            return get_one(obj, paths[0])

    else:

        def get(obj, /):
            return tuple([get_one(obj, path) for path in paths])

    return get


@polyfill("operator.methodcaller", is_maker=True)
def methodcaller(name, /, *args, **kwargs):
    if type(name) is not str:
        leave()

    def call_method(obj, /):
        return getattr(obj, name)(*args, **kwargs)

    return call_method


@polyfill("_operator.countOf")
def count_of(a, b, /):
    count = 0
    for item in a:
        if equal(item, b):
            count += 1
    return count


@polyfill("_operator.indexOf")
def index_of(a, b, /):
    i = 0
    for item in a:
        if equal(item, b):
            return i
        i += 1
    leave()


@polyfill("_operator.delitem")
def delete_item(a, b, /):
    del a[b]


@polyfill("_operator.abs")
def absolute(a, /):
    return abs(a)


@polyfill("_operator.call")
def call(obj, /, *args, **kwargs):
    return obj(*args, **kwargs)


@polyfill("_operator.concat")
def concatenate(a, b, /):
    if type(a) is not type(b) or type(a) not in (list, tuple, str, bytes):
        leave()
    return a + b


@polyfill("builtins.dict.fromkeys")
def dict_fromkeys(iterable, value=None, /):
    made = {}
    for key in iterable:
        made[key] = value
    return made
