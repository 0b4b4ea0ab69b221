// Bytecode in canonical form (src/frame_eval/cpython/canonical.def), decoded from and encoded to
// the running CPython. Together with frame access this is the only part of the project that knows
// which Python it runs on: PY_VERSION_HEX stands in src/frame_eval/cpython/ alone.
#pragma once

#include "numlift/py/python.h"

#include <cstdint>
#include <memory>
#include <vector>

#include "numlift/py/ref.h"

namespace numlift {

enum class Instr : uint8_t {
#define NUMLIFT_INSTRUCTION(name) k##name,
#include "../../../src/frame_eval/cpython/canonical.def"
#undef NUMLIFT_INSTRUCTION
};
const char* instruction_name(Instr instr);

inline constexpr int32_t kNoTarget = -1;

struct Position {
  int line = -1;  // -1 everywhere: unknown
  int end_line = -1;
  int column = -1;
  int end_column = -1;
};

struct Instruction {
  Instr op = Instr::kNop;
  bool flag = false;
  bool flag2 = false;
  int32_t arg = 0;
  int32_t target = kNoTarget;   // instruction index, jumps only
  int32_t handler = kNoTarget;  // index into Bytecode::handlers, or kNoTarget
  uint32_t unit = 0;            // where it starts in the original code, in 2-byte units, with
                                // EXTENDED_ARG; the second of a split pair has the first's
  Position position;
  BorrowedRef constant;  // LoadConst, ReturnConst, KwNames
  BorrowedRef name;      // names and attribute names
};

struct Handler {
  int32_t target = kNoTarget;  // instruction index of the handler
  int32_t depth = 0;           // stack depth kept
  bool push_lasti = false;
};

struct Bytecode {
  Ref code;  // owns constants and names that instructions borrow
  std::vector<Instruction> instructions;
  std::vector<Handler> handlers;
  int nlocals = 0;  // slots of plain locals (arguments included)
  int nslots = 0;   // locals + cells + free variables
  int stack_size = 0;
  std::vector<Ref> kept;  // constants that the decoder made (small ints and the like)
};

// Decoded once per code object and kept with it. Throws PyError.
std::shared_ptr<const Bytecode> decode(BorrowedRef code);
// A code object that behaves exactly as `bytecode`, which may have been edited: name, flags,
// arguments, variables are those of bytecode.code. Throws PyError.
Ref encode(const Bytecode& bytecode);

struct LocalSlot {
  Ref name;
  bool is_local = false, is_cell = false, is_free = false;
};
std::vector<LocalSlot> local_slots(BorrowedRef code);

// A plain call has its NULL under the callable, or above it.
bool null_is_before_callable();
// A frame that ends lets go of its slots from the last to the first, or the other way round.
bool frames_end_backward();

// Effect of an instruction on the stack depth, with the jump taken or not. ReturnGenerator: as seen
// when resumed (the value sent is pushed).
int stack_effect(const Instruction& instruction, bool jump);

}  // namespace numlift
