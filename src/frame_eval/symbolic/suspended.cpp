// Where a trace stops at a graph break, and where the next one goes on behind it.
#include <algorithm>

#include "numlift/py/py_error.h"
#include "symbolic/exceptions.h"
#include "symbolic/interpreter.h"
#include "numlift/numpy_shim/numpy.h"

namespace numlift::frame_eval {

using guards::Source;
using guards::SourcePtr;

// ---------------------------------------------------------------- at a graph break

namespace {

// What CPython gets to see at a break.
class HandedOut {
 public:
  void add(const Sym& value) {
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
      case SymKind::kException:
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
    if (value->kind == SymKind::kException) {
      return keeps_nothing_alive(static_cast<const ExceptionValue&>(*value));
    }
    if (value->kind != SymKind::kArray || value->source || holds_anything_) return false;
    const Storage* storage = static_cast<const ArrayValue&>(*value).storage.get();
    return !storage->is_input &&
           std::find(storages_.begin(), storages_.end(), storage) == storages_.end();
  }

 private:
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

namespace {

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
  Sym result = run_chain(open, 0);
  open.clear();
  close_abandoned();
  return result;
}

Sym Interpreter::run_chain(const std::vector<std::unique_ptr<Frame>>& frames, size_t first) {
  Frame& frame = *frames[first];
  if (first + 1 < frames.size()) {
    frame.caller = std::exchange(current_, &frame);
    frame.unit = frame.next - 1;
    ++depth_;
    const auto leave = [&] {
      --depth_;
      current_ = frame.caller;
      // What its locals held goes when it ends.
      frames[first + 1]->slots.clear();
      frames[first + 1]->stack.clear();
    };
    std::optional<Raised> raised;
    try {
      Sym result = run_chain(frames, first + 1);
      frame.push(std::move(result));
    } catch (Raised& one) {
      raised = std::move(one);
    }
    leave();
    close_abandoned();
    if (raised) return resume(frame, &*raised);
  }
  return run(frame);
}

}  // namespace numlift::frame_eval
