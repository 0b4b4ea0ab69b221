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

}  // namespace

void eliminate_common_subexpressions(Graph* graph) {
  Visibility visibility = find_visibility(*graph);
  std::vector<NodeId> replacement = identity_replacement(*graph);
  std::unordered_multimap<size_t, NodeId> known;
  // What is known in an arm of a region is not known behind it.
  std::vector<std::vector<std::unordered_multimap<size_t, NodeId>::iterator>> arms(1);
  for (uint32_t i = 0; i < graph->size(); ++i) {
    Node& node = graph->mutable_node(NodeId{i});
    for (NodeId& operand : node.operands) operand = replacement[index_of(operand)];
    if (node.op == Op::kElse || node.op == Op::kEnd) {
      for (const auto& entry : arms.back()) known.erase(entry);
      arms.pop_back();
    }
    if (begins_region(node.op) || node.op == Op::kElse) arms.emplace_back();
    // Memory that is written is its own. A view only looks at memory: it merges unless it is seen.
    if (!is_mergeable(node) || visibility.written[i]) continue;
    const size_t hash = node_hash(node);
    auto [first, last] = known.equal_range(hash);
    for (; first != last; ++first) {
      const uint32_t other = index_of(first->second);
      // Two objects that Python sees stay two objects.
      if (visibility.seen[i] && visibility.seen[other]) continue;
      Node& kept = graph->mutable_node(first->second);
      if (!same_value(kept, node)) continue;
      // Conditions that only some paths may meet are not checked on others.
      const bool is_outer = std::find(arms.back().begin(), arms.back().end(), first) == arms.back().end();
      if (is_outer && (node.fp_checks & ~kept.fp_checks) != 0) continue;
      if (visibility.seen[i]) visibility.seen[other] = true;
      kept.fp_checks |= node.fp_checks;
      node.fp_checks = 0;
      replacement[i] = first->second;
      break;
    }
    if (replacement[i] == NodeId{i}) arms.back().push_back(known.emplace(hash, NodeId{i}));
  }
  replace_uses(graph, replacement);
}

}  // namespace numlift
