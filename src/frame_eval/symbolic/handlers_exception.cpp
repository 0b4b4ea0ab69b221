// with and raise. A try block costs nothing as long as nothing raises; what would raise leaves the
// graph, so that handlers are CPython's.
#include "symbolic/errstate.h"
#include "symbolic/interpreter.h"
#include "symbolic/pure.h"

namespace numlift::frame_eval {

namespace {

void before_with(Interpreter& interpreter, Frame& frame, const Instruction&) {
  Sym manager = frame.pop();
  auto state = std::dynamic_pointer_cast<ErrstateValue>(manager);
  if (!state) throw_break("unsupported_value", fmt::format("with on a {}", type_name(manager)));
  frame.push(std::make_shared<ErrstateExit>(state));
  state->enter(interpreter.tracer);
  frame.push(interpreter.none());
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
  set(Instr::kRaiseVarargs, raise_varargs);
  set(Instr::kReraise, reraise);
}

}  // namespace numlift::frame_eval
