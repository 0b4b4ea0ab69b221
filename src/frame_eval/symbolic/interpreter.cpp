// The interpreter's loop, outside cells and globals, and trace_call().
#include "symbolic/interpreter.h"

#include <algorithm>

#include "numlift/numpy_shim/errstate.h"
#include "numlift/py/py_error.h"
#include "numlift/support/options.h"
#include "symbolic/limits.h"
#include "numlift/numpy_shim/numpy.h"
#include "numlift/frame_eval/marks.h"
#include "symbolic/hatch_calls.h"
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

int64_t& trace_clock() {
  static thread_local int64_t clock = 0;
  return clock;
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
    throw_break("generator", "the function is a generator or coroutine");
  }
  if (!(code->co_flags & CO_OPTIMIZED)) {
    throw_break("unsupported_instruction", "the code has no fast locals");
  }
  auto frame = make_empty_frame(code, Ref::create(PyFunction_GET_GLOBALS(function.get())),
                                open_closure(function, nullptr));
  tracer.set_location(frame->file, frame->name, code->co_firstlineno);
  if (const MarkEntry* mark = find_mark(function); mark && mark->mark == Mark::kDisabled) {
    throw_break("disabled", mark->text);
  }
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

namespace {

std::vector<UserFrame> user_stack(const Frame& innermost) {
  std::vector<UserFrame> stack;
  for (const Frame* frame = &innermost; frame != nullptr; frame = frame->caller) {
    const auto& instructions = frame->bytecode->instructions;
    // Instructions that the compiler added have no line: they belong to what comes before.
    size_t index = std::min(frame->unit, instructions.size() - 1);
    while (index > 0 && instructions[index].position.line <= 0) --index;
    stack.push_back({frame->file, frame->resume_name.empty() ? frame->name : frame->resume_name,
                     instructions[index].position});
  }
  std::reverse(stack.begin(), stack.end());
  return stack;
}

// All frames from the root to this one wait for nothing but the value of a call instruction.
bool can_be_suspended(const Frame& frame) {
  for (const Frame* one = &frame; one->caller != nullptr; one = one->caller) {
    if (!one->is_direct) return false;
  }
  return true;
}

}  // namespace

Sym Interpreter::resume(Frame& frame) {
  if (depth_ >= kMaxInlineDepth) {
    throw_break("too_deep",
                fmt::format("calls nested {} deep while tracing {}", depth_, frame.name));
  }
  Frame* const caller = std::exchange(current_, &frame);
  frame.caller = caller;
  ++depth_;
  // A Break leaves the interpreter for good, so that the restore below needs no scope object.
  Sym result;
  try {
    result = run_instructions(frame);
  } catch (Break& reason) {
    place_break(frame, &reason);
    throw;
  } catch (const PyError&) {
    if (must_reach_user()) throw;
    // Only what Python itself does on real constants can fail so: the code raises there.
    PyErr_Clear();
    Break reason{"would_raise", "an operation on constants raises"};
    place_break(frame, &reason);
    throw reason;
  } catch (const SizeOverflowError& error) {
    Break reason{"unsupported_value", error.what()};
    place_break(frame, &reason);
    throw reason;
  }
  --depth_;
  current_ = caller;
  if (caller != nullptr) locate(*caller);
  return result;
}

// The clock of the innermost frame that can be suspended, unless the break names an earlier one.
void Interpreter::place_break(const Frame& frame, Break* reason) {
  if (reason->user_stack.empty()) reason->user_stack = user_stack(frame);
  if (reason->is_placed) return;
  reason->is_placed = true;
  const Frame* place = &frame;
  while (!can_be_suspended(*place)) place = place->caller;
  if (place != &frame || reason->clock < 0) reason->clock = place->unit_clock;
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
  const bool is_suspendable = can_be_suspended(frame);
  int line = -1;
  for (;;) {
    NUMLIFT_CHECK(frame.next < instructions.size(), "ran off the end of {}", frame.name);
    const size_t index = frame.next++;
    const Instruction& instruction = instructions[index];
    if (instruction.position.line != line && instruction.position.line > 0) {
      line = instruction.position.line;
      tracer.set_location(frame.file, frame.name, line);
    }
    if (++instructions_ > kMaxInstructions) {
      throw_break("too_many_operations",
                  fmt::format("more than {} instructions traced", kMaxInstructions));
    }
    if (!frame.keyword_names) {
      frame.unit = index;
      frame.unit_clock = instructions_;
      if (is_suspendable) trace_clock() = instructions_;
      if (instructions_ == stop_at) stop(frame, index);
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
      throw_break(
          instruction.op == Instr::kLoadBuildClass ? "class_made" : "unsupported_instruction",
          fmt::format("the instruction {}", instruction_name(instruction.op)));
    }
    handler(*this, frame, instruction);
  }
}

