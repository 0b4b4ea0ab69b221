"""itertools and iter()."""

from operator import add, index

from .marks import exhausted, is_made_by, leave, polyfill


def equal(a, b):
    return (a,) == (b,)  # identity comes first, as where C code compares items


@polyfill("builtins.iter")
def iter_until(function, sentinel, /):
    return _iter_until(function, sentinel)


def _iter_until(function, sentinel):
    while True:
        value = function()
        if equal(value, sentinel):
            return
        yield value


@polyfill("itertools.accumulate")
def accumulate(iterable, func=None, *, initial=None):
    return _accumulate(iter(iterable), add if func is None else func, initial)


def _accumulate(iterator, func, initial):
    total = initial
    if initial is None:
        for total in iterator:
            break
        else:
            return
    yield total
    for item in iterator:
        total = func(total, item)
        yield total


@polyfill("itertools.chain.from_iterable")
def chain_from_iterable(iterable, /):
    return _chain(iter(iterable))


def _chain(iterables):
    for one in iterables:
        yield from iter(one)


@polyfill("itertools.combinations")
def combinations(iterable, r):
    pool = tuple(iterable)
    r = index(r)
    if r < 0:
        leave()
    return _combinations(pool, r)


def _combinations(pool, r):
    n = len(pool)
    if r > n:
        return
    places = list(range(r))
    yield tuple([pool[i] for i in places])
    while True:
        i = r - 1
        while i >= 0 and places[i] == i + n - r:
            i -= 1
        if i < 0:
            return
        places[i] += 1
        for j in range(i + 1, r):
            places[j] = places[j - 1] + 1
        yield tuple([pool[i] for i in places])


@polyfill("itertools.combinations_with_replacement")
def combinations_with_replacement(iterable, r):
    pool = tuple(iterable)
    r = index(r)
    if r < 0:
        leave()
    return _combinations_with_replacement(pool, r)


def _combinations_with_replacement(pool, r):
    n = len(pool)
    if n == 0 and r > 0:
        return
    places = [0] * r
    yield tuple([pool[i] for i in places])
    while True:
        i = r - 1
        while i >= 0 and places[i] == n - 1:
            i -= 1
        if i < 0:
            return
        place = places[i] + 1
        for j in range(i, r):
            places[j] = place
        yield tuple([pool[i] for i in places])


@polyfill("itertools.permutations")
def permutations(iterable, r=None):
    pool = tuple(iterable)
    if r is None:
        r = len(pool)
    elif type(r) is not int or r < 0:
        leave()
    return _permutations(pool, r)


def _permutations(pool, r):
    n = len(pool)
    if r > n:
        return
    places = list(range(n))
    cycles = list(range(n, n - r, -1))
    yield tuple([pool[i] for i in places[:r]])
    while True:
        i = r - 1
        while i >= 0:
            cycles[i] -= 1
            if cycles[i] != 0:
                break
            places.append(places.pop(i))
            cycles[i] = n - i
            i -= 1
        if i < 0:
            return
        j = n - cycles[i]
        places[i], places[j] = places[j], places[i]
        yield tuple([pool[i] for i in places[:r]])


@polyfill("itertools.compress")
def compress(data, selectors):
    return _compress(iter(data), iter(selectors))


def _compress(data, selectors):
    for item in data:
        for selector in selectors:
            break
        else:
            yield exhausted  # the next call takes an item again
            continue
        if selector:
            yield item


@polyfill("itertools.cycle")
def cycle(iterable, /):
    return _cycle(iter(iterable))


def _cycle(iterator):
    seen = []
    for item in iterator:
        seen.append(item)
        yield item
    while seen:
        for item in seen:
            yield item


@polyfill("itertools.dropwhile")
def dropwhile(predicate, iterable, /):
    return _dropwhile(predicate, iter(iterable))


def _dropwhile(predicate, iterator):
    for item in iterator:
        if not predicate(item):
            yield item
            break
    for item in iterator:
        yield item


