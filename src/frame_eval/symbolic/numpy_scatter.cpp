#include "symbolic/numpy_scatter.h"

#include <algorithm>
#include <functional>

#include "numlift/graph/scalar.h"
#include "numlift/numpy_shim/dtypes.h"
#include "symbolic/numpy_extern.h"
#include "symbolic/numpy_gather.h"
#include "symbolic/numpy_handlers.h"
#include "symbolic/numpy_store.h"

namespace numlift::frame_eval {

namespace {

using Places = std::vector<SizeExpr>;
using Body = std::function<void(const Places& at)>;

// for at in ndindex(dims[at.size():]): body(at)
void repeat(Tracer& tracer, const std::vector<SizeExpr>& dims, const Body& body, Places at = {}) {
  if (at.size() == dims.size()) {
    body(at);
    return;
  }
  const SizeExpr& trips = dims[at.size()];
  const SizeExpr counter =
      tracer.run_symbol(std::max<int64_t>(tracer.hint(trips) / 2, 0), Tracer::Bounds{0, trips - 1});
  const NodeId loop = tracer.enter_region(Op::kLoop, {}, RegionAttr{*counter.as_symbol(), trips});
  at.push_back(counter);
  repeat(tracer, dims, body, std::move(at));
  tracer.leave_region(loop);
}

// The places along the first axes of an array; the other axes stay.
struct Part {
  IndexMap map;
  std::vector<SizeExpr> dims, strides;
};
Part part_at(const std::vector<SizeExpr>& dims, const std::vector<SizeExpr>& strides,
             const Places& at) {
  Part part;
  for (const SizeExpr& place : at) part.map.axes.push_back({place, 0, -1});
  for (size_t axis = at.size(); axis < dims.size(); ++axis) {
    part.map.axes.push_back({0, 1, static_cast<int>(part.dims.size())});
    part.dims.push_back(dims[axis]);
    if (!strides.empty()) part.strides.push_back(strides[axis]);
  }
  return part;
}

NodeId read_at(Tracer& tracer, NodeId array, const Places& at) {
  const Type type = tracer.type_of(array);
  if (type.dims.empty()) return array;
  Part part = part_at(type.dims, {}, at);
  return tracer.append(Op::kView, {array}, ViewAttr{std::move(part.map)},
                       array_type(type.dtype, std::move(part.dims)));
}

NodeId number_at(Tracer& tracer, NodeId array, const Places& at) {
  return elementwise_scalar(tracer, read_at(tracer, array, at));
}

void store_at(Tracer& tracer, ArrayValue& array, const Places& at, NodeId value) {
  Part part = part_at(dims_of(tracer, array), array.strides, at);
  const Sym place =
      view_of(tracer, array, std::move(part.map), std::move(part.dims), std::move(part.strides));
  tracer.store(static_cast<ArrayValue&>(*place), value);
}

NodeId scalar(Tracer& tracer, Op op, std::vector<NodeId> operands, DType dtype) {
  return tracer.append(op, std::move(operands), NoAttr{}, py_scalar_type(dtype));
}

Sym fresh(Tracer& tracer, DType dtype, std::vector<SizeExpr> dims) {
  return tracer.new_array(
      tracer.append(Op::kEmpty, {}, NoAttr{}, array_type(dtype, std::move(dims))));
}

// A value that stores to `array` do not change.
NodeId apart_from(Tracer& tracer, const ArrayValue& array, NodeId value) {
  const Graph& graph = tracer.graph();
  if (graph.buffer_of(value) != graph.buffer_of(array.storage->current)) return value;
  const Type type = tracer.type_of(value);
  return tracer.append(Op::kCopy, {value}, NoAttr{}, array_type(type.dtype, type.dims));
}

// body(at, place) at the true elements of a mask; `place` counts the true ones before.
void repeat_where(Tracer& tracer, NodeId mask, const SizeExpr& count,
                  const std::function<void(const Places& at, const SizeExpr& place)>& body) {
  const SizeExpr place = tracer.run_symbol(tracer.hint(count) / 2, Tracer::Bounds{0, count});
  tracer.assign({*place.as_symbol()}, {tracer.size_node(0)});
  const std::vector<SizeExpr> dims = tracer.type_of(mask).dims;  // of a node that may move
  repeat(tracer, dims, [&](const Places& at) {
    const NodeId is_true = tracer.enter_region(Op::kIf, {number_at(tracer, mask, at)}, NoAttr{});
    body(at, place);
    tracer.assign({*place.as_symbol()}, {tracer.size_node(place + 1)});
    tracer.leave_region(is_true);
  });
}

// The same for single numbers, where a wrong guess would cost more than the body: it runs at all
// elements up to the last true one. `place` is below `count`: what is stored there at an element
// that is not true is stored to again.
void repeat_masked(Tracer& tracer, NodeId mask, const SizeExpr& count,
                   const std::function<void(const Places& at, const SizeExpr& place)>& body) {
  const SizeExpr place = tracer.run_symbol(tracer.hint(count) / 2, Tracer::Bounds{0, count});
  tracer.assign({*place.as_symbol()}, {tracer.size_node(0)});
  const NodeId block = tracer.enter_region(Op::kBlock, {}, NoAttr{});
  const std::vector<SizeExpr> dims = tracer.type_of(mask).dims;  // of a node that may move
  repeat(tracer, dims, [&](const Places& at) {
    const NodeId is_over = scalar(tracer, Op::kGreaterEqual,
                                  {tracer.size_node(place), tracer.size_node(count)}, DType::kBool);
    const NodeId leave = tracer.enter_region(Op::kIf, {is_over}, NoAttr{});
    tracer.control(Op::kBreak, block);
    tracer.leave_region(leave);
    body(at, place);
    const NodeId one = scalar(tracer, Op::kCast, {number_at(tracer, mask, at)}, DType::kInt64);
    tracer.assign({*place.as_symbol()},
                  {scalar(tracer, Op::kAdd, {tracer.size_node(place), one}, DType::kInt64)});
  });
  tracer.leave_region(block);
}

// Elsewhere NumPy chooses the memory order of what it gathers, and the order in which it stores.
bool is_in_c_order(Tracer& tracer, const ArrayValue& array) {
  return is_c_contiguous(tracer, array.type.dtype, dims_of(tracer, array), array.strides);
}

bool mask_fits(Tracer& tracer, const ArrayValue& array, const ArrayValue& mask) {
  static const std::string reason = "a mask has the shape of what it selects from";
  const std::vector<SizeExpr> dims = dims_of(tracer, array), mask_dims = dims_of(tracer, mask);
  if (mask_dims.empty() || mask_dims.size() > dims.size()) return false;
  if (mask_dims.size() < dims.size() && !is_in_c_order(tracer, array)) return false;
  for (size_t axis = 0; axis < mask_dims.size(); ++axis) {
    if (!tracer.decide_equal(mask_dims[axis], dims[axis], reason)) return false;
  }
  return true;
}

Sym gather_masked(Tracer& tracer, NodeId source, NodeId mask) {
  const SizeExpr count = tracer.count_of(mask);
  const Type type = tracer.type_of(source);
  std::vector<SizeExpr> dims = type.dims;
  dims.erase(dims.begin(), dims.begin() + tracer.type_of(mask).rank());
  dims.insert(dims.begin(), count);
  const Sym result = fresh(tracer, type.dtype, std::move(dims));
  const bool is_of_rows = type.rank() > tracer.type_of(mask).rank();
  (is_of_rows ? repeat_where : repeat_masked)(
      tracer, mask, count, [&](const Places& at, const SizeExpr& place) {
        store_at(tracer, static_cast<ArrayValue&>(*result), {place}, read_at(tracer, source, at));
      });
  return result;
}

bool is_whole_slice(const Sym& item) {
  if (item->kind == SymKind::kSlice) {
    const auto& slice = static_cast<const SliceValue&>(*item);
    return is_none(slice.start) && is_none(slice.stop) && is_none(slice.step);
  }
  if (item->kind != SymKind::kObject) return false;
  PyObject* object = static_cast<const ObjectValue&>(*item).object.get();
  if (!PySlice_Check(object)) return false;
  const auto* slice = reinterpret_cast<PySliceObject*>(object);
  return slice->start == Py_None && slice->stop == Py_None && slice->step == Py_None;
}

}  // namespace

// ---------------------------------------------------------------- masks

Sym gather_by_mask(Tracer& tracer, const ArrayValue& array, const ArrayValue& mask) {
  if (!tracer.may_add_regions() || !mask_fits(tracer, array, mask)) return nullptr;
  const ScopedFpChecks quietly(tracer, kFpNone);
  return gather_masked(tracer, tracer.read(array), tracer.read(mask));
}

Sym places_of_mask(Tracer& tracer, NodeId mask) {
  const ScopedFpChecks quietly(tracer, kFpNone);
  const NodeId places = tracer.append(Op::kIota, {}, IotaAttr{0},
                                      array_type(DType::kInt64, tracer.type_of(mask).dims));
  return gather_masked(tracer, places, mask);
}

bool scatter_by_mask(Tracer& tracer, ArrayValue& array, const ArrayValue& mask,
                     const Operand& value) {
  const int rank = array.type.rank() - mask.type.rank() + 1;
  if (!tracer.may_add_regions() || value.rank() != rank || !mask_fits(tracer, array, mask))
    return false;
  const NodeId given = assigned_node(tracer, value, array.type.dtype);
  const ScopedFpChecks quietly(tracer, kFpNone);
  std::vector<SizeExpr> rest = dims_of(tracer, array);
  rest.erase(rest.begin(), rest.begin() + mask.type.rank());
  for (size_t axis = 0; axis < rest.size(); ++axis) {
    if (!tracer.decide_equal(value.dims[axis + 1], rest[axis], "an assigned value fits its target"))
      return false;
  }
  const NodeId content = apart_from(tracer, array, given);
  const NodeId where = apart_from(tracer, array, tracer.read(mask));
  const SizeExpr count = tracer.count_of(where);
  if (!(tracer.simplify(value.dims[0]) == tracer.simplify(count))) {
    tracer.control(Op::kCheck, scalar(tracer, Op::kEqual,
                                      {tracer.size_node(value.dims[0]), tracer.size_node(count)},
                                      DType::kBool));
  }
  repeat_masked(tracer, where, count, [&](const Places& at, const SizeExpr& place) {
    const NodeId now = read_at(tracer, tracer.read(array), at);
    store_at(tracer, array, at,
             tracer.append(Op::kSelect,
                           {number_at(tracer, where, at), read_at(tracer, content, {place}), now},
                           NoAttr{}, array_type(array.type.dtype, rest)));
  });
  return true;
}

// ---------------------------------------------------------------- index arrays

std::optional<IndexedPlaces> indexed_places(Tracer& tracer, const ArrayValue& array,
                                            const IndexKey& key) {
  if (!tracer.may_add_regions() || key.kind != IndexKey::Kind::kAdvanced || key.data_sized)
    return std::nullopt;
  size_t count = key.items.size();
  while (count > 0 && is_whole_slice(key.items[count - 1])) --count;
  const std::vector<SizeExpr> dims = dims_of(tracer, array);
  if (count == 0 || key.items.size() > dims.size()) return std::nullopt;
  if (count < dims.size() && !is_in_c_order(tracer, array)) return std::nullopt;
  std::vector<std::vector<SizeExpr>> all;
  for (size_t k = 0; k < count; ++k) {
    const ArrayValue* index = as_array(key.items[k]);
    if (index == nullptr || index->type.rank() == 0 || index->type.dtype == DType::kUInt64 ||
        !is_in_c_order(tracer, *index))
      return std::nullopt;
    all.push_back(dims_of(tracer, *index));
  }
  const ScopedFpChecks quietly(tracer, kFpNone);
  IndexedPlaces places;
  places.at = broadcast_dims(tracer, all, "index arrays");
  places.dims = places.at;
  places.dims.insert(places.dims.end(), dims.begin() + static_cast<ptrdiff_t>(count), dims.end());
  for (size_t k = 0; k < count; ++k) {
    const NodeId index = cast(
        tracer, apart_from(tracer, array, tracer.read(*as_array(key.items[k]))), DType::kInt64);
    require_inside(tracer, index, dims[k], true);
    places.indices.push_back(broadcast_node(tracer, index, places.at, false));
  }
  return places;
}

namespace {

// The indices at one place, counted from the begin of their axes.
Places counted(Tracer& tracer, const std::vector<SizeExpr>& dims, const IndexedPlaces& places,
               const Places& at) {
  Places found;
  for (size_t k = 0; k < places.indices.size(); ++k) {
    const NodeId index = number_at(tracer, places.indices[k], at);
    const NodeId is_negative =
        scalar(tracer, Op::kLess, {index, tracer.size_node(0)}, DType::kBool);
    const NodeId from_end =
        scalar(tracer, Op::kAdd, {index, tracer.size_node(dims[k])}, DType::kInt64);
    found.push_back(tracer.size_of(
        scalar(tracer, Op::kSelect, {is_negative, from_end, index}, DType::kInt64), 0));
  }
  return found;
}

}  // namespace

void scatter(Tracer& tracer, ArrayValue& array, const IndexedPlaces& places, NodeId value,
             std::optional<Op> update) {
  const uint8_t checks = is_integer(array.type.dtype) ? uint8_t{kFpNone} : tracer.fp_checks;
  const ScopedFpChecks quietly(tracer, kFpNone);
  const NodeId content = apart_from(tracer, array, value);
  const std::vector<SizeExpr> dims = dims_of(tracer, array);
  const std::vector<SizeExpr> rest(places.dims.begin() + static_cast<ptrdiff_t>(places.at.size()),
                                   places.dims.end());
  repeat(tracer, places.at, [&](const Places& at) {
    const Places place = counted(tracer, dims, places, at);
    NodeId now = read_at(tracer, content, at);
    if (update) {
      const NodeId before = read_at(tracer, tracer.read(array), place);
      const ScopedFpChecks watched(tracer, checks);
      now = tracer.append(*update, {before, now}, NoAttr{}, array_type(array.type.dtype, rest));
    }
    store_at(tracer, array, place, now);
  });
}

bool update_at(Tracer& tracer, const std::string& ufunc, std::span<const Sym> args) {
  static constexpr std::pair<const char*, Op> kUpdates[] = {{"add", Op::kAdd},
                                                            {"subtract", Op::kSubtract},
                                                            {"multiply", Op::kMultiply},
                                                            {"maximum", Op::kMaximum},
                                                            {"minimum", Op::kMinimum}};
  const auto update = std::find_if(std::begin(kUpdates), std::end(kUpdates),
                                   [&](const auto& one) { return ufunc == one.first; });
  if (!tracer.may_add_regions() || update == std::end(kUpdates) || args.size() != 3) return false;
  ArrayValue* array = as_array(args[0]);
  const auto value = find_operand(tracer, args[2]);
  if (array == nullptr || !array->writeable || !value) return false;
  const DType dtype = array->type.dtype;
  const numpy_shim::OperandType both[] = {value->type, {dtype, false}};
  const bool is_plain = (is_integer(dtype) || is_float(dtype)) && dtype != DType::kFloat16;
  if (!is_plain || numpy_shim::result_type(both) != dtype) return false;
  const auto places = indexed_places(tracer, *array, parse_index(tracer, args[1]));
  if (!places || places->at.size() != 1) return false;
  if (value->rank() != 0 && !same_dims(tracer, value->dims, places->dims, "values of ufunc.at"))
    return false;
  scatter(tracer, *array, *places, cast_operand(tracer, *value, dtype), update->second);
  return true;
}

// ---------------------------------------------------------------- functions

Sym call_flatnonzero(Tracer& tracer, const NumpyArguments& arguments) {
  const ArrayValue* array = as_array(arguments.get("a"));
  if (!tracer.may_add_regions() || array == nullptr || array->type.rank() != 1)
    return call_extern_unknown(tracer, arguments);
  NodeId mask = tracer.read(*array);
  if (array->type.dtype != DType::kBool) {
    const ScopedFpChecks quietly(tracer, kFpNone);
    ScalarBits zero;
    zero.dtype = array->type.dtype;
    mask = elementwise(tracer, Op::kNotEqual, {mask, constant_node(tracer, zero)}, DType::kBool);
  }
  return places_of_mask(tracer, mask);
}

// With `minlength` there are usually just so many bins.
Sym call_bincount(Tracer& tracer, const NumpyArguments& arguments) {
  const Sym counts = call_extern_unknown(tracer, arguments);
  const Sym least = arguments.get_unless_none("minlength");
  if (!least || counts->kind != SymKind::kArray) return counts;
  const SizeExpr size = size_argument(tracer, least, "minlength of bincount");
  const auto& array = static_cast<const ArrayValue&>(*counts);
  if (tracer.hint(array.type.dims[0]) == tracer.hint(size) && tracer.hint(size) > 1)
    tracer.promise_sizes(counts, {size});
  return counts;
}

}  // namespace numlift::frame_eval
