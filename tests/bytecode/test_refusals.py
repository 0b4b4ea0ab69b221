"""What the decoder and the encoder refuse, and that nothing is kept alive or lost."""

import gc
import opcode
import sys
import weakref

import pytest

from bytecode_edit import Instruction, decode, encode, movable, padded


def sample(values):
    total = 0
    while total < 10:
        for value in values:
            total += value
    return total


def test_encoder_refuses_stack_depths_that_disagree():
    instructions, handlers = decode(sample.__code__)
    at = next(n for n, i in enumerate(instructions) if i.op == "ForIter")
    instructions[at] = Instruction("Jump", target=instructions[at].target)
    with pytest.raises(RuntimeError, match="is entered with"):
        encode(sample.__code__, instructions, handlers)


def test_encoder_refuses_an_underflow():
    instructions, handlers = decode(sample.__code__)
    at = next(n for n, free in enumerate(movable(instructions)) if free)
    instructions[at] = Instruction("PopTop")
    with pytest.raises(RuntimeError, match="underflows"):
        encode(sample.__code__, instructions, handlers)


def test_encoder_refuses_code_without_an_end():
    instructions, handlers = decode((lambda: 1).__code__)
    with pytest.raises(RuntimeError, match="over its end"):
        encode((lambda: 1).__code__, instructions[:-1], handlers)


def test_encoder_refuses_a_target_that_does_not_exist():
    instructions, handlers = decode(sample.__code__)
    instructions[-2] = Instruction("Jump", target=len(instructions))
    with pytest.raises(RuntimeError, match="target"):
        encode(sample.__code__, instructions, handlers)


@pytest.mark.skipif(sys.version_info < (3, 12), reason="3.11 has such jumps")
def test_encoder_refuses_a_backward_conditional_jump():
    instructions, handlers = decode((lambda x: x).__code__)
    at = next(n for n, i in enumerate(instructions) if i.op == "LoadFast")
    extra = [instructions[at], Instruction("JumpIfTrue", target=at)]
    with pytest.raises(RuntimeError, match="jumps backward"):
        encode((lambda x: x).__code__, instructions[:at] + extra + instructions[at:], handlers)


# Not just any number: with some, CPython itself looks for things that such code does not have.
NO_OPCODE = max(set(range(256)) - set(opcode.opmap.values()))
CACHE = 0


@pytest.mark.parametrize("number", [NO_OPCODE, CACHE])
def test_decoder_refuses_unknown_opcodes(core, number):
    code = sample.__code__
    damage = bytes([number, 0])
    with pytest.raises(SystemError, match="sample cannot be read"):
        core.decode(code.replace(co_code=damage + code.co_code[2:]))


def test_decoder_refuses_a_jump_out_of_the_code(core):
    forward = {name: number for number, name, *_ in core.opcode_table()}["JUMP_FORWARD"]
    code = sample.__code__
    with pytest.raises(SystemError, match="refers to no instruction"):
        core.decode(code.replace(co_code=code.co_code[:-2] + bytes([forward, 200])))


def test_decoded_form_dies_with_its_code(core):
    code = sample.__code__.replace(co_name="short_lived")
    core.decode(code)
    core.decode(code)
    watcher = weakref.ref(code)
    del code
    assert watcher() is None


def test_no_reference_is_kept_or_lost(core):
    marker = ("constant", "of", "ours")
    instructions, handlers = decode(sample.__code__)
    at = next(n for n, free in enumerate(movable(instructions)) if free)
    extra = [Instruction("LoadConst", constant=(marker,)), Instruction("PopTop")]

    def work():
        code = sample.__code__.replace(co_name="other")
        core.reencode(code)
        instructions, handlers = decode(code)
        moved = [
            i if i.target < at else i._replace(target=i.target + 2) for i in instructions
        ]
        encode(code, moved[:at] + extra + moved[at:], handlers)
        padded(code)

    watched = [marker, sample.__code__, sample.__code__.co_consts, sample.__code__.co_names]
    work()
    gc.collect()
    before = [sys.getrefcount(o) for o in watched]
    for _ in range(20):
        work()
    gc.collect()
    assert [sys.getrefcount(o) for o in watched] == before
