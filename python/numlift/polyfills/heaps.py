"""heapq: the C code's order of comparisons, which decides where equal items end up."""

from .marks import leave, polyfill


def check(heap):
    if type(heap) is not list:
        leave()


def less(a, b):
    return a < b


def greater(a, b):
    return b < a


# `before(a, b)`: a stands above b in the heap.
def sift_down(heap, start, place, before):
    item = heap[place]
    while place > start:
        parent = (place - 1) >> 1
        above = heap[parent]
        if not before(item, above):
            break
        heap[place] = above
        place = parent
    heap[place] = item


def sift_up(heap, place, before):
    end = len(heap)
    start = place
    item = heap[place]
    limit = end >> 1
    while place < limit:
        child = 2 * place + 1
        if child + 1 < end and not before(heap[child], heap[child + 1]):
            child += 1
        heap[place] = heap[child]
        place = child
    heap[place] = item
    sift_down(heap, start, place, before)


def order(heap, before):
    check(heap)
    for i in reversed(range(len(heap) // 2)):
        sift_up(heap, i, before)


def push(heap, item, before):
    check(heap)
    heap.append(item)
    sift_down(heap, 0, len(heap) - 1, before)


def exchange(heap, item, before):
    first = heap[0]
    heap[0] = item
    sift_up(heap, 0, before)
    return first


def pop(heap, before):
    check(heap)
    if not heap:
        leave()
    last = heap.pop()
    if not heap:
        return last
    return exchange(heap, last, before)


def replace(heap, item, before):
    check(heap)
    if not heap:
        leave()
    return exchange(heap, item, before)


def push_and_pop(heap, item, before):
    check(heap)
    if not heap or not before(heap[0], item):
        return item
    return exchange(heap, item, before)


@polyfill("_heapq.heapify")
def heapify(heap, /):
    order(heap, less)


@polyfill("_heapq.heappush")
def heappush(heap, item, /):
    push(heap, item, less)


@polyfill("_heapq.heappop")
def heappop(heap, /):
    return pop(heap, less)


@polyfill("_heapq.heapreplace")
def heapreplace(heap, item, /):
    return replace(heap, item, less)


@polyfill("_heapq.heappushpop")
def heappushpop(heap, item, /):
    return push_and_pop(heap, item, less)


@polyfill("_heapq._heapify_max", "_heapq.heapify_max")
def heapify_max(heap, /):
    order(heap, greater)


@polyfill("_heapq.heappush_max")
def heappush_max(heap, item, /):
    push(heap, item, greater)


@polyfill("_heapq._heappop_max", "_heapq.heappop_max")
def heappop_max(heap, /):
    return pop(heap, greater)


@polyfill("_heapq._heapreplace_max", "_heapq.heapreplace_max")
def heapreplace_max(heap, item, /):
    return replace(heap, item, greater)


@polyfill("_heapq.heappushpop_max")
def heappushpop_max(heap, item, /):
    return push_and_pop(heap, item, greater)
