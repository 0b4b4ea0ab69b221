"""Edits of canonical bytecode, as data: enough to move every offset in a code object."""

import types
from typing import NamedTuple, Optional

from numlift._core import bytecode

NO_TARGET = -1


class Instruction(NamedTuple):
    op: str
    flag: bool = False
    flag2: bool = False
    arg: int = 0
    target: int = NO_TARGET
    handler: int = NO_TARGET
    unit: int = 0
    position: tuple = (-1, -1, -1, -1)
    constant: tuple = ()  # one constant, or nothing
    name: Optional[str] = None


def decode(code):
    instructions, handlers = bytecode.decode(code)
    return [Instruction(*i) for i in instructions], [tuple(h) for h in handlers]


def encode(code, instructions, handlers):
    return bytecode.encode(code, [tuple(i) for i in instructions], handlers)


def rebuild(code, instructions, handlers, before):
    """Puts before(index) in front of each instruction; jumps to it enter what was put there."""
    out = []
    start = []
    for index, instruction in enumerate(instructions):
        start.append(len(out))
        for extra in before(index):
            out.append(extra._replace(handler=instruction.handler, position=instruction.position))
        out.append(instruction)
    out = [i if i.target == NO_TARGET else i._replace(target=start[i.target]) for i in out]
    moved = [(start[target], depth, lasti) for target, depth, lasti in handlers]
    return encode(code, out, moved)


def movable(instructions):
    """Where something may be put in between without a new meaning.

    Not before the first Resume (cells and generators are not set up yet), nor within Send,
    YieldValue, Resume (whose places tell CPython what a generator awaits), nor between EndFor and
    the PopTop or PopIter that belongs to it, nor between a jump and its NOT_TAKEN.
    """
    first = next(i for i, instruction in enumerate(instructions) if instruction.op == "Resume")
    return [
        index > first
        and instructions[index - 1].op not in ("Send", "YieldValue", "EndFor")
        and not (instruction.op == "Nop" and instruction.flag)
        for index, instruction in enumerate(instructions)
    ]


def padded(code, padding=1):
    """The same function with `padding` useless loads before each instruction, nested code included."""
    consts = tuple(padded(c, padding) if isinstance(c, types.CodeType) else c for c in code.co_consts)
    code = code.replace(co_consts=consts)
    instructions, handlers = decode(code)
    free = movable(instructions)
    pad = [Instruction("LoadConst", constant=("padding",)), Instruction("PopTop")] * padding
    return rebuild(code, instructions, handlers, lambda index: pad if free[index] else [])
