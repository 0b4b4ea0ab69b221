// The interpreter's loop, outside cells and globals, and trace_call().
#include "symbolic/interpreter.h"

#include "numlift/numpy_shim/errstate.h"
#include "numlift/py/py_error.h"
#include "numlift/support/options.h"
#include "symbolic/limits.h"
#include "symbolic/numpy_calls.h"

namespace numlift::frame_eval {

using guards::Source;
using guards::SourcePtr;

namespace {

const HandlerTable& handler_table() {
  static const HandlerTable table = [] {
    HandlerTable handlers{};
    install_load_store(handlers);
    install_arith(handlers);
    install_call(handlers);
    install_build(handlers);
    install_control(handlers);
    install_exception(handlers);
    install_iter(handlers);
    return handlers;
  }();
  return table;
}

}  // namespace

std::string utf8_text(BorrowedRef text) {
  const char* chars = text && PyUnicode_Check(text.get()) ? PyUnicode_AsUTF8(text.get()) : nullptr;
  if (chars == nullptr) PyErr_Clear();
  return chars == nullptr ? "?" : chars;
}

Interpreter::Interpreter(Tracer& tracer)
    : tracer(tracer), none_(object(Py_None)), true_(object(Py_True)), false_(object(Py_False)) {}

Sym Interpreter::integer(int64_t value) {
  return tracer.constant(checked(PyLong_FromLongLong(value)));
}

Sym Interpreter::text(const std::string& value) {
  return tracer.constant(
      checked(PyUnicode_FromStringAndSize(value.data(), static_cast<Py_ssize_t>(value.size()))));
}

// ---------------------------------------------------------------- frames

Sym Interpreter::run_root(BorrowedRef function, const guards::CallInputs& inputs) {
  auto* code = reinterpret_cast<PyCodeObject*>(PyFunction_GET_CODE(function.get()));
  if (code->co_flags & (CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR)) {
    throw_break("unsupported_instruction", "the function is a generator or coroutine");
  }
  if (!(code->co_flags & CO_OPTIMIZED)) {
    throw_break("unsupported_instruction", "the code has no fast locals");
  }
  auto frame = make_empty_frame(code, Ref::create(PyFunction_GET_GLOBALS(function.get())),
                                open_closure(function, nullptr));
  tracer.set_location(frame->file, frame->name, code->co_firstlineno);
  Ref names = checked(PyCode_GetVarnames(code));
  const int plain = code->co_argcount + code->co_kwonlyargcount;
  const int extra = ((code->co_flags & CO_VARARGS) ? 1 : 0);
  const int total = plain + extra + ((code->co_flags & CO_VARKEYWORDS) ? 1 : 0);
  for (int i = 0; i < total; ++i) {
    Ref value = Ref::create(inputs.arguments[i]);
    auto source = Source::argument(i, Ref::create(PyTuple_GET_ITEM(names.get(), i)));
    auto& slot = frame->slots[static_cast<size_t>(i)];
    if (i == plain + extra) {
      slot = open_keywords(value, source);
    } else {
      slot = tracer.outside(std::move(value), std::move(source));
    }
  }
  return run(*frame);
}

Sym Interpreter::open_keywords(BorrowedRef dict, const SourcePtr& source) {
  // The dict was made for this call: it is the frame's own, only its contents are from outside.
  auto value = std::make_shared<DictValue>();
  guard_key_order(source, dict);
  PyObject *key, *item;
  Py_ssize_t position = 0;
  while (PyDict_Next(dict.get(), &position, &key, &item)) {
    value->items.emplace_back(object(key),
                              tracer.outside(Ref::create(item), Source::dict_item(source, key)));
  }
  return value;
}

Sym Interpreter::run(Frame& frame) {
  Sym result = resume(frame);
  NUMLIFT_CHECK(frame.done, "a frame of {} that is no generator has yielded", frame.name);
  return result;
}

Sym Interpreter::resume(Frame& frame) {
  if (depth_ >= kMaxInlineDepth) {
    throw_break("too_long",
                fmt::format("calls nested {} deep while tracing {}", depth_, frame.name));
  }
  Frame* const caller = std::exchange(current_, &frame);
  ++depth_;
  // A Break leaves the interpreter for good, so that the restore below needs no scope object.
  Sym result = run_instructions(frame);
  --depth_;
  current_ = caller;
  if (caller != nullptr) locate(*caller);
  return result;
}

void Interpreter::locate(const Frame& frame) {
  const auto& instructions = frame.bytecode->instructions;
  if (frame.next == 0 || frame.next > instructions.size()) return;
  const int line = instructions[frame.next - 1].position.line;
  if (line > 0) tracer.set_location(frame.file, frame.name, line);
}

Sym Interpreter::run_instructions(Frame& frame) {
  const HandlerTable& handlers = handler_table();
  const auto& instructions = frame.bytecode->instructions;
  int line = -1;
  for (;;) {
    NUMLIFT_CHECK(frame.next < instructions.size(), "ran off the end of {}", frame.name);
    const Instruction& instruction = instructions[frame.next++];
    if (instruction.position.line != line && instruction.position.line > 0) {
      line = instruction.position.line;
      tracer.set_location(frame.file, frame.name, line);
    }
    if (++instructions_ > kMaxInstructions) {
      throw_break("too_long", fmt::format("more than {} instructions traced", kMaxInstructions));
    }
    if (instruction.op == Instr::kReturnValue) {
      frame.done = true;
      return frame.pop();
    }
    if (instruction.op == Instr::kReturnConst) {
      frame.done = true;
      return object(instruction.constant);
    }
    if (instruction.op == Instr::kYieldValue) {
      check_yield(frame, instruction);
      return frame.pop();
    }
    const InstructionHandler handler = handlers[static_cast<size_t>(instruction.op)];
    if (handler == nullptr) {
      throw_break("unsupported_instruction",
                  fmt::format("the instruction {}", instruction_name(instruction.op)));
    }
    handler(*this, frame, instruction);
  }
}

void Interpreter::check_yield(const Frame& frame, const Instruction& instruction) {
  // A generator that is left alone runs its finally blocks when it is dropped; those are not
  // traced. The handler that turns StopIteration into RuntimeError stands around every generator's
  // body.
  if (instruction.handler == kNoTarget) return;
  const numlift::Handler& target =
      frame.bytecode->handlers[static_cast<size_t>(instruction.handler)];
  const Instruction& first = frame.bytecode->instructions[static_cast<size_t>(target.target)];
  if (first.op == Instr::kCallIntrinsic1 || first.op == Instr::kCleanupThrow) return;
  throw_break("unsupported_instruction", "yield inside try or with");
}

// ---------------------------------------------------------------- globals and cells

Sym Interpreter::load_global(const Frame& frame, BorrowedRef name) {
  const auto key = std::make_pair(frame.globals.get(), name.get());
  if (auto found = globals_.find(key); found != globals_.end()) return found->second;
  SourcePtr source = Source::global(frame.globals, name);
  BorrowedRef value = source->read({});
  if (!value) throw_break("would_raise", fmt::format("name '{}' is not defined", utf8_text(name)));
  Sym result = tracer.outside(Ref::create(value), std::move(source));
  globals_.emplace(key, result);
  return result;
}

void Interpreter::guard_key_order(const SourcePtr& source, BorrowedRef dict) {
  Ref keys = checked(PySequence_Tuple(dict.get()));
  tracer.guard(source, guards::HasKeys{std::move(keys)}, "its keys are used at " + location_text());
}

std::vector<std::shared_ptr<CellValue>> Interpreter::open_closure(BorrowedRef function,
                                                                  const SourcePtr& source) {
  std::vector<std::shared_ptr<CellValue>> cells;
  PyObject* closure = PyFunction_GET_CLOSURE(function.get());
  if (closure == nullptr) return cells;
  auto* code = reinterpret_cast<PyCodeObject*>(PyFunction_GET_CODE(function.get()));
  Ref names = checked(PyCode_GetFreevars(code));
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(closure); ++i) {
    PyObject* real = PyTuple_GET_ITEM(closure, i);
    auto [found, is_new] = cells_.try_emplace(real);
    if (is_new) {
      found->second.value = std::make_shared<CellValue>();
      found->second.value->outside = Ref::create(real);
      found->second.source =
          Source::closure(source, i, Ref::create(PyTuple_GET_ITEM(names.get(), i)));
    }
    cells.push_back(found->second.value);
  }
  return cells;
}

Sym Interpreter::read_cell(CellValue& cell) {
  if (!cell.content && cell.outside) {
    OutsideCell& outside = cells_.at(cell.outside.get());
    BorrowedRef now = PyCell_GET(cell.outside.get());
    if (now) cell.content = tracer.outside(Ref::create(now), outside.source);
  }
  if (!cell.content) throw_break("would_raise", "a variable of an enclosing function is not set");
  return cell.content;
}

// ---------------------------------------------------------------- trace_call

std::variant<TraceResult, TraceBreak> trace_call(BorrowedRef function,
                                                 const guards::CallInputs& inputs) {
  Tracer tracer(function, inputs);
  tracer.fp_checks = numpy_shim::current_fp_checks();
  try {
    try {
      Interpreter interpreter(tracer);
      return tracer.finish(interpreter.run_root(function, inputs));
    } catch (const PyError&) {
      // Only what Python itself does on real constants can fail so: the code raises there.
      PyErr_Clear();
      throw_break("would_raise", "an operation on constants raises");
    } catch (const SizeOverflowError& error) {
      throw_break("unsupported_value", error.what());
    }
  } catch (const Break& reason) {
    PyErr_Clear();
    return tracer.finish_break(reason);
  }
}

}  // namespace numlift::frame_eval
