// Expands the running version's table; everything that asks for the version about opcodes is here.
#include "numlift/py/python.h"

#include "cpython/opcode_table.h"

#include "cpython/common_constants.h"
#include "numlift/support/check.h"

#if PY_VERSION_HEX < 0x030B0000
#error "numlift needs CPython 3.11 or later"
#elif PY_VERSION_HEX >= 0x030F0000
#error \
    "numlift has no opcode table for this CPython: add opcodes_3_<minor>.def (supported: 3.11 to 3.14)"
#endif

#if PY_VERSION_HEX >= 0x030E0000
#define NUMLIFT_OPCODE_TABLE "cpython/opcodes_3_14.def"
#elif PY_VERSION_HEX >= 0x030D0000
#define NUMLIFT_OPCODE_TABLE "cpython/opcodes_3_13.def"
#elif PY_VERSION_HEX >= 0x030C0000
#define NUMLIFT_OPCODE_TABLE "cpython/opcodes_3_12.def"
#else
#define NUMLIFT_OPCODE_TABLE "cpython/opcodes_3_11.def"
#endif

namespace numlift {

#if PY_VERSION_HEX >= 0x030D0000
const int kForIterSkip = 2;
#elif PY_VERSION_HEX >= 0x030C0000
const int kForIterSkip = 1;
#else
const int kForIterSkip = 0;
#endif
const bool kClosuresAreFastLoads = PY_VERSION_HEX >= 0x030D0000;
const bool kHasCheckedLoads = PY_VERSION_HEX >= 0x030C0000;
const bool kReturnConstPushes = PY_VERSION_HEX >= 0x030D0000;
const bool kMergesPositions = PY_VERSION_HEX >= 0x030C0000;

bool null_is_before_callable() { return PY_VERSION_HEX < 0x030D0000; }
bool frames_end_backward() { return PY_VERSION_HEX >= 0x030E0000; }

namespace {

constexpr OpcodeRow kRows[] = {
#define NUMLIFT_OPCODE(number, name, instr, caches, operand, form) \
  {number, #name, Instr::k##instr, Instr::kNop, caches, Operand::k##operand, Form::k##form},
#define NUMLIFT_FUSED(number, name, first, second, form) \
  {number, #name, Instr::k##first, Instr::k##second, 0, Operand::kTwoSlots, Form::k##form},
#define NUMLIFT_INTERNAL(number, name) \
  {number, #name, Instr::kNop, Instr::kNop, 0, Operand::kNumber, Form::kInternal},
#define NUMLIFT_ALIAS(instr, base, argument)
#include NUMLIFT_OPCODE_TABLE
#undef NUMLIFT_ALIAS
};
constexpr int kRowCount = static_cast<int>(std::size(kRows));

#undef NUMLIFT_OPCODE
#undef NUMLIFT_FUSED
#undef NUMLIFT_INTERNAL
#define NUMLIFT_OPCODE(...)
#define NUMLIFT_FUSED(...)
#define NUMLIFT_INTERNAL(...)
#define NUMLIFT_ALIAS(instr, base, argument) AliasRow{Instr::k##instr, Instr::k##base, argument},
// The first element keeps the array from being empty (3.11 has no alias); lookups skip it.
constexpr AliasRow kAliases[] = {
    AliasRow{Instr::kNop, Instr::kNop, 0},
#include NUMLIFT_OPCODE_TABLE
};

constexpr bool numbers_ascend() {
  for (int i = 1; i < kRowCount; ++i) {
    if (kRows[i].number <= kRows[i - 1].number) return false;
  }
  return true;
}
static_assert(numbers_ascend(), "an opcode stands twice or out of order");

constexpr int16_t kAbsent = -1;

constexpr std::array<int16_t, 256> rows_by_number() {
  std::array<int16_t, 256> result{};
  result.fill(kAbsent);
  for (int i = 0; i < kRowCount; ++i) result[kRows[i].number] = static_cast<int16_t>(i);
  return result;
}
constexpr auto kByNumber = rows_by_number();

constexpr size_t form_key(Instr instr, Form form) {
  return static_cast<size_t>(instr) * kFormCount + static_cast<size_t>(form);
}
constexpr std::array<int16_t, kInstrCount * kFormCount> rows_by_form() {
  std::array<int16_t, kInstrCount * kFormCount> result{};
  result.fill(kAbsent);
  for (int i = 0; i < kRowCount; ++i) {
    if (kRows[i].form == Form::kInternal || is_fused(kRows[i])) continue;
    result[form_key(kRows[i].instr, kRows[i].form)] = static_cast<int16_t>(i);
  }
  return result;
}
constexpr auto kByForm = rows_by_form();

constexpr const char* kInstrNames[] = {
#define NUMLIFT_INSTRUCTION(name) #name,
#include "cpython/canonical.def"
#undef NUMLIFT_INSTRUCTION
};

// The number of one of the interpreter's own constants; -1 for other objects.
int common_constant_number(BorrowedRef object) {
  for (int number = 0; PyObject* constant = numlift_common_constant(number); ++number) {
    if (constant == object.get()) return number;
  }
  return -1;
}

bool is_small_int(BorrowedRef object) {
  if (!PyLong_CheckExact(object.get())) return false;
  int overflow = 0;
  const long value = PyLong_AsLongAndOverflow(object.get(), &overflow);
  return overflow == 0 && value >= 0 && value <= kMostSmallInt;
}

// Constants without a place in co_consts came from an instruction that needs none, or from an edit.
Form constant_form(const Instruction& instruction) {
  if (instruction.arg >= 0) return Form::kPlain;
  if (is_small_int(instruction.constant)) return Form::kSmallInt;
  return common_constant_number(instruction.constant) >= 0 ? Form::kCommonConstant : Form::kPlain;
}

Form wanted_form(const Instruction& instruction, int32_t index) {
  if (instruction.target != kNoTarget) {
    if (instruction.op == Instr::kEndAsyncFor) return Form::kBackward;
    if (instruction.target > index) return Form::kForward;
    return instruction.op == Instr::kJump && instruction.flag2 ? Form::kBackwardQuiet
                                                               : Form::kBackward;
  }
  switch (instruction.op) {
    case Instr::kLoadAttr:
      return instruction.flag ? Form::kMethod : Form::kPlain;
    case Instr::kLoadConst:
      return constant_form(instruction);
    case Instr::kCallFunctionEx:
      return instruction.flag2 ? Form::kMappingSlot : Form::kPlain;
    case Instr::kNop:
      return instruction.flag ? Form::kNotTaken : Form::kPlain;
    default:
      return Form::kPlain;
  }
}

}  // namespace

const char* instruction_name(Instr instr) { return kInstrNames[static_cast<size_t>(instr)]; }

std::span<const OpcodeRow> opcode_rows() { return kRows; }
std::span<const AliasRow> alias_rows() { return std::span(kAliases).subspan(1); }

const OpcodeRow* find_opcode(uint8_t number) {
  const int16_t row = kByNumber[number];
  return row == kAbsent ? nullptr : &kRows[row];
}

const OpcodeRow* find_row(Instr instr, Form form) {
  const int16_t row = kByForm[form_key(instr, form)];
  return row == kAbsent ? nullptr : &kRows[row];
}

const AliasRow* find_alias(Instr base, int32_t argument) {
  for (const AliasRow& row : alias_rows()) {
    if (row.base == base && row.argument == argument) return &row;
  }
  return nullptr;
}

const AliasRow* find_alias(Instr instr) {
  for (const AliasRow& row : alias_rows()) {
    if (row.instr == instr) return &row;
  }
  return nullptr;
}

Spelling spell(const Instruction& instruction, int32_t index) {
  const Form form = wanted_form(instruction, index);
  const OpcodeRow* row = find_row(instruction.op, form);
  if (row == nullptr && (form == Form::kMethod || form == Form::kSmallInt)) {
    row = find_row(instruction.op, Form::kPlain);
  }
  if (row != nullptr) return {row, instruction};
  if (instruction.op == Instr::kLoadClosure && kClosuresAreFastLoads) {
    return {find_row(Instr::kLoadFast, Form::kPlain), instruction};
  }
  const AliasRow* alias = find_alias(instruction.op);
  NUMLIFT_CHECK(alias != nullptr, "this CPython has no {} {}", instruction_name(instruction.op),
                form == Form::kBackward ? "that jumps backward" : "");
  Instruction base = instruction;
  base.op = alias->base;
  base.arg = alias->argument;
  return {find_row(alias->base, Form::kPlain), base};
}

namespace {

// The outcomes (1 unordered, 2 less, 4 greater, 8 equal) for which < <= == != > >= are true:
// the specialised compares read them from the argument.
[[maybe_unused]] constexpr int32_t kOutcomes[] = {2, 2 | 8, 8, 1 | 2 | 4, 4, 4 | 8};
#if PY_VERSION_HEX >= 0x030D0000
constexpr int kCompareShift = 5;
constexpr int32_t kAsBool = 16;
#elif PY_VERSION_HEX >= 0x030C0000
constexpr int kCompareShift = 4;
constexpr int32_t kAsBool = 0;
#else
constexpr int kCompareShift = 0;
constexpr int32_t kAsBool = 0;
#endif

}  // namespace

int32_t compare_argument(int32_t comparison, bool as_bool) {
  NUMLIFT_CHECK(comparison >= 0 && comparison < 6, "comparison {}", comparison);
  if constexpr (kCompareShift == 0) return comparison;
  return comparison << kCompareShift | (as_bool ? kAsBool : 0) | kOutcomes[comparison];
}

void read_compare_argument(uint32_t argument, Instruction& into) {
  into.arg = static_cast<int32_t>(argument >> kCompareShift);
  into.flag = (argument & kAsBool) != 0;
}

uint32_t raw_argument(const OpcodeRow& row, const Instruction& instruction, uint32_t index) {
  switch (row.operand) {
    case Operand::kNone:
    case Operand::kJump:
    case Operand::kAssertionError:
      return 0;
    case Operand::kCommonConstant:
      return static_cast<uint32_t>(common_constant_number(instruction.constant));
    case Operand::kSmallInt:
      return static_cast<uint32_t>(PyLong_AsLong(instruction.constant.get()));
    case Operand::kNumber:
    case Operand::kSlot:
    case Operand::kTwoSlots:
      return static_cast<uint32_t>(instruction.arg);
    case Operand::kConstant:
    case Operand::kName:
      return index;
    case Operand::kNameAndFlag:
      return index << 1 | (instruction.flag ? 1U : 0U);
    case Operand::kSuperName:
      return index << 2 | (instruction.flag2 ? 2U : 0U) | (instruction.flag ? 1U : 0U);
    case Operand::kCompare:
      return static_cast<uint32_t>(compare_argument(instruction.arg, instruction.flag));
    case Operand::kMapping:
      return instruction.flag ? 1 : 0;
  }
  NUMLIFT_UNREACHABLE();
}

}  // namespace numlift
