#include "symbolic/regions.h"

#include <algorithm>

#include "numlift/frame_eval/resume_code.h"
#include "numlift/graph/scalar.h"
#include "numlift/support/log.h"
#include "symbolic/limits.h"
#include "symbolic/pure.h"
#include "symbolic/raising.h"
#include "symbolic/value_parts.h"

namespace numlift::frame_eval {

namespace {

constexpr int kMostAttempts = 12;
constexpr size_t kNowhere = kSink - 1;

bool is_generator(const Frame& frame) {
  const auto* code = reinterpret_cast<PyCodeObject*>(frame.bytecode->code.get());
  return (code->co_flags & (CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR)) != 0;
}

size_t skip_nops(const Bytecode& bytecode, size_t index) {
  while (index < bytecode.instructions.size() && bytecode.instructions[index].op == Instr::kNop)
    ++index;
  return index;
}

// How many variables and containers hold an array of this memory; of the innermost frame's variables
// those that are live.
int count_holders(const Frame& innermost, const std::vector<bool>& live, const Storage* storage) {
  int count = 0;
  std::set<const SymbolicValue*> seen;
  const std::function<void(const Sym&)> look = [&](const Sym& value) {
    if (!value) return;
    if (value->kind == SymKind::kArray) {
      count += as<ArrayValue>(value).storage.get() == storage ? 1 : 0;
      return;
    }
    if (seen.insert(value.get()).second) visit_parts(*value, look);
  };
  for (const Frame* frame = &innermost; frame != nullptr; frame = frame->caller) {
    for (size_t slot = 0; slot < frame->slots.size(); ++slot) {
      if (frame != &innermost || live[slot]) look(frame->slots[slot]);
    }
    for (const Sym& value : frame->stack) look(value);
    for (const auto& cell : frame->closure) look(cell);
  }
  return count;
}

// Held by a variable, and not by it alone.
bool is_shared(const Frame& frame, const std::vector<bool>& live, const Sym& value) {
  if (value->kind != SymKind::kArray) return false;
  const auto& array = as<ArrayValue>(value);
  return array.storage->is_input || array.storage->may_alias || !array.chain.empty() ||
         count_holders(frame, live, array.storage.get()) > 1;
}

}  // namespace

// ---------------------------------------------------------------- facts

bool Regions::is_refused(const LoopFacts::Place& place) const {
  const auto found = facts_.loops.find(place);
  return found != facts_.loops.end() && found->second.is_refused;
}

std::string Regions::refusal(const Frame& frame, size_t head) const {
  const auto found = facts_.loops.find({frame.bytecode.get(), head});
  return found == facts_.loops.end() ? "" : found->second.why;
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
  return std::any_of(facts_.wanted.begin(), facts_.wanted.end(), [&](const auto& one) {
    return one.first.first == frame.bytecode.get();
  });
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
  facts_.wanted[place] = true;
  throw Retrace{};
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
  for (size_t slot = 0; slot < frame.slots.size(); ++slot) all.push_back(static_cast<int32_t>(slot));
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

bool Regions::may_branch(const Frame& frame, size_t if_true, size_t if_false) {
  if (!facts_.may_capture) return false;
  if (interpreter_.tracer.in_region()) return true;
  if (frame.is_polyfill || is_generator(frame)) return false;
  // The test before the first iteration.
  for (const size_t way : {if_true, if_false}) {
    const size_t head = skip_nops(*frame.bytecode, way);
    const LoopFacts::Place place{frame.bytecode.get(), head};
    if (!begins_while_loop(*frame.bytecode, head) || is_refused(place)) continue;
    facts_.wanted[place] = true;
    return true;
  }
  if (const auto head = innermost_while_loop(*frame.bytecode, frame.next - 1))
    want_while(frame, *head);
  return false;
}

void Regions::branch(Frame& frame, NodeId condition, const FrameState& true_state, size_t if_true,
                     const FrameState& false_state, size_t if_false) {
  Tracer& tracer = interpreter_.tracer;
  const size_t index = frame.next - 1;
  Context* const context = context_of(frame);
  const Paths& paths = paths_of(frame);
  const auto goes_on = [&](size_t place) {
    return paths.reaches_sink(place) || (context != nullptr && place == context->head);
  };
  const bool is_outermost = open_.empty();
  if (is_outermost) {
    // Refused with the loop behind the test.
    for (const size_t way : {if_true, if_false}) {
      const size_t head = skip_nops(*frame.bytecode, way);
      if (begins_while_loop(*frame.bytecode, head)) open_.emplace_back(frame.bytecode.get(), head);
    }
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
      const NodeId never = tracer.append(Op::kConstant, {},
                                         ConstantAttr{make_scalar(DType::kBool, false)},
                                         py_scalar_type(DType::kBool));
      tracer.control(Op::kCheck, never);
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
    if (ends.empty()) throw PathOver{};
    const bool returns = ends[0].returned != nullptr;
    if (!returns) frame.next = merge == kSink ? context->head : merge;
    const Meeting meeting = merge_paths(tracer, ends, start, live_at(frame, frame.next));
    if (returns) {
      frame.returned = meeting.returned;
    } else {
      set_state(frame, meeting.state);
    }
  } else {
    const bool true_ends = !goes_on(if_true);
    if (!true_ends)
      condition = tracer.append(Op::kLogicalNot, {condition}, NoAttr{}, py_scalar_type(DType::kBool));
    const NodeId begin = tracer.enter_region(Op::kIf, {condition}, NoAttr{});
    Sym returned;
    const bool meets = run_arm(true_ends ? true_state : false_state,
                               true_ends ? if_true : if_false, kNowhere, &returned);
    NUMLIFT_CHECK(!meets, "a path meets another one that it does not lead to");
    tracer.leave_region(begin);
    set_state(frame, true_ends ? false_state : true_state);
    frame.next = true_ends ? if_false : if_true;
  }
  if (is_outermost) open_.clear();
}

// ---------------------------------------------------------------- loops

void Regions::make_state(Frame& frame, Context* context) {
  Tracer& tracer = interpreter_.tracer;
  const auto& instructions = frame.bytecode->instructions;
  std::vector<bool> assigned(frame.slots.size(), false);
  for (size_t i = 0; i < instructions.size(); ++i) {
    const Instr op = instructions[i].op;
    if (context->paths.contains(i) && (op == Instr::kStoreFast || op == Instr::kDeleteFast))
      assigned[static_cast<size_t>(instructions[i].arg)] = true;
  }
  const std::vector<bool> live = live_at(frame, context->head);
  std::vector<std::pair<const Carrier*, Sym>> initial;
  context->variables.reserve(frame.slots.size());
  const std::vector<Sym> values = frame.slots;
  Frame with_values;
  with_values.slots = values;
  with_values.stack = frame.stack;
  with_values.closure = frame.closure;
  with_values.caller = frame.caller;
  for (size_t slot = 0; slot < values.size(); ++slot) {
    if (!assigned[slot]) continue;
    const Sym value = values[slot];
    frame.slots[slot] = nullptr;
    if (!live[slot]) continue;
    const auto known = context->facts->state.find(slot);
    std::optional<StateType> type;
    if (known != context->facts->state.end()) {
      type = known->second;
    } else if (value && value->kind != SymKind::kArray) {
      type = state_type(value);
    }
    // Arrays are taken to stay the same objects until an iteration shows another one.
    if (value && !type) {
      frame.slots[slot] = value;
      context->constants.emplace_back(slot, value);
      continue;
    }
    Variable variable;
    variable.slot = slot;
    variable.begins_set = value != nullptr;
    if (type) {
      int64_t hint = 0;
      if (value && value->kind == SymKind::kSize)
        hint = as<SizeValue>(value).expr.evaluate(tracer.graph().symbol_hints()).value_or(0);
      variable.carrier = make_carrier(tracer, *type, hint, kNoNode);
      variable.carrier.type = *type;
    }
    context->variables.push_back(std::move(variable));
    Variable& made = context->variables.back();
    if (!value) {
      // Never read before an iteration has set it.
      if (type && type->kind == StateKind::kInt)
        initial.emplace_back(&made.carrier, interpreter_.integer(0));
      continue;
    }
    if (made.carrier.storage)
      made.carrier.storage->may_alias =
          is_shared(with_values, live, value) || context->facts->may_alias[slot];
    initial.emplace_back(&made.carrier, value);
  }
  store_carriers(tracer, initial, kNoNode);
}

void Regions::go_around(Context& context) {
  Tracer& tracer = interpreter_.tracer;
  Frame& frame = *context.frame;
  std::vector<std::pair<const Carrier*, Sym>> stores;
  bool has_news = false;
  const std::vector<bool> live = live_at(frame, context.head);
  for (Variable& variable : context.variables) {
    const Sym& value = frame.slots[variable.slot];
    if (!value) refuse_loop("a variable is deleted in a loop");
    const auto type = state_type(value);
    if (!type) refuse_loop("a variable becomes a " + type_name(value));
    const bool keeps_array = variable.carrier.type.kind == StateKind::kArray &&
                             is_same_array(tracer, variable.carrier.type, *type);
    if (keeps_array) {
      variable.around = variable.carrier.type;
    } else {
      variable.around = variable.around ? join(*variable.around, *type) : type;
    }
    const auto known = context.facts->state.find(variable.slot);
    const bool is_set = variable.carrier.buffer != kNoNode ||
                        variable.carrier.type.kind == StateKind::kInt;
    const auto joined = keeps_array ? variable.carrier.type
                        : is_set    ? join(variable.carrier.type, *type)
                                    : type;
    if (!joined || !variable.around)
      refuse_loop(fmt::format("a variable becomes a {} that was another kind of value",
                                            type_name(value)));
    if (!is_set || !(*joined == variable.carrier.type)) {
      has_news = known == context.facts->state.end() || !(known->second == *joined);
      context.facts->state[variable.slot] = *joined;
      if (has_news) continue;
      refuse_loop("the kind of a variable does not settle");
    }
    const bool is_state = value->kind == SymKind::kArray && variable.carrier.storage &&
                          as<ArrayValue>(value).storage == variable.carrier.storage;
    bool aliases = false;
    if (value->kind == SymKind::kArray && !is_state) {
      const auto& array = as<ArrayValue>(value);
      // Another variable's memory, which that variable gives away in exchange, is not shared.
      aliases = array.storage->is_input || array.storage->may_alias || !array.chain.empty() ||
                count_holders(frame, live, array.storage.get()) > 1;
    } else if (is_state) {
      aliases = !as<ArrayValue>(value).chain.empty() ||
                count_holders(frame, live, variable.carrier.storage.get()) > 1;
    }
    variable.aliases = variable.aliases || aliases;
    if (aliases && !context.facts->may_alias[variable.slot]) {
      context.facts->may_alias[variable.slot] = true;
      throw Retrace{};
    }
    stores.emplace_back(&variable.carrier, value);
  }
  for (const auto& [slot, value] : context.constants) {
    const Sym& now = frame.slots[slot];
    const bool same = now == value || (now && now->kind == SymKind::kObject &&
                                       value->kind == SymKind::kObject &&
                                       object_of(now).get() == object_of(value).get() &&
                                       !as<ObjectValue>(now).differs());
    if (same) continue;
    const auto type = now ? state_type(value) : std::nullopt;
    if (!type || type->kind != StateKind::kArray)
      refuse_loop("a variable that holds a " + type_name(value) + " changes");
    context.facts->state[slot] = *type;
    has_news = true;
  }
  if (has_news) throw Retrace{};
  store_carriers(tracer, stores, kNoNode);
}

FrameState Regions::exhausted_state(const Context& context, const FrameState& at_head,
                                    bool has_run) {
  FrameState state = at_head;
  const std::vector<bool> live =
      live_at(*context.frame,
              static_cast<size_t>(context.frame->bytecode->instructions[context.head].target));
  for (const Variable& variable : context.variables) {
    Sym& value = state.slots[variable.slot];
    value = nullptr;
    if (!live[variable.slot]) continue;
    const bool is_set = variable.carrier.buffer != kNoNode ||
                        variable.carrier.type.kind == StateKind::kInt;
    if (!is_set) continue;  // no iteration sets it
    if (!variable.begins_set && !has_run)
      refuse_loop("a variable is not set when the loop has no iteration");
    value = variable.value && variable.value->kind == SymKind::kArray
                ? variable.value
                : read_carrier(interpreter_.tracer, variable.carrier);
    if (!has_run || !variable.around) continue;
    if (value->kind == SymKind::kScalar && !variable.around->either) {
      Tracer& tracer = interpreter_.tracer;
      if (variable.around->kind == StateKind::kScalar &&
          variable.around->type.dtype == as<ScalarValue>(value).type.dtype)
        value = tracer.new_scalar(
            tracer.append(Op::kCast, {variable.carrier.buffer}, NoAttr{}, variable.around->type));
    }
    if (variable.carrier.storage) variable.carrier.storage->may_alias = variable.aliases;
  }
  return state;
}

void Regions::capture(Frame& frame, size_t head, const std::optional<SizeExpr>& trips,
                      const std::function<void(const SizeExpr&)>& enter,
                      const std::function<void()>& exhaust) {
  Tracer& tracer = interpreter_.tracer;
  const LoopFacts::Place place{frame.bytecode.get(), head};
  auto context = std::make_unique<Context>(Context{
      &frame, head, *Paths::of_loop(*frame.bytecode, head), kSink, {}, {}, {}, {}, {}, nullptr});
  context->facts = &facts_.loops[place];
  context->merge = paths_of(frame).meeting_outside(head, context->paths);
  open_.push_back(place);
  if (++context->facts->attempts > kMostAttempts)
    refuse_loop("the kinds of its variables do not settle");

  const HeapImage heap(frame);
  bool has_run = false;
  if (trips) {
    has_run = tracer.holds_always(SizeGuard::Relation::kLess, 0, *trips,
                                  "a loop has an iteration at " + interpreter_.location_text()) ==
              true;
  }
  const RegionStart start{NodeId{static_cast<uint32_t>(tracer.graph().size())},
                          tracer.symbol_count()};
  make_state(frame, context.get());
  const FrameState before = state_of(frame);
  context->block = tracer.enter_region(Op::kBlock, {}, NoAttr{});
  int64_t middle = 0;
  std::optional<Tracer::Bounds> bounds;
  if (trips) {
    middle = std::max<int64_t>(tracer.hint(*trips) / 2, 0);
    bounds = Tracer::Bounds{0, *trips - 1};
  }
  const SizeExpr counter = tracer.run_symbol(middle, bounds);
  context->loop = tracer.enter_region(Op::kLoop, {}, RegionAttr{*counter.as_symbol(), trips});
  const std::vector<bool> read_first = live_at(frame, trips ? head + 1 : head);
  for (Variable& variable : context->variables) {
    const bool is_known = variable.carrier.buffer != kNoNode ||
                          variable.carrier.type.kind == StateKind::kInt;
    if (!variable.begins_set && read_first[variable.slot])
      refuse_loop("a variable may be read before the first iteration has set it");
    if (!is_known) continue;
    variable.value = read_carrier(tracer, variable.carrier);
    if (variable.begins_set) frame.slots[variable.slot] = variable.value;
  }
  contexts_.push_back(std::move(context));
  enter(counter);
  Sym returned;
  const bool around = run_path(frame, kSink, &returned, !trips);
  if (around) go_around(*contexts_.back());
  heap.check_unchanged();
  tracer.leave_region(contexts_.back()->loop);
  context = std::move(contexts_.back());
  contexts_.pop_back();

  if (trips && context->exits.empty()) {
    tracer.leave_region(context->block);
    set_state(frame, exhausted_state(*context, before, has_run));
    exhaust();
  } else {
    if (trips) {
      set_state(frame, exhausted_state(*context, before, has_run));
      exhaust();
      returned = nullptr;
      if (run_path(frame, context->merge, &returned))
        context->exits.push_back({kNoNode, state_of(frame), returned});
    }
    const NodeId end{static_cast<uint32_t>(tracer.graph().size())};
    tracer.leave_region(context->block);
    if (context->exits.empty()) {
      if (!trips) refuse_loop("a loop without an end");
      throw PathOver{};
    }
    for (PathEnd& exit : context->exits) {
      if (exit.before == kNoNode) exit.before = end;
    }
    if (context->exits[0].returned) {
      const Meeting meeting = merge_paths(tracer, context->exits, start, {});
      frame.returned = meeting.returned;
    } else {
      const Context* const outer = context_of(frame);
      frame.next = context->merge == kSink ? outer->head : context->merge;
      const Meeting meeting =
          merge_paths(tracer, context->exits, start, live_at(frame, frame.next));
      set_state(frame, meeting.state);
    }
  }
  open_.pop_back();
  captured_.push_back(place);
}

bool Regions::capture_for(Frame& frame, const Instruction& instruction) {
  const size_t head = frame.next - 1;
  if (!facts_.may_capture || frame.is_polyfill || is_generator(frame) ||
      frame.trips.contains(frame.next) || is_refused({frame.bytecode.get(), head}))
    return false;
  const auto iterator = std::static_pointer_cast<IteratorValue>(frame.peek());
  Tracer& tracer = interpreter_.tracer;
  const auto left = iterator->items_left(tracer);
  if (!left) return false;
  const SizeExpr trips = tracer.simplify(*left);
  const int64_t most = tracer.in_region() ? kUnrolledInside : kUnrolledTrips;
  if (const auto count = trips.constant(); count && *count <= most) return false;
  if (!Paths::of_loop(*frame.bytecode, head)) return false;
  capture(
      frame, head, trips,
      [&](const SizeExpr& counter) { frame.push(iterator->item_ahead(tracer, counter)); },
      [&] {
        const int effect = stack_effect(instruction, true);
        if (effect < 0) frame.pop_many(-effect);
        for (int i = 0; i < effect; ++i) frame.push(null_value());
        frame.next = static_cast<size_t>(instruction.target);
      });
  return true;
}

bool Regions::capture_while(Frame& frame, size_t head) {
  if (!Paths::of_loop(*frame.bytecode, head)) return false;
  capture(frame, head, std::nullopt, [&](const SizeExpr&) { frame.next = head; }, [] {});
  return true;
}

}  // namespace numlift::frame_eval
