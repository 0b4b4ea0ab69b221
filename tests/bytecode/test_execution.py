"""Edited bytecode runs as before: every offset moved, real programs run in that form."""

import asyncio
import pathlib
import subprocess
import sys
import sysconfig
import textwrap
import traceback
import types

import pytest

from bytecode_edit import Instruction, decode, encode, movable, padded, rebuild

STDLIB = pathlib.Path(sysconfig.get_paths()["stdlib"])

# CPython's own tests, run as modules whose code is padded throughout.
SUITES = (
    "test_generators test_generator_stop test_coroutines test_asyncgen test_contextlib test_with "
    "test_exceptions test_except_star test_exception_group test_patma test_listcomps "
    "test_dictcomps test_setcomps test_unpack test_unpack_ex test_extcall test_keywordonlyarg "
    "test_positional_only_arg test_scope test_super test_grammar test_raise test_augassign "
    "test_compare test_slice test_fstring test_named_expressions test_global "
    "test_dataclasses test_yield_from test_textwrap test_heapq"
).split()
RUNNER = textwrap.dedent("""
    import importlib.util, sys, types, unittest
    sys.path[:0] = {paths!r}
    from bytecode_edit import padded
    name = {name!r}
    spec = importlib.util.find_spec(name)
    class Loader(type(spec.loader)):
        def get_code(self, fullname):
            return padded(super().get_code(fullname))
    spec.loader.__class__ = Loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    suite = unittest.defaultTestLoader.loadTestsFromModule(module)
    result = unittest.TextTestRunner(verbosity=0).run(suite)
    failed = sorted(t.id().rsplit(".", 1)[-1] for t, _ in result.failures + result.errors)
    functions = [f for f in vars(module).values() if hasattr(f, "__code__")]
    classes = [c for c in vars(module).values() if isinstance(c, type)]
    functions += [f for c in classes for f in vars(c).values() if hasattr(f, "__code__")]
    is_padded = any("padding" in f.__code__.co_consts for f in functions)
    assert is_padded == {pad}, functions
    print("RAN", result.testsRun, "FAILED", *failed)
""")


