// The interpreter's loop, outside cells and globals, and trace_call().
#include "symbolic/interpreter.h"

#include <algorithm>

#include "numlift/numpy_shim/errstate.h"
#include "numlift/py/py_error.h"
#include "numlift/support/options.h"
#include "symbolic/instances.h"
#include "symbolic/limits.h"
#include "symbolic/value_parts.h"
#include "numlift/numpy_shim/numpy.h"
#include "numlift/frame_eval/marks.h"
#include "symbolic/exceptions.h"
#include "symbolic/hatch_calls.h"
#include "symbolic/numpy_calls.h"
#include "symbolic/raising.h"
#include "symbolic/regions.h"

namespace numlift::frame_eval {

using guards::Source;
using guards::SourcePtr;

namespace {

const HandlerTable& handler_table() {
  static const HandlerTable table = [] {
    HandlerTable handlers{};
    install_load_store(handlers);
    install_arith(handlers);
    install_names(handlers);
    install_call(handlers);
    install_build(handlers);
    install_control(handlers);
    install_match(handlers);
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

Ref interned_name(BorrowedRef text) {
  PyObject* name = Py_NewRef(text.get());
  PyUnicode_InternInPlace(&name);
  return Ref::steal(name);
}

int64_t& trace_clock() {
  static thread_local int64_t clock = 0;
  return clock;
}

Interpreter::Interpreter(Tracer& tracer)
    : tracer(tracer), none_(object(Py_None)), true_(object(Py_True)), false_(object(Py_False)) {}

// What may refer to itself in a circle lets go of all that it holds.
Interpreter::~Interpreter() {
  drop_instances();
  for (const auto& [cell, opened] : cells_) opened.value->content = nullptr;
  for (const auto& raised : raised_) {
    if (const auto exception = raised.lock()) {
      exception->cause = exception->context = nullptr;
      exception->attributes.clear();
      exception->locals.clear();
    }
  }
}

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
  Sym result = run(*frame);
  frame.reset();
  close_abandoned();
  return result;
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

Sym Interpreter::resume(Frame& frame, const Raised* thrown) {
  if (depth_ >= kMaxInlineDepth) {
    throw_break("too_deep",
                fmt::format("calls nested {} deep while tracing {}", depth_, frame.name));
  }
  Frame* const caller = std::exchange(current_, &frame);
  frame.caller = caller;
  // What is dropped inside must not live on in the caller's copy.
  if (caller != nullptr) caller->operands.clear();
  ++depth_;
  const auto leave = [&] {
    --depth_;
    current_ = caller;
    if (caller != nullptr) locate(*caller);
  };
  // A Break leaves the interpreter for good: it restores nothing.
  Sym result;
  try {
    result = run_instructions(frame, thrown);
  } catch (Break& reason) {
    place_break(frame, &reason);
    const bool needs_run = reason.category == "data_dependent" || reason.category == "generic_jump";
    if (regions != nullptr && needs_run) regions->want_loop_of(frame);
    throw;
  } catch (const Raised&) {
    leave();
    throw;
  } catch (const SizeOverflowError& error) {
    Break reason{"unsupported_value", error.what()};
    place_break(frame, &reason);
    throw reason;
  }
  leave();
  return result;
}

Sym Interpreter::run_to(Frame& frame, const std::function<bool(size_t)>& stops) {
  const auto* outer = std::exchange(frame.stops, nullptr);
  const auto reset = [&] { frame.stops = outer; };
  try {
    frame.stops = &stops;
    frame.enters_path = true;
    Sym value = run_instructions(frame, nullptr);
    reset();
    return value;
  } catch (...) {
    reset();
    throw;
  }
}

Interpreter::Nesting Interpreter::nesting() const {
  return {current_, depth_, handled, handled->value};
}

void Interpreter::set_nesting(const Nesting& nesting) {
  current_ = nesting.current;
  depth_ = nesting.depth;
  handled = nesting.handled;
  handled->value = nesting.handled_value;
  direct_caller = nullptr;
}

Sym Interpreter::topmost_handled() const {
  for (const HandledException* one = handled; one != nullptr; one = one->outer) {
    if (one->value) return one->value;
  }
  return nullptr;
}

namespace {

// A handler other than those that end every generator's code.
bool is_handled(const Bytecode& bytecode, const Instruction& instruction) {
  if (instruction.handler == kNoTarget) return false;
  const auto target = bytecode.handlers[static_cast<size_t>(instruction.handler)].target;
  const Instr first = bytecode.instructions[static_cast<size_t>(target)].op;
  return first != Instr::kCallIntrinsic1 && first != Instr::kCleanupThrow;
}

bool is_handled(const Frame& frame) {
  return frame.next > 0 &&
         is_handled(*frame.bytecode, frame.bytecode->instructions[frame.next - 1]);
}

}  // namespace

bool Interpreter::has_handler(const Frame& frame) {
  for (const Frame* one = &frame; one != nullptr; one = one->caller) {
    if (is_handled(*one)) return true;
  }
  return false;
}

Sym Interpreter::run_instructions(Frame& frame, const Raised* thrown) {
  const bool callers_handle = frame.caller != nullptr && has_handler(*frame.caller);
  std::optional<Raised> raised;
  if (thrown != nullptr) raised = *thrown;
  for (;;) {
    if (raised) {
      unwind(frame, *std::exchange(raised, std::nullopt));
      if (!abandoned->empty()) close_abandoned();
    }
    try {
      return run_until_raise(frame, callers_handle);
    } catch (Raised& one) {
      raised = std::move(one);
    } catch (const Break& reason) {
      raised = error_of_operation(*this, frame, reason);
      if (!raised) throw;
    } catch (const PyError&) {
      if (must_reach_user()) throw;
      // Only what Python itself does on real constants can fail so: the code raises there.
      PyErr_Clear();
      const Break reason{"would_raise", "an operation on constants raises"};
      raised = error_of_operation(*this, frame, reason);
      if (!raised) throw reason;
    }
  }
}

void Interpreter::unwind(Frame& frame, Raised raised) {
  direct_caller = nullptr;
  frame.keyword_names = {};
  frame.operands.clear();
  ExceptionValue& exception = *raised.exception;
  const bool is_first = !exception.place;
  const bool is_pristine = is_first && exception_shape(exception);
  if (raised.is_new) set_context(*this, raised.exception);
  if (is_first) {
    Break place{"would_raise", raised.reason};
    place_break(frame, &place);
    if (is_pristine) exception.begins = place.clock;
    exception.place = std::move(place);
    raised_.push_back(raised.exception);
  }
  if (raised.leaves_trace) exception.traceback = new_traceback();
  raised.is_new = false;
  raised.leaves_trace = true;  // of the caller
  const size_t at = frame.next - 1;
  const int32_t index = frame.bytecode->instructions[at].handler;
  if (index == kNoTarget) {
    frame.done = true;
    // What a function of the library raises, and how far it has come, is CPython's to tell.
    if (frame.is_polyfill && !is_instance(exception, PyExc_GeneratorExit)) throw *exception.place;
    exception.locals.push_back(std::move(frame.slots));
    throw raised;
  }
  const numlift::Handler& handler = frame.bytecode->handlers[static_cast<size_t>(index)];
  NUMLIFT_CHECK(static_cast<size_t>(handler.depth) <= frame.stack.size(),
                "a handler of {} keeps {} of {} values", frame.name, handler.depth,
                frame.stack.size());
  frame.stack.resize(static_cast<size_t>(handler.depth));
  if (handler.push_lasti) frame.push(integer(static_cast<int64_t>(at)));
  frame.push(raised.exception);
  frame.next = static_cast<size_t>(handler.target);
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
  while (visible != nullptr && visible->is_polyfill) visible = visible->caller;
  if (visible == nullptr) return;  // a generator that is dropped when the call is over
  const Frame& frame = *visible;
  const auto& instructions = frame.bytecode->instructions;
  if (frame.next == 0 || frame.next > instructions.size()) return;
  const int line = instructions[frame.next - 1].position.line;
  if (line > 0) tracer.set_location(frame.file, frame.name, line);
}

Sym Interpreter::run_until_raise(Frame& frame, bool callers_handle) {
  const HandlerTable& handlers = handler_table();
  const auto& instructions = frame.bytecode->instructions;
  const bool is_suspendable = can_be_suspended(frame);
  const bool wants_loops = regions != nullptr && regions->wants_any(frame);
  int line = -1;
  for (;;) {
    if (frame.returned) {
      frame.done = true;
      return std::move(frame.returned);
    }
    if (frame.stops != nullptr && !std::exchange(frame.enters_path, false) &&
        (*frame.stops)(frame.next))
      return nullptr;
    if (wants_loops && regions->wants_while(frame, frame.next) &&
        regions->capture_while(frame, frame.next))
      continue;
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
    if (instruction.op == Instr::kYieldValue) return frame.pop();
    const InstructionHandler handler = handlers[static_cast<size_t>(instruction.op)];
    if (handler == nullptr) {
      throw_break("unsupported_instruction",
                  fmt::format("the instruction {}", instruction_name(instruction.op)));
    }
    const bool may_go_on = callers_handle || is_handled(*frame.bytecode, instruction);
    if (may_go_on) {
      frame.operands = frame.stack;
      frame.operands_graph_size = tracer.graph().size();
      frame.operands_effects = tracer.effects().size();
      frame.operand_names = frame.keyword_names;
    }
    handler(*this, frame, instruction);
    if (may_go_on) frame.operands.clear();
    if (!abandoned->empty()) close_abandoned();
  }
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

Sym Interpreter::object_value(BorrowedRef owner) {
  Sym& value = object_values_[owner.get()];
  if (!value) value = object(owner);
  return value;
}

Sym Interpreter::changed_class_attribute(BorrowedRef cls, BorrowedRef name) const {
  if (changed_classes_.empty()) return nullptr;
  PyObject* mro = reinterpret_cast<PyTypeObject*>(cls.get())->tp_mro;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(mro); ++i) {
    PyObject* base = PyTuple_GET_ITEM(mro, i);
    if (auto found = changed_classes_.find({base, name.get()}); found != changed_classes_.end())
      return found->second;
    const Ref dict = checked(PyObject_GetAttrString(base, "__dict__"));
    if (PyMapping_HasKey(dict.get(), name.get())) return nullptr;
  }
  return nullptr;
}

void Interpreter::change_class_attribute(BorrowedRef cls, BorrowedRef name, const Sym& value) {
  changed_classes_[{cls.get(), name.get()}] = value;
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
    throw_name_error(name);
  }
  const auto key = std::make_pair(frame.globals.get(), name.get());
  if (auto found = globals_.find(key); found != globals_.end()) return found->second;
  SourcePtr source = Source::global(frame.globals, name);
  BorrowedRef value = source->read({});
  if (!value) {
    tracer.guard(source, guards::IsAbsent{}, "it is not defined at " + location_text());
    throw_name_error(name);
  }
  Sym result = tracer.outside(Ref::create(value), std::move(source));
  globals_.emplace(key, result);
  return result;
}

void Interpreter::guard_key_order(const SourcePtr& source, BorrowedRef dict) {
  // Past the __iter__ of a class derived from dict.
  Ref keys = checked(PyList_AsTuple(checked(PyDict_Keys(dict.get())).get()));
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

namespace {

std::variant<TraceResult, TraceBreak> trace_with(const TraceStart& start,
                                                 const guards::CallInputs& inputs,
                                                 LoopFacts& loops) {
  std::optional<BreakInfo> why;
  int64_t stop_at = -1;
  std::set<const void*> opaque;
  for (;;) {
    trace_clock() = 0;
    Tracer tracer(start.function, inputs);
    tracer.fp_checks = numpy_shim::current_fp_checks();
    tracer.takes_control_flow = start.control_flow;
    try {
      Interpreter interpreter(tracer);
      interpreter.stop_at = stop_at;
      interpreter.opaque = &opaque;
      Regions regions(interpreter, loops);
      interpreter.regions = &regions;
      // A trace that ended in a captured loop, or could not use what one left, begins anew.
      const auto refuse_loops = [&](const std::string& reason, bool is_refusal = false) {
        if (regions.is_open() || (is_refusal && regions.has_captured()))
          throw regions.refused(reason);
      };
      try {
        try {
          return tracer.finish(
              {start.frames == nullptr
                   ? interpreter.run_root(start.function, inputs)
                   : interpreter.run_suspended(*start.frames, start.name, inputs)});
        } catch (const StopTrace& stopped) {
          TraceResult result = tracer.finish(stopped.values);
          result.exit = TraceExit{*why, stopped.frames};
          return result;
        }
      } catch (const Raised& raised) {
        refuse_loops(raised.exception->place->reason);
        throw *raised.exception->place;
      } catch (const Break& reason) {
        if (regions.wants_more()) throw Retrace{};
        refuse_loops(reason.reason, reason.category == kLoopRefused);
        throw;
      } catch (const SizeOverflowError& error) {
        refuse_loops(error.what());
        throw;
      } catch (const PyError&) {
        if (must_reach_user() || !regions.is_open()) throw;
        PyErr_Clear();
        throw regions.refused("an operation on constants raises");
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

}  // namespace

std::variant<TraceResult, TraceBreak> trace_call(const TraceStart& start,
                                                 const guards::CallInputs& inputs) {
  LoopFacts loops;
  loops.may_capture = start.control_flow && options().capture_loops;
  auto traced = trace_with(start, inputs, loops);
  std::visit([&](auto& result) { result.loops_left = loops.left(); }, traced);
  return traced;
}

}  // namespace numlift::frame_eval
