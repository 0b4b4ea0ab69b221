#include "symbolic/numpy_views.h"

#include <algorithm>

#include "numlift/numpy_shim/numpy.h"
#include "numlift/py/py_error.h"
#include "numlift/support/check.h"
#include "symbolic/numpy_calls.h"

namespace numlift::frame_eval {

std::vector<SizeExpr> dims_of(Tracer& tracer, const ArrayValue& array) {
  std::vector<SizeExpr> dims = array.type.dims;
  for (SizeExpr& dim : dims) dim = tracer.simplify(dim);
  return dims;
}

SizeExpr element_count(Tracer& tracer, const std::vector<SizeExpr>& dims) {
  SizeExpr count = 1;
  for (const SizeExpr& dim : dims) count = count * dim;
  return tracer.simplify(count);
}

// ---------------------------------------------------------------- affine views

Sym view_of(Tracer& tracer, const ArrayValue& array, IndexMap map, std::vector<SizeExpr> dims,
            std::vector<SizeExpr> strides) {
  ViewStep step;
  step.attr = ViewAttr{std::move(map)};
  step.type = array_type(array.type.dtype, std::move(dims));
  return tracer.new_view(array, std::move(step), std::move(strides));
}

namespace {

IndexMap identity_map(size_t rank) {
  IndexMap map;
  for (size_t k = 0; k < rank; ++k) map.axes.push_back({0, 1, static_cast<int>(k)});
  return map;
}

}  // namespace

Sym same_view(Tracer& tracer, const ArrayValue& array) {
  return view_of(tracer, array, identity_map(array.type.dims.size()), dims_of(tracer, array),
                 array.strides);
}

Sym permute_axes(Tracer& tracer, const ArrayValue& array, std::span<const int> axes) {
  const std::vector<SizeExpr> from = dims_of(tracer, array);
  IndexMap map = identity_map(axes.size());
  std::vector<SizeExpr> dims, strides;
  for (size_t k = 0; k < axes.size(); ++k) {
    const auto axis = static_cast<size_t>(axes[k]);
    map.axes[axis].axis = static_cast<int>(k);
    dims.push_back(from[axis]);
    strides.push_back(array.strides[axis]);
  }
  return view_of(tracer, array, std::move(map), std::move(dims), std::move(strides));
}

Sym reverse_all_axes(Tracer& tracer, const ArrayValue& array) {
  std::vector<int> axes;
  for (int axis = array.type.rank(); axis-- > 0;) axes.push_back(axis);
  return permute_axes(tracer, array, axes);
}

Sym slice_axis(Tracer& tracer, const ArrayValue& array, int axis, const SizeExpr& start,
               const SizeExpr& step, const SizeExpr& count) {
  const auto at = static_cast<size_t>(axis);
  IndexMap map = identity_map(array.type.dims.size());
  std::vector<SizeExpr> dims = dims_of(tracer, array), strides = array.strides;
  map.axes[at].start = start;
  map.axes[at].step = step;
  dims[at] = count;
  strides[at] = strides[at] * step;
  return view_of(tracer, array, std::move(map), std::move(dims), std::move(strides));
}

Sym reverse_axis(Tracer& tracer, const ArrayValue& array, int axis) {
  const SizeExpr length = dims_of(tracer, array)[static_cast<size_t>(axis)];
  const SliceRange range = resolve_slice(tracer, nullptr, nullptr,
                                         tracer.constant(checked(PyLong_FromLong(-1))), length);
  return slice_axis(tracer, array, axis, range.start, range.step, range.count);
}

Sym insert_axes(Tracer& tracer, const ArrayValue& array, std::span<const int> places) {
  std::vector<SizeExpr> dims = dims_of(tracer, array), strides = array.strides;
  for (int place : places) {
    dims.insert(dims.begin() + place, SizeExpr(1));
    strides.insert(strides.begin() + place, SizeExpr(0));
  }
  IndexMap map;
  for (int axis = 0; axis < static_cast<int>(dims.size()); ++axis) {
    if (std::find(places.begin(), places.end(), axis) == places.end())
      map.axes.push_back({0, 1, axis});
  }
  return view_of(tracer, array, std::move(map), std::move(dims), std::move(strides));
}

Sym read_only(Sym view) {
  auto& array = static_cast<ArrayValue&>(*view);
  array.writeable = false;
  array.read_only = true;
  return view;
}

Sym broadcast_view(Tracer& tracer, const ArrayValue& array, const std::vector<SizeExpr>& target) {
  static const std::string reason = "an array broadcasts to the shape asked for";
  const std::vector<SizeExpr> from = dims_of(tracer, array);
  if (from.size() > target.size()) throw_break("would_raise", "broadcast to fewer dimensions");
  const size_t offset = target.size() - from.size();
  IndexMap map;
  std::vector<SizeExpr> dims, strides(target.size(), SizeExpr(0));
  for (const SizeExpr& dim : target) dims.push_back(tracer.simplify(dim));
  for (size_t k = 0; k < from.size(); ++k) {
    if (from[k].constant() == 1) {
      map.axes.push_back({0, 0, -1});
    } else if (tracer.decide_equal(from[k], dims[offset + k], reason)) {
      map.axes.push_back({0, 1, static_cast<int>(offset + k)});
      strides[offset + k] = array.strides[k];
    } else if (tracer.decide_equal(from[k], 1, reason)) {
      map.axes.push_back({0, 0, -1});
    } else {
      throw_break("would_raise", "operands could not be broadcast to the shape asked for");
    }
  }
  for (SizeExpr& dim : dims) dim = tracer.simplify(dim);
  return read_only(view_of(tracer, array, std::move(map), std::move(dims), std::move(strides)));
}

Sym diagonal_view(Tracer& tracer, const ArrayValue& array, int64_t offset, int axis1, int axis2) {
  static const std::string reason = "the length of a diagonal";
  const std::vector<SizeExpr> from = dims_of(tracer, array);
  const auto first = static_cast<size_t>(axis1), second = static_cast<size_t>(axis2);
  SizeExpr start1 = offset < 0 ? SizeExpr(-offset) : SizeExpr(0);
  SizeExpr start2 = offset > 0 ? SizeExpr(offset) : SizeExpr(0);
  const SizeExpr room1 = tracer.simplify(from[first] - start1);
  const SizeExpr room2 = tracer.simplify(from[second] - start2);
  SizeExpr count = tracer.decide_less_equal(room1, room2, reason) ? room1 : room2;
  if (tracer.decide_less_equal(count, 0, reason)) count = start1 = start2 = 0;
  IndexMap map;
  std::vector<SizeExpr> dims, strides;
  for (size_t k = 0; k < from.size(); ++k) {
    if (k == first || k == second) {
      map.axes.push_back({k == first ? start1 : start2, 1, static_cast<int>(from.size()) - 2});
    } else {
      map.axes.push_back({0, 1, static_cast<int>(dims.size())});
      dims.push_back(from[k]);
      strides.push_back(array.strides[k]);
    }
  }
  dims.push_back(tracer.simplify(count));
  strides.push_back(array.strides[first] + array.strides[second]);
  return view_of(tracer, array, std::move(map), std::move(dims), std::move(strides));
}

Sym part_of(Tracer& tracer, const Sym& value, bool imaginary) {
  const auto& array = static_cast<const ArrayValue&>(*value);
  const DType dtype = array.type.dtype;
  if (is_complex(dtype)) {
    ViewStep step;
    step.op = Op::kPartView;
    step.attr = PartAttr{imaginary};
    step.type = array_type(real_part(dtype), dims_of(tracer, array));
    return tracer.new_view(array, std::move(step), array.strides);
  }
  if (!imaginary) return value;
  const std::vector<SizeExpr> dims = dims_of(tracer, array);
  const NodeId zero = broadcast_node(tracer, int_node(tracer, 0, dtype), dims, false);
  const bool fortran = dims.size() > 1 && !is_c_contiguous(tracer, dtype, dims, array.strides) &&
                       is_f_contiguous(tracer, dtype, dims, array.strides);
  Sym zeros =
      tracer.new_array(tracer.append(Op::kCopy, {zero}, NoAttr{}, array_type(dtype, dims)),
                       fortran ? fortran_order(static_cast<int>(dims.size())) : AxisOrder{});
  return read_only(zeros);
}

Sym copy_array(Tracer& tracer, const ArrayValue& array, char order) {
  const std::vector<SizeExpr> dims = dims_of(tracer, array);
  const OrderOperand layout{array.type.dtype, dims, array.strides};
  AxisOrder axes = order == 'K' ? like_order(tracer, layout)
                                : result_order(tracer, order, dims, std::span(&layout, 1));
  const NodeId node =
      tracer.append(Op::kCopy, {tracer.read(array)}, NoAttr{}, array_type(array.type.dtype, dims));
  return tracer.new_array(node, std::move(axes));
}

// ---------------------------------------------------------------- arguments

std::optional<std::vector<Sym>> sequence_items(Tracer& tracer, const Sym& value) {
  if (value->kind == SymKind::kTuple || value->kind == SymKind::kList) {
    return static_cast<const SequenceValue&>(*value).items;
  }
  if (value->kind != SymKind::kObject) return std::nullopt;
  const Ref& object = static_cast<const ObjectValue&>(*value).object;
  if (!PyTuple_CheckExact(object.get())) return std::nullopt;
  const auto constant = tracer.as_constant(value, "its items are compiled in");
  if (!constant) return std::nullopt;
  std::vector<Sym> items;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(constant->get()); ++i) {
    items.push_back(tracer.constant(Ref::create(PyTuple_GET_ITEM(constant->get(), i))));
  }
  return items;
}

