"""Lists that captured loops make longer, shorter, or look up by number: what CPython's lists are afterwards."""

import numpy as np
import pytest
from same_call import compare, same

import numlift as nl

RNG = np.random.default_rng(31)
V = RNG.random(41)
M = RNG.random((13, 5))
I = RNG.integers(-50, 50, 37)
SIZES = (0, 1, 2, 7, 33)


def captured(function, *calls):
    """The same as plain Python, with items of the same classes; no call leaves the graph."""
    same(function, *calls, backends=("llvm", "graph"))


# ---- one item an iteration


def test_history_of_a_sum():
    def f(x, n):
        out = []
        s = 0.0
        for i in range(n):
            s = s + x[i]
            out.append(s)
        return out

    captured(f, *[(V, n) for n in SIZES])


@pytest.mark.parametrize("dtype", ["?", "b", "H", "i", "l", "L", "e", "f", "d", "F", "D"])
def test_items_of_all_dtypes(dtype):
    def f(x):
        return [x[i] for i in range(len(x))], np.array([v for v in x])

    x = (RNG.random(21) * 90).astype(dtype)
    captured(f, (x,), (x[:9],), (x[::2],))


def test_python_numbers():
    def f(x, n):
        floats, ints, bools, complexes = [], [], [], []
        for i in range(n):
            floats.append(float(x[i]) * 2)
            ints.append(i * i - 3)
            bools.append(bool(x[i] > 0.5))
            complexes.append(complex(x[i]))
        return floats, ints, bools, complexes

    captured(f, *[(V, n) for n in SIZES])


def test_arrays_of_lists():
    def f(x, n):
        a, b, c = [], [], []
        for i in range(n):
            a.append(x[i] * 2)
            b.append(i)
            c.append(float(x[i]))
        return np.array(a), np.asarray(b), np.array(c), np.array(b, dtype=np.float32), np.mean(a), len(c)

    captured(f, *[(V, n) for n in SIZES[1:]])


def test_an_array_of_an_empty_list():
    def f(x, n):
        out = []
        for i in range(n):
            out.append(i)
        return np.array(out)

    same(f, (V, 0), (V, 3), (V, 0), whole=None)


def test_comprehensions():
    def f(x, n):
        a = [x[i] * i for i in range(n)]
        b = np.array([np.sqrt(v) + 1 for v in x])
        c = [i + 0.5 for i, v in enumerate(x)]
        d = [v * w for v, w in zip(x, b)]
        return a, b, c, d

    captured(f, (V, 20), (V[:9], 9), (V, 41))


def test_comprehensions_with_a_condition():
    def f(x):
        return [i for i in range(len(x)) if x[i] > 0.5], [v for v in x if v < 0.1]

    captured(f, (V,), (V[:9],), (V * 0,), (V + 2,))


def test_nested_comprehensions():
    def f(x):
        return np.array([x[i] - x[j] for i in range(len(x)) for j in range(i)])

    captured(f, (V,), (V[:12],))


def test_begins_with_items():
    def f(x, n):
        out = [x[0], x[1]]
        for i in range(2, n):
            out.append(out[-1] + out[-2] * x[i])
        return out, out[0], out[-1], len(out)

    captured(f, (V, 2), (V, 3), (V, 20))


def test_begins_with_a_number_of_another_class():
    def f(x, n):
        hist = [0.0]
        for i in range(n):
            hist.append(hist[-1] + x[i])
        return hist

    captured(f, *[(V, n) for n in SIZES])


def test_two_loops_in_turn():
    def f(x, n):
        out = []
        for i in range(n):
            out.append(x[i])
        for i in range(n):
            out.append(x[i] * 2)
        return out

    captured(f, *[(V, n) for n in SIZES])


def test_two_names_of_one_list():
    def f(x):
        a = b = []
        for v in x:
            a.append(v)
            b[-1] = b[-1] * 2
        return a is b, a

    captured(f, (V,), (V[:9],))


def test_loops_that_run_backwards_and_in_steps():
    def f(x, n):
        return [x[i] for i in range(n - 1, -1, -2)], [x[i] for i in range(1, n, 3)]

    captured(f, (V, 40), (V, 20))


