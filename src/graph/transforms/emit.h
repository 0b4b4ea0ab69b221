// Appends what rules are made of: nodes without floating-point conditions, at the place of the node
// that they come from.
#pragma once

#include <initializer_list>

#include "numlift/graph/transforms.h"

namespace numlift {

[[noreturn]] void refuse(std::string reason, NodeId node = kNoNode);

class Emit {
 public:
  explicit Emit(Graph& graph) : graph_(graph) {}

  Graph& graph() { return graph_; }
  const Node& node(NodeId id) const { return graph_.node(id); }
  const Type& type(NodeId id) const { return graph_.node(id).type; }
  // Nodes are appended at the source line of this one from now on.
  void at(NodeId id) { location_ = graph_.node(id).location; }

  NodeId add(Op op, std::vector<NodeId> operands, Attr attr, Type type, AxisOrder order = {});

  // ---- values. Of rank 0: NumPy scalars.
  NodeId number(DType dtype, double value);
  // A number for each element.
  NodeId filled(DType dtype, const std::vector<SizeExpr>& dims, double value);
  // Operands of one dims, or of rank 0.
  NodeId apply(Op op, std::initializer_list<NodeId> operands);
  NodeId multiply(NodeId a, NodeId b) { return apply(Op::kMultiply, {a, b}); }
  NodeId multiply(NodeId a, double b) { return multiply(a, number(type(a).dtype, b)); }
  NodeId divide(NodeId a, NodeId b) { return apply(Op::kDivide, {a, b}); }
  NodeId plus(NodeId a, NodeId b) { return apply(Op::kAdd, {a, b}); }
  NodeId plus(NodeId a, double b) { return plus(a, number(type(a).dtype, b)); }
  NodeId minus(NodeId a, NodeId b) { return apply(Op::kSubtract, {a, b}); }
  NodeId negative(NodeId a) { return apply(Op::kNegative, {a}); }
  NodeId select(NodeId condition, NodeId a, NodeId b) {
    return apply(Op::kSelect, {condition, a, b});
  }
  // condition ? a : number, and the other way round
  NodeId where(NodeId condition, NodeId a, double b) {
    return select(condition, a, number(type(a).dtype, b));
  }
  NodeId where(NodeId condition, double a, NodeId b) {
    return select(condition, number(type(b).dtype, a), b);
  }
  NodeId equals(NodeId a, NodeId b) { return apply(Op::kEqual, {a, b}); }
  NodeId equals(NodeId a, double b) { return equals(a, number(type(a).dtype, b)); }
  NodeId cast(NodeId value, DType dtype);

  // ---- axes
  NodeId view(NodeId value, IndexMap map, std::vector<SizeExpr> dims);
  // `value` repeated along all axes but those that `axes` names for its own.
  NodeId spread(NodeId value, const std::vector<int>& axes, const std::vector<SizeExpr>& dims);
  NodeId reshape(NodeId value, std::vector<SizeExpr> dims);
  NodeId sum(NodeId value, std::vector<int> axes);  // no axes: itself
  NodeId reduce(Op op, NodeId value, std::vector<int> axes);
  NodeId sum_all(NodeId value);

  // ---- memory
  NodeId copy(NodeId value, AxisOrder order = {});
  NodeId store(NodeId target, NodeId value);
  // The same step of a view chain over another buffer.
  NodeId view_again(const Node& step, NodeId over);

 private:
  Graph& graph_;
  uint32_t location_ = 0;
};

// A scalar, or an array: what rank 0 is depends on who computes it.
Type value_type(DType dtype, std::vector<SizeExpr> dims);
inline bool is_inexact(DType dtype) { return is_float(dtype) || is_complex(dtype); }
// The version that a node reads: below its views.
NodeId version_below(const Graph& graph, NodeId id);
// The views between that version and the node, from the version on.
std::vector<NodeId> views_above(const Graph& graph, NodeId id);

// Versions of memory as they are at the end of a graph.
class NewestVersions {
 public:
  explicit NewestVersions(const Graph& graph);
  // What the node reads has been stored to since.
  bool is_stale(NodeId id) const;

 private:
  const Graph& graph_;
  std::vector<NodeId> newest_;  // by buffer; kNoNode: it is its own
};

}  // namespace numlift
