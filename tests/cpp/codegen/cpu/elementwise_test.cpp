// Every native op on every dtype against the scalar reference: sizes around the vector width, unit,
// strided, reversed and broadcast operands, special values, and restarts exactly when expected.
#include <gtest/gtest.h>

#include <algorithm>
#include <cfenv>
#include <cstring>
#include <random>

#include "nest_builder.h"
#include "numlift/codegen/target.h"
#include "scalar_reference.h"

namespace numlift::codegen::test {
namespace {

template <DType dtype>
struct CType;
#define NUMLIFT_CTYPE(name, type) \
  template <>                     \
  struct CType<DType::k##name> {  \
    using Type = type;            \
  };
NUMLIFT_CTYPE(Bool, Bool8)
NUMLIFT_CTYPE(Int8, int8_t)
NUMLIFT_CTYPE(Int16, int16_t)
NUMLIFT_CTYPE(Int32, int32_t)
NUMLIFT_CTYPE(Int64, int64_t)
NUMLIFT_CTYPE(UInt8, uint8_t)
NUMLIFT_CTYPE(UInt16, uint16_t)
NUMLIFT_CTYPE(UInt32, uint32_t)
NUMLIFT_CTYPE(UInt64, uint64_t)
NUMLIFT_CTYPE(Float16, _Float16)
NUMLIFT_CTYPE(Float32, float)
NUMLIFT_CTYPE(Float64, double)
NUMLIFT_CTYPE(Complex64, std::complex<float>)
NUMLIFT_CTYPE(Complex128, std::complex<double>)
#undef NUMLIFT_CTYPE

template <class F>
void for_dtype(DType dtype, F function) {
  switch (dtype) {
#define NUMLIFT_CASE(name, text, size, kind, character) \
  case DType::k##name:                                  \
    function(typename CType<DType::k##name>::Type{});   \
    return;
    NUMLIFT_DTYPES(NUMLIFT_CASE)
#undef NUMLIFT_CASE
  }
}

std::mt19937_64& random_engine() {
  static std::mt19937_64 engine(20260801);
  return engine;
}

// Ordinary numbers with special ones mixed in.
template <class T>
T sample(bool special) {
  auto& engine = random_engine();
  if constexpr (std::is_same_v<T, Bool8>) {
    return bool8(engine() % 2 == 0);
  } else if constexpr (kIsComplex<T>) {
    return T(sample<typename T::value_type>(special), sample<typename T::value_type>(special));
  } else if constexpr (kIsFloat<T>) {
    const double specials[] = {0.0,  -0.0, INFINITY, -INFINITY, NAN,  1.0,
                               -1.0, 0.5,  2.0,      1e-310,    3e38, 65504.0};
    if (special && engine() % 6 == 0)
      return static_cast<T>(specials[engine() % std::size(specials)]);
    return static_cast<T>(std::ldexp(static_cast<double>(engine() % 2000) / 1000.0 - 1.0,
                                     static_cast<int>(engine() % 8) - 2));
  } else {
    if (special && engine() % 4 == 0) {
      const T specials[] = {T(0),
                            T(1),
                            static_cast<T>(-1),
                            std::numeric_limits<T>::min(),
                            std::numeric_limits<T>::max(),
                            T(2),
                            T(63),
                            T(64)};
      return specials[engine() % std::size(specials)];
    }
    return special ? static_cast<T>(engine()) : static_cast<T>(engine() % 7 + 1);
  }
}

template <class R>
bool same(const R& a, const R& b) {
  if constexpr (kIsComplex<R>) {
    return same(a.real(), b.real()) && same(a.imag(), b.imag());
  } else if constexpr (kIsFloat<R>) {
    if (a != a && b != b) return true;
    return std::memcmp(&a, &b, sizeof a) == 0;
  } else {
    return a == b;
  }
}

// Distance in units of the last place.
template <class T>
double ulps(T a, T b) {
  if (same(a, b)) return 0;
  if (!(std::isfinite(static_cast<double>(a)) && std::isfinite(static_cast<double>(b))))
    return 1e30;
  if constexpr (kIsHalf<T>) {
    return std::fabs(static_cast<double>(a) - static_cast<double>(b)) /
           std::ldexp(1.0, std::max(std::ilogb(static_cast<double>(b)), -14) - 10);
  } else {
    const T size = std::fabs(b);
    const T ulp = std::nextafter(size, std::numeric_limits<T>::infinity()) - size;
    return static_cast<double>(std::fabs(a - b)) / static_cast<double>(ulp);
  }
}

bool is_library(Op op) {
  return op_info(op).fp == FpRule::kLibrary && op != Op::kFloorDivide && op != Op::kRemainder &&
         op != Op::kFmod && op != Op::kAbsolute;
}

template <class R>
void expect_close(Op op, DType dtype, const R& got, const R& want, const std::string& where) {
  if constexpr (kIsComplex<R>) {
    ASSERT_TRUE(same(got, want)) << where << ": " << got << " is not " << want;
  } else if constexpr (kIsFloat<R>) {
    const double limit = is_library(op) || (op == Op::kAbsolute && is_complex(dtype)) ? 4.0 : 0.0;
    ASSERT_LE(ulps(got, want), limit)
        << where << ": " << static_cast<double>(got) << " is not " << static_cast<double>(want);
  } else {
    ASSERT_TRUE(got == want) << where;
  }
}

// A loop over symbol 0; strides of the operands are symbols 1, 2 unless `unit`.
Program one_op(Op op, DType dtype, bool unit, uint8_t fp_checks) {
  NestBuilder b;
  const int arity = op_info(op).arity;
  std::vector<BufferId> inputs;
  for (int i = 0; i < arity; ++i) inputs.push_back(b.buffer(dtype));
  DType result = dtype;
  if (op_info(op).result == ResultRule::kBool) result = DType::kBool;
  if (op_info(op).result == ResultRule::kReal) result = real_part(dtype);
  if (op == Op::kBitwiseCount) result = DType::kUInt8;
  const BufferId out = b.buffer(result);
  const VarId i = b.open(symbol(0), true);
  std::vector<ValueId> operands;
  for (int k = 0; k < arity; ++k)
    operands.push_back(b.load(inputs[k], {{i, unit ? SizeExpr(item_size(dtype))
                                                   : symbol(static_cast<uint32_t>(k) + 1)}}));
  b.store(out, b.op(op, operands, result, fp_checks), {{i, item_size(result)}});
  b.close();
  b.finish_nest(symbol(0));
  return b.program;
}

// One element by the reference; false when the reference does not cover (op, T).
template <class T, class Check>
void with_reference(Op op, T a, T b, Check check) {
  const OpInfo& info = op_info(op);
  if (op == Op::kBitwiseCount) {
    if constexpr (std::is_integral_v<T>) {
      auto magnitude = static_cast<std::make_unsigned_t<T>>(a);
      if (a < T(0)) magnitude = static_cast<std::make_unsigned_t<T>>(0 - magnitude);
      check(static_cast<uint8_t>(__builtin_popcountll(magnitude)), false);
    }
  } else if (info.result == ResultRule::kBool) {
    check(reference_predicate(op, a, b), false);
  } else if constexpr (std::is_same_v<T, Bool8>) {
    check(reference_bool(op, a, b), false);
  } else if constexpr (std::is_integral_v<T>) {
    const Outcome<T> outcome = reference_integer(op, a, b);
    check(outcome.value, outcome.restart);
  } else if constexpr (kIsComplex<T>) {
    using Part = typename T::value_type;
    if (op == Op::kReal) return check(a.real(), false);
    if (op == Op::kImag) return check(a.imag(), false);
    if (op == Op::kAbsolute) return check(static_cast<Part>(std::hypot(a.real(), a.imag())), false);
    check(reference_complex(op, a, b), false);
  } else if constexpr (kIsHalf<T>) {
    check(static_cast<T>(reference_float<float>(op, a, b, true)), false);
  } else {
    check(reference_float<T>(op, a, b, false), false);
  }
}

template <class T>
void check_op(Op op, DType dtype, bool unit) {
  const bool integer = is_integer(dtype);
  uint8_t checks = kFpNone;
  // Arrays of integers wrap: nobody asks for their overflow.
  if (integer) checks = wraps_silently_on_arrays(op) ? kFpDivide | kFpInvalid : kFpAll;
  Runner runner(one_op(op, dtype, unit, checks));
  const int arity = op_info(op).arity;
  std::vector<std::pair<int, int>> strides = {{1, 1}};
  if (!unit) strides = {{2, 1}, {-1, 3}, {0, 1}, {1, 0}};
  for (const auto& [sa, sb] : strides)
    for (int64_t n : {0, 1, 7, 8, 9, 63, 64, 65, 300}) {
      for (bool special : {false, true}) {
        if (n > 65 && !special) continue;
        const int64_t room = 3 * n + 1;
        std::vector<T> a(2 * room), b(2 * room);
        for (T& x : a) x = sample<T>(special);
        for (T& x : b) x = sample<T>(special);
        if (op == Op::kPower && integer && !special)
          for (T& x : b) x = sample<T>(false);
        T* pa = a.data() + room;
        T* pb = b.data() + room;
        std::vector<unsigned char> out(static_cast<size_t>(n + 1) * 16, 0xAB);
        std::vector<void*> buffers{pa};
        if (arity == 2) buffers.push_back(pb);
        buffers.push_back(out.data());
        const auto bytes = static_cast<int64_t>(sizeof(T));
        const int32_t exit = runner.run(buffers, {n, sa * bytes, sb * bytes});
        bool restart = false;
        for (int64_t i = 0; i < n && !::testing::Test::HasFatalFailure(); ++i)
          with_reference(op, pa[i * sa], pb[i * sb], [&](auto want, bool wants_restart) {
            restart |= wants_restart;
            if (exit != 0) return;
            decltype(want) got;
            std::memcpy(&got, out.data() + i * static_cast<int64_t>(sizeof got), sizeof got);
            const std::string where = std::string(op_info(op).text) + " " +
                                      std::string(dtype_text(dtype)) + " n=" + std::to_string(n) +
                                      " i=" + std::to_string(i) + " strides " + std::to_string(sa) +
                                      "," + std::to_string(sb);
            if constexpr (kIsFloat<T>) {
              expect_close(op, dtype, got, want,
                           where + " of " + std::to_string(static_cast<double>(pa[i * sa])) + ", " +
                               std::to_string(static_cast<double>(pb[i * sb])));
            } else {
              expect_close(op, dtype, got, want, where);
            }
          });
        if (::testing::Test::HasFatalFailure()) return;
        ASSERT_EQ(exit, restart ? 1 : 0)
            << op_info(op).text << " " << dtype_text(dtype) << " n=" << n << " special=" << special;
      }
    }
}

bool is_tested_here(Op op) {
  switch (op) {
    case Op::kSelect:
    case Op::kCast:
    case Op::kMakeComplex:
    case Op::kNumpyLoop:
      return false;
    default:
      return op_info(op).op_class == OpClass::kElementwise;
  }
}

class Elementwise : public ::testing::TestWithParam<DType> {};

TEST_P(Elementwise, EveryOpEqualsTheScalarReference) {
  const DType dtype = GetParam();
  int count = 0;
  for (int index = 0; index <= static_cast<int>(Op::kNumpyLoop); ++index) {
    const auto op = static_cast<Op>(index);
    if (!is_tested_here(op) || !native_supports(op, dtype)) continue;
    ++count;
    for (bool unit : {true, false})
      for_dtype(dtype, [&](auto zero) { check_op<decltype(zero)>(op, dtype, unit); });
  }
  RecordProperty("ops", count);
}

INSTANTIATE_TEST_SUITE_P(AllDtypes, Elementwise,
                         ::testing::Values(DType::kBool, DType::kInt8, DType::kInt16, DType::kInt32,
                                           DType::kInt64, DType::kUInt8, DType::kUInt16,
                                           DType::kUInt32, DType::kUInt64, DType::kFloat16,
                                           DType::kFloat32, DType::kFloat64, DType::kComplex64,
                                           DType::kComplex128),
                         [](const auto& info) { return std::string(dtype_text(info.param)); });

// ---- restarts of floating-point ops ----

// Which conditions the hardware saw while the reference ran, as fp_checks bits.
template <class Function>
uint8_t conditions(Function function) {
  std::feclearexcept(FE_ALL_EXCEPT);
  function();
  uint8_t bits = 0;
  if (std::fetestexcept(FE_INVALID)) bits |= kFpInvalid;
  if (std::fetestexcept(FE_DIVBYZERO)) bits |= kFpDivide;
  if (std::fetestexcept(FE_OVERFLOW)) bits |= kFpOver;
  std::feclearexcept(FE_ALL_EXCEPT);
  return bits;
}

template <class T>
void check_conditions(Op op, DType dtype) {
  for (uint8_t wanted :
       {uint8_t{kFpAll}, uint8_t{kFpInvalid}, uint8_t{kFpDivide}, uint8_t{kFpOver}}) {
    Runner runner(one_op(op, dtype, true, wanted));
    const T values[] = {T(0),
                        T(-0.0),
                        T(1),
                        T(-1),
                        T(0.5),
                        T(-3),
                        T(INFINITY),
                        T(-INFINITY),
                        T(NAN),
                        std::numeric_limits<T>::max(),
                        std::numeric_limits<T>::lowest(),
                        T(800),
                        T(-800)};
    for (T x : values)
      for (T y : values) {
        std::vector<T> a(11, T(0.75)), b(11, T(0.5)), out(11);
        a[9] = x;
        b[9] = y;
        std::vector<void*> buffers{a.data()};
        if (op_info(op).arity == 2) buffers.push_back(b.data());
        buffers.push_back(out.data());
        volatile T sink;
        const uint8_t ordinary =
            conditions([&] { sink = reference_float<T>(op, a[0], b[0], false); });
        const uint8_t raised = conditions([&] { sink = reference_float<T>(op, x, y, false); });
        static_cast<void>(sink);
        EXPECT_EQ(runner.run(buffers, {11}), ((raised | ordinary) & wanted) ? 1 : 0)
            << op_info(op).text << "(" << static_cast<double>(x) << ", " << static_cast<double>(y)
            << ") checks " << int{wanted} << " raised " << int{raised};
      }
  }
}

TEST(Conditions, AreThoseThatTheHardwareReports) {
  for (int index = 0; index <= static_cast<int>(Op::kNumpyLoop); ++index) {
    const auto op = static_cast<Op>(index);
    if (!is_tested_here(op) || op_info(op).fp == FpRule::kNone || op_info(op).arity > 2) continue;
    if (op == Op::kFloorDivide || op == Op::kRemainder || op == Op::kMakeComplex) continue;
    if (native_supports(op, DType::kFloat64)) check_conditions<double>(op, DType::kFloat64);
    if (native_supports(op, DType::kFloat32)) check_conditions<float>(op, DType::kFloat32);
  }
}

// ---- casts and select ----

Program cast_program(DType from, DType to) {
  NestBuilder b;
  const BufferId in = b.buffer(from), out = b.buffer(to);
  const VarId i = b.open(symbol(0), true);
  b.store(out, b.op(Op::kCast, {b.load(in, {{i, item_size(from)}})}, to), {{i, item_size(to)}});
  b.close();
  b.finish_nest(symbol(0));
  return b.program;
}

// The cast value; restart when it is out of the target's range.
template <class To, class From>
Outcome<To> reference_cast(From x) {
  if constexpr (std::is_same_v<From, Bool8>) {
    return reference_cast<To>(x.value);
  } else if constexpr (kIsComplex<To>) {
    using Part = typename To::value_type;
    if constexpr (kIsComplex<From>)
      return {To(static_cast<Part>(x.real()), static_cast<Part>(x.imag()))};
    else
      return {To(static_cast<Part>(x), 0)};
  } else if constexpr (std::is_same_v<To, Bool8>) {
    return {bool8(is_true(x))};
  } else if constexpr (kIsComplex<From>) {
    return reference_cast<To>(x.real());
  } else if constexpr (kIsFloat<From> && std::is_integral_v<To>) {
    using Through =
        std::conditional_t<(sizeof(To) < 4), int32_t,
                           std::conditional_t<std::is_same_v<To, uint32_t>, int64_t, To>>;
    const long double value = std::trunc(static_cast<long double>(x));
    if (!(value >= static_cast<long double>(std::numeric_limits<Through>::min()) &&
          value <= static_cast<long double>(std::numeric_limits<Through>::max())))
      return {To(0), true};
    return {static_cast<To>(static_cast<Through>(value))};
  } else if constexpr (kIsHalf<To> && std::is_integral_v<From>) {
    return {static_cast<To>(static_cast<float>(x))};
  } else {
    return {static_cast<To>(x)};
  }
}

template <class From, class To>
void check_cast(DType from, DType to) {
  Runner runner(cast_program(from, to));
  for (int64_t n : {1, 8, 9, 65, 200})
    for (bool special : {false, true}) {
      std::vector<From> in(n);
      std::vector<To> out(n);
      for (From& x : in) x = sample<From>(special);
      bool restart = false;
      for (const From& x : in) restart |= reference_cast<To>(x).restart;
      ASSERT_EQ(runner.run({in.data(), out.data()}, {n}), restart ? 1 : 0)
          << dtype_text(from) << " to " << dtype_text(to);
      for (int64_t i = 0; i < n && !restart; ++i)
        ASSERT_TRUE(same(out[i], reference_cast<To>(in[i]).value))
            << dtype_text(from) << " to " << dtype_text(to) << " at " << i;
    }
}

TEST(Cast, AllPairs) {
  for (int from = 0; from < 14; ++from)
    for (int to = 0; to < 14; ++to)
      for_dtype(static_cast<DType>(from), [&](auto a) {
        for_dtype(static_cast<DType>(to), [&](auto b) {
          check_cast<decltype(a), decltype(b)>(static_cast<DType>(from), static_cast<DType>(to));
        });
      });
}

TEST(Select, MixesLanes) {
  for (DType dtype :
       {DType::kBool, DType::kInt16, DType::kFloat16, DType::kFloat64, DType::kComplex64}) {
    NestBuilder b;
    const BufferId c = b.buffer(DType::kBool), x = b.buffer(dtype), y = b.buffer(dtype),
                   out = b.buffer(dtype);
    const VarId i = b.open(symbol(0), true);
    const int64_t bytes = item_size(dtype);
    b.store(out,
            b.op(Op::kSelect,
                 {b.load(c, {{i, 1}}), b.load(x, {{i, bytes}}), b.load(y, {{i, bytes}})}, dtype),
            {{i, bytes}});
    b.close();
    b.finish_nest(symbol(0));
    Runner runner(b.program);
    for_dtype(dtype, [&](auto zero) {
      using T = decltype(zero);
      std::vector<Bool8> condition(37);
      std::vector<T> x_data(37), y_data(37), result(37);
      for (int k = 0; k < 37; ++k) {
        condition[k] = sample<Bool8>(false);
        x_data[k] = sample<T>(false);
        y_data[k] = sample<T>(false);
      }
      ASSERT_EQ(runner.run({condition.data(), x_data.data(), y_data.data(), result.data()}, {37}),
                0);
      for (int k = 0; k < 37; ++k)
        ASSERT_TRUE(same(result[k], condition[k].value ? x_data[k] : y_data[k]));
    });
  }
}

}  // namespace
}  // namespace numlift::codegen::test
