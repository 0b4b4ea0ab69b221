// Regions: loops, the variables that live across their iterations, and the ways out.
#include <algorithm>
#include <set>

#include "symbolic/limits.h"
#include "symbolic/pure.h"
#include "symbolic/regions.h"
#include "symbolic/value_parts.h"

namespace numlift::frame_eval {

namespace {

constexpr int kMostAttempts = 20;

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
  return (storage != own && (storage->is_input || storage->may_alias || storage->is_item)) ||
         !array.chain.empty() || count_holders(frame, live, storage) > 1;
}

}  // namespace

namespace {

// What earlier traces know of a variable that is `now` such a value. Sizes are those of this trace.
StateType as_known(const StateType& known, const StateType& now) {
  if (!is_alike(known, now)) return known.kind == StateKind::kArray ? now : known;
  StateType type = now;
  type.changing = known.changing;
  return type;
}

}  // namespace

namespace {

bool is_plain_tuple(const Sym& value) {
  return value && value->kind == SymKind::kTuple && !as<SequenceValue>(value).named_tuple_class;
}

// Null: nothing is there, or no tuple.
Sym value_at(const std::vector<Sym>& slots, const StatePlace& place) {
  const Sym& value = slots[place.slot];
  if (!place.item || !value) return value;
  if (!is_plain_tuple(value) || *place.item >= as<SequenceValue>(value).items.size())
    return nullptr;
  return as<SequenceValue>(value).items[*place.item];
}

Sym tuple_of(std::vector<Sym> items) {
  auto tuple = std::make_shared<SequenceValue>(SymKind::kTuple);
  tuple->items = std::move(items);
  return tuple;
}

// A slot, or the items of the tuple that is in it or will be.
std::vector<StatePlace> places_of(size_t slot, const Sym& value,
                                  const std::map<size_t, size_t>& opened) {
  const auto length = opened.find(slot);
  if (length == opened.end()) return {{slot}};
  if (value && (!is_plain_tuple(value) || as<SequenceValue>(value).items.size() != length->second))
    refuse_loop("a variable that holds a " + type_name(value) + " becomes a tuple");
  std::vector<StatePlace> places;
  for (size_t item = 0; item < length->second; ++item) places.push_back({slot, item});
  return places;
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
  std::vector<StatePlace> places;
  for (size_t slot = 0; slot < frame.slots.size(); ++slot) {
    if (!assigned[slot] || !live[slot]) continue;
    const auto added = places_of(slot, frame.slots[slot], context->facts->opened);
    if (added.empty() || added[0].item) context->tuples[slot].resize(added.size());
    places.insert(places.end(), added.begin(), added.end());
  }
  std::vector<std::pair<const Carrier*, Sym>> initial;
  context->variables.reserve(places.size());
  for (const StatePlace& place : places) {
    const Sym value = value_at(frame.slots, place);
    const auto known = context->facts->state.find(place);
    const bool is_known = known != context->facts->state.end();
    std::optional<StateType> type;
    if (is_known && known->second.kind != StateKind::kArray) {
      type = known->second;
    } else if (value && (is_known || value->kind != SymKind::kArray)) {
      type = state_type(value);
      if (type && is_known) type = as_known(known->second, *type);
    }
    // Arrays are taken to stay the same objects until an iteration shows another one.
    if (value && !type) {
      context->constants.emplace_back(place, value);
      if (place.item) context->tuples[place.slot][*place.item] = value;
      continue;
    }
    Variable variable;
    variable.place = place;
    variable.begins_set = value != nullptr;
    // Where it is not set yet, the iteration that sets it makes its memory.
    if (value) {
      variable.carrier = make_carrier(tracer, *type, value, kNoNode, &context->sizes);
      if (variable.carrier.storage)
        variable.carrier.storage->may_alias =
            is_shared(frame, live, value) || context->facts->may_alias.contains(place);
    }
    if (value && type->kind == StateKind::kArray) {
      for (size_t axis = 0; axis < type->changing.size(); ++axis) {
        if (type->changes(axis))
          context->size_classes.emplace_back(tracer.simplify(as<ArrayValue>(value).type.dims[axis]),
                                             type->changing[axis]);
      }
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
                    [&](const auto& constant) { return constant.first == StatePlace{slot}; });
    if (assigned[slot] && !is_constant) frame.slots[slot] = nullptr;
  }
}

namespace {

bool is_made(const Carrier& carrier) {
  return carrier.buffer != kNoNode ||
         (carrier.type.kind == StateKind::kInt && carrier.symbol.as_symbol());
}

}  // namespace

// The number of sizes that begin as this one. What begins alike is taken to change together, until
// an iteration shows that it does not.
int Regions::size_class(Context& context, const SizeExpr& size) {
  for (const auto& [known, number] : context.size_classes) {
    if (known == size) return number;
  }
  context.size_classes.emplace_back(size, context.facts->size_classes++);
  return context.size_classes.back().second;
}

// Memory before the loop for what the first iteration sets.
bool Regions::make_late(Variable* variable, const StateType& type, Context* context) {
  Tracer& tracer = interpreter_.tracer;
  const RegionStart start{context->block, context->symbols};
  StateType now = type;
  bool has_news = false;
  for (size_t axis = 0; axis < now.type.dims.size(); ++axis) {
    const SizeExpr size = tracer.simplify(now.type.dims[axis]);
    if (now.changes(axis) || !start.contains(tracer, std::make_shared<SizeValue>(size))) continue;
    now.changing.resize(now.type.dims.size(), -1);
    now.changing[axis] = size_class(*context, size);
    has_news = true;
  }
  if (has_news) {
    context->facts->state[variable->place] = std::move(now);
    return false;
  }
  variable->carrier = make_carrier(tracer, now, nullptr, context->block, &context->sizes);
  if (now.kind == StateKind::kInt)
    store_carriers(tracer, {{&variable->carrier, interpreter_.integer(0)}}, context->block);
  return true;
}

// Whether sizes that were taken to change together do. Those that do not get other numbers.
bool Regions::part_sizes(const Frame& frame, Context& context) {
  Tracer& tracer = interpreter_.tracer;
  std::map<int, std::vector<std::pair<SizeExpr, int>>> found;  // by number: sizes, each its own
  bool all_same = true;
  for (const Variable& variable : context.variables) {
    const StateType& type = variable.carrier.type;
    for (size_t axis = 0; axis < type.changing.size(); ++axis) {
      if (!type.changes(axis)) continue;
      const int number = type.changing[axis];
      const SizeExpr size =
          tracer.simplify(as<ArrayValue>(value_at(frame.slots, variable.place)).type.dims[axis]);
      auto& parts = found[number];
      auto part = std::find_if(parts.begin(), parts.end(), [&](const auto& one) {
        return is_one_size(tracer, one.first, size);
      });
      if (part == parts.end()) {
        parts.emplace_back(size, parts.empty() ? number : context.facts->size_classes++);
        part = std::prev(parts.end());
      }
      if (part->second == number) continue;
      StateType& known = context.facts->state[variable.place];
      if (known.kind != StateKind::kArray) known = type;
      known.changing[axis] = part->second;
      all_same = false;
    }
  }
  return all_same;
}

// An array in the memory of `carrier`: what has to change of it. nullopt: nothing holds both.
std::optional<StateType> Regions::join_arrays(Context& context, const StateType& carrier,
                                              const StateType& now) {
  if (!is_alike(carrier, now)) return std::nullopt;
  StateType joined = carrier;
  for (size_t axis = 0; axis < now.type.dims.size(); ++axis) {
    const SizeExpr& size = carrier.type.dims[axis];
    if (carrier.changes(axis) || is_one_size(interpreter_.tracer, size, now.type.dims[axis]))
      continue;
    joined.changing.resize(now.type.dims.size(), -1);
    joined.changing[axis] = size_class(context, interpreter_.tracer.simplify(size));
  }
  return joined;
}

bool Regions::go_around_with(const Frame& frame, Context& context, Variable& variable,
                             const std::vector<bool>& live,
                             std::vector<std::pair<const Carrier*, Sym>>* stores) {
  const Sym value = value_at(frame.slots, variable.place);
  if (!value)
    refuse_loop(variable.place.item ? "a variable that holds a tuple changes"
                                    : "a variable is deleted in a loop");
  const auto type = state_type(value);
  if (!type && !variable.place.item && !variable.begins_set && is_plain_tuple(value)) {
    context.facts->opened[variable.place.slot] = as<SequenceValue>(value).items.size();
    return false;
  }
  if (!type) refuse_loop("a variable becomes a " + type_name(value));
  const auto known = context.facts->state.find(variable.place);
  const bool is_known = known != context.facts->state.end();
  if (!variable.begins_set && !is_made(variable.carrier) &&
      !make_late(&variable, is_known ? as_known(known->second, *type) : *type, &context))
    return false;
  const bool is_array = variable.carrier.type.kind == StateKind::kArray;
  const auto joined = is_array ? join_arrays(context, variable.carrier.type, *type)
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
    if (is_known && known->second == *joined) refuse_loop("the kind of a variable does not settle");
    context.facts->state[variable.place] = *joined;
    return false;
  }
  // Another variable's memory, which that variable gives away in exchange, is not shared.
  const bool aliases = is_shared(frame, live, value, variable.carrier.storage.get());
  variable.aliases = variable.aliases || aliases;
  if (aliases && context.facts->may_alias.insert(variable.place).second) throw Retrace{};
  stores->emplace_back(&variable.carrier, value);
  return true;
}

