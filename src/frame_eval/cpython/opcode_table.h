// The opcodes of the running CPython, one row each, from opcodes_3_<minor>.def.
//
// Promises: the table holds every opcode that can stand in co_code (tests compare it with the
// interpreter's own `opcode` module), and the lookups are constant time. For this folder only.
//
// Columns of the .def files:
//   NUMLIFT_OPCODE(number, NAME, canonical instruction, inline cache units, Operand, Form)
//   NUMLIFT_FUSED(number, NAME, first canonical, second canonical, Form)
//     two slots packed in one argument
//   NUMLIFT_INTERNAL(number, NAME)
//     the interpreter's own
//   NUMLIFT_ALIAS(canonical, base canonical, argument)
//     a meaning spelled as an argument of another
#pragma once

#include "numlift/frame_eval/bytecode.h"

#include <array>
#include <cstdint>
#include <span>

namespace numlift {

// How the raw argument is read.
enum class Operand : uint8_t {
  kNone,
  kNumber,
  kConstant,        // index into co_consts
  kName,            // index into co_names
  kNameAndFlag,     // index << 1 | flag
  kSuperName,       // index << 2 | flag2 << 1 | flag
  kSlot,            // index into the frame's slots
  kTwoSlots,        // first << 4 | second
  kJump,            // distance in units from behind the caches; the Form says which way
  kCompare,         // packed differently in each version: compare_argument()
  kMapping,         // bit 0: flag
  kAssertionError,  // no argument; stands for the constant AssertionError
  kCommonConstant,  // index into the interpreter's own constants
  kSmallInt,        // the constant itself
};

// Which of the rows that share a canonical instruction, and what its flags are.
enum class Form : uint8_t {
  kPlain,
  kForward,         // a jump to a later instruction
  kBackward,        // flag: a jump to this or an earlier one
  kBackwardQuiet,   // flag, flag2: the same without a check for signals
  kMethod,          // flag: an attribute load that pushes two
  kChecked,         // flag2: a local load that may find the slot unset
  kBorrowed,        // a local load that the interpreter knows to be short-lived; never written
  kCommonConstant,  // a constant that is not in co_consts: an object of the interpreter's
  kSmallInt,        // the same: an int from 0 to 255
  kMappingSlot,     // flag2: a call that always has a place for its ** mapping
  kNotTaken,        // flag: a Nop that marks the path of a conditional jump
  kFused,
  kFusedBorrowed,  // never written
  kPrefix,         // EXTENDED_ARG
  kDropped,        // PRECALL: written again before each call
  kInternal,       // never in co_code
};
inline constexpr int kFormCount = static_cast<int>(Form::kInternal) + 1;

struct OpcodeRow {
  uint8_t number;
  const char* name;
  Instr instr;
  Instr second;  // kFused only
  uint8_t caches;
  Operand operand;
  Form form;
};

constexpr bool is_fused(const OpcodeRow& row) {
  return row.form == Form::kFused || row.form == Form::kFusedBorrowed;
}

struct AliasRow {
  Instr instr;
  Instr base;
  int32_t argument;
};

inline constexpr int kInstrCount = 0
#define NUMLIFT_INSTRUCTION(name) +1
#include "canonical.def"
#undef NUMLIFT_INSTRUCTION
    ;

std::span<const OpcodeRow> opcode_rows();
std::span<const AliasRow> alias_rows();
// Null when this CPython has no such opcode, or no such form of the instruction.
const OpcodeRow* find_opcode(uint8_t number);
const OpcodeRow* find_row(Instr instr, Form form);
// The alias whose base and argument these are; null for most.
const AliasRow* find_alias(Instr base, int32_t argument);
const AliasRow* find_alias(Instr instr);

// The row that a canonical instruction is written with, and the canonical instruction that the row
// spells (itself, or an alias' base with its argument). `index` is where the instruction stands:
// it tells a forward from a backward jump. Throws InternalError when this CPython has no way to
// say it. A LoadFast gets its plain row; whether it must be the checked one is the encoder's
// affair.
struct Spelling {
  const OpcodeRow* row;
  Instruction instruction;
};
Spelling spell(const Instruction& instruction, int32_t index);

// The greatest constant of Operand::kSmallInt.
inline constexpr int kMostSmallInt = 255;

// COMPARE_OP's packed argument.
int32_t compare_argument(int32_t comparison, bool as_bool);
void read_compare_argument(uint32_t argument, Instruction& into);

// The raw argument, with `index` standing for a constant's or name's place in its table. Jumps
// are not known to it: 0.
uint32_t raw_argument(const OpcodeRow& row, const Instruction& instruction, uint32_t index);

// Behind FOR_ITER's raw target stand instructions that an exhausted iterator skips (END_FOR, then
// POP_TOP on 3.13, POP_ITER on 3.14): how many units of them.
extern const int kForIterSkip;
// Closure cells are read by LOAD_FAST (3.13 on) instead of LOAD_CLOSURE.
extern const bool kClosuresAreFastLoads;
// LOAD_FAST on an unset slot is undefined; LOAD_FAST_CHECK raises.
extern const bool kHasCheckedLoads;
// ReturnConst needs a stack position for its constant.
extern const bool kReturnConstPushes;
// An instruction's line-table entry joins with its neighbours' when they agree.
extern const bool kMergesPositions;

}  // namespace numlift
