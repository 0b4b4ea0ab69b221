// From canonical form, edited or not, to a code object.
//
// Instructions become pieces (one machine instruction each, caches included); pieces get addresses
// by growing EXTENDED_ARG prefixes until nothing changes; then bytes, line table and exception
// table are written in one pass. What decode() reads from CPython's compiler comes back byte for
// byte, so that anything which indexes the code by offset still fits.
#include "numlift/py/python.h"

#include "cpython/code_object.h"
#include "cpython/exception_table.h"
#include "cpython/flow.h"
#include "cpython/line_table.h"
#include "cpython/opcode_table.h"
#include "numlift/py/py_error.h"
#include "numlift/support/check.h"

#include <algorithm>
#include <unordered_map>

namespace numlift {
namespace {

// co_consts or co_names, which keep their places and grow at the end.
class ObjectTable {
 public:
  explicit ObjectTable(PyObject* tuple) : tuple_(tuple), size_(PyTuple_GET_SIZE(tuple)) {}

  // `hint` is where the object stood when it was decoded.
  uint32_t index_of(BorrowedRef object, int32_t hint) {
    NUMLIFT_CHECK(object, "an instruction lacks its constant or name");
    if (hint >= 0 && hint < size_ && PyTuple_GET_ITEM(tuple_, hint) == object.get()) {
      return static_cast<uint32_t>(hint);
    }
    if (places_.empty()) {
      for (Py_ssize_t i = size_; i-- > 0;) {
        places_[PyTuple_GET_ITEM(tuple_, i)] = static_cast<uint32_t>(i);
      }
    }
    const auto next = static_cast<uint32_t>(static_cast<size_t>(size_) + added_.size());
    const auto [place, is_new] = places_.try_emplace(object.get(), next);
    if (is_new) added_.push_back(Ref::create(object));
    return place->second;
  }

  Ref tuple() const {
    if (added_.empty()) return Ref::create(tuple_);
    const auto total = size_ + static_cast<Py_ssize_t>(added_.size());
    Ref result = checked(PyTuple_New(total));
    for (Py_ssize_t i = 0; i < total; ++i) {
      PyObject* object =
          i < size_ ? PyTuple_GET_ITEM(tuple_, i) : added_[static_cast<size_t>(i - size_)].get();
      PyTuple_SET_ITEM(result.get(), i, Py_NewRef(object));
    }
    return result;
  }

 private:
  PyObject* tuple_;
  Py_ssize_t size_;
  std::vector<Ref> added_;
  std::unordered_map<PyObject*, uint32_t> places_;  // by identity: equal constants may differ
};

struct Piece {
  const OpcodeRow* row;
  uint32_t argument;
  int32_t instruction;  // index
  uint32_t offset = 0;  // units, of the first prefix
  uint32_t prefixes = 0;

  uint32_t units() const { return prefixes + 1 + row->caches; }
};

uint32_t prefixes_for(uint32_t argument) {
  return (argument > 0xFF) + (argument > 0xFFFF) + (argument > 0xFFFFFF);
}

class Encoder {
 public:
  explicit Encoder(const Bytecode& bytecode)
      : bytecode_(bytecode),
        code_(as_code(bytecode.code)),
        flow_(analyse_flow(bytecode)),
        constants_(code_->co_consts),
        names_(code_->co_names) {}

  Ref run() {
    make_pieces();
    assign_offsets();
    write_units();
    const std::string exceptions = write_exceptions();
    return make_code(code_, {bytes_, lines_, exceptions, constants_.tuple(), names_.tuple(),
                             std::max(bytecode_.stack_size, flow_.max_depth)});
  }

 private:
  const std::vector<Instruction>& instructions() const { return bytecode_.instructions; }
  void make_pieces();
  void add_piece(const OpcodeRow& row, const Instruction& instruction, size_t index);
  bool add_fused(size_t index);
  bool is_plain_load(size_t index) const;
  void assign_offsets();
  uint32_t jump_distance(const Piece& piece) const;
  void write_units();
  std::string write_exceptions() const;
  uint32_t offset_of(size_t index) const { return pieces_[first_piece_[index]].offset; }
  uint32_t end_offset() const { return pieces_.back().offset + pieces_.back().units(); }

