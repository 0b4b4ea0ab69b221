// NumPy's ufunc loops restated for one element, in plain C++: what generated code must equal.
#pragma once

#include <cmath>
#include <complex>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "numlift/graph/op.h"
#include "numlift/support/check.h"

namespace numlift::codegen::test {

struct Bool8 {
  uint8_t value = 0;
  explicit operator bool() const { return value != 0; }
  bool operator==(const Bool8&) const = default;
};
inline Bool8 bool8(bool value) { return {static_cast<uint8_t>(value)}; }

template <class T>
inline constexpr bool kIsComplex = false;
template <class T>
inline constexpr bool kIsComplex<std::complex<T>> = true;
template <class T>
inline constexpr bool kIsHalf = std::is_same_v<T, _Float16>;
template <class T>
inline constexpr bool kIsFloat = std::is_floating_point_v<T> || kIsHalf<T>;

// The outcome of one element: `restart` when NumPy warns or raises.
template <class R>
struct Outcome {
  R value{};
  bool restart = false;
};

template <class T>
bool is_true(T x) {
  if constexpr (kIsComplex<T>)
    return x.real() != 0 || x.imag() != 0;
  else if constexpr (std::is_same_v<T, Bool8>)
    return x.value != 0;
  else
    return x != T(0);
}

// Ops with bool results.
template <class T>
Bool8 reference_predicate(Op op, T a, T b) {
  const auto each = [&](auto test) {
    if constexpr (kIsComplex<T>)
      return std::pair(test(a.real()), test(a.imag()));
    else
      return std::pair(test(a), false);
  };
  if constexpr (kIsFloat<T> || kIsComplex<T>) {
    if (op == Op::kIsnan) {
      const auto [re, im] = each([](auto x) { return x != x; });
      return bool8(re || im);
    }
    if (op == Op::kIsinf) {
      const auto [re, im] = each([](auto x) { return std::isinf(static_cast<double>(x)); });
      return bool8(re || im);
    }
    if (op == Op::kIsfinite) {
      const auto [re, im] = each([](auto x) { return !std::isfinite(static_cast<double>(x)); });
      return bool8(!re && !im);
    }
  } else {
    if (op == Op::kIsnan || op == Op::kIsinf) return bool8(false);
    if (op == Op::kIsfinite) return bool8(true);
  }
  switch (op) {
    case Op::kEqual:
      return bool8(a == b);
    case Op::kNotEqual:
      return bool8(!(a == b));
    case Op::kLogicalAnd:
      return bool8(is_true(a) && is_true(b));
    case Op::kLogicalOr:
      return bool8(is_true(a) || is_true(b));
    case Op::kLogicalXor:
      return bool8(is_true(a) != is_true(b));
    case Op::kLogicalNot:
      return bool8(!is_true(a));
    default:
      break;
  }
  if constexpr (std::is_same_v<T, Bool8>) {
    return reference_predicate<uint8_t>(op, a.value, b.value);
  } else if constexpr (!kIsComplex<T>) {
    switch (op) {
      case Op::kLess:
        return bool8(a < b);
      case Op::kLessEqual:
        return bool8(a <= b);
      case Op::kGreater:
        return bool8(a > b);
      case Op::kGreaterEqual:
        return bool8(a >= b);
      case Op::kSignbit:
        return bool8(std::signbit(static_cast<double>(a)));
      default:
        break;
    }
  }
  NUMLIFT_UNREACHABLE();
}

template <class T>
Outcome<T> reference_integer(Op op, T a, T b) {
  using U = std::make_unsigned_t<T>;
  constexpr int kBits = static_cast<int>(sizeof(T) * 8);
  constexpr bool kSigned = std::is_signed_v<T>;
  const auto wrap = [](auto x) { return static_cast<T>(static_cast<U>(x)); };
  // Wide enough that no product of small types is undefined.
  const auto ua = static_cast<uint64_t>(static_cast<U>(a)),
             ub = static_cast<uint64_t>(static_cast<U>(b));
  switch (op) {
    case Op::kAdd:
      return {wrap(ua + ub)};
    case Op::kSubtract:
      return {wrap(ua - ub)};
    case Op::kMultiply:
      return {wrap(ua * ub)};
    case Op::kSquare:
      return {wrap(ua * ua)};
    case Op::kNegative:
      return {wrap(0 - ua)};
    case Op::kPositive:
    case Op::kConjugate:
    case Op::kFloor:
    case Op::kCeil:
    case Op::kTrunc:
      return {a};
    case Op::kAbsolute:
      return {a < T(0) ? wrap(0 - ua) : a};
    case Op::kSign:
      return {static_cast<T>(a > T(0) ? 1 : (a < T(0) ? -1 : 0))};
    case Op::kBitwiseAnd:
      return {wrap(ua & ub)};
    case Op::kBitwiseOr:
      return {wrap(ua | ub)};
    case Op::kBitwiseXor:
      return {wrap(ua ^ ub)};
    case Op::kInvert:
      return {wrap(~ua)};
    case Op::kMaximum:
    case Op::kFmax:
      return {a > b ? a : b};
    case Op::kMinimum:
    case Op::kFmin:
      return {a < b ? a : b};
    case Op::kLeftShift:
      return {ub < kBits ? wrap(ua << ub) : T(0)};
    case Op::kRightShift:
      return {ub < kBits ? static_cast<T>(a >> ub) : static_cast<T>(kSigned && a < T(0) ? -1 : 0)};
    case Op::kFloorDivide:
    case Op::kRemainder:
    case Op::kFmod: {
      if (b == T(0)) return {T(0), true};
      if constexpr (kSigned) {
        if (a == std::numeric_limits<T>::min() && b == T(-1))
          return {op == Op::kFloorDivide ? a : T(0), op == Op::kFloorDivide};
      }
      const T rest = static_cast<T>(a % b), quotient = static_cast<T>(a / b);
      if (op == Op::kFmod) return {rest};
      const bool adjust = rest != T(0) && ((rest < T(0)) != (b < T(0)));
      if (op == Op::kRemainder) return {adjust ? static_cast<T>(rest + b) : rest};
      return {adjust ? static_cast<T>(quotient - 1) : quotient};
    }
    case Op::kPower: {
      if (b < T(0)) return {T(0), true};
      uint64_t result = 1, base = ua;
      for (uint64_t e = ub; e; e >>= 1, base *= base)
        if (e & 1) result *= base;
      return {wrap(result)};
    }
    default:
      NUMLIFT_UNREACHABLE();
  }
}

inline Bool8 reference_bool(Op op, Bool8 a, Bool8 b) {
  switch (op) {
    case Op::kAdd:
    case Op::kMaximum:
    case Op::kFmax:
    case Op::kBitwiseOr:
      return {uint8_t(a.value | b.value)};
    case Op::kMultiply:
    case Op::kMinimum:
    case Op::kFmin:
    case Op::kBitwiseAnd:
      return {uint8_t(a.value & b.value)};
    case Op::kBitwiseXor:
      return {uint8_t(a.value ^ b.value)};
    case Op::kInvert:
      return bool8(!a.value);
    case Op::kAbsolute:
      return a;
    default:
      NUMLIFT_UNREACHABLE();
  }
}

// T is float or double; half: float16's tie rule between equal zeros.
template <class T>
T reference_float(Op op, T a, T b, bool half) {
  constexpr T kPi = static_cast<T>(3.14159265358979323846L);
  switch (op) {
    case Op::kAdd:
      return a + b;
    case Op::kSubtract:
      return a - b;
    case Op::kMultiply:
      return a * b;
    case Op::kDivide:
      return a / b;
    case Op::kSquare:
      return a * a;
    case Op::kReciprocal:
      return T(1) / a;
    case Op::kDeg2rad:
      return a * (kPi / T(180));
    case Op::kRad2deg:
      return a * (T(180) / kPi);
    case Op::kSqrt:
      return std::sqrt(a);
    case Op::kNegative:
      return -a;
    case Op::kPositive:
    case Op::kConjugate:
      return a;
    case Op::kAbsolute:
      return std::fabs(a);
    case Op::kFloor:
      return std::floor(a);
    case Op::kCeil:
      return std::ceil(a);
    case Op::kTrunc:
      return std::trunc(a);
    case Op::kRint:
      return std::nearbyint(a);
    case Op::kCopysign:
      return std::copysign(a, b);
    case Op::kSign:
      return a > 0 ? T(1) : (a < 0 ? T(-1) : (a == 0 ? T(0) : a));
    case Op::kMaximum:
      return (a != a || a > b || (half && a == b)) ? a : b;
    case Op::kMinimum:
      return (a != a || a < b || (half && a == b)) ? a : b;
    case Op::kFmax:
      return (b != b || a > b || (half && a == b)) ? a : b;
    case Op::kFmin:
      return (b != b || a < b || (half && a == b)) ? a : b;
    case Op::kFmod:
      return std::fmod(a, b);
    case Op::kFloorDivide:
    case Op::kRemainder: {
      T rest = std::fmod(a, b);
      if (b == 0) return op == Op::kRemainder ? rest : a / b;
      T quotient = (a - rest) / b;
      if (rest != 0) {
        if ((b < 0) != (rest < 0)) {
          rest += b;
          quotient -= 1;
        }
      } else {
        rest = std::copysign(T(0), b);
      }
      if (op == Op::kRemainder) return rest;
      if (quotient == 0) return std::copysign(T(0), a / b);
      T floor = std::floor(quotient);
      return quotient - floor > T(0.5) ? floor + 1 : floor;
    }
    case Op::kExp:
      return std::exp(a);
    case Op::kExp2:
      return std::exp2(a);
    case Op::kExpm1:
      return std::expm1(a);
    case Op::kLog:
      return std::log(a);
    case Op::kLog2:
      return std::log2(a);
    case Op::kLog10:
      return std::log10(a);
    case Op::kLog1p:
      return std::log1p(a);
    case Op::kSin:
      return std::sin(a);
    case Op::kCos:
      return std::cos(a);
    case Op::kTan:
      return std::tan(a);
    case Op::kArcsin:
      return std::asin(a);
    case Op::kArccos:
      return std::acos(a);
    case Op::kArctan:
      return std::atan(a);
    case Op::kSinh:
      return std::sinh(a);
    case Op::kCosh:
      return std::cosh(a);
    case Op::kTanh:
      return std::tanh(a);
    case Op::kArcsinh:
      return std::asinh(a);
    case Op::kArccosh:
      return std::acosh(a);
    case Op::kArctanh:
      return std::atanh(a);
    case Op::kCbrt:
      return std::cbrt(a);
    case Op::kArctan2:
      return std::atan2(a, b);
    case Op::kHypot:
      return std::hypot(a, b);
    case Op::kPower:
      return std::pow(a, b);
    default:
      NUMLIFT_UNREACHABLE();
  }
}

template <class T>
std::complex<T> reference_complex(Op op, std::complex<T> x, std::complex<T> y) {
  const T a = x.real(), b = x.imag(), c = y.real(), d = y.imag();
  const auto fused = [](T p, T q, T r) { return std::fma(p, q, r); };
  switch (op) {
    case Op::kAdd:
      return {a + c, b + d};
    case Op::kSubtract:
      return {a - c, b - d};
    case Op::kMultiply:
      return {fused(a, c, -(b * d)), fused(a, d, b * c)};
    case Op::kSquare:
      return {fused(a, a, -(b * b)), fused(a, b, b * a)};
    case Op::kPositive:
      return x;
    case Op::kNegative:
      return {-a, -b};
    case Op::kConjugate:
      return {a, -b};
    case Op::kRint:
      return {std::nearbyint(a), std::nearbyint(b)};
    case Op::kDivide: {
      const T abs_c = std::fabs(c), abs_d = std::fabs(d);
      if (abs_c >= abs_d) {
        if (abs_c == 0 && abs_d == 0) return {a / abs_c, b / abs_c};
        const T ratio = d / c, scale = T(1) / (c + d * ratio);
        return {(a + b * ratio) * scale, (b - a * ratio) * scale};
      }
      const T ratio = c / d, scale = T(1) / (d + c * ratio);
      return {(a * ratio + b) * scale, (b * ratio - a) * scale};
    }
    case Op::kReciprocal: {
      if (std::fabs(b) <= std::fabs(a)) {
        const T ratio = b / a, divisor = a + b * ratio;
        return {T(1) / divisor, -ratio / divisor};
      }
      const T ratio = a / b, divisor = a * ratio + b;
      return {ratio / divisor, T(-1) / divisor};
    }
    case Op::kExp:
      return std::exp(x);
    case Op::kLog:
      return std::log(x);
    case Op::kSqrt:
      return std::sqrt(x);
    case Op::kSin:
      return std::sin(x);
    case Op::kCos:
      return std::cos(x);
    case Op::kTan:
      return std::tan(x);
    case Op::kSinh:
      return std::sinh(x);
    case Op::kCosh:
      return std::cosh(x);
    case Op::kTanh:
      return std::tanh(x);
    default:
      NUMLIFT_UNREACHABLE();
  }
}

}  // namespace numlift::codegen::test
