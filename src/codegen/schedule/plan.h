// The scheduler's working state: which nodes get memory of their own and where every node can be
// read. Made by materialize.cpp, read by all later stages.
#pragma once

#include <optional>
#include <vector>

#include "numlift/codegen/program.h"
#include "numlift/graph/graph.h"
#include "schedule/place.h"
#include "schedule/regions.h"

namespace numlift::codegen {

struct NodePlan {
  bool needed = false;
  // Computed (or, for a view, copied) into a buffer of its own by a task at the node's position.
  // All other computed nodes are evaluated where they are used.
  bool own_buffer = false;
  // Python sees the memory: a result or the operand of an extern call.
  bool visible = false;
  // Where its elements can be read: own buffer, or the memory it is a view of. None: evaluate.
  std::optional<Place> place;
};

struct Plan {
  Graph graph;
  std::vector<int64_t> hints;   // symbol values seen while tracing: they steer speed, not meaning
  std::vector<NodePlan> nodes;  // by NodeId
  std::vector<NodeId> roots;    // by NodeId: Graph::buffer_of, which walks, for all nodes at once
  std::vector<Buffer> buffers;
  Regions regions;
  // By node: loops that are axes of the tasks inside; they run once, or never (loop_axes.h).
  std::vector<bool> runs_once;

  NodeId root_of(NodeId id) const { return roots[index_of(id)]; }
  const NodePlan& of(NodeId id) const { return nodes[index_of(id)]; }
  // Byte counts and sizes as they were while tracing; `fallback` where that overflows.
  int64_t hint(const SizeExpr& size, int64_t fallback = 1) const {
    return size.evaluate(hints).value_or(fallback);
  }
};

// Place of a node in the memory it is a view of, even when it is read from a copy.
Place memory_place(const Plan& plan, NodeId id);

inline bool is_view(Op op) { return op_info(op).op_class == OpClass::kView; }
// The buffer that a node belongs to, given those of all nodes before it.
inline NodeId find_root(const Node& node, NodeId id, const std::vector<NodeId>& roots) {
  return is_view(node.op) || node.op == Op::kStore || node.op == Op::kMerge ||
                 node.op == Op::kResize
             ? roots[index_of(node.operands[0])]
             : id;
}
inline bool is_elementwise(Op op) {
  return (op_info(op).op_class == OpClass::kElementwise && op != Op::kNumpyLoop) ||
         op == Op::kGather;
}
inline bool is_reduction(Op op) { return op_info(op).op_class == OpClass::kReduction; }
// Born with memory: never computed by a task.
inline bool is_memory_root(const Node& node) {
  return node.op == Op::kEmpty || node.op == Op::kExternItem ||
         (node.op == Op::kPlaceholder && node.type.value_kind == ValueKind::kArray);
}

// Decides own_buffer, visible and place for every node, and makes the buffers.
Plan make_plan(Graph graph);

}  // namespace numlift::codegen
