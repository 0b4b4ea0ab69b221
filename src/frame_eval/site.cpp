#include "site.h"

#include <algorithm>

#include <fmt/format.h>

#include "arguments.h"
#include "cpython/eval_frame.h"
#include "cpython/flow.h"
#include "left_values.h"
#include "numlift/frame_eval/handover.h"
#include "numlift/py/py_error.h"
#include "numlift/support/check.h"

namespace numlift::frame_eval {
namespace {

bool same_place(const SuspendedFrame& a, const SuspendedFrame& b) {
  return a.bytecode->code == b.bytecode->code && a.globals == b.globals && a.next == b.next &&
         a.slots == b.slots && a.stack == b.stack;
}

// More values, of deep recursion, are handed over as arguments: unpacking as many as take a second
// byte to count ended CPython 3.11.
constexpr size_t kMostHandedOver = 200;

// How the functions of `frames` get their values from one another; null: as arguments.
const Handover* handover_among(const std::vector<SuspendedFrame>& frames) {
  static const Handover handover{hold_function(), take_function()};
  size_t count = 0;
  for (const SuspendedFrame& frame : frames) count += frame.value_count();
  const bool is_chain = frames.size() > 1 && count <= kMostHandedOver;
  return is_chain && numlift_hook_is_installed() != 0 ? &handover : nullptr;
}

// `inner` is the function of the last frame; frames around it call it. `left`, `forget`: see
// make_outer_function.
Ref wrap_in_callers(const std::vector<SuspendedFrame>& frames, Ref inner, BorrowedRef left,
                    BorrowedRef forget, const Handover* handover) {
  size_t count = frames.back().value_count();
  for (size_t i = frames.size() - 1; i-- > 0;) {
    inner = make_outer_function(frames[i], inner, count, left, forget, i == 0 ? nullptr : handover,
                                handover);
    count += frames[i].value_count();
  }
  return inner;
}

// Behind the unit the function moves some values and returns: nothing is left to compile.
bool returns_behind_unit(const SuspendedFrame& frame) {
  const auto& instructions = frame.bytecode->instructions;
  const InstructionUnit unit = unit_at(*frame.bytecode, frame.next);
  if (instructions[static_cast<size_t>(unit.end - 1)].target != kNoTarget) return false;
  for (auto i = static_cast<size_t>(unit.end); i < instructions.size(); ++i) {
    switch (instructions[i].op) {
      case Instr::kReturnValue:
      case Instr::kReturnConst:
        return true;
      case Instr::kNop:
      case Instr::kPopTop:
      case Instr::kLoadConst:
      case Instr::kLoadFast:
      case Instr::kStoreFast:
      case Instr::kBuildTuple:
        break;
      default:
        return false;
    }
  }
  return false;
}

// CPython itself leaves a method's load as function and self, where a trace leaves NULL and the
// bound method. So no call may be under way around the unit that CPython has begun.
bool calls_are_under_way(const SuspendedFrame& frame) {
  const InstructionUnit unit = unit_at(*frame.bytecode, frame.next);
  const Instruction& last = frame.bytecode->instructions[static_cast<size_t>(unit.end - 1)];
  size_t own = 0;  // of the unit's own call
  if (last.op == Instr::kCall) own = static_cast<size_t>(last.arg) + 2;
  if (last.op == Instr::kCallKw) own = static_cast<size_t>(last.arg) + 3;
  if (last.op == Instr::kCallFunctionEx) own = 3;
  const auto end = frame.stack.end() - static_cast<ptrdiff_t>(std::min(own, frame.stack.size()));
  return std::find(frame.stack.begin(), end, false) != end;
}

// Whether CPython, on whatever path, comes to the unit for the first time with just those locals
// that the trace had there. (The trace may have passed the unit before it had to stop at it.)
bool first_arrival_is_alike(const SuspendedFrame& from, const SuspendedFrame& to) {
  constexpr char kMaybeSet = 1, kMaybeUnset = 2;
  const auto& instructions = from.bytecode->instructions;
  const std::vector<LocalSlot> kinds = local_slots(from.bytecode->code);
  std::vector<char> start(kinds.size(), kMaybeUnset);
  for (const int32_t slot : from.slots) start[static_cast<size_t>(slot)] = kMaybeSet;
  // What a comprehension restores may be nothing.
  std::vector<char> after_store(kinds.size(), kMaybeSet);
  for (const Instruction& instruction : instructions) {
    if (instruction.op == Instr::kLoadFastAndClear)
      after_store[static_cast<size_t>(instruction.arg)] = kMaybeSet | kMaybeUnset;
  }
  std::vector<std::vector<char>> states(instructions.size());
  std::vector<int32_t> pending;
  const auto meet = [&](int32_t index, const std::vector<char>& coming) {
    std::vector<char>& state = states[static_cast<size_t>(index)];
    const std::vector<char> before = state;
    if (state.empty()) state.assign(coming.size(), 0);
    for (size_t i = 0; i < state.size(); ++i) state[i] |= coming[i];
    if (state != before) pending.push_back(index);
  };
  meet(from.next, start);
  while (!pending.empty()) {
    const int32_t index = pending.back();
    pending.pop_back();
    if (index == to.next) continue;
    const Instruction& instruction = instructions[static_cast<size_t>(index)];
    std::vector<char> state = states[static_cast<size_t>(index)];
    switch (instruction.op) {
      case Instr::kStoreFast:
        state[static_cast<size_t>(instruction.arg)] =
            after_store[static_cast<size_t>(instruction.arg)];
        break;
      case Instr::kLoadFast:
      case Instr::kMakeCell:
        state[static_cast<size_t>(instruction.arg)] = kMaybeSet;
        break;
      case Instr::kDeleteFast:
      case Instr::kLoadFastAndClear:
        state[static_cast<size_t>(instruction.arg)] = kMaybeUnset;
        break;
      case Instr::kCopyFreeVars:
        for (size_t i = 0; i < kinds.size(); ++i) {
          if (kinds[i].is_free) state[i] = kMaybeSet;
        }
        break;
      default:
        break;
    }
    if (instruction.target != kNoTarget) meet(instruction.target, state);
    if (falls_through(instruction)) meet(index + 1, state);
  }
  const std::vector<char>& arrived = states[static_cast<size_t>(to.next)];
  std::vector<int32_t> more;
  for (size_t i = 0; i < arrived.size(); ++i) {
    const auto slot = static_cast<int32_t>(i);
    if (std::binary_search(to.slots.begin(), to.slots.end(), slot)) {
      if (arrived[i] != kMaybeSet) return false;
    } else if (arrived[i] & kMaybeSet) {
      more.push_back(slot);
    }
  }
  return live_slots(*to.bytecode, {to.next}, more).empty();
}

}  // namespace

size_t Site::value_count() const {
  size_t count = 0;
  for (const SuspendedFrame& frame : frames) count += frame.value_count();
  return count;
}

Site* ResumeSites::find_or_make(const std::vector<SuspendedFrame>& frames, const Instruction& at) {
  for (const auto& site : sites_) {
    if (site->frames.size() == frames.size() &&
        std::equal(frames.begin(), frames.end(), site->frames.begin(), same_place)) {
      return site.get();
    }
  }
  auto site = std::make_unique<Site>();
  site->name = resume_name(frames.back().bytecode->code, at);
  site->frames = frames;
  const Handover* handover = handover_among(frames);
  site->rest = wrap_in_callers(frames, make_rest_function(frames.back(), handover), nullptr,
                               nullptr, handover);
  sites_.push_back(std::move(site));
  return sites_.back().get();
}

std::unique_ptr<EntryExit> make_exit(const TraceExit& exit, const std::vector<SuspendedFrame>& from,
                                     bool needs_closure, ResumeSites* sites) {
  auto made = std::make_unique<EntryExit>();
  made->needs_closure = needs_closure;
  made->info = exit.info;
  for (const SuspendedFrame& frame : from) made->value_count += frame.value_count();
  made->outer_count = made->value_count - from.back().value_count();
  const bool stays =
      std::any_of(exit.frames.begin(), exit.frames.end(),
                  [](const auto& frame) { return keeps_its_frame(*frame.bytecode); }) ||
      (from.size() == 1 && returns_behind_unit(exit.frames.back()));
  const Handover* handover = handover_among(from);
  UnitFunction unit =
      stays ? UnitFunction{make_rest_function(from.back(), handover), {}}
            : make_unit_function(from.back(), exit.frames.back(), leave_function(), handover);
  made->function =
      wrap_in_callers(from, std::move(unit.function), left_object(), forget_function(), handover);
  std::vector<SuspendedFrame> frames = exit.frames;
  const SuspendedFrame& last = exit.frames.back();
  const Instruction& at = last.bytecode->instructions[static_cast<size_t>(last.next)];
  for (const SuspendedFrame& after : unit.after) {
    frames.back() = after;
    made->after.push_back(sites->find_or_make(frames, at));
  }
  return made;
}

bool is_step(const TraceResult& trace, const std::vector<SuspendedFrame>& from) {
  const auto& to = trace.exit->frames;
  if (from.size() != to.size() || from.back().bytecode->code != to.back().bytecode->code ||
      !from.back().bytecode->handlers.empty() || calls_are_under_way(to.back()) ||
      !std::equal(from.begin(), from.end() - 1, to.begin(), same_place) ||
      !first_arrival_is_alike(from.back(), to.back())) {
    return false;
  }
  return !has_array_work(trace.graph);
}

bool has_array_work(const Graph& graph) {
  const auto& nodes = graph.nodes();
  return std::any_of(nodes.begin(), nodes.end(), [](const Node& node) {
    const OpClass kind = op_info(node.op).op_class;
    return kind == OpClass::kExtern || kind == OpClass::kGather || kind == OpClass::kGufunc ||
           kind == OpClass::kReduction || kind == OpClass::kMemory || kind == OpClass::kControl ||
           (kind == OpClass::kElementwise && node.type.value_kind == ValueKind::kArray);
  });
}

SuspendedFrame first_frame(BorrowedRef function) {
  SuspendedFrame frame;
  auto* code = reinterpret_cast<PyCodeObject*>(PyFunction_GET_CODE(function.get()));
  frame.bytecode = decode(code);
  frame.globals = Ref::create(PyFunction_GET_GLOBALS(function.get()));
  const auto arguments = static_cast<int32_t>(Signature(code).slots());
  for (int32_t i = 0; i < arguments; ++i) frame.slots.push_back(i);
  return frame;
}

}  // namespace numlift::frame_eval
