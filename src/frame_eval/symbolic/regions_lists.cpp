// Regions: lists that captured loops make longer or shorter.
#include <algorithm>

#include "symbolic/pure.h"
#include "symbolic/regions.h"
#include "symbolic/value_parts.h"

namespace numlift::frame_eval {
namespace {

const std::vector<Sym>& values_at(const Frame& frame, const ListPlace& place) {
  return place.is_on_stack ? frame.stack : frame.slots;
}

// A variable, or a place of the stack, of this very frame.
std::optional<ListPlace> place_of(const Frame& frame, const Sym& list) {
  for (const bool is_on_stack : {false, true}) {
    const auto& values = is_on_stack ? frame.stack : frame.slots;
    const auto found = std::find(values.begin(), values.end(), list);
    if (found != values.end())
      return ListPlace{is_on_stack, static_cast<size_t>(found - values.begin())};
  }
  return std::nullopt;
}

// Something else than variables and stack of the innermost frame holds the list, so that it cannot
// become another value.
bool is_held_elsewhere(Tracer& tracer, const Frame& innermost, const Sym& list) {
  Reached reached;
  for (const Frame* frame = &innermost; frame != nullptr; frame = frame->caller) {
    for (const auto& values : {frame->slots, frame->stack}) {
      for (const Sym& value : values) {
        if (value && (value != list || frame != &innermost)) reached.add(value);
      }
    }
    for (const auto& cell : frame->closure) reached.add(cell);
  }
  for (const Tracer::Effect& effect : tracer.effects()) {
    for (const Sym& argument : effect.call.arguments) reached.add(argument);
  }
  return reached.contains(list);
}

}  // namespace

void Regions::GrowingList::begin_iteration(const SizeExpr& counter) {
  if (list->growth != Growth::kCounted) return;
  list->length = before + counter;
  behind_iteration = list->length + 1;
}

bool Regions::GrowingList::is_behind_iteration() const {
  return list->growth != Growth::kCounted || list->length == behind_iteration;
}

std::shared_ptr<GrownList> Regions::grow_list(Frame& frame, const ListPlace& place,
                                              const LoopFacts::Loop::List& facts,
                                              const std::optional<SizeExpr>& count,
                                              const std::vector<FrameState*>& states) {
  const std::vector<Sym>& values = values_at(frame, place);
  const Sym list = place.index < values.size() ? values[place.index] : nullptr;
  if (!list || (list->kind != SymKind::kList && list->kind != SymKind::kGrownList))
    refuse_loop("a variable holds a list that grows in some calls only");
  Growth growth = facts.growth;
  if (!count && growth == Growth::kCounted) growth = Growth::kFree;
  // An outer loop makes it longer, too.
  if (growing(list).first != nullptr) return nullptr;
  if (list->kind == SymKind::kGrownList && growth != Growth::kCounted &&
      as<GrownList>(list).growth == Growth::kFree && as<GrownList>(list).element == facts.element)
    return std::static_pointer_cast<GrownList>(list);
  must_grow(list, facts.element, growth);
  if (is_held_elsewhere(interpreter_.tracer, frame, list))
    refuse_loop("a list grows that something else than a variable holds");
  auto grown = make_grown(interpreter_.tracer, list, facts.element, growth, count);
  std::vector<std::vector<Sym>*> all{&frame.slots, &frame.stack};
  for (FrameState* state : states) {
    all.push_back(&state->slots);
    all.push_back(&state->stack);
  }
  for (std::vector<Sym>* one : all) std::replace(one->begin(), one->end(), list, Sym(grown));
  return grown;
}

void Regions::grow_lists(Frame& frame, Context* context, const std::optional<SizeExpr>& count) {
  for (auto& [place, facts] : context->facts->lists) {
    GrowingList growing;
    growing.list = grow_list(frame, place, facts, count, {});
    if (!growing.list) continue;
    growing.before = growing.list->length;
    growing.facts = &facts;
    context->lists.push_back(std::move(growing));
  }
}

// False: some list gets no item in some iteration, which is news.
bool Regions::lists_are_counted(Context& context) {
  bool all = true;
  for (GrowingList& one : context.lists) {
    if (one.is_behind_iteration()) continue;
    one.facts->growth = Growth::kFree;
    all = false;
  }
  return all;
}

void Regions::finish_lists(Context* context, const std::optional<SizeExpr>& count) {
  for (GrowingList& one : context->lists) {
    if (one.list->growth != Growth::kCounted) continue;
    // How many iterations there were is not known behind a break.
    if (!context->exits.empty()) note_growth(one, Growth::kFree);
    one.list->length = one.before + *count;
  }
}

std::pair<Regions::Context*, Regions::GrowingList*> Regions::growing(const Sym& list) {
  for (const auto& context : contexts_) {
    for (GrowingList& one : context->lists) {
      if (one.list == list) return {context.get(), &one};
    }
  }
  return {nullptr, nullptr};
}

void Regions::note_growth(GrowingList& list, Growth growth) {
  list.facts->growth = growth;
  throw Retrace{};
}

// Throws Retrace when an open loop began with this list.
void Regions::must_grow(const Sym& list, const std::optional<StateType>& element, Growth growth) {
  for (const auto& context : contexts_) {
    if (list->born >= context->begins_at) continue;
    const auto place = place_of(*context->frame, list);
    if (!place) refuse_loop("a list grows that is no variable of the function with the loop");
    if (!element) refuse_loop("a list grows by values that no array holds");
    if (!context->facts->lists.emplace(*place, LoopFacts::Loop::List{*element, growth}).second)
      refuse_loop("a list that grows becomes another one");
    throw Retrace{};
  }
}

bool Regions::append(const Sym& list, const Sym& item) {
  if (list->kind != SymKind::kList && list->kind != SymKind::kGrownList) return false;
  Tracer& tracer = interpreter_.tracer;
  const auto [context, one] = growing(list);
  if (context == nullptr) {
    must_grow(list, item_type(item), Growth::kCounted);
    if (list->kind == SymKind::kGrownList)
      throw_break("unsupported_value", "append() to a list behind the loop that made it");
    return false;
  }
  if (one->list->growth == Growth::kFixed) note_growth(*one, Growth::kCounted);
  const bool is_counted = one->list->growth == Growth::kCounted;
  if (is_counted && (!tracer.is_innermost_region(context->loop) || one->is_behind_iteration()))
    note_growth(*one, Growth::kFree);
  grown_append(tracer, *one->list, item, one->behind_iteration);
  return true;
}

Sym Regions::pop(const Sym& list) {
  if (list->kind != SymKind::kList && list->kind != SymKind::kGrownList) return nullptr;
  const auto [context, one] = growing(list);
  if (context == nullptr) {
    if (list->kind == SymKind::kGrownList)
      throw_break("unsupported_value", "pop() from a list behind the loop that made it");
    const auto& items = as<SequenceValue>(list).items;
    if (contexts_.empty() || items.empty()) return nullptr;
    must_grow(list, item_type(items.back()), Growth::kFree);
    return nullptr;
  }
  if (one->list->growth != Growth::kFree) note_growth(*one, Growth::kFree);
  return grown_pop(interpreter_.tracer, *one->list);
}

namespace {

// An index that is another one in each iteration.
bool is_of_run(Tracer& tracer, const Sym& key) {
  if (key->kind == SymKind::kSize) return tracer.is_run_time(as<SizeValue>(key).expr);
  return key->kind == SymKind::kScalar && is_integer(as<ScalarValue>(key).type.dtype);
}

}  // namespace

Sym Regions::item_of(const Sym& list, const Sym& key) {
  if (list->kind == SymKind::kGrownList)
    return grown_item(interpreter_.tracer, as<GrownList>(list), key);
  if (list->kind != SymKind::kList || contexts_.empty() || !is_of_run(interpreter_.tracer, key))
    return nullptr;
  const auto& items = as<SequenceValue>(list).items;
  if (!items.empty()) must_grow(list, item_type(items[0]), Growth::kFixed);
  return nullptr;
}

bool Regions::set_item(const Sym& list, const Sym& key, const Sym& item) {
  if (list->kind == SymKind::kList && !contexts_.empty())
    must_grow(list, item_type(item), Growth::kFixed);
  if (list->kind != SymKind::kGrownList) return false;
  if (growing(list).first == nullptr)
    throw_break("unsupported_value", "an item of a list is set behind the loop that made it");
  grown_set(interpreter_.tracer, as<GrownList>(list), key, item);
  return true;
}

}  // namespace numlift::frame_eval
