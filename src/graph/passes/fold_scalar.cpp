// Handles bool, integers, float32 and float64.
#include "fold_scalar.h"

#include <bit>
#include <cfenv>
#include <cmath>
#include <limits>
#include <type_traits>

namespace numlift {
namespace {

// The compiler must neither fold an operation nor move it across the reading of the flags.
template <class T>
T opaque(T value) {
  volatile T hidden = value;
  return hidden;
}

class FloatConditions {
 public:
  FloatConditions() {
    std::fegetenv(&saved_);
    std::feclearexcept(FE_ALL_EXCEPT);
  }
  ~FloatConditions() { std::fesetenv(&saved_); }
  bool any() const {
    return std::fetestexcept(FE_DIVBYZERO | FE_OVERFLOW | FE_INVALID | FE_UNDERFLOW) != 0;
  }

 private:
  std::fenv_t saved_;
};

using Folded = std::optional<ScalarBits>;

template <class T>
Folded fold_float(Op op, T a, T b, DType dtype) {
  static_assert(std::is_floating_point_v<T>);
  const bool nan = std::isnan(a) || std::isnan(b);
  const FloatConditions conditions;
  T value{};
  bool truth = false;
  bool is_truth = false;
  auto compare = [&](bool outcome) {
    truth = outcome;
    is_truth = true;
  };
  if (op == Op::kAdd) {
    value = opaque(opaque(a) + opaque(b));
  } else if (op == Op::kSubtract) {
    value = opaque(opaque(a) - opaque(b));
  } else if (op == Op::kMultiply) {
    value = opaque(opaque(a) * opaque(b));
  } else if (op == Op::kDivide) {
    value = opaque(opaque(a) / opaque(b));
  } else if (op == Op::kNegative) {
    value = -a;
  } else if (op == Op::kPositive) {
    value = a;
  } else if (op == Op::kAbsolute) {
    value = std::fabs(a);
  } else if (op == Op::kSquare) {
    value = opaque(opaque(a) * opaque(a));
  } else if (op == Op::kReciprocal) {
    value = opaque(T{1} / opaque(a));
  } else if (op == Op::kSqrt) {
    value = opaque(std::sqrt(opaque(a)));
  } else if (op == Op::kFloor) {
    value = std::floor(a);
  } else if (op == Op::kCeil) {
    value = std::ceil(a);
  } else if (op == Op::kTrunc) {
    value = std::trunc(a);
  } else if (op == Op::kRint) {
    value = std::nearbyint(a);
  } else if (op == Op::kCopysign) {
    value = std::copysign(a, b);
  } else if ((op == Op::kMaximum || op == Op::kMinimum) && !nan && a != b) {
    value = (op == Op::kMaximum) == (a > b) ? a : b;
  } else if (op == Op::kEqual) {
    compare(!nan && a == b);
  } else if (op == Op::kNotEqual) {
    compare(nan || a != b);
  } else if (op == Op::kLess) {
    compare(!nan && a < b);
  } else if (op == Op::kLessEqual) {
    compare(!nan && a <= b);
  } else if (op == Op::kGreater) {
    compare(!nan && a > b);
  } else if (op == Op::kGreaterEqual) {
    compare(!nan && a >= b);
  } else if (op == Op::kIsnan) {
    compare(std::isnan(a));
  } else if (op == Op::kIsinf) {
    compare(std::isinf(a));
  } else if (op == Op::kIsfinite) {
    compare(std::isfinite(a));
  } else if (op == Op::kSignbit) {
    compare(std::signbit(a));
  } else if (op == Op::kLogicalAnd) {
    compare(a != 0 && b != 0);
  } else if (op == Op::kLogicalOr) {
    compare(a != 0 || b != 0);
  } else if (op == Op::kLogicalXor) {
    compare((a != 0) != (b != 0));
  } else if (op == Op::kLogicalNot) {
    compare(a == 0);
  } else {
    return {};
  }
  if (is_truth) return make_scalar(DType::kBool, truth);
  // Which NaN an operation of NaNs gives depends on operand order in the machine code.
  if (conditions.any() || (nan && op != Op::kCopysign && op != Op::kPositive)) return {};
  return make_scalar(dtype, value);
}

template <class T>
bool wraps(Op op, T a, T b) {
  T ignored{};
  if (op == Op::kAdd) return __builtin_add_overflow(a, b, &ignored);
  if (op == Op::kSubtract) return __builtin_sub_overflow(a, b, &ignored);
  if (op == Op::kMultiply) return __builtin_mul_overflow(a, b, &ignored);
  if (op == Op::kNegative) return __builtin_sub_overflow(T{0}, a, &ignored);
  return op == Op::kAbsolute && a < T{0} && __builtin_sub_overflow(T{0}, a, &ignored);
}

// Integers wrap: the arithmetic is unsigned.
template <class T>
Folded fold_integer(Op op, T a, T b, DType dtype, bool may_wrap) {
  using U = std::make_unsigned_t<T>;
  constexpr int kBits = std::numeric_limits<U>::digits;
  auto wrap = [&](uint64_t value) -> Folded {
    return make_scalar(dtype, static_cast<T>(static_cast<U>(value)));
  };
  auto truth = [](bool value) -> Folded { return make_scalar(DType::kBool, value); };
  const auto x = static_cast<uint64_t>(a);
  const auto y = static_cast<uint64_t>(b);
  const bool negative = std::is_signed_v<T> && a < 0;
  if (!may_wrap && wraps(op, a, b)) return {};
  if (op == Op::kAdd) return wrap(x + y);
  if (op == Op::kSubtract) return wrap(x - y);
  if (op == Op::kMultiply) return wrap(x * y);
  if (op == Op::kNegative) return wrap(0 - x);
  if (op == Op::kPositive || op == Op::kConjugate) return wrap(x);
  if (op == Op::kFloor || op == Op::kCeil || op == Op::kTrunc) return wrap(x);
  if (op == Op::kAbsolute) return wrap(negative ? 0 - x : x);
  if (op == Op::kSquare) return wrap(x * x);
  if (op == Op::kSign) return wrap(negative ? ~uint64_t{0} : (a != 0 ? 1 : 0));
  if (op == Op::kBitwiseAnd) return wrap(x & y);
  if (op == Op::kBitwiseOr) return wrap(x | y);
  if (op == Op::kBitwiseXor) return wrap(x ^ y);
  if (op == Op::kInvert) return wrap(~x);
  if (op == Op::kBitwiseCount) {
    // Of the magnitude, as NumPy defines it for negative numbers.
    const U magnitude = static_cast<U>(negative ? 0 - x : x);
    return make_scalar(DType::kUInt8, static_cast<uint8_t>(std::popcount(magnitude)));
  }
  if (op == Op::kLeftShift || op == Op::kRightShift) {
    // A count out of range shifts everything out (NumPy's rule; C++ defines nothing).
    const bool in_range = static_cast<U>(b) < static_cast<U>(kBits);
    if (op == Op::kLeftShift) return wrap(in_range ? x << y : 0);
    if (!in_range) return wrap(negative ? ~uint64_t{0} : 0);
    return make_scalar(dtype, static_cast<T>(a >> b));
  }
  if (op == Op::kFloorDivide || op == Op::kRemainder || op == Op::kFmod) {
    if (b == 0 || (std::is_signed_v<T> && b == static_cast<T>(-1))) return {};
    T quotient = static_cast<T>(a / b);
    T remainder = static_cast<T>(a % b);
    if (op == Op::kFmod) return make_scalar(dtype, remainder);
    if (remainder != 0 && (remainder < 0) != (b < 0)) {
      quotient = static_cast<T>(quotient - 1);
      remainder = static_cast<T>(remainder + b);
    }
    return make_scalar(dtype, op == Op::kFloorDivide ? quotient : remainder);
  }
  if (op == Op::kMaximum || op == Op::kFmax) return make_scalar(dtype, a > b ? a : b);
  if (op == Op::kMinimum || op == Op::kFmin) return make_scalar(dtype, a < b ? a : b);
  if (op == Op::kEqual) return truth(a == b);
  if (op == Op::kNotEqual) return truth(a != b);
  if (op == Op::kLess) return truth(a < b);
  if (op == Op::kLessEqual) return truth(a <= b);
  if (op == Op::kGreater) return truth(a > b);
  if (op == Op::kGreaterEqual) return truth(a >= b);
  if (op == Op::kLogicalAnd) return truth(a != 0 && b != 0);
  if (op == Op::kLogicalOr) return truth(a != 0 || b != 0);
  if (op == Op::kLogicalXor) return truth((a != 0) != (b != 0));
  if (op == Op::kLogicalNot) return truth(a == 0);
  if (op == Op::kIsnan || op == Op::kIsinf) return truth(false);
  if (op == Op::kIsfinite) return truth(true);
  return {};
}

Folded fold_bool(Op op, bool a, bool b) {
  auto truth = [](bool value) -> Folded { return make_scalar(DType::kBool, value); };
  if (op == Op::kAdd || op == Op::kLogicalOr || op == Op::kBitwiseOr || op == Op::kMaximum ||
      op == Op::kFmax) {
    return truth(a || b);
  }
  if (op == Op::kMultiply || op == Op::kLogicalAnd || op == Op::kBitwiseAnd || op == Op::kMinimum ||
      op == Op::kFmin) {
    return truth(a && b);
  }
  if (op == Op::kLogicalXor || op == Op::kBitwiseXor || op == Op::kNotEqual) return truth(a != b);
  if (op == Op::kLogicalNot || op == Op::kInvert) return truth(!a);
  if (op == Op::kEqual) return truth(a == b);
  if (op == Op::kLess) return truth(!a && b);
  if (op == Op::kLessEqual) return truth(!a || b);
  if (op == Op::kGreater) return truth(a && !b);
  if (op == Op::kGreaterEqual) return truth(a || !b);
  if (op == Op::kAbsolute) return truth(a);
  if (op == Op::kIsnan || op == Op::kIsinf) return truth(false);
  if (op == Op::kIsfinite) return truth(true);
  return {};
}

// Calls visit(T value) with the C++ type of the dtype; nullopt for float16 and complex.
template <class Visit>
Folded with_value(const ScalarBits& s, Visit visit) {
  switch (s.dtype) {
    case DType::kBool:
      return visit(scalar_value<bool>(s));
    case DType::kInt8:
      return visit(scalar_value<int8_t>(s));
    case DType::kInt16:
      return visit(scalar_value<int16_t>(s));
    case DType::kInt32:
      return visit(scalar_value<int32_t>(s));
    case DType::kInt64:
      return visit(scalar_value<int64_t>(s));
    case DType::kUInt8:
      return visit(scalar_value<uint8_t>(s));
    case DType::kUInt16:
      return visit(scalar_value<uint16_t>(s));
    case DType::kUInt32:
      return visit(scalar_value<uint32_t>(s));
    case DType::kUInt64:
      return visit(scalar_value<uint64_t>(s));
    case DType::kFloat32:
      return visit(scalar_value<float>(s));
    case DType::kFloat64:
      return visit(scalar_value<double>(s));
    case DType::kFloat16:
    case DType::kComplex64:
    case DType::kComplex128:
      return {};
  }
  NUMLIFT_UNREACHABLE();
}

template <class To, class From>
Folded cast_value(From from, DType result) {
  if constexpr (std::is_same_v<To, bool>) {
    return make_scalar(result, from != From{});
  } else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    // -2**63 and 2**63 are doubles, 2**63 - 1 is not.
    const double low = std::is_signed_v<To> ? -std::ldexp(1.0, std::numeric_limits<To>::digits) : 0;
    const double high = std::ldexp(1.0, std::numeric_limits<To>::digits);
    const auto value = std::trunc(static_cast<double>(from));
    if (!(value >= low && value < high)) return {};
    return make_scalar(result, static_cast<To>(from));
  } else if constexpr (std::is_floating_point_v<To>) {
    const FloatConditions conditions;
    const To value = opaque(static_cast<To>(opaque(from)));
    if (conditions.any() || std::isnan(value)) return {};
    return make_scalar(result, value);
  } else {
    return make_scalar(result, static_cast<To>(from));
  }
}

Folded fold_cast(const ScalarBits& from, DType result) {
  ScalarBits like;
  like.dtype = result;
  return with_value(from, [&](auto value) {
    return with_value(like, [&](auto to) { return cast_value<decltype(to)>(value, result); });
  });
}

}  // namespace

std::optional<ScalarBits> fold_scalar(Op op, std::span<const ScalarBits> operands, DType result,
                                      bool may_wrap) {
  if (op == Op::kCast) return fold_cast(operands[0], result);
  if (op == Op::kSelect) return operands[scalar_value<bool>(operands[0]) ? 1 : 2];
  if (op == Op::kMakeComplex || op == Op::kNumpyLoop || operands.size() > 2) return {};
  return with_value(operands[0], [&](auto a) -> Folded {
    using T = decltype(a);
    const T b = operands.size() == 2 ? scalar_value<T>(operands[1]) : T{};
    if constexpr (std::is_same_v<T, bool>) {
      return fold_bool(op, a, b);
    } else if constexpr (std::is_floating_point_v<T>) {
      return fold_float(op, a, b, operands[0].dtype);
    } else {
      return fold_integer(op, a, b, operands[0].dtype, may_wrap);
    }
  });
}

}  // namespace numlift
