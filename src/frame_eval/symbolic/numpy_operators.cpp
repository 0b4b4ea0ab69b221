// Python's operators on arrays and NumPy scalars.
#include "numlift/py/py_error.h"
#include "symbolic/numpy_ufuncs.h"

namespace numlift::frame_eval {

namespace {

// By CPython's NB_ number.
constexpr const char* kBinaryUfuncs[] = {"add",        "bitwise_and", "floor_divide", "left_shift",
                                         "matmul",     "multiply",    "remainder",    "bitwise_or",
                                         "power",      "right_shift", "subtract",     "true_divide",
                                         "bitwise_xor"};
constexpr int kMatrixMultiply = 4, kMultiply = 5, kPower = 8;
constexpr const char* kCompareUfuncs[] = {"less",      "less_equal", "equal",
                                          "not_equal", "greater",    "greater_equal"};

// Both are numbers known now, at least one of them NumPy's: Python computes the value now. Null
// when it warns or raises: then the program finds out at run time.
Sym fold(Tracer& tracer, const Sym& a, const Sym& b, const auto& compute) {
  if (!constant_number(a) || (b != nullptr && !constant_number(b))) return nullptr;
  const auto left = tracer.as_constant(a, "its value is compiled in");
  const auto right = b == nullptr ? left : tracer.as_constant(b, "its value is compiled in");
  if (!left || !right) return nullptr;
  const RaiseOnWarning raise;
  Ref result = Ref::steal(compute(left->get(), right->get()));
  if (!result) {
    PyErr_Clear();
    return nullptr;
  }
  return tracer.constant(std::move(result));
}

PyObject* compute_binary(int nb_op, PyObject* a, PyObject* b) {
  using Function = PyObject* (*)(PyObject*, PyObject*);
  static constexpr Function kFunctions[] = {
      PyNumber_Add,
      PyNumber_And,
      PyNumber_FloorDivide,
      PyNumber_Lshift,
      PyNumber_MatrixMultiply,
      PyNumber_Multiply,
      PyNumber_Remainder,
      PyNumber_Or,
      [](PyObject* x, PyObject* y) { return PyNumber_Power(x, y, Py_None); },
      PyNumber_Rshift,
      PyNumber_Subtract,
      PyNumber_TrueDivide,
      PyNumber_Xor};
  return kFunctions[nb_op](a, b);
}

// numpy.float64 is a Python float too: with a Python complex, Python's arithmetic answers.
void leave_to_python(const Sym& a, const Sym& b) {
  const auto is_float64 = [](const Sym& value) {
    if (value->kind != SymKind::kScalar) {
      const Ref number = constant_number(value);
      return number && !PyFloat_CheckExact(number.get()) && PyFloat_Check(number.get());
    }
    return static_cast<const ScalarValue&>(*value).type == numpy_scalar_type(DType::kFloat64);
  };
  const auto is_complex_number = [](const Sym& value) {
    if (value->kind != SymKind::kScalar) {
      const Ref number = constant_number(value);
      return number && PyComplex_CheckExact(number.get());
    }
    return static_cast<const ScalarValue&>(*value).type == py_scalar_type(DType::kComplex128);
  };
  if ((is_float64(a) && is_complex_number(b)) || (is_float64(b) && is_complex_number(a))) {
    throw_break("numpy_argument", "numpy.float64 with a Python complex");
  }
}

// A sequence times one of NumPy's scalars is repeated, as by an int.
void leave_repetition_to_python(const Sym& a, const Sym& b) {
  const auto is_numpy_scalar = [](const Sym& value) {
    return value->kind == SymKind::kScalar &&
           static_cast<const ScalarValue&>(*value).type.value_kind == ValueKind::kNumpyScalar;
  };
  const auto is_sequence = [](const Sym& value) {
    return value->kind == SymKind::kTuple || value->kind == SymKind::kList ||
           (value->kind == SymKind::kObject &&
            PySequence_Check(static_cast<const ObjectValue&>(*value).object.get()));
  };
  if ((is_numpy_scalar(a) && is_sequence(b)) || (is_sequence(a) && is_numpy_scalar(b)))
    throw_break("numpy_argument", "a sequence times a NumPy scalar");
}

// NumPy computes array ** exponent by a cheaper ufunc for some exponents that are Python numbers.
// Null: power itself.
const char* fast_power(Tracer& tracer, const ArrayValue& base, const Sym& exponent) {
  const DType dtype = base.type.dtype;
  const bool inexact = is_float(dtype) || is_complex(dtype);
  static const std::string reason = "powers with some exponents are other operations";
  if (exponent->kind == SymKind::kSize) {
    const SizeExpr& size = static_cast<const SizeValue&>(*exponent).expr;
    if (tracer.decide_equal(size, 2, reason)) return "square";
    return inexact && tracer.decide_equal(size, -1, reason) ? "reciprocal" : nullptr;
  }
  if (const Ref number = constant_number(exponent)) {
    if (PyLong_CheckExact(number.get())) {
      int overflow = 0;
      const long value = PyLong_AsLongAndOverflow(number.get(), &overflow);
      if (overflow == 0 && value == 2) return "square";
      if (overflow == 0 && value == -1 && inexact) return "reciprocal";
    } else if (PyFloat_CheckExact(number.get())) {
      if (PyFloat_AS_DOUBLE(number.get()) == 0.5 && inexact) return "sqrt";
    }
    return nullptr;
  }
  if (exponent->kind != SymKind::kScalar) return nullptr;
  const auto& scalar = static_cast<const ScalarValue&>(*exponent);
  if (scalar.type.value_kind != ValueKind::kPyScalar) return nullptr;
  const auto differs = [&](double value) {
    const NodeId special =
        cast(tracer, number_node(tracer, checked(PyFloat_FromDouble(value)), DType::kFloat64),
             scalar.type.dtype);
    require(tracer, elementwise(tracer, Op::kNotEqual, {scalar.node, special}, DType::kBool));
  };
  if (scalar.type.dtype == DType::kInt64) {
    differs(2);
    if (inexact) differs(-1);
  } else if (scalar.type.dtype == DType::kFloat64 && inexact) {
    const Ref present = tracer.present_value(exponent);
    if (PyFloat_Check(present.get()) && PyFloat_AS_DOUBLE(present.get()) == 0.5) {
      tracer.specialize_value(exponent, reason);
      return "sqrt";
    }
    differs(0.5);
  }
  return nullptr;
}

Sym binary(Tracer& tracer, int nb_op, bool in_place, const Sym& a, const Sym& b) {
  if (const Sym folded = fold(
          tracer, a, b, [&](PyObject* x, PyObject* y) { return compute_binary(nb_op, x, y); })) {
    return folded;
  }
  leave_to_python(a, b);
  if (nb_op == kMultiply) leave_repetition_to_python(a, b);
  UfuncOptions options;
  ArrayValue* left = as_array(a);
  if (in_place && left != nullptr) {
    if (nb_op == kMatrixMultiply) throw_break("numpy_argument", "@= on an array");
    options.out = a;
  }
  options.scalar_math = true;
  if (nb_op == kPower && left != nullptr) {
    if (const char* fast = fast_power(tracer, *left, b)) {
      const Sym operands[] = {a};
      return apply_ufunc(tracer, fast, operands, options);
    }
  }
  const Sym operands[] = {a, b};
  return apply_ufunc(tracer, kBinaryUfuncs[nb_op], operands, options);
}

Sym unary(Tracer& tracer, UnaryOp op, const Sym& a) {
  if (const Sym folded = fold(tracer, a, nullptr, [&](PyObject* x, PyObject*) -> PyObject* {
        switch (op) {
          case UnaryOp::kNegative:
            return PyNumber_Negative(x);
          case UnaryOp::kPositive:
            return PyNumber_Positive(x);
          case UnaryOp::kInvert:
            return PyNumber_Invert(x);
        }
        NUMLIFT_UNREACHABLE();
      })) {
    return folded;
  }
  UfuncOptions options;
  options.scalar_math = true;
  const Sym operands[] = {a};
  switch (op) {
    case UnaryOp::kNegative:
      return apply_ufunc(tracer, "negative", operands, options);
    case UnaryOp::kPositive:
      return apply_ufunc(tracer, "positive", operands, options);
    case UnaryOp::kInvert:
      return apply_ufunc(tracer, "invert", operands, options);
  }
  NUMLIFT_UNREACHABLE();
}

Sym absolute(Tracer& tracer, const Sym& a) {
  if (const Sym folded =
          fold(tracer, a, nullptr, [](PyObject* x, PyObject*) { return PyNumber_Absolute(x); })) {
    return folded;
  }
  UfuncOptions options;
  options.scalar_math = true;
  const Sym operands[] = {a};
  return apply_ufunc(tracer, "absolute", operands, options);
}

Sym compare_values(Tracer& tracer, int compare, const Sym& a, const Sym& b) {
  if (const Sym folded = fold(tracer, a, b, [&](PyObject* x, PyObject* y) {
        return PyObject_RichCompare(x, y, compare);
      })) {
    return folded;
  }
  leave_to_python(a, b);
  static_assert(Py_LT == 0 && Py_LE == 1 && Py_EQ == 2 && Py_NE == 3 && Py_GT == 4 && Py_GE == 5);
  const Sym operands[] = {a, b};
  return apply_ufunc(tracer, kCompareUfuncs[compare], operands);
}

}  // namespace

Sym numpy_binary(Tracer& tracer, int nb_op, bool in_place, const Sym& a, const Sym& b) {
  const std::string_view ufunc = kBinaryUfuncs[nb_op];
  return tracer.operation(
      [&] { return fmt::format("numpy.{}", ufunc == "true_divide" ? "divide" : ufunc); },
      [&] { return binary(tracer, nb_op, in_place, a, b); });
}

Sym numpy_unary(Tracer& tracer, UnaryOp op, const Sym& a) {
  static constexpr const char* kNames[] = {"numpy.negative", "numpy.positive", "numpy.invert"};
  return tracer.operation([&] { return kNames[static_cast<size_t>(op)]; },
                          [&] { return unary(tracer, op, a); });
}

Sym numpy_absolute(Tracer& tracer, const Sym& a) {
  return tracer.operation([] { return "numpy.absolute"; }, [&] { return absolute(tracer, a); });
}

Sym numpy_compare(Tracer& tracer, int compare, const Sym& a, const Sym& b) {
  return tracer.operation([&] { return std::string("numpy.") + kCompareUfuncs[compare]; },
                          [&] { return compare_values(tracer, compare, a, b); });
}

}  // namespace numlift::frame_eval
