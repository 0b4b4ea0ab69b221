// Appends well-typed nodes: computes result types by the op table and makes broadcasting explicit.
// For the tracer and for tests. A wrong call (dtypes without a loop, dims that do not broadcast) is
// an internal error: whoever calls has checked the user's program already.
#pragma once

#include <initializer_list>
#include <span>

#include "numlift/graph/graph.h"
#include "numlift/graph/scalar.h"

namespace numlift {

class GraphBuilder {
 public:
  explicit GraphBuilder(std::string name) { graph_.name = std::move(name); }

  Graph& graph() { return graph_; }
  const Type& type(NodeId id) const { return graph_.node(id).type; }
  // Apply to the nodes appended from now on. A node gets the checks that can occur in it; the
  // overflow of operators on NumPy's integer scalars is left to the caller (see FpChecks).
  void set_location(SourceLocation location);
  void set_fp_checks(uint8_t checks) { fp_checks_ = checks; }

  // ---- symbols: `hint` is the value seen while tracing
  SizeExpr symbol(SymbolKind kind, uint32_t input, uint32_t axis, int64_t hint);

  // ---- leaves. Inputs are numbered in order of the calls.
  NodeId placeholder(DType dtype, std::vector<SizeExpr> dims, std::vector<SizeExpr> strides);
  NodeId placeholder(DType dtype, std::vector<SizeExpr> dims);  // C contiguous
  NodeId scalar_placeholder(Type type);
  NodeId constant(ScalarBits value, ValueKind kind);
  NodeId constant(double value);   // a Python float
  NodeId constant(int64_t value);  // a Python int
  NodeId constant(bool value);
  NodeId size(const SizeExpr& value);
  NodeId iota(std::vector<SizeExpr> dims, int axis);
  NodeId empty(DType dtype, std::vector<SizeExpr> dims, AxisOrder order = {});

  // ---- elementwise. Operands have the loop dtype; those of other dims are broadcast by View nodes
  // (a dim is stretched only if it is the constant 1). A result of rank 0 is a NumPy
  // scalar (operands that are arrays of rank 0 included), or a Python one when all operands are.
  NodeId elementwise(Op op, std::span<const NodeId> operands, AxisOrder order = {});
  NodeId elementwise(Op op, std::initializer_list<NodeId> operands, AxisOrder order = {}) {
    return elementwise(op, std::span(operands.begin(), operands.size()), std::move(order));
  }
  NodeId select(NodeId condition, NodeId a, NodeId b, AxisOrder order = {}) {
    return elementwise(Op::kSelect, {condition, a, b}, std::move(order));
  }
  // The operand itself when it has the dtype already.
  NodeId cast(NodeId operand, DType dtype, AxisOrder order = {});
  NodeId numpy_loop(uint32_t loop, std::span<const NodeId> operands, DType dtype,
                    AxisOrder order = {});

  NodeId gufunc(uint32_t loop, std::vector<NodeId> operands, Type result) {
    return append(Op::kGufunc, std::move(operands), LoopAttr{loop}, std::move(result));
  }

  // ---- views
  NodeId view(NodeId operand, IndexMap map, std::vector<SizeExpr> dims);
  NodeId broadcast_to(NodeId operand, const std::vector<SizeExpr>& dims);
  NodeId transpose(NodeId operand, std::span<const int> axes);
  // operand[start : start + step*count : step] along one axis.
  NodeId slice(NodeId operand, int axis, SizeExpr start, SizeExpr step, SizeExpr count);
  NodeId reshape(NodeId operand, std::vector<SizeExpr> dims);
  NodeId part(NodeId operand, bool imaginary);

  // ---- memory
  NodeId copy(NodeId operand, AxisOrder order = {});
  // `value` is broadcast to the target. The result is the buffer's next version.
  NodeId store(NodeId target, NodeId value);

  // ---- the rest
  // A NumPy scalar when all axes are reduced (use mutable_node to make it an array of rank 0).
  NodeId reduce(Op op, NodeId operand, std::vector<int> axes, AxisOrder order = {});
  NodeId extern_call(ExternInfo info, std::vector<NodeId> operands);
  NodeId extern_item(NodeId call, std::vector<int> path, Type type);

  void output(NodeId id) { graph_.outputs.push_back(id); }
  // Fills mutated_inputs and hands out the graph.
  Graph finish();

 private:
  NodeId append(Op op, std::vector<NodeId> operands, Attr attr, Type type, AxisOrder order = {});

  Graph graph_;
  uint32_t next_input_ = 0;
  uint32_t location_ = 0;
  uint8_t fp_checks_ = kFpNone;
};

// Strides in bytes of a C contiguous array.
std::vector<SizeExpr> contiguous_strides(DType dtype, const std::vector<SizeExpr>& dims);

}  // namespace numlift
