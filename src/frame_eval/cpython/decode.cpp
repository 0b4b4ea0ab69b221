// From a code object to canonical form.
//
// One pass over the units makes the instructions; positions, jump targets, handlers and closure
// loads are then filled in. Code that no compiler writes (a jump into the middle of an instruction,
// an unknown opcode) raises SystemError.
#include "numlift/py/python.h"

#include "cpython/code_cache.h"
#include "cpython/code_object.h"
#include "cpython/common_constants.h"
#include "cpython/exception_table.h"
#include "cpython/line_table.h"
#include "cpython/opcode_table.h"
#include "numlift/py/py_error.h"
#include "numlift/support/check.h"

namespace numlift {
namespace {

[[noreturn]] void fail_decode(PyCodeObject* code, const char* why, uint32_t unit) {
  PyErr_Format(PyExc_SystemError, "bytecode of %U cannot be read: %s at offset %u", code->co_name,
               why, unit * 2);
  throw PyError();
}

class Decoder {
 public:
  Decoder(BorrowedRef code, Bytecode& out) : code_(as_code(code)), out_(out) {}

  void run() {
    out_.nlocals = code_->co_nlocals;
    out_.nslots = code_->co_nlocalsplus;
    out_.stack_size = code_->co_stacksize;
    read_units();
    resolve_jumps();
    resolve_handlers();
    if (kClosuresAreFastLoads) mark_closure_loads();
  }

 private:
  void read_units();
  void read_instruction(const OpcodeRow& row, uint32_t argument, uint32_t first_unit,
                        uint32_t unit);
  void read_operand(const OpcodeRow& row, uint32_t argument, uint32_t next_unit, Instruction& into);
  void resolve_jumps();
  void resolve_handlers();
  void mark_closure_loads();
  void mark_closure_loads_before(size_t index);

  int32_t index_at(uint32_t unit, uint32_t from) const {
    if (unit >= index_of_unit_.size() || index_of_unit_[unit] < 0) {
      fail_decode(code_, "it refers to no instruction", from);
    }
    return index_of_unit_[unit];
  }
  BorrowedRef item(PyObject* tuple, uint32_t index, uint32_t unit) const {
    if (index >= static_cast<size_t>(PyTuple_GET_SIZE(tuple))) {
      fail_decode(code_, "an index is out of range", unit);
    }
    return PyTuple_GET_ITEM(tuple, static_cast<Py_ssize_t>(index));
  }
  int32_t slot(uint32_t index, uint32_t unit) const {
    if (index >= static_cast<uint32_t>(out_.nslots)) {
      fail_decode(code_, "a slot is out of range", unit);
    }
    return static_cast<int32_t>(index);
  }

