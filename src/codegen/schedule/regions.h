// Where the nodes of a graph stand in its control flow.
#pragma once

#include <vector>

#include "numlift/graph/graph.h"

namespace numlift::codegen {

// What is a step of its own, between which kernels form.
inline bool is_control(Op op) {
  return op_info(op).op_class == OpClass::kControl || op == Op::kResize;
}

class Regions {
 public:
  Regions() = default;
  explicit Regions(const Graph& graph);

  // Whether the graph has control flow at all.
  bool any() const { return any_; }
  // The node stands between this begin and its end.
  bool is_inside(NodeId id, NodeId begin) const;
  // The begin of the innermost loop around the node; kNoNode: none.
  NodeId loop_of(NodeId id) const;
  // Nodes of one stretch run one after the other, with no change of symbols and no other path in
  // between. (A check only ends a run: it does not end a stretch.)
  uint32_t stretch(NodeId id) const { return stretches_[static_cast<size_t>(id)]; }

 private:
  bool any_ = false;
  std::vector<NodeId> around_;  // by node: the begin of the innermost region around it
  std::vector<bool> is_loop_;   // by node
  std::vector<uint32_t> stretches_;
};

}  // namespace numlift::codegen
