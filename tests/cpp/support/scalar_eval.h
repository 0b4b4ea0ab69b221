// The obvious meaning of each elementwise op on one element, by dtype: NumPy's definitions with
// libm's functions. Part of graph_eval.h.
#pragma once

#include <bit>
#include <cfenv>
#include <cmath>
#include <complex>
#include <cstdint>
#include <limits>
#include <span>
#include <stdexcept>
#include <string>
#include <type_traits>

#include "numlift/graph/graph.h"
#include "numlift/graph/scalar.h"

namespace numlift::testing {

struct Half {  // float16: computed as float, rounded after each op
  uint16_t bits = 0;
};

// Calls visit(T{}) with the C++ type of the dtype (Half for float16).
template <class Visit>
auto with_ctype(DType dtype, Visit visit) {
  switch (dtype) {
    case DType::kBool:
      return visit(bool{});
    case DType::kInt8:
      return visit(int8_t{});
    case DType::kInt16:
      return visit(int16_t{});
    case DType::kInt32:
      return visit(int32_t{});
    case DType::kInt64:
      return visit(int64_t{});
    case DType::kUInt8:
      return visit(uint8_t{});
    case DType::kUInt16:
      return visit(uint16_t{});
    case DType::kUInt32:
      return visit(uint32_t{});
    case DType::kUInt64:
      return visit(uint64_t{});
    case DType::kFloat16:
      return visit(Half{});
    case DType::kFloat32:
      return visit(float{});
    case DType::kFloat64:
      return visit(double{});
    case DType::kComplex64:
      return visit(std::complex<float>{});
    case DType::kComplex128:
      return visit(std::complex<double>{});
  }
  NUMLIFT_UNREACHABLE();
}

template <class T>
inline constexpr bool is_complex_type =
    std::is_same_v<T, std::complex<float>> || std::is_same_v<T, std::complex<double>>;

// Keeps the compiler from folding an operation or moving it across a reading of the flags.
template <class T>
T opaque(T value) {
  volatile T hidden = value;
  return hidden;
}

// Ops that NumPy reports nothing of (comparisons, maximum) see nothing.
class WatchConditions {
 public:
  explicit WatchConditions(FpRule rule = FpRule::kExact) : rule_(rule) {
    std::feclearexcept(FE_ALL_EXCEPT);
  }
  uint8_t seen() const {
    if (rule_ == FpRule::kNone) return kFpNone;
    const int flags = std::fetestexcept(FE_DIVBYZERO | FE_OVERFLOW | FE_INVALID);
    return static_cast<uint8_t>(((flags & FE_DIVBYZERO) != 0 ? kFpDivide : 0) |
                                ((flags & FE_OVERFLOW) != 0 ? kFpOver : 0) |
                                ((flags & FE_INVALID) != 0 ? kFpInvalid : 0));
  }

