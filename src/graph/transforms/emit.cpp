#include "emit.h"

#include <algorithm>
#include <complex>
#include <numeric>

#include "../dtype_rules.h"
#include "numlift/graph/scalar.h"
#include "numlift/support/check.h"

namespace numlift {

void refuse(std::string reason, NodeId node) { throw TransformRefusal{std::move(reason), node}; }

Type value_type(DType dtype, std::vector<SizeExpr> dims) {
  return dims.empty() ? numpy_scalar_type(dtype) : array_type(dtype, std::move(dims));
}

NodeId version_below(const Graph& graph, NodeId id) {
  while (op_info(graph.node(id).op).op_class == OpClass::kView) id = graph.node(id).operands[0];
  return id;
}

std::vector<NodeId> views_above(const Graph& graph, NodeId id) {
  std::vector<NodeId> views;
  for (; op_info(graph.node(id).op).op_class == OpClass::kView; id = graph.node(id).operands[0]) {
    views.push_back(id);
  }
  std::reverse(views.begin(), views.end());
  return views;
}

NewestVersions::NewestVersions(const Graph& graph) : graph_(graph), newest_(graph.size(), kNoNode) {
  for (uint32_t i = 0; i < graph.size(); ++i) {
    const Op op = graph.node(NodeId{i}).op;
    if (op == Op::kStore || op == Op::kMerge) {
      newest_[index_of(graph.buffer_of(NodeId{i}))] = NodeId{i};
    }
  }
}

bool NewestVersions::is_stale(NodeId id) const {
  const NodeId buffer = graph_.buffer_of(id);
  if (index_of(buffer) >= newest_.size() || newest_[index_of(buffer)] == kNoNode) return false;
  return newest_[index_of(buffer)] != version_below(graph_, id);
}

NodeId Emit::add(Op op, std::vector<NodeId> operands, Attr attr, Type type, AxisOrder order) {
  return graph_.append({op, std::move(operands), std::move(attr), std::move(type), std::move(order),
                        kFpNone, location_});
}

// ---------------------------------------------------------------- values

namespace {

ScalarBits number_bits(DType dtype, double value) {
  switch (dtype) {
    case DType::kFloat16:
      return make_scalar(dtype, double_to_half(value));
    case DType::kFloat32:
      return make_scalar(dtype, static_cast<float>(value));
    case DType::kFloat64:
      return make_scalar(dtype, value);
    case DType::kComplex64:
      return make_scalar(dtype, std::complex<float>(static_cast<float>(value)));
    case DType::kComplex128:
      return make_scalar(dtype, std::complex<double>(value));
    case DType::kBool:
      return make_scalar(dtype, value != 0);
    case DType::kInt64:
      return make_scalar(dtype, static_cast<int64_t>(value));
    default:
      NUMLIFT_CHECK(false, "a rule needs no number of {}", dtype_text(dtype));
  }
}

}  // namespace

NodeId Emit::number(DType dtype, double value) {
  return add(Op::kConstant, {}, ConstantAttr{number_bits(dtype, value)}, numpy_scalar_type(dtype));
}

NodeId Emit::filled(DType dtype, const std::vector<SizeExpr>& dims, double value) {
  const NodeId one = number(dtype, value);
  return dims.empty() ? one : spread(one, {}, dims);
}

NodeId Emit::apply(Op op, std::initializer_list<NodeId> operands) {
  std::vector<DType> dtypes;
  std::vector<SizeExpr> dims;
  for (NodeId operand : operands) {
    dtypes.push_back(type(operand).dtype);
    if (type(operand).rank() != 0) dims = type(operand).dims;
  }
  const auto dtype = result_dtype(op, dtypes);
  NUMLIFT_CHECK(dtype.has_value(), "{} needs its dtype stated", op_info(op).text);
  return add(op, operands, NoAttr{}, value_type(*dtype, std::move(dims)));
}

NodeId Emit::cast(NodeId value, DType dtype) {
  if (type(value).dtype == dtype) return value;
  return add(Op::kCast, {value}, NoAttr{}, value_type(dtype, type(value).dims));
}

// ---------------------------------------------------------------- axes

NodeId Emit::view(NodeId value, IndexMap map, std::vector<SizeExpr> dims) {
  const DType dtype = type(value).dtype;
  return add(Op::kView, {value}, ViewAttr{std::move(map)}, value_type(dtype, std::move(dims)));
}

NodeId Emit::spread(NodeId value, const std::vector<int>& axes, const std::vector<SizeExpr>& dims) {
  IndexMap map;
  for (int axis : axes) map.axes.push_back({0, 1, axis});
  return view(value, std::move(map), dims);
}

NodeId Emit::reshape(NodeId value, std::vector<SizeExpr> dims) {
  const DType dtype = type(value).dtype;
  return add(Op::kReshape, {value}, NoAttr{}, value_type(dtype, std::move(dims)));
}

NodeId Emit::reduce(Op op, NodeId value, std::vector<int> axes) {
  const Type from = type(value);
  std::vector<SizeExpr> dims;
  for (int axis = 0; axis < from.rank(); ++axis) {
    if (std::find(axes.begin(), axes.end(), axis) == axes.end()) {
      dims.push_back(from.dims[static_cast<size_t>(axis)]);
    }
  }
  const auto dtype = result_dtype(op, std::span(&from.dtype, 1));
  return add(op, {value}, ReduceAttr{std::move(axes)}, value_type(*dtype, std::move(dims)));
}

NodeId Emit::sum(NodeId value, std::vector<int> axes) {
  return axes.empty() ? value : reduce(Op::kReduceSum, value, std::move(axes));
}

NodeId Emit::sum_all(NodeId value) {
  std::vector<int> axes(static_cast<size_t>(type(value).rank()));
  std::iota(axes.begin(), axes.end(), 0);
  return sum(value, std::move(axes));
}

// ---------------------------------------------------------------- memory

NodeId Emit::copy(NodeId value, AxisOrder order) {
  const Type from = type(value);
  return add(Op::kCopy, {value}, NoAttr{}, array_type(from.dtype, from.dims), std::move(order));
}

NodeId Emit::store(NodeId target, NodeId value) {
  const Node& buffer = node(graph_.buffer_of(target));
  Type type = buffer.type;
  AxisOrder order = buffer.order;
  return add(Op::kStore, {target, value}, NoAttr{}, std::move(type), std::move(order));
}

NodeId Emit::view_again(const Node& step, NodeId over) {
  return add(step.op, {over}, step.attr, step.type);
}

}  // namespace numlift
