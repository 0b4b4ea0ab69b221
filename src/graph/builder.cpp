#include "numlift/graph/builder.h"

#include <algorithm>

#include "dtype_rules.h"
#include "numlift/support/check.h"

namespace numlift {
namespace {

// NumPy's rule: aligned at the last axis, constant-1 dims stretch.
std::vector<SizeExpr> broadcast_dims(const std::vector<SizeExpr>& a,
                                     const std::vector<SizeExpr>& b) {
  const std::vector<SizeExpr>& longer = a.size() >= b.size() ? a : b;
  const std::vector<SizeExpr>& shorter = a.size() >= b.size() ? b : a;
  std::vector<SizeExpr> dims = longer;
  const size_t offset = longer.size() - shorter.size();
  for (size_t i = 0; i < shorter.size(); ++i) {
    SizeExpr& dim = dims[offset + i];
    if (dim == shorter[i] || shorter[i] == SizeExpr(1)) continue;
    NUMLIFT_CHECK(dim == SizeExpr(1), "dims {} and {} do not broadcast", dim.text(),
                  shorter[i].text());
    dim = shorter[i];
  }
  return dims;
}

}  // namespace

std::vector<SizeExpr> contiguous_strides(DType dtype, const std::vector<SizeExpr>& dims) {
  std::vector<SizeExpr> strides(dims.size());
  SizeExpr stride = item_size(dtype);
  for (size_t i = dims.size(); i-- > 0;) {
    strides[i] = stride;
    stride = stride * dims[i];
  }
  return strides;
}

void GraphBuilder::set_location(SourceLocation location) {
  auto& locations = graph_.locations;
  const auto found = std::find(locations.begin(), locations.end(), location);
  location_ = static_cast<uint32_t>(found - locations.begin());
  if (found == locations.end()) locations.push_back(std::move(location));
}

NodeId GraphBuilder::append(Op op, std::vector<NodeId> operands, Attr attr, Type type,
                            AxisOrder order) {
  Node node;
  node.op = op;
  node.operands = std::move(operands);
  node.attr = std::move(attr);
  node.type = std::move(type);
  node.order = std::move(order);
  node.location = location_;
  if (fp_checks_ != 0 && !node.operands.empty()) {
    const DType operand = this->type(node.operands[0]).dtype;
    const bool wraps = is_integer(operand) && wraps_silently_on_arrays(op);
    if (!wraps) node.fp_checks = fp_checks_ & possible_conditions(op, operand, node.type);
  }
  return graph_.append(std::move(node));
}

SizeExpr GraphBuilder::symbol(SymbolKind kind, uint32_t input, uint32_t axis, int64_t hint) {
  graph_.symbols.push_back(Symbol{kind, input, axis, hint});
  return SizeExpr::symbol(SymbolId{static_cast<uint32_t>(graph_.symbols.size() - 1)});
}

// ---------------------------------------------------------------- leaves

NodeId GraphBuilder::placeholder(DType dtype, std::vector<SizeExpr> dims,
                                 std::vector<SizeExpr> strides) {
  return append(Op::kPlaceholder, {}, PlaceholderAttr{next_input_++, std::move(strides)},
                array_type(dtype, std::move(dims)));
}

NodeId GraphBuilder::placeholder(DType dtype, std::vector<SizeExpr> dims) {
  auto strides = contiguous_strides(dtype, dims);
  return placeholder(dtype, std::move(dims), std::move(strides));
}

NodeId GraphBuilder::scalar_placeholder(Type type) {
  return append(Op::kPlaceholder, {}, PlaceholderAttr{next_input_++, {}}, std::move(type));
}

NodeId GraphBuilder::constant(ScalarBits value, ValueKind kind) {
  return append(Op::kConstant, {}, ConstantAttr{value}, Type{kind, value.dtype, {}});
}
NodeId GraphBuilder::constant(double value) {
  return constant(make_scalar(DType::kFloat64, value), ValueKind::kPyScalar);
}
NodeId GraphBuilder::constant(int64_t value) {
  return constant(make_scalar(DType::kInt64, value), ValueKind::kPyScalar);
}
NodeId GraphBuilder::constant(bool value) {
  return constant(make_scalar(DType::kBool, value), ValueKind::kPyScalar);
}

NodeId GraphBuilder::size(const SizeExpr& value) {
  return append(Op::kSizeValue, {}, SizeAttr{value}, py_scalar_type(DType::kInt64));
}

NodeId GraphBuilder::iota(std::vector<SizeExpr> dims, int axis) {
  return append(Op::kIota, {}, IotaAttr{axis}, array_type(DType::kInt64, std::move(dims)));
}

NodeId GraphBuilder::empty(DType dtype, std::vector<SizeExpr> dims, AxisOrder order) {
  return append(Op::kEmpty, {}, NoAttr{}, array_type(dtype, std::move(dims)), std::move(order));
}

// ---------------------------------------------------------------- elementwise

NodeId GraphBuilder::elementwise(Op op, std::span<const NodeId> operands, AxisOrder order) {
  NUMLIFT_CHECK(op_info(op).op_class == OpClass::kElementwise, "{} is not elementwise",
                op_info(op).text);
  std::vector<DType> dtypes;
  for (NodeId operand : operands) dtypes.push_back(type(operand).dtype);
  const std::string error = check_operand_dtypes(op, dtypes);
  NUMLIFT_CHECK(error.empty(), "{}: {}", op_info(op).text, error);
  const auto dtype = result_dtype(op, dtypes);
  NUMLIFT_CHECK(dtype.has_value(), "{} needs its dtype stated", op_info(op).text);

  Type result = py_scalar_type(*dtype);
  for (NodeId operand : operands) {
    const Type& from = type(operand);
    if (from.value_kind == ValueKind::kArray) {
      result.value_kind = ValueKind::kArray;
    } else if (from.value_kind == ValueKind::kNumpyScalar &&
               result.value_kind == ValueKind::kPyScalar) {
      result.value_kind = ValueKind::kNumpyScalar;
    }
    result.dims = broadcast_dims(result.dims, from.dims);
  }
  // As in NumPy, ufuncs of arrays of rank 0 give scalars.
  if (result.value_kind == ValueKind::kArray && result.dims.empty()) {
    result.value_kind = ValueKind::kNumpyScalar;
  }
  std::vector<NodeId> stretched;
  for (NodeId operand : operands) {
    stretched.push_back(type(operand).rank() == 0 ? operand : broadcast_to(operand, result.dims));
  }
  return append(op, std::move(stretched), NoAttr{}, std::move(result), std::move(order));
}

NodeId GraphBuilder::cast(NodeId operand, DType dtype, AxisOrder order) {
  Type result = type(operand);
  if (result.dtype == dtype) return operand;
  result.dtype = dtype;
  return append(Op::kCast, {operand}, NoAttr{}, std::move(result), std::move(order));
}

NodeId GraphBuilder::numpy_loop(uint32_t loop, std::span<const NodeId> operands, DType dtype,
                                AxisOrder order) {
  std::vector<SizeExpr> dims;
  for (NodeId operand : operands) dims = broadcast_dims(dims, type(operand).dims);
  std::vector<NodeId> stretched;
  for (NodeId operand : operands) {
    stretched.push_back(type(operand).rank() == 0 ? operand : broadcast_to(operand, dims));
  }
  Type result = dims.empty() ? numpy_scalar_type(dtype) : array_type(dtype, std::move(dims));
  return append(Op::kNumpyLoop, std::move(stretched), LoopAttr{loop}, std::move(result),
                std::move(order));
}

// ---------------------------------------------------------------- views

NodeId GraphBuilder::view(NodeId operand, IndexMap map, std::vector<SizeExpr> dims) {
  return append(Op::kView, {operand}, ViewAttr{std::move(map)},
                array_type(type(operand).dtype, std::move(dims)));
}

NodeId GraphBuilder::broadcast_to(NodeId operand, const std::vector<SizeExpr>& dims) {
  const std::vector<SizeExpr> from = type(operand).dims;
  if (from == dims) return operand;
  NUMLIFT_CHECK(from.size() <= dims.size(), "rank {} to rank {}", from.size(), dims.size());
  const size_t offset = dims.size() - from.size();
  IndexMap map;
  for (size_t i = 0; i < from.size(); ++i) {
    const bool stretched = !(from[i] == dims[offset + i]);
    NUMLIFT_CHECK(!stretched || from[i] == SizeExpr(1), "dim {} does not stretch to {}",
                  from[i].text(), dims[offset + i].text());
    if (stretched) {
      map.axes.push_back({0, 0, -1});
    } else {
      map.axes.push_back({0, 1, static_cast<int>(offset + i)});
    }
  }
  return view(operand, std::move(map), dims);
}

NodeId GraphBuilder::transpose(NodeId operand, std::span<const int> axes) {
  const std::vector<SizeExpr> from = type(operand).dims;
  NUMLIFT_CHECK(axes.size() == from.size(), "{} axes of {}", axes.size(), from.size());
  IndexMap map;
  map.axes.resize(from.size());
  std::vector<SizeExpr> dims;
  for (size_t i = 0; i < axes.size(); ++i) {
    const auto axis = static_cast<size_t>(axes[i]);
    map.axes.at(axis) = {0, 1, static_cast<int>(i)};
    dims.push_back(from[axis]);
  }
  return view(operand, std::move(map), std::move(dims));
}

NodeId GraphBuilder::slice(NodeId operand, int axis, SizeExpr start, SizeExpr step,
                           SizeExpr count) {
  std::vector<SizeExpr> dims = type(operand).dims;
  IndexMap map;
  for (int i = 0; i < static_cast<int>(dims.size()); ++i) map.axes.push_back({0, 1, i});
  map.axes.at(static_cast<size_t>(axis)) = {std::move(start), std::move(step), axis};
  dims[static_cast<size_t>(axis)] = std::move(count);
  return view(operand, std::move(map), std::move(dims));
}

NodeId GraphBuilder::reshape(NodeId operand, std::vector<SizeExpr> dims) {
  return append(Op::kReshape, {operand}, NoAttr{},
                array_type(type(operand).dtype, std::move(dims)));
}

NodeId GraphBuilder::part(NodeId operand, bool imaginary) {
  const Type& from = type(operand);
  NUMLIFT_CHECK(is_complex(from.dtype), "part of {}", type_text(from));
  Type result = from;
  result.dtype = real_part(from.dtype);
  return append(Op::kPartView, {operand}, PartAttr{imaginary}, std::move(result));
}

// ---------------------------------------------------------------- memory and the rest

NodeId GraphBuilder::copy(NodeId operand, AxisOrder order) {
  const Type& from = type(operand);
  return append(Op::kCopy, {operand}, NoAttr{}, array_type(from.dtype, from.dims),
                std::move(order));
}

NodeId GraphBuilder::store(NodeId target, NodeId value) {
  if (type(value).rank() != 0) value = broadcast_to(value, type(target).dims);
  return append(Op::kStore, {target, value}, NoAttr{}, type(graph_.buffer_of(target)));
}

NodeId GraphBuilder::reduce(Op op, NodeId operand, std::vector<int> axes, AxisOrder order) {
  const Type& from = type(operand);
  std::sort(axes.begin(), axes.end());
  std::vector<SizeExpr> dims;
  for (int axis = 0; axis < from.rank(); ++axis) {
    if (!std::binary_search(axes.begin(), axes.end(), axis)) {
      dims.push_back(from.dims[static_cast<size_t>(axis)]);
    }
  }
  const auto dtype = result_dtype(op, std::span(&from.dtype, 1));
  NUMLIFT_CHECK(op_info(op).op_class == OpClass::kReduction && dtype, "{} is no reduction",
                op_info(op).text);
  Type result = dims.empty() ? numpy_scalar_type(*dtype) : array_type(*dtype, std::move(dims));
  return append(op, {operand}, ReduceAttr{std::move(axes)}, std::move(result), std::move(order));
}

NodeId GraphBuilder::extern_call(ExternInfo info, std::vector<NodeId> operands) {
  graph_.externs.push_back(std::move(info));
  const auto call = static_cast<uint32_t>(graph_.externs.size() - 1);
  return append(Op::kExtern, std::move(operands), ExternAttr{call},
                Type{ValueKind::kObject, DType::kFloat64, {}});
}

NodeId GraphBuilder::extern_item(NodeId call, std::vector<int> path, Type type) {
  return append(Op::kExternItem, {call}, ExternItemAttr{std::move(path)}, std::move(type));
}

Graph GraphBuilder::finish() {
  // The last Store of each array input.
  std::vector<NodeId> last(graph_.size(), kNoNode);
  for (uint32_t i = 0; i < graph_.size(); ++i) {
    if (graph_.node(NodeId{i}).op == Op::kStore)
      last[index_of(graph_.buffer_of(NodeId{i}))] = NodeId{i};
  }
  graph_.mutated_inputs.clear();
  for (uint32_t i = 0; i < graph_.size(); ++i) {
    if (graph_.node(NodeId{i}).op == Op::kPlaceholder && last[i] != kNoNode) {
      graph_.mutated_inputs.push_back(last[i]);
    }
  }
  return std::move(graph_);
}

}  // namespace numlift
