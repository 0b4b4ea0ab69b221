// What a Tracer keeps to itself; shared by the tracer_*.cpp files only.
#pragma once

#include <map>
#include <set>
#include <unordered_map>

#include "numlift/graph/regions.h"
#include "symbolic/tracer.h"

namespace numlift::frame_eval {

// A bound that every value meets: sizes of axes are not negative. nullopt: none is known.
std::optional<int64_t> lower_bound(const SizeExpr& expr, const std::vector<Symbol>& symbols);

struct Tracer::State {
  Ref function;
  guards::CallInputs call;
  std::vector<guards::Guard> guards;
  std::set<std::string> guard_keys;  // "<source> <predicate>": each guard once
  std::vector<InputSpec> inputs;
  std::vector<Ref> input_objects;                  // the present objects, by input
  std::vector<std::shared_ptr<Storage>> storages;  // of array inputs; null for the others
  std::vector<size_t> array_guards;                // by input: index of its IsArray guard
  std::map<std::string, Sym> opened;               // by source: a source read twice is one value
  // By real object: what can change, so that two sources of one object must be one value.
  std::unordered_map<PyObject*, Sym> identities;
  std::vector<Ref> changed_globals;
  std::vector<Sym> made_classes;
  std::vector<ExternRecipe> externs;
  std::vector<SizeExpr> merged;       // by SymbolId: what the symbol is known to equal
  std::vector<Ref> present;           // present values of nodes, as far as they were needed
  std::map<SymbolId, Bounds> bounds;  // of symbols that the program sets
  std::vector<MovedNode> moved;
  std::map<NodeId, SizeExpr> sizes_of;  // symbols of the open regions, by the integer they have
  struct Count {
    SizeExpr size;
    NodeId since{};  // it is known behind this node, up to the end of the region
  };
  std::map<NodeId, Count> counts;                         // by mask
  std::vector<std::pair<SymbolId, std::string>> dynamic;  // marked so, and of which axis
  std::vector<NodeId> examples;  // what stands for one value of a batch, in numlift.vmap
  uint32_t location = 0;
};

}  // namespace numlift::frame_eval