SizeExpr size_argument(Tracer& tracer, const Sym& value, std::string_view what) {
  if (value->kind == SymKind::kSize) {
    return tracer.simplify(static_cast<const SizeValue&>(*value).expr);
  }
  if (value->kind == SymKind::kScalar) {
    const auto& scalar = static_cast<const ScalarValue&>(*value);
    if (tracer.in_region() && is_integer(scalar.type.dtype) && scalar.type.dtype != DType::kUInt64)
      return tracer.size_of(scalar.node, 0);
    throw_break("data_dependent",
                fmt::format("{}: an integer known only when the program runs", what));
  }
  const auto number = constant_int(tracer, value, what);
  if (!number) throw_break("would_raise", fmt::format("{}: an integer is needed", what));
  return *number;
}

std::vector<SizeExpr> sizes_argument(Tracer& tracer, const Sym& value, std::string_view what) {
  std::vector<SizeExpr> sizes;
  if (const auto items = sequence_items(tracer, value)) {
    for (const Sym& item : *items) sizes.push_back(size_argument(tracer, item, what));
  } else {
    sizes.push_back(size_argument(tracer, value, what));
  }
  return sizes;
}

std::vector<SizeExpr> shape_argument(Tracer& tracer, const Sym& value, std::string_view what) {
  std::vector<SizeExpr> sizes = sizes_argument(tracer, value, what);
  if (sizes.size() > NPY_MAXDIMS) throw_break("would_raise", "too many dimensions");
  for (const SizeExpr& size : sizes) {
    if (tracer.decide_less(size, 0, fmt::format("a dimension of {} is not negative", what))) {
      throw_break("would_raise", "negative dimensions are not allowed");
    }
  }
  for (SizeExpr& size : sizes) {
    size = tracer.simplify(size);
    // Axes of size 1 are known as such, so that broadcasting never asks.
    const auto symbol = size.as_symbol();
    if (symbol && tracer.graph().symbols[static_cast<size_t>(*symbol)].kind == SymbolKind::kInt &&
        tracer.hint(size) == 1) {
      size = tracer.specialize(size, fmt::format("an axis of {} has size 1", what));
    }
  }
  return sizes;
}

