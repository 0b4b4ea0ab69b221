// raise, except, finally and with. A try block costs nothing as long as nothing raises; what raises
// goes on in the handler that CPython's exception table names (Interpreter::unwind).
#include "symbolic/attributes.h"
#include "symbolic/calls.h"
#include "symbolic/containers.h"
#include "symbolic/context_managers.h"
#include "symbolic/exceptions.h"
#include "symbolic/interpreter.h"
#include "symbolic/pure.h"

namespace numlift::frame_eval {

namespace {

// ---- raise

Sym instance_of(Interpreter& interpreter, const Sym& value) {
  if (is_exception(value)) return value;
  if (value->kind == SymKind::kObject) {
    BorrowedRef object = object_of(value);
    if (PyExceptionClass_Check(object.get())) {
      const Sym made = call_value(interpreter, value, {});
      if (is_exception(made)) return made;
    } else if (PyExceptionInstance_Check(object.get())) {
      // It gets a traceback and a context: a change of an object from outside.
      throw_break("would_raise", fmt::format("{} from outside is raised", object.type()->tp_name));
    }
  }
  throw_error(PyExc_TypeError, "exceptions must derive from BaseException");
}

Sym cause_of(Interpreter& interpreter, const Sym& value) {
  if (is_object(value, Py_None)) return nullptr;
  if (value->kind == SymKind::kObject) {
    BorrowedRef object = object_of(value);
    if (PyExceptionInstance_Check(object.get())) return value;
    if (!PyExceptionClass_Check(object.get())) {
      throw_error(PyExc_TypeError, "exception causes must derive from BaseException");
    }
  }
  return instance_of(interpreter, value);
}

void raise_varargs(Interpreter& interpreter, Frame& frame, const Instruction& instruction) {
  if (instruction.arg == 0) {
    const Sym handled = interpreter.topmost_handled();
    if (!handled) throw_break("would_raise", "an exception that came in from outside goes on");
    throw Raised{as_exception(handled), false, false, "an exception goes on"};
  }
  const Sym cause = instruction.arg == 2 ? frame.pop() : nullptr;
  const auto exception = as_exception(instance_of(interpreter, frame.pop()));
  if (cause) {
    exception->cause = cause_of(interpreter, cause);
    exception->suppress_context = true;
  }
  throw Raised{exception, true, true, type_name(exception) + " is raised"};
}

void reraise(Interpreter&, Frame& frame, const Instruction&) {
  throw Raised{as_exception(frame.pop()), false, false, "an exception goes on"};
}

// ---- except. What was handled before stands under the exception on the stack, NULL for none of
// the trace's own.

void push_exc_info(Interpreter& interpreter, Frame& frame, const Instruction&) {
  Sym exception = frame.pop();
  frame.push(interpreter.handled->value ? interpreter.handled->value : null_value());
  interpreter.handled->value = exception;
  frame.push(std::move(exception));
}

void pop_except(Interpreter& interpreter, Frame& frame, const Instruction&) {
  Sym before = frame.pop();
  interpreter.handled->value = is_null(before) ? nullptr : std::move(before);
}

void check_exc_match(Interpreter& interpreter, Frame& frame, const Instruction&) {
  Sym classes = frame.pop();
  frame.push(interpreter.boolean(matches(interpreter, frame.peek(), classes)));
}

void check_eg_match(Interpreter& interpreter, Frame& frame, const Instruction&) {
  Sym classes = frame.pop(), exception = frame.pop();
  GroupParts parts = match_group(interpreter, exception, classes);
  if (is_exception(parts.match)) interpreter.handled->value = parts.match;
  frame.push(std::move(parts.rest));
  frame.push(std::move(parts.match));
}

void prep_reraise_star(Interpreter& interpreter, Frame& frame, const Instruction&) {
  Sym results = frame.pop(), original = frame.pop();
  frame.push(reraised_of_group(interpreter, original, sequence_items(interpreter, results)));
}

// ---- with

void before_with(Interpreter& interpreter, Frame& frame, const Instruction&) {
  const Sym manager = frame.pop();
  const Sym enter = context_method(interpreter, manager, ContextMethod::kEnter);
  frame.push(context_method(interpreter, manager, ContextMethod::kExit));
  frame.push(call_value(interpreter, enter, {}));
}

// From 3.14 on: a method and its self-or-NULL, which a Call then takes.
void load_special(Interpreter& interpreter, Frame& frame, const Instruction& instruction) {
  const Sym manager = frame.pop();
  frame.push(context_method(interpreter, manager, static_cast<ContextMethod>(instruction.arg)));
  frame.push(null_value());
}

void with_except_start(Interpreter& interpreter, Frame& frame, const Instruction&) {
  const Sym exception = frame.peek(1);
  // [exit, NULL, lasti, before, exception], without the NULL up to 3.13.
  const Sym exit = frame.peek(is_null(frame.peek(4)) ? 5 : 4);
  const auto& raised = as<ExceptionValue>(exception);
  frame.push(call_value(interpreter, exit,
                        {{interpreter.object(raised.type), exception,
                          std::make_shared<TracebackValue>(raised, raised.traceback)},
                         {}}));
}

}  // namespace

void install_exception(HandlerTable& table) {
  auto set = [&](Instr op, InstructionHandler handler) {
    table[static_cast<size_t>(op)] = handler;
  };
  set(Instr::kBeforeWith, before_with);
  set(Instr::kLoadSpecial, load_special);
  set(Instr::kWithExceptStart, with_except_start);
  set(Instr::kRaiseVarargs, raise_varargs);
  set(Instr::kReraise, reraise);
  set(Instr::kPushExcInfo, push_exc_info);
  set(Instr::kPopExcept, pop_except);
  set(Instr::kCheckExcMatch, check_exc_match);
  set(Instr::kCheckEgMatch, check_eg_match);
  set(Instr::kPrepReraiseStar, prep_reraise_star);
}

}  // namespace numlift::frame_eval
