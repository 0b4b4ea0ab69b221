// Jumps.
#include "symbolic/conditions.h"
#include "symbolic/interpreter.h"
#include "symbolic/limits.h"
#include "symbolic/operators.h"
#include "symbolic/pure.h"
#include "symbolic/regions.h"

namespace numlift::frame_eval {

namespace {

void go_to(Interpreter& interpreter, Frame& frame, const Instruction& instruction) {
  const size_t from = frame.next, to = static_cast<size_t>(instruction.target);
  frame.next = to;
  if (to >= from) return;
  // A loop begins anew; those inside it count from zero again.
  std::erase_if(frame.trips,
                [&](const auto& loop) { return loop.first > to && loop.first < from; });
  if (frame.trips[from].count >= kUnrolledTrips && interpreter.regions != nullptr)
    interpreter.regions->want_while(frame, to);
  count_trip(frame, from, interpreter.tracer.graph().size());
}

void jump(Interpreter& interpreter, Frame& frame, const Instruction& instruction) {
  go_to(interpreter, frame, instruction);
}

// The value on top decides. `kept`: it stays on the stack when the jump is taken; otherwise it goes
// in any case.
void jump_on(Interpreter& interpreter, Frame& frame, const Instruction& instruction, bool wanted,
             bool kept) {
  const Sym value = frame.peek();
  const auto target = static_cast<size_t>(instruction.target);
  const auto decided = decide_or_branch(interpreter, value, [&](NodeId condition) {
    FrameState jumping = state_of(frame), falling = jumping;
    falling.stack.pop_back();
    if (!kept) jumping.stack.pop_back();
    if (interpreter.regions == nullptr ||
        !interpreter.regions->may_branch(frame, wanted ? target : frame.next,
                                         wanted ? frame.next : target))
      return false;
    const size_t next = frame.next;
    if (wanted) {
      interpreter.regions->branch(frame, condition, jumping, target, falling, next);
    } else {
      interpreter.regions->branch(frame, condition, falling, next, jumping, target);
    }
    return true;
  });
  if (!decided) return;
  const bool jumps = *decided == wanted;
  if (!jumps || !kept) frame.pop();
  if (jumps) go_to(interpreter, frame, instruction);
}

template <bool wanted>
void jump_if(Interpreter& interpreter, Frame& frame, const Instruction& instruction) {
  jump_on(interpreter, frame, instruction, wanted, false);
}

template <bool wanted>
void jump_if_or_pop(Interpreter& interpreter, Frame& frame, const Instruction& instruction) {
  jump_on(interpreter, frame, instruction, wanted, true);
}

template <bool wanted>
void jump_if_none(Interpreter& interpreter, Frame& frame, const Instruction& instruction) {
  Sym value = frame.pop();
  if (is_identical(interpreter, value, interpreter.none()) == wanted)
    go_to(interpreter, frame, instruction);
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
