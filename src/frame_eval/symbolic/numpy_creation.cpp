#include "symbolic/numpy_creation.h"

#include "numlift/numpy_shim/dtypes.h"
#include "numlift/numpy_shim/numpy.h"
#include "numlift/py/py_error.h"
#include "symbolic/numpy_handlers.h"
#include "symbolic/numpy_indexing.h"
#include "symbolic/numpy_store.h"
#include "symbolic/numpy_ufuncs.h"
#include "symbolic/pure.h"

namespace numlift::frame_eval {

Sym filled_array(Tracer& tracer, NodeId value, const std::vector<SizeExpr>& dims, AxisOrder order) {
  const DType dtype = tracer.type_of(value).dtype;
  const NodeId wide = broadcast_node(tracer, value, dims, false);
  return tracer.new_array(tracer.append(Op::kCopy, {wide}, NoAttr{}, array_type(dtype, dims)),
                          std::move(order));
}

Sym zeros_array(Tracer& tracer, DType dtype, const std::vector<SizeExpr>& dims, AxisOrder order) {
  return filled_array(tracer, int_node(tracer, 0, dtype), dims, std::move(order));
}

Sym empty_array(Tracer& tracer, DType dtype, const std::vector<SizeExpr>& dims, AxisOrder order) {
  return tracer.new_array(tracer.append(Op::kEmpty, {}, NoAttr{}, array_type(dtype, dims)),
                          std::move(order));
}

NodeId positions(Tracer& tracer, const std::vector<SizeExpr>& dims, int axis, int64_t offset) {
  const NodeId node = tracer.append(Op::kIota, {}, IotaAttr{axis}, array_type(DType::kInt64, dims));
  if (offset == 0) return node;
  return elementwise(tracer, Op::kAdd, {node, int_node(tracer, offset, DType::kInt64)},
                     DType::kInt64);
}

// ---------------------------------------------------------------- nested sequences

namespace {

constexpr size_t kMostLeaves = 64;  // beyond that NumPy builds the array at run time

struct Nested {
  std::vector<size_t> lengths;  // of the sequence levels
  std::vector<Operand> leaves;  // in C order
};

void collect(Tracer& tracer, const Sym& value, size_t depth, Nested* nested) {
  const auto items = sequence_items(tracer, value);
  if (!items) {
    if (depth != nested->lengths.size()) throw_break("would_raise", "an array of uneven lists");
    auto leaf = find_operand(tracer, value);
    if (!leaf) throw_value_break(value, "an array of objects that are not numbers");
    nested->leaves.push_back(std::move(*leaf));
    return;
  }
  if (nested->leaves.empty() && depth == nested->lengths.size()) {
    nested->lengths.push_back(items->size());
  } else if (depth >= nested->lengths.size() || nested->lengths[depth] != items->size()) {
    throw_break("would_raise", "an array of uneven lists");
  }
  for (const Sym& item : *items) collect(tracer, item, depth + 1, nested);
}

// The dtype that np.array finds in elements like these.
DType discovered_dtype(const std::vector<Operand>& leaves) {
  Ref list = checked(PyList_New(0));
  for (const Operand& leaf : leaves) {
    Ref like;
    if (leaf.constant) {
      like = leaf.constant;
    } else if (!leaf.type.weak) {
      ScalarBits zero;
      zero.dtype = leaf.type.dtype;
      like = scalar_object(zero);
    } else if (leaf.type.dtype == DType::kInt64) {
      like = checked(PyLong_FromLong(0));
    } else if (leaf.type.dtype == DType::kFloat64) {
      like = checked(PyFloat_FromDouble(0));
    } else {
      like = checked(PyComplex_FromDoubles(0, 0));
    }
    check_status(PyList_Append(list.get(), like.get()));
  }
  Ref array = Ref::steal(PyArray_FromAny(list.get(), nullptr, 0, 0, 0, nullptr));
  if (!array) {
    PyErr_Clear();
    throw_break("would_raise", "an array of these elements cannot be made");
  }
  const auto dtype = numpy_shim::dtype_of_descr(
      reinterpret_cast<PyObject*>(PyArray_DESCR(numpy_shim::as_array(array))));
  if (!dtype) throw_break("opaque_dtype", "an array of objects that are not numbers");
  return *dtype;
}

}  // namespace

Sym array_from_sequence(Tracer& tracer, const Sym& sequence, std::optional<DType> wanted) {
  Nested nested;
  collect(tracer, sequence, 0, &nested);
  if (nested.leaves.size() > kMostLeaves) {
    std::vector<std::pair<Ref, Sym>> keywords;
    if (wanted) {
      keywords.emplace_back(checked(PyUnicode_FromString("dtype")),
                            tracer.constant(Ref::create(numpy_shim::descr_of(*wanted))));
    }
    return tracer.extern_call(numpy_attribute("array"), std::span(&sequence, 1), keywords,
                              "numpy.array");
  }
  const DType dtype = wanted ? *wanted : discovered_dtype(nested.leaves);
  std::vector<SizeExpr> dims;
  for (size_t length : nested.lengths) dims.emplace_back(static_cast<int64_t>(length));
  std::vector<SizeExpr> inner;
  if (!nested.leaves.empty()) inner = nested.leaves[0].dims;
  for (const Operand& leaf : nested.leaves) {
    if (!same_dims(tracer, inner, leaf.dims, "array"))
      throw_break("would_raise", "an array of uneven parts");
  }
  const size_t levels = dims.size();
  dims.insert(dims.end(), inner.begin(), inner.end());
  Sym result = empty_array(tracer, dtype, dims);
  const auto& whole = static_cast<const ArrayValue&>(*result);
  std::vector<int64_t> place(levels, 0);
  for (const Operand& leaf : nested.leaves) {
    IndexMap map;
    std::vector<SizeExpr> part_dims, part_strides;
    for (size_t k = 0; k < levels; ++k) map.axes.push_back({place[k], 0, -1});
    for (size_t k = levels; k < dims.size(); ++k) {
      map.axes.push_back({0, 1, static_cast<int>(k - levels)});
      part_dims.push_back(tracer.simplify(dims[k]));
      part_strides.push_back(whole.strides[k]);
    }
    const Sym part = view_of(tracer, whole, std::move(map), part_dims, std::move(part_strides));
    const NodeId value = broadcast_node(tracer, assigned_node(tracer, leaf, dtype), part_dims);
    tracer.store(static_cast<ArrayValue&>(*part), value);
    for (size_t k = levels; k-- > 0;) {
      if (++place[k] < static_cast<int64_t>(nested.lengths[k])) break;
      place[k] = 0;
    }
  }
  return result;
}

// ---------------------------------------------------------------- zeros, ones, full, empty

namespace {

void refuse(const NumpyArguments& arguments, std::initializer_list<const char*> names) {
  for (const char* name : names) {
    if (arguments.get_unless_none(name)) {
      throw_break("numpy_argument", fmt::format("{} with {}=", arguments.entry->path, name));
    }
  }
}

void check_device(Tracer& tracer, const NumpyArguments& arguments) {
  refuse(arguments, {"like"});
  const Sym device = arguments.get_unless_none("device");
  if (!device) return;
  const auto constant = tracer.as_constant(device, "the device asked for");
  if (!constant || !PyUnicode_Check(constant->get()) ||
      PyUnicode_CompareWithASCIIString(constant->get(), "cpu") != 0) {
    throw_break("would_raise", "a device that is not 'cpu'");
  }
}

enum class Fill : uint8_t { kEmpty, kZeros, kOnes };

Sym make(Tracer& tracer, Fill fill, DType dtype, const std::vector<SizeExpr>& dims,
         AxisOrder order) {
  switch (fill) {
    case Fill::kEmpty:
      return empty_array(tracer, dtype, dims, std::move(order));
    case Fill::kZeros:
      return zeros_array(tracer, dtype, dims, std::move(order));
    case Fill::kOnes:
      return filled_array(tracer, int_node(tracer, 1, dtype), dims, std::move(order));
  }
  NUMLIFT_UNREACHABLE();
}

AxisOrder plain_order(Tracer& tracer, const NumpyArguments& arguments, size_t rank) {
  const char order = order_argument(tracer, arguments.get_unless_none("order"), 'C');
  if (order != 'C' && order != 'F')
    throw_break("would_raise", "only 'C' or 'F' order is permitted");
  return order == 'F' && rank > 1 ? fortran_order(static_cast<int>(rank)) : AxisOrder{};
}

Sym call_sized(Tracer& tracer, const NumpyArguments& arguments, Fill fill) {
  check_device(tracer, arguments);
  const auto dims = shape_argument(tracer, arguments.get("shape"), arguments.entry->path);
  const DType dtype = dtype_argument(tracer, arguments.get("dtype"), arguments.entry->path)
                          .value_or(DType::kFloat64);
  return make(tracer, fill, dtype, dims, plain_order(tracer, arguments, dims.size()));
}

struct Likeness {
  DType dtype;
  std::vector<SizeExpr> dims;
  AxisOrder order;
};

Likeness likeness(Tracer& tracer, const NumpyArguments& arguments) {
  check_device(tracer, arguments);
  const Operand model = as_operand(tracer, arguments.values[0], arguments.entry->path);
  Likeness like;
  like.dtype = dtype_argument(tracer, arguments.get("dtype"), arguments.entry->path)
                   .value_or(model.type.dtype);
  const char order = order_argument(tracer, arguments.get_unless_none("order"), 'K');
  if (const Sym shape = arguments.get_unless_none("shape")) {
    like.dims = shape_argument(tracer, shape, arguments.entry->path);
    if (order == 'K' && like.dims.size() > 1 && like.dims.size() == model.dims.size()) {
      throw_break("numpy_argument", "a shape= of equal rank with order='K'");
    }
    if (order == 'F' && like.dims.size() > 1)
      like.order = fortran_order(static_cast<int>(like.dims.size()));
    if (order == 'A') throw_break("numpy_argument", "shape= with order='A'");
    return like;
  }
  like.dims = model.dims;
  if (model.is_array) {
    const OrderOperand layout = order_operand(model);
    like.order = order == 'K' ? like_order(tracer, layout)
                              : result_order(tracer, order, model.dims, std::span(&layout, 1));
  }
  return like;
}

Sym call_like(Tracer& tracer, const NumpyArguments& arguments, Fill fill) {
  Likeness like = likeness(tracer, arguments);
  return make(tracer, fill, like.dtype, like.dims, std::move(like.order));
}

Sym fill_with(Tracer& tracer, const NumpyArguments& arguments, std::optional<DType> wanted,
              const std::vector<SizeExpr>& dims, AxisOrder order) {
  const Operand value = as_operand(tracer, arguments.get("fill_value"), arguments.entry->path);
  // A number alone is an int64, float64, … : its own dtype, as np.asarray sees it.
  const DType dtype = wanted.value_or(
      value.is_array || !value.constant ? value.type.dtype : discovered_dtype({value}));
  const NodeId node = assigned_node(tracer, value, dtype);
  if (value.rank() == 0) return filled_array(tracer, node, dims, std::move(order));
  Sym result = empty_array(tracer, dtype, dims, std::move(order));
  assign(tracer, static_cast<ArrayValue&>(*result), arguments.get("fill_value"));
  return result;
}

}  // namespace

Sym call_zeros(Tracer& tracer, const NumpyArguments& arguments) {
  return call_sized(tracer, arguments, Fill::kZeros);
}
Sym call_ones(Tracer& tracer, const NumpyArguments& arguments) {
  return call_sized(tracer, arguments, Fill::kOnes);
}
Sym call_empty(Tracer& tracer, const NumpyArguments& arguments) {
  return call_sized(tracer, arguments, Fill::kEmpty);
}
Sym call_zeros_like(Tracer& tracer, const NumpyArguments& arguments) {
  return call_like(tracer, arguments, Fill::kZeros);
}
Sym call_ones_like(Tracer& tracer, const NumpyArguments& arguments) {
  return call_like(tracer, arguments, Fill::kOnes);
}
Sym call_empty_like(Tracer& tracer, const NumpyArguments& arguments) {
  return call_like(tracer, arguments, Fill::kEmpty);
}

Sym call_full(Tracer& tracer, const NumpyArguments& arguments) {
  check_device(tracer, arguments);
  const auto dims = shape_argument(tracer, arguments.get("shape"), "numpy.full");
  const auto dtype = dtype_argument(tracer, arguments.get("dtype"), "numpy.full");
  return fill_with(tracer, arguments, dtype, dims, plain_order(tracer, arguments, dims.size()));
}

Sym call_full_like(Tracer& tracer, const NumpyArguments& arguments) {
  Likeness like = likeness(tracer, arguments);
  return fill_with(tracer, arguments, like.dtype, like.dims, std::move(like.order));
}

// ---------------------------------------------------------------- array, asarray, copy

namespace {

Sym with_dtype(Tracer& tracer, const Sym& value, std::optional<DType> dtype, char order,
               bool copy) {
  if (sequence_items(tracer, value)) {
    if (order == 'F') throw_break("numpy_argument", "an array of a list in Fortran order");
    return array_from_sequence(tracer, value, dtype);
  }
  const Operand operand = as_operand(tracer, value, "array");
  if (!operand.is_array) {
    const DType own = operand.constant ? discovered_dtype({operand}) : operand.type.dtype;
    return filled_array(tracer, assigned_node(tracer, operand, dtype.value_or(own)), {});
  }
  const DType from = operand.type.dtype, to = dtype.value_or(from);
  const OrderOperand layout = order_operand(operand);
  const bool is_fresh = value->kind == SymKind::kGrownList;
  if ((!copy || is_fresh) && from == to) {
    const auto c = [&] { return is_c_contiguous(tracer, from, operand.dims, operand.strides); };
    const auto f = [&] { return is_f_contiguous(tracer, from, operand.dims, operand.strides); };
    if (order == 'K' || (order == 'C' && c()) || (order == 'F' && f()) ||
        (order == 'A' && (c() || f()))) {
      return operand.value;
    }
  }
  const NodeId node = from == to ? operand.node : assigned_node(tracer, operand, to);
  AxisOrder axes = order == 'K' ? like_order(tracer, layout)
                                : result_order(tracer, order, operand.dims, std::span(&layout, 1));
  const Op op = from == to ? Op::kCopy : Op::kCast;
  const NodeId made = op == Op::kCopy || operand.rank() == 0
                          ? tracer.append(Op::kCopy, {node}, NoAttr{}, array_type(to, operand.dims))
                          : node;
  return tracer.new_array(made, std::move(axes));
}

}  // namespace

Sym call_array(Tracer& tracer, const NumpyArguments& arguments) {
  refuse(arguments, {"like"});
  const int64_t least = constant_int(tracer, arguments.get("ndmin"), "array").value_or(0);
  if (least > 8) throw_break("numpy_argument", "array with a large ndmin=");
  const Sym copy_value = arguments.get("copy");
  bool copy = true;
  if (copy_value) {
    if (is_none(copy_value)) {
      copy = false;
    } else if (!*constant_bool(tracer, copy_value, "array")) {
      throw_break("numpy_argument", "array with copy=False");
    }
  }
  const Sym made = with_dtype(tracer, arguments.get("object"),
                              dtype_argument(tracer, arguments.get("dtype"), "array"),
                              order_argument(tracer, arguments.get("order"), 'K'), copy);
  const auto& array = static_cast<const ArrayValue&>(*made);
  std::vector<SizeExpr> dims = dims_of(tracer, array);
  if (static_cast<int64_t>(dims.size()) >= least) return made;
  dims.insert(dims.begin(), static_cast<size_t>(least) - dims.size(), SizeExpr(1));
  return reshape_array(tracer, array, std::move(dims));
}

Sym call_asarray(Tracer& tracer, const NumpyArguments& arguments) {
  check_device(tracer, arguments);
  bool copy = false;
  if (const Sym value = arguments.get_unless_none("copy")) {
    copy = *constant_bool(tracer, value, "asarray");
    if (!copy) throw_break("numpy_argument", "asarray with copy=False");
  }
  return with_dtype(tracer, arguments.get("a"),
                    dtype_argument(tracer, arguments.get("dtype"), "asarray"),
                    order_argument(tracer, arguments.get("order"), 'K'), copy);
}

namespace {

Sym contiguous_array(Tracer& tracer, const NumpyArguments& arguments, char order) {
  refuse(arguments, {"like"});
  const auto dtype = dtype_argument(tracer, arguments.get("dtype"), arguments.entry->path);
  const Sym made = with_dtype(tracer, arguments.get("a"), dtype, order, false);
  const auto& array = static_cast<const ArrayValue&>(*made);
  return array.type.rank() == 0 && order == 'C' ? reshape_array(tracer, array, {1}) : made;
}

}  // namespace

Sym call_ascontiguousarray(Tracer& tracer, const NumpyArguments& arguments) {
  return contiguous_array(tracer, arguments, 'C');
}

Sym call_asfortranarray(Tracer& tracer, const NumpyArguments& arguments) {
  return contiguous_array(tracer, arguments, 'F');
}

Sym call_copy(Tracer& tracer, const NumpyArguments& arguments) {
  // np.copy keeps the order, the method makes C order.
  const bool method = arguments.entry->path == "ndarray.copy";
  const char order = order_argument(tracer, arguments.get("order"), method ? 'C' : 'K');
  if (arguments.get("subok")) constant_bool(tracer, arguments.get("subok"), "copy");
  const Sym value = arguments.get("a");
  if (method && value->kind != SymKind::kArray) return value;  // a scalar is its own copy
  return with_dtype(tracer, value, std::nullopt, order, true);
}

// ---------------------------------------------------------------- triangles and diagonals

namespace {

Sym diagonal_ones(Tracer& tracer, const NumpyArguments& arguments, Op compare, const Sym& rows,
                  const Sym& columns, DType missing) {
  refuse(arguments, {"like"});
  check_device(tracer, arguments);
  std::vector<SizeExpr> dims = shape_argument(
      tracer, make_sequence(SymKind::kTuple, {rows, columns}), arguments.entry->path);
  const int64_t k = constant_int(tracer, arguments.get("k"), arguments.entry->path).value_or(0);
  if (k > (int64_t{1} << 40) || k < -(int64_t{1} << 40))
    throw_break("numpy_argument", "a far diagonal");
  const DType dtype =
      dtype_argument(tracer, arguments.get("dtype"), arguments.entry->path).value_or(missing);
  // Row + k against column: equal on the diagonal, not less on and below it.
  const NodeId node = elementwise(
      tracer, compare, {positions(tracer, dims, 0, k), positions(tracer, dims, 1)}, DType::kBool);
  return tracer.new_array(cast(tracer, node, dtype), plain_order(tracer, arguments, 2));
}

}  // namespace

Sym call_eye(Tracer& tracer, const NumpyArguments& arguments) {
  const Sym rows = arguments.values[0], columns = arguments.get_unless_none("M");
  return diagonal_ones(tracer, arguments, Op::kEqual, rows, columns ? columns : rows,
                       DType::kFloat64);
}

Sym call_tri(Tracer& tracer, const NumpyArguments& arguments) {
  const Sym rows = arguments.get("N"), columns = arguments.get_unless_none("M");
  return diagonal_ones(tracer, arguments, Op::kGreaterEqual, rows, columns ? columns : rows,
                       DType::kFloat64);
}

namespace {

Sym triangle(Tracer& tracer, const NumpyArguments& arguments, bool lower) {
  const Sym value = as_array_value(tracer, arguments.get("m"), arguments.entry->path);
  const auto& array = static_cast<const ArrayValue&>(*value);
  const auto dims = dims_of(tracer, array);
  if (dims.size() < 2) throw_break("numpy_argument", "a triangle of an array of rank below 2");
  const int64_t k = constant_int(tracer, arguments.get("k"), arguments.entry->path).value_or(0);
  if (k > (int64_t{1} << 40) || k < -(int64_t{1} << 40))
    throw_break("numpy_argument", "a far diagonal");
  const int rank = static_cast<int>(dims.size());
  // tril: where(row + k >= column, m, 0); triu: where(row + k - 1 >= column, 0, m)
  const NodeId inside = elementwise(
      tracer, Op::kGreaterEqual,
      {positions(tracer, dims, rank - 2, lower ? k : k - 1), positions(tracer, dims, rank - 1)},
      DType::kBool);
  const DType dtype = array.type.dtype;
  const NodeId zero = int_node(tracer, 0, dtype), own = tracer.read(array);
  const NodeId node = lower ? elementwise(tracer, Op::kSelect, {inside, own, zero}, dtype)
                            : elementwise(tracer, Op::kSelect, {inside, zero, own}, dtype);
  // np.where orders the result by its operands: the mask is in C order, on its last two axes.
  const std::vector<SizeExpr> plane{dims[dims.size() - 2], dims[dims.size() - 1]};
  const OrderOperand layouts[] = {{DType::kBool, plane, {plane[1], SizeExpr(1)}},
                                  {dtype, dims, array.strides}};
  return tracer.new_array(node, result_order(tracer, 'K', dims, layouts));
}

}  // namespace

Sym call_tril(Tracer& tracer, const NumpyArguments& arguments) {
  return triangle(tracer, arguments, true);
}
Sym call_triu(Tracer& tracer, const NumpyArguments& arguments) {
  return triangle(tracer, arguments, false);
}

Sym call_diag(Tracer& tracer, const NumpyArguments& arguments) {
  const Sym value = as_array_value(tracer, arguments.get("v"), "diag");
  const auto& array = static_cast<const ArrayValue&>(*value);
  const int64_t k = constant_int(tracer, arguments.get("k"), "diag").value_or(0);
  if (array.type.rank() == 2) return read_only(diagonal_view(tracer, array, k, 0, 1));
  if (array.type.rank() != 1) throw_break("would_raise", "Input must be 1- or 2-d.");
  const SizeExpr side = tracer.simplify(dims_of(tracer, array)[0] + (k < 0 ? -k : k));
  Sym result = zeros_array(tracer, array.type.dtype, {side, side});
  const Sym line = diagonal_view(tracer, static_cast<ArrayValue&>(*result), k, 0, 1);
  assign(tracer, static_cast<ArrayValue&>(*line), value);
  return result;
}

Sym call_diagflat(Tracer& tracer, const NumpyArguments& arguments) {
  const Sym value = as_array_value(tracer, arguments.get("v"), "diagflat");
  NumpyArguments flat = arguments;
  const Sym raveled[] = {value};
  flat.values[0] = call_numpy(tracer, "ravel", raveled);
  return call_diag(tracer, flat);
}

Sym call_indices(Tracer& tracer, const NumpyArguments& arguments) {
  std::vector<SizeExpr> dims = shape_argument(tracer, arguments.get("dimensions"), "indices");
  const DType dtype =
      dtype_argument(tracer, arguments.get("dtype"), "indices").value_or(DType::kInt64);
  if (constant_bool(tracer, arguments.get("sparse"), "indices").value_or(false)) {
    throw_break("numpy_argument", "indices with sparse=");
  }
  std::vector<SizeExpr> all{static_cast<int64_t>(dims.size())};
  all.insert(all.end(), dims.begin(), dims.end());
  Sym result = empty_array(tracer, dtype, all);
  for (size_t k = 0; k < dims.size(); ++k) {
    const Sym part = item_at(tracer, static_cast<ArrayValue&>(*result), static_cast<int64_t>(k));
    const NodeId line =
        positions(tracer, dims_of(tracer, static_cast<ArrayValue&>(*part)), static_cast<int>(k));
    tracer.store(static_cast<ArrayValue&>(*part), cast(tracer, line, dtype));
  }
  return result;
}

}  // namespace numlift::frame_eval
