// The instructions at a break, and what they leave on the stack of a suspended frame. For this
// folder only.
#pragma once

#include "numlift/frame_eval/resume_code.h"

namespace numlift {

// An attribute load that pushes two.
bool is_method_load(const Instruction& instruction);

// The stack behind an instruction (false: NULL).
void advance(const Instruction& instruction, bool jump, std::vector<bool>* stack);

// A call whose result the next instruction drops.
bool drops_result(const Bytecode& bytecode, const InstructionUnit& unit);

}  // namespace numlift