// What was taken to stay the same object. False: it does not, which is news.
bool Regions::stays(const Frame& frame, Context& context, const StatePlace& place,
                    const Sym& value) {
  const Sym now = value_at(frame.slots, place);
  const bool same =
      now == value ||
      (now && now->kind == SymKind::kObject && value->kind == SymKind::kObject &&
       object_of(now).get() == object_of(value).get() && !as<ObjectValue>(now).differs());
  if (same) return true;
  if (is_plain_tuple(now) && is_plain_tuple(value) && !place.item &&
      as<SequenceValue>(now).items.size() == as<SequenceValue>(value).items.size()) {
    context.facts->opened[place.slot] = as<SequenceValue>(now).items.size();
    return false;
  }
  auto type = now ? state_type(value) : std::nullopt;
  const auto other = now ? state_type(now) : std::nullopt;
  if (!type || type->kind != StateKind::kArray)
    refuse_loop("a variable that holds a " + type_name(value) + " changes");
  if (auto joined = other ? join_arrays(context, *type, *other) : std::nullopt)
    type = std::move(joined);
  context.facts->state[place] = std::move(*type);
  return false;
}

void Regions::go_around(Context& context) {
  Frame& frame = *context.frame;
  std::vector<std::pair<const Carrier*, Sym>> stores;
  bool has_news = false;
  const std::vector<bool> live = live_at(frame, context.head);
  for (Variable& variable : context.variables)
    has_news = !go_around_with(frame, context, variable, live, &stores) || has_news;
  for (const auto& [slot, items] : context.tuples) {
    const Sym& now = frame.slots[slot];
    if (now && (!is_plain_tuple(now) || as<SequenceValue>(now).items.size() != items.size()))
      refuse_loop("a variable that holds a tuple changes");
  }
  for (const auto& [place, value] : context.constants)
    has_news = !stays(frame, context, place, value) || has_news;
  has_news = !lists_are_counted(context) || has_news;
  if (has_news || !part_sizes(frame, context)) throw Retrace{};
  store_carriers(interpreter_.tracer, stores, kNoNode);
}

