"""The opcode tables agree with the running interpreter's own modules."""

import dis
import opcode
import sys

import pytest

# Operand and Form, in the order of opcode_table.h.
(NONE, NUMBER, CONSTANT, NAME, NAME_AND_FLAG, SUPER_NAME, SLOT, TWO_SLOTS, JUMP, COMPARE, MAPPING,
 ASSERTION_ERROR, COMMON_CONSTANT, SMALL_INT) = range(14)
(PLAIN, FORWARD, BACKWARD, BACKWARD_QUIET, METHOD, CHECKED, BORROWED, COMMON_CONSTANT_FORM,
 SMALL_INT_FORM, MAPPING_SLOT, NOT_TAKEN, FUSED, FUSED_BORROWED, PREFIX, DROPPED,
 INTERNAL) = range(16)


@pytest.fixture
def rows(core):
    return core.opcode_table()


def real_opcodes():
    specialised = set(getattr(opcode, "_specialized_instructions", ()))
    specialised |= set(getattr(opcode, "_specialized_opmap", ()))
    return {
        name: number
        for name, number in opcode.opmap.items()
        if number < 256 and name not in specialised and not name.startswith("INSTRUMENTED_")
    }


def test_every_opcode_has_a_row(rows):
    assert {name: number for number, name, *_ in rows} == real_opcodes()


def test_cache_units(rows):
    entries = opcode._inline_cache_entries
    for number, name, _, caches, _, form in rows:
        if isinstance(entries, list):
            expected = entries[number]
        else:
            expected = entries.get(name, 0)
        if form != INTERNAL:
            assert caches == expected, name


def test_operands(rows):
    for number, name, _, _, operand, form in rows:
        if form == INTERNAL:
            continue
        assert (operand == CONSTANT) == (number in opcode.hasconst), name
        assert (operand in (NAME, NAME_AND_FLAG, SUPER_NAME)) == (number in opcode.hasname), name
        is_slot = number in opcode.haslocal or number in opcode.hasfree
        assert (operand in (SLOT, TWO_SLOTS)) == is_slot, name
        assert (operand == JUMP) == (number in opcode.hasjrel or number in opcode.hasjabs), name
        assert (operand == COMPARE) == (number in opcode.hascompare), name
        if hasattr(opcode, "hasarg"):
            has_argument = number in opcode.hasarg
        else:
            has_argument = number >= opcode.HAVE_ARGUMENT
        assert (operand not in (NONE, ASSERTION_ERROR)) == has_argument, name


def test_jump_directions(rows):
    for number, name, _, _, operand, form in rows:
        if operand == JUMP:
            is_backward = "BACKWARD" in name or name == "END_ASYNC_FOR"
            assert (form in (BACKWARD, BACKWARD_QUIET)) == is_backward, name
            assert (form == BACKWARD_QUIET) == ("NO_INTERRUPT" in name), name


def test_canonical_names_follow_cpythons(rows):
    """Where the names differ there is a reason, listed here."""
    renamed = {
        "NOT_TAKEN": "Nop", "PRECALL": "Nop", "EXTENDED_ARG": "Nop",
        "LOAD_ASSERTION_ERROR": "LoadConst", "LOAD_FAST_CHECK": "LoadFast",
        "LOAD_CLASSDEREF": "LoadClassDeref", "LOAD_METHOD": "LoadAttr",
        "BINARY_SUBSCR": "Subscript", "BINARY_SLICE": "SubscriptSlice",
        "STORE_SUBSCR": "StoreSubscript", "DELETE_SUBSCR": "DeleteSubscript",
        "LOAD_FAST_LOAD_FAST": "LoadFast", "STORE_FAST_LOAD_FAST": "StoreFast",
        "STORE_FAST_STORE_FAST": "StoreFast",
        "LOAD_FAST_BORROW": "LoadFast", "LOAD_FAST_BORROW_LOAD_FAST_BORROW": "LoadFast",
        "LOAD_SMALL_INT": "LoadConst", "LOAD_COMMON_CONSTANT": "LoadConst",
    }  # fmt: skip
    for _, name, canonical, _, _, form in rows:
        if form == INTERNAL:
            continue
        plain = name.replace("POP_JUMP", "JUMP").replace("FORWARD_IF", "IF")
        plain = plain.replace("BACKWARD_IF", "IF")
        if plain in ("JUMP_FORWARD", "JUMP_BACKWARD", "JUMP_BACKWARD_NO_INTERRUPT"):
            plain = "JUMP"
        camel = "".join(word.capitalize() for word in plain.split("_"))
        assert canonical == renamed.get(name, camel), name


