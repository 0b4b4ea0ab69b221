// Casts as methods: astype, conj, item.
#include "numlift/numpy_shim/dtypes.h"
#include "symbolic/numpy_ufuncs.h"
#include "symbolic/numpy_views.h"

namespace numlift::frame_eval {

Sym call_astype(Tracer& tracer, const NumpyArguments& arguments) {
  const Operand operand = as_operand(tracer, arguments.get("a"), "astype");
  const auto wanted = dtype_argument(tracer, arguments.get("dtype"), "astype");
  const DType dtype = wanted.value_or(DType::kFloat64);
  const char order = order_argument(tracer, arguments.get("order"), 'K');
  const std::string casting = casting_argument(tracer, arguments.get("casting"), "unsafe");
  if (arguments.get("subok")) constant_bool(tracer, arguments.get("subok"), "astype");
  const bool copy = constant_bool(tracer, arguments.get("copy"), "astype").value_or(true);
  const DType from = operand.type.dtype;
  if (operand.is_array && !copy && from == dtype) {
    const auto c = [&] { return is_c_contiguous(tracer, from, operand.dims, operand.strides); };
    const auto f = [&] { return is_f_contiguous(tracer, from, operand.dims, operand.strides); };
    if (order == 'K' || (order == 'C' && c()) || (order == 'F' && f()) ||
        (order == 'A' && (c() || f()))) {
      return operand.value;
    }
  }
  if (!numpy_shim::can_cast(from, dtype, casting.c_str())) {
    throw_break("would_raise", fmt::format("cannot cast from {} to {} by rule '{}'",
                                           dtype_text(from), dtype_text(dtype), casting));
  }
  if (!operand.is_array) {
    return tracer.new_scalar(elementwise_scalar(tracer, cast_operand(tracer, operand, dtype)));
  }
  if (is_complex(from) && !is_complex(dtype) && dtype != DType::kBool) {
    throw_break("would_raise", "casting complex to real discards the imaginary part (a warning)");
  }
  const NodeId node = tracer.append(from == dtype ? Op::kCopy : Op::kCast, {operand.node}, NoAttr{},
                                    array_type(dtype, operand.dims));
  const OrderOperand layout = order_operand(operand);
  AxisOrder axes;
  if (order == 'K') {
    axes = like_order(tracer, layout);
  } else {
    axes = result_order(tracer, order, operand.dims, std::span(&layout, 1));
  }
  return tracer.new_array(node, std::move(axes));
}

Sym call_conjugate_method(Tracer& tracer, const NumpyArguments& arguments) {
  const Sym value = arguments.get("a");
  const Operand operand = as_operand(tracer, value, "conjugate");
  if (operand.is_array && !is_complex(operand.type.dtype)) return value;  // itself, not a copy
  const Sym operands[] = {value};
  return apply_ufunc(tracer, "conjugate", operands);
}

Sym call_item(Tracer& tracer, const NumpyArguments& arguments) {
  Sym value = arguments.get("a");
  if (!arguments.rest.empty()) {
    const ArrayValue* array = as_array(value);
    if (array == nullptr) throw_break("numpy_argument", "item with arguments of a NumPy scalar");
    Sym key = make_sequence(SymKind::kTuple, arguments.rest);
    if (arguments.rest.size() == 1 && array->type.rank() != 1) {
      // An index into the elements in C order.
      value = reshape_array(tracer, *array, {SizeExpr(-1)});
    } else if (static_cast<int>(arguments.rest.size()) != array->type.rank()) {
      throw_break("would_raise", "item: incorrect number of indices for array");
    }
    for (const Sym& index : arguments.rest) size_argument(tracer, index, "item");
    value = numpy_get_item(tracer, value, key);
  }
  const Operand operand = as_operand(tracer, value, "item");
  if (operand.rank() > 0)
    throw_break("numpy_argument", "item of an array that is not 0-dimensional");
  const DType dtype = operand.type.dtype;
  switch (kind_of(dtype)) {
    case DTypeKind::kBool:
      return tracer.new_scalar(tracer.append(Op::kCast, {cast_operand(tracer, operand, dtype)},
                                             NoAttr{}, py_scalar_type(DType::kBool)));
    case DTypeKind::kSigned:
    case DTypeKind::kUnsigned:
      return numpy_to_number(tracer, &PyLong_Type, value);
    case DTypeKind::kFloat:
      return numpy_to_number(tracer, &PyFloat_Type, value);
    case DTypeKind::kComplex:
      return numpy_to_number(tracer, &PyComplex_Type, value);
  }
  NUMLIFT_UNREACHABLE();
}

}  // namespace numlift::frame_eval