namespace {

// A slice's bound that changes from iteration to iteration, clipped to the axis.
SizeExpr bound_in_run(Tracer& tracer, SizeExpr at, const SizeExpr& length, bool down) {
  static const std::string reason = "where a slice begins and ends";
  using Relation = SizeGuard::Relation;
  const SizeExpr least = down ? -1 : 0, most = down ? length - 1 : length;
  if (tracer.decide_less(at, 0, reason)) {
    at = at + length;
    const auto inside = tracer.holds_always(Relation::kLessEqual, least, at, reason);
    return inside == true ? at : SizeExpr::max(at, least);
  }
  const auto inside = tracer.holds_always(Relation::kLessEqual, at, most, reason);
  if (inside == true) return at;
  if (inside == false) return most;
  // A bound that was computed lies inside the axis as a rule: the program restarts where it does
  // not. One that follows from counters may leave it at the end.
  if (tracer.has_bounds(at)) return SizeExpr::min(at, most);
  return tracer.decide_less_equal(at, most, reason) ? at : most;
}

}  // namespace

SliceRange resolve_slice(Tracer& tracer, const Sym& start_value, const Sym& stop_value,
                         const Sym& step_value, const SizeExpr& given_length) {
  static const std::string reason = "where a slice begins and ends";
  const SizeExpr length = tracer.simplify(given_length);
  SizeExpr step =
      is_none(step_value) ? SizeExpr(1) : size_argument(tracer, step_value, "a slice's step");
  if (tracer.decide_equal(step, 0, "a slice's step is not zero")) {
    throw_break("would_raise", "slice step cannot be zero");
  }
  step = tracer.simplify(step);
  const bool down = tracer.decide_less(step, 0, "the direction of a slice");
  const auto bound = [&](const Sym& value, bool is_start) -> SizeExpr {
    if (is_none(value))
      return is_start == down ? (is_start ? length - 1 : length) : SizeExpr(down ? -1 : 0);
    SizeExpr at = size_argument(tracer, value, "a slice's bound");
    if (tracer.is_run_time(at) || tracer.is_run_time(length))
      return bound_in_run(tracer, at, length, down);
    if (tracer.decide_less(at, 0, reason)) {
      at = at + length;
      if (tracer.decide_less(at, 0, reason)) return down ? -1 : 0;
      return at;
    }
    if (tracer.decide_less_equal(length, at, reason)) return down ? length - 1 : length;
    return at;
  };
  const SizeExpr start = tracer.simplify(bound(start_value, true));
  const SizeExpr stop = tracer.simplify(bound(stop_value, false));
  // The whole axis: no question about its size.
  SizeExpr distance = tracer.simplify(down ? start - stop : stop - start);
  if (tracer.is_run_time(distance) &&
      tracer.holds_always(SizeGuard::Relation::kLessEqual, 0, distance, reason) != true)
    distance = SizeExpr::max(distance, 0);
  if (tracer.is_run_time(distance)) {
    const SizeExpr width = down ? -step : step;
    if (width.constant() == 1) return {start, step, distance};
    return {start, step, tracer.simplify(SizeExpr::floor_div(distance + width - 1, width))};
  }
  const SizeExpr stride = down ? -step : step;
  if (stride.constant() == 1 && tracer.decide_less_equal(0, distance, reason)) {
    if (distance.constant() == 0) return {0, 1, 0};
    if (!down || !tracer.decide_equal(distance, 0, reason))
      return {start, step, tracer.simplify(distance)};
    return {0, 1, 0};
  }
  if (!tracer.decide_less(0, distance, reason)) return {0, 1, 0};
  return {start, step, tracer.simplify(SizeExpr::floor_div(distance - 1, stride) + 1)};
}

Sym call_numpy(Tracer& tracer, const char* name, std::span<const Sym> args) {
  return numpy_call(tracer, numpy_attribute(name), args, {});
}

Sym make_sequence(SymKind kind, std::vector<Sym> items) {
  auto sequence = std::make_shared<SequenceValue>(kind);
  sequence->items = std::move(items);
  return sequence;
}

}  // namespace numlift::frame_eval
