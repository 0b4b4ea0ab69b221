#include "symbolic/number_decisions.h"
#include "symbolic/python_scalar_nodes.h"
#include "symbolic/python_scalars.h"

#include <algorithm>
#include <cmath>

#include "numlift/graph/scalar.h"
#include "numlift/py/py_error.h"
#include "symbolic/int_nodes.h"
#include "symbolic/numpy_common.h"
#include "symbolic/operators.h"
#include "symbolic/pure.h"

namespace numlift::frame_eval {

Ref python_binary(int nb_op, BorrowedRef a, BorrowedRef b) {
  switch (static_cast<NbOp>(nb_op)) {
    case kNbAdd:
      return must(PyNumber_Add(a, b));
    case kNbAnd:
      return must(PyNumber_And(a, b));
    case kNbFloorDivide:
      return must(PyNumber_FloorDivide(a, b));
    case kNbLshift:
      return must(PyNumber_Lshift(a, b));
    case kNbMatrixMultiply:
      return must(PyNumber_MatrixMultiply(a, b));
    case kNbMultiply:
      return must(PyNumber_Multiply(a, b));
    case kNbRemainder:
      return must(PyNumber_Remainder(a, b));
    case kNbOr:
      return must(PyNumber_Or(a, b));
    case kNbPower:
      return must(PyNumber_Power(a, b, Py_None));
    case kNbRshift:
      return must(PyNumber_Rshift(a, b));
    case kNbSubtract:
      return must(PyNumber_Subtract(a, b));
    case kNbTrueDivide:
      return must(PyNumber_TrueDivide(a, b));
    case kNbXor:
      return must(PyNumber_Xor(a, b));
  }
  NUMLIFT_UNREACHABLE();
}

namespace {

struct ComputedNumber : ScalarValue {
  ComputedNumber(NodeId node, Type type) : ScalarValue(node, std::move(type)) {}
  std::vector<Sym> operands;
  PythonCompute compute;
  Ref now;  // once asked for
};

std::optional<double> constant_double(const Sym& value) {
  if (value->kind != SymKind::kObject || is_complex(dtype_of_number(value))) return std::nullopt;
  const double number = PyFloat_AsDouble(object_of(value));
  if (number == -1.0 && PyErr_Occurred()) {
    PyErr_Clear();
    throw_break("would_raise", "an int is too large to be a float");
  }
  return number;
}

}  // namespace

Sym computed(Interpreter& interpreter, NodeId node, std::vector<Sym> operands,
             PythonCompute compute) {
  auto number = std::make_shared<ComputedNumber>(node, interpreter.tracer.type_of(node));
  number->operands = std::move(operands);
  number->compute = std::move(compute);
  return number;
}

DType dtype_of_number(const Sym& value) {
  if (value->kind == SymKind::kSize) return DType::kInt64;
  if (value->kind == SymKind::kScalar) return as<ScalarValue>(value).type.dtype;
  PyObject* object = object_of(value);
  if (PyBool_Check(object)) return DType::kBool;
  if (PyLong_Check(object)) return DType::kInt64;
  return PyFloat_Check(object) ? DType::kFloat64 : DType::kComplex128;
}

NodeId constant_node(Interpreter& interpreter, double value) {
  return constant_node(interpreter.tracer, make_scalar(DType::kFloat64, value),
                       ValueKind::kPyScalar);
}

NodeId scalar_node(Interpreter& interpreter, Op op, std::vector<NodeId> operands, DType dtype,
                   uint8_t checks) {
  Tracer& tracer = interpreter.tracer;
  const ScopedFpChecks watched(tracer, checks);
  return tracer.append(op, std::move(operands), NoAttr{}, py_scalar_type(dtype));
}

void check_nonzero(Interpreter& interpreter, const Sym& divisor) {
  if (auto constant = constant_double(divisor)) {
    if (*constant == 0.0) throw_break("would_raise", "float division by zero");
    return;
  }
  if (divisor->kind == SymKind::kSize) {
    const std::string reason = "division by an int at " + interpreter.location_text();
    if (interpreter.tracer.decide_equal(as<SizeValue>(divisor).expr, 0, reason)) {
      throw_break("would_raise", "division by zero");
    }
    return;
  }
  scalar_node(interpreter, Op::kDivide,
              {constant_node(interpreter, 1.0), float_operand(interpreter, divisor)},
              DType::kFloat64, kFpDivide);
}

namespace {

// ---- what the operands are

// The value as a size expression, when it is an int (or bool) that fits in 64 bits.
std::optional<SizeExpr> as_size(const Sym& value) {
  if (value->kind == SymKind::kSize) return as<SizeValue>(value).expr;
  if (value->kind != SymKind::kObject) return std::nullopt;
  PyObject* object = object_of(value);
  if (!PyLong_CheckExact(object) && !PyBool_Check(object)) return std::nullopt;
  int overflow = 0;
  const long long number = PyLong_AsLongLongAndOverflow(object, &overflow);
  if (overflow != 0) return std::nullopt;
  return SizeExpr(number);
}

bool is_constant_int(const Sym& value) {
  return value->kind == SymKind::kObject &&
         (PyLong_CheckExact(object_of(value).get()) || PyBool_Check(object_of(value).get()));
}

// Can the value be known now (by guarding inputs), or was it computed from arrays?
bool can_specialize(const Tracer& tracer, const Sym& value) {
  if (value->kind == SymKind::kSize) return !tracer.is_run_time(as<SizeValue>(value).expr);
  if (value->kind != SymKind::kScalar) return true;
  if (auto* number = dynamic_cast<ComputedNumber*>(value.get())) {
    return std::all_of(number->operands.begin(), number->operands.end(),
                       [&](const Sym& operand) { return can_specialize(tracer, operand); });
  }
  return value->source != nullptr;
}

// Both operands as they are now.
Sym binary_by_value(Interpreter& interpreter, int nb_op, const Sym& a, const Sym& b,
                    const char* what) {
  Sym left = concrete(interpreter, a, what), right = concrete(interpreter, b, what);
  auto x = pure_constant(interpreter, left, what), y = pure_constant(interpreter, right, what);
  NUMLIFT_CHECK(x && y, "a specialised number is no constant");
  return interpreter.tracer.constant(python_binary(nb_op, *x, *y));
}

// ---- ints

// Python's ints have no bounds, size expressions have: an entry guard keeps calls out whose values
// do not fit, and a value that does not fit now throws.
Sym checked_size(Interpreter& interpreter, const SizeExpr& expr) {
  Tracer& tracer = interpreter.tracer;
  Sym result = tracer.new_size(expr);
  if (result->kind != SymKind::kSize) return result;
  const SizeExpr& size = as<SizeValue>(result).expr;
  if (tracer.is_run_time(size)) return result;
  Graph& graph = tracer.graph();
  std::vector<SymbolId> symbols;
  size.collect_symbols(&symbols);
  const bool has_ints = std::any_of(symbols.begin(), symbols.end(), [&](SymbolId id) {
    return graph.symbols[static_cast<size_t>(id)].kind == SymbolKind::kInt;
  });
  if (!has_ints || size.as_symbol()) return result;
  if (tracer.depends_on_extern(size))
    throw_break("data_dependent", "arithmetic on a size that is known only when the program runs");
  if (!size.evaluate(graph.symbol_hints())) throw SizeOverflowError();
  SizeGuard guard{SizeGuard::Relation::kLessEqual, size, std::numeric_limits<int64_t>::max(),
                  "it fits in 64 bits at " + interpreter.location_text(), ""};
  const bool known =
      std::any_of(graph.size_guards.begin(), graph.size_guards.end(), [&](const SizeGuard& g) {
        return g.relation == guard.relation && g.left == guard.left && g.right == guard.right;
      });
  if (!known) graph.size_guards.push_back(std::move(guard));
  return result;
}

// The sum of a symbol that the program sets and keeps below 2**40 and the like never overflows; any
// other arithmetic on it is done, and checked, on nodes.
bool stays_a_size(const SizeExpr& expr) {
  constexpr int64_t kMost = int64_t{1} << 20;
  const auto is_small = [](int64_t number) { return number <= kMost && number >= -kMost; };
  return is_small(expr.constant_part()) && expr.terms().size() <= 8 &&
         std::all_of(expr.terms().begin(), expr.terms().end(), [&](const SizeExpr::Term& term) {
           return is_small(term.coefficient) && term.atoms.size() == 1 &&
                  term.atoms[0]->kind == SizeExpr::AtomKind::kSymbol;
         });
}

std::optional<Sym> size_binary(Interpreter& interpreter, int nb_op, const SizeExpr& a,
                               const SizeExpr& b) {
  Tracer& tracer = interpreter.tracer;
  if (tracer.is_run_time(a) || tracer.is_run_time(b)) {
    const bool is_linear = nb_op == kNbAdd || nb_op == kNbSubtract || nb_op == kNbMultiply;
    if (is_linear) {
      const SizeExpr made = nb_op == kNbAdd ? a + b : nb_op == kNbSubtract ? a - b : a * b;
      if (stays_a_size(made)) return tracer.new_size(made);
    }
    return int_node_binary(interpreter, nb_op, tracer.new_size(a), tracer.new_size(b));
  }
  auto check_divisor = [&] {
    if (tracer.decide_equal(b, 0, "division by an int at " + interpreter.location_text())) {
      throw_break("would_raise", "integer division by zero");
    }
  };
  const auto shift = b.constant();
  switch (static_cast<NbOp>(nb_op)) {
    case kNbAdd:
      return checked_size(interpreter, a + b);
    case kNbSubtract:
      return checked_size(interpreter, a - b);
    case kNbMultiply:
      return checked_size(interpreter, a * b);
    case kNbFloorDivide:
      check_divisor();
      return checked_size(interpreter, SizeExpr::floor_div(a, b));
    case kNbRemainder:
      check_divisor();
      return checked_size(interpreter, SizeExpr::floor_mod(a, b));
    case kNbLshift:
      if (!shift || *shift < 0 || *shift > 60) return std::nullopt;
      return checked_size(interpreter, a * SizeExpr(int64_t{1} << *shift));
    case kNbRshift:
      if (!shift || *shift < 0 || *shift > 60) return std::nullopt;
      return checked_size(interpreter, SizeExpr::floor_div(a, SizeExpr(int64_t{1} << *shift)));
    case kNbPower: {
      if (!shift || *shift < 1 || *shift > 4) return std::nullopt;
      SizeExpr power = a;
      for (int64_t i = 1; i < *shift; ++i) power = power * a;
      return checked_size(interpreter, power);
    }
    case kNbAnd:
    case kNbOr:
    case kNbXor:
    case kNbMatrixMultiply:
    case kNbTrueDivide:
      return std::nullopt;
  }
  NUMLIFT_UNREACHABLE();
}

// int / int is rounded once: so is the quotient of two doubles that hold the ints exactly.
Sym size_true_divide(Interpreter& interpreter, const Sym& a, const Sym& b) {
  Tracer& tracer = interpreter.tracer;
  const std::string reason = "division of ints at " + interpreter.location_text();
  const SizeExpr x = *as_size(a), y = *as_size(b);
  if (tracer.decide_equal(y, 0, reason)) throw_break("would_raise", "division by zero");
  const SizeExpr exact = int64_t{1} << 53;
  for (const SizeExpr& expr : {x, y}) {
    if (!tracer.decide_less_equal(expr, exact, reason) ||
        !tracer.decide_less_equal(-exact, expr, reason)) {
      return binary_by_value(interpreter, kNbTrueDivide, a, b, "division of large ints");
    }
  }
  const NodeId quotient = scalar_node(
      interpreter, Op::kDivide, {float_operand(interpreter, a), float_operand(interpreter, b)},
      DType::kFloat64, kFpNone);
  return computed(interpreter, quotient, {a, b}, [](std::span<const Ref> values) {
    return python_binary(kNbTrueDivide, values[0], values[1]);
  });
}

// ---- floats

std::optional<Sym> float_binary(Interpreter& interpreter, int nb_op, const Sym& a, const Sym& b) {
  uint8_t checks = kFpNone;
  Op op = Op::kAdd;
  switch (static_cast<NbOp>(nb_op)) {
    case kNbAdd:
      break;
    case kNbSubtract:
      op = Op::kSubtract;
      break;
    case kNbMultiply:
      op = Op::kMultiply;
      break;
    case kNbTrueDivide:
      op = Op::kDivide;
      break;
    case kNbFloorDivide:
      op = Op::kFloorDivide;
      break;
    case kNbRemainder:
      op = Op::kRemainder;
      break;
    case kNbPower:  // 0 ** -1 raises, (-8) ** 0.5 is complex, 1e300 ** 2 raises
      op = Op::kPower;
      checks = kFpAll;
      break;
    case kNbAnd:
    case kNbLshift:
    case kNbMatrixMultiply:
    case kNbOr:
    case kNbRshift:
    case kNbXor:
      return std::nullopt;
  }
  if (op == Op::kDivide || op == Op::kFloorDivide || op == Op::kRemainder) {
    check_nonzero(interpreter, b);
  }
  const NodeId node =
      scalar_node(interpreter, op, {float_operand(interpreter, a), float_operand(interpreter, b)},
                  DType::kFloat64, checks);
  return computed(interpreter, node, {a, b}, [nb_op](std::span<const Ref> values) {
    return python_binary(nb_op, values[0], values[1]);
  });
}

bool python_compare(BorrowedRef a, BorrowedRef b, int compare) {
  static constexpr int kRich[] = {Py_LT, Py_LE, Py_EQ, Py_NE, Py_GT, Py_GE};
  Ref result = must(PyObject_RichCompare(a, b, kRich[compare]));
  return result.get() == Py_True;
}

}  // namespace

bool is_runtime_number(const Sym& value) {
  return value->kind == SymKind::kSize || is_py_scalar(value);
}

bool is_python_number(const Sym& value) {
  if (is_runtime_number(value)) return true;
  if (value->kind != SymKind::kObject) return false;
  PyObject* object = object_of(value);
  return PyLong_CheckExact(object) || PyFloat_CheckExact(object) || PyBool_Check(object) ||
         PyComplex_CheckExact(object);
}

Sym float_node(Interpreter& interpreter, Op op, const std::vector<Sym>& numbers, uint8_t checks,
               PythonCompute compute) {
  std::vector<NodeId> operands;
  for (const Sym& number : numbers) operands.push_back(float_operand(interpreter, number));
  const NodeId node = scalar_node(interpreter, op, std::move(operands), DType::kFloat64, checks);
  return computed(interpreter, node, numbers, std::move(compute));
}

NodeId float_operand(Interpreter& interpreter, const Sym& number) {
  Tracer& tracer = interpreter.tracer;
  if (number->kind == SymKind::kScalar) {
    const auto& scalar = as<ScalarValue>(number);
    if (scalar.type.dtype == DType::kFloat64) return scalar.node;
    NUMLIFT_CHECK(!is_complex(scalar.type.dtype), "a complex number as a float");
    return scalar_node(interpreter, Op::kCast, {scalar.node}, DType::kFloat64, kFpNone);
  }
  if (number->kind == SymKind::kSize) {
    const NodeId size = tracer.append(Op::kSizeValue, {}, SizeAttr{as<SizeValue>(number).expr},
                                      py_scalar_type(DType::kInt64));
    return scalar_node(interpreter, Op::kCast, {size}, DType::kFloat64, kFpNone);
  }
  auto constant = constant_double(number);
  NUMLIFT_CHECK(constant.has_value(), "{} is no real number", type_name(number));
  pure_constant(interpreter, number, "its value is used");
  return constant_node(interpreter, *constant);
}

Sym specialize_number(Interpreter& interpreter, const Sym& value, const std::string& reason) {
  Tracer& tracer = interpreter.tracer;
  if (value->kind == SymKind::kSize) {
    return interpreter.integer(tracer.specialize(as<SizeValue>(value).expr, reason));
  }
  auto* number = dynamic_cast<ComputedNumber*>(value.get());
  if (number == nullptr) return tracer.specialize_value(value, reason);
  if (!number->now) {
    std::vector<Ref> values;
    for (const Sym& operand : number->operands) {
      Sym known =
          is_runtime_number(operand) ? specialize_number(interpreter, operand, reason) : operand;
      auto real = pure_constant(interpreter, known, "its value is used");
      NUMLIFT_CHECK(real.has_value(), "a specialised number is no constant");
      values.push_back(std::move(*real));
    }
    number->now = number->compute(values);
  }
  return tracer.constant(number->now);
}

Sym number_binary(Interpreter& interpreter, int nb_op, const Sym& a, const Sym& b) {
  const DType left = dtype_of_number(a), right = dtype_of_number(b);
  std::optional<Sym> result;
  if (is_complex(left) || is_complex(right)) {
    result = complex_binary(interpreter, nb_op, a, b);
  } else if (is_float(left) || is_float(right)) {
    result = float_binary(interpreter, nb_op, a, b);
  } else {
    const auto x = as_size(a), y = as_size(b);
    if (x && y) {
      try {
        const bool runs = interpreter.tracer.is_run_time(*x) || interpreter.tracer.is_run_time(*y);
        if (nb_op == kNbTrueDivide && !runs) return size_true_divide(interpreter, a, b);
        result = size_binary(interpreter, nb_op, *x, *y);
      } catch (const SizeOverflowError&) {
        // The numbers are too large for size expressions: their values are taken instead.
      }
    } else if (is_int_node(a) || is_int_node(b)) {
      result = int_node_binary(interpreter, nb_op, a, b);
    }
  }
  if (result) return *result;
  return binary_by_value(interpreter, nb_op, a, b, "arithmetic on Python numbers");
}

Sym number_unary(Interpreter& interpreter, NumberUnary op, const Sym& a) {
  Tracer& tracer = interpreter.tracer;
  const DType dtype = dtype_of_number(a);
  const bool runs = a->kind == SymKind::kSize && tracer.is_run_time(as<SizeValue>(a).expr);
  if (is_int_node(a) || (runs && op != NumberUnary::kPositive)) {
    static constexpr Op kOps[] = {Op::kNegative, Op::kPositive, Op::kInvert, Op::kAbsolute};
    if (auto made = int_node_unary(interpreter, kOps[static_cast<size_t>(op)], a)) return *made;
  }
  if (a->kind == SymKind::kSize) {
    const SizeExpr& expr = as<SizeValue>(a).expr;
    try {
      switch (op) {
        case NumberUnary::kNegative:
          return checked_size(interpreter, -expr);
        case NumberUnary::kPositive:
          return a;
        case NumberUnary::kInvert:
          return checked_size(interpreter, -expr - SizeExpr(1));
        case NumberUnary::kAbsolute:
          return tracer.decide_less(expr, 0, "abs() at " + interpreter.location_text())
                     ? checked_size(interpreter, -expr)
                     : a;
      }
    } catch (const SizeOverflowError&) {
      // Its value is taken instead.
    }
  }
  if (op == NumberUnary::kPositive && (is_float(dtype) || is_complex(dtype))) return a;
  if (!is_float(dtype) || op == NumberUnary::kInvert) {
    Sym known = concrete(interpreter, a, "an operator on a Python number");
    Ref value = *pure_constant(interpreter, known, "its value is used");
    switch (op) {
      case NumberUnary::kNegative:
        return tracer.constant(must(PyNumber_Negative(value.get())));
      case NumberUnary::kPositive:
        return tracer.constant(must(PyNumber_Positive(value.get())));
      case NumberUnary::kInvert:
        return tracer.constant(must(PyNumber_Invert(value.get())));
      case NumberUnary::kAbsolute:
        return tracer.constant(must(PyNumber_Absolute(value.get())));
    }
  }
  const bool negative = op == NumberUnary::kNegative;
  const NodeId node = scalar_node(interpreter, negative ? Op::kNegative : Op::kAbsolute,
                                  {float_operand(interpreter, a)}, DType::kFloat64, kFpNone);
  return computed(interpreter, node, {a}, [negative](std::span<const Ref> values) {
    return must(negative ? PyNumber_Negative(values[0].get()) : PyNumber_Absolute(values[0].get()));
  });
}

Sym number_compare(Interpreter& interpreter, int compare, const Sym& a, const Sym& b) {
  Tracer& tracer = interpreter.tracer;
  const auto x = as_size(a), y = as_size(b);
  if (x && y) {
    const std::string reason = "comparison of ints at " + interpreter.location_text();
    if (tracer.is_run_time(*x) || tracer.is_run_time(*y)) {
      using Relation = SizeGuard::Relation;
      static constexpr Relation kRelations[] = {Relation::kLess,  Relation::kLessEqual,
                                                Relation::kEqual, Relation::kNotEqual,
                                                Relation::kLess,  Relation::kLessEqual};
      const bool mirrored = compare == kGreater || compare == kGreaterEqual;
      if (const auto always = tracer.holds_always(kRelations[compare], mirrored ? *y : *x,
                                                  mirrored ? *x : *y, reason))
        return interpreter.boolean(*always);
      return int_node_compare(interpreter, compare, a, b);
    }
    switch (static_cast<CompareIndex>(compare)) {
      case kLess:
        return interpreter.boolean(tracer.decide_less(*x, *y, reason));
      case kLessEqual:
        return interpreter.boolean(tracer.decide_less_equal(*x, *y, reason));
      case kEqual:
        return interpreter.boolean(tracer.decide_equal(*x, *y, reason));
      case kNotEqual:
        return interpreter.boolean(!tracer.decide_equal(*x, *y, reason));
      case kGreater:
        return interpreter.boolean(tracer.decide_less(*y, *x, reason));
      case kGreaterEqual:
        return interpreter.boolean(tracer.decide_less_equal(*y, *x, reason));
    }
    NUMLIFT_UNREACHABLE();
  }
  if (const auto outcome = decide_on_input(interpreter, compare, a, b)) {
    return interpreter.boolean(*outcome);
  }
  if (can_specialize(tracer, a) && can_specialize(tracer, b)) {
    auto left =
        pure_constant(interpreter, concrete(interpreter, a, "a comparison"), "a comparison");
    auto right =
        pure_constant(interpreter, concrete(interpreter, b, "a comparison"), "a comparison");
    return interpreter.boolean(python_compare(*left, *right, compare));
  }
  const DType left = dtype_of_number(a), right = dtype_of_number(b);
  if (is_complex(left) || is_complex(right))
    throw_break("data_dependent", "a comparison of numbers computed from arrays");
  if (!is_float(left) && !is_float(right)) return int_node_compare(interpreter, compare, a, b);
  // An int is compared exactly by Python: as a double only where that holds it exactly.
  for (const Sym* operand : {&a, &b}) {
    auto value = is_constant_int(*operand) ? constant_double(*operand) : std::nullopt;
    if (value && std::abs(*value) > 0x1p53)
      throw_break("data_dependent", "comparison with a large int");
  }
  static constexpr Op kOps[] = {Op::kLess,     Op::kLessEqual, Op::kEqual,
                                Op::kNotEqual, Op::kGreater,   Op::kGreaterEqual};
  return tracer.new_scalar(
      scalar_node(interpreter, kOps[compare],
                  {exact_float_operand(interpreter, a), exact_float_operand(interpreter, b)},
                  DType::kBool, kFpNone));
}

bool number_truth(Interpreter& interpreter, const Sym& value, const std::string& reason) {
  if (value->kind == SymKind::kSize) {
    return !interpreter.tracer.decide_equal(as<SizeValue>(value).expr, 0, reason);
  }
  if (const auto outcome = decide_on_input(interpreter, 3, value, interpreter.integer(0))) {
    return *outcome;
  }
  Sym known = specialize_number(interpreter, value, reason);
  return PyObject_IsTrue(object_of(known)) == 1;
}

Sym number_convert(Interpreter& interpreter, PyTypeObject* type, const Sym& value) {
  const DType dtype = dtype_of_number(value);
  if (type == &PyBool_Type) {
    if (dtype == DType::kBool && value->kind == SymKind::kScalar) return value;
    return interpreter.boolean(
        number_truth(interpreter, value, "bool() at " + interpreter.location_text()));
  }
  if (type == &PyFloat_Type && !is_complex(dtype)) {
    if (dtype == DType::kFloat64) return value;
    return computed(
        interpreter, float_operand(interpreter, value), {value},
        [](std::span<const Ref> values) { return must(PyNumber_Float(values[0].get())); });
  }
  if (type == &PyComplex_Type) {
    if (is_complex(dtype)) return value;
    return computed(
        interpreter, complex_operand(interpreter, value), {value}, [](std::span<const Ref> values) {
          return must(
              PyObject_CallOneArg(reinterpret_cast<PyObject*>(&PyComplex_Type), values[0].get()));
        });
  }
  if (type == &PyLong_Type && dtype == DType::kInt64) return value;
  Sym known = concrete(interpreter, value, "a conversion of a Python number");
  Ref number = *pure_constant(interpreter, known, "its value is used");
  return interpreter.tracer.constant(
      must(PyObject_CallOneArg(reinterpret_cast<PyObject*>(type), number.get())));
}

}  // namespace numlift::frame_eval