 private:
  FpRule rule_;
};

[[noreturn]] inline void no_meaning(Op op, DType dtype) {
  throw std::logic_error("no meaning of " + std::string(op_info(op).text) + " on " +
                         std::string(dtype_text(dtype)));
}

// ---------------------------------------------------------------- floats

// b is not 0. Comparisons are quiet: NumPy reports nothing for NaN operands.
template <class T>
T floor_divide(T a, T b, T* modulus) {
  T mod = std::fmod(a, b);
  T quotient = (a - mod) / b;
  if (mod != 0) {
    if (std::isless(b, T{0}) != std::isless(mod, T{0})) {
      mod += b;
      quotient -= 1;
    }
  } else {
    mod = std::copysign(T{0}, b);
  }
  *modulus = mod;
  if (quotient == 0) return std::copysign(T{0}, a / b);
  T floored = std::floor(quotient);
  if (std::isgreater(quotient - floored, T{0.5})) floored += 1;
  return floored;
}

template <class T>
T float_op(Op op, T a, T b, DType dtype) {
  const T pi = static_cast<T>(3.14159265358979323846L);
  T modulus{};
  if (op == Op::kAdd) return opaque(a) + opaque(b);
  if (op == Op::kSubtract) return opaque(a) - opaque(b);
  if (op == Op::kMultiply) return opaque(a) * opaque(b);
  if (op == Op::kDivide) return opaque(a) / opaque(b);
  if (op == Op::kFloorDivide) return b == 0 ? opaque(a) / opaque(b) : floor_divide(a, b, &modulus);
  if (op == Op::kRemainder) {
    if (b == 0) return std::fmod(a, b);
    floor_divide(a, b, &modulus);
    return modulus;
  }
  if (op == Op::kFmod) return std::fmod(a, b);
  if (op == Op::kPower) return std::pow(a, b);
  if (op == Op::kNegative) return -a;
  if (op == Op::kPositive || op == Op::kConjugate) return a;
  if (op == Op::kAbsolute) return std::fabs(a);
  if (op == Op::kSign) return std::isnan(a) ? a : static_cast<T>((a > 0) - (a < 0));
  if (op == Op::kSquare) return opaque(a) * opaque(a);
  if (op == Op::kReciprocal) return T{1} / opaque(a);
  if (op == Op::kSqrt) return std::sqrt(opaque(a));
  if (op == Op::kCbrt) return std::cbrt(a);
  if (op == Op::kExp) return std::exp(a);
  if (op == Op::kExp2) return std::exp2(a);
  if (op == Op::kExpm1) return std::expm1(a);
  if (op == Op::kLog) return std::log(a);
  if (op == Op::kLog2) return std::log2(a);
  if (op == Op::kLog10) return std::log10(a);
  if (op == Op::kLog1p) return std::log1p(a);
  if (op == Op::kSin) return std::sin(a);
  if (op == Op::kCos) return std::cos(a);
  if (op == Op::kTan) return std::tan(a);
  if (op == Op::kArcsin) return std::asin(a);
  if (op == Op::kArccos) return std::acos(a);
  if (op == Op::kArctan) return std::atan(a);
  if (op == Op::kSinh) return std::sinh(a);
  if (op == Op::kCosh) return std::cosh(a);
  if (op == Op::kTanh) return std::tanh(a);
  if (op == Op::kArcsinh) return std::asinh(a);
  if (op == Op::kArccosh) return std::acosh(a);
  if (op == Op::kArctanh) return std::atanh(a);
  if (op == Op::kArctan2) return std::atan2(a, b);
  if (op == Op::kHypot) return std::hypot(a, b);
  if (op == Op::kDeg2rad) return opaque(a) * (pi / T{180});
  if (op == Op::kRad2deg) return opaque(a) * (T{180} / pi);
  if (op == Op::kMaximum) return a >= b || std::isnan(a) ? a : b;
  if (op == Op::kMinimum) return a <= b || std::isnan(a) ? a : b;
  if (op == Op::kFmax) return a >= b || std::isnan(b) ? a : b;
  if (op == Op::kFmin) return a <= b || std::isnan(b) ? a : b;
  if (op == Op::kCopysign) return std::copysign(a, b);
  if (op == Op::kFloor) return std::floor(a);
  if (op == Op::kCeil) return std::ceil(a);
  if (op == Op::kTrunc) return std::trunc(a);
  if (op == Op::kRint) return std::nearbyint(a);
  no_meaning(op, dtype);
}

template <class T>
bool float_test(Op op, T a, T b, DType dtype) {
  if (op == Op::kEqual) return a == b;
  if (op == Op::kNotEqual) return a != b;
  if (op == Op::kLess) return std::isless(a, b);
  if (op == Op::kLessEqual) return std::islessequal(a, b);
  if (op == Op::kGreater) return std::isgreater(a, b);
  if (op == Op::kGreaterEqual) return std::isgreaterequal(a, b);
  if (op == Op::kLogicalAnd) return a != 0 && b != 0;
  if (op == Op::kLogicalOr) return a != 0 || b != 0;
  if (op == Op::kLogicalXor) return (a != 0) != (b != 0);
  if (op == Op::kLogicalNot) return a == 0;
  if (op == Op::kIsnan) return std::isnan(a);
  if (op == Op::kIsinf) return std::isinf(a);
  if (op == Op::kIsfinite) return std::isfinite(a);
  if (op == Op::kSignbit) return std::signbit(a);
  no_meaning(op, dtype);
}

// ---------------------------------------------------------------- complex

template <class T>
std::complex<T> divide(std::complex<T> a, std::complex<T> b) {  // Smith's method, as NumPy
  const T ar = a.real(), ai = a.imag(), br = b.real(), bi = b.imag();
  if (std::fabs(br) >= std::fabs(bi)) {
    if (br == 0 && bi == 0) return {opaque(ar) / std::fabs(br), opaque(ai) / std::fabs(br)};
    const T ratio = bi / br;
    const T scale = T{1} / (br + bi * ratio);
    return {(ar + ai * ratio) * scale, (ai - ar * ratio) * scale};
  }
  const T ratio = br / bi;
  const T scale = T{1} / (bi + br * ratio);
  return {(ar * ratio + ai) * scale, (ai * ratio - ar) * scale};
}

template <class T>
bool has_nan(std::complex<T> a) {
  return std::isnan(a.real()) || std::isnan(a.imag());
}

template <class T>
bool complex_less(std::complex<T> a, std::complex<T> b, bool or_equal) {
  if (has_nan(a) || has_nan(b)) return false;
  if (a.real() != b.real()) return a.real() < b.real();
  return or_equal ? a.imag() <= b.imag() : a.imag() < b.imag();
}

template <class T>
std::complex<T> complex_op(Op op, std::complex<T> a, std::complex<T> b, DType dtype) {
  using C = std::complex<T>;
  const T ar = a.real(), ai = a.imag(), br = b.real(), bi = b.imag();
  const T ln2 = static_cast<T>(0.693147180559945309417L);
  const T ln10 = static_cast<T>(2.302585092994045684018L);
  if (op == Op::kAdd) return a + b;
  if (op == Op::kSubtract) return a - b;
  if (op == Op::kMultiply) return C(ar * br - ai * bi, ar * bi + ai * br);
  if (op == Op::kDivide) return divide(a, b);
  if (op == Op::kPower) return a == C(0) && b == C(0) ? C(1) : std::pow(a, b);
  if (op == Op::kNegative) return -a;
  if (op == Op::kPositive) return a;
  if (op == Op::kConjugate) return std::conj(a);
  if (op == Op::kSign) return a == C(0) ? C(0) : a / std::abs(a);
  if (op == Op::kSquare) return C(ar * ar - ai * ai, ar * ai + ai * ar);
  if (op == Op::kReciprocal) return divide(C(1), a);
  if (op == Op::kSqrt) return std::sqrt(a);
  if (op == Op::kExp) return std::exp(a);
  if (op == Op::kExp2) return std::exp(a * ln2);
  if (op == Op::kExpm1) {
    const T half_sine = std::sin(ai / 2);
    return C(std::expm1(ar) * std::cos(ai) - 2 * half_sine * half_sine,
             std::exp(ar) * std::sin(ai));
  }
  if (op == Op::kLog) return std::log(a);
  if (op == Op::kLog2) return std::log(a) / ln2;
  if (op == Op::kLog10) return std::log(a) / ln10;
  if (op == Op::kLog1p) return C(std::log(std::hypot(ar + 1, ai)), std::atan2(ai, ar + 1));
  if (op == Op::kSin) return std::sin(a);
  if (op == Op::kCos) return std::cos(a);
  if (op == Op::kTan) return std::tan(a);
  if (op == Op::kArcsin) return std::asin(a);
  if (op == Op::kArccos) return std::acos(a);
  if (op == Op::kArctan) return std::atan(a);
  if (op == Op::kSinh) return std::sinh(a);
  if (op == Op::kCosh) return std::cosh(a);
  if (op == Op::kTanh) return std::tanh(a);
  if (op == Op::kArcsinh) return std::asinh(a);
  if (op == Op::kArccosh) return std::acosh(a);
  if (op == Op::kArctanh) return std::atanh(a);
  if (op == Op::kMaximum) return complex_less(b, a, true) || has_nan(a) ? a : b;
  if (op == Op::kMinimum) return complex_less(a, b, true) || has_nan(a) ? a : b;
  if (op == Op::kFmax) return complex_less(b, a, true) || has_nan(b) ? a : b;
  if (op == Op::kFmin) return complex_less(a, b, true) || has_nan(b) ? a : b;
  if (op == Op::kRint) return C(std::nearbyint(ar), std::nearbyint(ai));
  no_meaning(op, dtype);
}

template <class T>
bool complex_test(Op op, std::complex<T> a, std::complex<T> b, DType dtype) {
  const bool a_true = a.real() != 0 || a.imag() != 0;
  const bool b_true = b.real() != 0 || b.imag() != 0;
  if (op == Op::kEqual) return a.real() == b.real() && a.imag() == b.imag();
  if (op == Op::kNotEqual) return a.real() != b.real() || a.imag() != b.imag();
  if (op == Op::kLess) return complex_less(a, b, false);
  if (op == Op::kLessEqual) return complex_less(a, b, true);
  if (op == Op::kGreater) return complex_less(b, a, false);
  if (op == Op::kGreaterEqual) return complex_less(b, a, true);
  if (op == Op::kLogicalAnd) return a_true && b_true;
  if (op == Op::kLogicalOr) return a_true || b_true;
  if (op == Op::kLogicalXor) return a_true != b_true;
  if (op == Op::kLogicalNot) return !a_true;
  if (op == Op::kIsnan) return has_nan(a);
  if (op == Op::kIsinf) return std::isinf(a.real()) || std::isinf(a.imag());
  if (op == Op::kIsfinite) return std::isfinite(a.real()) && std::isfinite(a.imag());
  no_meaning(op, dtype);
}

// ---------------------------------------------------------------- integers and bool

template <class T>
T integer_power(T base, T exponent) {
  uint64_t result = 1, square = static_cast<uint64_t>(base);
  for (auto left = static_cast<uint64_t>(exponent); left != 0; left >>= 1) {
    if ((left & 1) != 0) result *= square;
    square *= square;
  }
  return static_cast<T>(result);
}

template <class T>
T integer_op(Op op, T a, T b, DType dtype, uint8_t* conditions) {
  const auto x = static_cast<uint64_t>(a), y = static_cast<uint64_t>(b);
  constexpr unsigned kBits = sizeof(T) * 8;
  const bool negative = a < T{0};
  if (op == Op::kAdd) return static_cast<T>(x + y);
  if (op == Op::kSubtract) return static_cast<T>(x - y);
  if (op == Op::kMultiply) return static_cast<T>(x * y);
  if (op == Op::kSquare) return static_cast<T>(x * x);
  if (op == Op::kNegative) return static_cast<T>(0 - x);
  if (op == Op::kPositive || op == Op::kConjugate || op == Op::kFloor || op == Op::kCeil ||
      op == Op::kTrunc) {
    return a;
  }
  if (op == Op::kAbsolute) return negative ? static_cast<T>(0 - x) : a;
  if (op == Op::kSign) return static_cast<T>((a > T{0}) - negative);
  if (op == Op::kBitwiseAnd) return static_cast<T>(x & y);
  if (op == Op::kBitwiseOr) return static_cast<T>(x | y);
  if (op == Op::kBitwiseXor) return static_cast<T>(x ^ y);
  if (op == Op::kInvert) return static_cast<T>(~x);
  if (op == Op::kMaximum || op == Op::kFmax) return a > b ? a : b;
  if (op == Op::kMinimum || op == Op::kFmin) return a < b ? a : b;
  if (op == Op::kLeftShift) return b >= T{0} && y < kBits ? static_cast<T>(x << y) : T{0};
  if (op == Op::kRightShift) {
    if (b >= T{0} && y < kBits) return static_cast<T>(a >> b);
    return negative ? static_cast<T>(-1) : T{0};
  }
  if (op == Op::kPower) {
    if (b < T{0}) *conditions |= kFpInvalid;  // NumPy raises ValueError
    return b < T{0} ? T{0} : integer_power(a, b);
  }
  if (op == Op::kReciprocal) {
    if (a == T{0}) *conditions |= kFpDivide;
    return a == T{0} ? T{0} : static_cast<T>(T{1} / a);
  }
  if (op == Op::kFloorDivide || op == Op::kRemainder || op == Op::kFmod) {
    if (b == T{0}) {
      *conditions |= kFpDivide;
      return T{0};
    }
    if (std::is_signed_v<T> && b == static_cast<T>(-1)) {
      if (a == std::numeric_limits<T>::min() && op == Op::kFloorDivide) *conditions |= kFpOver;
      return op == Op::kFloorDivide ? static_cast<T>(0 - x) : T{0};
    }
    const T remainder = static_cast<T>(a % b);
    if (op == Op::kFmod) return remainder;
    const bool adjust = remainder != T{0} && (remainder < T{0}) != (b < T{0});
    if (op == Op::kRemainder) return static_cast<T>(adjust ? remainder + b : remainder);
    return static_cast<T>(a / b - (adjust ? 1 : 0));
  }
  no_meaning(op, dtype);
}

template <class T>
bool integer_test(Op op, T a, T b, DType dtype) {
  if (op == Op::kEqual) return a == b;
  if (op == Op::kNotEqual) return a != b;
  if (op == Op::kLess) return a < b;
  if (op == Op::kLessEqual) return a <= b;
  if (op == Op::kGreater) return a > b;
  if (op == Op::kGreaterEqual) return a >= b;
  if (op == Op::kLogicalAnd) return a != T{} && b != T{};
  if (op == Op::kLogicalOr) return a != T{} || b != T{};
  if (op == Op::kLogicalXor) return (a != T{}) != (b != T{});
  if (op == Op::kLogicalNot) return a == T{};
  if (op == Op::kIsnan || op == Op::kIsinf) return false;
  if (op == Op::kIsfinite) return true;
  no_meaning(op, dtype);
}

inline bool bool_op(Op op, bool a, bool b) {
  if (op == Op::kAdd || op == Op::kBitwiseOr || op == Op::kMaximum || op == Op::kFmax)
    return a || b;
  if (op == Op::kMultiply || op == Op::kBitwiseAnd || op == Op::kMinimum || op == Op::kFmin) {
    return a && b;
  }
  if (op == Op::kBitwiseXor) return a != b;
  if (op == Op::kInvert) return !a;
  if (op == Op::kAbsolute || op == Op::kFloor || op == Op::kCeil || op == Op::kTrunc) return a;
  no_meaning(op, DType::kBool);
}

// ---------------------------------------------------------------- casts

template <class To, class From>
To cast_number(From from, uint8_t* conditions) {
  if constexpr (std::is_same_v<From, Half>) {
    if constexpr (std::is_same_v<To, Half>) {
      return from;
    } else {
      return cast_number<To>(half_to_float(from.bits), conditions);
    }
  } else if constexpr (is_complex_type<To>) {
    using Part = typename To::value_type;
    if constexpr (is_complex_type<From>) {
      return To(cast_number<Part>(from.real(), conditions),
                cast_number<Part>(from.imag(), conditions));
    } else {
      return To(cast_number<Part>(from, conditions), 0);
    }
  } else if constexpr (is_complex_type<From>) {
    if constexpr (std::is_same_v<To, bool>) {
      return from.real() != 0 || from.imag() != 0;
    } else {
      return cast_number<To>(from.real(), conditions);
    }
  } else if constexpr (std::is_same_v<To, bool>) {
    return from != From{};
  } else if constexpr (std::is_same_v<To, Half>) {
    const auto value = static_cast<double>(from);
    const Half half{double_to_half(value)};
    if (std::isfinite(value) && std::isinf(half_to_float(half.bits))) *conditions |= kFpOver;
    return half;
  } else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    const auto whole = static_cast<double>(std::trunc(from));
    const double low = static_cast<double>(std::numeric_limits<To>::min());
    const double high = std::ldexp(1.0, std::numeric_limits<To>::digits);
    if (!(whole >= low && whole < high)) {
      *conditions |= kFpInvalid;
      return To{};
    }
    return static_cast<To>(from);
  } else {
    const WatchConditions watch;
    const To to = opaque(static_cast<To>(opaque(from)));
    if constexpr (std::is_floating_point_v<To>) *conditions |= watch.seen();
    return to;
  }
}

