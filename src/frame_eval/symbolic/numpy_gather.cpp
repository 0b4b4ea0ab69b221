#include "symbolic/numpy_gather.h"

#include <algorithm>
#include <numeric>

#include "numlift/py/py_error.h"
#include "symbolic/numpy_handlers.h"

namespace numlift::frame_eval {
namespace {

// One of the index arrays, as int64.
struct IndexArray {
  NodeId node = kNoNode;
  std::vector<SizeExpr> dims;
  bool may_be_negative = true;
  bool is_c_order = true;
};

std::optional<IndexArray> index_array(Tracer& tracer, const Sym& item) {
  const bool is_list = item->kind == SymKind::kList;
  if (!is_list && item->kind != SymKind::kArray) return std::nullopt;
  const auto operand = find_operand(tracer, item);
  if (!operand || operand->rank() == 0 || !is_integer(operand->type.dtype) ||
      operand->type.dtype == DType::kUInt64)
    return std::nullopt;
  const DType dtype = operand->type.dtype;
  return IndexArray{
      cast_operand(tracer, *operand, DType::kInt64), operand->dims,
      kind_of(dtype) == DTypeKind::kSigned,
      operand->rank() == 1 || is_c_contiguous(tracer, dtype, operand->dims, operand->strides)};
}

// The index counted from the front. The program goes on only when all of it lies inside the axis.
NodeId checked_index(Tracer& tracer, const IndexArray& index, const SizeExpr& length) {
  require_inside(tracer, index.node, length, index.may_be_negative);
  if (!index.may_be_negative) return index.node;
  const NodeId negative =
      elementwise(tracer, Op::kLess, {index.node, tracer.size_node(0)}, DType::kBool);
  const NodeId from_end =
      elementwise(tracer, Op::kAdd, {index.node, tracer.size_node(length)}, DType::kInt64);
  return elementwise(tracer, Op::kSelect, {negative, from_end, index.node}, DType::kInt64);
}

// `indices` take the place of as many axes of the source from `place` on.
struct Gather {
  const ArrayValue& source;
  size_t place = 0;
  std::vector<IndexArray> indices;
};

// The axes of the indices come first, or, with `in_place`, where those of the source were.
NodeId gather_node(Tracer& tracer, const Gather& what, bool in_place) {
  const std::vector<SizeExpr> from = dims_of(tracer, what.source);
  std::vector<std::vector<SizeExpr>> all;
  for (const IndexArray& index : what.indices) all.push_back(index.dims);
  const std::vector<SizeExpr> common = broadcast_dims(tracer, all, "an index");
  const auto is_other = [&](size_t axis) {
    return axis < what.place || axis >= what.place + what.indices.size();
  };
  std::vector<SizeExpr> dims;
  for (size_t axis = 0; axis < from.size(); ++axis) {
    if (is_other(axis)) dims.push_back(from[axis]);
  }
  const size_t first = in_place ? what.place : 0;
  dims.insert(dims.begin() + static_cast<ptrdiff_t>(first), common.begin(), common.end());

  const Type index_type = array_type(DType::kInt64, dims);
  std::vector<NodeId> operands{tracer.read(what.source)};
  size_t next_other = 0;
  for (size_t axis = 0; axis < from.size(); ++axis) {
    if (is_other(axis)) {
      const size_t at = next_other < first ? next_other : next_other + common.size();
      operands.push_back(tracer.append(Op::kIota, {}, IotaAttr{static_cast<int>(at)}, index_type));
      ++next_other;
      continue;
    }
    const IndexArray& index = what.indices[axis - what.place];
    NodeId node = broadcast_node(tracer, checked_index(tracer, index, from[axis]), common);
    if (dims.size() != common.size()) {
      IndexMap map;
      for (size_t k = 0; k < common.size(); ++k)
        map.axes.push_back({0, 1, static_cast<int>(first + k)});
      node = tracer.append(Op::kView, {node}, ViewAttr{std::move(map)}, index_type);
    }
    operands.push_back(node);
  }
  return tracer.append(Op::kGather, std::move(operands), NoAttr{},
                       array_type(what.source.type.dtype, dims));
}

// As NumPy makes it: a fresh array of the axes of the indices, then the others in the source's
// memory order; where they were not the first, a view of it with its axes in their places.
Sym indexed(Tracer& tracer, const Gather& what) {
  const NodeId node = gather_node(tracer, what, false);
  const std::vector<SizeExpr> from = dims_of(tracer, what.source);
  OrderOperand others{what.source.type.dtype, {}, {}};
  for (size_t axis = 0; axis < from.size(); ++axis) {
    if (axis >= what.place && axis < what.place + what.indices.size()) continue;
    others.dims.push_back(from[axis]);
    others.strides.push_back(what.source.strides[axis]);
  }
  const size_t rank = tracer.type_of(node).dims.size(), common = rank - others.dims.size();
  std::vector<int> axes(rank);
  std::iota(axes.begin(), axes.end(), 0);
  AxisOrder order(axes.begin(), axes.end());
  const AxisOrder inner = k_order(tracer, others.dims, std::span(&others, 1));
  for (size_t k = 0; k < inner.size(); ++k)
    order[common + k] = static_cast<uint8_t>(common + inner[k]);
  const Sym made = tracer.new_array(node, std::move(order));
  if (what.place == 0) return made;
  const auto begin = axes.begin();
  std::rotate(begin, begin + static_cast<ptrdiff_t>(common),
              begin + static_cast<ptrdiff_t>(common + what.place));
  return permute_axes(tracer, static_cast<ArrayValue&>(*made), axes);
}

}  // namespace

void require_inside(Tracer& tracer, NodeId index, const SizeExpr& length, bool may_be_negative) {
  const auto test = [&](Op op, const SizeExpr& limit) {
    return elementwise(tracer, op, {index, tracer.size_node(limit)}, DType::kBool);
  };
  NodeId inside = test(Op::kLess, length);
  if (may_be_negative) {
    const NodeId above = test(Op::kGreaterEqual, tracer.simplify(-length));
    inside = elementwise(tracer, Op::kLogicalAnd, {inside, above}, DType::kBool);
  }
  ReduceAttr all;
  all.axes.resize(tracer.type_of(index).dims.size());
  std::iota(all.axes.begin(), all.axes.end(), 0);
  tracer.control(Op::kCheck, tracer.append(Op::kReduceAll, {inside}, std::move(all),
                                           numpy_scalar_type(DType::kBool)));
}

Sym gather_items(Tracer& tracer, const ArrayValue& array, const IndexKey& key) {
  if (!tracer.takes_control_flow || tracer.leaves_calls) return nullptr;
  // The slices first, with all of the axes that the arrays index.
  IndexKey basic;
  std::vector<size_t> places;
  std::vector<Sym> arrays;
  const Ref all = checked(PySlice_New(nullptr, nullptr, nullptr));
  for (const Sym& item : key.items) {
    if (is_basic_index(item)) {
      if (!keeps_axes(item)) return nullptr;
      basic.items.push_back(item);
      continue;
    }
    places.push_back(basic.items.size());
    arrays.push_back(item);
    basic.items.push_back(tracer.constant(all));
  }
  if (arrays.empty() || places.back() - places.front() + 1 != places.size()) return nullptr;
  size_t place = places.front();
  for (size_t k = 0; k < place; ++k) {
    if (is_ellipsis(basic.items[k])) place += array.type.dims.size() - key.items.size();
  }
  std::vector<IndexArray> indices;
  for (const Sym& item : arrays) {
    auto index = index_array(tracer, item);
    if (!index) return nullptr;
    // Of a vector NumPy may give elements in the memory order of the index.
    if (array.type.rank() == 1 && !index->is_c_order) return nullptr;
    indices.push_back(std::move(*index));
  }
  bool element = false;
  const Sym source = basic_view(tracer, array, basic, &element);
  return indexed(tracer, {static_cast<const ArrayValue&>(*source), place, std::move(indices)});
}

Sym call_take(Tracer& tracer, const NumpyArguments& arguments) {
  const ArrayValue* array = as_array(arguments.get("a"));
  const Sym axis_argument = arguments.get("axis");
  if (!tracer.takes_control_flow || tracer.leaves_calls || array == nullptr ||
      array->type.rank() == 0 || !is_none(arguments.get("out")) ||
      arguments.get("mode") != nullptr || (is_none(axis_argument) && array->type.rank() != 1))
    return call_extern(tracer, arguments);
  const auto axis = is_none(axis_argument) ? 0 : constant_int(tracer, axis_argument, "numpy.take");
  const auto index = index_array(tracer, arguments.get("indices"));
  if (!axis || !index) return call_extern(tracer, arguments);
  const int place = normalize_axis(*axis, array->type.rank(), "numpy.take");
  return tracer.new_array(
      gather_node(tracer, {*array, static_cast<size_t>(place), {*index}}, true));
}

}  // namespace numlift::frame_eval
