// Code that starts in the middle of a function.
//
// A suspended frame is a frame between two instructions. Its state is a list of values, and the
// code made here takes them as positional arguments, puts them into locals, cells and stack, and
// goes on in a copy of the user's own instructions: names, lines, handlers and tracebacks are the
// user's.
#pragma once

#include "numlift/py/python.h"

#include <memory>
#include <string>
#include <vector>

#include "numlift/frame_eval/bytecode.h"

namespace numlift {

struct SuspendedFrame {
  std::shared_ptr<const Bytecode> bytecode;
  Ref globals;
  int32_t next = 0;  // index of the instruction that runs next
  std::vector<int32_t>
      slots;                // those that are set, ascending; of a cell or free variable: the cell
  std::vector<bool> stack;  // bottom first; false: NULL

  // The frame's values: of the slots, then of the stack where it is not NULL.
  size_t value_count() const;
};

// What code of the user's is called that goes on behind a graph break: "numlift_resume_in_f_at_7",
// by the line of the instruction at the break.
std::string resume_name(BorrowedRef code, const Instruction& at);

// Instructions that belong together: [begin, end). A call with its keyword names is one.
struct InstructionUnit {
  int32_t begin = 0, end = 0;
};
InstructionUnit unit_at(const Bytecode& bytecode, int32_t index);
// Whether a frame can be left behind that unit with its state known.
bool can_leave_after(const Bytecode& bytecode, const InstructionUnit& unit);

// Those slots of `set` that some instruction from one of `starts` on may read, handlers on the way
// included. Cells and free variables always count, and all do where the code may look at its own
// frame.
std::vector<int32_t> live_slots(const Bytecode& bytecode, const std::vector<int32_t>& starts,
                                const std::vector<int32_t>& set);

// The code may get hold of its own frame, to look at it later on: the frame must stay what it is.
bool keeps_its_frame(const Bytecode& bytecode);

// A function that goes on at frame.next and runs to the end of the user's function.
Ref make_rest_function(const SuspendedFrame& frame);
// The same with a call first: of `inner` with the arguments behind the frame's own values. Its
// result goes onto the stack, or is handed on at once when it is `left`.
Ref make_outer_function(const SuspendedFrame& frame, BorrowedRef inner, size_t inner_values,
                        BorrowedRef left);

// A function that goes on at frame.next, runs `unit` when it comes there, and then leaves:
// `leave(place, values...)` is called with the index into `after` of the place where the frame now
// stands and its values, and what it returns is returned. `at_unit`: the frame as it comes there.
// Where the code goes another way (the unit raises and the user's code catches it), the function
// runs to its end.
struct UnitFunction {
  Ref function;
  std::vector<SuspendedFrame> after;
};
UnitFunction make_unit_function(const SuspendedFrame& frame, const SuspendedFrame& at_unit,
                                BorrowedRef leave);

}  // namespace numlift
