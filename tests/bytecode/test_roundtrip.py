"""Every code object of the standard library survives decode and encode unchanged."""

import dis
import json.encoder
import opcode
import pathlib
import sys
import sysconfig

import pytest

from stdlib_code import load_code, nested, stdlib_files

SHARES = 4
SAME = (
    "co_names co_varnames co_cellvars co_freevars co_flags co_argcount co_posonlyargcount "
    "co_kwonlyargcount co_stacksize co_name co_qualname co_filename co_firstlineno co_nlocals"
).split()


# Borrowed loads are read as plain ones and never written.
BORROWED = {
    name: name.replace("_BORROW", "") for name in dis.opmap if name.startswith("LOAD_FAST_BORROW")
}
PLAIN_NUMBER = {dis.opmap[name]: dis.opmap[plain] for name, plain in BORROWED.items()}


def without_borrows(co_code):
    """The same code with plain loads; cache units are zero, so that every even byte is an opcode."""
    out = bytearray(co_code)
    out[::2] = bytes(PLAIN_NUMBER.get(number, number) for number in out[::2])
    return bytes(out)


def listing(code):
    """Instructions by index, so that superfluous prefixes do not count."""
    instructions = [i for i in dis.get_instructions(code) if i.opname != "EXTENDED_ARG"]
    start = {}
    at = 0
    for index, i in enumerate(instructions):
        while at <= i.offset:
            start[at] = index
            at += 2
    start[len(code.co_code)] = len(instructions)
    is_jump = set(dis.hasjrel)
    rows = []
    for i in instructions:
        value = start[i.argval] if i.opcode in is_jump else i.argval
        rows.append((BORROWED.get(i.opname, i.opname), value, i.positions))
    table = [
        (start.get(e.start, e.start), start.get(e.end, e.end), start[e.target], e.depth, e.lasti)
        for e in dis._parse_exception_table(code)
    ]
    return rows, table


def check_round_trip(core, code):
    again = core.reencode(code)
    for attribute in SAME:
        assert getattr(again, attribute) == getattr(code, attribute), attribute
    assert len(again.co_consts) == len(code.co_consts)
    assert all(a is b for a, b in zip(again.co_consts, code.co_consts))
    assert core.local_slots(again) == core.local_slots(code)
    return (
        again.co_code == without_borrows(code.co_code)
        and again.co_linetable == code.co_linetable
        and again.co_exceptiontable == code.co_exceptiontable
    ) or (listing(again) == listing(code) and "moved")


@pytest.mark.parametrize(
    "share", [pytest.param(n, marks=pytest.mark.stdlib_share(n)) for n in range(SHARES)]
)
def test_standard_library(core, share):
    count = moved = oversized = 0
    for path in list(stdlib_files())[share::SHARES]:
        module = load_code(path)
        for code in nested(module) if module else ():
            count += 1
            same = check_round_trip(core, code)
            assert same, (path, code)
            moved += same == "moved"
            needed = core.computed_stack_size(code)
            assert needed <= code.co_stacksize, (path, code)
            oversized += needed < code.co_stacksize
    assert count > 3_000  # a distribution may leave out the library's own tests
    # Jumps just at the reach of one byte, which CPython gave a prefix more than they need.
    assert moved <= 8
    # Code that CPython's compiler left behind unreachable handlers.
    assert oversized <= 40


def expected_target(instruction, instructions):
    """Where CPython goes on after the jump."""
    offset = instruction.argval
    if instruction.opname == "FOR_ITER" and sys.version_info >= (3, 12):
        assert instructions[offset].opname == "END_FOR"
        offset += 2
        if sys.version_info >= (3, 13):
            expected = "POP_ITER" if sys.version_info >= (3, 14) else "POP_TOP"
            assert instructions[offset].opname == expected
            offset += 2
    return offset


def check_against_dis(core, code):
    decoded, handlers = core.decode(code)
    raw = [i for i in dis.get_instructions(code) if i.opname not in ("EXTENDED_ARG", "PRECALL")]
    by_offset = {i.offset: i for i in raw}
    table = {}
    for entry in dis._parse_exception_table(code):
        for offset in range(entry.start, entry.end, 2):
            table[offset] = (entry.target, entry.depth, entry.lasti)
    instructions = iter(decoded)
    # The offset of CPython's instruction that each of ours was decoded from; for ours that are
    # jumped to it is where their prefixes begin, so only what stands between is compared.
    raw_of = []
    for i in raw:
        for part in range(2 if i.opname.count("_FAST") == 2 else 1):
            raw_of.append(i)
    assert len(raw_of) == len(decoded)

    def lands_on(index, offset):
        begin = decoded[index][6] * 2
        return begin <= offset <= raw_of[index].offset

    for i, mine in zip(raw_of, instructions):
        _, flag, _, arg, target, handler, unit, position, constant, name = mine
        assert position == tuple(-1 if p is None else p for p in (
            i.positions.lineno, i.positions.end_lineno,
            i.positions.col_offset, i.positions.end_col_offset)), i  # fmt: skip
        if i.opcode in dis.hasjrel:
            assert lands_on(target, expected_target(i, by_offset)), i
        if i.opcode in dis.hasconst:
            assert constant[0] is code.co_consts[i.arg], i
        if i.opname == "LOAD_SMALL_INT":
            assert constant[0] is i.arg, i
        if i.opname == "LOAD_COMMON_CONSTANT":
            assert constant[0] is opcode._common_constants[i.arg], i
        if i.opcode in dis.hasname:
            assert name in i.argval.split(" + ") or name == i.argval, i
        covered = table.get(i.offset)
        assert (handler == -1) == (covered is None), i
        if covered:
            index, depth, lasti = handlers[handler]
            assert lands_on(index, covered[0]) and (depth, lasti) == covered[1:], i


@pytest.mark.parametrize(
    "name",
    "json/encoder.py json/decoder.py argparse.py asyncio/base_events.py asyncio/tasks.py "
    "dataclasses.py contextlib.py _pydecimal.py test/test_grammar.py test/test_generators.py "
    "test/test_patma.py test/test_exceptions.py test/test_coroutines.py "
    "test/test_except_star.py test/test_listcomps.py test/test_fstring.py".split(),
)
def test_decoded_form_agrees_with_dis(core, name):
    path = pathlib.Path(sysconfig.get_paths()["stdlib"]) / name
    if not path.exists():
        pytest.skip("this Python lacks the module")
    for code in nested(load_code(path)):
        check_against_dis(core, code)


def test_positions_agree_with_co_positions(core):
    code = json.encoder._make_iterencode.__code__
    for inner in nested(code):
        positions = list(inner.co_positions())
        for i in core.decode(inner)[0]:
            assert i[7] in [tuple(-1 if p is None else p for p in q) for q in positions]


def test_hidden_locals_of_a_class_body_stay_hidden(core):
    source = "class C:\n  x = [i for i in (1, 2)]\n  names = sorted(locals())\n"
    module = compile(source, "<test>", "exec")
    again = module.replace(
        co_consts=tuple(core.reencode(c) if hasattr(c, "co_code") else c for c in module.co_consts)
    )
    results = []
    for code in (module, again):
        space = {"__name__": "test"}
        exec(core.reencode(code), space)
        results.append(space["C"].names)
    assert results[0] == results[1] and "i" not in results[0]
