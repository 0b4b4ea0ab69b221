// Regions: loops, the variables that live across their iterations, and the ways out.
#include <algorithm>
#include <set>

#include "symbolic/limits.h"
#include "symbolic/pure.h"
#include "symbolic/regions.h"
#include "symbolic/value_parts.h"

namespace numlift::frame_eval {

namespace {

constexpr int kMostAttempts = 12;

// How many variables and containers hold an array of this memory; of the innermost frame's
// variables those that are live.
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

// Held by a variable, and not by it alone. Of its `own` memory it is known already what that may
// be.
bool is_shared(const Frame& frame, const std::vector<bool>& live, const Sym& value,
               const Storage* own = nullptr) {
  if (value->kind != SymKind::kArray) return false;
  const auto& array = as<ArrayValue>(value);
  const Storage* const storage = array.storage.get();
  return (storage != own && (storage->is_input || storage->may_alias)) || !array.chain.empty() ||
         count_holders(frame, live, storage) > 1;
}

}  // namespace

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
  for (size_t slot = 0; slot < frame.slots.size(); ++slot) {
    if (!assigned[slot] || !live[slot]) continue;
    const Sym& value = frame.slots[slot];
    const auto known = context->facts->state.find(slot);
    const bool is_known = known != context->facts->state.end();
    std::optional<StateType> type;
    if (is_known && known->second.kind != StateKind::kArray) {
      type = known->second;
    } else if (value && (is_known || value->kind != SymKind::kArray)) {
      type = state_type(value);
    }
    // Arrays are taken to stay the same objects until an iteration shows another one.
    if (value && !type) {
      context->constants.emplace_back(slot, value);
      continue;
    }
    Variable variable;
    variable.slot = slot;
    variable.begins_set = value != nullptr;
    // Where it is not set yet, the iteration that sets it makes its memory.
    if (value) {
      variable.carrier = make_carrier(tracer, *type, value, kNoNode);
      if (variable.carrier.storage)
        variable.carrier.storage->may_alias =
            is_shared(frame, live, value) || context->facts->may_alias.contains(slot);
    }
    context->variables.push_back(std::move(variable));
    if (value) initial.emplace_back(&context->variables.back().carrier, value);
  }
  store_carriers(tracer, initial, kNoNode);
  // What iterations assign anew is not there before they do, but for the variables (see capture())
  // and what stays as it is.
  for (size_t slot = 0; slot < frame.slots.size(); ++slot) {
    const bool is_constant =
        std::any_of(context->constants.begin(), context->constants.end(),
                    [&](const auto& constant) { return constant.first == slot; });
    if (assigned[slot] && !is_constant) frame.slots[slot] = nullptr;
  }
}

namespace {

bool is_made(const Carrier& carrier) {
  return carrier.buffer != kNoNode ||
         (carrier.type.kind == StateKind::kInt && carrier.symbol.as_symbol());
}

}  // namespace

// Memory before the loop for what the first iteration sets.
void Regions::make_late(Variable* variable, const StateType& type, const Context& context) {
  Tracer& tracer = interpreter_.tracer;
  const RegionStart start{context.block, context.symbols};
  const bool is_sized_inside =
      std::any_of(type.type.dims.begin(), type.type.dims.end(), [&](const SizeExpr& dim) {
        return start.contains(tracer, std::make_shared<SizeValue>(dim));
      });
  if (is_sized_inside)
    refuse_loop("the size of an array that leaves a loop depends on the iteration");
  variable->carrier = make_carrier(tracer, type, nullptr, context.block);
  if (type.kind == StateKind::kInt)
    store_carriers(tracer, {{&variable->carrier, interpreter_.integer(0)}}, context.block);
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
    const auto known = context.facts->state.find(variable.slot);
    if (!variable.begins_set && !is_made(variable.carrier))
      make_late(&variable, known == context.facts->state.end() ? *type : known->second, context);
    const bool is_array = variable.carrier.type.kind == StateKind::kArray;
    const auto joined = is_array && is_same_array(tracer, variable.carrier.type, *type)
                            ? variable.carrier.type
                            : join(variable.carrier.type, *type);
    if (!joined)
      refuse_loop(
          fmt::format("a variable becomes a {} that was another kind of value", type_name(value)));
    if (is_array || !variable.around) {
      variable.around = is_array ? variable.carrier.type : type;
    } else {
      variable.around = join(*variable.around, *type);
      if (!variable.around) variable.around = joined;
    }
    if (!(*joined == variable.carrier.type)) {
      if (known != context.facts->state.end() && known->second == *joined)
        refuse_loop("the kind of a variable does not settle");
      context.facts->state[variable.slot] = *joined;
      has_news = true;
      continue;
    }
    // Another variable's memory, which that variable gives away in exchange, is not shared.
    const bool aliases = is_shared(frame, live, value, variable.carrier.storage.get());
    variable.aliases = variable.aliases || aliases;
    if (aliases && context.facts->may_alias.insert(variable.slot).second) throw Retrace{};
    stores.emplace_back(&variable.carrier, value);
  }
  for (const auto& [slot, value] : context.constants) {
    const Sym& now = frame.slots[slot];
    const bool same =
        now == value ||
        (now && now->kind == SymKind::kObject && value->kind == SymKind::kObject &&
         object_of(now).get() == object_of(value).get() && !as<ObjectValue>(now).differs());
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
    if (!is_made(variable.carrier)) continue;  // no iteration sets it
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
    if (value->kind == SymKind::kArray && variable.carrier.storage->may_alias != variable.aliases) {
      // Not what the paths have that left before the first iteration was over.
      const auto array = std::make_shared<ArrayValue>(as<ArrayValue>(value));
      array->storage = std::make_shared<Storage>(*array->storage);
      array->storage->may_alias = variable.aliases;
      value = array;
    }
  }
  return state;
}

