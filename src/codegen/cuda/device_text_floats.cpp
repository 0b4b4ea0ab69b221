// Floats and complex numbers with NumPy's semantics, casts, and the look at results that NumPy
// would warn of.
#include "device_text.h"

namespace numlift::codegen::cuda {

const char* const kDeviceFloats = R"CUDA(
// ---- tests
template <class T> NL_DEVICE bool nl_isnan(T) { return false; }
template <class T> NL_DEVICE bool nl_isinf(T) { return false; }
template <class T> NL_DEVICE bool nl_isfinite(T) { return true; }
template <class T> NL_DEVICE bool nl_true(T a) { return a != (T)0; }
template <> __device__ __forceinline__ bool nl_true<bool>(bool a) { return a; }
#define NL_TESTS(T, Bits, infinity)                                                            \
  template <> __device__ __forceinline__ bool nl_isnan<T>(T a) {                               \
    return (nl_bits<Bits>(a) & (Bits)~((Bits)1 << (8 * sizeof(T) - 1))) > infinity;            \
  }                                                                                            \
  template <> __device__ __forceinline__ bool nl_isinf<T>(T a) {                               \
    return (nl_bits<Bits>(a) & (Bits)~((Bits)1 << (8 * sizeof(T) - 1))) == infinity;           \
  }                                                                                            \
  template <> __device__ __forceinline__ bool nl_isfinite<T>(T a) {                            \
    return (nl_bits<Bits>(a) & (Bits)~((Bits)1 << (8 * sizeof(T) - 1))) < infinity;            \
  }                                                                                            \
  template <> __device__ __forceinline__ bool nl_true<T>(T a) {                                \
    return (nl_bits<Bits>(a) & (Bits)~((Bits)1 << (8 * sizeof(T) - 1))) != 0;                  \
  }                                                                                            \
  NL_DEVICE bool nl_signbit(T a) { return nl_bits<Bits>(a) >> (8 * sizeof(T) - 1) != 0; }
NL_TESTS(f16, u16, 0x7C00u)
NL_TESTS(f32, u32, 0x7F800000u)
NL_TESTS(f64, u64, 0x7FF0000000000000ull)
template <class T> NL_DEVICE bool nl_isnan(nl_complex<T> a) { return nl_isnan(a.re) || nl_isnan(a.im); }
template <class T> NL_DEVICE bool nl_isinf(nl_complex<T> a) { return nl_isinf(a.re) || nl_isinf(a.im); }
template <class T> NL_DEVICE bool nl_isfinite(nl_complex<T> a) {
  return nl_isfinite(a.re) && nl_isfinite(a.im);
}
template <class T> NL_DEVICE bool nl_true(nl_complex<T> a) { return nl_true(a.re) || nl_true(a.im); }

// ---- elementary functions: float16 goes through float32
#define NL_MATH1(name, single, double_)                                    \
  NL_DEVICE f32 name(f32 a) { return single(a); }                          \
  NL_DEVICE f64 name(f64 a) { return double_(a); }                         \
  NL_DEVICE f16 name(f16 a) { return f16((f32)single((f32)a)); }
#define NL_MATH2(name, single, double_)                                    \
  NL_DEVICE f32 name(f32 a, f32 b) { return single(a, b); }                \
  NL_DEVICE f64 name(f64 a, f64 b) { return double_(a, b); }               \
  NL_DEVICE f16 name(f16 a, f16 b) { return f16((f32)single((f32)a, (f32)b)); }
NL_MATH1(nl_absolute, fabsf, fabs)
NL_MATH1(nl_sqrt, sqrtf, sqrt)
NL_MATH1(nl_cbrt, cbrtf, cbrt)
NL_MATH1(nl_exp, expf, exp)
NL_MATH1(nl_exp2, exp2f, exp2)
NL_MATH1(nl_expm1, expm1f, expm1)
NL_MATH1(nl_log, logf, log)
NL_MATH1(nl_log2, log2f, log2)
NL_MATH1(nl_log10, log10f, log10)
NL_MATH1(nl_log1p, log1pf, log1p)
NL_MATH1(nl_sin, sinf, sin)
NL_MATH1(nl_cos, cosf, cos)
NL_MATH1(nl_tan, tanf, tan)
NL_MATH1(nl_asin, asinf, asin)
NL_MATH1(nl_acos, acosf, acos)
NL_MATH1(nl_atan, atanf, atan)
NL_MATH1(nl_sinh, sinhf, sinh)
NL_MATH1(nl_cosh, coshf, cosh)
NL_MATH1(nl_tanh, tanhf, tanh)
NL_MATH1(nl_asinh, asinhf, asinh)
NL_MATH1(nl_acosh, acoshf, acosh)
NL_MATH1(nl_atanh, atanhf, atanh)
NL_MATH1(nl_floor, floorf, floor)
NL_MATH1(nl_ceil, ceilf, ceil)
NL_MATH1(nl_trunc, truncf, trunc)
NL_MATH1(nl_rint, rintf, rint)
NL_MATH2(nl_pow, powf, pow)
NL_MATH2(nl_fmod, fmodf, fmod)
NL_MATH2(nl_atan2, atan2f, atan2)
NL_MATH2(nl_hypot, hypotf, hypot)
NL_MATH2(nl_copysign, copysignf, copysign)
NL_DEVICE f32 nl_fma(f32 a, f32 b, f32 c) { return fmaf(a, b, c); }
NL_DEVICE f64 nl_fma(f64 a, f64 b, f64 c) { return fma(a, b, c); }
// Pi is divided by 180 in the loop's own precision.
NL_DEVICE f32 nl_deg2rad(f32 a) { return a * (3.14159274f / 180.0f); }
NL_DEVICE f64 nl_deg2rad(f64 a) { return a * (3.141592653589793 / 180.0); }
NL_DEVICE f16 nl_deg2rad(f16 a) { return f16(nl_deg2rad((f32)a)); }
NL_DEVICE f32 nl_rad2deg(f32 a) { return a * (180.0f / 3.14159274f); }
NL_DEVICE f64 nl_rad2deg(f64 a) { return a * (180.0 / 3.141592653589793); }
NL_DEVICE f16 nl_rad2deg(f16 a) { return f16(nl_rad2deg((f32)a)); }

// Python's // and %: the rest has the divisor's sign, the quotient is the rounded exact one.
template <class T>
NL_DEVICE T nl_real_remainder(T a, T b) {
  const T rest = nl_fmod(a, b);
  if (b == 0) return rest;
  if (!(rest != 0)) return nl_copysign((T)0, b);
  return (b < 0) != (rest < 0) ? rest + b : rest;
}
template <class T>
NL_DEVICE T nl_real_floor_divide(T a, T b) {
  if (b == 0) return a / b;
  const T rest = nl_fmod(a, b);
  T quotient = (a - rest) / b;
  if (rest != 0 && (b < 0) != (rest < 0)) quotient = quotient - 1;
  if (quotient == 0) return nl_copysign((T)0, a / b);
  const T whole = nl_floor(quotient);
  return quotient - whole > (T)0.5 ? whole + 1 : whole;
}
#define NL_DIVISION(T, Through)                                                        \
  NL_DEVICE T nl_remainder(T a, T b) {                                                 \
    return (T)nl_real_remainder((Through)a, (Through)b);                               \
  }                                                                                    \
  NL_DEVICE T nl_floor_divide(T a, T b) {                                              \
    return (T)nl_real_floor_divide((Through)a, (Through)b);                            \
  }                                                                                    \
  NL_DEVICE T nl_sign(T a) {                                                           \
    return a > (Through)0 ? (T)(Through)1                                              \
                          : (a < (Through)0 ? (T)(Through)-1 : (a == (Through)0 ? (T)(Through)0 : a)); \
  }
NL_DIVISION(f16, f32)
NL_DIVISION(f32, f32)
NL_DIVISION(f64, f64)

// A NaN wins in maximum and minimum, and loses in fmax and fmin. Of two equal zeros NumPy's vector
// loops return the second, its float16 loop the first.
#define NL_EXTREME(name, compare, nan)                                                        \
  template <class T> NL_DEVICE T name(T a, T b) { return a compare b || nl_isnan(nan) ? a : b; } \
  template <> __device__ __forceinline__ f16 name<f16>(f16 a, f16 b) {                        \
    return (f32)a compare##= (f32)b || nl_isnan(nan) ? a : b;                                 \
  }
NL_EXTREME(nl_maximum, >, a)
NL_EXTREME(nl_minimum, <, a)
NL_EXTREME(nl_fmax, >, b)
NL_EXTREME(nl_fmin, <, b)

// ---- complex arithmetic: products are fused as in NumPy's vector code, quotients are Smith's
template <class T>
NL_DEVICE nl_complex<T> operator+(nl_complex<T> a, nl_complex<T> b) { return {a.re + b.re, a.im + b.im}; }
template <class T>
NL_DEVICE nl_complex<T> operator-(nl_complex<T> a, nl_complex<T> b) { return {a.re - b.re, a.im - b.im}; }
template <class T>
NL_DEVICE nl_complex<T> operator-(nl_complex<T> a) { return {-a.re, -a.im}; }
template <class T>
NL_DEVICE nl_complex<T> operator*(nl_complex<T> a, nl_complex<T> b) {
  return {nl_fma(a.re, b.re, -(a.im * b.im)), nl_fma(a.re, b.im, a.im * b.re)};
}
template <class T>
NL_DEVICE bool operator==(nl_complex<T> a, nl_complex<T> b) { return a.re == b.re && a.im == b.im; }
template <class T>
NL_DEVICE bool operator!=(nl_complex<T> a, nl_complex<T> b) { return a.re != b.re || a.im != b.im; }
template <class T>
NL_DEVICE nl_complex<T> nl_conjugate(nl_complex<T> a) { return {a.re, -a.im}; }
template <class T>
NL_DEVICE nl_complex<T> nl_rint(nl_complex<T> a) { return {nl_rint(a.re), nl_rint(a.im)}; }
template <class T>
NL_DEVICE nl_complex<T> nl_divide(nl_complex<T> a, nl_complex<T> b) {
  const T re = nl_absolute(b.re), im = nl_absolute(b.im);
  if (re >= im) {
    if (re == 0 && im == 0) return {a.re / re, a.im / re};
    const T ratio = b.im / b.re, scale = (T)1 / (b.re + b.im * ratio);
    return {(a.re + a.im * ratio) * scale, (a.im - a.re * ratio) * scale};
  }
  const T ratio = b.re / b.im, scale = (T)1 / (b.im + b.re * ratio);
  return {(a.im + a.re * ratio) * scale, (a.im * ratio - a.re) * scale};
}
template <class T>
NL_DEVICE nl_complex<T> nl_reciprocal(nl_complex<T> a) {
  if (nl_absolute(a.im) <= nl_absolute(a.re)) {
    const T ratio = a.im / a.re, divisor = a.re + a.im * ratio;
    return {(T)1 / divisor, -ratio / divisor};
  }
  const T ratio = a.re / a.im, divisor = a.im + a.re * ratio;
  return {ratio / divisor, (T)-1 / divisor};
}
template <class T>
NL_DEVICE T nl_absolute(nl_complex<T> a) {
  const T re = nl_absolute(a.re), im = nl_absolute(a.im);
  if (nl_isinf(re)) return re;
  if (nl_isinf(im)) return im;
  const T larger = re > im ? re : im, smaller = re > im ? im : re;
  const T ratio = smaller / (larger == 0 ? (T)1 : larger);
  return nl_sqrt(nl_fma(ratio, ratio, (T)1)) * larger;
}

// ---- elementary functions of complex numbers, with C's results for zeros, infinities and NaN
template <class T>
NL_DEVICE nl_complex<T> nl_exp(nl_complex<T> z) {
  const T scale = nl_exp(z.re);
  if (z.im == 0) return {scale, z.im};
  if (!nl_isfinite(z.im)) {
    if (nl_isinf(z.re)) {
      if (z.re < 0) return {(T)0, (T)0};
      return {z.re, z.im - z.im};
    }
    return {z.im - z.im, z.im - z.im};
  }
  const T half = nl_exp(z.re / 2);  // twice: exp(re) may overflow where the product does not
  if (nl_isinf(scale) && !nl_isinf(z.re)) return {half * nl_cos(z.im) * half, half * nl_sin(z.im) * half};
  return {scale * nl_cos(z.im), scale * nl_sin(z.im)};
}
template <class T>
NL_DEVICE nl_complex<T> nl_log(nl_complex<T> z) {
  const T re = nl_absolute(z.re), im = nl_absolute(z.im);
  const T large = re > im ? re : im, small = re > im ? im : re;
  T length;
  if (large > (T)0.5 && large < (T)2)  // near 1 the logarithm of the length loses digits
    length = nl_log1p((large - 1) * (large + 1) + small * small) / 2;
  else
    length = nl_log(nl_hypot(z.re, z.im));
  return {length, nl_atan2(z.im, z.re)};
}
template <class T>
NL_DEVICE nl_complex<T> nl_sqrt(nl_complex<T> z) {
  if (z.re == 0 && z.im == 0) return {(T)0, z.im};
  if (nl_isinf(z.im)) return {nl_absolute(z.im), z.im};
  if (nl_isnan(z.re)) return {z.re, z.re};
  if (nl_isinf(z.re)) {
    if (z.re > 0) return {z.re, nl_isnan(z.im) ? z.im : nl_copysign((T)0, z.im)};
    return {nl_isnan(z.im) ? z.im : (T)0, nl_copysign(-z.re, z.im)};
  }
  // Scaled by a power of four, so that the length neither overflows nor vanishes.
  const T quarter = nl_absolute(z.re) > (T)1e30 || nl_absolute(z.im) > (T)1e30 ? (T)0.25 : (T)1;
  const T tiny = nl_absolute(z.re) < (T)1e-30 && nl_absolute(z.im) < (T)1e-30 ? (T)1073741824.0 : (T)1;
  const T re = z.re * quarter * tiny, im = z.im * quarter * tiny;
  const T back = (quarter < 1 ? (T)2 : (T)1) * (tiny > 1 ? (T)(1.0 / 32768.0) : (T)1);
  const T root = nl_sqrt((nl_absolute(re) + nl_hypot(re, im)) / 2);
  if (re >= 0) return {root * back, im / (2 * root) * back};
  return {nl_absolute(im) / (2 * root) * back, nl_copysign(root * back, im)};
}
template <class T>
NL_DEVICE nl_complex<T> nl_sinh(nl_complex<T> z) {
  if (z.im == 0) return {nl_sinh(z.re), z.im};
  if (!nl_isfinite(z.im)) {
    if (z.re == 0) return {z.re, z.im - z.im};
    if (nl_isinf(z.re)) return {z.re, z.im - z.im};
    return {z.im - z.im, z.im - z.im};
  }
  if (nl_absolute(z.re) > (T)20) {  // sinh and cosh are one there; half of exp may still be finite
    const nl_complex<T> grown = nl_exp(nl_complex<T>(nl_absolute(z.re) - (T)0.6931471805599453, z.im));
    return {nl_copysign((T)1, z.re) * grown.re, grown.im};
  }
  return {nl_sinh(z.re) * nl_cos(z.im), nl_cosh(z.re) * nl_sin(z.im)};
}
template <class T>
NL_DEVICE nl_complex<T> nl_cosh(nl_complex<T> z) {
  if (z.im == 0) return {nl_cosh(z.re), z.re == 0 ? z.re * z.im : nl_copysign((T)1, z.re) * z.im};
  if (!nl_isfinite(z.im)) {
    if (z.re == 0) return {z.im - z.im, (T)0};
    if (nl_isinf(z.re)) return {nl_absolute(z.re), z.im - z.im};
    return {z.im - z.im, z.im - z.im};
  }
  if (z.re == 0) return {nl_cos(z.im), z.re * nl_sin(z.im)};
  if (nl_absolute(z.re) > (T)20) {
    const nl_complex<T> grown = nl_exp(nl_complex<T>(nl_absolute(z.re) - (T)0.6931471805599453, z.im));
    return {grown.re, nl_copysign((T)1, z.re) * grown.im};
  }
  return {nl_cosh(z.re) * nl_cos(z.im), nl_sinh(z.re) * nl_sin(z.im)};
}
template <class T>
NL_DEVICE nl_complex<T> nl_tanh(nl_complex<T> z) {
  if (z.im == 0) return {nl_tanh(z.re), z.im};
  if (!nl_isfinite(z.im)) {
    if (nl_isinf(z.re)) return {nl_copysign((T)1, z.re), nl_copysign((T)0, z.im)};
    return {z.re == 0 ? z.re : z.im - z.im, z.im - z.im};
  }
  if (nl_absolute(z.re) > (T)22) {
    const T left = nl_exp(-nl_absolute(z.re));
    return {nl_copysign((T)1, z.re), 4 * nl_sin(z.im) * nl_cos(z.im) * left * left};
  }
  const T t = nl_tan(z.im), beta = 1 + t * t, s = nl_sinh(z.re), rho = nl_sqrt(1 + s * s);
  const T divisor = 1 + beta * s * s;
  return {beta * rho * s / divisor, t / divisor};
}
template <class T>
NL_DEVICE nl_complex<T> nl_sin(nl_complex<T> z) {
  const nl_complex<T> turned = nl_sinh(nl_complex<T>(-z.im, z.re));
  return {turned.im, -turned.re};
}
template <class T>
NL_DEVICE nl_complex<T> nl_cos(nl_complex<T> z) { return nl_cosh(nl_complex<T>(-z.im, z.re)); }
template <class T>
NL_DEVICE nl_complex<T> nl_tan(nl_complex<T> z) {
  const nl_complex<T> turned = nl_tanh(nl_complex<T>(-z.im, z.re));
  return {turned.im, -turned.re};
}

// ---- casts
template <class T> struct nl_kind { static const bool is_integer = true, is_complex = false; typedef T Part; };
template <> struct nl_kind<f16> { static const bool is_integer = false, is_complex = false; typedef f16 Part; };
template <> struct nl_kind<f32> { static const bool is_integer = false, is_complex = false; typedef f32 Part; };
template <> struct nl_kind<f64> { static const bool is_integer = false, is_complex = false; typedef f64 Part; };
template <class T> struct nl_kind<nl_complex<T>> {
  static const bool is_integer = false, is_complex = true;
  typedef T Part;
};
template <class A, class B> struct nl_same { static const bool value = false; };
template <class A> struct nl_same<A, A> { static const bool value = true; };
// Out of range restarts. 8 and 16 bit targets go through 32 bits and u32 through 64, where NumPy
// wraps without a word.
template <class To, class From>
NL_DEVICE To nl_float_to_integer(From x, bool& bad) {
  const bool is_signed = nl_integer<To>::is_signed;
  const u32 bits = nl_integer<To>::bits;
  const u32 through = bits < 32 ? 32 : (bits == 32 && !is_signed ? 64 : bits);
  const bool through_signed = is_signed || bits < 64;
  const From limit = (From)((u64)1 << (through - 1)) * (through_signed ? (From)1 : (From)2);
  bool fits = x < limit;
  if (!through_signed) fits = fits && x > (From)-1;
  else if (through == 32 && sizeof(From) == 8) fits = fits && x > -limit - 1;
  else fits = fits && x >= -limit;
  if (!fits) {
    bad = true;
    return (To)0;
  }
  return through_signed ? (To)(i64)x : (To)(u64)x;
}
template <class To, class From>
NL_DEVICE To nl_cast(From x, bool& bad) {
  if constexpr (nl_same<To, From>::value) {
    return x;
  } else if constexpr (nl_same<To, bool>::value) {
    return nl_true(x);
  } else if constexpr (nl_kind<To>::is_complex) {
    typedef typename nl_kind<To>::Part Part;
    if constexpr (nl_kind<From>::is_complex) return To((Part)x.re, (Part)x.im);
    else return To(nl_cast<Part>(x, bad), (Part)0);
  } else if constexpr (nl_kind<From>::is_complex) {
    return nl_cast<To>(x.re, bad);
  } else if constexpr (nl_same<From, f16>::value) {
    return nl_cast<To>((f32)x, bad);
  } else if constexpr (nl_same<To, f16>::value) {
    if constexpr (nl_same<From, f64>::value) return nl_half(nl_double_to_half(x));
    else return f16((f32)x);
  } else if constexpr (nl_kind<To>::is_integer && !nl_kind<From>::is_integer) {
    return nl_float_to_integer<To>(x, bad);
  } else {
    return (To)x;
  }
}

// ---- floating-point conditions
// fp_checks: 1 divide, 2 overflow, 4 invalid. divide: what an infinity out of finite operands means.
// In complex arithmetic infinity times zero may hide behind a NaN of the other part.
template <class R, class... X>
NL_DEVICE bool nl_bad(int fp_checks, bool divide, R result, X... operands) {
  if (nl_isfinite(result)) return false;
  const bool nan = (false || ... || nl_isnan(operands));
  const bool infinite = (false || ... || nl_isinf(operands));
  if ((fp_checks & 4) && nl_isnan(result) && !(nan && !(nl_kind<R>::is_complex && infinite))) return true;
  if (!nl_isinf(result) || nan || infinite) return false;
  return (fp_checks & (divide ? 1 : 2)) != 0;
}
)CUDA";

}  // namespace numlift::codegen::cuda
