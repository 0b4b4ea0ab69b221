#include "numlift/graph/type.h"

#include <bit>
#include <cmath>
#include <complex>

#include <gtest/gtest.h>

#include "numlift/graph/op.h"
#include "numlift/graph/scalar.h"

namespace numlift {
namespace {

constexpr DType kAllDTypes[] = {
#define NUMLIFT_DTYPE(name, text, size, kind, character) DType::k##name,
    NUMLIFT_DTYPES(NUMLIFT_DTYPE)
#undef NUMLIFT_DTYPE
};

TEST(Type, PrintsByKind) {
  const SizeExpr n = SizeExpr::symbol(SymbolId{0});
  EXPECT_EQ(type_text(array_type(DType::kFloat64, {n, n + 2})), "f64[s0, s0 + 2]");
  EXPECT_EQ(type_text(array_type(DType::kBool, {})), "b8[]");
  EXPECT_EQ(type_text(numpy_scalar_type(DType::kInt8)), "i8()");
  EXPECT_EQ(type_text(py_scalar_type(DType::kComplex128)), "py.c128");
  EXPECT_EQ(type_text(Type{ValueKind::kObject, DType::kFloat64, {}}), "object");
}

TEST(Type, DTypeTextRoundTrips) {
  for (DType dtype : kAllDTypes) {
    DType parsed{};
    ASSERT_TRUE(parse_dtype(dtype_text(dtype), &parsed));
    EXPECT_EQ(parsed, dtype);
  }
  DType unused{};
  EXPECT_FALSE(parse_dtype("f128", &unused));
  EXPECT_EQ(real_part(DType::kComplex64), DType::kFloat32);
  EXPECT_EQ(real_part(DType::kInt16), DType::kInt16);
}

TEST(OpTable, TextRoundTrips) {
  int count = 0;
#define NUMLIFT_OP(name, ...)                                  \
  {                                                            \
    Op parsed{};                                               \
    ASSERT_TRUE(parse_op(op_info(Op::k##name).text, &parsed)); \
    EXPECT_EQ(parsed, Op::k##name);                            \
    ++count;                                                   \
  }
#include "numlift/graph/ops.def"
#undef NUMLIFT_OP
  EXPECT_GT(count, 80);
  EXPECT_EQ(op_info(Op::kArctan2).text, "arctan2");
  EXPECT_EQ(op_info(Op::kReduceArgmax).text, "reduce_argmax");
  Op unused{};
  EXPECT_FALSE(parse_op("no_such_op", &unused));
}

TEST(Scalar, TextRoundTripsToTheBit) {
  auto round_trip = [](const ScalarBits& scalar) {
    const auto parsed = parse_scalar(scalar.dtype, scalar_text(scalar));
    ASSERT_TRUE(parsed) << scalar_text(scalar);
    EXPECT_EQ(*parsed, scalar) << scalar_text(scalar);
  };
  for (double value :
       {0.0, -0.0, 0.1, 1e300, 5e-324, static_cast<double>(-INFINITY), static_cast<double>(NAN)}) {
    round_trip(make_scalar(DType::kFloat64, value));
    round_trip(make_scalar(DType::kFloat32, static_cast<float>(value)));
    round_trip(make_scalar(DType::kComplex128, std::complex<double>(value, -value)));
  }
  round_trip(make_scalar(DType::kFloat64, std::bit_cast<double>(0xfff8000000000123ull)));
  round_trip(make_scalar(DType::kInt64, INT64_MIN));
  round_trip(make_scalar(DType::kUInt64, UINT64_MAX));
  round_trip(make_scalar(DType::kBool, true));
  round_trip(make_scalar(DType::kComplex64, std::complex<float>(1, NAN)));
  EXPECT_EQ(scalar_text(make_scalar(DType::kComplex64, std::complex<float>(1, -0.0f))), "(1, -0)");
  EXPECT_FALSE(parse_scalar(DType::kInt8, "300"));
  EXPECT_FALSE(parse_scalar(DType::kFloat64, "1.0x"));
}

TEST(Scalar, EveryHalfSurvivesFloatAndText) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const auto half = static_cast<uint16_t>(bits);
    ASSERT_EQ(float_to_half(half_to_float(half)), half) << bits;
    const ScalarBits scalar = make_scalar(DType::kFloat16, half);
    ASSERT_EQ(*parse_scalar(DType::kFloat16, scalar_text(scalar)), scalar) << scalar_text(scalar);
  }
}

TEST(Scalar, HalfRoundsToNearestEven) {
  EXPECT_EQ(double_to_half(65504.0), 0x7BFF);
  EXPECT_EQ(double_to_half(65519.9), 0x7BFF);
  EXPECT_EQ(double_to_half(65520.0), 0x7C00);                   // infinity
  EXPECT_EQ(double_to_half(1.0 + 1.0 / 2048), 0x3C00);          // tie to even
  EXPECT_EQ(double_to_half(1.0 + 3.0 / 2048), 0x3C02);          // tie to even, upwards
  EXPECT_EQ(double_to_half(1.0 + 1.0 / 2048 + 1e-12), 0x3C01);  // by way of float it would be a tie
  EXPECT_EQ(double_to_half(std::ldexp(1.0, -25)), 0x0000);
  EXPECT_EQ(double_to_half(std::ldexp(1.5, -25)), 0x0001);
  EXPECT_EQ(double_to_half(-std::ldexp(1.0, -24)), 0x8001);
}

}  // namespace
}  // namespace numlift