void Regions::capture(Frame& frame, Paths paths, size_t head, const std::optional<SizeExpr>& trips,
                      const std::function<void(const SizeExpr&)>& enter,
                      const std::function<void()>& exhaust) {
  Tracer& tracer = interpreter_.tracer;
  const LoopFacts::Place place{frame.bytecode.get(), head};
  auto context = std::make_unique<Context>(
      Context{&frame, head, std::move(paths), kSink, {}, {}, 0, {}, {}, {}, nullptr});
  context->facts = &facts_.loops[place];
  context->merge = paths_of(frame).meeting_outside(head, context->paths);
  open_.push_back(place);
  if (++context->facts->attempts > kMostAttempts)
    refuse_loop("the kinds of its variables do not settle");

  const HeapImage heap(frame);
  const bool has_run = trips && tracer.holds_always(SizeGuard::Relation::kLess, 0, *trips,
                                                    "a loop has an iteration at " +
                                                        interpreter_.location_text()) == true;
  const RegionStart start{NodeId{static_cast<uint32_t>(tracer.graph().size())},
                          tracer.symbol_count()};
  make_state(frame, context.get());
  const FrameState before = state_of(frame);
  context->symbols = tracer.symbol_count();
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
    if (!variable.begins_set && read_first[variable.slot])
      refuse_loop("a variable may be read before the first iteration has set it");
    if (!variable.begins_set) continue;
    variable.value = read_carrier(tracer, variable.carrier);
    frame.slots[variable.slot] = variable.value;
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

  const bool ends_by_exits = !context->exits.empty() || !trips;
  if (trips) {
    if (!ends_by_exits) tracer.leave_region(context->block);
    set_state(frame, exhausted_state(*context, before, has_run));
    exhaust();
  }
  if (ends_by_exits) meet_exits(frame, context.get(), start, trips.has_value());
  open_.pop_back();
  captured_.push_back(place);
}

// All ways out of the loop go on to where they meet, the one behind its last iteration among them.
void Regions::meet_exits(Frame& frame, Context* context, const RegionStart& start,
                         bool is_exhausted) {
  Tracer& tracer = interpreter_.tracer;
  Sym returned;
  const bool meets = is_exhausted && run_path(frame, context->merge, &returned);
  const NodeId end{static_cast<uint32_t>(tracer.graph().size())};
  if (meets) context->exits.push_back({end, state_of(frame), returned});
  tracer.leave_region(context->block);
  if (context->exits.empty()) {
    if (!is_exhausted) refuse_loop("a loop without an end");
    throw PathOver{};
  }
  meet(frame, context->merge, context->exits, start);
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
  auto paths = Paths::of_loop(*frame.bytecode, head);
  if (!paths) return false;
  capture(
      frame, std::move(*paths), head, trips,
      [&](const SizeExpr& counter) { frame.push(iterator->item_ahead(tracer, counter)); },
      [&] { end_for(frame, instruction); });
  return true;
}

bool Regions::capture_while(Frame& frame, size_t head) {
  auto paths = Paths::of_loop(*frame.bytecode, head);
  if (!paths) return false;
  capture(
      frame, std::move(*paths), head, std::nullopt, [&](const SizeExpr&) { frame.next = head; },
      [] {});
  return true;
}

}  // namespace numlift::frame_eval
