// The start of every module: types, loads and stores, casts, integer arithmetic.
#include "device_text.h"

namespace numlift::codegen::cuda {

const char* const kDeviceTypes = R"CUDA(
typedef signed char i8;
typedef short i16;
typedef int i32;
typedef long long i64;
typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef float f32;
typedef double f64;

#define NL_DEVICE static __device__ __forceinline__
#define NL_METHOD __device__ __forceinline__

template <class T, class F>
NL_DEVICE T nl_bits(F from) {
  union { F from; T to; } both;
  both.from = from;
  return both.to;
}

// ---- float16: computed in float32 and rounded after each operation
NL_DEVICE f32 nl_half_to_float(u16 half) {
#ifdef __CUDA_ARCH__
  f32 result;
  asm("cvt.f32.f16 %0, %1;" : "=f"(result) : "h"(half));
  return result;
#else
  const u32 sign = (u32)(half & 0x8000) << 16, magnitude = half & 0x7FFF;
  if (magnitude >= 0x7C00) return nl_bits<f32>(sign | 0x7F800000u | (magnitude & 0x3FF) << 13);
  if (magnitude >= 0x400) return nl_bits<f32>(sign | ((magnitude << 13) + (112u << 23)));
  const f32 small = (f32)magnitude * 5.9604644775390625e-08f;  // 2**-24
  return sign ? -small : small;
#endif
}
NL_DEVICE u16 nl_float_to_half(f32 value) {
#ifdef __CUDA_ARCH__
  u16 result;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(result) : "f"(value));
  return result;
#else
  const u32 bits = nl_bits<u32>(value), sign = bits >> 16 & 0x8000, magnitude = bits & 0x7FFFFFFF;
  if (magnitude > 0x7F800000) return (u16)(sign | 0x7E00);
  if (magnitude >= 0x47800000) return (u16)(sign | 0x7C00);  // 65536 and more
  if (magnitude < 0x38800000) {  // below 2**-14: in steps of 2**-24, by the adder's own rounding
    const f32 shifted = nl_bits<f32>(magnitude) + 0.5f;
    return (u16)(sign | (nl_bits<u32>(shifted) - nl_bits<u32>(0.5f)));
  }
  return (u16)(sign | (magnitude - 0x38000000 + 0xFFF + (magnitude >> 13 & 1)) >> 13);
#endif
}
NL_DEVICE u16 nl_double_to_half(f64 value) {
#ifdef __CUDA_ARCH__
  u16 result;
  asm("cvt.rn.f16.f64 %0, %1;" : "=h"(result) : "d"(value));
  return result;
#else
  // Towards zero, with the last bit set when anything was lost: no second rounding can go wrong.
  f32 narrow = (f32)value;
  u32 bits = nl_bits<u32>(narrow);
  const f64 back = narrow;
  if (back == back && back != value) {
    if ((back < 0 ? -back : back) > (value < 0 ? -value : value)) --bits;
    bits |= 1;
  }
  return nl_float_to_half(nl_bits<f32>(bits));
#endif
}
struct f16 {
  u16 bits;
  f16() = default;
  NL_METHOD explicit f16(f32 value) : bits(nl_float_to_half(value)) {}
  NL_METHOD explicit f16(i32 value) : bits(nl_float_to_half((f32)value)) {}
  NL_METHOD operator f32() const { return nl_half_to_float(bits); }
};
NL_DEVICE f16 nl_half(u16 bits) {
  f16 result;
  result.bits = bits;
  return result;
}

// ---- complex
template <class T>
struct nl_complex {
  T re, im;
  nl_complex() = default;
  NL_METHOD nl_complex(T real, T imaginary) : re(real), im(imaginary) {}
};
typedef nl_complex<f32> c64;
typedef nl_complex<f64> c128;

// ---- memory
template <class T>
NL_DEVICE T load(const char* at) { return *(const T*)at; }
template <>
__device__ __forceinline__ bool load<bool>(const char* at) { return *(const u8*)at != 0; }
template <class T>
NL_DEVICE void store(char* at, T value) { *(T*)at = value; }
template <>
__device__ __forceinline__ void store<bool>(char* at, bool value) { *(u8*)at = value ? 1 : 0; }

// ---- sizes
// The last part of a collapsed index; `rest` keeps the others. In 32 bits where that is enough.
NL_DEVICE i64 nl_split(i64& rest, i64 extent) {
  if ((u64)(rest | extent) >> 32 == 0) {
    const u32 whole = (u32)rest, divisor = (u32)extent;
    rest = whole / divisor;
    return whole % divisor;
  }
  const i64 whole = rest;
  rest = whole / extent;
  return whole % extent;
}
NL_DEVICE i64 nl_size_div(i64 a, i64 b) {
  const i64 quotient = a / b;
  return quotient - (a % b != 0 && (a < 0) != (b < 0));
}
NL_DEVICE i64 nl_size_mod(i64 a, i64 b) { return a - nl_size_div(a, b) * b; }
NL_DEVICE i64 nl_size_min(i64 a, i64 b) { return a < b ? a : b; }
NL_DEVICE i64 nl_size_max(i64 a, i64 b) { return a > b ? a : b; }

