// Functions and methods that give views: reshape, transpose, squeeze, flip, … and those that
// reorder elements by slices.
#include <algorithm>
#include <set>

#include "numlift/numpy_shim/dtypes.h"
#include "numlift/numpy_shim/numpy.h"
#include "numlift/py/py_error.h"
#include "symbolic/numpy_creation.h"
#include "symbolic/numpy_extern.h"
#include "symbolic/numpy_handlers.h"
#include "symbolic/numpy_store.h"

namespace numlift::frame_eval {

namespace {
ArrayValue& array_in(const Sym& value) { return static_cast<ArrayValue&>(*value); }

bool is_method(const NumpyArguments& arguments) {
  return arguments.entry->path.starts_with("ndarray.");
}

// The first argument as an array; a method of a NumPy scalar works on a 0-d array of it.
Sym subject(Tracer& tracer, const NumpyArguments& arguments) {
  return as_array_value(tracer, arguments.values[0], arguments.entry->path);
}

// What a method of a NumPy scalar hands out: 0-d arrays become scalars again.
Sym handed_out(Tracer& tracer, const NumpyArguments& arguments, Sym result) {
  if (!is_method(arguments) || arguments.values[0]->kind == SymKind::kArray) return result;
  if (result->kind != SymKind::kArray || array_in(result).type.rank() > 0) return result;
  return tracer.new_scalar(elementwise_scalar(tracer, tracer.read(array_in(result))));
}

// Given axes (an int or a sequence), normalised, in the order given.
std::vector<int> axis_list(Tracer& tracer, const Sym& value, int rank, const std::string& what) {
  std::vector<int> axes;
  if (const auto items = sequence_items(tracer, value)) {
    for (const Sym& item : *items) {
      const auto axis = constant_int(tracer, item, what);
      if (!axis) throw_break("would_raise", what + ": an axis is None");
      axes.push_back(normalize_axis(*axis, rank, what));
    }
  } else {
    axes.push_back(normalize_axis(*constant_int(tracer, value, what), rank, what));
  }
  if (std::set<int>(axes.begin(), axes.end()).size() != axes.size()) {
    throw_break("would_raise", what + ": repeated axis");
  }
  return axes;
}

Sym as_tuple(std::vector<Sym> items) { return make_sequence(SymKind::kTuple, std::move(items)); }

}  // namespace

// ---------------------------------------------------------------- reshape, ravel

Sym call_reshape(Tracer& tracer, const NumpyArguments& arguments) {
  const std::string& what = arguments.entry->path;
  if (arguments.get_unless_none("copy")) {
    throw_break("numpy_argument", "reshape with copy=");
  }
  Sym shape = arguments.get("shape");
  if (is_method(arguments)) {
    if (arguments.rest.empty()) throw_break("numpy_argument", "reshape without a shape");
    shape = arguments.rest.size() == 1 ? arguments.rest[0] : as_tuple(arguments.rest);
  }
  if (is_none(shape)) throw_break("numpy_argument", "reshape to None");
  const char order = order_argument(tracer, arguments.get("order"), 'C');
  const Sym value = subject(tracer, arguments);
  return handed_out(
      tracer, arguments,
      reshape_array(tracer, array_in(value), sizes_argument(tracer, shape, what), order));
}

Sym call_flatten(Tracer& tracer, const NumpyArguments& arguments) {
  const char order = order_argument(tracer, arguments.get("order"), 'C');
  const Sym value = subject(tracer, arguments);
  Sym from = value;
  const ArrayValue& array = array_in(value);
  const auto own = dims_of(tracer, array);
  if (order == 'K') {
    if (!is_c_contiguous(tracer, array.type.dtype, own, array.strides)) {
      throw_break("numpy_argument", "flatten in memory order");
    }
  } else if (order == 'F' || (order == 'A' && own.size() > 1 &&
                              !is_c_contiguous(tracer, array.type.dtype, own, array.strides) &&
                              is_f_contiguous(tracer, array.type.dtype, own, array.strides))) {
    from = reverse_all_axes(tracer, array);
  }
  const std::vector<SizeExpr> flat{element_count(tracer, own)};
  const Type type = array_type(array.type.dtype, flat);
  NodeId node = tracer.read(array_in(from));
  if (own.size() != 1) node = tracer.append(Op::kReshape, {node}, NoAttr{}, type);
  return tracer.new_array(tracer.append(Op::kCopy, {node}, NoAttr{}, type));
}

Sym call_ravel(Tracer& tracer, const NumpyArguments& arguments) {
  char order = order_argument(tracer, arguments.get("order"), 'C');
  const Sym value = subject(tracer, arguments);
  const ArrayValue& array = array_in(value);
  const auto own = dims_of(tracer, array);
  const auto c = [&] { return is_c_contiguous(tracer, array.type.dtype, own, array.strides); };
  const auto f = [&] { return is_f_contiguous(tracer, array.type.dtype, own, array.strides); };
  if (order == 'A' || order == 'K') {
    if (c()) {
      order = 'C';
    } else if (own.size() > 1 && f()) {
      order = 'F';
    } else if (order == 'K' && own.size() > 0) {
      throw_break("numpy_argument", "ravel in memory order");
    } else {
      order = 'C';
    }
  }
  const bool contiguous = order == 'C' ? c() : f();
  if (contiguous) return reshape_array(tracer, array, {element_count(tracer, own)}, order);
  const Sym from = order == 'F' ? reverse_all_axes(tracer, array) : value;
  const Type type = array_type(array.type.dtype, {element_count(tracer, own)});
  NodeId node = tracer.read(array_in(from));
  if (own.size() != 1) node = tracer.append(Op::kReshape, {node}, NoAttr{}, type);
  return tracer.new_array(tracer.append(Op::kCopy, {node}, NoAttr{}, type));
}

// ---------------------------------------------------------------- axes

Sym call_transpose(Tracer& tracer, const NumpyArguments& arguments) {
  Sym axes = arguments.get_unless_none("axes");
  if (is_method(arguments)) {
    axes = nullptr;
    if (arguments.rest.size() == 1 && !is_none(arguments.rest[0])) axes = arguments.rest[0];
    if (arguments.rest.size() > 1) axes = as_tuple(arguments.rest);
  }
  const Sym value = subject(tracer, arguments);
  const ArrayValue& array = array_in(value);
  if (!axes) return handed_out(tracer, arguments, reverse_all_axes(tracer, array));
  const int rank = array.type.rank();
  const std::vector<int> order = axis_list(tracer, axes, rank, "transpose");
  if (static_cast<int>(order.size()) != rank) throw_break("would_raise", "axes don't match array");
  return permute_axes(tracer, array, order);
}

namespace {

Sym swapped(Tracer& tracer, const ArrayValue& array, int a, int b) {
  std::vector<int> axes;
  for (int axis = 0; axis < array.type.rank(); ++axis) axes.push_back(axis);
  std::swap(axes[static_cast<size_t>(a)], axes[static_cast<size_t>(b)]);
  return permute_axes(tracer, array, axes);
}

}  // namespace

Sym call_swapaxes(Tracer& tracer, const NumpyArguments& arguments) {
  const Sym value = subject(tracer, arguments);
  const int rank = array_in(value).type.rank();
  const int a =
      normalize_axis(*constant_int(tracer, arguments.get("axis1"), "swapaxes"), rank, "swapaxes");
  const int b =
      normalize_axis(*constant_int(tracer, arguments.get("axis2"), "swapaxes"), rank, "swapaxes");
  return swapped(tracer, array_in(value), a, b);
}

Sym call_matrix_transpose(Tracer& tracer, const NumpyArguments& arguments) {
  const Sym value = subject(tracer, arguments);
  const int rank = array_in(value).type.rank();
  if (rank < 2) throw_break("would_raise", "Input array must be at least 2-dimensional");
  return swapped(tracer, array_in(value), rank - 1, rank - 2);
}

Sym call_moveaxis(Tracer& tracer, const NumpyArguments& arguments) {
  const Sym value = subject(tracer, arguments);
  const int rank = array_in(value).type.rank();
  const auto source = axis_list(tracer, arguments.get("source"), rank, "moveaxis");
  const auto destination = axis_list(tracer, arguments.get("destination"), rank, "moveaxis");
  if (source.size() != destination.size())
    throw_break("would_raise", "moveaxis: as many sources as destinations");
  std::vector<int> order;
  for (int axis = 0; axis < rank; ++axis) {
    if (std::find(source.begin(), source.end(), axis) == source.end()) order.push_back(axis);
  }
  std::vector<std::pair<int, int>> moves;
  for (size_t k = 0; k < source.size(); ++k) moves.emplace_back(destination[k], source[k]);
  std::sort(moves.begin(), moves.end());
  for (const auto& [to, from] : moves) order.insert(order.begin() + to, from);
  return permute_axes(tracer, array_in(value), order);
}

Sym call_rollaxis(Tracer& tracer, const NumpyArguments& arguments) {
  const Sym value = subject(tracer, arguments);
  const ArrayValue& array = array_in(value);
  const int rank = array.type.rank();
  const int axis =
      normalize_axis(*constant_int(tracer, arguments.get("axis"), "rollaxis"), rank, "rollaxis");
  int64_t start = constant_int(tracer, arguments.get("start"), "rollaxis").value_or(0);
  if (start < 0) start += rank;
  if (start < 0 || start > rank) throw_break("would_raise", "rollaxis: start is out of bounds");
  if (axis < start) --start;
  if (axis == start) return same_view(tracer, array);
  std::vector<int> order;
  for (int k = 0; k < rank; ++k) {
    if (k != axis) order.push_back(k);
  }
  order.insert(order.begin() + start, axis);
  return permute_axes(tracer, array, order);
}

Sym call_expand_dims(Tracer& tracer, const NumpyArguments& arguments) {
  const Sym value = subject(tracer, arguments);
  std::vector<SizeExpr> dims = dims_of(tracer, array_in(value));
  const Sym axis = arguments.get("axis");
  const auto items = sequence_items(tracer, axis);
  const int rank = static_cast<int>(dims.size() + (items ? items->size() : 1));
  std::vector<int> places = axis_list(tracer, axis, rank, "expand_dims");
  std::sort(places.begin(), places.end());
  for (int place : places) dims.insert(dims.begin() + place, SizeExpr(1));
  return reshape_array(tracer, array_in(value), dims);
}

Sym call_squeeze(Tracer& tracer, const NumpyArguments& arguments) {
  static const std::string reason = "axes of size 1 are removed";
  const Sym value = subject(tracer, arguments);
  const ArrayValue& array = array_in(value);
  const std::vector<SizeExpr> from = dims_of(tracer, array);
  const int rank = array.type.rank();
  std::vector<bool> dropped(from.size(), false);
  if (const Sym axis = arguments.get_unless_none("axis")) {
    for (int k : axis_list(tracer, axis, rank, "squeeze")) {
      if (!tracer.decide_equal(from[static_cast<size_t>(k)], 1, reason)) {
        throw_break("would_raise",
                    "cannot select an axis to squeeze out which has size not equal to one");
      }
      dropped[static_cast<size_t>(k)] = true;
    }
  } else {
    for (size_t k = 0; k < from.size(); ++k) dropped[k] = tracer.decide_equal(from[k], 1, reason);
  }
  if (std::find(dropped.begin(), dropped.end(), true) == dropped.end()) {
    return handed_out(tracer, arguments, value);
  }
  IndexMap map;
  std::vector<SizeExpr> dims, strides;
  for (size_t k = 0; k < from.size(); ++k) {
    if (dropped[k]) {
      map.axes.push_back({0, 0, -1});
    } else {
      map.axes.push_back({0, 1, static_cast<int>(dims.size())});
      dims.push_back(from[k]);
      strides.push_back(array.strides[k]);
    }
  }
  return view_of(tracer, array, std::move(map), std::move(dims), std::move(strides));
}

// ---------------------------------------------------------------- broadcasting

Sym call_broadcast_to(Tracer& tracer, const NumpyArguments& arguments) {
  const Sym value = subject(tracer, arguments);
  const auto dims = shape_argument(tracer, arguments.get("shape"), "broadcast_to");
  return broadcast_view(tracer, array_in(value), dims);
}

Sym call_broadcast_shapes(Tracer& tracer, const NumpyArguments& arguments) {
  std::vector<std::vector<SizeExpr>> all;
  for (const Sym& shape : arguments.rest)
    all.push_back(shape_argument(tracer, shape, "broadcast_shapes"));
  std::vector<Sym> sizes;
  for (const SizeExpr& dim : broadcast_dims(tracer, all, "broadcast_shapes"))
    sizes.push_back(tracer.new_size(dim));
  return as_tuple(std::move(sizes));
}

Sym call_broadcast_arrays(Tracer& tracer, const NumpyArguments& arguments) {
  std::vector<Sym> values;
  std::vector<std::vector<SizeExpr>> all;
  for (const Sym& value : arguments.rest) {
    values.push_back(as_array_value(tracer, value, "broadcast_arrays"));
    all.push_back(dims_of(tracer, array_in(values.back())));
  }
  const auto dims = broadcast_dims(tracer, all, "broadcast_arrays");
  for (size_t k = 0; k < values.size(); ++k) {
    if (!same_dims(tracer, all[k], dims, "broadcast_arrays")) {
      // Its results warn when they are written to.
      throw_break("numpy_argument", "broadcast_arrays that stretches an axis");
    }
  }
  return as_tuple(std::move(values));
}

// ---------------------------------------------------------------- reversals

Sym call_flip(Tracer& tracer, const NumpyArguments& arguments) {
  Sym value = subject(tracer, arguments);
  const int rank = array_in(value).type.rank();
  std::vector<int> axes;
  if (const Sym axis = arguments.get_unless_none("axis")) {
    axes = axis_list(tracer, axis, rank, "flip");
  } else {
    for (int k = 0; k < rank; ++k) axes.push_back(k);
  }
  if (axes.empty()) return same_view(tracer, array_in(value));
  for (int axis : axes) value = reverse_axis(tracer, array_in(value), axis);
  return value;
}

Sym call_flipud(Tracer& tracer, const NumpyArguments& arguments) {
  const Sym value = subject(tracer, arguments);
  if (array_in(value).type.rank() < 1) throw_break("would_raise", "Input must be >= 1-d.");
  return reverse_axis(tracer, array_in(value), 0);
}

Sym call_fliplr(Tracer& tracer, const NumpyArguments& arguments) {
  const Sym value = subject(tracer, arguments);
  if (array_in(value).type.rank() < 2) throw_break("would_raise", "Input must be >= 2-d.");
  return reverse_axis(tracer, array_in(value), 1);
}

Sym call_rot90(Tracer& tracer, const NumpyArguments& arguments) {
  const Sym value = subject(tracer, arguments);
  const int rank = array_in(value).type.rank();
  int64_t turns = constant_int(tracer, arguments.get("k"), "rot90").value_or(1) % 4;
  if (turns < 0) turns += 4;
  std::vector<int> axes{0, 1};
  if (const Sym given = arguments.get("axes")) axes = axis_list(tracer, given, rank, "rot90");
  if (axes.size() != 2 || rank < 2) throw_break("would_raise", "rot90: len(axes) must be 2.");
  const auto flip = [&](const Sym& of, int axis) {
    return reverse_axis(tracer, array_in(of), axis);
  };
  switch (turns) {
    case 0:
      return same_view(tracer, array_in(value));
    case 1:
      return swapped(tracer, array_in(flip(value, axes[1])), axes[0], axes[1]);
    case 2:
      return flip(flip(value, axes[0]), axes[1]);
    default:
      return flip(swapped(tracer, array_in(value), axes[0], axes[1]), axes[1]);
  }
}

Sym call_roll(Tracer& tracer, const NumpyArguments& arguments) {
  Sym value = subject(tracer, arguments);
  const Sym axis_value = arguments.get_unless_none("axis"), shift_value = arguments.get("shift");
  const auto own = dims_of(tracer, array_in(value));
  const bool flat = axis_value == nullptr;
  const auto axes = flat ? std::nullopt : sequence_items(tracer, axis_value);
  const auto shifts = sequence_items(tracer, shift_value);
  if (axes || shifts) {
    if (!axes || axes->empty() || (shifts && shifts->size() != axes->size())) {
      throw_break("numpy_argument", "roll with several shifts along one axis");
    }
    for (size_t k = 0; k < axes->size(); ++k) {
      NumpyArguments one = arguments;
      one.values = {value, shifts ? (*shifts)[k] : shift_value, (*axes)[k]};
      value = call_roll(tracer, one);
    }
    return value;
  }
  if (flat) {
    const Sym raveled[] = {value};
    value = call_numpy(tracer, "ravel", raveled);
  }
  const ArrayValue& array = array_in(value);
  const int axis =
      flat ? 0
           : normalize_axis(*constant_int(tracer, axis_value, "roll"), array.type.rank(), "roll");
  const auto dims = dims_of(tracer, array);
  const SizeExpr length = dims[static_cast<size_t>(axis)];
  const SizeExpr shift = size_argument(tracer, shift_value, "roll");
  static const std::string reason = "how far roll moves";
  SizeExpr offset = 0;
  if (!tracer.decide_equal(length, 0, reason)) {
    // Small shifts stay simple expressions.
    if (tracer.decide_less_equal(0, shift, reason) && tracer.decide_less(shift, length, reason)) {
      offset = shift;
    } else if (tracer.decide_less(shift, 0, reason) &&
               tracer.decide_less_equal(0, shift + length, reason)) {
      offset = tracer.simplify(shift + length);
    } else {
      offset = tracer.simplify(SizeExpr::floor_mod(shift, length));
    }
  }
  const OrderOperand layout{array.type.dtype, dims, array.strides};
  Sym result = empty_array(tracer, array.type.dtype, dims, like_order(tracer, layout));
  const auto move = [&](const SizeExpr& from, const SizeExpr& to, const SizeExpr& count) {
    const Sym part = slice_axis(tracer, array, axis, from, 1, count);
    const Sym place = slice_axis(tracer, array_in(result), axis, to, 1, count);
    tracer.store(array_in(place), tracer.read(array_in(part)));
  };
  if (tracer.decide_equal(offset, 0, reason)) {
    move(0, 0, length);
  } else {
    move(0, offset, tracer.simplify(length - offset));
    move(tracer.simplify(length - offset), 0, offset);
  }
  return flat ? reshape_array(tracer, array_in(result), own) : result;
}

// ---------------------------------------------------------------- diagonals, parts, facts

Sym call_diagonal(Tracer& tracer, const NumpyArguments& arguments) {
  const Sym value = subject(tracer, arguments);
  const int rank = array_in(value).type.rank();
  if (rank < 2) throw_break("would_raise", "diag requires an array of at least two dimensions");
  const int64_t offset = constant_int(tracer, arguments.get("offset"), "diagonal").value_or(0);
  const int a = normalize_axis(constant_int(tracer, arguments.get("axis1"), "diagonal").value_or(0),
                               rank, "diagonal");
  const int b = normalize_axis(constant_int(tracer, arguments.get("axis2"), "diagonal").value_or(1),
                               rank, "diagonal");
  if (a == b) throw_break("would_raise", "axis1 and axis2 cannot be the same");
  if (offset > INT32_MAX || offset < -INT32_MAX) throw_break("numpy_argument", "a far diagonal");
  return read_only(diagonal_view(tracer, array_in(value), offset, a, b));
}

Sym call_linalg_diagonal(Tracer& tracer, const NumpyArguments& arguments) {
  const Sym value = subject(tracer, arguments);
  const int rank = array_in(value).type.rank();
  if (rank < 2) throw_break("would_raise", "diag requires an array of at least two dimensions");
  const int64_t offset = constant_int(tracer, arguments.get("offset"), "diagonal").value_or(0);
  if (offset > INT32_MAX || offset < -INT32_MAX) throw_break("numpy_argument", "a far diagonal");
  return read_only(diagonal_view(tracer, array_in(value), offset, rank - 2, rank - 1));
}

namespace {

// np.real(x) is x.real for what has one, lists are made arrays.
Sym part(Tracer& tracer, const NumpyArguments& arguments, const char* name) {
  const Sym& value = arguments.values[0];
  const Ref text = checked(PyUnicode_FromString(name));
  if (is_numpy_value(value)) return numpy_get_attribute(tracer, value, text);
  if (value->kind != SymKind::kList && value->kind != SymKind::kTuple) {
    throw_break("numpy_argument", "real or imag of a Python number");
  }
  return part_of(tracer, as_array_value(tracer, value, name), std::string_view(name) == "imag");
}

}  // namespace

Sym call_real(Tracer& tracer, const NumpyArguments& arguments) {
  return part(tracer, arguments, "real");
}
Sym call_imag(Tracer& tracer, const NumpyArguments& arguments) {
  return part(tracer, arguments, "imag");
}

Sym call_ndim(Tracer& tracer, const NumpyArguments& arguments) {
  const Operand operand = as_operand(tracer, arguments.values[0], "ndim");
  return tracer.new_size(operand.rank());
}

Sym call_shape(Tracer& tracer, const NumpyArguments& arguments) {
  const Operand operand = as_operand(tracer, arguments.values[0], "shape");
  std::vector<Sym> sizes;
  for (const SizeExpr& dim : operand.dims) sizes.push_back(tracer.new_size(dim));
  return as_tuple(std::move(sizes));
}

Sym call_size(Tracer& tracer, const NumpyArguments& arguments) {
  const Operand operand = as_operand(tracer, arguments.values[0], "size");
  std::vector<SizeExpr> counted = operand.dims;
  if (const Sym axis = arguments.get_unless_none("axis")) {
    counted.clear();
    for (int k : axis_list(tracer, axis, operand.rank(), "size"))
      counted.push_back(operand.dims[static_cast<size_t>(k)]);
  }
  return tracer.new_size(element_count(tracer, counted));
}

namespace {

DType dtype_in(Tracer& tracer, const NumpyArguments& arguments) {
  return as_operand(tracer, arguments.values[0], arguments.entry->path).type.dtype;
}
Sym truth(Tracer& tracer, bool value) {
  return tracer.constant(Ref::create(value ? Py_True : Py_False));
}

}  // namespace

Sym call_iscomplexobj(Tracer& tracer, const NumpyArguments& arguments) {
  return truth(tracer, is_complex(dtype_in(tracer, arguments)));
}
Sym call_isrealobj(Tracer& tracer, const NumpyArguments& arguments) {
  return truth(tracer, !is_complex(dtype_in(tracer, arguments)));
}

Sym call_isfortran(Tracer& tracer, const NumpyArguments& arguments) {
  const ArrayValue* array = as_array(arguments.values[0]);
  if (array == nullptr) throw_break("would_raise", "isfortran of something that is no array");
  const auto dims = dims_of(tracer, *array);
  const DType dtype = array->type.dtype;
  return truth(tracer, !is_c_contiguous(tracer, dtype, dims, array->strides) &&
                           is_f_contiguous(tracer, dtype, dims, array->strides));
}

Sym call_iterable(Tracer& tracer, const NumpyArguments& arguments) {
  const ArrayValue* array = as_array(arguments.values[0]);
  if (array == nullptr) throw_break("numpy_argument", "iterable of something that is no array");
  return truth(tracer, array->type.rank() > 0);
}

Sym call_astype_function(Tracer& tracer, const NumpyArguments& arguments) {
  if (arguments.values[0]->kind != SymKind::kArray || arguments.get_unless_none("device")) {
    throw_break("numpy_argument", "astype of something that is no array");
  }
  return call_astype(tracer, arguments);
}

Sym call_isscalar(Tracer& tracer, const NumpyArguments& arguments) {
  const Sym& value = arguments.values[0];
  if (value->kind == SymKind::kArray) return truth(tracer, false);
  if (value->kind == SymKind::kScalar || value->kind == SymKind::kSize || constant_number(value)) {
    return truth(tracer, true);
  }
  throw_break("unsupported_value", "isscalar of something that is no array or number");
}

// ---------------------------------------------------------------- repetition

Sym call_repeat(Tracer& tracer, const NumpyArguments& arguments) {
  Sym value = subject(tracer, arguments);
  const Sym repeats = arguments.get("repeats");
  const bool plain = repeats->kind == SymKind::kSize ||
                     (constant_number(repeats) && !sequence_items(tracer, repeats));
  if (!plain) return call_extern_unknown(tracer, arguments);
  const SizeExpr count = size_argument(tracer, repeats, "repeat");
  if (tracer.decide_less(count, 0, "repeat does not repeat less than no times")) {
    throw_break("would_raise", "repeats may not contain negative values.");
  }
  int axis = 0;
  if (const Sym given = arguments.get_unless_none("axis")) {
    axis = normalize_axis(*constant_int(tracer, given, "repeat"), array_in(value).type.rank(),
                          "repeat");
  } else {
    const Sym raveled[] = {value};
    value = call_numpy(tracer, "ravel", raveled);
  }
  // x[..., None, ...] stretched along the new axis, then both axes joined.
  const int place = axis + 1;
  const Sym opened = insert_axes(tracer, array_in(value), std::span(&place, 1));
  std::vector<SizeExpr> dims = dims_of(tracer, array_in(value)),
                        wide = dims_of(tracer, array_in(opened));
  const auto at = static_cast<size_t>(axis);
  wide[at + 1] = tracer.simplify(count);
  dims[at] = tracer.simplify(dims[at] * count);
  const Type type = array_type(array_in(value).type.dtype, dims);
  NodeId node = tracer.read(array_in(broadcast_view(tracer, array_in(opened), wide)));
  node = tracer.append(Op::kReshape, {node}, NoAttr{}, type);
  return tracer.new_array(tracer.append(Op::kCopy, {node}, NoAttr{}, type));
}

Sym call_tile(Tracer& tracer, const NumpyArguments& arguments) {
  const Sym value = subject(tracer, arguments);
  std::vector<SizeExpr> times = shape_argument(tracer, arguments.get("reps"), "tile");
  std::vector<SizeExpr> own = dims_of(tracer, array_in(value));
  const bool copies = std::all_of(times.begin(), times.end(), [&](const SizeExpr& count) {
    return tracer.decide_equal(count, 1, "whether tile repeats anything");
  });
  const auto rank = std::max(times.size(), own.size());
  if (copies) {
    const Sym copy = copy_array(tracer, array_in(value), 'K');
    if (rank == own.size()) return copy;
    own.insert(own.begin(), rank - own.size(), SizeExpr(1));
    return reshape_array(tracer, array_in(copy), own);
  }
  if (rank == 0 || rank > 8) throw_break("numpy_argument", "tile of this rank");
  times.insert(times.begin(), rank - times.size(), SizeExpr(1));
  own.insert(own.begin(), rank - own.size(), SizeExpr(1));
  const size_t added = rank - array_in(value).type.dims.size();
  // Every axis becomes (times, size), the first one stretched, then each pair joined.
  IndexMap map;
  std::vector<SizeExpr> wide, dims;
  for (size_t k = 0; k < rank; ++k) {
    wide.push_back(times[k]);
    if (k >= added) map.axes.push_back({0, 1, static_cast<int>(wide.size())});
    wide.push_back(own[k]);
    dims.push_back(tracer.simplify(times[k] * own[k]));
  }
  const DType dtype = array_in(value).type.dtype;
  const Type type = array_type(dtype, dims);
  NodeId node = tracer.append(Op::kView, {tracer.read(array_in(value))}, ViewAttr{std::move(map)},
                              array_type(dtype, wide));
  node = tracer.append(Op::kReshape, {node}, NoAttr{}, type);
  node = tracer.append(Op::kCopy, {node}, NoAttr{}, type);
  return same_view(tracer, array_in(tracer.new_array(node)));  // NumPy ends with a reshape
}

// ---------------------------------------------------------------- methods without a function

Sym call_view(Tracer& tracer, const NumpyArguments& arguments) {
  const ArrayValue* array = as_array(arguments.values[0]);
  if (array == nullptr || !arguments.rest.empty() || arguments.get("dtype") ||
      arguments.get("type")) {
    throw_break("numpy_argument", "view as another dtype");
  }
  return same_view(tracer, *array);
}

}  // namespace numlift::frame_eval
