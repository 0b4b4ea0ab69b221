#include "symbolic/regions.h"

#include <algorithm>

#include "numlift/frame_eval/resume_code.h"
#include "numlift/graph/scalar.h"
#include "numlift/support/log.h"
#include "symbolic/numpy_common.h"
#include "symbolic/pure.h"
#include "symbolic/raising.h"
#include "symbolic/value_parts.h"

namespace numlift::frame_eval {

namespace {

constexpr size_t kNowhere = kSink - 1;

constexpr size_t kMostTests = 16;

// Past what only computes, up to the begin of a loop or something else. At a jump that hangs on a
// value both ways are added to `ways`.
size_t skip_tests(const Bytecode& bytecode, size_t index, std::vector<size_t>* ways) {
  for (; index + 1 < bytecode.instructions.size(); ++index) {
    const Instruction& instruction = bytecode.instructions[index];
    if (begins_while_loop(bytecode, index)) return index;
    switch (instruction.op) {
      case Instr::kNop:
      case Instr::kLoadFast:
      case Instr::kLoadConst:
      case Instr::kLoadGlobal:
      case Instr::kLoadDeref:
      case Instr::kLoadAttr:
      case Instr::kCompareOp:
      case Instr::kBinaryOp:
      case Instr::kUnaryNot:
      case Instr::kToBool:
        continue;
      case Instr::kJumpIfFalse:
      case Instr::kJumpIfTrue:
        ways->push_back(index + 1);
        ways->push_back(static_cast<size_t>(instruction.target));
        return index;
      default:
        return index;
    }
  }
  return index;
}

}  // namespace

// ---------------------------------------------------------------- facts

std::vector<LoopLeft> LoopFacts::left() const {
  std::vector<LoopLeft> result;
  for (const auto& [place, loop] : loops) {
    if (!loop.is_refused) continue;
    UserFrame where = first_line_of(place.first->code);
    where.position = place.first->instructions[place.second].position;
    result.push_back({std::move(where), loop.why});
  }
  std::stable_sort(result.begin(), result.end(), [](const LoopLeft& a, const LoopLeft& b) {
    return a.place.position.line < b.place.position.line;
  });
  return result;
}

bool Regions::is_refused(const LoopFacts::Place& place) const {
  const auto found = facts_.loops.find(place);
  return found != facts_.loops.end() && found->second.is_refused;
}

Retrace Regions::refused(const std::string& why) {
  const auto refuse = [&](const LoopFacts::Place& place) {
    facts_.loops[place].is_refused = true;
    facts_.loops[place].why = why;
    log(LogChannel::breaks,
        fmt::format("the loop at line {} is not captured: {}",
                    place.first->instructions[place.second].position.line, why));
  };
  if (!open_.empty()) {
    refuse(open_.back());
  } else {
    for (const LoopFacts::Place& place : captured_) refuse(place);
  }
  return {};
}

bool Regions::wants_any(const Frame& frame) const {
  return std::any_of(facts_.wanted.begin(), facts_.wanted.end(),
                     [&](const auto& place) { return place.first == frame.bytecode.get(); });
}

bool Regions::wants_while(const Frame& frame, size_t head) const {
  const LoopFacts::Place place{frame.bytecode.get(), head};
  const Context* const context = context_of(frame);
  const bool is_inside = context != nullptr && context->head == head;
  return !is_inside && facts_.wanted.contains(place) && !is_refused(place);
}

void Regions::want_while(const Frame& frame, size_t head) {
  const LoopFacts::Place place{frame.bytecode.get(), head};
  if (!facts_.may_capture || frame.is_polyfill || is_generator(frame) || is_refused(place) ||
      facts_.wanted.contains(place) || !begins_while_loop(*frame.bytecode, head))
    return;
  facts_.wanted.insert(place);
  throw Retrace{};
}

void Regions::want_loop_of(const Frame& frame) {
  if (!facts_.may_capture || wants_more_ || is_open() || frame.is_polyfill || is_generator(frame))
    return;
  const auto head = innermost_loop(*frame.bytecode, frame.next - 1);
  if (!head) return;
  const LoopFacts::Place place{frame.bytecode.get(), *head};
  if (is_refused(place) || !facts_.wanted.insert(place).second) return;
  wants_more_ = true;
}

// ---------------------------------------------------------------- places

Regions::Context* Regions::context_of(const Frame& frame) const {
  return !contexts_.empty() && contexts_.back()->frame == &frame ? contexts_.back().get() : nullptr;
}

const Paths& Regions::paths_of(const Frame& frame) {
  if (const Context* context = context_of(frame)) return context->paths;
  const auto found = function_paths_.find(frame.bytecode.get());
  if (found != function_paths_.end()) return found->second;
  return function_paths_.emplace(frame.bytecode.get(), Paths::of_function(*frame.bytecode))
      .first->second;
}

std::vector<bool> Regions::live_at(const Frame& frame, size_t index) const {
  std::vector<int32_t> all;
  for (size_t slot = 0; slot < frame.slots.size(); ++slot)
    all.push_back(static_cast<int32_t>(slot));
  std::vector<bool> live(frame.slots.size(), false);
  for (const int32_t slot : live_slots(*frame.bytecode, {static_cast<int32_t>(index)}, all))
    live[static_cast<size_t>(slot)] = true;
  return live;
}

// ---------------------------------------------------------------- paths

Regions::Mark Regions::mark(const Frame& frame) const {
  return {interpreter_.tracer.region_depth(), contexts_.size(), open_.size(),
          interpreter_.nesting(), state_of(frame)};
}

void Regions::return_to(const Mark& mark, Frame& frame) {
  interpreter_.tracer.leave_regions(mark.regions);
  contexts_.resize(mark.contexts);
  open_.resize(mark.open);
  interpreter_.set_nesting(mark.nesting);
  frame.done = false;
  frame.returned = nullptr;
  set_state(frame, mark.state);
}

bool Regions::run_path(Frame& frame, size_t merge, Sym* returned, bool at_head) {
  Context* const context = context_of(frame);
  const auto stops = [&](size_t next) {
    if (next == merge) return true;
    return context != nullptr && (next == context->head || !context->paths.contains(next));
  };
  Sym value;
  if (at_head || !stops(frame.next)) {
    const Mark begin = mark(frame);
    try {
      value = interpreter_.run_to(frame, stops);
    } catch (const PathOver&) {
      return_to(begin, frame);
      return false;
    }
  }
  if (value) {
    if (!frame.done) refuse_loop("a generator yields in a loop");
    frame.done = false;  // other paths go on
    if (context != nullptr) {
      leave(frame, value);
      return false;
    }
    if (merge != kSink) refuse_loop("a path returns that was to meet others");
    *returned = std::move(value);
    return true;
  }
  if (frame.next == merge) return true;
  if (frame.next == context->head) {
    if (merge == kSink) return true;
    go_around(*context);
    interpreter_.tracer.control(Op::kContinue, context->loop);
    return false;
  }
  leave(frame, nullptr);
  return false;
}

// Every way from here restarts the program or has left it: nothing follows.
void Regions::end_path() const {
  if (!interpreter_.tracer.in_region()) refuse_loop("every way through it raises");
  throw PathOver{};
}

// The path stands outside of the innermost loop, or has returned. It goes on, as part of the
// program's path through the loop, to where all ways out of that meet.
void Regions::leave(Frame& frame, const Sym& returned) {
  std::unique_ptr<Context> context = std::move(contexts_.back());
  contexts_.pop_back();
  // Back in its place whatever happens: handlers of exceptions count on it.
  struct PutBack {
    std::vector<std::unique_ptr<Context>>& contexts;
    std::unique_ptr<Context>& context;
    ~PutBack() { contexts.push_back(std::move(context)); }
  } const put_back{contexts_, context};
  Sym result = returned;
  bool meets = false;
  if (!returned) {
    meets = run_path(frame, context->merge, &result);
  } else if (context_of(frame) != nullptr) {
    leave(frame, returned);
  } else if (context->merge == kSink) {
    meets = true;
  } else {
    refuse_loop("a path returns that was to meet others");
  }
  if (meets) {
    PathEnd end{kNoNode, state_of(frame), result};
    end.before = interpreter_.tracer.control(Op::kBreak, context->block);
    context->exits.push_back(std::move(end));
  }
}

std::optional<LoopFacts::Place> Regions::tested_loop(const Frame& frame, size_t if_true,
                                                     size_t if_false) const {
  // `while a and b` tests b on the way.
  std::vector<size_t> pending{if_true, if_false};
  std::set<size_t> seen;
  for (size_t k = 0; k < pending.size() && k < kMostTests; ++k) {
    const size_t way = skip_tests(*frame.bytecode, pending[k], &pending);
    const LoopFacts::Place place{frame.bytecode.get(), way};
    if (begins_while_loop(*frame.bytecode, way) && !is_refused(place)) return place;
  }
  return std::nullopt;
}

void Regions::meet(Frame& frame, size_t merge, const std::vector<PathEnd>& ends,
                   const RegionStart& start) {
  if (ends[0].returned) {
    frame.returned = merge_paths(interpreter_.tracer, ends, start, {}).returned;
    return;
  }
  frame.next = merge == kSink ? context_of(frame)->head : merge;
  set_state(frame, merge_paths(interpreter_.tracer, ends, start, live_at(frame, frame.next)).state);
}

bool Regions::may_branch(const Frame& frame, size_t if_true, size_t if_false) {
  if (!facts_.may_capture) return false;
  if (interpreter_.tracer.in_region()) return true;
  if (frame.is_polyfill || is_generator(frame)) return false;
  if (const auto loop = tested_loop(frame, if_true, if_false)) {
    facts_.wanted.insert(*loop);
    return true;
  }
  if (const auto head = innermost_while_loop(*frame.bytecode, frame.next - 1))
    want_while(frame, *head);
  return false;
}

void Regions::branch(Frame& frame, NodeId condition, FrameState true_state, size_t if_true,
                     FrameState false_state, size_t if_false) {
  Tracer& tracer = interpreter_.tracer;
  const size_t index = frame.next - 1;
  Context* const context = context_of(frame);
  const Paths& paths = paths_of(frame);
  const auto goes_on = [&](size_t place) {
    return paths.reaches_sink(place) || (context != nullptr && place == context->head);
  };
  const bool is_outermost = open_.empty();
  // Refused with the loop behind the test.
  const auto tested = tested_loop(frame, if_true, if_false);
  if (is_outermost) open_.push_back(tested.value());
  if (tested && facts_.loops.contains(*tested)) {
    // Where the loop has no iteration, its lists are the same objects, too.
    for (const auto& [list, facts] : facts_.loops[*tested].lists)
      grow_list(frame, list, facts, std::nullopt, {&true_state, &false_state});
  }
  const HeapImage heap(frame);
  const RegionStart start{NodeId{static_cast<uint32_t>(tracer.graph().size())},
                          tracer.symbol_count()};
  // What raises leaves the program: CPython runs the call.
  const auto run_arm = [&](const FrameState& state, size_t place, size_t merge, Sym* returned) {
    set_state(frame, state);
    frame.next = place;
    const Mark begin = mark(frame);
    bool meets = false;
    const auto restart = [&] {
      tracer.control(Op::kCheck,
                     constant_node(tracer, make_scalar(DType::kBool, false), ValueKind::kPyScalar));
      return_to(begin, frame);
    };
    try {
      meets = run_path(frame, merge, returned);
    } catch (const Raised&) {
      restart();
    } catch (const Break& reason) {
      if (reason.category != "would_raise") throw;
      restart();
    }
    heap.check_unchanged();
    return meets;
  };
  if (goes_on(if_true) && goes_on(if_false)) {
    const size_t merge = paths.meeting(index);
    std::vector<PathEnd> ends;
    const NodeId begin = tracer.enter_region(Op::kIf, {condition}, NoAttr{});
    Sym returned;
    const bool first_meets = run_arm(true_state, if_true, merge, &returned);
    const NodeId other = tracer.control(Op::kElse, begin);
    if (first_meets) ends.push_back({other, state_of(frame), returned});
    returned = nullptr;
    const bool second_meets = run_arm(false_state, if_false, merge, &returned);
    const NodeId end{static_cast<uint32_t>(tracer.graph().size())};
    tracer.leave_region(begin);
    if (second_meets) ends.push_back({end, state_of(frame), returned});
    if (ends.empty()) end_path();
    meet(frame, merge, ends, start);
  } else {
    const bool true_ends = !goes_on(if_true);
    if (!true_ends)
      condition =
          tracer.append(Op::kLogicalNot, {condition}, NoAttr{}, py_scalar_type(DType::kBool));
    const NodeId begin = tracer.enter_region(Op::kIf, {condition}, NoAttr{});
    Sym returned;
    const bool meets = run_arm(true_ends ? true_state : false_state, true_ends ? if_true : if_false,
                               kNowhere, &returned);
    NUMLIFT_CHECK(!meets, "a path meets another one that it does not lead to");
    tracer.leave_region(begin);
    set_state(frame, true_ends ? false_state : true_state);
    frame.next = true_ends ? if_false : if_true;
  }
  if (is_outermost) open_.clear();
}

}  // namespace numlift::frame_eval
