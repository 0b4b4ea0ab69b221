// Elementary functions: within 4 ULP of the exact result (long double) and with libm's special
// values over the whole range of the operand, in vectors and in scalars.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <map>
#include <random>

#include "nest_builder.h"

namespace numlift::codegen::test {
namespace {

struct Function {
  Op op;
  long double (*exact1)(long double);
  long double (*exact2)(long double, long double);
};

const Function kFunctions[] = {
    {Op::kExp, expl, nullptr},       {Op::kExp2, exp2l, nullptr},
    {Op::kExpm1, expm1l, nullptr},   {Op::kLog, logl, nullptr},
    {Op::kLog2, log2l, nullptr},     {Op::kLog10, log10l, nullptr},
    {Op::kLog1p, log1pl, nullptr},   {Op::kSin, sinl, nullptr},
    {Op::kCos, cosl, nullptr},       {Op::kTan, tanl, nullptr},
    {Op::kArcsin, asinl, nullptr},   {Op::kArccos, acosl, nullptr},
    {Op::kArctan, atanl, nullptr},   {Op::kSinh, sinhl, nullptr},
    {Op::kCosh, coshl, nullptr},     {Op::kTanh, tanhl, nullptr},
    {Op::kArcsinh, asinhl, nullptr}, {Op::kArccosh, acoshl, nullptr},
    {Op::kArctanh, atanhl, nullptr}, {Op::kCbrt, cbrtl, nullptr},
    {Op::kArctan2, nullptr, atan2l}, {Op::kHypot, nullptr, hypotl},
    {Op::kPower, nullptr, powl},
};

template <class T>
double ulps(T got, long double exact) {
  const T want = static_cast<T>(exact);
  if (std::isnan(want) || std::isnan(got)) return std::isnan(want) && std::isnan(got) ? 0 : 1e30;
  if (std::isinf(want) || std::isinf(got)) {
    if (want == got) return 0;
    // One step from the largest number is a rounding matter.
    const T most = std::numeric_limits<T>::max();
    return std::fabs(want) == most || std::fabs(got) == most ? 1 : 1e30;
  }
  if (exact == 0) return got == 0 && std::signbit(got) == std::signbit(want) ? 0 : 1e30;
  const T size = std::fabs(want);
  T ulp = std::nextafter(size, std::numeric_limits<T>::infinity()) - size;
  return static_cast<double>(std::fabs(static_cast<long double>(got) - exact) /
                             static_cast<long double>(ulp));
}

template <class T>
std::vector<T> operands(uint64_t seed, size_t count) {
  std::mt19937_64 engine(seed);
  std::vector<T> x = {T(0),
                      T(-0.0),
                      T(1),
                      T(-1),
                      T(INFINITY),
                      T(-INFINITY),
                      T(NAN),
                      T(0.5),
                      T(-0.5),
                      T(2),
                      T(710),
                      T(-710),
                      T(88.5),
                      T(-88.5),
                      T(1e22),
                      T(1e-20),
                      T(-745.5),
                      T(127),
                      T(1023.9),
                      std::numeric_limits<T>::max(),
                      std::numeric_limits<T>::lowest(),
                      std::numeric_limits<T>::min(),
                      std::numeric_limits<T>::denorm_min(),
                      T(0.9999999),
                      T(1.0000001),
                      T(3.14159265358979),
                      T(1.5707963267948966),
                      T(-2.5),
                      T(3),
                      T(1e5)};
  std::normal_distribution<double> normal(0, 3);
  std::uniform_real_distribution<double> unit(-1, 1);
  while (x.size() < count) {
    T value;
    switch (engine() % 4) {
      case 0: {  // any bits
        uint64_t bits = engine();
        std::memcpy(&value, &bits, sizeof value);
        break;
      }
      case 1:
        value = static_cast<T>(normal(engine));
        break;
      case 2:
        value = static_cast<T>(unit(engine));
        break;
      default:
        value = static_cast<T>(std::ldexp(unit(engine), static_cast<int>(engine() % 24)));
        break;
    }
    x.push_back(value);
  }
  return x;
}

template <class T>
Program program(Op op, DType dtype, bool vector) {
  NestBuilder b;
  const BufferId x = b.buffer(dtype), y = b.buffer(dtype), out = b.buffer(dtype);
  const VarId i = b.open(symbol(0), vector);
  const int64_t bytes = sizeof(T);
  std::vector<ValueId> values{b.load(x, {{i, bytes}})};
  if (op_info(op).arity == 2) values.push_back(b.load(y, {{i, bytes}}));
  b.store(out, b.op(op, values, dtype), {{i, bytes}});
  b.close();
  b.finish_nest(symbol(0));
  return b.program;
}

template <class T>
void check(DType dtype) {
  for (const Function& function : kFunctions)
    for (bool vector : {true, false}) {
      const size_t n = 60001;
      std::vector<T> x = operands<T>(1, n), y = operands<T>(2, n), out(n);
      for (size_t i = 0; i < 900; ++i) {  // all pairs of special operands
        x[i] = x[i / 30];
        if (i >= 30) y[i] = y[i % 30];
      }
      const std::vector<T> first = operands<T>(1, 30);
      for (size_t i = 0; i < 900; ++i) x[i] = first[i / 30];
      Runner runner(program<T>(function.op, dtype, vector));
      ASSERT_EQ(runner.run({x.data(), y.data(), out.data()}, {static_cast<int64_t>(n)}), 0);
      double worst = 0;
      size_t place = 0;
      for (size_t i = 0; i < n; ++i) {
        const long double exact =
            function.exact1 ? function.exact1(x[i]) : function.exact2(x[i], y[i]);
        const double distance = ulps(out[i], exact);
        if (distance > worst) {
          worst = distance;
          place = i;
        }
      }
      EXPECT_LE(worst, 4.0) << op_info(function.op).text << " " << dtype_text(dtype)
                            << (vector ? " vector" : " scalar") << " of "
                            << static_cast<double>(x[place]) << ", "
                            << static_cast<double>(y[place]) << " gave "
                            << static_cast<double>(out[place]);
    }
}

TEST(VectorMath, Float64WithinFourUlp) { check<double>(DType::kFloat64); }
TEST(VectorMath, Float32WithinFourUlp) { check<float>(DType::kFloat32); }

}  // namespace
}  // namespace numlift::codegen::test
