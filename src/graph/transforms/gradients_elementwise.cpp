// The gradients of elementwise ops: what the cotangent of a node gives to one operand.
#include <cmath>
#include <complex>
#include <numbers>

#include <fmt/format.h>

#include "numlift/graph/scalar.h"
#include "reverse.h"

namespace numlift::gradient_rules {

#define ELEMENTWISE(name)                                                                 \
  static NodeId name##_gradient([[maybe_unused]] Emit& e,                                 \
                                [[maybe_unused]] const ElementwiseTerm& t);               \
  constinit const GradientRule name{                                                      \
      [](Reverse& reverse, NodeId id) { reverse.elementwise(id, name##_gradient); }, {}}; \
  static NodeId name##_gradient([[maybe_unused]] Emit& e, [[maybe_unused]] const ElementwiseTerm& t)

namespace {

bool is_complex_node(Emit& e, NodeId id) { return is_complex(e.type(id).dtype); }
NodeId square_of(Emit& e, NodeId id) { return e.apply(Op::kSquare, {id}); }
NodeId reciprocal_root(Emit& e, NodeId g, NodeId under) {
  return e.divide(g, e.apply(Op::kSqrt, {under}));
}
// The real part of a cotangent, as the cotangent of a real operand.
NodeId real_of(Emit& e, NodeId g) { return is_complex_node(e, g) ? e.apply(Op::kReal, {g}) : g; }
// A real cotangent as that of a complex operand.
NodeId complex_of(Emit& e, NodeId re, NodeId im) { return e.apply(Op::kMakeComplex, {re, im}); }
NodeId zero_like(Emit& e, NodeId id) { return e.number(e.type(id).dtype, 0); }

std::optional<double> constant_value(Emit& e, NodeId id) {
  const auto* constant = std::get_if<ConstantAttr>(&e.node(id).attr);
  if (constant == nullptr) return std::nullopt;
  const ScalarBits& bits = constant->value;
  if (bits.dtype == DType::kFloat64) return scalar_value<double>(bits);
  if (bits.dtype == DType::kComplex128 && scalar_value<std::complex<double>>(bits).imag() == 0)
    return scalar_value<std::complex<double>>(bits).real();
  if (bits.dtype == DType::kFloat32) return scalar_value<float>(bits);
  return std::nullopt;
}

// x ** c
NodeId constant_power(Emit& e, NodeId g, NodeId x, NodeId self, double c) {
  if (c == 0) return kNoNode;
  if (c == 1) return g;
  if (is_complex_node(e, x) && c != 2) return e.divide(e.multiply(g, e.multiply(self, c)), x);
  NodeId power = kNoNode;
  if (c == 2) {
    power = x;
  } else if (c == 3) {
    power = square_of(e, x);
  } else {
    power = e.apply(Op::kPower, {x, e.number(e.type(x).dtype, c - 1)});
  }
  return e.multiply(g, e.multiply(power, c));
}

// Of max and min: the cotangent goes to the operand that was taken, by halves where both were.
NodeId chosen(Emit& e, const ElementwiseTerm& t) {
  const NodeId mine = t.node.operands[t.operand], other = t.node.operands[1 - t.operand];
  const NodeId share = e.select(e.equals(other, t.self), e.multiply(t.g, 0.5), t.g);
  return e.where(e.equals(mine, t.self), share, 0);
}

}  // namespace

// ---------------------------------------------------------------- arithmetic

ELEMENTWISE(add) { return t.g; }
ELEMENTWISE(subtract) { return t.operand == 0 ? t.g : e.negative(t.g); }
ELEMENTWISE(multiply) { return e.multiply(t.g, t.node.operands[1 - t.operand]); }
ELEMENTWISE(divide) {
  const NodeId over = e.divide(t.g, t.y());
  return t.operand == 0 ? over : e.negative(e.multiply(over, t.self));
}
ELEMENTWISE(remainder) {
  if (t.operand == 0) return t.g;
  return e.negative(e.multiply(t.g, e.apply(Op::kFloorDivide, {t.x(), t.y()})));
}
ELEMENTWISE(fmod) {
  if (t.operand == 0) return t.g;
  return e.negative(e.multiply(t.g, e.apply(Op::kTrunc, {e.divide(t.x(), t.y())})));
}
ELEMENTWISE(power) {
  if (t.operand == 1) {
    // 0 ** y is 0 for all y that matter, and log(0) is not a number to multiply with.
    const NodeId base = e.where(e.equals(t.x(), 0), 1, t.x());
    return e.multiply(t.g, e.multiply(e.apply(Op::kLog, {base}), t.self));
  }
  if (const auto c = constant_value(e, t.y())) return constant_power(e, t.g, t.x(), t.self, *c);
  if (is_complex_node(e, t.x())) {
    return e.multiply(t.g, e.divide(e.multiply(t.y(), t.self), t.x()));
  }
  // x ** 0 is 1 for all x.
  const NodeId is_zero = e.equals(t.y(), 0);
  const NodeId less = e.minus(e.where(is_zero, 1, t.y()), e.number(e.type(t.y()).dtype, 1));
  const NodeId slope = e.multiply(t.y(), e.apply(Op::kPower, {t.x(), less}));
  return e.multiply(t.g, e.where(is_zero, 0, slope));
}
ELEMENTWISE(negative) { return e.negative(t.g); }
ELEMENTWISE(positive) { return t.g; }
ELEMENTWISE(absolute) {
  if (!is_complex_node(e, t.x())) return e.multiply(t.g, e.apply(Op::kSign, {t.x()}));
  const NodeId length = e.where(e.equals(t.self, 0), 1, t.self);
  const NodeId scale = e.divide(t.g, length);
  return complex_of(e, e.multiply(scale, e.apply(Op::kReal, {t.x()})),
                    e.negative(e.multiply(scale, e.apply(Op::kImag, {t.x()}))));
}
ELEMENTWISE(square) { return e.multiply(t.g, e.multiply(t.x(), 2)); }
ELEMENTWISE(reciprocal) { return e.negative(e.multiply(t.g, square_of(e, t.self))); }

// ---------------------------------------------------------------- roots, powers, logarithms

ELEMENTWISE(sqrt) { return e.divide(e.multiply(t.g, 0.5), t.self); }
ELEMENTWISE(cbrt) { return e.divide(t.g, e.multiply(square_of(e, t.self), 3)); }
ELEMENTWISE(exp) { return e.multiply(t.g, t.self); }
ELEMENTWISE(exp2) { return e.multiply(t.g, e.multiply(t.self, std::numbers::ln2)); }
ELEMENTWISE(expm1) { return e.multiply(t.g, e.plus(t.self, 1)); }
ELEMENTWISE(log) { return e.divide(t.g, t.x()); }
ELEMENTWISE(log2) { return e.divide(t.g, e.multiply(t.x(), std::numbers::ln2)); }
ELEMENTWISE(log10) { return e.divide(t.g, e.multiply(t.x(), std::numbers::ln10)); }
ELEMENTWISE(log1p) { return e.divide(t.g, e.plus(t.x(), 1)); }

// ---------------------------------------------------------------- trigonometry

ELEMENTWISE(sin) { return e.multiply(t.g, e.apply(Op::kCos, {t.x()})); }
ELEMENTWISE(cos) { return e.negative(e.multiply(t.g, e.apply(Op::kSin, {t.x()}))); }
ELEMENTWISE(tan) { return e.multiply(t.g, e.plus(square_of(e, t.self), 1)); }
// 1 - x*x, without the cancellation near 1.
static NodeId one_minus_square(Emit& e, NodeId x) {
  const NodeId one = e.number(e.type(x).dtype, 1);
  return e.multiply(e.minus(one, x), e.plus(x, one));
}
ELEMENTWISE(arcsin) { return reciprocal_root(e, t.g, one_minus_square(e, t.x())); }
ELEMENTWISE(arccos) { return e.negative(reciprocal_root(e, t.g, one_minus_square(e, t.x()))); }
ELEMENTWISE(arctan) { return e.divide(t.g, e.plus(square_of(e, t.x()), 1)); }
ELEMENTWISE(sinh) { return e.multiply(t.g, e.apply(Op::kCosh, {t.x()})); }
ELEMENTWISE(cosh) { return e.multiply(t.g, e.apply(Op::kSinh, {t.x()})); }
ELEMENTWISE(tanh) { return e.multiply(t.g, one_minus_square(e, t.self)); }
ELEMENTWISE(arcsinh) { return reciprocal_root(e, t.g, e.plus(square_of(e, t.x()), 1)); }
ELEMENTWISE(arccosh) {
  return reciprocal_root(e, reciprocal_root(e, t.g, e.plus(t.x(), -1)), e.plus(t.x(), 1));
}
ELEMENTWISE(arctanh) { return e.divide(t.g, one_minus_square(e, t.x())); }
ELEMENTWISE(arctan2) {
  const NodeId sum = e.plus(square_of(e, t.x()), square_of(e, t.y()));
  if (t.operand == 0) return e.multiply(t.g, e.divide(t.y(), sum));
  return e.negative(e.multiply(t.g, e.divide(t.x(), sum)));
}
ELEMENTWISE(hypot) {
  const NodeId length = e.where(e.equals(t.self, 0), 1, t.self);
  return e.multiply(t.g, e.divide(t.node.operands[t.operand], length));
}
ELEMENTWISE(deg2rad) { return e.apply(Op::kDeg2rad, {t.g}); }
ELEMENTWISE(rad2deg) { return e.apply(Op::kRad2deg, {t.g}); }

// ---------------------------------------------------------------- choices and parts

ELEMENTWISE(extreme) { return chosen(e, t); }
ELEMENTWISE(copysign) {
  if (t.operand == 1) return kNoNode;
  const NodeId one = e.number(e.type(t.x()).dtype, 1);
  const auto sign = [&](NodeId x) { return e.apply(Op::kCopysign, {one, x}); };
  return e.multiply(t.g, e.multiply(sign(t.x()), sign(t.y())));
}
ELEMENTWISE(select) {
  if (t.operand == 0) return kNoNode;
  return t.operand == 1 ? e.where(t.x(), t.g, 0) : e.where(t.x(), 0, t.g);
}
ELEMENTWISE(conjugate) { return is_complex_node(e, t.g) ? e.apply(Op::kConjugate, {t.g}) : t.g; }
ELEMENTWISE(real) { return complex_of(e, t.g, zero_like(e, t.g)); }
ELEMENTWISE(imag) { return complex_of(e, zero_like(e, t.g), e.negative(t.g)); }
ELEMENTWISE(make_complex) {
  return t.operand == 0 ? e.apply(Op::kReal, {t.g}) : e.negative(e.apply(Op::kImag, {t.g}));
}
ELEMENTWISE(cast) {
  const DType from = e.type(t.x()).dtype, to = t.node.type.dtype;
  if (is_complex(from) == is_complex(to)) return e.cast(t.g, from);
  if (is_complex(to)) return e.cast(real_of(e, t.g), from);
  const NodeId part = e.cast(t.g, real_part(from));  // the imaginary part is dropped
  return complex_of(e, part, zero_like(e, part));
}

namespace {

std::string ufunc_of(const Graph& graph, const Node& node) {
  const std::string& name = graph.loops[attr_of<LoopAttr>(node).loop].name;
  return name.substr(0, name.find('.'));
}

NodeId loop_gradient(Emit& e, const ElementwiseTerm& t) {
  const std::string ufunc = ufunc_of(e.graph(), t.node);
  const auto difference = [&](NodeId x) { return e.minus(x, t.self); };
  if (ufunc == "logaddexp") {
    return e.multiply(t.g, e.apply(Op::kExp, {difference(t.node.operands[t.operand])}));
  }
  if (ufunc == "logaddexp2") {
    return e.multiply(t.g, e.apply(Op::kExp2, {difference(t.node.operands[t.operand])}));
  }
  if (ufunc == "heaviside" && t.operand == 0) return kNoNode;
  if (ufunc == "heaviside") return e.where(e.equals(t.x(), 0), t.g, 0);
  refuse(fmt::format("numpy.{} has no gradient rule", ufunc), t.self);
}

}  // namespace

// NumPy's own loops: those that compute what an op computes, and some others.
constinit const GradientRule numpy_loop{
    [](Reverse& reverse, NodeId id) {
      Op op;
      if (parse_op(ufunc_of(reverse.emit.graph(), reverse.node(id)), &op) &&
          op_info(op).op_class == OpClass::kElementwise && gradient_rule(op).apply != nullptr) {
        return gradient_rule(op).apply(reverse, id);
      }
      reverse.elementwise(id, loop_gradient);
    },
    {}};

// ---------------------------------------------------------------- no derivative

// Constant in pieces.
constinit const GradientRule constant{[](Reverse&, NodeId) {}, {}};
constinit const GradientRule integral{
    nullptr, "its results are integers or truth values, which have no derivative"};
ELEMENTWISE(sign) {
  if (is_complex_node(e, t.x()))
    refuse("numpy.sign of complex numbers has no gradient rule", t.self);
  return kNoNode;
}

}  // namespace numlift::gradient_rules
