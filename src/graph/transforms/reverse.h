// Reverse mode: cotangents by node, and what the rules of the op table are given.
#pragma once

#include <unordered_map>

#include "emit.h"

namespace numlift {

class Reverse;

// What an op's column names: how cotangents go from a node to its operands, or why they do not.
struct GradientRule {
  void (*apply)(Reverse& reverse, NodeId id) = nullptr;
  std::string_view refusal;
};

// One elementwise node, and the operand whose cotangent is asked for.
struct ElementwiseTerm {
  const Node& node;
  NodeId self;  // the node
  NodeId g;     // its cotangent
  size_t operand;

  NodeId x() const { return node.operands[0]; }
  NodeId y() const { return node.operands[1]; }
};
// kNoNode: 0.
using ElementwiseGradient = NodeId (*)(Emit& emit, const ElementwiseTerm& term);

namespace gradient_rules {
#define NUMLIFT_OP(name, arity, cls, result, cost, fp, gradient, batching) \
  extern const GradientRule gradient;
#include "numlift/graph/ops.def"
#undef NUMLIFT_OP
}  // namespace gradient_rules
const GradientRule& gradient_rule(Op op);

class Reverse {
 public:
  // `last`: behind the last node that the outputs may depend on.
  Reverse(Graph& graph, std::span<const NodeId> inputs, uint32_t last, ExternRules& externs);

  // `g` has the node's dtype and dims.
  void add(NodeId id, NodeId g);
  void run();
  NodeId cotangent(NodeId id) const;  // kNoNode: 0

  // ---- for rules
  Emit emit;
  ExternRules& externs;
  const Node& node(NodeId id) const { return emit.node(id); }
  // The node hangs on an input, and is of a dtype that has derivatives.
  bool is_active(NodeId id) const { return index_of(id) < active_.size() && active_[index_of(id)]; }
  void elementwise(NodeId id, ElementwiseGradient gradient);
  // To the operand of a view: where the view lies in it. The other elements get nothing.
  void add_through_view(const Node& view, NodeId operand, NodeId g);
  // The active items of an extern call that have cotangents.
  std::vector<NodeId> items_of(NodeId call) const;

 private:
  // The node that holds the sum so far. Owned: memory of this sum alone, which may be stored to.
  struct Sum {
    NodeId node = kNoNode;
    bool is_owned = false;
  };
  void find_active(std::span<const NodeId> inputs);

  uint32_t first_, last_;
  std::vector<bool> active_, is_input_;
  std::unordered_map<NodeId, Sum> sums_;
  std::unordered_map<NodeId, std::vector<NodeId>> items_;  // by extern call
};

}  // namespace numlift