namespace {

// What CPython gets to see at a break.
class HandedOut {
 public:
  void add(const Sym& value) {
    if (!seen_.insert(value.get()).second) return;
    switch (value->kind) {
      case SymKind::kArray:
        storages_.push_back(static_cast<const ArrayValue&>(*value).storage.get());
        break;
      case SymKind::kTuple:
      case SymKind::kList:
      case SymKind::kSet:
        for (const Sym& item : static_cast<const SequenceValue&>(*value).items) add(item);
        break;
      case SymKind::kDict:
        for (const auto& [key, item] : static_cast<const DictValue&>(*value).items) add(item);
        break;
      case SymKind::kFunction:
      case SymKind::kMethod:
      case SymKind::kCell:
      case SymKind::kIterator:
        holds_anything_ = true;
        break;
      case SymKind::kNull:
      case SymKind::kObject:
      case SymKind::kScalar:
      case SymKind::kSize:
      case SymKind::kSlice:
        break;
    }
  }

  // Nobody can tell when the value goes, or whether it was ever made.
  bool leaves_unseen(const Sym& value) const {
    if (value->kind == SymKind::kScalar || value->kind == SymKind::kSize) return !value->source;
    if (value->kind != SymKind::kArray || value->source || holds_anything_) return false;
    const Storage* storage = static_cast<const ArrayValue&>(*value).storage.get();
    return !storage->is_input &&
           std::find(storages_.begin(), storages_.end(), storage) == storages_.end();
  }

 private:
  std::set<const SymbolicValue*> seen_;
  std::vector<const Storage*> storages_;
  bool holds_anything_ = false;
};

// The unit is a call, and of something else than a builtin: code that may look at the frames above.
bool may_call_python(const Frame& frame, const Bytecode& bytecode, int32_t begin) {
  const InstructionUnit unit = unit_at(bytecode, begin);
  const Instruction& call = bytecode.instructions[static_cast<size_t>(unit.end - 1)];
  size_t depth = 0;  // of the callable, or of its NULL or self
  if (call.op == Instr::kCall) depth = static_cast<size_t>(call.arg) + 2;
  if (call.op == Instr::kCallKw) depth = static_cast<size_t>(call.arg) + 3;
  if (call.op == Instr::kCallFunctionEx) return true;
  if (depth == 0 || depth > frame.stack.size()) return false;
  for (const size_t place : {depth, depth - 1}) {
    const Sym& callable = frame.stack[frame.stack.size() - place];
    if (callable->kind == SymKind::kObject) {
      return !PyCFunction_Check(static_cast<const ObjectValue&>(*callable).object.get());
    }
    if (callable->kind == SymKind::kMethod) {
      return static_cast<const MethodValue&>(*callable).function != nullptr;
    }
  }
  return true;
}

}  // namespace