@pytest.mark.parametrize("text", ["<", "<=", "==", "!=", ">", ">="])
def test_comparisons(core, text):
    for source, flag in ((f"a {text} b", False), (f"if a {text} b: c", sys.version_info >= (3, 13))):
        code = compile(source, "<test>", "exec")
        (found,) = [i for i in core.decode(code)[0] if i[0] == "CompareOp"]
        assert dis.cmp_op[found[3]] == text
        assert found[1] == flag


@pytest.mark.skipif(sys.version_info < (3, 12), reason="3.11 has opcodes of their own for these")
def test_intrinsics_with_a_canonical_instruction(core):
    assert opcode._intrinsic_1_descs[4:7] == [
        "INTRINSIC_ASYNC_GEN_WRAP", "INTRINSIC_UNARY_POSITIVE", "INTRINSIC_LIST_TO_TUPLE",
    ]  # fmt: skip
    assert opcode._intrinsic_2_descs[1] == "INTRINSIC_PREP_RERAISE_STAR"


def test_unary_plus_has_one_spelling(core):
    code = compile("+x; (*x, y)", "<test>", "exec")
    names = [i[0] for i in core.decode(code)[0]]
    assert "UnaryPositive" in names and "ListToTuple" in names and "CallIntrinsic1" not in names


@pytest.mark.parametrize("source", ["x[0]", "x[y]", "x[1:2, y]"])
def test_subscript_has_one_spelling(core, source):
    names = [i[0] for i in core.decode(compile(source, "<test>", "eval"))[0]]
    assert names.count("Subscript") == 1 and "BinaryOp" not in names


@pytest.mark.parametrize(
    ("source", "value"),
    [("7", 7), ("255", 255), ("256", 256), ("True", True), ("1.0", 1.0), ("None", None)],
)
def test_constants_have_one_spelling(core, source, value):
    (found,) = [i for i in core.decode(compile(source, "<test>", "eval"))[0] if i[8]]
    assert found[0] in ("LoadConst", "ReturnConst")
    assert found[8] == (value,) and type(found[8][0]) is type(value)


def test_constants_of_the_interpreter(core):
    source = "assert x\nany(i for i in x)\nraise NotImplementedError"
    code = compile(source, "<test>", "exec")
    constants = [i[8][0] for i in core.decode(code)[0] if i[0] == "LoadConst"]
    assert AssertionError in constants
    # What the name means now does not matter: the interpreter keeps the objects it started with.
    assert (any in constants) == (sys.version_info >= (3, 14))


@pytest.mark.skipif(sys.version_info < (3, 14), reason="up to 3.13 co_consts holds all but one")
def test_the_interpreters_constants_are_those_of_the_opcode_module(core):
    opcode_number = opcode.opmap["LOAD_COMMON_CONSTANT"]
    returns = opcode.opmap["RETURN_VALUE"]
    plain = (lambda: None).__code__
    for number, constant in enumerate(opcode._common_constants):
        units = bytes([opcode.opmap["RESUME"], 0, opcode_number, number, returns, 0])
        code = plain.replace(co_code=units, co_exceptiontable=b"")
        (found,) = [i for i in core.decode(code)[0] if i[8]]
        assert found[8][0] is constant
        assert core.reencode(code).co_code == units
    past_the_end = bytes([opcode.opmap["RESUME"], 0, opcode_number, number + 1, returns, 0])
    with pytest.raises(SystemError, match="out of range"):
        core.decode(plain.replace(co_code=past_the_end))
