#include "symbolic/int_nodes.h"

#include <utility>

#include "numlift/graph/scalar.h"
#include "symbolic/numpy_common.h"
#include "symbolic/operators.h"
#include "symbolic/pure.h"
#include "symbolic/python_scalar_nodes.h"

namespace numlift::frame_eval {
namespace {

NodeId int_constant(Tracer& tracer, int64_t value) {
  return constant_node(tracer, make_scalar(DType::kInt64, value), ValueKind::kPyScalar);
}

NodeId bool_of(Interpreter& interpreter, Op op, NodeId a, NodeId b) {
  return scalar_node(interpreter, op, {a, b}, DType::kBool, kFpNone);
}

void require_between(Tracer& tracer, NodeId value, int64_t least, int64_t most) {
  check_int(tracer, Op::kGreaterEqual, value, least);
  check_int(tracer, Op::kLessEqual, value, most);
}

std::optional<int64_t> known_int(const Sym& value) {
  if (value->kind != SymKind::kObject || !PyLong_CheckExact(object_of(value).get())) return {};
  int overflow = 0;
  const long long number = PyLong_AsLongLongAndOverflow(object_of(value).get(), &overflow);
  if (overflow != 0) return std::nullopt;
  return number;
}

}  // namespace

bool is_int_node(const Sym& value) {
  if (value->kind != SymKind::kScalar) return false;
  const Type& type = as<ScalarValue>(value).type;
  return type.value_kind == ValueKind::kPyScalar &&
         (type.dtype == DType::kInt64 || type.dtype == DType::kBool);
}

std::optional<NodeId> int_operand(Interpreter& interpreter, const Sym& value) {
  Tracer& tracer = interpreter.tracer;
  if (value->kind == SymKind::kSize) return tracer.size_node(as<SizeValue>(value).expr);
  if (is_int_node(value)) {
    const auto& scalar = as<ScalarValue>(value);
    if (scalar.type.dtype == DType::kInt64) return scalar.node;
    return scalar_node(interpreter, Op::kCast, {scalar.node}, DType::kInt64, kFpNone);
  }
  if (value->kind != SymKind::kObject) return std::nullopt;
  if (PyBool_Check(object_of(value).get()))
    return int_constant(tracer, object_of(value).get() == Py_True ? 1 : 0);
  const auto number = known_int(value);
  if (!number) return std::nullopt;
  pure_constant(interpreter, value, "its value is used");
  return int_constant(tracer, *number);
}

std::optional<Sym> int_node_binary(Interpreter& interpreter, int nb_op, const Sym& a,
                                   const Sym& b) {
  Tracer& tracer = interpreter.tracer;
  const auto x = int_operand(interpreter, a), y = int_operand(interpreter, b);
  if (!x || !y) return std::nullopt;
  const auto result = [&](Op op, uint8_t checks) {
    return tracer.new_scalar(scalar_node(interpreter, op, {*x, *y}, DType::kInt64, checks));
  };
  switch (static_cast<NbOp>(nb_op)) {
    case kNbAdd:
      return result(Op::kAdd, kFpOver);
    case kNbSubtract:
      return result(Op::kSubtract, kFpOver);
    case kNbMultiply:
      return result(Op::kMultiply, kFpOver);
    case kNbFloorDivide:
      return result(Op::kFloorDivide, kFpDivide | kFpOver);
    case kNbRemainder:
      return result(Op::kRemainder, kFpDivide);
    case kNbAnd:
    case kNbOr:
    case kNbXor: {
      const Op op = nb_op == kNbAnd  ? Op::kBitwiseAnd
                    : nb_op == kNbOr ? Op::kBitwiseOr
                                     : Op::kBitwiseXor;
      const auto is_bool = [](const Sym& value) {
        return value->kind == SymKind::kObject
                   ? PyBool_Check(object_of(value).get())
                   : value->kind == SymKind::kScalar &&
                         as<ScalarValue>(value).type.dtype == DType::kBool;
      };
      Sym made = result(op, kFpNone);
      if (!is_bool(a) || !is_bool(b)) return made;
      return tracer.new_scalar(scalar_node(interpreter, Op::kNotEqual,
                                           {as<ScalarValue>(made).node, int_constant(tracer, 0)},
                                           DType::kBool, kFpNone));
    }
    case kNbRshift:
      require_between(tracer, *y, 0, 63);
      return result(Op::kRightShift, kFpNone);
    case kNbLshift: {
      require_between(tracer, *y, 0, 62);
      Sym made = result(Op::kLeftShift, kFpNone);
      const NodeId back = scalar_node(interpreter, Op::kRightShift,
                                      {as<ScalarValue>(made).node, *y}, DType::kInt64, kFpNone);
      tracer.control(Op::kCheck, bool_of(interpreter, Op::kEqual, back, *x));
      return made;
    }
    case kNbPower: {
      const auto exponent = known_int(b);
      if (!exponent || *exponent < 1 || *exponent > 8) return std::nullopt;
      NodeId power = *x;
      for (int64_t i = 1; i < *exponent; ++i)
        power = scalar_node(interpreter, Op::kMultiply, {power, *x}, DType::kInt64, kFpOver);
      return tracer.new_scalar(power);
    }
    case kNbTrueDivide: {
      const NodeId divisor = exact_float_operand(interpreter, b);
      check_int(tracer, Op::kNotEqual, *y, 0);
      return tracer.new_scalar(scalar_node(interpreter, Op::kDivide,
                                           {exact_float_operand(interpreter, a), divisor},
                                           DType::kFloat64, kFpNone));
    }
    case kNbMatrixMultiply:
      return std::nullopt;
  }
  NUMLIFT_UNREACHABLE();
}

std::optional<Sym> int_node_unary(Interpreter& interpreter, Op op, const Sym& a) {
  Tracer& tracer = interpreter.tracer;
  const auto x = int_operand(interpreter, a);
  if (!x) return std::nullopt;
  if (op == Op::kPositive) return tracer.new_scalar(*x);
  if (op == Op::kInvert)
    return tracer.new_scalar(scalar_node(interpreter, Op::kInvert, {*x}, DType::kInt64, kFpNone));
  const NodeId zero = int_constant(tracer, 0);
  const NodeId negative =
      scalar_node(interpreter, Op::kSubtract, {zero, *x}, DType::kInt64, kFpOver);
  if (op == Op::kNegative) return tracer.new_scalar(negative);
  return tracer.new_scalar(tracer.append(Op::kSelect,
                                         {bool_of(interpreter, Op::kLess, *x, zero), negative, *x},
                                         NoAttr{}, py_scalar_type(DType::kInt64)));
}

Sym int_node_compare(Interpreter& interpreter, int compare, const Sym& a, const Sym& b) {
  static constexpr Op kOps[] = {Op::kLess,     Op::kLessEqual, Op::kEqual,
                                Op::kNotEqual, Op::kGreater,   Op::kGreaterEqual};
  const auto x = int_operand(interpreter, a), y = int_operand(interpreter, b);
  if (!x || !y) throw_break("data_dependent", "a comparison with an int beyond 64 bits");
  return interpreter.tracer.new_scalar(bool_of(interpreter, kOps[compare], *x, *y));
}

NodeId exact_float_operand(Interpreter& interpreter, const Sym& number) {
  const bool is_int =
      number->kind == SymKind::kSize ||
      (number->kind == SymKind::kScalar && as<ScalarValue>(number).type.dtype == DType::kInt64);
  if (is_int)
    require_between(interpreter.tracer, *int_operand(interpreter, number), -(int64_t{1} << 53),
                    int64_t{1} << 53);
  return float_operand(interpreter, number);
}

}  // namespace numlift::frame_eval
