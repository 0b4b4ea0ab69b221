// NumPy scalar classes as functions, and Python numbers made of run-time scalars.
#include "numlift/numpy_shim/dtypes.h"
#include "numlift/py/py_error.h"
#include "symbolic/numpy_ufuncs.h"
#include "symbolic/pure.h"

namespace numlift::frame_eval {

Sym call_scalar_class(Tracer& tracer, BorrowedRef scalar_class, DType dtype,
                      std::span<const Sym> args, Keywords kwargs) {
  const std::string name = callable_name(scalar_class);
  if (!kwargs.empty() || args.size() > 1) {
    throw_break("numpy_argument", fmt::format("numpy.{} with several arguments", name));
  }
  if (args.empty()) return tracer.constant(checked(PyObject_CallNoArgs(scalar_class.get())));
  const Operand operand = as_operand(tracer, args[0], name);
  // The class takes any number: a cast, not same_kind. A Python int must fit, as in an assignment.
  const NodeId node = cast_operand(tracer, operand, dtype);
  if (operand.is_array && operand.rank() > 0) {
    return tracer.new_array(
        tracer.append(Op::kCopy, {node}, NoAttr{}, array_type(dtype, operand.dims)),
        like_order(tracer, order_operand(operand)));
  }
  if (tracer.type_of(node).value_kind == ValueKind::kNumpyScalar) return tracer.new_scalar(node);
  // A 0-d array or a Python number of the same dtype: a scalar of its own.
  const NodeId as_bool_or_same =
      tracer.append(Op::kCast, {node}, NoAttr{}, numpy_scalar_type(dtype));
  return tracer.new_scalar(as_bool_or_same);
}

Sym numpy_to_bool(Tracer& tracer, const Sym& value) {
  if (constant_number(value)) return numpy_to_number(tracer, &PyBool_Type, value);
  const Operand operand = as_operand(tracer, value, "bool()");
  if (operand.rank() > 0) {
    throw_break("generic_jump", fmt::format("generic_jump {}", type_name(value)));
  }
  NodeId node = operand.node;
  const DType dtype = operand.type.dtype;
  if (dtype != DType::kBool) {
    node = elementwise(tracer, Op::kNotEqual, {node, int_node(tracer, 0, dtype)}, DType::kBool);
  }
  return tracer.new_scalar(
      tracer.append(Op::kCast, {node}, NoAttr{}, py_scalar_type(DType::kBool)));
}

Sym numpy_to_number(Tracer& tracer, PyTypeObject* number_type, const Sym& value) {
  if (const Ref number = constant_number(value)) {
    const auto constant = tracer.as_constant(value, "its value is compiled in");
    Ref result = Ref::steal(PyObject_CallOneArg(reinterpret_cast<PyObject*>(number_type),
                                                constant ? constant->get() : number.get()));
    if (!result) {
      PyErr_Clear();
      throw_break("would_raise", "a number that does not convert");
    }
    return tracer.constant(std::move(result));
  }
  if (number_type == &PyBool_Type) {
    throw_break("generic_jump", fmt::format("generic_jump {}", type_name(value)));
  }
  const Operand operand = as_operand(tracer, value, "a conversion to a Python number");
  if (operand.rank() > 0) {
    throw_break("numpy_argument", "a Python number of an array that is not 0-dimensional");
  }
  const DType from = operand.type.dtype;
  const auto result = [&](NodeId node, DType dtype) {
    return tracer.new_scalar(tracer.append(Op::kCast, {node}, NoAttr{}, py_scalar_type(dtype)));
  };
  if (number_type == &PyFloat_Type) {
    if (is_complex(from)) throw_break("would_raise", "float() of a complex number");
    return result(operand.node, DType::kFloat64);
  }
  if (number_type == &PyComplex_Type) return result(operand.node, DType::kComplex128);
  if (number_type == &PyLong_Type) {
    if (is_complex(from)) throw_break("would_raise", "int() of a complex number");
    NodeId node = operand.node;
    if (is_float(from)) {
      // Towards zero; what int64 cannot hold stops the program (Python's int is unbounded).
      const ScopedFpChecks all(tracer, kFpAll);
      return result(cast(tracer, node, DType::kFloat64), DType::kInt64);
    }
    if (from == DType::kUInt64) {
      require(tracer, elementwise(tracer, Op::kLessEqual, {node, int_node(tracer, INT64_MAX, from)},
                                  DType::kBool));
    }
    return result(node, DType::kInt64);
  }
  throw_break("numpy_argument", "a conversion to a number class that is not known");
}

}  // namespace numlift::frame_eval