// What a variable holds behind the last iteration; null: no iteration sets it.
Sym Regions::exhausted_value(const Variable& variable, bool has_run) {
  Tracer& tracer = interpreter_.tracer;
  if (!is_made(variable.carrier)) return nullptr;
  if (!variable.begins_set && !has_run)
    refuse_loop("a variable is not set when the loop has no iteration");
  const Sym value = variable.value && variable.value->kind == SymKind::kArray
                        ? variable.value
                        : read_carrier(tracer, variable.carrier);
  if (!has_run || !variable.around) return value;
  if (value->kind == SymKind::kScalar && !variable.around->either &&
      variable.around->kind == StateKind::kScalar &&
      variable.around->type.dtype == as<ScalarValue>(value).type.dtype) {
    return tracer.new_scalar(
        tracer.append(Op::kCast, {variable.carrier.buffer}, NoAttr{}, variable.around->type));
  }
  if (value->kind == SymKind::kArray && variable.carrier.storage->may_alias != variable.aliases) {
    // Not what the paths have that left before the first iteration was over.
    const auto array = std::make_shared<ArrayValue>(as<ArrayValue>(value));
    array->storage = std::make_shared<Storage>(*array->storage);
    array->storage->may_alias = variable.aliases;
    return array;
  }
  return value;
}

