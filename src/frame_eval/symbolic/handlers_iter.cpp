// Iteration and generators.
#include "numlift/py/py_error.h"
#include "symbolic/interpreter.h"
#include "symbolic/async_generators.h"
#include "symbolic/calls.h"
#include "symbolic/context_managers.h"
#include "symbolic/generators.h"
#include "symbolic/iterators.h"
#include "symbolic/pure.h"
#include "symbolic/regions.h"
#include "symbolic/type_parameters.h"

namespace numlift::frame_eval {

namespace {

void get_iter(Interpreter& interpreter, Frame& frame, const Instruction&) {
  Sym value = frame.pop();
  frame.push(make_iterator(interpreter, value));
}

void for_iter(Interpreter& interpreter, Frame& frame, const Instruction& instruction) {
  if (frame.peek()->kind != SymKind::kIterator) {
    throw_break("outside_iterator", fmt::format("iteration over a {} that came in from outside",
                                                type_name(frame.peek())));
  }
  if (interpreter.regions != nullptr && interpreter.regions->capture_for(frame, instruction))
    return;
  if (Sym item = as<IteratorValue>(frame.peek()).next(interpreter.tracer)) {
    count_trip(frame, frame.next, interpreter.tracer.graph().size());
    frame.push(std::move(item));
    return;
  }
  frame.trips.erase(frame.next);
  end_for(frame, instruction);
}

void pop_by_effect(Interpreter&, Frame& frame, const Instruction& instruction) {
  frame.pop_many(-stack_effect(instruction, false));
}

// The frame is a generator's: making the generator is the caller's part, the rest goes on here.
void return_generator(Interpreter& interpreter, Frame& frame, const Instruction&) {
  frame.push(interpreter.none());  // dropped by the POP_TOP that follows
}

void get_yield_from_iter(Interpreter& interpreter, Frame& frame, const Instruction& instruction) {
  get_iter(interpreter, frame, instruction);
}

// `yield from`: gives on what the inner iterator gives, then leaves its result.
void send(Interpreter& interpreter, Frame& frame, const Instruction& instruction) {
  Sym sent = frame.pop();
  const Sym inner = frame.peek();
  Sym item;
  if (is_generator(inner)) {
    item = resume_generator(interpreter, *as<GeneratorValue>(inner).body, sent);
  } else {
    if (!is_object(sent, Py_None) || inner->kind != SymKind::kIterator) {
      throw_break("generator", "send() into a generator that waits for another iterator");
    }
    item = as<IteratorValue>(inner).next(interpreter.tracer);
  }
  if (item) {
    frame.push(std::move(item));
    return;
  }
  // As for loops: whether the iterator is gone at the target depends on the version.
  if (stack_effect(instruction, true) < 0) frame.pop();
  frame.push(generator_result(interpreter, inner));
  frame.next = static_cast<size_t>(instruction.target);
}

void get_awaitable(Interpreter& interpreter, Frame& frame, const Instruction&) {
  Sym value = frame.pop();
  frame.push(make_awaitable(interpreter, value));
}

// An inner iterator has got what was thrown into it, and its exception is here: the end of it is
// the value of the whole.
void cleanup_throw(Interpreter& interpreter, Frame& frame, const Instruction&) {
  const auto exception = as_exception(frame.pop());
  if (!is_instance(*exception, PyExc_StopIteration)) {
    throw Raised{exception, false, false, "an exception goes on"};
  }
  frame.pop();
  frame.pop();
  frame.push(interpreter.none());
  Ref name = checked(PyUnicode_InternFromString("value"));
  frame.push(exception_attribute(interpreter, exception, name));
}

void stop_iteration_intrinsic(Frame& frame) {
  const auto exception = as_exception(frame.peek());
  if (must_not_leave(*frame.bytecode, *exception)) {
    frame.peek() = stop_iteration_error(*frame.bytecode, exception);
  }
}

void call_intrinsic_1(Interpreter&, Frame& frame, const Instruction& instruction) {
  constexpr int kStopIterationError = 3, kTypeVar = 7, kParamSpec = 8, kTypeVarTuple = 9,
                kTypeAlias = 11;
  switch (instruction.arg) {
    case kStopIterationError:
      stop_iteration_intrinsic(frame);
      return;
    case kTypeVar:
    case kParamSpec:
    case kTypeVarTuple:
    case kTypeAlias:
      frame.peek() = std::make_shared<TypeParameterValue>();
      return;
    default:
      throw_break("unsupported_instruction", fmt::format("the intrinsic {}", instruction.arg));
  }
}

void call_intrinsic_2(Interpreter&, Frame& frame, const Instruction& instruction) {
  constexpr int kTypeVarWithBound = 2, kTypeVarWithConstraints = 3, kSetFunctionTypeParameters = 4;
  Sym second = frame.pop(), first = frame.pop();
  if (instruction.arg == kTypeVarWithBound || instruction.arg == kTypeVarWithConstraints) {
    frame.push(std::make_shared<TypeParameterValue>());
    return;
  }
  if (instruction.arg != kSetFunctionTypeParameters || first->kind != SymKind::kFunction) {
    throw_break("unsupported_instruction", fmt::format("the binary intrinsic {}", instruction.arg));
  }
  as<FunctionValue>(first).type_parameters = std::move(second);
  frame.push(std::move(first));
}

// ---- async

void get_aiter(Interpreter& interpreter, Frame& frame, const Instruction&) {
  Sym value = frame.pop();
  frame.push(async_iterator(interpreter, value));
}

void get_anext(Interpreter& interpreter, Frame& frame, const Instruction&) {
  frame.push(async_next(interpreter, Sym(frame.peek())));
}

void async_gen_wrap(Interpreter&, Frame& frame, const Instruction&) {
  Sym value = frame.pop();
  frame.push(wrap_yielded(value));
}

void end_async_for(Interpreter&, Frame& frame, const Instruction&) {
  const auto exception = as_exception(frame.pop());
  if (!is_instance(*exception, PyExc_StopAsyncIteration)) {
    throw Raised{exception, false, false, "an exception goes on"};
  }
  frame.pop();
}

void before_async_with(Interpreter& interpreter, Frame& frame, const Instruction&) {
  const Sym manager = frame.pop();
  const Sym enter = context_method(interpreter, manager, ContextMethod::kAsyncEnter);
  frame.push(context_method(interpreter, manager, ContextMethod::kAsyncExit));
  frame.push(call_value(interpreter, enter, {}));
}

void end_send(Interpreter&, Frame& frame, const Instruction&) {
  Sym result = frame.pop();
  frame.peek() = std::move(result);
}

}  // namespace

void install_iter(HandlerTable& table) {
  auto set = [&](Instr op, InstructionHandler handler) {
    table[static_cast<size_t>(op)] = handler;
  };
  set(Instr::kGetIter, get_iter);
  set(Instr::kForIter, for_iter);
  set(Instr::kEndFor, pop_by_effect);
  set(Instr::kPopIter, pop_by_effect);
  set(Instr::kSend, send);
  set(Instr::kEndSend, end_send);
  set(Instr::kReturnGenerator, return_generator);
  set(Instr::kGetYieldFromIter, get_yield_from_iter);
  set(Instr::kGetAwaitable, get_awaitable);
  set(Instr::kCleanupThrow, cleanup_throw);
  set(Instr::kCallIntrinsic1, call_intrinsic_1);
  set(Instr::kCallIntrinsic2, call_intrinsic_2);
  set(Instr::kGetAiter, get_aiter);
  set(Instr::kGetAnext, get_anext);
  set(Instr::kAsyncGenWrap, async_gen_wrap);
  set(Instr::kEndAsyncFor, end_async_for);
  set(Instr::kBeforeAsyncWith, before_async_with);
}

}  // namespace numlift::frame_eval