# ---- arrays as items


def test_arrays_as_items():
    def f(x, n):
        out = []
        for i in range(n):
            x = x * 0.5 + i
            out.append(x)
        return out

    captured(f, *[(V, n) for n in SIZES])


@pytest.mark.parametrize("join", [np.array, np.stack, np.vstack, np.hstack, np.concatenate])
def test_arrays_joined(join):
    def f(x, n):
        return join([x * i for i in range(n)])

    captured(f, (V, 1), (V, 12), (M, 12) if join is not np.hstack else (V, 20))


@pytest.mark.parametrize("join", [np.array, np.stack, np.vstack, np.hstack])
def test_numbers_joined(join):
    def f(x, n):
        return join([x[i] * i for i in range(n)])

    captured(f, (V, 1), (V, 12), (V, 40))


def test_a_trajectory():
    def f(y, dt, n):
        ys = [y]
        for _ in range(n):
            k1 = np.array([y[1], -y[0]])
            y = y + dt * k1
            ys.append(y)
        return np.array(ys)

    captured(f, (np.array([1.0, 0.0]), 0.1, 0), (np.array([1.0, 0.0]), 0.1, 30))


def test_items_are_objects_of_their_own():
    def f(x, n):
        out = []
        for i in range(n):
            y = x * i
            out.append(y)
        out[0][0] = -1.0
        return out, x

    same(f, (V, 12), whole=None)


def test_an_item_that_is_changed_later_is_not_captured_wrongly():
    def f(x, n):
        y = x * 1
        out = []
        for i in range(n):
            out.append(y)
            y += 1
        return out

    same(f, (V, 12), whole=None)


def test_the_last_item_and_the_variable_are_one_object():
    def f(x, n):
        out = []
        for i in range(n):
            x = x + 1
            out.append(x)
        return out[-1] is x, out, x

    for backend in ("llvm", "graph"):
        compiled = nl.compile(f, backend=backend)
        for _ in range(2):
            is_same, out, x = compiled(V.copy(), 12)
            assert is_same and out[-1] is x
            compare((is_same, out, x), f(V.copy(), 12))


def test_views_as_items_share_memory():
    def f(m, n):
        out = []
        for i in range(n):
            out.append(m[i])
        return out

    m = M.copy()
    out = nl.compile(f)(m, 12)
    out[3][:] = 7
    assert (m[3] == 7).all()


# ---- appended by some iterations, or several times


def test_conditional_appends():
    def f(x):
        even, odd = [], []
        for i in range(len(x)):
            if x[i] % 2 == 0:
                even.append(x[i])
            else:
                odd.append(i)
        return even, odd

    captured(f, (I,), (I[:9],), (I * 2,), (I * 2 + 1,))


def test_continue_and_break():
    def f(x):
        out = []
        for v in x:
            if v < 0:
                continue
            if v > 40:
                break
            out.append(v)
        return out

    captured(f, (I,), (np.abs(I),), (-np.abs(I) - 1,))


def test_return_out_of_the_loop():
    def f(x, limit):
        out = []
        for v in x:
            out.append(v)
            if v > limit:
                return out, True
        return out, False

    captured(f, (V, 0.9), (V, 2.0), (V, -1.0))


def test_many_appends_an_iteration():
    def f(x):
        out = []
        for i in range(len(x)):
            for j in range(i % 4):
                out.append(x[i] + j)
            out.append(0.25 * x[i])
        return out

    captured(f, (V,), (V[:9],))


def test_a_while_loop():
    def f(x):
        out = []
        while x > 1e-6:
            x = x * 0.5
            out.append(x)
        return out, len(out)

    captured(f, (np.float64(100.0),))


def test_a_list_for_each_iteration():
    def f(m):
        sums = np.zeros(m.shape[0])
        for i in range(m.shape[0]):
            row = []
            for j in range(m.shape[1]):
                if m[i, j] > 0.3:
                    row.append(m[i, j])
            sums[i] = len(row)
            for v in row:
                sums[i] += v
        return sums

    captured(f, (RNG.random((12, 17)),), (np.zeros((12, 17)),))