inline ScalarBits cast_scalar(const ScalarBits& from, DType result, uint8_t* conditions) {
  return with_ctype(from.dtype, [&](auto like) {
    using From = decltype(like);
    const From value = scalar_value<From>(from);
    return with_ctype(result, [&](auto to_like) {
      return make_scalar(result, cast_number<decltype(to_like)>(value, conditions));
    });
  });
}

// Operators on NumPy's integer scalars report overflow.
inline uint8_t overflow_of_scalars(Op op, std::span<const ScalarBits> operands) {
  return with_ctype(operands[0].dtype, [&](auto like) -> uint8_t {
    using T = decltype(like);
    if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
      const T a = scalar_value<T>(operands[0]);
      const T b = operands.size() > 1 ? scalar_value<T>(operands[1]) : T{};
      T ignored{};
      bool overflow = false;
      if (op == Op::kAdd) overflow = __builtin_add_overflow(a, b, &ignored);
      if (op == Op::kSubtract) overflow = __builtin_sub_overflow(a, b, &ignored);
      if (op == Op::kMultiply) overflow = __builtin_mul_overflow(a, b, &ignored);
      const bool negates = op == Op::kNegative || (op == Op::kAbsolute && a < T{0});
      if (negates) overflow = __builtin_sub_overflow(T{0}, a, &ignored);
      return overflow ? kFpOver : kFpNone;
    }
    return kFpNone;
  });
}

