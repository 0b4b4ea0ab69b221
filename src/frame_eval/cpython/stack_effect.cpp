// The stack effect of canonical instructions, from CPython's own table.
#include "numlift/py/python.h"

#include "cpython/opcode_table.h"
#include "numlift/support/check.h"

namespace numlift {

int stack_effect(const Instruction& instruction, bool jump) {
  // Ours stand for another moment than CPython's compiler has in mind.
  if (instruction.op == Instr::kForIter && jump) return -1;  // behind END_FOR already
  if (instruction.op == Instr::kReturnGenerator) return 1;   // as seen when resumed: sent None
  if (instruction.op == Instr::kNop) return 0;
  // The direction of a jump changes no effect: any index will do.
  const auto [row, base] = spell(instruction, kNoTarget);
  const uint32_t argument = raw_argument(*row, base, 0);
  int effect =
      PyCompile_OpcodeStackEffectWithJump(row->number, static_cast<int>(argument), jump ? 1 : 0);
  NUMLIFT_CHECK(effect != PY_INVALID_STACK_EFFECT, "no stack effect for {} {}", row->name,
                argument);
  if (const OpcodeRow* dropped = find_row(Instr::kNop, Form::kDropped);
      dropped != nullptr && instruction.op == Instr::kCall) {
    effect += PyCompile_OpcodeStackEffectWithJump(dropped->number, instruction.arg, jump ? 1 : 0);
  }
  return effect;
}

}  // namespace numlift
