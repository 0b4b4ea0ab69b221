// Selection, clipping, rounding, differences.
#include "numlift/numpy_shim/dtypes.h"
#include "numlift/py/py_error.h"
#include "symbolic/numpy_lowering.h"
#include "symbolic/numpy_ufuncs.h"

namespace numlift::frame_eval {

Sym call_where(Tracer& tracer, const NumpyArguments& arguments) {
  const Sym x = arguments.get("x"), y = arguments.get("y");
  if (!x && !y) throw_break("numpy_argument", "numpy.where with one argument");
  if (!x || !y) throw_break("would_raise", "either both or neither of x and y should be given");
  const Operand operands[] = {as_operand(tracer, arguments.get("condition"), "where"),
                              as_operand(tracer, x, "where"), as_operand(tracer, y, "where")};
  const OperandType types[] = {operands[1].type, operands[2].type};
  const auto dtype = numpy_shim::result_type(types);
  if (!dtype) throw_break("unsupported_value", "numpy.where: no common dtype that is traced");
  const std::vector<SizeExpr> all[] = {operands[0].dims, operands[1].dims, operands[2].dims};
  const std::vector<SizeExpr> dims = broadcast_dims(tracer, all, "where");
  std::vector<NodeId> nodes{
      cast(tracer, cast_operand(tracer, operands[0], operands[0].type.dtype), DType::kBool),
      cast_operand(tracer, operands[1], *dtype), cast_operand(tracer, operands[2], *dtype)};
  for (NodeId& node : nodes) node = broadcast_node(tracer, node, dims);
  std::vector<OrderOperand> layouts;
  for (const Operand& operand : operands) {
    if (operand.rank() > 0) layouts.push_back(order_operand(operand));
  }
  const NodeId node = tracer.append(Op::kSelect, nodes, NoAttr{}, array_type(*dtype, dims));
  return tracer.new_array(node, k_order(tracer, dims, layouts));
}

// ---------------------------------------------------------------- clip

namespace {

// Whether a bound is a Python int at or beyond the end of the dtype's range: NumPy leaves it out.
bool is_beyond_range(Tracer& tracer, const Sym& bound, DType dtype, bool upper) {
  Ref info = checked(PyObject_CallOneArg(numpy_attribute("iinfo").get(),
                                         numpy_shim::scalar_class_of(dtype).get()));
  Ref limit = checked(PyObject_GetAttrString(info.get(), upper ? "max" : "min"));
  if (const Ref number = constant_number(bound)) {
    if (!PyLong_CheckExact(number.get())) return false;
    const int beyond = PyObject_RichCompareBool(number.get(), limit.get(), upper ? Py_GE : Py_LE);
    if (beyond < 0) throw PyError();
    return beyond != 0;
  }
  if (bound->kind == SymKind::kScalar) {
    const Type& type = static_cast<const ScalarValue&>(*bound).type;
    if (type.value_kind == ValueKind::kPyScalar && type.dtype == DType::kInt64) {
      throw_break("numpy_argument", "clip by a Python int that the program computes");
    }
    return false;
  }
  if (bound->kind != SymKind::kSize) return false;
  if (upper && dtype == DType::kUInt64) return false;
  const SizeExpr& size = static_cast<const SizeValue&>(*bound).expr;
  const int64_t end = PyLong_AsLongLong(limit.get());
  const std::string reason = "a bound of clip lies inside the dtype's range";
  return upper ? tracer.decide_less_equal(end, size, reason)
               : tracer.decide_less_equal(size, end, reason);
}

Sym clip(Tracer& tracer, const NumpyArguments& arguments, Sym low, Sym high) {
  const Operand operand = as_operand(tracer, arguments.get("a"), "clip");
  UfuncOptions options;
  options.out = out_argument(arguments.get("out"));
  options.dtype = dtype_argument(tracer, arguments.get("dtype"), "clip");
  options.casting = casting_argument(tracer, arguments.get("casting"), "same_kind");
  options.order = order_argument(tracer, arguments.get("order"), 'K');
  if (arguments.get("subok")) constant_bool(tracer, arguments.get("subok"), "clip");
  if (const Sym where = arguments.get("where")) {
    if (!constant_bool(tracer, where, "clip").value_or(false)) {
      throw_break("numpy_argument", "clip with where=");
    }
  }
  if (is_none(low)) low = nullptr;
  if (is_none(high)) high = nullptr;
  if (is_integer(operand.type.dtype)) {
    if (low && is_beyond_range(tracer, low, operand.type.dtype, false)) low = nullptr;
    if (high && is_beyond_range(tracer, high, operand.type.dtype, true)) high = nullptr;
  }
  // A Python number becomes an array first: it is not weak.
  Sym value = operand.value;
  if (operand.type.weak || (operand.constant && PyBool_Check(operand.constant.get()))) {
    value = tracer.new_scalar(
        elementwise_scalar(tracer, cast_operand(tracer, operand, operand.type.dtype)));
  }
  if (!low && !high) {
    const Sym operands[] = {value};
    return apply_ufunc(tracer, "positive", operands, options);
  }
  if (!low || !high) {
    const Sym operands[] = {value, low ? low : high};
    return apply_ufunc(tracer, low ? "maximum" : "minimum", operands, options);
  }
  Ref module = checked(PyImport_ImportModule("numpy._core.umath"));
  Ref ufunc = checked(PyObject_GetAttrString(module.get(), "clip"));
  const Sym operands[] = {value, low, high};
  return apply_ufunc(tracer, ufunc, operands, options);
}

}  // namespace

Sym call_clip(Tracer& tracer, const NumpyArguments& arguments) {
  Sym low = arguments.get("a_min"), high = arguments.get("a_max");
  const Sym min = arguments.get("min"), max = arguments.get("max");
  if (!low && !high) {
    return clip(tracer, arguments, min, max);
  }
  if (!low || !high) throw_break("would_raise", "clip() missing 1 required positional argument");
  if (min || max) throw_break("would_raise", "clip: min or max beside a_min or a_max");
  return clip(tracer, arguments, low, high);
}

Sym call_clip_method(Tracer& tracer, const NumpyArguments& arguments) {
  return clip(tracer, arguments, arguments.get("min"), arguments.get("max"));
}

// ---------------------------------------------------------------- round

Sym call_round(Tracer& tracer, const NumpyArguments& arguments) {
  const Operand operand = as_operand(tracer, arguments.get("a"), "round");
  const int64_t decimals = constant_int(tracer, arguments.get("decimals"), "round").value_or(0);
  const DType dtype = operand.type.dtype;
  if (is_complex(dtype)) return call_extern(tracer, arguments);
  UfuncOptions options;
  options.out = out_argument(arguments.get("out"));
  if (is_integer(dtype) && decimals >= 0) {
    if (options.out) throw_break("numpy_argument", "round of integers with out=");
    const NodeId node = cast_operand(tracer, operand, dtype);
    if (operand.rank() == 0) return tracer.new_scalar(elementwise_scalar(tracer, node));
    return tracer.new_array(
        tracer.append(Op::kCopy, {node}, NoAttr{}, array_type(dtype, operand.dims)),
        like_order(tracer, order_operand(operand)));
  }
  if (decimals != 0) return call_extern(tracer, arguments);
  const Sym operands[] = {operand.value};
  return apply_ufunc(tracer, "rint", operands, options);
}

// ---------------------------------------------------------------- diff

namespace {

// array[start : size - 1 + start] along `axis`, for start 0 or 1.
Sym all_but_one(Tracer& tracer, const ArrayValue& array, int axis, int start) {
  ViewStep step;
  IndexMap map;
  std::vector<SizeExpr> dims = array.type.dims;
  for (int k = 0; k < array.type.rank(); ++k) map.axes.push_back({k == axis ? start : 0, 1, k});
  SizeExpr& dim = dims[static_cast<size_t>(axis)];
  dim = tracer.simplify(dim - 1);
  step.attr = ViewAttr{std::move(map)};
  step.type = array_type(array.type.dtype, std::move(dims));
  return tracer.new_view(array, std::move(step), array.strides);
}

}  // namespace

Sym call_diff(Tracer& tracer, const NumpyArguments& arguments) {
  const int64_t count = constant_int(tracer, arguments.get("n"), "diff").value_or(1);
  if (count == 0) return arguments.get("a");
  if (count < 0) throw_break("would_raise", "diff: order must be non-negative");
  if (arguments.get("prepend") || arguments.get("append")) return call_extern(tracer, arguments);
  Sym value = as_array_value(tracer, arguments.get("a"), "diff");
  const int rank = as_array(value)->type.rank();
  if (rank == 0) throw_break("would_raise", "diff requires input that is at least one dimensional");
  const int64_t axis_number = constant_int(tracer, arguments.get("axis"), "diff").value_or(-1);
  const int axis = normalize_axis(axis_number, rank, "diff");
  const char* ufunc = as_array(value)->type.dtype == DType::kBool ? "not_equal" : "subtract";
  for (int64_t k = 0; k < count; ++k) {
    const ArrayValue& array = *as_array(value);
    const SizeExpr size = array.type.dims[static_cast<size_t>(axis)];
    if (tracer.decide_equal(size, 0, "diff of no elements")) return call_extern(tracer, arguments);
    const Sym operands[] = {all_but_one(tracer, array, axis, 1),
                            all_but_one(tracer, array, axis, 0)};
    value = apply_ufunc(tracer, ufunc, operands);
  }
  return value;
}

}  // namespace numlift::frame_eval