// ---------------------------------------------------------------- one element

// `conditions` gets the FpChecks bits that NumPy would see.
inline ScalarBits evaluate_scalar(Op op, std::span<const ScalarBits> operands, DType result,
                                  uint8_t* conditions) {
  *conditions = 0;
  if (op == Op::kCast) return cast_scalar(operands[0], result, conditions);
  if (op == Op::kSelect) return operands[scalar_value<bool>(operands[0]) ? 1 : 2];
  const DType dtype = operands[0].dtype;
  const bool test = op_info(op).result == ResultRule::kBool;
  return with_ctype(dtype, [&](auto like) -> ScalarBits {
    using T = decltype(like);
    const T a = scalar_value<T>(operands[0]);
    const T b = operands.size() > 1 ? scalar_value<T>(operands[1]) : T{};
    if constexpr (std::is_same_v<T, Half>) {
      const float x = half_to_float(a.bits), y = half_to_float(b.bits);
      if (test) return make_scalar(DType::kBool, float_test(op, x, y, dtype));
      const WatchConditions watch(op_info(op).fp);
      const float value = float_op(op, x, y, dtype);
      *conditions = watch.seen();
      return make_scalar(dtype, cast_number<Half>(value, conditions));
    } else if constexpr (is_complex_type<T>) {
      using Part = typename T::value_type;
      if (test) return make_scalar(DType::kBool, complex_test(op, a, b, dtype));
      if (op == Op::kReal) return make_scalar(real_part(dtype), a.real());
      if (op == Op::kImag) return make_scalar(real_part(dtype), a.imag());
      const WatchConditions watch(op_info(op).fp);
      if (op == Op::kAbsolute) {
        const Part magnitude = std::hypot(a.real(), a.imag());
        *conditions = watch.seen();
        return make_scalar(real_part(dtype), magnitude);
      }
      const T value = complex_op(op, a, b, dtype);
      *conditions = watch.seen();
      return make_scalar(dtype, value);
    } else if constexpr (std::is_floating_point_v<T>) {
      if (op == Op::kMakeComplex) return make_scalar(result, std::complex<T>(a, b));
      if (test) return make_scalar(DType::kBool, float_test(op, a, b, dtype));
      const WatchConditions watch(op_info(op).fp);
      const T value = opaque(float_op(op, a, b, dtype));
      *conditions = watch.seen();
      return make_scalar(dtype, value);
    } else if constexpr (std::is_same_v<T, bool>) {
      if (test) return make_scalar(DType::kBool, integer_test(op, a, b, dtype));
      return make_scalar(DType::kBool, bool_op(op, a, b));
    } else {
      if (test) return make_scalar(DType::kBool, integer_test(op, a, b, dtype));
      if (op == Op::kBitwiseCount) {
        using U = std::make_unsigned_t<T>;
        const auto magnitude =
            static_cast<U>(a < T{0} ? 0 - static_cast<uint64_t>(a) : static_cast<uint64_t>(a));
        return make_scalar(DType::kUInt8, static_cast<uint8_t>(std::popcount(magnitude)));
      }
      return make_scalar(dtype, integer_op(op, a, b, dtype, conditions));
    }
  });
}

}  // namespace numlift::testing