  PyCodeObject* code_;
  Bytecode& out_;
  // By unit; -1 where no instruction starts. A jump's target holds the unit until it is resolved.
  std::vector<int32_t> index_of_unit_;
};

void Decoder::read_units() {
  const Ref raw_code = checked(PyCode_GetCode(code_));
  const std::span<const uint8_t> raw = bytes_of(raw_code);
  const auto unit_count = static_cast<uint32_t>(raw.size() / 2);
  index_of_unit_.assign(unit_count, -1);
  out_.instructions.reserve(unit_count / 2);
  LineTableReader positions(bytes_of(code_->co_linetable), code_->co_firstlineno);

  uint32_t argument = 0;
  uint32_t first_unit = 0;  // with the prefixes
  bool continues = false;   // a prefix or a dropped instruction stands before
  for (uint32_t unit = 0; unit < unit_count; ++unit) {
    if (!continues) first_unit = unit;
    argument = argument << 8 | raw[2 * unit + 1];
    const OpcodeRow* row = find_opcode(raw[2 * unit]);
    if (row == nullptr || row->form == Form::kInternal) {
      fail_decode(code_, "the opcode is unknown", unit);
    }
    index_of_unit_[first_unit] = static_cast<int32_t>(out_.instructions.size());
    continues = row->form == Form::kPrefix || row->form == Form::kDropped;
    if (row->form == Form::kPrefix) continue;
    if (!continues) {
      const size_t before = out_.instructions.size();
      read_instruction(*row, argument, first_unit, unit);
      const Position& position = positions.at(unit);
      for (size_t i = before; i < out_.instructions.size(); ++i) {
        out_.instructions[i].position = position;
      }
    }
    argument = 0;
    unit += row->caches;
  }
}

void Decoder::read_instruction(const OpcodeRow& row, uint32_t argument, uint32_t first_unit,
                               uint32_t unit) {
  Instruction& made = out_.instructions.emplace_back();
  made.op = row.instr;
  made.unit = first_unit;
  if (is_fused(row)) {
    made.arg = slot(argument >> 4, unit);
    made.flag = true;
    Instruction& second = out_.instructions.emplace_back();
    second.op = row.second;
    second.unit = first_unit;
    second.arg = slot(argument & 15, unit);
    return;
  }
  made.flag = row.form == Form::kBackward || row.form == Form::kBackwardQuiet ||
              row.form == Form::kMethod || row.form == Form::kNotTaken;
  made.flag2 = row.form == Form::kBackwardQuiet || row.form == Form::kChecked ||
               row.form == Form::kMappingSlot;
  read_operand(row, argument, unit + 1 + row.caches, made);
  if (row.operand == Operand::kNumber) {
    if (const AliasRow* alias = find_alias(made.op, made.arg)) {
      made.op = alias->instr;
      made.arg = 0;
    }
  }
}

void Decoder::read_operand(const OpcodeRow& row, uint32_t argument, uint32_t next_unit,
                           Instruction& into) {
  const uint32_t unit = into.unit;
  into.arg = static_cast<int32_t>(argument);
  switch (row.operand) {
    case Operand::kNone:
      into.arg = 0;
      return;
    case Operand::kNumber:
    case Operand::kTwoSlots:
      return;
    case Operand::kConstant:
      into.constant = item(code_->co_consts, argument, unit);
      return;
    case Operand::kName:
      into.name = item(code_->co_names, argument, unit);
      return;
    case Operand::kNameAndFlag:
      into.arg = static_cast<int32_t>(argument >> 1);
      into.flag = (argument & 1) != 0;
      into.name = item(code_->co_names, argument >> 1, unit);
      return;
    case Operand::kSuperName:
      into.arg = static_cast<int32_t>(argument >> 2);
      into.flag = (argument & 1) != 0;
      into.flag2 = (argument & 2) != 0;
      into.name = item(code_->co_names, argument >> 2, unit);
      return;
    case Operand::kSlot:
      into.arg = slot(argument, unit);
      return;
    case Operand::kJump:
      into.arg = 0;
      into.target = static_cast<int32_t>(into.flag ? next_unit - argument : next_unit + argument);
      return;
    case Operand::kCompare:
      read_compare_argument(argument, into);
      return;
    case Operand::kMapping:
      into.arg = 0;
      into.flag = (argument & 1) != 0;
      return;
    case Operand::kAssertionError:
    case Operand::kCommonConstant:
      into.constant = numlift_common_constant(static_cast<int>(argument));
      if (!into.constant) fail_decode(code_, "an index is out of range", unit);
      into.arg = -1;
      return;
    case Operand::kSmallInt:
      if (argument > kMostSmallInt) fail_decode(code_, "an int is out of range", unit);
      out_.kept.push_back(checked(PyLong_FromLong(static_cast<long>(argument))));
      into.constant = out_.kept.back();
      into.arg = -1;
      return;
  }
}

void Decoder::resolve_jumps() {
  for (Instruction& instruction : out_.instructions) {
    if (instruction.target == kNoTarget) continue;
    auto unit = static_cast<uint32_t>(instruction.target);
    if (instruction.op == Instr::kForIter) {
      if (kForIterSkip > 0) {
        const int32_t end = index_at(unit, instruction.unit);
        if (out_.instructions[static_cast<size_t>(end)].op != Instr::kEndFor) {
          fail_decode(code_, "a loop has no END_FOR", instruction.unit);
        }
      }
      unit += static_cast<uint32_t>(kForIterSkip);
    }
    instruction.target = index_at(unit, instruction.unit);
  }
}

void Decoder::resolve_handlers() {
  const auto ranges = read_exception_table(bytes_of(code_->co_exceptiontable));
  size_t index = 0;
  for (const ExceptionRange& range : ranges) {
    const int32_t target = index_at(range.target, range.start);
    int32_t handler = kNoTarget;
    for (size_t i = out_.handlers.size(); i-- > 0;) {
      const Handler& known = out_.handlers[i];
      if (known.target == target && known.depth == range.depth &&
          known.push_lasti == range.push_lasti) {
        handler = static_cast<int32_t>(i);
      }
    }
    if (handler == kNoTarget) {
      handler = static_cast<int32_t>(out_.handlers.size());
      out_.handlers.push_back({target, range.depth, range.push_lasti});
    }
    while (index < out_.instructions.size() && out_.instructions[index].unit < range.start) {
      ++index;
    }
    const uint32_t end = range.start + range.length;
    while (index < out_.instructions.size() && out_.instructions[index].unit < end) {
      out_.instructions[index++].handler = handler;
    }
  }
}

// LOAD_FAST reads a slot as it is, so it also stands for LOAD_CLOSURE. A slot that is no plain
// local holds nothing but a cell. One that is both (an argument that a closure captures; a
// variable that an inlined comprehension shares with a closure) is loaded as a cell only to build
// the tuple of cells of a function: the code constant behind that tuple tells its length.
void Decoder::mark_closure_loads() {
  if (out_.nslots == out_.nlocals && code_->co_ncellvars == 0) return;
  for (size_t i = 0; i < out_.instructions.size(); ++i) {
    Instruction& instruction = out_.instructions[i];
    if (instruction.op == Instr::kLoadFast && !slot_kind(code_, instruction.arg).is_local) {
      instruction.op = Instr::kLoadClosure;
    } else if (instruction.op == Instr::kLoadConst && PyCode_Check(instruction.constant.get())) {
      mark_closure_loads_before(i);
    }
  }
}

void Decoder::mark_closure_loads_before(size_t index) {
  const int32_t cells = as_code(out_.instructions[index].constant)->co_nfreevars;
  if (cells == 0 || index < static_cast<size_t>(cells) + 1) return;
  const Instruction& tuple = out_.instructions[index - 1];
  if (tuple.op != Instr::kBuildTuple || tuple.arg != cells) return;
  for (size_t i = index - 1 - static_cast<size_t>(cells); i < index - 1; ++i) {
    if (out_.instructions[i].op == Instr::kLoadFast) out_.instructions[i].op = Instr::kLoadClosure;
  }
}

}  // namespace

std::shared_ptr<const Bytecode> decode(BorrowedRef code) {
  NUMLIFT_CHECK(PyCode_Check(code.get()), "decode of a {}", code.type()->tp_name);
  if (auto known = find_decoded(code)) return known;
  auto made = std::make_unique<Bytecode>();
  made->code = Ref::create(code);
  Decoder(code, *made).run();
  return keep_decoded(code, std::move(made));
}

}  // namespace numlift
