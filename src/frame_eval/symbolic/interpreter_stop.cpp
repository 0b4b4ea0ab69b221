// Where a trace stops at a graph break.
#include <algorithm>
#include <set>

#include "symbolic/regions.h"
#include "symbolic/exceptions.h"
#include "symbolic/interpreter.h"
#include "symbolic/value_parts.h"

namespace numlift::frame_eval {

// ---------------------------------------------------------------- at a graph break

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
    if (value->kind == SymKind::kException) {
      return keeps_nothing_alive(static_cast<const ExceptionValue&>(*value));
    }
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

// The code may read a traceback, and by it the variables of frames that have ended.
bool reads_tracebacks(const Bytecode& bytecode) {
  static constexpr std::string_view kNames[] = {"__traceback__", "exc_info", "tb_frame"};
  PyObject* names = reinterpret_cast<PyCodeObject*>(bytecode.code.get())->co_names;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(names); ++i) {
    const std::string name = utf8_text(PyTuple_GET_ITEM(names, i));
    if (std::find(std::begin(kNames), std::end(kNames), name) != std::end(kNames)) return true;
  }
  return false;
}

// The instruction before which CPython has to take over so that it makes for itself what is
// handled here and what stands on the stacks and cannot be handed out; -1: there is nothing.
int64_t oldest_begin(const std::vector<Frame*>& frames, const HandledException* handled) {
  int64_t oldest = -1;
  const auto add = [&](int64_t clock) {
    if (oldest < 0 || clock < oldest) oldest = clock;
  };
  for (; handled != nullptr; handled = handled->outer) {
    if (handled->value) add(static_cast<ExceptionValue&>(*handled->value).begins);
  }
  for (const Frame* frame : frames) {
    for (const Sym& value : frame->stack) {
      if (value->kind == SymKind::kException) {
        add(static_cast<ExceptionValue&>(*value).begins);
      } else if (value->kind == SymKind::kIterator &&
                 !static_cast<IteratorValue&>(*value).shape()) {
        add(value->born);
      }
    }
  }
  return oldest;
}

}  // namespace

void Interpreter::stop(Frame& frame, size_t index) {
  if (regions != nullptr && regions->is_open())
    refuse_loop("the code is to be left inside a loop that the program runs");
  const auto& bytecode = *frame.bytecode;
  const auto begin = static_cast<int32_t>(index);
  std::vector<Frame*> chain;
  for (Frame* one = &frame; one != nullptr; one = one->caller) chain.insert(chain.begin(), one);
  if (!can_leave_after(bytecode, unit_at(bytecode, begin))) {
    throw Break{"unsupported_instruction",
                fmt::format("{}, which CPython cannot be left behind",
                            instruction_name(bytecode.instructions[index].op)),
                oldest_begin(chain, handled), true};
  }
  // What a handler handles is the thread's business, not a value that could be handed over.
  if (topmost_handled()) {
    throw Break{"handed_over", "CPython goes on inside an except block",
                oldest_begin(chain, handled), true};
  }
  const bool all_may_be_read =
      may_call_python(frame, bytecode, begin) ||
      std::any_of(chain.begin(), chain.end(), [](const Frame* one) {
        return keeps_its_frame(*one->bytecode) || reads_tracebacks(*one->bytecode);
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

}  // namespace numlift::frame_eval