  const Bytecode& bytecode_;
  PyCodeObject* code_;
  Flow flow_;
  ObjectTable constants_;
  ObjectTable names_;
  std::vector<Piece> pieces_;
  std::vector<size_t> first_piece_;  // by instruction
  std::string bytes_;
  std::string lines_;
};

// flag2 says that CPython's compiler, which knows less of long functions, wrote the checked form.
bool Encoder::is_plain_load(size_t index) const {
  return !kHasCheckedLoads || (flow_.may_be_unset[index] == 0 && !instructions()[index].flag2);
}

void Encoder::add_piece(const OpcodeRow& row, const Instruction& instruction, size_t index) {
  uint32_t place = 0;
  if (row.operand == Operand::kConstant) {
    place = constants_.index_of(instruction.constant, instruction.arg);
  } else if (row.operand == Operand::kName || row.operand == Operand::kNameAndFlag ||
             row.operand == Operand::kSuperName) {
    place = names_.index_of(instruction.name, instruction.arg);
  } else if (row.operand == Operand::kSlot) {
    NUMLIFT_CHECK(instruction.arg >= 0 && instruction.arg < bytecode_.nslots, "slot {} of {}",
                  instruction.arg, bytecode_.nslots);
  }
  pieces_.push_back({&row, raw_argument(row, instruction, place), static_cast<int32_t>(index)});
}

// Two loads or stores that were one instruction become one again, unless an edit came between.
bool Encoder::add_fused(size_t index) {
  if (index + 1 >= instructions().size()) return false;
  const Instruction& first = instructions()[index];
  const Instruction& second = instructions()[index + 1];
  const bool fits = first.arg < 16 && second.arg < 16 && first.handler == second.handler &&
                    flow_.is_entered[index + 1] == 0 &&
                    same_position(first.position, second.position);
  if (!fits || (first.op == Instr::kLoadFast && !is_plain_load(index)) ||
      (second.op == Instr::kLoadFast && !is_plain_load(index + 1))) {
    return false;
  }
  for (const OpcodeRow& row : opcode_rows()) {
    if (row.form != Form::kFused || row.instr != first.op || row.second != second.op) continue;
    Instruction both = first;
    both.arg = first.arg << 4 | second.arg;
    add_piece(row, both, index);
    return true;
  }
  return false;
}

void Encoder::make_pieces() {
  const OpcodeRow* before_call = find_row(Instr::kNop, Form::kDropped);
  first_piece_.reserve(instructions().size());
  pieces_.reserve(instructions().size());
  for (size_t i = 0; i < instructions().size(); ++i) {
    const Instruction& instruction = instructions()[i];
    first_piece_.push_back(pieces_.size());
    const bool is_fast = instruction.op == Instr::kLoadFast || instruction.op == Instr::kStoreFast;
    if (is_fast && instruction.flag && add_fused(i)) {
      // No jump enters the second, and its handler is the first's.
      first_piece_.push_back(pieces_.size() - 1);
      ++i;
      continue;
    }
    if (instruction.op == Instr::kCall && before_call != nullptr) {
      pieces_.push_back(
          {before_call, static_cast<uint32_t>(instruction.arg), static_cast<int32_t>(i)});
    }
    Spelling spelling = spell(instruction, static_cast<int32_t>(i));
    if (instruction.op == Instr::kLoadFast && !is_plain_load(i)) {
      spelling.row = find_row(Instr::kLoadFast, Form::kChecked);
    }
    add_piece(*spelling.row, spelling.instruction, i);
  }
}

// From behind the jump's caches; FOR_ITER's stands for the END_FOR before the target.
uint32_t Encoder::jump_distance(const Piece& piece) const {
  const Instruction& jump = instructions()[static_cast<size_t>(piece.instruction)];
  const auto target = static_cast<size_t>(jump.target);
  uint32_t to = offset_of(target);
  const uint32_t from = piece.offset + piece.units();
  if (piece.row->form == Form::kForward) {
    if (jump.op == Instr::kForIter && kForIterSkip > 0) {
      const auto end = target - static_cast<size_t>(kForIterSkip);
      NUMLIFT_CHECK(target >= static_cast<size_t>(kForIterSkip) &&
                        instructions()[end].op == Instr::kEndFor &&
                        offset_of(end) + static_cast<uint32_t>(kForIterSkip) == to,
                    "a loop's target {} does not stand behind its EndFor", target);
      to -= static_cast<uint32_t>(kForIterSkip);
    }
    // Offsets still move while prefixes grow; they end up in order.
    return to >= from ? to - from : 0;
  }
  return from - to;
}

void Encoder::assign_offsets() {
  for (Piece& piece : pieces_) {
    if (piece.row->operand != Operand::kJump) piece.prefixes = prefixes_for(piece.argument);
  }
  // Prefixes only grow, so this ends.
  for (bool changed = true; changed;) {
    uint32_t offset = 0;
    for (Piece& piece : pieces_) {
      piece.offset = offset;
      offset += piece.units();
    }
    changed = false;
    for (Piece& piece : pieces_) {
      if (piece.row->operand != Operand::kJump) continue;
      piece.argument = jump_distance(piece);
      const uint32_t needed = prefixes_for(piece.argument);
      if (needed > piece.prefixes) {
        piece.prefixes = needed;
        changed = true;
      }
    }
  }
}

void Encoder::write_units() {
  const OpcodeRow* prefix = find_row(Instr::kNop, Form::kPrefix);
  bytes_.reserve(end_offset() * 2);
  LineTableWriter lines(code_->co_firstlineno);
  for (const Piece& piece : pieces_) {
    for (uint32_t i = piece.prefixes; i > 0; --i) {
      bytes_.push_back(static_cast<char>(prefix->number));
      bytes_.push_back(static_cast<char>(piece.argument >> (8 * i) & 0xFF));
    }
    bytes_.push_back(static_cast<char>(piece.row->number));
    bytes_.push_back(static_cast<char>(piece.argument & 0xFF));
    bytes_.append(static_cast<size_t>(piece.row->caches) * 2, '\0');
    lines.add(instructions()[static_cast<size_t>(piece.instruction)].position, piece.units());
  }
  lines_ = lines.finish();
}

std::string Encoder::write_exceptions() const {
  std::vector<ExceptionRange> ranges;
  const size_t count = instructions().size();
  for (size_t i = 0; i < count;) {
    const int32_t handler = instructions()[i].handler;
    const size_t start = i;
    while (i < count && instructions()[i].handler == handler) ++i;
    if (handler == kNoTarget) continue;
    const Handler& to = bytecode_.handlers[static_cast<size_t>(handler)];
    const uint32_t end = i < count ? offset_of(i) : end_offset();
    ranges.push_back({offset_of(start), end - offset_of(start),
                      offset_of(static_cast<size_t>(to.target)), to.depth, to.push_lasti});
  }
  return write_exception_table(ranges);
}

}  // namespace

Ref encode(const Bytecode& bytecode) { return Encoder(bytecode).run(); }

}  // namespace numlift
