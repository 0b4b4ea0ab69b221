// Appends once more what the outputs were computed by, from other inputs: for a whole batch of them
// (vmap), or with memory of its own for every version, so that all of them can be read later.
#pragma once

#include <map>
#include <optional>
#include <unordered_map>

#include "emit.h"

namespace numlift {

class Replay;

struct BatchingRule {
  void (*apply)(Replay& replay, NodeId id) = nullptr;
  std::string_view refusal;
};
namespace batching_rules {
#define NUMLIFT_OP(name, arity, cls, result, cost, fp, gradient, batching) \
  extern const BatchingRule batching;
#include "numlift/graph/ops.def"
#undef NUMLIFT_OP
}  // namespace batching_rules
const BatchingRule& batching_rule(Op op);

class Replay {
 public:
  // With a size, inputs are batched along axis 0.
  Replay(Graph& graph, ExternRules& externs, std::optional<SizeExpr> size);

  // The inputs; those that are stored to once more, as nodes of their own.
  std::vector<NodeId> with_memory_of_their_own(std::span<const NodeId> inputs);
  void stand_for(NodeId input, NodeId value);
  // What stands for the outputs. With a size, all of them are batched.
  std::vector<NodeId> run(std::span<const NodeId> outputs);

  // ---- for rules
  struct Value {
    NodeId node = kNoNode;
    bool is_batched = false;
  };
  Emit emit;
  ExternRules& externs;
  const Node& node(NodeId id) const { return emit.node(id); }
  Value of(NodeId id) const;
  void set(NodeId id, Value value);
  // Nothing that the node reads is replaced, and nothing is stored to what it gives.
  bool is_unchanged(NodeId id) const;
  bool any_batched(const Node& node) const;
  const SizeExpr& size() const { return *size_; }
  std::vector<SizeExpr> batched_dims(const std::vector<SizeExpr>& dims) const;
  // With the batch as axis 0, and behind it `rank` axes: those of the example are the last ones.
  NodeId batched(NodeId id, const std::vector<SizeExpr>& example_dims);
  // The node with other operands, dims and attribute.
  NodeId again(const Node& node, std::vector<NodeId> operands, bool is_batched);
  NodeId view_step(const Node& step, NodeId over, bool is_batched);
  std::vector<NodeId> items_of(NodeId call) const;
  // A store may go into this version itself: nobody else reads it.
  bool may_store_into(NodeId version) const;

 private:
  void find_slice(std::span<const NodeId> outputs);
  void find_stored();
  void replace_checks();

  std::optional<SizeExpr> size_;
  uint32_t first_, last_;
  std::unordered_map<NodeId, Value> values_;
  std::vector<NodeId> inputs_;
  std::vector<NodeId> slice_;  // in order
  std::vector<NodeId> checks_;
  std::vector<bool> depends_;                      // by node: on an input
  std::unordered_map<NodeId, int> readers_;        // by version
  std::unordered_map<NodeId, bool> is_stored_to_;  // buffers
  std::unordered_map<NodeId, bool> is_own_;        // nodes made here
};

}  // namespace numlift
