// Calls, and functions made in the frame.
#include "symbolic/calls.h"
#include "symbolic/containers.h"
#include "symbolic/interpreter.h"
#include "symbolic/iterators.h"
#include "symbolic/pure.h"

namespace numlift::frame_eval {

namespace {

// Callable and self-or-NULL lie under the arguments, in an order that depends on the version: a
// NULL on either place means a plain call of the other.
Sym pop_callable(Frame& frame, CallArguments* arguments) {
  Sym second = frame.pop(), first = frame.pop();
  if (is_null(first)) return second;
  if (!is_null(second)) arguments->positional.insert(arguments->positional.begin(), second);
  return first;
}

// What the callable returns is the instruction's result: a frame that it runs can be suspended.
void call_directly(Interpreter& interpreter, Frame& frame, CallArguments arguments) {
  Sym callable = pop_callable(frame, &arguments);
  interpreter.direct_caller = &frame;
  Sym result = call_value(interpreter, callable, std::move(arguments));
  interpreter.direct_caller = nullptr;
  frame.push(std::move(result));
}

void call_with_names(Interpreter& interpreter, Frame& frame, int count, const Ref& names) {
  CallArguments arguments;
  arguments.positional = frame.pop_many(count);
  if (names) {
    const auto named = static_cast<size_t>(PyTuple_GET_SIZE(names.get()));
    const size_t first = arguments.positional.size() - named;
    for (size_t i = 0; i < named; ++i) {
      arguments.keywords.emplace_back(
          Ref::create(PyTuple_GET_ITEM(names.get(), static_cast<Py_ssize_t>(i))),
          std::move(arguments.positional[first + i]));
    }
    arguments.positional.resize(first);
  }
  call_directly(interpreter, frame, std::move(arguments));
}

void kw_names(Interpreter&, Frame& frame, const Instruction& instruction) {
  frame.keyword_names = Ref::create(instruction.constant);
}

void call(Interpreter& interpreter, Frame& frame, const Instruction& instruction) {
  const Ref names = std::exchange(frame.keyword_names, Ref());
  call_with_names(interpreter, frame, instruction.arg, names);
}

void call_kw(Interpreter& interpreter, Frame& frame, const Instruction& instruction) {
  Sym names = frame.pop();
  call_with_names(interpreter, frame, instruction.arg, Ref::create(object_of(names)));
}

void call_function_ex(Interpreter& interpreter, Frame& frame, const Instruction& instruction) {
  CallArguments arguments;
  Sym mapping;
  if (instruction.flag || instruction.flag2) mapping = frame.pop();
  Sym positional = frame.pop();
  arguments.positional = collect_items(interpreter, positional);
  if (mapping && !is_null(mapping)) {
    if (!is_dict(mapping)) throw_break("unsupported_call", "** of a " + type_name(mapping));
    for (const auto& [key, value] : dict_items(interpreter, mapping)) {
      if (!PyUnicode_CheckExact(object_of(key).get()))
        throw_break("would_raise", "keywords must be strings");
      arguments.keywords.emplace_back(Ref::create(object_of(key)), value);
    }
  }
  call_directly(interpreter, frame, std::move(arguments));
}

// ---- functions made in the frame. Flags: 1 defaults, 2 keyword defaults, 4 annotations, 8
// closure.

void set_function_part(Interpreter& interpreter, FunctionValue& function, int flag,
                       const Sym& part) {
  switch (flag) {
    case 1:
      function.defaults = sequence_items(interpreter, part);
      return;
    case 2:
      for (const auto& [key, value] : dict_items(interpreter, part)) {
        function.kwdefaults.emplace_back(Ref::create(object_of(key)), value);
      }
      return;
    case 8:
      for (const Sym& cell : as<SequenceValue>(part).items) {
        function.closure.push_back(std::static_pointer_cast<CellValue>(cell));
      }
      return;
    default:
      function.annotations = part;
  }
}

void make_function(Interpreter& interpreter, Frame& frame, const Instruction& instruction) {
  auto function = std::make_shared<FunctionValue>();
  Sym code = frame.pop();
  function->code = Ref::create(object_of(code));
  function->globals = frame.globals;
  for (int flag : {8, 4, 2, 1}) {
    if (instruction.arg & flag) {
      Sym part = frame.pop();
      set_function_part(interpreter, *function, flag, part);
    }
  }
  frame.push(std::move(function));
}

void set_function_attribute(Interpreter& interpreter, Frame& frame,
                            const Instruction& instruction) {
  Sym function = frame.pop(), part = frame.pop();
  if (function->kind != SymKind::kFunction) {
    throw_break("side_effect", "a function is completed that CPython has made");
  }
  set_function_part(interpreter, as<FunctionValue>(function), instruction.arg, part);
  frame.push(function);
}

}  // namespace

void install_call(HandlerTable& table) {
  auto set = [&](Instr op, InstructionHandler handler) {
    table[static_cast<size_t>(op)] = handler;
  };
  set(Instr::kKwNames, kw_names);
  set(Instr::kCall, call);
  set(Instr::kCallKw, call_kw);
  set(Instr::kCallFunctionEx, call_function_ex);
  set(Instr::kMakeFunction, make_function);
  set(Instr::kSetFunctionAttribute, set_function_attribute);
}

}  // namespace numlift::frame_eval
