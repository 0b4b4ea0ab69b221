// Common subexpressions: nodes with equal op, operands, attributes and type become the first of
// them. Reads of memory differ in their version operands, so that equal operands mean equal values.
#include <algorithm>
#include <functional>
#include <unordered_map>

#include "numlift/graph/pass.h"
#include "numlift/support/check.h"
#include "rewrite.h"

namespace numlift {
namespace {

size_t mix(size_t seed, size_t value) {
  return seed ^ (value + 0x9e3779b97f4a7c15ull + (seed << 6) + (seed >> 2));
}

// Equal nodes have equal hashes; attributes that are not hashed are compared only.
size_t node_hash(const Node& node) {
  size_t seed = static_cast<size_t>(node.op);
  for (NodeId operand : node.operands) seed = mix(seed, index_of(operand));
  seed = mix(seed, static_cast<size_t>(node.type.dtype));
  for (const SizeExpr& dim : node.type.dims) seed = mix(seed, dim.hash());
  if (const auto* constant = std::get_if<ConstantAttr>(&node.attr)) {
    for (unsigned char byte : constant->value.bytes) seed = mix(seed, byte);
  }
  return seed;
}

bool same_value(const Node& a, const Node& b) {
  return a.op == b.op && a.operands == b.operands && a.type == b.type && a.order == b.order &&
         a.attr == b.attr;
}

// Whether a second node like it could be the first one.
bool is_mergeable(const Node& node) {
  switch (op_info(node.op).op_class) {
    case OpClass::kElementwise:
    case OpClass::kView:
    case OpClass::kReduction:
    case OpClass::kGather:
    case OpClass::kGufunc:
      return true;
    case OpClass::kLeaf:
      return node.op != Op::kPlaceholder && node.op != Op::kEmpty;
    case OpClass::kMemory:
    case OpClass::kExtern:
    case OpClass::kControl:
      return false;
  }
  NUMLIFT_UNREACHABLE();
}

// The symbols that a node itself reads.
std::vector<SymbolId> symbols_of(const Node& node) {
  std::vector<SymbolId> used;
  for (const SizeExpr& dim : node.type.dims) dim.collect_symbols(&used);
  if (const auto* size = std::get_if<SizeAttr>(&node.attr)) size->value.collect_symbols(&used);
  if (const auto* view = std::get_if<ViewAttr>(&node.attr)) {
    for (const IndexMap::Axis& axis : view->map.axes) {
      axis.start.collect_symbols(&used);
      axis.step.collect_symbols(&used);
    }
  }
  return used;
}

// The symbols that the nodes [from, to) set.
std::vector<SymbolId> symbols_set(const Graph& graph, NodeId from, NodeId to) {
  std::vector<SymbolId> set;
  for (uint32_t i = index_of(from); i < index_of(to); ++i) {
    const Node& node = graph.node(NodeId{i});
    if (const auto* region = std::get_if<RegionAttr>(&node.attr)) set.push_back(region->counter);
    if (const auto* assign = std::get_if<AssignAttr>(&node.attr)) {
      set.insert(set.end(), assign->symbols.begin(), assign->symbols.end());
    }
  }
  return set;
}

// The nodes that a later one may become, by hash.
class KnownNodes {
 public:
  void open_arm() { arms_.emplace_back(); }
  // What is known in an arm of a region is not known behind it.
  void close_arm() { arms_.pop_back(); }
  void add(size_t hash, NodeId id) { arms_.back().emplace(hash, id); }

  // Calls visit(id, is of this arm) until it returns true.
  template <class Visit>
  void find(size_t hash, Visit visit) const {
    for (size_t arm = arms_.size(); arm-- > 0;) {
      auto [at, last] = arms_[arm].equal_range(hash);
      for (; at != last; ++at) {
        if (visit(at->second, arm + 1 == arms_.size())) return;
      }
    }
  }

  // A symbol that is set means another value from here on.
  void forget(const Graph& graph, const std::vector<SymbolId>& set) {
    if (set.empty()) return;
    for (auto& arm : arms_) {
      std::erase_if(arm, [&](const auto& entry) {
        const std::vector<SymbolId> used = symbols_of(graph.node(entry.second));
        return std::find_first_of(used.begin(), used.end(), set.begin(), set.end()) != used.end();
      });
    }
  }

 private:
  std::vector<std::unordered_multimap<size_t, NodeId>> arms_{1};  // innermost last
};

}  // namespace

void eliminate_common_subexpressions(Graph* graph) {
  Visibility visibility = find_visibility(*graph);
  std::vector<NodeId> replacement = identity_replacement(*graph);
  const std::vector<NodeId> ends = region_ends(*graph);
  KnownNodes known;
  uint32_t last_leave = 0;  // the last node that some paths do not get beyond
  for (uint32_t i = 0; i < graph->size(); ++i) {
    Node& node = graph->mutable_node(NodeId{i});
    for (NodeId& operand : node.operands) operand = replacement[index_of(operand)];
    if (node.op == Op::kElse || node.op == Op::kEnd) known.close_arm();
    if (begins_region(node.op) || node.op == Op::kElse) known.open_arm();
    // What a loop sets is set when its body begins again.
    if (node.op == Op::kLoop) known.forget(*graph, symbols_set(*graph, NodeId{i}, ends[i]));
    if (node.op == Op::kBreak || node.op == Op::kContinue) last_leave = i;
    if (node.op == Op::kAssign) known.forget(*graph, attr_of<AssignAttr>(node).symbols);
    // Memory that is written is its own. A view only looks at memory: it merges unless it is seen.
    if (!is_mergeable(node) || visibility.written[i]) continue;
    const size_t hash = node_hash(node);
    known.find(hash, [&](NodeId id, bool is_of_this_arm) {
      const uint32_t other = index_of(id);
      // Two objects that Python sees stay two objects.
      if (visibility.seen[i] && visibility.seen[other]) return false;
      Node& kept = graph->mutable_node(id);
      if (!same_value(kept, node)) return false;
      // Conditions that only some paths may meet are not checked on others.
      const bool is_certain = is_of_this_arm && other >= last_leave;
      if (!is_certain && (node.fp_checks & ~kept.fp_checks) != 0) return false;
      if (visibility.seen[i]) visibility.seen[other] = true;
      kept.fp_checks |= node.fp_checks;
      node.fp_checks = 0;
      replacement[i] = id;
      return true;
    });
    if (replacement[i] == NodeId{i}) known.add(hash, NodeId{i});
  }
  replace_uses(graph, replacement);
}

}  // namespace numlift
