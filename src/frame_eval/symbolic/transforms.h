// One transform in a trace: values of the trace to nodes and back, and the rules of calls out,
// which are Python functions that are traced like the user's (numlift/transforms/rules.py).
#pragma once

#include "numlift/graph/transforms.h"
#include "symbolic/interpreter.h"
#include "symbolic/numpy_common.h"

namespace numlift::frame_eval {

class Transforms : public ExternRules {
 public:
  // As long as it lives, nothing that is traced reports a floating-point condition, and no loop is
  // left to the program.
  explicit Transforms(Interpreter& interpreter);
  ~Transforms() override;
  Transforms(const Transforms&) = delete;
  Transforms& operator=(const Transforms&) = delete;

  // ---- values and nodes
  NodeId node_of(const Sym& value, const std::string& what);
  std::vector<NodeId> nodes_of(const Sym& list, const std::string& what);
  // An array or scalar of its own.
  Sym result(NodeId node);
  // In the dtype and dims of `like`.
  NodeId conform(NodeId node, const Type& like, const std::string& what);
  // Sizes known to be equal become one expression in all nodes.
  void settle_sizes();
  Sym results_or_break(NodesOrRefusal made, std::span<const NodeId> likes);
  void note_example(NodeId node);

  // ---- ExternRules
  std::vector<NodeId> pull_back(NodeId call, std::span<const NodeId> items,
                                std::span<const NodeId> cotangents,
                                const std::vector<bool>& wanted) override;
  std::vector<NodeId> batch(NodeId call, std::span<const NodeId> items,
                            std::span<const NodeId> operands, const std::vector<bool>& is_batched,
                            const SizeExpr& size) override;
  std::vector<NodeId> repeat(NodeId call, std::span<const NodeId> items,
                             std::span<const NodeId> operands) override;
  void drop(NodeId call) override;

 private:
  const ExternRecipe& recipe_of(NodeId call) const;
  const std::string& name_of(NodeId call) const;
  Sym value_of(NodeId node) const;
  Sym argument(const ExternRecipe& recipe, uint32_t index, const std::vector<NodeId>& operands);
  Sym structure(NodeId call, const std::vector<std::pair<std::vector<int>, Sym>>& parts,
                const std::vector<int>& path);
  void take_parts(const ExternRecipe& recipe, uint32_t index, const Sym& value, const Node& call,
                  std::vector<NodeId>* parts);
  void drop_unused(uint32_t first, const std::vector<NodeId>& parts);
  void promise_dims(NodeId item, const std::vector<SizeExpr>& dims);
  bool has_own_sizes(NodeId item) const;
  // Null: no rule, or none for these arguments.
  Sym batch_by_rule(NodeId call, std::span<const NodeId> operands,
                    const std::vector<bool>& is_batched);
  NodeId as_batch(const Sym& value, NodeId item, const SizeExpr& size);

  Interpreter& interpreter_;
  Tracer& tracer_;
  class Regions* regions_;
  uint8_t fp_checks_;
  bool leaves_calls_;
};

}  // namespace numlift::frame_eval