@polyfill("itertools.takewhile")
def takewhile(predicate, iterable, /):
    return _takewhile(predicate, iter(iterable))


def _takewhile(predicate, iterator):
    for item in iterator:
        if not predicate(item):
            return
        yield item


@polyfill("itertools.filterfalse")
def filterfalse(function, iterable, /):
    return _filterfalse(function, iter(iterable))


def _filterfalse(function, iterator):
    plain = function is None or function is bool
    for item in iterator:
        if not (item if plain else function(item)):
            yield item


@polyfill("itertools.groupby")
def groupby(iterable, key=None):
    return _groupby(iter(iterable), key)


def _groupby(iterator, key):
    # One item is read ahead; the groups and the iteration over them share it.
    value = current = target = None
    has_value = has_current = False
    group = 0

    def step():
        nonlocal value, current, has_value, has_current
        for value in iterator:
            break
        else:
            return False
        current = value if key is None else key(value)
        has_value = has_current = True
        return True

    def items(own, target):
        nonlocal has_value
        while own == group:
            if not has_value and not step():
                return
            if not equal(target, current):
                return
            has_value = False
            yield value

    has_target = False
    while True:
        group += 1
        while not has_current or (has_target and equal(target, current)):
            if not step():
                return
        target = current
        has_target = True
        yield current, items(group, target)


@polyfill("itertools.islice")
def islice(iterable, start, /, *rest):
    if not rest:
        start, stop, step = None, start, None
    elif len(rest) == 1:
        stop, step = rest[0], None
    elif len(rest) == 2:
        stop, step = rest
    else:
        leave()
    start = 0 if start is None else index(start)
    step = 1 if step is None else index(step)
    if stop is not None:
        stop = index(stop)
        if stop < 0:
            leave()
    if start < 0 or step < 1:
        leave()
    return _islice(iter(iterable), start, stop, step)


def _islice(iterator, following, stop, step):
    count = 0
    while True:
        while count < following:
            for _ in iterator:
                break
            else:
                return
            count += 1
        if stop is not None and count >= stop:
            return
        for item in iterator:
            break
        else:
            return
        count += 1
        following += step
        if stop is not None and following > stop:
            following = stop
        yield item


@polyfill("itertools.starmap")
def starmap(function, iterable, /):
    return _starmap(function, iter(iterable))


def _starmap(function, iterator):
    for arguments in iterator:
        yield function(*arguments)


@polyfill("itertools.tee")
def tee(iterable, n=2, /):
    n = index(n)
    if n < 0:
        leave()
    iterator = iter(iterable)
    if is_made_by(iterator, _tee):
        leave()  # those are copied
    seen = []
    return tuple([_tee(iterator, seen) for _ in range(n)])


def _tee(iterator, seen):
    i = 0
    while True:
        if i == len(seen):
            for item in iterator:
                break
            else:
                return
            seen.append(item)
        yield seen[i]
        i += 1


@polyfill("itertools.zip_longest")
def zip_longest(*iterables, fillvalue=None):
    return _zip_longest([iter(one) for one in iterables], fillvalue)


def _zip_longest(iterators, fillvalue):
    active = len(iterators)
    if active == 0:
        return
    while True:
        items = []
        for i, iterator in enumerate(iterators):
            if iterator is None:
                items.append(fillvalue)
                continue
            for item in iterator:
                break
            else:
                active -= 1
                if active == 0:
                    return
                iterators[i] = None
                item = fillvalue
            items.append(item)
        yield tuple(items)


@polyfill("itertools.batched")
def batched(iterable, n, *, strict=False):
    n = index(n)
    if n < 1:
        leave()
    return _batched(iter(iterable), n, strict)


def _batched(iterator, n, strict):
    while True:
        items = []
        for item in iterator:
            items.append(item)
            if len(items) == n:
                break
        else:
            if not items:
                return
            if strict:
                leave()
            yield tuple(items)
            return
        yield tuple(items)
