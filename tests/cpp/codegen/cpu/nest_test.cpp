// Shapes of loop nests: vectors and tails, strides, several loops, scalars, private buffers.
#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <numeric>

#include "nest_builder.h"

namespace numlift::codegen::test {
namespace {

constexpr DType kF64 = DType::kFloat64;

Program multiply_add(bool parallel) {
  NestBuilder b;
  const BufferId x = b.buffer(kF64), y = b.buffer(kF64), out = b.buffer(kF64);
  const VarId i = b.open(symbol(0), /*vector=*/true, parallel);
  const ValueId product =
      b.op(Op::kMultiply, {b.load(x, {{i, 8}}), b.load(y, {{i, 8}})}, kF64, kFpAll);
  const ValueId sum = b.op(Op::kAdd, {product, b.constant(kF64, 1.0)}, kF64, kFpAll);
  b.store(out, sum, {{i, 8}});
  b.close();
  b.finish_nest(symbol(0), 2);
  return b.program;
}

TEST(Nest, ElementwiseLoopOfAnyLength) {
  Runner runner(multiply_add(false), true);
  for (int64_t n : {0, 1, 3, 7, 8, 9, 15, 16, 63, 64, 65, 1000}) {
    std::vector<double> x(n + 1), y(n + 1), out(n + 1, -7.0);
    std::iota(x.begin(), x.end(), 0.5);
    std::iota(y.begin(), y.end(), -3.25);
    ASSERT_EQ(runner.run({x.data(), y.data(), out.data()}, {n}), 0);
    for (int64_t i = 0; i < n; ++i) ASSERT_EQ(out[i], x[i] * y[i] + 1.0) << n << " " << i;
    ASSERT_EQ(out[n], -7.0) << "the element past the end";
  }
}

TEST(Nest, RestartsExactlyWhenAConditionOccurs) {
  Runner runner(multiply_add(false));
  const double inf = INFINITY, nan = NAN;
  struct Case {
    double x, y;
    int32_t exit;
  };
  for (int64_t place : {0, 5, 16, 18}) {
    for (const Case& c :
         {Case{1e200, 1e200, 1}, Case{inf, 0.0, 1}, Case{inf, 2.0, 0}, Case{nan, 2.0, 0},
          Case{nan, inf, 0}, Case{-1e308, 10.0, 1}, Case{3.0, 4.0, 0}}) {
      std::vector<double> x(19, 1.0), y(19, 2.0), out(19);
      x[place] = c.x;
      y[place] = c.y;
      EXPECT_EQ(runner.run({x.data(), y.data(), out.data()}, {19}), c.exit)
          << c.x << " * " << c.y << " at " << place;
    }
  }
}

TEST(Nest, ReportsCompileTime) {
  for (int round = 0; round < 3; ++round) {
    const auto start = std::chrono::steady_clock::now();
    Runner runner(multiply_add(true));
    const std::chrono::duration<double, std::milli> ms = std::chrono::steady_clock::now() - start;
    RecordProperty("compile_ms_" + std::to_string(round), std::to_string(ms.count()));
    std::printf("compile: %.2f ms, %zu bytes\n", ms.count(), runner.code().code_size_bytes());
  }
}

}  // namespace
}  // namespace numlift::codegen::test
