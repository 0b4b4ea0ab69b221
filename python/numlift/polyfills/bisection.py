"""bisect"""

from operator import index

from .marks import leave, polyfill


def bounds(a, lo, hi):
    lo = index(lo)
    if lo < 0:
        leave()
    return lo, len(a) if hi is None else index(hi)


@polyfill("_bisect.bisect_right")
def bisect_right(a, x, lo=0, hi=None, *, key=None):
    lo, hi = bounds(a, lo, hi)
    while lo < hi:
        middle = (lo + hi) // 2
        item = a[middle]
        if x < (item if key is None else key(item)):
            hi = middle
        else:
            lo = middle + 1
    return lo


@polyfill("_bisect.bisect_left")
def bisect_left(a, x, lo=0, hi=None, *, key=None):
    lo, hi = bounds(a, lo, hi)
    while lo < hi:
        middle = (lo + hi) // 2
        item = a[middle]
        if (item if key is None else key(item)) < x:
            lo = middle + 1
        else:
            hi = middle
    return lo


@polyfill("_bisect.insort_right")
def insort_right(a, x, lo=0, hi=None, *, key=None):
    a.insert(bisect_right(a, x if key is None else key(x), lo, hi, key=key), x)


@polyfill("_bisect.insort_left")
def insort_left(a, x, lo=0, hi=None, *, key=None):
    a.insert(bisect_left(a, x if key is None else key(x), lo, hi, key=key), x)
