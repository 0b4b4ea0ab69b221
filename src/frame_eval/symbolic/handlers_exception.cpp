// with and raise. A try block costs nothing as long as nothing raises; what would raise leaves the
// graph, so that handlers are CPython's.
#include "symbolic/errstate.h"
#include "symbolic/interpreter.h"
#include "symbolic/pure.h"

namespace numlift::frame_eval {

namespace {

std::shared_ptr<ErrstateValue> pop_manager(Frame& frame) {
  Sym manager = frame.pop();
  auto state = std::dynamic_pointer_cast<ErrstateValue>(manager);
  if (!state) throw_break("unsupported_value", fmt::format("with on a {}", type_name(manager)));
  return state;
}

void before_with(Interpreter& interpreter, Frame& frame, const Instruction&) {
  auto state = pop_manager(frame);
  frame.push(std::make_shared<ErrstateExit>(state));
  state->enter(interpreter.tracer);
  frame.push(interpreter.none());
}

// From 3.14 on: a method and its self-or-NULL, which a Call then takes.
void load_special(Interpreter&, Frame& frame, const Instruction& instruction) {
  constexpr int kEnter = 0, kExit = 1;
  if (instruction.arg != kEnter && instruction.arg != kExit) {
    throw_break("unsupported_instruction", "async with");
  }
  auto state = pop_manager(frame);
  if (instruction.arg == kEnter) {
    frame.push(std::make_shared<ErrstateEnter>(state));
  } else {
    frame.push(std::make_shared<ErrstateExit>(state));
  }
  frame.push(null_value());
}

void raise_varargs(Interpreter&, Frame& frame, const Instruction& instruction) {
  std::string what = "an exception is raised";
  if (instruction.arg > 0 && frame.peek()->kind == SymKind::kObject) {
    BorrowedRef object = object_of(frame.peek());
    what = fmt::format("{} is raised", PyType_Check(object.get())
                                           ? reinterpret_cast<PyTypeObject*>(object.get())->tp_name
                                           : object.type()->tp_name);
  }
  throw_break("would_raise", what);
}

void reraise(Interpreter&, Frame&, const Instruction&) {
  throw_break("would_raise", "an exception goes on");
}

}  // namespace

void install_exception(HandlerTable& table) {
  auto set = [&](Instr op, InstructionHandler handler) {
    table[static_cast<size_t>(op)] = handler;
  };
  set(Instr::kBeforeWith, before_with);
  set(Instr::kLoadSpecial, load_special);
  set(Instr::kRaiseVarargs, raise_varargs);
  set(Instr::kReraise, reraise);
}

}  // namespace numlift::frame_eval
