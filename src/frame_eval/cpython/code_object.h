// Parts of a code object, and new code objects. For this folder only.
#pragma once

#include "numlift/frame_eval/bytecode.h"

#include <span>
#include <string_view>

namespace numlift {

inline PyCodeObject* as_code(BorrowedRef code) {
  return reinterpret_cast<PyCodeObject*>(code.get());
}
std::span<const uint8_t> bytes_of(BorrowedRef bytes);

// Which kinds of variable share a frame slot.
struct SlotKind {
  bool is_local;
  bool is_cell;
  bool is_free;
};
SlotKind slot_kind(PyCodeObject* code, int slot);

// Slots that hold a value when the function starts: its arguments come first.
int argument_slots(const PyCodeObject* code);

struct NewCode {
  std::string_view code;
  std::string_view line_table;
  std::string_view exception_table;
  Ref constants;
  Ref names;
  int stack_size = 0;
};
// Everything else is `original`'s.
Ref make_code(PyCodeObject* original, const NewCode& parts);
// `original` with these locals, of which the first `arguments` are given by position. Its
// instructions are not adapted: to be encoded anew.
Ref make_code_with_locals(PyCodeObject* original, int arguments, BorrowedRef varnames);

}  // namespace numlift