void Interpreter::stop(Frame& frame, size_t index) {
  const auto& bytecode = *frame.bytecode;
  const auto begin = static_cast<int32_t>(index);
  if (!can_leave_after(bytecode, unit_at(bytecode, begin))) {
    throw Break{"unsupported_instruction",
                fmt::format("{}, which CPython cannot be left behind",
                            instruction_name(bytecode.instructions[index].op)),
                -1, true};
  }
  std::vector<Frame*> chain;
  for (Frame* one = &frame; one != nullptr; one = one->caller) chain.insert(chain.begin(), one);
  const bool all_may_be_read = may_call_python(frame, bytecode, begin) ||
                               std::any_of(chain.begin(), chain.end(), [](const Frame* one) {
                                 return keeps_its_frame(*one->bytecode);
                               });
  StopTrace stopped;
  HandedOut handed_out;
  std::vector<std::vector<int32_t>> dead;  // by frame: set, and not read again
  for (const Frame* one : chain) {
    SuspendedFrame suspended{one->bytecode, one->globals, static_cast<int32_t>(one->next), {}, {}};
    std::vector<int32_t> starts;
    if (one == &frame) suspended.next = begin;
    starts.push_back(suspended.next);
    if (one != &frame) {
      const auto& call = one->bytecode->instructions[one->next - 1];
      if (call.handler != kNoTarget) {
        starts.push_back(one->bytecode->handlers[static_cast<size_t>(call.handler)].target);
      }
    }
    std::vector<int32_t> set;
    for (size_t slot = 0; slot < one->slots.size(); ++slot) {
      if (one->slots[slot]) set.push_back(static_cast<int32_t>(slot));
    }
    suspended.slots = all_may_be_read ? set : live_slots(*one->bytecode, starts, set);
    dead.emplace_back();
    std::set_difference(set.begin(), set.end(), suspended.slots.begin(), suspended.slots.end(),
                        std::back_inserter(dead.back()));
    for (const int32_t slot : suspended.slots)
      handed_out.add(one->slots[static_cast<size_t>(slot)]);
    for (const Sym& value : one->stack) {
      suspended.stack.push_back(!is_null(value));
      handed_out.add(value);
    }
    stopped.frames.push_back(std::move(suspended));
  }
  for (size_t i = 0; i < chain.size(); ++i) {
    const Frame& one = *chain[i];
    std::vector<int32_t>& slots = stopped.frames[i].slots;
    for (const int32_t slot : dead[i]) {
      if (!handed_out.leaves_unseen(one.slots[static_cast<size_t>(slot)])) slots.push_back(slot);
    }
    std::sort(slots.begin(), slots.end());
    for (const int32_t slot : slots) {
      stopped.values.push_back(one.slots[static_cast<size_t>(slot)]);
    }
    for (const Sym& value : one.stack) {
      if (!is_null(value)) stopped.values.push_back(value);
    }
  }
  throw stopped;
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
  throw_break("generator", "yield inside try or with");
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
    Ref name = Ref::create(PyTuple_GET_ITEM(names.get(), i));
    cells.push_back(open_cell(PyTuple_GET_ITEM(closure, i), Source::cell(source, i, name),
                              Source::closure(source, i, name)));
  }
  return cells;
}

