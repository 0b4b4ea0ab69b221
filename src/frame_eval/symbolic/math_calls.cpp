// The math module: on constants its own functions run; on run-time floats graph operations, where
// what Python raises shows in the floating-point conditions.
#include "numlift/py/py_error.h"
#include "symbolic/builtins.h"
#include "symbolic/containers.h"
#include "symbolic/numpy_calls.h"
#include "symbolic/operators.h"
#include "symbolic/pure.h"
#include "symbolic/python_scalars.h"

namespace numlift::frame_eval {

namespace {

// math functions take any real number by way of float().
Sym as_float(Interpreter& interpreter, const Sym& value) {
  if (!is_numpy_value(value)) return value;
  return numpy_to_number(interpreter.tracer, &PyFloat_Type, value);
}

std::optional<Sym> call_for_real(Interpreter& interpreter, const char* name,
                                 const std::vector<Sym>& values) {
  Ref real = checked(PyTuple_New(static_cast<Py_ssize_t>(values.size())));
  for (size_t i = 0; i < values.size(); ++i) {
    auto constant = pure_constant(interpreter, values[i], "an argument of the math module");
    if (!constant) return std::nullopt;
    PyTuple_SET_ITEM(real.get(), static_cast<Py_ssize_t>(i), constant->release());
  }
  return interpreter.tracer.constant(
      must(PyObject_Call(known_object("math", name), real.get(), nullptr)));
}

// Name, graph operation, conditions that stand for Python's exceptions.
#define NUMLIFT_MATH_UNARY(X)               \
  X(sqrt, Sqrt, kFpInvalid)                 \
  X(exp, Exp, kFpOver)                      \
  X(expm1, Expm1, kFpOver)                  \
  X(sin, Sin, kFpInvalid)                   \
  X(cos, Cos, kFpInvalid)                   \
  X(tan, Tan, kFpInvalid)                   \
  X(asin, Arcsin, kFpInvalid)               \
  X(acos, Arccos, kFpInvalid)               \
  X(atan, Arctan, kFpNone)                  \
  X(sinh, Sinh, kFpOver)                    \
  X(cosh, Cosh, kFpOver)                    \
  X(tanh, Tanh, kFpNone)                    \
  X(asinh, Arcsinh, kFpNone)                \
  X(acosh, Arccosh, kFpInvalid)             \
  X(atanh, Arctanh, kFpDivide | kFpInvalid) \
  X(log2, Log2, kFpDivide | kFpInvalid)     \
  X(log10, Log10, kFpDivide | kFpInvalid)   \
  X(log1p, Log1p, kFpDivide | kFpInvalid)   \
  X(fabs, Absolute, kFpNone)

#define NUMLIFT_MATH_BINARY(X)   \
  X(atan2, Arctan2, kFpNone)     \
  X(copysign, Copysign, kFpNone) \
  X(pow, Power, kFpAll)

Sym traced(Interpreter& interpreter, const char* name, Op op, int arity, uint8_t checks,
           const CallArguments& arguments) {
  ArgumentReader read(name, arguments);
  read.expect(static_cast<size_t>(arity), static_cast<size_t>(arity));
  std::vector<Sym> values;
  for (const Sym& argument : arguments.positional)
    values.push_back(as_float(interpreter, argument));
  if (auto folded = call_for_real(interpreter, name, values)) return *folded;
  for (const Sym& value : values) {
    if (!is_python_number(value) ||
        (is_py_scalar(value) && is_complex(as<ScalarValue>(value).type.dtype))) {
      throw_break("unsupported_value", fmt::format("math.{}() of a {}", name, type_name(value)));
    }
  }
  return float_node(interpreter, op, values, checks, [name](std::span<const Ref> numbers) {
    return must(PyObject_CallFunctionObjArgs(known_object("math", name), numbers[0].get(),
                                             numbers.size() > 1 ? numbers[1].get() : nullptr,
                                             nullptr));
  });
}

#define NUMLIFT_MATH_HANDLER_1(name, op, checks)                                              \
  Sym math_##name(Interpreter& interpreter, const CallArguments& arguments) {                 \
    return traced(interpreter, #name, Op::k##op, 1, static_cast<uint8_t>(checks), arguments); \
  }
#define NUMLIFT_MATH_HANDLER_2(name, op, checks)                                              \
  Sym math_##name(Interpreter& interpreter, const CallArguments& arguments) {                 \
    return traced(interpreter, #name, Op::k##op, 2, static_cast<uint8_t>(checks), arguments); \
  }
NUMLIFT_MATH_UNARY(NUMLIFT_MATH_HANDLER_1)
NUMLIFT_MATH_BINARY(NUMLIFT_MATH_HANDLER_2)

Sym math_log(Interpreter& interpreter, const CallArguments& arguments) {
  if (arguments.positional.size() == 1) {
    return traced(interpreter, "log", Op::kLog, 1, kFpDivide | kFpInvalid, arguments);
  }
  std::vector<Sym> values;
  for (const Sym& argument : arguments.positional) {
    values.push_back(concrete(interpreter, as_float(interpreter, argument), "math.log()"));
  }
  if (auto folded = call_for_real(interpreter, "log", values)) return *folded;
  throw_break("unsupported_call", "math.log() with a base");
}

// Functions whose result must be known now (an int, a bool): of run-time numbers the value is
// taken.
// clang-format off
#define NUMLIFT_MATH_CONCRETE(X)                                             \
  X(floor) X(ceil) X(trunc) X(isnan) X(isinf) X(isfinite) X(isclose) X(gcd)  \
  X(lcm) X(factorial) X(comb) X(perm) X(isqrt) X(degrees) X(radians) X(fmod) \
  X(hypot) X(erf) X(erfc) X(gamma) X(lgamma) X(remainder) X(cbrt) X(exp2)    \
  X(modf) X(frexp) X(ldexp) X(ulp) X(nextafter)
// clang-format on

Sym concrete_call(Interpreter& interpreter, const char* name, const CallArguments& arguments) {
  if (!arguments.keywords.empty())
    throw_break("unsupported_call", fmt::format("math.{}() with keywords", name));
  std::vector<Sym> values;
  for (const Sym& argument : arguments.positional) {
    const Sym value = as_float(interpreter, argument);
    values.push_back(concrete(interpreter, value, "an argument of the math module"));
  }
  if (auto folded = call_for_real(interpreter, name, values)) return *folded;
  throw_break("unsupported_call", fmt::format("math.{}() of run-time values", name));
}
#define NUMLIFT_MATH_CONCRETE_HANDLER(name)                                   \
  Sym math_##name(Interpreter& interpreter, const CallArguments& arguments) { \
    return concrete_call(interpreter, #name, arguments);                      \
  }
NUMLIFT_MATH_CONCRETE(NUMLIFT_MATH_CONCRETE_HANDLER)

Sym math_prod(Interpreter& interpreter, const CallArguments& arguments) {
  ArgumentReader read("prod", arguments);
  Sym start = read.keyword("start");
  read.expect(1, 1);
  Sym total = start ? start : interpreter.integer(1);
  for (const Sym& item : collect_items(interpreter, read[0])) {
    total = binary_operation(interpreter, kNbMultiply, false, total, item);
  }
  return total;
}

}  // namespace

void add_math(BuiltinEntries& entries) {
#define NUMLIFT_MATH_ENTRY(name, op, checks) entries.emplace_back("math", #name, math_##name);
#define NUMLIFT_MATH_ENTRY_CONCRETE(name) entries.emplace_back("math", #name, math_##name);
  NUMLIFT_MATH_UNARY(NUMLIFT_MATH_ENTRY)
  NUMLIFT_MATH_BINARY(NUMLIFT_MATH_ENTRY)
  NUMLIFT_MATH_CONCRETE(NUMLIFT_MATH_ENTRY_CONCRETE)
  entries.emplace_back("math", "log", math_log);
  entries.emplace_back("math", "prod", math_prod);
}

}  // namespace numlift::frame_eval
