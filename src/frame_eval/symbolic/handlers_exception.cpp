// with and raise. A try block costs nothing as long as nothing raises; what would raise leaves the
// graph, so that handlers are CPython's.
#include "symbolic/error_region_value.h"
#include "symbolic/errstate.h"
#include "symbolic/interpreter.h"
#include "symbolic/pure.h"

namespace numlift::frame_eval {

namespace {

std::shared_ptr<ErrstateValue> as_errstate(const Sym& manager) {
  auto state = std::dynamic_pointer_cast<ErrstateValue>(manager);
  if (!state) throw_break("with_statement", fmt::format("with on a {}", type_name(manager)));
  return state;
}

void before_with(Interpreter& interpreter, Frame& frame, const Instruction&) {
  Sym manager = frame.pop();
  if (auto region = std::dynamic_pointer_cast<ErrorRegionValue>(manager)) {
    frame.push(std::make_shared<ErrorRegionExit>(interpreter, region));
    region->enter(interpreter.tracer);
  } else {
    auto state = as_errstate(manager);
    frame.push(std::make_shared<ErrstateExit>(state));
    state->enter(interpreter.tracer);
  }
  frame.push(interpreter.none());
}

// From 3.14 on: a method and its self-or-NULL, which a Call then takes.
void load_special(Interpreter& interpreter, Frame& frame, const Instruction& instruction) {
  constexpr int kEnter = 0, kExit = 1;
  if (instruction.arg != kEnter && instruction.arg != kExit) {
    throw_break("unsupported_instruction", "async with");
  }
  const bool is_enter = instruction.arg == kEnter;
  Sym manager = frame.pop(), method;
  if (auto region = std::dynamic_pointer_cast<ErrorRegionValue>(manager)) {
    if (is_enter) {
      method = std::make_shared<ErrorRegionEnter>(region);
    } else {
      method = std::make_shared<ErrorRegionExit>(interpreter, region);
    }
  } else if (is_enter) {
    method = std::make_shared<ErrstateEnter>(as_errstate(manager));
  } else {
    method = std::make_shared<ErrstateExit>(as_errstate(manager));
  }
  frame.push(std::move(method));
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
