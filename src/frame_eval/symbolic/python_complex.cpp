#include <cmath>

#include "numlift/graph/scalar.h"
#include "numlift/py/py_error.h"
#include "symbolic/operators.h"
#include "symbolic/pure.h"
#include "symbolic/python_scalar_nodes.h"

namespace numlift::frame_eval {

NodeId complex_operand(Interpreter& interpreter, const Sym& value) {
  if (value->kind == SymKind::kObject && PyComplex_CheckExact(object_of(value).get())) {
    const Py_complex number = PyComplex_AsCComplex(object_of(value));
    return interpreter.tracer.append(
        Op::kConstant, {},
        ConstantAttr{
            make_scalar(DType::kComplex128, std::complex<double>(number.real, number.imag))},
        py_scalar_type(DType::kComplex128));
  }
  if (value->kind == SymKind::kScalar && is_complex(as<ScalarValue>(value).type.dtype)) {
    return as<ScalarValue>(value).node;
  }
  return scalar_node(interpreter, Op::kCast, {float_operand(interpreter, value)},
                     DType::kComplex128, kFpNone);
}

namespace {

// CPython 3.14 lets a real operand be real: `2.0 + z` keeps z's imaginary part, where versions
// before add 0.0 to it, which makes -0.0 positive. It also repairs infinite products. Python itself
// is asked.
bool keeps_reals_real() {
  static const bool keeps = [] {
    Ref zero = checked(PyFloat_FromDouble(0.0)),
        complex = checked(PyComplex_FromDoubles(0.0, -0.0));
    return std::signbit(
        PyComplex_ImagAsDouble(checked(PyNumber_Add(zero.get(), complex.get())).get()));
  }();
  return keeps;
}

// The operands of a sum or difference. A real one gets the imaginary part that leaves the other's
// as Python does: 0.0 up to 3.13; later -0.0, except on the right of a minus.
NodeId term_operand(Interpreter& interpreter, const Sym& number, bool subtracted) {
  const NodeId node = complex_operand(interpreter, number);
  if (is_complex(dtype_of_number(number)) || subtracted || !keeps_reals_real()) return node;
  return scalar_node(interpreter, Op::kConjugate, {node}, DType::kComplex128, kFpNone);
}

// As CPython divides: by Smith's method, where a real divisor has the imaginary part 0.0; from 3.14
// on, part by part.
Sym complex_by_real(Interpreter& interpreter, const Sym& a, const Sym& b) {
  check_nonzero(interpreter, b);
  const auto number = [&](Op op, std::vector<NodeId> operands) {
    return scalar_node(interpreter, op, std::move(operands), DType::kFloat64, kFpNone);
  };
  const NodeId dividend = complex_operand(interpreter, a);
  const NodeId re = number(Op::kReal, {dividend}), im = number(Op::kImag, {dividend});
  const NodeId divisor = float_operand(interpreter, b);
  NodeId real = re, imaginary = im, below = divisor;
  if (!keeps_reals_real()) {
    const NodeId zero = constant_node(interpreter, 0.0);
    const NodeId ratio = number(Op::kDivide, {zero, divisor});
    below = number(Op::kAdd, {divisor, number(Op::kMultiply, {zero, ratio})});
    real = number(Op::kAdd, {re, number(Op::kMultiply, {im, ratio})});
    imaginary = number(Op::kSubtract, {im, number(Op::kMultiply, {re, ratio})});
  }
  const NodeId quotient =
      scalar_node(interpreter, Op::kMakeComplex,
                  {number(Op::kDivide, {real, below}), number(Op::kDivide, {imaginary, below})},
                  DType::kComplex128, kFpNone);
  return computed(interpreter, quotient, {a, b}, [](std::span<const Ref> values) {
    return python_binary(kNbTrueDivide, values[0], values[1]);
  });
}

}  // namespace

std::optional<Sym> complex_binary(Interpreter& interpreter, int nb_op, const Sym& a, const Sym& b) {
  Op op;
  if (nb_op == kNbAdd) {
    op = Op::kAdd;
  } else if (nb_op == kNbSubtract) {
    op = Op::kSubtract;
  } else if (nb_op == kNbMultiply && !keeps_reals_real()) {
    op = Op::kMultiply;
  } else if (nb_op == kNbTrueDivide && !is_complex(dtype_of_number(b))) {
    return complex_by_real(interpreter, a, b);
  } else {
    return std::nullopt;
  }
  const bool subtracts = op == Op::kSubtract;
  const std::vector<NodeId> operands =
      op == Op::kMultiply
          ? std::vector{complex_operand(interpreter, a), complex_operand(interpreter, b)}
          : std::vector{term_operand(interpreter, a, false),
                        term_operand(interpreter, b, subtracts)};
  const NodeId node = scalar_node(interpreter, op, operands, DType::kComplex128, kFpNone);
  return computed(interpreter, node, {a, b}, [nb_op](std::span<const Ref> values) {
    return python_binary(nb_op, values[0], values[1]);
  });
}

}  // namespace numlift::frame_eval