def test_it_grows_past_its_room():
    def f(x, n):
        out = []
        for i in range(n):
            if x[i % 41] < 2:
                out.append(i)
                out.append(-i)
        return np.array(out)

    captured(f, (V, 5000), (V, 12))


# ---- stacks and tables


def test_a_stack():
    def f(n):
        stack = [0]
        seen = np.zeros(n, dtype=bool)
        order = []
        while stack:
            v = stack.pop()
            if seen[v]:
                continue
            seen[v] = True
            order.append(v)
            if 2 * v + 1 < n:
                stack.append(2 * v + 1)
            if 2 * v + 2 < n:
                stack.append(2 * v + 2)
        return order, stack, seen

    captured(f, (50,), (1,), (333,))


def test_pop_of_an_empty_list():
    def f(x):
        out = [1]
        for v in x:
            if v > 0.1:
                out.pop()
            else:
                out.append(2)
        return out

    same(f, (V,), (V * 0,), whole=None)


def test_a_table_of_constants():
    def f(x):
        weights = [0.5, 1.5, -2.0]
        s = 0.0
        for i in range(len(x)):
            s += weights[i % 3] * x[i]
        return s

    captured(f, (V,), (V[:12],))


def test_dynamic_programming_on_a_list():
    def f(cost):
        best = [0.0] * 30
        for i in range(2, 30):
            best[i] = min(best[i - 1], best[i - 2]) + float(cost[i])
        return best, best[-1]

    captured(f, (V,), (-V,))


def test_integers_in_a_table():
    def f(n):
        ways = [0] * 101
        ways[0] = 1
        for coin in (1, 2, 5, 10, 20, 50):
            for amount in range(coin, 101):
                ways[amount] += ways[amount - coin]
        return ways[n]

    captured(f, (100,), (37,))


@pytest.mark.parametrize("index", [2, -1, 99, -99])
def test_indices_out_of_range(index):
    def f(x, index):
        out = []
        for i in range(len(x)):
            out.append(x[i])
            if i == 30:
                return out[index]
        return out

    same(f, (V, index), whole=None)


# ---- what is left to CPython


def test_other_methods_behind_the_loop():
    def f(x, n):
        out = []
        for i in range(n):
            out.append(float(x[i]))
        out.sort()
        out.append(1.0)
        out.extend([2.0, 3.0])
        return out, sum(out), max(out), out[::2], out.index(1.0)

    same(f, (V, 20), (V, 3), whole=None)


def test_items_of_several_types():
    def f(x, n):
        out = []
        for i in range(n):
            out.append(x[i] if i % 2 else i)
        return out

    same(f, (V, 20), whole=None)


def test_a_list_that_an_object_holds():
    class Log:
        def __init__(self):
            self.items = []

    def f(log, x):
        items = log.items
        for v in x:
            items.append(v)
        return len(items)

    log, plain = Log(), Log()
    compiled = nl.compile(f)
    for _ in range(2):
        assert compiled(log, V) == f(plain, V)
        compare(log.items, plain.items)


def test_a_list_in_a_list():
    def f(x):
        inner = []
        outer = [inner]
        for v in x:
            inner.append(v)
        return outer, outer[0] is inner

    same(f, (V,), whole=None)


def test_a_bound_method():
    def f(x):
        out = []
        add = out.append
        for v in x:
            add(v)
        return out

    same(f, (V,), whole=None)


def test_a_helper_that_appends():
    def add(items, value):
        items.append(value * 2)

    def f(x):
        out = []
        for v in x:
            add(out, v)
        return out

    captured(f, (V,), (V[:12],))


def test_an_error_in_the_loop_leaves_nothing_half_done():
    def f(x, n):
        out = []
        for i in range(n):
            out.append(x[i])
        return out

    same(f, (V, 41), (V, 50), whole=None)


def test_the_list_goes_through_a_break():
    def f(x, n):
        out = []
        for i in range(n):
            out.append(x[i])
        nl.graph_break()
        out.append(x[0])
        return out, np.array(out).sum()

    same(f, (V, 20), (V, 1), whole=False)
