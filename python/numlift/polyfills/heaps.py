"""heapq: the C code's order of comparisons, which decides where equal items end up."""

from .marks import leave, polyfill


def check(heap):
    if type(heap) is not list:
        leave()


def sift_down(heap, start, place):
    item = heap[place]
    while place > start:
        parent = (place - 1) >> 1
        above = heap[parent]
        if not item < above:
            break
        heap[place] = above
        place = parent
    heap[place] = item


def sift_up(heap, place):
    end = len(heap)
    start = place
    item = heap[place]
    limit = end >> 1
    while place < limit:
        child = 2 * place + 1
        if child + 1 < end and not heap[child] < heap[child + 1]:
            child += 1
        heap[place] = heap[child]
        place = child
    heap[place] = item
    sift_down(heap, start, place)


@polyfill("_heapq.heapify")
def heapify(heap, /):
    check(heap)
    for i in reversed(range(len(heap) // 2)):
        sift_up(heap, i)


@polyfill("_heapq.heappush")
def heappush(heap, item, /):
    check(heap)
    heap.append(item)
    sift_down(heap, 0, len(heap) - 1)


@polyfill("_heapq.heappop")
def heappop(heap, /):
    check(heap)
    if not heap:
        leave()
    last = heap.pop()
    if not heap:
        return last
    first = heap[0]
    heap[0] = last
    sift_up(heap, 0)
    return first


@polyfill("_heapq.heapreplace")
def heapreplace(heap, item, /):
    check(heap)
    if not heap:
        leave()
    first = heap[0]
    heap[0] = item
    sift_up(heap, 0)
    return first


@polyfill("_heapq.heappushpop")
def heappushpop(heap, item, /):
    check(heap)
    if not heap or not heap[0] < item:
        return item
    first = heap[0]
    heap[0] = item
    sift_up(heap, 0)
    return first


def sift_down_max(heap, start, place):
    item = heap[place]
    while place > start:
        parent = (place - 1) >> 1
        above = heap[parent]
        if not above < item:
            break
        heap[place] = above
        place = parent
    heap[place] = item


def sift_up_max(heap, place):
    end = len(heap)
    start = place
    item = heap[place]
    limit = end >> 1
    while place < limit:
        child = 2 * place + 1
        if child + 1 < end and not heap[child + 1] < heap[child]:
            child += 1
        heap[place] = heap[child]
        place = child
    heap[place] = item
    sift_down_max(heap, start, place)


@polyfill("_heapq._heapify_max", "_heapq.heapify_max")
def heapify_max(heap, /):
    check(heap)
    for i in reversed(range(len(heap) // 2)):
        sift_up_max(heap, i)


@polyfill("_heapq._heapreplace_max", "_heapq.heapreplace_max")
def heapreplace_max(heap, item, /):
    check(heap)
    if not heap:
        leave()
    first = heap[0]
    heap[0] = item
    sift_up_max(heap, 0)
    return first


@polyfill("_heapq._heappop_max", "_heapq.heappop_max")
def heappop_max(heap, /):
    check(heap)
    if not heap:
        leave()
    last = heap.pop()
    if not heap:
        return last
    first = heap[0]
    heap[0] = last
    sift_up_max(heap, 0)
    return first


@polyfill("_heapq.heappush_max")
def heappush_max(heap, item, /):
    check(heap)
    heap.append(item)
    sift_down_max(heap, 0, len(heap) - 1)


@polyfill("_heapq.heappushpop_max")
def heappushpop_max(heap, item, /):
    check(heap)
    if not heap or not item < heap[0]:
        return item
    first = heap[0]
    heap[0] = item
    sift_up_max(heap, 0)
    return first
