// Lists that a captured loop makes longer or shorter: items of one type, in memory of the program.
#pragma once

#include "symbolic/frame_state.h"

namespace numlift::frame_eval {

// How long the list is while the loop runs.
enum class Growth : uint8_t {
  kFixed,    // it keeps its length
  kCounted,  // each iteration appends one item: as many as iterations are over
  kFree,     // a symbol that the program counts with; the memory grows when it is full
};

struct GrownList : SymbolicValue {
  GrownList() : SymbolicValue(SymKind::kGrownList) {}
  StateType element;                 // kScalar, or kArray of one size
  std::shared_ptr<Storage> storage;  // axis 0: the items that there is room for
  SizeExpr capacity, length;         // kFree: symbols
  Growth growth = Growth::kFixed;
  // The first items, where they are objects of their own: arrays, or numbers of another class than
  // those that follow (0.0 before np.float64). The memory has their values, too.
  std::vector<Sym> known;
};

// What the items of a list that grows are. nullopt: nothing that memory holds.
std::optional<StateType> item_type(const Sym& item);

// The list, a kList or kGrownList, as it is when a loop of `trips` iterations begins.
std::shared_ptr<GrownList> make_grown(Tracer& tracer, const Sym& list, const StateType& element,
                                      Growth growth, const std::optional<SizeExpr>& trips);
// `length`: behind it.
void grown_append(Tracer& tracer, GrownList& list, const Sym& item, const SizeExpr& length);
Sym grown_pop(Tracer& tracer, GrownList& list);
Sym grown_item(Tracer& tracer, const GrownList& list, const Sym& key);
void grown_set(Tracer& tracer, const GrownList& list, const Sym& key, const Sym& item);
// As it is now, whatever happens to the list.
SizeExpr grown_length(Tracer& tracer, const GrownList& list);
// np.array(list): a fresh array.
Sym grown_array(Tracer& tracer, const GrownList& list);
// For loops that the program runs: its items are known by number alone.
std::shared_ptr<IteratorValue> make_grown_iterator(const Sym& list);
// The items behind `known`, as they are when the program ends.
Sym grown_rest(Tracer& tracer, const GrownList& list);

}  // namespace numlift::frame_eval