// The program restarts: the host looks at the end.
NL_DEVICE void nl_report(bool bad, char* status) {
  if (bad) *(volatile i32*)status = 1;
}

// ---- integers wrap around
template <class T> struct nl_wide { typedef u32 type; };
template <> struct nl_wide<i64> { typedef u64 type; };
template <> struct nl_wide<u64> { typedef u64 type; };
template <class T>
struct nl_integer {
  static const bool is_signed = (T)-1 < (T)0;
  static const u32 bits = 8 * sizeof(T);
  static const T least = is_signed ? (T)((u64)1 << (bits - 1)) : (T)0;
  static const T most = (T)~least;
};
#define NL_WRAP(name, operator)                                                   \
  template <class T>                                                              \
  NL_DEVICE T name(T a, T b) {                                                    \
    typedef typename nl_wide<T>::type Wide;                                       \
    return (T)((Wide)a operator (Wide)b);                                         \
  }
NL_WRAP(nl_add, +)
NL_WRAP(nl_subtract, -)
NL_WRAP(nl_multiply, *)
template <class T>
NL_DEVICE bool nl_is_least(T a) { return nl_integer<T>::is_signed && a == nl_integer<T>::least; }
template <class T>
NL_DEVICE bool nl_add_overflows(T a, T b) {
  const T sum = nl_add(a, b);
  return nl_integer<T>::is_signed ? (T)((a ^ sum) & (b ^ sum)) < (T)0 : sum < a;
}
template <class T>
NL_DEVICE bool nl_subtract_overflows(T a, T b) {
  const T difference = nl_subtract(a, b);
  return nl_integer<T>::is_signed ? (T)((a ^ b) & (a ^ difference)) < (T)0 : a < b;
}
template <class T>
NL_DEVICE bool nl_negative_overflows(T a) {
  return nl_integer<T>::is_signed ? nl_is_least(a) : a != (T)0;
}
template <class T>
NL_DEVICE bool nl_multiply_overflows(T a, T b) {
  if (a == (T)0 || b == (T)0) return false;
  if (nl_integer<T>::is_signed && ((nl_is_least(a) && b == (T)-1) || (nl_is_least(b) && a == (T)-1)))
    return true;
  return (T)(nl_multiply(a, b) / b) != a;
}
// Division by zero gives 0, and the least number by -1 gives itself.
template <class T>
NL_DEVICE T nl_floor_divide(T a, T b) {
  if (b == (T)0) return (T)0;
  if (nl_is_least(a) && b == (T)-1) return a;
  const T quotient = (T)(a / b);
  return (T)(quotient - (nl_integer<T>::is_signed && (T)(a % b) != (T)0 && (a < (T)0) != (b < (T)0)));
}
template <class T>
NL_DEVICE T nl_fmod(T a, T b) {
  return b == (T)0 || (nl_integer<T>::is_signed && b == (T)-1) ? (T)0 : (T)(a % b);
}
template <class T>
NL_DEVICE T nl_remainder(T a, T b) {
  const T rest = nl_fmod(a, b);
  return rest != (T)0 && nl_integer<T>::is_signed && (rest < (T)0) != (b < (T)0) ? (T)(rest + b) : rest;
}
template <class T>
NL_DEVICE T nl_integer_power(T base, T exponent) {
  T result = 1;
  u64 left = exponent < (T)0 ? 0 : (u64)exponent;
  while (left != 0) {
    if (left & 1) result = nl_multiply(result, base);
    base = nl_multiply(base, base);
    left >>= 1;
  }
  return result;
}
// Distances of the width or more, negative ones among them, shift everything out.
template <class T>
NL_DEVICE T nl_left_shift(T a, T b) {
  typedef typename nl_wide<T>::type Wide;
  return (u64)b < nl_integer<T>::bits ? (T)((Wide)a << (u32)b) : (T)0;
}
template <class T>
NL_DEVICE T nl_right_shift(T a, T b) {
  if ((u64)b < nl_integer<T>::bits) return (T)(a >> (u32)b);
  return nl_integer<T>::is_signed && a < (T)0 ? (T)-1 : (T)0;
}
template <class T>
NL_DEVICE u8 nl_bit_count(T a) {
  u64 left = nl_integer<T>::is_signed && a < (T)0 ? (u64)0 - (u64)a : (u64)a;
  if (nl_integer<T>::bits < 64) left &= ((u64)1 << nl_integer<T>::bits % 64) - 1;
  u8 count = 0;
  for (; left != 0; left &= left - 1) ++count;
  return count;
}
#define NL_SIGNED(T)                                                              \
  NL_DEVICE T nl_absolute(T a) { return a < 0 ? nl_subtract((T)0, a) : a; }       \
  NL_DEVICE T nl_sign(T a) { return (T)((a > 0) - (a < 0)); }
NL_SIGNED(i8)
NL_SIGNED(i16)
NL_SIGNED(i32)
NL_SIGNED(i64)
#define NL_UNSIGNED(T) NL_DEVICE T nl_absolute(T a) { return a; }
NL_UNSIGNED(bool)
NL_UNSIGNED(u8)
NL_UNSIGNED(u16)
NL_UNSIGNED(u32)
NL_UNSIGNED(u64)
)CUDA";

}  // namespace numlift::codegen::cuda