FrameState Regions::exhausted_state(const Context& context, const FrameState& at_head,
                                    bool has_run) {
  FrameState state = at_head;
  const std::vector<bool> live =
      live_at(*context.frame,
              static_cast<size_t>(context.frame->bytecode->instructions[context.head].target));
  std::map<size_t, std::vector<Sym>> tuples = context.tuples;
  for (const Variable& variable : context.variables) {
    const StatePlace& place = variable.place;
    Sym& value = place.item ? tuples[place.slot][*place.item] : state.slots[place.slot];
    value = live[place.slot] ? exhausted_value(variable, has_run) : nullptr;
  }
  for (auto& [slot, items] : tuples) {
    const bool all_set =
        std::all_of(items.begin(), items.end(), [](const Sym& item) { return item != nullptr; });
    state.slots[slot] = all_set ? tuple_of(std::move(items)) : nullptr;
  }
  return state;
}

void Regions::capture(Frame& frame, Paths paths, size_t head, const std::optional<SizeExpr>& trips,
                      const std::function<void(const SizeExpr&)>& enter,
                      const std::function<void()>& exhaust) {
  Tracer& tracer = interpreter_.tracer;
  const LoopFacts::Place place{frame.bytecode.get(), head};
  auto context = std::make_unique<Context>();
  context->frame = &frame;
  context->head = head;
  context->paths = std::move(paths);
  context->facts = &facts_.loops[place];
  context->merge = paths_of(frame).meeting_outside(head, context->paths);
  open_.push_back(place);
  if (++context->facts->attempts > kMostAttempts)
    refuse_loop("the kinds of its variables do not settle");

  const HeapImage heap(frame);
  const bool has_run = trips && tracer.holds_always(SizeGuard::Relation::kLess, 0, *trips,
                                                    "a loop has an iteration at " +
                                                        interpreter_.location_text()) == true;
  context->begins_at = trace_clock();
  std::optional<SizeExpr> count = trips;
  if (trips && !has_run) count = SizeExpr::max(*trips, 0);
  grow_lists(frame, context.get(), count);
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
  std::map<size_t, std::vector<Sym>> tuples = context->tuples;
  for (Variable& variable : context->variables) {
    const StatePlace& place = variable.place;
    if (!variable.begins_set && read_first[place.slot])
      refuse_loop("a variable may be read before the first iteration has set it");
    if (!variable.begins_set) continue;
    variable.value = read_carrier(tracer, variable.carrier);
    (place.item ? tuples[place.slot][*place.item] : frame.slots[place.slot]) = variable.value;
  }
  for (auto& [slot, items] : tuples) {
    if (std::all_of(items.begin(), items.end(), [](const Sym& item) { return item != nullptr; }))
      frame.slots[slot] = tuple_of(std::move(items));
  }
  for (GrowingList& one : context->lists) one.begin_iteration(counter);
  contexts_.push_back(std::move(context));
  enter(counter);
  Sym returned;
  const bool around = run_path(frame, kSink, &returned, !trips);
  if (around) go_around(*contexts_.back());
  finish_lists(contexts_.back().get(), count);
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
    end_path();
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
  const bool is_wanted = facts_.wanted.contains({frame.bytecode.get(), head});
  if (const auto count = trips.constant(); count && *count <= most && !is_wanted) return false;
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
