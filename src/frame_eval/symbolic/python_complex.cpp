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

NodeId number(Interpreter& interpreter, Op op, std::vector<NodeId> operands) {
  return scalar_node(interpreter, op, std::move(operands), DType::kFloat64, kFpNone);
}

struct Parts {
  NodeId re, im;
};
Parts parts_of(Interpreter& interpreter, const Sym& value) {
  const NodeId node = complex_operand(interpreter, value);
  return {number(interpreter, Op::kReal, {node}), number(interpreter, Op::kImag, {node})};
}
NodeId made_of(Interpreter& interpreter, Parts parts) {
  return scalar_node(interpreter, Op::kMakeComplex, {parts.re, parts.im}, DType::kComplex128,
                     kFpNone);
}

// A product as CPython makes it from 3.14 on: a real factor scales both parts. Where both parts of
// a product of two complex numbers come out as NaN, Python looks for infinities: it is asked.
NodeId careful_product(Interpreter& interpreter, const Sym& a, const Sym& b) {
  const auto of_two = [&](Op op, NodeId x, NodeId y) { return number(interpreter, op, {x, y}); };
  const bool first_is_real = !is_complex(dtype_of_number(a));
  if (first_is_real || !is_complex(dtype_of_number(b))) {
    const NodeId factor = float_operand(interpreter, first_is_real ? a : b);
    const Parts parts = parts_of(interpreter, first_is_real ? b : a);
    return made_of(interpreter, {of_two(Op::kMultiply, factor, parts.re),
                                 of_two(Op::kMultiply, factor, parts.im)});
  }
  const Parts x = parts_of(interpreter, a), y = parts_of(interpreter, b);
  const Parts made{
      of_two(Op::kSubtract, of_two(Op::kMultiply, x.re, y.re), of_two(Op::kMultiply, x.im, y.im)),
      of_two(Op::kAdd, of_two(Op::kMultiply, x.re, y.im), of_two(Op::kMultiply, x.im, y.re))};
  const auto is_number = [&](NodeId part) {
    return scalar_node(interpreter, Op::kEqual, {part, part}, DType::kBool, kFpNone);
  };
  interpreter.tracer.control(
      Op::kCheck, scalar_node(interpreter, Op::kBitwiseOr, {is_number(made.re), is_number(made.im)},
                              DType::kBool, kFpNone));
  return made_of(interpreter, made);
}

// As CPython divides: by Smith's method, where a real divisor has the imaginary part 0.0; from 3.14
// on, part by part.
Sym complex_by_real(Interpreter& interpreter, const Sym& a, const Sym& b) {
  check_nonzero(interpreter, b);
  const auto of_two = [&](Op op, NodeId x, NodeId y) { return number(interpreter, op, {x, y}); };
  const Parts dividend = parts_of(interpreter, a);
  const NodeId divisor = float_operand(interpreter, b);
  Parts above = dividend;
  NodeId below = divisor;
  if (!keeps_reals_real()) {
    const NodeId zero = constant_node(interpreter, 0.0);
    const NodeId ratio = of_two(Op::kDivide, zero, divisor);
    below = of_two(Op::kAdd, divisor, of_two(Op::kMultiply, zero, ratio));
    above = {of_two(Op::kAdd, dividend.re, of_two(Op::kMultiply, dividend.im, ratio)),
             of_two(Op::kSubtract, dividend.im, of_two(Op::kMultiply, dividend.re, ratio))};
  }
  const NodeId quotient = made_of(
      interpreter, {of_two(Op::kDivide, above.re, below), of_two(Op::kDivide, above.im, below)});
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
  } else if (nb_op == kNbMultiply) {
    op = Op::kMultiply;
  } else if (nb_op == kNbTrueDivide && !is_complex(dtype_of_number(b))) {
    return complex_by_real(interpreter, a, b);
  } else {
    return std::nullopt;
  }
  const auto node_of = [&](NodeId x, NodeId y) {
    return scalar_node(interpreter, op, {x, y}, DType::kComplex128, kFpNone);
  };
  NodeId node = kNoNode;
  if (op != Op::kMultiply) {
    node = node_of(term_operand(interpreter, a, false),
                   term_operand(interpreter, b, op == Op::kSubtract));
  } else if (keeps_reals_real()) {
    node = careful_product(interpreter, a, b);
  } else {
    node = node_of(complex_operand(interpreter, a), complex_operand(interpreter, b));
  }
  return computed(interpreter, node, {a, b}, [nb_op](std::span<const Ref> values) {
    return python_binary(nb_op, values[0], values[1]);
  });
}

}  // namespace numlift::frame_eval