std::shared_ptr<CellValue> Interpreter::open_cell(BorrowedRef cell, const SourcePtr& source,
                                                  const SourcePtr& content) {
  auto [found, is_new] = cells_.try_emplace(cell.get());
  OutsideCell& outside = found->second;
  if (is_new) {
    outside.value = std::make_shared<CellValue>();
    outside.value->outside = Ref::create(cell);
    outside.value->source = source;
    outside.source = content;
  } else {
    tracer.guard(source, guards::IsSame{outside.value->source}, "two variables share one cell");
  }
  return outside.value;
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

// ---------------------------------------------------------------- behind a graph break

namespace {

// Whether an object's identity can matter: what is not changed in place counts by its value.
bool has_identity(BorrowedRef object) {
  PyObject* raw = object.get();
  return raw != Py_None && raw != Py_Ellipsis && !PyBool_Check(raw) && !PyLong_CheckExact(raw) &&
         !PyFloat_CheckExact(raw) && !PyComplex_CheckExact(raw) && !PyUnicode_CheckExact(raw) &&
         !PyBytes_CheckExact(raw) && !PyArray_CheckScalar(raw);
}

}  // namespace

// One value in two places stays one.
Sym Interpreter::open_value(BorrowedRef object, const SourcePtr& source) {
  if (!has_identity(object)) return tracer.outside(Ref::create(object), source);
  auto [found, is_new] = values_.try_emplace(object.get());
  if (is_new) {
    found->second = tracer.outside(Ref::create(object), source);
  } else {
    tracer.guard(source, guards::IsSame{found->second->source}, "two variables hold one object");
  }
  return found->second;
}

Sym Interpreter::run_suspended(const std::vector<SuspendedFrame>& frames, const std::string& name,
                               const guards::CallInputs& inputs) {
  std::vector<std::unique_ptr<Frame>> open;
  int64_t argument = 0;
  for (const SuspendedFrame& suspended : frames) {
    auto frame = make_empty_frame(suspended.bytecode->code, suspended.globals, {});
    frame->next = static_cast<size_t>(suspended.next);
    frame->is_direct = !open.empty();
    // The frames around the last one stand behind their call.
    frame->resume_name = &suspended == &frames.back()
                             ? name
                             : resume_name(suspended.bytecode->code,
                                           suspended.bytecode->instructions[frame->next - 1]);
    const auto& position =
        suspended.bytecode->instructions[static_cast<size_t>(suspended.next)].position;
    tracer.set_location(frame->file, frame->name, std::max(position.line, 0));
    const auto kinds = local_slots(suspended.bytecode->code);
    for (const int32_t slot : suspended.slots) {
      const LocalSlot& kind = kinds[static_cast<size_t>(slot)];
      BorrowedRef value = inputs.arguments[argument];
      SourcePtr source = Source::argument(argument++, kind.name);
      frame->slots[static_cast<size_t>(slot)] =
          kind.is_cell || kind.is_free ? open_cell(value, source, Source::cell_content(source))
                                       : open_value(value, source);
    }
    for (size_t i = 0; i < suspended.stack.size(); ++i) {
      if (!suspended.stack[i]) {
        frame->push(null_value());
        continue;
      }
      Ref name = checked(PyUnicode_FromFormat("stack value %zu of %s", i, frame->name.c_str()));
      BorrowedRef value = inputs.arguments[argument];
      frame->push(open_value(value, Source::argument(argument++, std::move(name))));
    }
    open.push_back(std::move(frame));
  }
  return run_chain(open, 0);
}

Sym Interpreter::run_chain(const std::vector<std::unique_ptr<Frame>>& frames, size_t first) {
  Frame& frame = *frames[first];
  if (first + 1 < frames.size()) {
    frame.caller = std::exchange(current_, &frame);
    frame.unit = frame.next - 1;
    ++depth_;
    Sym result = run_chain(frames, first + 1);
    --depth_;
    current_ = frame.caller;
    frame.push(std::move(result));
  }
  return run(frame);
}

// ---------------------------------------------------------------- trace_call

std::variant<TraceResult, TraceBreak> trace_call(const TraceStart& start,
                                                 const guards::CallInputs& inputs) {
  std::optional<BreakInfo> why;
  int64_t stop_at = -1;
  std::set<const void*> opaque;
  for (;;) {
    trace_clock() = 0;
    Tracer tracer(start.function, inputs);
    tracer.fp_checks = numpy_shim::current_fp_checks();
    try {
      Interpreter interpreter(tracer);
      interpreter.stop_at = stop_at;
      interpreter.opaque = &opaque;
      try {
        return tracer.finish({start.frames == nullptr
                                  ? interpreter.run_root(start.function, inputs)
                                  : interpreter.run_suspended(*start.frames, start.name, inputs)});
      } catch (const StopTrace& stopped) {
        TraceResult result = tracer.finish(stopped.values);
        result.exit = TraceExit{*why, stopped.frames};
        return result;
      }
    } catch (const Break& reason) {
      PyErr_Clear();
      if (!why) why = tracer.break_info(reason);
      // Each further trace stops earlier than the one before.
      const bool is_earlier = stop_at < 0 || reason.clock < stop_at;
      if (reason.clock <= 0 || !is_earlier) return tracer.finish_break(reason);
      stop_at = reason.clock;
    } catch (const Retrace&) {
      PyErr_Clear();
    } catch (const PyError&) {
      if (must_reach_user()) throw;
      PyErr_Clear();
      return tracer.finish_break({"would_raise", "an operation on constants raises"});
    } catch (const SizeOverflowError& error) {
      return tracer.finish_break({"unsupported_value", error.what()});
    }
  }
}

}  // namespace numlift::frame_eval
