// Reductions: ufunc.reduce and the functions over it, step by step as numpy/_core/_methods.py does
// them.
#include <algorithm>
#include <cmath>

#include "numlift/numpy_shim/dtypes.h"
#include "numlift/py/py_error.h"
#include "symbolic/numpy_lowering.h"
#include "symbolic/numpy_ufuncs.h"

namespace numlift::frame_eval {

namespace {

std::optional<Op> reduce_op(const std::string& name, DType dtype) {
  const bool is_bool = dtype == DType::kBool;
  if (name == "add") return is_bool ? Op::kReduceAny : Op::kReduceSum;
  if (name == "multiply") return is_bool ? Op::kReduceAll : Op::kReduceProd;
  if (name == "maximum") return is_bool ? Op::kReduceAny : Op::kReduceMax;
  if (name == "minimum") return is_bool ? Op::kReduceAll : Op::kReduceMin;
  if (name == "logical_or") return Op::kReduceAny;
  if (name == "logical_and") return Op::kReduceAll;
  return std::nullopt;
}

bool needs_element(const std::string& name) { return name == "maximum" || name == "minimum"; }

SizeExpr product(Tracer& tracer, const std::vector<SizeExpr>& dims, const std::vector<int>& axes) {
  SizeExpr count = 1;
  for (int axis : axes) count = count * dims[static_cast<size_t>(axis)];
  return tracer.simplify(count);
}

// Sizes of 0 along these axes are refused. A size that only the run tells is tested there.
void require_elements(Tracer& tracer, const std::vector<SizeExpr>& dims,
                      const std::vector<int>& axes, const std::string& name) {
  for (int axis : axes) {
    const SizeExpr dim = tracer.simplify(dims[static_cast<size_t>(axis)]);
    if (tracer.depends_on_extern(dim)) {
      const NodeId size =
          tracer.append(Op::kSizeValue, {}, SizeAttr{dim}, py_scalar_type(DType::kInt64));
      require(tracer, elementwise(tracer, Op::kNotEqual, {size, int_node(tracer, 0, DType::kInt64)},
                                  DType::kBool));
    } else if (tracer.decide_equal(dim, 0, fmt::format("{} of no elements", name))) {
      throw_break("would_raise", fmt::format("{} of a zero-size array", name));
    }
  }
}

// Removes the reduced axes from an order of all axes, or keeps them (as axes of size 1).
AxisOrder reduced_order(AxisOrder order, const std::vector<int>& axes, bool keepdims) {
  if (order.empty() || keepdims) return order;
  AxisOrder kept;
  for (uint8_t axis : order) {
    if (std::binary_search(axes.begin(), axes.end(), static_cast<int>(axis))) continue;
    const auto before =
        std::lower_bound(axes.begin(), axes.end(), static_cast<int>(axis)) - axes.begin();
    kept.push_back(static_cast<uint8_t>(axis - before));
  }
  return kept;
}

// `node` lacks the reduced axes: with them as axes of size 1, in memory of its own.
NodeId keep_axes(Tracer& tracer, NodeId node, const std::vector<int>& axes, int rank) {
  const Type from = tracer.type_of(node);
  IndexMap map;
  std::vector<SizeExpr> dims;
  size_t next = 0;
  for (int axis = 0; axis < rank; ++axis) {
    if (std::binary_search(axes.begin(), axes.end(), axis)) {
      dims.emplace_back(1);
    } else {
      map.axes.push_back({0, 1, axis});
      dims.push_back(from.dims[next++]);
    }
  }
  const Type type = array_type(from.dtype, std::move(dims));
  const NodeId view = tracer.append(Op::kView, {node}, ViewAttr{std::move(map)}, type);
  return tracer.append(Op::kCopy, {view}, NoAttr{}, type);
}

NodeId reduce_node(Tracer& tracer, Op op, NodeId node, const std::vector<int>& axes, DType result,
                   bool scalar) {
  const Type from = tracer.type_of(node);
  std::vector<SizeExpr> dims;
  for (int axis = 0; axis < from.rank(); ++axis) {
    if (!std::binary_search(axes.begin(), axes.end(), axis))
      dims.push_back(from.dims[static_cast<size_t>(axis)]);
  }
  return tracer.append(op, {node}, ReduceAttr{axes}, result_type_for(result, dims, scalar));
}

// NumPy adds and multiplies small integers in the platform's integer.
DType accumulator(const std::string& name, DType dtype) {
  if (name != "add" && name != "multiply") return dtype;
  if (dtype == DType::kBool) return DType::kInt64;
  if (kind_of(dtype) == DTypeKind::kSigned) return DType::kInt64;
  if (kind_of(dtype) == DTypeKind::kUnsigned) return DType::kUInt64;
  return dtype;
}

bool is_true(const Sym& value) {
  return value == nullptr || (value->kind == SymKind::kObject &&
                              static_cast<const ObjectValue&>(*value).object.get() == Py_True);
}

Sym parse_axis(const NumpyArguments& arguments) { return arguments.get_unless_none("axis"); }

ReduceOptions common_options(Tracer& tracer, const NumpyArguments& arguments,
                             const std::string& name) {
  ReduceOptions options;
  options.axis = parse_axis(arguments);
  options.dtype = dtype_argument(tracer, arguments.get("dtype"), name);
  options.out = out_argument(arguments.get("out"));
  options.keepdims = constant_bool(tracer, arguments.get("keepdims"), name).value_or(false);
  options.initial = arguments.get("initial");
  options.where = arguments.get("where");
  return options;
}

Sym reduction(Tracer& tracer, const NumpyArguments& arguments, const char* ufunc,
              std::optional<DType> dtype = std::nullopt) {
  ReduceOptions options = common_options(tracer, arguments, arguments.entry->path);
  if (dtype) options.dtype = dtype;
  const Sym result = reduce_ufunc(tracer, ufunc, arguments.get("a"), options);
  return result ? result : call_extern(tracer, arguments);
}

}  // namespace

Sym reduce_ufunc(Tracer& tracer, const std::string& name, const Sym& value,
                 const ReduceOptions& options) {
  const Operand operand = as_operand(tracer, value, name);
  const int rank = operand.rank();
  std::vector<int> axes;
  if (options.axis == nullptr && !options.all_axes) {
    if (rank > 0) axes.push_back(0);
  } else {
    axes = axes_argument(tracer, options.axis, rank, name);
  }
  const bool logical = name == "logical_or" || name == "logical_and";
  DType dtype =
      options.dtype.value_or(logical ? DType::kBool : accumulator(name, operand.type.dtype));
  if (const ArrayValue* out = as_array(options.out)) {
    // NumPy takes the dtype of out into account: only where that changes nothing.
    if (!options.dtype && !logical) dtype = operand.type.dtype;
    if (out->type.dtype != dtype || (dtype == DType::kBool && !logical)) {
      throw_break("numpy_argument", fmt::format("{}.reduce into an array of another dtype", name));
    }
  }
  if (dtype != operand.type.dtype && !logical) {
    // The loop for the asked dtype must exist as it is (bool has no subtraction, …).
    const OperandType types[] = {{dtype, false}, {dtype, false}};
    const auto loop = numpy_shim::resolve_ufunc(numpy_attribute(name.c_str()), types);
    if (!loop || loop->outputs[0] != dtype) return nullptr;
  }
  const auto op = reduce_op(name, logical ? DType::kBool : dtype);
  if (!op || (logical && dtype != DType::kBool)) return nullptr;
  // NumPy rounds each product to float16, one after the other: it may overflow half-way.
  if (*op == Op::kReduceProd && dtype == DType::kFloat16) return nullptr;
  if (!native_reduction(*op, logical ? operand.type.dtype : dtype)) return nullptr;

  NodeId node = logical ? cast_operand(tracer, operand, operand.type.dtype)
                        : cast_operand(tracer, operand, dtype);
  const bool masked = !is_true(options.where);
  std::vector<OrderOperand> layouts{order_operand(operand)};
  const bool has_initial = options.initial != nullptr && !is_none(options.initial);
  NodeId initial = kNoNode;
  if (has_initial) {
    if (logical) return nullptr;
    const Operand start = as_operand(tracer, options.initial, name);
    if (start.is_array) throw_break("numpy_argument", "initial= is an array");
    initial = cast_operand(tracer, start, dtype);
  } else if (is_none(options.initial) && options.initial != nullptr) {
    require_elements(tracer, operand.dims, axes, name);
  }
  if (masked) {
    if (needs_element(name) && !has_initial)
      throw_break("would_raise", "where= needs an initial value");
    const Operand mask = as_operand(tracer, options.where, name);
    if (mask.type.dtype != DType::kBool) throw_break("numpy_argument", "where= is not bool");
    const std::vector<SizeExpr> both[] = {operand.dims, mask.dims};
    if (!same_dims(tracer, broadcast_dims(tracer, both, name), operand.dims, name)) {
      throw_break("would_raise", "where= does not broadcast to the operand");
    }
    if (mask.rank() > 0) layouts.push_back(order_operand(mask));
    if (logical && operand.type.dtype != DType::kBool) node = cast(tracer, node, DType::kBool);
    const DType selected = tracer.type_of(node).dtype;
    NodeId neutral;
    switch (*op) {
      case Op::kReduceSum:
        // -0 is the neutral element of addition.
        neutral = is_float(selected) || is_complex(selected)
                      ? number_node(tracer, checked(PyFloat_FromDouble(-0.0)), selected)
                      : int_node(tracer, 0, selected);
        break;
      case Op::kReduceProd:
      case Op::kReduceAll:
        neutral = int_node(tracer, 1, selected);
        break;
      case Op::kReduceAny:
        neutral = int_node(tracer, 0, selected);
        break;
      default:
        neutral = initial;
        break;
    }
    const NodeId choose =
        broadcast_node(tracer, cast_operand(tracer, mask, DType::kBool), operand.dims);
    node = elementwise(tracer, Op::kSelect, {choose, node, neutral}, selected);
  } else if (needs_element(name) && !has_initial) {
    require_elements(tracer, operand.dims, axes, name);
  }

  const DType result = *op == Op::kReduceAll || *op == Op::kReduceAny ? DType::kBool : dtype;
  if (axes.empty()) {
    // Nothing to reduce: the elements themselves, as a fresh value.
    if (tracer.type_of(node).dtype != result) node = cast(tracer, node, result);
    if (!has_initial || rank > 0) {
      node = tracer.append(Op::kCopy, {node}, NoAttr{}, array_type(result, operand.dims));
    }
    if (rank == 0) node = elementwise_scalar(tracer, node);
  } else {
    node = reduce_node(tracer, *op, node, axes, result, !options.keepdims);
  }
  if (has_initial || (masked && *op == Op::kReduceSum)) {
    if (!has_initial) initial = int_node(tracer, 0, dtype);
    Op combine;
    switch (*op) {
      case Op::kReduceSum:
        combine = Op::kAdd;
        break;
      case Op::kReduceProd:
        combine = Op::kMultiply;
        break;
      case Op::kReduceMax:
        combine = Op::kMaximum;
        break;
      case Op::kReduceMin:
        combine = Op::kMinimum;
        break;
      case Op::kReduceAny:
        combine = Op::kLogicalOr;
        break;
      default:
        combine = Op::kLogicalAnd;
        break;
    }
    node = elementwise(tracer, combine, {node, initial}, result);
  }
  if (options.keepdims && rank > 0) node = keep_axes(tracer, node, axes, rank);
  if (options.out) {
    const ArrayValue* out = as_array(options.out);
    const Type type = tracer.type_of(node);
    if (out->type.rank() != type.rank() || !same_dims(tracer, out->type.dims, type.dims, name)) {
      throw_break("would_raise", fmt::format("{}: out= has the wrong shape", name));
    }
    return store_out(tracer, options.out, node, name);
  }
  return new_result(tracer, node,
                    reduced_order(k_order(tracer, operand.dims, layouts), axes, options.keepdims));
}

Sym call_sum(Tracer& tracer, const NumpyArguments& arguments) {
  return reduction(tracer, arguments, "add");
}
Sym call_prod(Tracer& tracer, const NumpyArguments& arguments) {
  return reduction(tracer, arguments, "multiply");
}
Sym call_min(Tracer& tracer, const NumpyArguments& arguments) {
  return reduction(tracer, arguments, "minimum");
}
Sym call_max(Tracer& tracer, const NumpyArguments& arguments) {
  return reduction(tracer, arguments, "maximum");
}
Sym call_all(Tracer& tracer, const NumpyArguments& arguments) {
  return reduction(tracer, arguments, "logical_and", DType::kBool);
}
Sym call_any(Tracer& tracer, const NumpyArguments& arguments) {
  return reduction(tracer, arguments, "logical_or", DType::kBool);
}

Sym call_ptp(Tracer& tracer, const NumpyArguments& arguments) {
  ReduceOptions options = common_options(tracer, arguments, "ptp");
  UfuncOptions subtract;
  subtract.out = std::exchange(options.out, nullptr);
  const Sym high = reduce_ufunc(tracer, "maximum", arguments.get("a"), options);
  const Sym low = reduce_ufunc(tracer, "minimum", arguments.get("a"), options);
  if (!high || !low) return call_extern(tracer, arguments);
  const Sym operands[] = {high, low};
  if (subtract.out) throw_break("numpy_argument", "ptp with out=");
  return apply_ufunc(tracer, "subtract", operands, subtract);
}

// ---------------------------------------------------------------- mean and variance

namespace {

// value / count, computed in the loop of (dtype, count's dtype) and cast back as NumPy does with
// out=value, casting="unsafe"; a scalar likewise. The memory order stays.
Sym divide_by_count(Tracer& tracer, const Sym& value, NodeId count,
                    std::optional<DType> result = {}) {
  const Operand operand = as_operand(tracer, value, "true_divide");
  const DType dtype = operand.type.dtype;
  const OperandType types[] = {{dtype, false}, {tracer.type_of(count).dtype, false}};
  const auto loop = numpy_shim::resolve_ufunc(numpy_attribute("true_divide"), types);
  if (!loop) throw_break("would_raise", "a mean of this dtype");
  NodeId node =
      elementwise(tracer, Op::kDivide,
                  {cast(tracer, operand.node, loop->inputs[0]),
                   broadcast_node(tracer, cast(tracer, count, loop->inputs[1]), operand.dims)},
                  loop->outputs[0]);
  node = cast(tracer, node, operand.is_array || !result ? dtype : *result);
  if (result) node = cast(tracer, node, *result);
  AxisOrder order;
  if (const ArrayValue* array = as_array(value)) {
    // float16: a conversion of the float32 mean, laid out as a copy of it.
    order = result ? like_order(tracer, order_operand(operand))
                   : tracer.graph().node(array->storage->current).order;
    if (operand.rank() == 0)
      node = tracer.append(Op::kCopy, {node}, NoAttr{}, array_type(result.value_or(dtype), {}));
  }
  return new_result(tracer, node, order);
}

struct Count {
  NodeId node = kNoNode;  // int64 (or float64) of rank 0, or with the mask's reduced dims
  SizeExpr size;          // without a mask
};

NodeId size_node(Tracer& tracer, const SizeExpr& size) {
  return cast(tracer,
              tracer.append(Op::kSizeValue, {}, SizeAttr{size}, py_scalar_type(DType::kInt64)),
              DType::kInt64);
}

// Elements that each result is made of.
SizeExpr element_count(Tracer& tracer, const Operand& operand, const Sym& axis, const char* name) {
  return product(tracer, operand.dims, axes_argument(tracer, axis, operand.rank(), name));
}

std::optional<DType> mean_dtype(DType dtype) {
  return is_integer(dtype) || dtype == DType::kBool ? std::optional(DType::kFloat64) : std::nullopt;
}

}  // namespace

Sym call_mean(Tracer& tracer, const NumpyArguments& arguments) {
  ReduceOptions options = common_options(tracer, arguments, "mean");
  if (!is_true(options.where)) return call_extern(tracer, arguments);
  const Sym value = arguments.get("a");
  const Operand operand = as_operand(tracer, value, "mean");
  const SizeExpr count = element_count(tracer, operand, options.axis, "mean");
  if (tracer.depends_on_extern(count)) {
    require(tracer, elementwise(tracer, Op::kNotEqual,
                                {size_node(tracer, count), int_node(tracer, 0, DType::kInt64)},
                                DType::kBool));
  } else if (tracer.decide_equal(count, 0, "a mean of no elements")) {
    throw_break("would_raise", "Mean of empty slice (a warning)");
  }
  std::optional<DType> half;
  if (!options.dtype) {
    options.dtype = mean_dtype(operand.type.dtype);
    if (operand.type.dtype == DType::kFloat16) {
      options.dtype = DType::kFloat32;
      half = DType::kFloat16;
    }
  }
  const Sym out = std::exchange(options.out, nullptr);
  const Sym total = reduce_ufunc(tracer, "add", operand.value, options);
  if (!total) return call_extern(tracer, arguments);
  const Sym mean = divide_by_count(tracer, total, size_node(tracer, count), half);
  if (!out) return mean;
  const Operand result = as_operand(tracer, mean, "mean");
  if (as_array(out)->type.dtype != result.type.dtype || half ||
      as_array(out)->type.rank() != result.rank()) {
    throw_break("numpy_argument", "mean into an array of another dtype or rank");
  }
  return store_out(tracer, out, result.node, "mean");
}

namespace {

// numpy/_core/_methods.py _var. Null: not covered.
Sym variance(Tracer& tracer, const NumpyArguments& arguments, const char* name) {
  ReduceOptions options = common_options(tracer, arguments, name);
  if (!is_true(options.where) || !is_none(arguments.get("mean")) || options.out) return nullptr;
  Sym ddof = arguments.get("ddof");
  if (const Sym correction = arguments.get("correction")) {
    if (ddof) throw_break("would_raise", "ddof and correction can't be provided simultaneously");
    ddof = correction;
  }
  const Operand operand = as_operand(tracer, arguments.get("a"), name);
  const DType dtype = operand.type.dtype;
  const SizeExpr count = element_count(tracer, operand, options.axis, name);
  Ref ddof_number = checked(PyLong_FromLong(0));
  if (ddof) {
    const auto constant = tracer.as_deep_constant(ddof, fmt::format("ddof of {}", name));
    if (!constant || !(PyLong_CheckExact(constant->get()) || PyFloat_CheckExact(constant->get())))
      return nullptr;
    ddof_number = *constant;
  }
  const double removed = PyFloat_AsDouble(ddof_number.get());
  if (removed < -1e15 || removed > 1e15 || removed != removed) return nullptr;
  const std::string reason = "the degrees of freedom of a variance";
  // ddof >= count warns.
  const auto floor = static_cast<int64_t>(std::floor(removed));
  if (tracer.depends_on_extern(count)) return nullptr;
  if (tracer.decide_less_equal(count, floor, reason) || tracer.decide_equal(count, 0, reason)) {
    throw_break("would_raise", "Degrees of freedom <= 0 for slice (a warning)");
  }
  if (!options.dtype) options.dtype = mean_dtype(dtype);
  if (options.dtype && !is_float(*options.dtype) && !is_complex(*options.dtype)) return nullptr;

  ReduceOptions kept = options;
  kept.keepdims = true;
  Sym mean = reduce_ufunc(tracer, "add", operand.value, kept);
  if (!mean) return nullptr;
  const NodeId items = size_node(tracer, count);
  mean = divide_by_count(tracer, mean, items);

  UfuncOptions as_array_options;
  as_array_options.keep_array = true;
  const Sym both[] = {operand.value, mean};
  Sym deviation = apply_ufunc(tracer, "subtract", both, as_array_options);
  const Sym one[] = {deviation};
  if (is_complex(as_array(deviation)->type.dtype)) {
    const ArrayValue& array = *as_array(deviation);
    const NodeId node = tracer.read(array);
    const DType part = real_part(array.type.dtype);
    const NodeId real = elementwise(tracer, Op::kReal, {node}, part);
    const NodeId imag = elementwise(tracer, Op::kImag, {node}, part);
    const NodeId squares = elementwise(tracer, Op::kAdd,
                                       {elementwise(tracer, Op::kSquare, {real}, part),
                                        elementwise(tracer, Op::kSquare, {imag}, part)},
                                       part);
    deviation =
        array.type.rank() == 0
            ? tracer.new_array(tracer.append(Op::kCopy, {squares}, NoAttr{}, array_type(part, {})))
            : tracer.new_array(squares, tracer.graph().node(array.storage->current).order);
    if (options.dtype && is_complex(*options.dtype)) return nullptr;
  } else {
    deviation = apply_ufunc(tracer, "square", one, as_array_options);
  }
  const Sym total = reduce_ufunc(tracer, "add", deviation, options);
  if (!total) return nullptr;
  NodeId freedom;
  if (PyLong_CheckExact(ddof_number.get())) {
    freedom = size_node(tracer, tracer.simplify(count - floor));  // positive, as decided above
  } else {
    freedom = elementwise(
        tracer, Op::kSubtract,
        {cast(tracer, items, DType::kFloat64), number_node(tracer, ddof_number, DType::kFloat64)},
        DType::kFloat64);
  }
  return divide_by_count(tracer, total, freedom);
}

}  // namespace

Sym call_var(Tracer& tracer, const NumpyArguments& arguments) {
  const Sym result = variance(tracer, arguments, "var");
  return result ? result : call_extern(tracer, arguments);
}

Sym call_std(Tracer& tracer, const NumpyArguments& arguments) {
  const Sym result = variance(tracer, arguments, "std");
  if (!result) return call_extern(tracer, arguments);
  if (const ArrayValue* array = as_array(result)) {
    // In place: the memory order stays.
    const AxisOrder order = tracer.graph().node(array->storage->current).order;
    NodeId node = ufunc_node(tracer, "sqrt", {tracer.read(*array)});
    if (array->type.rank() == 0) node = tracer.append(Op::kCopy, {node}, NoAttr{}, array->type);
    return tracer.new_array(node, order);
  }
  const Sym operands[] = {result};
  return apply_ufunc(tracer, "sqrt", operands);
}

// ---------------------------------------------------------------- positions and counts

namespace {

Sym find_extreme(Tracer& tracer, const NumpyArguments& arguments, Op op, const char* name) {
  if (!is_none(arguments.get("out")))
    throw_break("numpy_argument", fmt::format("{} with out=", name));
  const Operand operand = as_operand(tracer, arguments.get("a"), name);
  const bool keepdims = constant_bool(tracer, arguments.get("keepdims"), name).value_or(false);
  if (!native_reduction(op, operand.type.dtype)) return call_extern(tracer, arguments);
  const int rank = operand.rank();
  const Sym axis = parse_axis(arguments);
  if (axis && !constant_int(tracer, axis, name)) throw_break("would_raise", "axis is no integer");
  const std::vector<int> axes = axes_argument(tracer, axis, rank, name);
  if (rank == 0) {
    const NodeId zero = int_node(tracer, 0, DType::kInt64);
    return tracer.new_scalar(zero);  // keepdims makes no array of it either
  }
  require_elements(tracer, operand.dims, axes, name);
  NodeId node = reduce_node(tracer, op, cast_operand(tracer, operand, operand.type.dtype), axes,
                            DType::kInt64, !keepdims);
  if (keepdims) node = keep_axes(tracer, node, axes, rank);
  return new_result(tracer, node);
}

}  // namespace

Sym call_argmin(Tracer& tracer, const NumpyArguments& arguments) {
  return find_extreme(tracer, arguments, Op::kReduceArgmin, "argmin");
}
Sym call_argmax(Tracer& tracer, const NumpyArguments& arguments) {
  return find_extreme(tracer, arguments, Op::kReduceArgmax, "argmax");
}

Sym call_count_nonzero(Tracer& tracer, const NumpyArguments& arguments) {
  const Operand operand = as_operand(tracer, arguments.get("a"), "count_nonzero");
  const bool keepdims =
      constant_bool(tracer, arguments.get("keepdims"), "count_nonzero").value_or(false);
  const Sym axis = parse_axis(arguments);
  const std::vector<int> axes = axes_argument(tracer, axis, operand.rank(), "count_nonzero");
  NodeId node = cast_operand(tracer, operand, operand.type.dtype);
  if (operand.type.dtype != DType::kBool) {
    node = elementwise(tracer, Op::kNotEqual, {node, int_node(tracer, 0, operand.type.dtype)},
                       DType::kBool);
  }
  node = cast(tracer, node, DType::kInt64);
  if (axes.empty()) {
    if (axis || keepdims) return call_extern(tracer, arguments);
    return tracer.new_scalar(elementwise_scalar(tracer, node));
  }
  node = reduce_node(tracer, Op::kReduceSum, node, axes, DType::kInt64, !keepdims);
  if (keepdims) node = keep_axes(tracer, node, axes, operand.rank());
  const OrderOperand layout[] = {order_operand(operand)};
  return new_result(tracer, node,
                    reduced_order(k_order(tracer, operand.dims, layout), axes, keepdims));
}

}  // namespace numlift::frame_eval
