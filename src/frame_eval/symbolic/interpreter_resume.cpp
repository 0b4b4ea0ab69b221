// The interpreter behind a graph break: suspended frames go on with values from outside.
#include <algorithm>

#include "numlift/numpy_shim/numpy.h"
#include "numlift/py/py_error.h"
#include "symbolic/exceptions.h"
#include "symbolic/interpreter.h"
#include "symbolic/value_parts.h"

namespace numlift::frame_eval {

using guards::Source;
using guards::SourcePtr;

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

// The values that the suspended frames were given, by argument; null: a number, whose end nobody
// sees.
void Interpreter::own_arguments(const std::vector<std::unique_ptr<Frame>>& frames) {
  const auto own = [&](const Sym& value) {
    const bool is_seen = value && value->kind != SymKind::kScalar && value->kind != SymKind::kSize;
    owned_arguments_.push_back(is_seen ? value : nullptr);
  };
  for (const auto& frame : frames) {
    const auto first = static_cast<uint32_t>(owned_arguments_.size());
    for (const Sym& value : frame->slots) {
      if (value) own(value);
    }
    const auto on_stack = static_cast<uint32_t>(owned_arguments_.size());
    for (const Sym& value : frame->stack) {
      if (!is_null(value)) own(value);
    }
    // The frames end from the innermost on: its stack goes from the top, then go its slots.
    std::vector<uint32_t> order;
    for (auto i = static_cast<uint32_t>(owned_arguments_.size()); i-- > on_stack;)
      order.push_back(i);
    for (uint32_t i = first; i < on_stack; ++i) order.push_back(i);
    if (frames_end_backward()) std::reverse(order.end() - (on_stack - first), order.end());
    release_order_.insert(release_order_.begin(), order.begin(), order.end());
  }
}

// Arguments that no frame holds any more go before the next effect, as in CPython.
void Interpreter::release_dropped(const CallShape& effect) {
  const bool all_released = std::all_of(owned_arguments_.begin(), owned_arguments_.end(),
                                        [](const Sym& argument) { return !argument; });
  if (all_released) return;
  Reached reached;
  for (const Sym& argument : effect.arguments) reached.add(argument);
  for (const Tracer::Effect& earlier : tracer.effects()) {
    // The first is what was changed: it holds, but is not held.
    for (size_t i = 1; i < earlier.call.arguments.size(); ++i)
      reached.add(earlier.call.arguments[i]);
  }
  for (const Frame* frame = current_; frame != nullptr; frame = frame->caller) {
    for (const Sym& value : frame->slots) {
      if (value) reached.add(value);
    }
    for (const Sym& value : frame->stack) reached.add(value);
  }
  for (const HandledException* one = handled; one != nullptr; one = one->outer) {
    if (one->value) reached.add(one->value);
  }
  if (reached.holds_anything()) return;
  for (const uint32_t i : release_order_) {
    if (!owned_arguments_[i] || reached.contains(owned_arguments_[i])) continue;
    tracer.record_release(i, owned_arguments_[i]);
    owned_arguments_[i] = nullptr;
  }
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
  own_arguments(open);
  tracer.before_effect = [this](const CallShape& effect) { release_dropped(effect); };
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
    std::optional<Raised> raised;
    try {
      frame.push(run_chain(frames, first + 1));
    } catch (const Raised& one) {
      raised = one;
    }
    --depth_;
    current_ = frame.caller;
    // What the inner frame's locals held goes when it ends.
    frames[first + 1]->drop_values();
    close_abandoned();
    if (raised) return resume(frame, &*raised);
  }
  return run(frame);
}

}  // namespace numlift::frame_eval