def run_suite(name, pad):
    script = RUNNER
    if not pad:
        script = script.replace("padded(super().get_code(fullname))", "super().get_code(fullname)")
    done = subprocess.run(
        [sys.executable, "-c", script.format(paths=sys.path, name=name, pad=pad)],
        capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    lines = [line for line in done.stdout.splitlines() if line.startswith("RAN")]
    assert lines, (done.returncode, done.stderr[-2000:])
    ran, failed = lines[-1][4:].split(" FAILED")
    return int(ran), set(failed.split())


@pytest.mark.parametrize("name", SUITES)
def test_cpythons_own_tests_in_padded_form(name):
    if not (STDLIB / "test" / f"{name}.py").exists():
        pytest.skip("this Python lacks the suite")
    ran, failed = run_suite(f"test.{name}", pad=True)
    if failed:
        plainly_ran, plainly_failed = run_suite(f"test.{name}", pad=False)
        assert ran == plainly_ran
        assert failed - plainly_failed == set()


def run_padded_module(name, padding=1):
    """A fresh module object of a standard library module, its code padded."""
    path = STDLIB / f"{name}.py"
    module = types.ModuleType(name)
    module.__file__ = str(path)
    exec(padded(compile(path.read_bytes(), str(path), "exec"), padding), module.__dict__)
    return module


def test_decimal_arithmetic():
    plain = __import__("_pydecimal")
    decimal = run_padded_module("_pydecimal")
    for module in (plain, decimal):
        module.getcontext().prec = 40
    texts = ["1.25", "-3", "1e20", "0.1", "NaN"]

    def work(module):
        numbers = [module.Decimal(t) for t in texts]
        results = [str(a * b + a / (b if b else 1)) for a in numbers for b in numbers]
        return results + [str(module.Decimal(2).sqrt()), str(module.Decimal("1.5").exp())]

    assert work(decimal) == work(plain)


def test_json_round_trip():
    encoder = run_padded_module("json/encoder")
    data = {"a": [1, 2.5, None, True, {"x": "\u00e9\n"}], "b": [[], {}], "c": "text"}
    make = encoder.c_make_encoder
    try:
        encoder.c_make_encoder = None
        text = encoder.JSONEncoder(indent=2, sort_keys=True).encode(data)
    finally:
        encoder.c_make_encoder = make
    import json

    assert text == json.dumps(data, indent=2, sort_keys=True)


def test_tasks_and_cancellation():
    async def leaf(n):
        try:
            await asyncio.sleep(0 if n else 60)
            return n
        finally:
            events.append(n)

    async def root():
        tasks = [asyncio.ensure_future(leaf(n)) for n in range(4)]
        done, pending = await asyncio.wait(tasks, timeout=0.05)
        for task in pending:
            task.cancel()
        found = []
        async for value in values(3):
            found.append(value)
        return sorted(t.result() for t in done), len(pending), found

    async def values(n):
        for i in range(n):
            yield i
            await asyncio.sleep(0)

    events = []
    for function in (leaf, root, values):
        function.__code__ = padded(function.__code__)
    assert asyncio.run(root()) == ([1, 2, 3], 1, [0, 1, 2])
    assert sorted(events) == [0, 1, 2, 3]


def busy(values, limit):
    """Loops, handlers, a with, closures and conditional jumps over the whole function."""
    import contextlib

    found = []
    total = 0
    for index, value in enumerate(values):
        try:
            if value is None or value == limit:
                continue
            with contextlib.suppress(ValueError):
                total += 100 // value
                if total > 10_000:
                    break
                found.append([total + x for x in range(index) if x != value])
        except ZeroDivisionError as error:
            found.append(str(error))
        finally:
            total += 1
    else:
        found.append("end")
    return total, found, (lambda: total)()


@pytest.mark.parametrize("padding", [3, 100, 1000])
def test_long_jumps(padding):
    """Jumps and handlers that need one, two and three prefixes."""
    values = [1, None, 0, 7, 3, 0, 50]
    code = padded(busy.__code__, padding)
    if padding == 1000:
        assert len(code.co_code) > 4 * 0x10000
    function = types.FunctionType(code, globals())
    assert function(values, 7) == busy(values, 7)
    assert function([1] * 500, 7) == busy([1] * 500, 7)


def after_resume(code, extra):
    instructions, handlers = decode(code)
    place = next(i for i, free in enumerate(movable(instructions)) if free)
    return rebuild(code, instructions, handlers, lambda i: extra if i == place else [])


def test_new_constants_and_names_beyond_one_byte():
    def target():
        return 1

    extra = []
    for n in range(300):
        extra += [
            Instruction("LoadConst", constant=(("constant", n),)),
            Instruction("StoreGlobal", name=f"made_up_{n}"),
        ]
    code = after_resume(target.__code__, extra)
    space = {}
    assert types.FunctionType(code, space)() == 1
    assert {space[f"made_up_{n}"] for n in range(300)} == {("constant", n) for n in range(300)}
    assert code.co_consts[: len(target.__code__.co_consts)] == target.__code__.co_consts


def test_equal_constants_of_different_types_stay_apart():
    def target():
        return 1

    zero = 0.0
    extra = []
    for n, value in enumerate((True, 1, 1.0, zero, -zero)):
        extra += [
            Instruction("LoadConst", constant=(value,)),
            Instruction("StoreGlobal", name=f"g{n}"),
        ]
    space = {}
    types.FunctionType(after_resume(target.__code__, extra), space)()
    assert [repr(space[f"g{n}"]) for n in range(5)] == ["True", "1", "1.0", "0.0", "-0.0"]


def test_stack_grows_with_an_edit(core):
    def target(x):
        return x

    extra = [Instruction("LoadConst", constant=(n,)) for n in range(200)]
    extra += [Instruction("BuildTuple", arg=200), Instruction("StoreFast", arg=0)]
    code = after_resume(target.__code__, extra)
    assert code.co_stacksize >= 200 == core.computed_stack_size(code)
    assert types.FunctionType(code, {})(0) == tuple(range(200))


def test_local_unset_by_an_edit_raises():
    """A plain LOAD_FAST would read NULL: the encoder must see that the slot may be unset."""

    def target(x, y):
        return x, y

    code = after_resume(target.__code__, [Instruction("DeleteFast", arg=1)])
    with pytest.raises(UnboundLocalError, match="'y'"):
        types.FunctionType(code, {})(1, 2)


@pytest.mark.skipif(sys.version_info < (3, 12), reason="comprehensions are functions of their own")
def test_local_restored_as_unset_after_a_comprehension_raises():
    def target(values, flag):
        if flag:
            x = 1
        made = [x for x in values]
        return made, x

    function = types.FunctionType(padded(target.__code__), {})
    assert function([2, 3], True) == ([2, 3], 1)
    with pytest.raises(UnboundLocalError, match="'x'"):
        function([2, 3], False)


def test_tracebacks_keep_lines_and_columns():
    def target(x):
        a = 1
        return a + (
            x / 0
        )

    def positions(function):
        try:
            function(1)
        except ZeroDivisionError as error:
            return traceback.extract_tb(error.__traceback__)[-1]

    plain = positions(target)
    moved = positions(types.FunctionType(padded(target.__code__, 50), {}))
    assert (moved.lineno, moved.colno, moved.end_colno) == (
        plain.lineno, plain.colno, plain.end_colno,
    )  # fmt: skip


def test_handler_added_by_an_edit():
    def target(x):
        return 1 // x

    instructions, handlers = decode(target.__code__)
    assert handlers == []
    first = next(i for i, free in enumerate(movable(instructions)) if free)
    end = len(instructions)
    instructions = [
        i._replace(handler=0) if n >= first else i for n, i in enumerate(instructions)
    ]
    instructions += [
        Instruction("PushExcInfo"), Instruction("PopTop"), Instruction("PopExcept"),
        Instruction("LoadConst", constant=("caught",)), Instruction("ReturnValue"),
    ]  # fmt: skip
    function = types.FunctionType(encode(target.__code__, instructions, [(end, 0, False)]), {})
    assert function(1) == 1
    assert function(0) == "caught"


def test_tracing_sees_the_same_lines():
    def lines(function):
        seen = []

        def trace(frame, event, _):
            if frame.f_code is function.__code__:
                seen.append((event, frame.f_lineno))
            return trace

        before = sys.gettrace()
        sys.settrace(trace)
        try:
            function([1, None, 0, 7], 7)
        finally:
            sys.settrace(before)
        return seen

    assert lines(types.FunctionType(padded(busy.__code__), globals())) == lines(busy)


@pytest.mark.skipif(sys.version_info < (3, 14), reason="earlier code objects do not tell their branches")
def test_branches_stay_where_they_were():
    """Measures of branch coverage read them: NOT_TAKEN's places and where END_ASYNC_FOR comes from."""

    async def waits(values):
        async for value in values:
            if value:
                await value
            else:
                break

    def branches(code):
        lines = [start for start, *_ in code.co_positions()]
        return [tuple(lines[offset // 2] for offset in branch) for branch in code.co_branches()]

    for function in (busy, waits):
        assert branches(function.__code__)
        assert branches(padded(function.__code__, 300)) == branches(function.__code__)
