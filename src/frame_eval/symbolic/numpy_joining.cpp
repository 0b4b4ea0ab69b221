// Joining and splitting: concatenate, stack and their relatives; split gives lists of views.
#include <algorithm>

#include "numlift/numpy_shim/dtypes.h"
#include "numlift/py/py_error.h"
#include "symbolic/grown_list.h"
#include "symbolic/numpy_calls.h"
#include "symbolic/numpy_creation.h"
#include "symbolic/numpy_handlers.h"
#include "symbolic/numpy_indexing.h"
#include "symbolic/pure.h"

namespace numlift::frame_eval {

namespace {

const std::string kReason = "the memory order of joined arrays";

ArrayValue& array_in(const Sym& value) { return static_cast<ArrayValue&>(*value); }

// NumPy's PyArray_CreateMultiSortedStridePerm: axes from the largest stride to the smallest.
AxisOrder joined_order(Tracer& tracer, const std::vector<Sym>& arrays, size_t rank) {
  bool c_order = rank < 2;
  if (!c_order) {
    c_order = std::all_of(arrays.begin(), arrays.end(), [&](const Sym& value) {
      const ArrayValue& array = array_in(value);
      const auto dims = dims_of(tracer, array);
      SizeExpr expected = item_size(array.type.dtype);
      for (size_t k = rank; k-- > 0;) {
        if (dims[k].constant() == 1) continue;
        if (!(tracer.simplify(array.strides[k]) == expected)) return false;
        expected = tracer.simplify(expected * dims[k]);
      }
      return true;
    });
  }
  if (c_order) return {};
  std::vector<std::vector<SizeExpr>> strides, dims;
  for (const Sym& value : arrays) {
    dims.push_back(dims_of(tracer, array_in(value)));
    std::vector<SizeExpr> absolute;
    for (const SizeExpr& given : array_in(value).strides) {
      const SizeExpr stride = tracer.simplify(given);
      absolute.push_back(tracer.decide_less(stride, 0, kReason) ? -stride : stride);
    }
    strides.push_back(std::move(absolute));
  }
  AxisOrder order;
  for (size_t k = 0; k < rank; ++k) order.push_back(static_cast<uint8_t>(k));
  for (size_t i = 1; i < rank; ++i) {
    size_t place = i;
    const uint8_t moving = order[i];
    for (size_t j = i; j-- > 0;) {
      const uint8_t other = order[j];
      bool compared = false, swap = false;
      for (size_t a = 0; a < arrays.size(); ++a) {
        if (tracer.decide_equal(dims[a][moving], 1, kReason) ||
            tracer.decide_equal(dims[a][other], 1, kReason)) {
          continue;
        }
        if (tracer.decide_less_equal(strides[a][moving], strides[a][other], kReason)) {
          swap = false;
        } else if (!compared) {
          swap = true;
        }
        compared = true;
      }
      if (!compared) continue;
      if (!swap) break;
      place = j;
    }
    order.erase(order.begin() + static_cast<ptrdiff_t>(i));
    order.insert(order.begin() + static_cast<ptrdiff_t>(place), moving);
  }
  return order;
}

DType joined_dtype(Tracer& tracer, const NumpyArguments* arguments,
                   const std::vector<Sym>& arrays) {
  std::vector<OperandType> types;
  for (const Sym& value : arrays) types.push_back({array_in(value).type.dtype, false});
  const auto common = numpy_shim::result_type(types);
  std::optional<DType> asked;
  std::string casting = "same_kind";
  if (arguments != nullptr) {
    asked = dtype_argument(tracer, arguments->get("dtype"), arguments->entry->path);
    casting = casting_argument(tracer, arguments->get("casting"), "same_kind");
    if (arguments->get_unless_none("out")) {
      throw_break("numpy_argument", fmt::format("{} with out=", arguments->entry->path));
    }
  }
  const auto dtype = asked ? asked : common;
  if (!dtype) throw_break("would_raise", "arrays without a common dtype");
  for (const OperandType& type : types) {
    if (!numpy_shim::can_cast(type.dtype, *dtype, casting.c_str())) {
      throw_break("would_raise", "concatenate cannot cast");
    }
  }
  return *dtype;
}

Sym join(Tracer& tracer, const std::vector<Sym>& arrays, int64_t given_axis, DType dtype) {
  static const std::string reason = "joined arrays agree in all axes but one";
  if (arrays.empty()) throw_break("would_raise", "need at least one array to concatenate");
  const int rank = array_in(arrays[0]).type.rank();
  if (rank == 0) throw_break("would_raise", "zero-dimensional arrays cannot be concatenated");
  const auto axis = static_cast<size_t>(normalize_axis(given_axis, rank, "concatenate"));
  std::vector<SizeExpr> dims = dims_of(tracer, array_in(arrays[0]));
  std::vector<SizeExpr> starts{0};
  for (size_t a = 0; a < arrays.size(); ++a) {
    const auto own = dims_of(tracer, array_in(arrays[a]));
    if (own.size() != dims.size()) throw_break("would_raise", "joined arrays differ in rank");
    for (size_t k = 0; k < own.size(); ++k) {
      if (k != axis && !tracer.decide_equal(dims[k], own[k], reason)) {
        throw_break("would_raise", "joined arrays differ in shape");
      }
    }
    starts.push_back(tracer.simplify(starts.back() + own[axis]));
  }
  dims[axis] = starts.back();
  for (SizeExpr& dim : dims) dim = tracer.simplify(dim);
  Sym result = empty_array(tracer, dtype, dims, joined_order(tracer, arrays, dims.size()));
  for (size_t a = 0; a < arrays.size(); ++a) {
    const SizeExpr count = dims_of(tracer, array_in(arrays[a]))[axis];
    if (count.constant() == 0) continue;
    const Sym place =
        slice_axis(tracer, array_in(result), static_cast<int>(axis), starts[a], 1, count);
    const NodeId node = cast(tracer, tracer.read(array_in(arrays[a])), dtype);
    tracer.store(array_in(place), broadcast_node(tracer, node, dims_of(tracer, array_in(place))));
  }
  return result;
}

std::vector<Sym> arrays_argument(Tracer& tracer, const Sym& value, const std::string& what) {
  std::vector<Sym> arrays;
  if (const auto items = sequence_items(tracer, value)) {
    for (const Sym& item : *items) arrays.push_back(as_array_value(tracer, item, what));
    return arrays;
  }
  if (value->kind != SymKind::kArray) throw_value_break(value, what + ": not a sequence of arrays");
  for (const Sym& item : numpy_iterate(tracer, value))
    arrays.push_back(as_array_value(tracer, item, what));
  return arrays;
}

Sym join(Tracer& tracer, const NumpyArguments& arguments, const std::vector<Sym>& arrays,
         int64_t axis) {
  if (arrays.empty()) throw_break("would_raise", "need at least one array to concatenate");
  return join(tracer, arrays, axis, joined_dtype(tracer, &arguments, arrays));
}

// x with axes of size 1 so that it has at least `rank`, as np.atleast_<rank>d puts them.
Sym at_least(Tracer& tracer, const Sym& value, int rank) {
  const ArrayValue& array = array_in(value);
  const int own = array.type.rank();
  if (own >= rank) return value;
  if (own == 0)
    return reshape_array(tracer, array,
                         std::vector<SizeExpr>(static_cast<size_t>(rank), SizeExpr(1)));
  std::vector<int> places{0};
  if (rank == 3) places = own == 1 ? std::vector<int>{0, 2} : std::vector<int>{2};
  return insert_axes(tracer, array, places);
}

}  // namespace

namespace {

// All items of a list that a loop made, along a new first axis. Null: it is none, or more is asked
// for than to join them.
Sym items_of_grown(Tracer& tracer, const NumpyArguments& arguments) {
  const Sym& list = arguments.values[0];
  if (list->kind != SymKind::kGrownList) return nullptr;
  for (const char* option : {"out", "dtype", "casting"}) {
    if (arguments.get_unless_none(option)) return nullptr;
  }
  const Sym axis = arguments.get("axis");
  if (axis && (is_none(axis) || *constant_int(tracer, axis, arguments.entry->path) != 0))
    return nullptr;
  return grown_array(tracer, as<GrownList>(list));
}

// The first two axes as one.
Sym joined_rows(Tracer& tracer, const Sym& items) {
  std::vector<SizeExpr> dims = dims_of(tracer, array_in(items));
  dims[1] = dims[0] * dims[1];
  dims.erase(dims.begin());
  return reshape_array(tracer, array_in(items), std::move(dims));
}

}  // namespace

Sym call_concatenate(Tracer& tracer, const NumpyArguments& arguments) {
  std::vector<Sym> arrays;
  const Sym axis = arguments.get("axis");
  if (axis && is_none(axis)) {
    const auto items = sequence_items(tracer, arguments.values[0]);
    if (!items) throw_break("numpy_argument", "concatenate of one array's rows with axis=None");
    for (const Sym& item : *items) {
      if (item->kind != SymKind::kArray)
        throw_break("numpy_argument", "numbers joined with axis=None");
      const Sym raveled[] = {item};
      arrays.push_back(call_numpy(tracer, "ravel", raveled));
    }
    return join(tracer, arguments, arrays, 0);
  }
  if (const Sym items = items_of_grown(tracer, arguments)) {
    if (array_in(items).type.rank() > 1) return joined_rows(tracer, items);
  }
  arrays = arrays_argument(tracer, arguments.values[0], "concatenate");
  return join(tracer, arguments, arrays, constant_int(tracer, axis, "concatenate").value_or(0));
}

Sym call_stack(Tracer& tracer, const NumpyArguments& arguments) {
  if (Sym items = items_of_grown(tracer, arguments)) return items;
  std::vector<Sym> arrays = arrays_argument(tracer, arguments.values[0], "stack");
  if (arrays.empty()) throw_break("would_raise", "need at least one array to stack");
  const int rank = array_in(arrays[0]).type.rank();
  const auto first = dims_of(tracer, array_in(arrays[0]));
  const int axis = normalize_axis(constant_int(tracer, arguments.get("axis"), "stack").value_or(0),
                                  rank + 1, "stack");
  for (Sym& value : arrays) {
    if (!same_dims(tracer, first, dims_of(tracer, array_in(value)), "stack")) {
      throw_break("would_raise", "all input arrays must have the same shape");
    }
    value = insert_axes(tracer, array_in(value), std::span(&axis, 1));
  }
  return join(tracer, arguments, arrays, axis);
}

Sym call_hstack(Tracer& tracer, const NumpyArguments& arguments) {
  if (Sym items = items_of_grown(tracer, arguments)) {
    const int rank = array_in(items).type.rank();
    if (rank < 3) return rank == 1 ? items : joined_rows(tracer, items);
  }
  std::vector<Sym> arrays = arrays_argument(tracer, arguments.values[0], "hstack");
  for (Sym& value : arrays) value = at_least(tracer, value, 1);
  return join(tracer, arguments, arrays,
              !arrays.empty() && array_in(arrays[0]).type.rank() == 1 ? 0 : 1);
}

Sym call_vstack(Tracer& tracer, const NumpyArguments& arguments) {
  if (Sym items = items_of_grown(tracer, arguments)) {
    const int rank = array_in(items).type.rank();
    const int behind[] = {1};
    if (rank == 1) return insert_axes(tracer, array_in(items), behind);
    return rank == 2 ? items : joined_rows(tracer, items);
  }
  std::vector<Sym> arrays = arrays_argument(tracer, arguments.values[0], "vstack");
  for (Sym& value : arrays) value = at_least(tracer, value, 2);
  return join(tracer, arguments, arrays, 0);
}

Sym call_dstack(Tracer& tracer, const NumpyArguments& arguments) {
  std::vector<Sym> arrays = arrays_argument(tracer, arguments.values[0], "dstack");
  for (Sym& value : arrays) value = at_least(tracer, value, 3);
  return join(tracer, arguments, arrays, 2);
}

Sym call_column_stack(Tracer& tracer, const NumpyArguments& arguments) {
  std::vector<Sym> arrays = arrays_argument(tracer, arguments.values[0], "column_stack");
  for (Sym& value : arrays) {
    if (array_in(value).type.rank() < 2)
      value = reverse_all_axes(tracer, array_in(at_least(tracer, value, 2)));
  }
  return join(tracer, arguments, arrays, 1);
}

Sym call_append(Tracer& tracer, const NumpyArguments& arguments) {
  const Sym axis = arguments.get_unless_none("axis");
  std::vector<Sym> arrays{as_array_value(tracer, arguments.get("arr"), "append"),
                          as_array_value(tracer, arguments.get("values"), "append")};
  if (axis) return join(tracer, arguments, arrays, *constant_int(tracer, axis, "append"));
  for (Sym& value : arrays) {
    const Sym raveled[] = {value};
    value = call_numpy(tracer, "ravel", raveled);
  }
  return join(tracer, arguments, arrays, 0);
}

Sym call_atleast_1d(Tracer& tracer, const NumpyArguments& arguments);

namespace {

Sym at_least_call(Tracer& tracer, const NumpyArguments& arguments, int rank) {
  std::vector<Sym> results;
  for (const Sym& value : arguments.rest) {
    results.push_back(at_least(tracer, as_array_value(tracer, value, arguments.entry->path), rank));
  }
  return results.size() == 1 ? results[0] : make_sequence(SymKind::kTuple, std::move(results));
}

}  // namespace

Sym call_atleast_1d(Tracer& tracer, const NumpyArguments& arguments) {
  return at_least_call(tracer, arguments, 1);
}
Sym call_atleast_2d(Tracer& tracer, const NumpyArguments& arguments) {
  return at_least_call(tracer, arguments, 2);
}
Sym call_atleast_3d(Tracer& tracer, const NumpyArguments& arguments) {
  return at_least_call(tracer, arguments, 3);
}

// ---------------------------------------------------------------- splitting

namespace {

Sym split(Tracer& tracer, const NumpyArguments& arguments, const Sym& value, const Sym& parts,
          int64_t given_axis, bool equal) {
  const std::string& what = arguments.entry->path;
  if (value->kind != SymKind::kArray) throw_value_break(value, what + ": not an array");
  const ArrayValue& array = array_in(value);
  const int axis = normalize_axis(given_axis, array.type.rank(), what);
  const SizeExpr length = dims_of(tracer, array)[static_cast<size_t>(axis)];
  std::vector<Sym> views;
  const auto add = [&](const Sym& start, const Sym& stop) {
    const SliceRange range = resolve_slice(tracer, start, stop, nullptr, length);
    views.push_back(slice_axis(tracer, array, axis, range.start, range.step, range.count));
  };
  if (const auto items = sequence_items(tracer, parts)) {
    Sym before = tracer.new_size(0);
    for (const Sym& item : *items) {
      add(before, item);
      before = item;
    }
    add(before, tracer.new_size(length));
    return make_sequence(SymKind::kList, std::move(views));
  }
  const int64_t count = constant_int(tracer, parts, what).value_or(0);
  if (count <= 0) throw_break("would_raise", "number sections must be larger than 0.");
  if (count > 1024) throw_break("too_long", what + " into very many parts");
  const SizeExpr each = tracer.simplify(SizeExpr::floor_div(length, count));
  const SizeExpr rest = tracer.simplify(SizeExpr::floor_mod(length, count));
  if (equal && !tracer.decide_equal(rest, 0, "an array splits into equal parts")) {
    throw_break("would_raise", "array split does not result in an equal division");
  }
  const int64_t longer =
      equal ? 0 : tracer.specialize(rest, "parts of a split that are longer by one");
  SizeExpr start = 0;
  for (int64_t i = 0; i < count; ++i) {
    const SizeExpr size = tracer.simplify(i < longer ? each + 1 : each);
    views.push_back(slice_axis(tracer, array, axis, start, 1, size));
    start = tracer.simplify(start + size);
  }
  return make_sequence(SymKind::kList, std::move(views));
}

}  // namespace

Sym call_split(Tracer& tracer, const NumpyArguments& arguments) {
  return split(tracer, arguments, arguments.values[0], arguments.values[1],
               constant_int(tracer, arguments.get("axis"), "split").value_or(0), true);
}
Sym call_array_split(Tracer& tracer, const NumpyArguments& arguments) {
  return split(tracer, arguments, arguments.values[0], arguments.values[1],
               constant_int(tracer, arguments.get("axis"), "array_split").value_or(0), false);
}
Sym call_hsplit(Tracer& tracer, const NumpyArguments& arguments) {
  const ArrayValue* array = as_array(arguments.values[0]);
  if (array == nullptr || array->type.rank() == 0)
    throw_break("would_raise", "hsplit needs an axis");
  return split(tracer, arguments, arguments.values[0], arguments.values[1],
               array->type.rank() > 1 ? 1 : 0, true);
}
Sym call_vsplit(Tracer& tracer, const NumpyArguments& arguments) {
  const ArrayValue* array = as_array(arguments.values[0]);
  if (array == nullptr || array->type.rank() < 2)
    throw_break("would_raise", "vsplit needs two axes");
  return split(tracer, arguments, arguments.values[0], arguments.values[1], 0, true);
}
Sym call_dsplit(Tracer& tracer, const NumpyArguments& arguments) {
  const ArrayValue* array = as_array(arguments.values[0]);
  if (array == nullptr || array->type.rank() < 3)
    throw_break("would_raise", "dsplit needs three axes");
  return split(tracer, arguments, arguments.values[0], arguments.values[1], 2, true);
}

Sym call_unstack(Tracer& tracer, const NumpyArguments& arguments) {
  const Sym value = arguments.values[0];
  if (value->kind != SymKind::kArray || array_in(value).type.rank() == 0) {
    throw_break("would_raise", "Input array must be at least 1-d.");
  }
  const int rank = array_in(value).type.rank();
  const int axis = normalize_axis(
      constant_int(tracer, arguments.get("axis"), "unstack").value_or(0), rank, "unstack");
  std::vector<int> axes{axis};
  for (int k = 0; k < rank; ++k) {
    if (k != axis) axes.push_back(k);
  }
  return make_sequence(SymKind::kTuple,
                       numpy_iterate(tracer, permute_axes(tracer, array_in(value), axes)));
}

}  // namespace numlift::frame_eval
