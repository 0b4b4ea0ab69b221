// What users have said about callables (numlift.disable, allow_in_graph, custom_op, …): one table,
// looked up where the interpreter calls something. Used with the GIL held.
#pragma once

#include "numlift/py/python.h"

#include <cstdint>
#include <string>

#include "numlift/py/ref.h"

namespace numlift::frame_eval {

enum class Mark : uint8_t {
  kGraphBreak,      // numlift.graph_break itself
  kIsCompiling,     // numlift.is_compiling itself
  kOutsideOnly,     // changes what is compiled: not to be called inside
  kMakeNonstrict,   // numlift.nonstrict_trace itself
  kMakeAllowed,     // numlift.allow_in_graph itself
  kDisabled,        // CPython runs it, and nothing looks inside
  kDisallowed,      // likewise, for functions that would be operations of a graph
  kAllowed,         // one operation of the graph, whose code is not looked into
  kNonstrict,       // graph_break() inside it does nothing
  kCustomOp,        // an operator: see python/numlift/custom_op.py
  kConstantResult,  // called while tracing, and never again
  kIgnored,         // not called at all: the call gives None
  kStoodFor,        // `target`, a Python function, is traced in its place
};

struct MarkEntry {
  Mark mark = Mark::kDisabled;
  // kAllowed, kStoodFor: what is called in its place. kDisabled: not null when what it calls is
  // compiled.
  Ref target;
  std::string text;  // for messages
};

// The mark with this name ("disabled"); throws PyError (ValueError) for others.
Mark mark_named(const std::string& name);
// `callable` may be a bound method: then the mark is that method's of that object only. A callable
// that can be weakly referenced is not kept alive.
void set_mark(BorrowedRef callable, MarkEntry entry);
// False when there was none.
bool clear_mark(BorrowedRef callable);
// Null when there is none. `self` null: of the function itself.
const MarkEntry* find_mark(BorrowedRef function, BorrowedRef self = nullptr);

// Some function with this code had, when it was marked, been there before: functions of this code
// are told apart by identity.
bool is_code_of_marked(BorrowedRef code);

// Sizes of an array's axes that the user has spoken of (numlift.mark_static, mark_dynamic), by bit.
struct AxisMarks {
  uint64_t fixed = 0, dynamic = 0;
};
void mark_axes(BorrowedRef array, AxisMarks marks);
AxisMarks axis_marks(BorrowedRef array);

// numlift.EscapeHatchError: a promise to an escape hatch was broken. It reaches the user from
// wherever it is raised, as interrupts do; other exceptions met by compiled code are CPython's to
// raise again.
void set_escape_hatch_error(BorrowedRef type);
[[noreturn]] void raise_escape_hatch_error(const std::string& text);
// Of the exception that is set.
bool must_reach_user();

}  // namespace numlift::frame_eval
