// Regions: lists that captured loops make longer or shorter.
#include <algorithm>

#include "symbolic/pure.h"
#include "symbolic/regions.h"
#include "symbolic/value_parts.h"

namespace numlift::frame_eval {
namespace {

std::vector<Sym>& values_at(Frame& frame, const ListPlace& place) {
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
  return list->growth == Growth::kFree || list->length == behind_iteration;
}

void Regions::grow_lists(Frame& frame, Context* context, const std::optional<SizeExpr>& trips,
                         bool has_run) {
  Tracer& tracer = interpreter_.tracer;
  for (auto& [place, facts] : context->facts->lists) {
    std::vector<Sym>& values = values_at(frame, place);
    const Sym list = place.index < values.size() ? values[place.index] : nullptr;
    if (!list || (list->kind != SymKind::kList && list->kind != SymKind::kGrownList))
      refuse_loop("a variable holds a list that grows in some calls only");
    if (is_held_elsewhere(tracer, frame, list))
      refuse_loop("a list grows that something else than a variable holds");
    if (!trips) facts.growth = Growth::kFree;
    std::optional<SizeExpr> count = trips;
    if (trips && !has_run) count = SizeExpr::max(*trips, 0);
    GrowingList growing;
    growing.list = make_grown(tracer, list, facts.element, facts.growth, count);
    growing.before = growing.list->length;
    growing.facts = &facts;
    for (std::vector<Sym>* all : {&frame.slots, &frame.stack})
      std::replace(all->begin(), all->end(), list, Sym(growing.list));
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

void Regions::finish_lists(Context* context, const std::optional<SizeExpr>& trips, bool has_run) {
  for (GrowingList& one : context->lists) {
    if (one.list->growth == Growth::kFree) continue;
    // How many iterations there were is not known behind a break.
    if (!context->exits.empty()) {
      one.facts->growth = Growth::kFree;
      throw Retrace{};
    }
    one.list->length = one.before + (has_run ? *trips : SizeExpr::max(*trips, 0));
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
  const bool is_first = one->list->growth == Growth::kFree ||
                        (tracer.is_innermost_region(context->loop) && !one->is_behind_iteration());
  if (!is_first) {
    one->facts->growth = Growth::kFree;
    throw Retrace{};
  }
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
  if (one->list->growth == Growth::kCounted) {
    one->facts->growth = Growth::kFree;
    throw Retrace{};
  }
  return grown_pop(interpreter_.tracer, *one->list);
}

}  // namespace numlift::frame_eval
