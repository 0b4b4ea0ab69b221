// The interpreter's loop, outside cells and globals, and trace_call().
#include "symbolic/interpreter.h"

#include <algorithm>

#include "numlift/numpy_shim/errstate.h"
#include "numlift/py/py_error.h"
#include "numlift/support/options.h"
#include "symbolic/limits.h"
#include "symbolic/value_parts.h"
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
    if (frame->is_polyfill) continue;
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
    if (!one->is_direct || one->is_polyfill) return false;
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

void Interpreter::locate(const Frame& innermost) {
  const Frame* visible = &innermost;
  while (visible->is_polyfill) visible = visible->caller;
  const Frame& frame = *visible;
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
    if (instruction.position.line != line && instruction.position.line > 0 && !frame.is_polyfill) {
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
  void add(const Sym& value) { reached_.add(value); }
  void finish() {
    for (const SymbolicValue* value : reached_.values()) {
      if (value->kind == SymKind::kArray)
        storages_.insert(static_cast<const ArrayValue*>(value)->storage.get());
    }
  }

  // Nobody can tell when the value goes, or whether it was ever made.
  bool leaves_unseen(const Sym& value) const {
    if (value->kind == SymKind::kScalar || value->kind == SymKind::kSize) return !value->source;
    if (value->kind != SymKind::kArray || value->source || reached_.holds_anything()) return false;
    const Storage* storage = static_cast<const ArrayValue&>(*value).storage.get();
    return !storage->is_input && !storages_.contains(storage);
  }

 private:
  Reached reached_;
  std::set<const Storage*> storages_;
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
  for (const Tracer::Effect& effect : tracer.effects()) {
    for (const Sym& argument : effect.call.arguments) handed_out.add(argument);
  }
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
  handed_out.finish();
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

std::optional<Sym> Interpreter::changed_global(BorrowedRef globals, BorrowedRef name) const {
  const auto found = changed_globals_.find({globals.get(), name.get()});
  if (found == changed_globals_.end()) return std::nullopt;
  return found->second;
}

void Interpreter::change_global(BorrowedRef globals, BorrowedRef name, const Sym& value) {
  changed_globals_[{globals.get(), name.get()}] = value;
}

Sym Interpreter::globals_value(BorrowedRef globals) {
  Sym& value = globals_values_[globals.get()];
  if (!value) value = object(globals);
  return value;
}

Sym Interpreter::load_global(const Frame& frame, BorrowedRef name) {
  if (frame.is_polyfill) {
    PyObject* own = PyDict_GetItemWithError(frame.globals.get(), name.get());
    if (own == nullptr) own = PyDict_GetItemWithError(PyEval_GetBuiltins(), name.get());
    NUMLIFT_CHECK(own != nullptr, "a polyfill has no global {}", utf8_text(name));
    return object(own);
  }
  if (const auto changed = changed_global(frame.globals, name)) {
    if (*changed) return *changed;
    throw_break("would_raise", fmt::format("name '{}' is deleted", utf8_text(name)));
  }
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
    tracer.add_identity(cell, outside.value);
  } else {
    tracer.guard(source, guards::IsSame{outside.value->source}, "two variables share one cell");
  }
  return outside.value;
}

Sym Interpreter::read_cell(CellValue& cell) {
  if (!cell.content && cell.outside && !cell.is_changed) {
    OutsideCell& outside = cells_.at(cell.outside.get());
    BorrowedRef now = PyCell_GET(cell.outside.get());
    if (now) cell.content = tracer.outside(Ref::create(now), outside.source);
  }
  if (!cell.content) throw_break("would_raise", "a variable of an enclosing function is not set");
  return cell.content;
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
