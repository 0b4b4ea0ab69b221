// What holds on every path through a Bytecode: stack depth, locals that are set.
#pragma once

#include "numlift/frame_eval/bytecode.h"

#include <vector>

namespace numlift {

struct Flow {
  int max_depth = 0;
  // By instruction. For a LoadFast: some path reaches it with its slot unset.
  std::vector<char> may_be_unset;
  // By instruction: a jump or a handler enters here.
  std::vector<char> is_entered;
};

// Whether the instruction behind it may run next.
bool falls_through(const Instruction& instruction);

// Throws InternalError when two paths meet with different stack depths, the stack underflows, or
// the end is run over.
Flow analyse_flow(const Bytecode& bytecode);

}  // namespace numlift
