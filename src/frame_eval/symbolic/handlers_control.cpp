// Jumps.
#include "symbolic/interpreter.h"
#include "symbolic/operators.h"
#include "symbolic/pure.h"

namespace numlift::frame_eval {

namespace {

void go_to(Frame& frame, const Instruction& instruction) {
  const size_t from = frame.next, to = static_cast<size_t>(instruction.target);
  frame.next = to;
  if (to >= from) return;
  // A loop begins anew; those inside it count from zero again.
  std::erase_if(frame.trips,
                [&](const auto& loop) { return loop.first > to && loop.first < from; });
  count_trip(frame, from);
}

void jump(Interpreter&, Frame& frame, const Instruction& instruction) { go_to(frame, instruction); }

template <bool wanted>
void jump_if(Interpreter& interpreter, Frame& frame, const Instruction& instruction) {
  Sym value = frame.pop();
  if (truth(interpreter, value) == wanted) go_to(frame, instruction);
}

template <bool wanted>
void jump_if_or_pop(Interpreter& interpreter, Frame& frame, const Instruction& instruction) {
  if (truth(interpreter, frame.peek()) == wanted) {
    go_to(frame, instruction);
  } else {
    frame.pop();
  }
}

template <bool wanted>
void jump_if_none(Interpreter& interpreter, Frame& frame, const Instruction& instruction) {
  Sym value = frame.pop();
  if (is_identical(interpreter, value, interpreter.none()) == wanted) go_to(frame, instruction);
}

}  // namespace

void install_control(HandlerTable& table) {
  auto set = [&](Instr op, InstructionHandler handler) {
    table[static_cast<size_t>(op)] = handler;
  };
  set(Instr::kJump, jump);
  set(Instr::kJumpIfFalse, jump_if<false>);
  set(Instr::kJumpIfTrue, jump_if<true>);
  set(Instr::kJumpIfNone, jump_if_none<true>);
  set(Instr::kJumpIfNotNone, jump_if_none<false>);
  set(Instr::kJumpIfFalseOrPop, jump_if_or_pop<false>);
  set(Instr::kJumpIfTrueOrPop, jump_if_or_pop<true>);
}

}  // namespace numlift::frame_eval
