// Reductions: values, accuracy, order that depends on sizes only, conditions, several axes, lanes
// as columns, parallel chunks.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstring>
#include <random>

#include "nest_builder.h"
#include "numlift/support/options.h"

namespace numlift::codegen::test {
namespace {

constexpr DType kF64 = DType::kFloat64;

struct Shape {
  bool vector = true;
  bool parallel = false;
};

// out = reduce(x) over symbol 0 elements.
Program full_reduction(Op op, DType dtype, DType result, Shape shape = {},
                       uint8_t fp_checks = kFpAll) {
  NestBuilder b;
  const BufferId x = b.buffer(dtype), out = b.buffer(result);
  const VarId i = b.open(symbol(0), shape.vector, shape.parallel, /*reduction=*/true);
  const ValueId loaded = b.load(x, {{i, item_size(dtype)}});
  const bool position = op == Op::kReduceArgmin || op == Op::kReduceArgmax;
  const ValueId where = position ? b.index(i) : kNoValue;
  const ValueId sum = b.reduce(op, loaded, result, {i}, fp_checks, where);
  b.close();
  b.store(out, sum, {});
  b.finish_nest(symbol(0));
  return b.program;
}

std::vector<double> random_numbers(int64_t n, uint64_t seed = 1) {
  std::mt19937_64 engine(seed);
  std::normal_distribution<double> normal;
  std::vector<double> x(n);
  for (double& v : x) v = normal(engine);
  return x;
}

// NumPy's pairwise order: blocks of 128 with 8 accumulators.
template <class T>
T numpy_pairwise(const T* x, int64_t n) {
  if (n < 8) {
    T sum = 0;
    for (int64_t i = 0; i < n; ++i) sum += x[i];
    return sum;
  }
  if (n <= 128) {
    T r[8];
    for (int k = 0; k < 8; ++k) r[k] = x[k];
    int64_t i = 8;
    for (; i < n - n % 8; i += 8)
      for (int k = 0; k < 8; ++k) r[k] += x[i + k];
    T sum = ((r[0] + r[1]) + (r[2] + r[3])) + ((r[4] + r[5]) + (r[6] + r[7]));
    for (; i < n; ++i) sum += x[i];
    return sum;
  }
  int64_t half = n / 2;
  half -= half % 8;
  return numpy_pairwise(x, half) + numpy_pairwise(x + half, n - half);
}

TEST(Reduction, SumIsAsAccurateAsNumpys) {
  for (Shape shape : {Shape{true, false}, Shape{false, false}, Shape{true, true}}) {
    Runner runner(full_reduction(Op::kReduceSum, kF64, kF64, shape));
    double ours_total = 0, numpy_total = 0;
    for (int64_t n : {0, 1, 7, 8, 31, 32, 33, 511, 512, 513, 5000, 100000, 1000003})
      for (uint64_t seed = 1; seed <= 8; ++seed) {
        std::vector<double> x = random_numbers(n, seed);
        for (double& v : x) v += 0.3;
        long double exact = 0, magnitude = 0;
        for (double v : x) {
          exact += v;
          magnitude += std::fabs(v);
        }
        double sum = -1;
        ASSERT_EQ(runner.run({x.data(), &sum}, {n}), 0);
        const double ours = std::fabs(static_cast<double>(sum - exact));
        ours_total += ours / std::fabs(static_cast<double>(exact) + 1e-300);
        numpy_total += std::fabs(static_cast<double>(numpy_pairwise(x.data(), n) - exact)) /
                       std::fabs(static_cast<double>(exact) + 1e-300);
        EXPECT_LE(ours, 1e-16 * (4 + std::log2(static_cast<double>(n) + 1)) *
                            static_cast<double>(magnitude))
            << n;
      }
    // In units of the result's rounding error, summed over the cases: no worse, up to chance.
    EXPECT_LE(ours_total, 2 * numpy_total) << shape.vector << shape.parallel;
  }
}

TEST(Reduction, FloatSumsOfOtherWidths) {
  for (int64_t n : {0, 1, 63, 64, 65, 1000, 1025, 70001}) {
    std::vector<double> numbers = random_numbers(n);
    std::vector<float> x(numbers.begin(), numbers.end());
    long double exact = 0;
    for (float v : x) exact += v;
    float sum = -1;
    Runner(full_reduction(Op::kReduceSum, DType::kFloat32, DType::kFloat32))
        .run({x.data(), &sum}, {n});
    EXPECT_NEAR(sum, static_cast<double>(exact), 1e-6 * std::sqrt(static_cast<double>(n) + 1.0) * 3)
        << n;

    std::vector<std::complex<double>> z(n);
    for (int64_t i = 0; i < n; ++i) z[i] = {numbers[i], 2 * numbers[i]};
    std::complex<double> total(-1, -1);
    Runner(full_reduction(Op::kReduceSum, DType::kComplex128, DType::kComplex128))
        .run({z.data(), &total}, {n});
    EXPECT_NEAR(total.imag(), 2 * total.real(), 1e-9);

    std::vector<_Float16> h(n);
    for (int64_t i = 0; i < n; ++i) h[i] = static_cast<_Float16>(numbers[i] * 0.01);
    float half_exact = 0;
    for (_Float16 v : h) half_exact += static_cast<float>(v);
    _Float16 half_sum = 0;
    Runner(full_reduction(Op::kReduceSum, DType::kFloat16, DType::kFloat16))
        .run({h.data(), &half_sum}, {n});
    EXPECT_NEAR(static_cast<float>(half_sum), half_exact, 0.002 * (1 + std::fabs(half_exact))) << n;
  }
}

TEST(Reduction, EmptyAndNegativeZeroSumsArePositiveZero) {
  Runner runner(full_reduction(Op::kReduceSum, kF64, kF64));
  std::vector<double> x(5, -0.0);
  double sum = -1;
  runner.run({x.data(), &sum}, {0});
  EXPECT_FALSE(std::signbit(sum));
  runner.run({x.data(), &sum}, {5});
  EXPECT_EQ(sum, 0.0);
  EXPECT_FALSE(std::signbit(sum));
}

TEST(Reduction, IntegersBoolsProducts) {
  for (Shape shape : {Shape{true, false}, Shape{false, false}, Shape{true, true}})
    for (int64_t n : {1, 5, 64, 257, 40000}) {
      std::mt19937_64 engine(static_cast<uint64_t>(n));
      std::vector<int64_t> x(n);
      for (int64_t& v : x) v = static_cast<int64_t>(engine());
      uint64_t sum = 0, product = 1;
      for (int64_t v : x) {
        sum += static_cast<uint64_t>(v);
        product *= static_cast<uint64_t>(v | 1);
      }
      int64_t got = 0;
      Runner(full_reduction(Op::kReduceSum, DType::kInt64, DType::kInt64, shape))
          .run({x.data(), &got}, {n});
      EXPECT_EQ(static_cast<uint64_t>(got), sum);
      for (int64_t& v : x) v |= 1;
      Runner(full_reduction(Op::kReduceProd, DType::kInt64, DType::kInt64, shape))
          .run({x.data(), &got}, {n});
      EXPECT_EQ(static_cast<uint64_t>(got), product);
      int64_t least = x[0], most = x[0];
      for (int64_t v : x) {
        least = std::min(least, v);
        most = std::max(most, v);
      }
      Runner(full_reduction(Op::kReduceMin, DType::kInt64, DType::kInt64, shape))
          .run({x.data(), &got}, {n});
      EXPECT_EQ(got, least);
      Runner(full_reduction(Op::kReduceMax, DType::kInt64, DType::kInt64, shape))
          .run({x.data(), &got}, {n});
      EXPECT_EQ(got, most);

      for (int kind = 0; kind < 3; ++kind) {
        std::vector<uint8_t> bools(n, kind == 0 ? 0 : 1);
        if (kind == 2) bools[n / 2] = 0;
        const bool any = kind == 1 || (kind == 2 && n > 1), all = kind == 1;
        uint8_t flag = 7;
        Runner(full_reduction(Op::kReduceAny, DType::kBool, DType::kBool, shape))
            .run({bools.data(), &flag}, {n});
        EXPECT_EQ(flag, any);
        Runner(full_reduction(Op::kReduceAll, DType::kBool, DType::kBool, shape))
            .run({bools.data(), &flag}, {n});
        EXPECT_EQ(flag, all);
        Runner(full_reduction(Op::kReduceMax, DType::kBool, DType::kBool, shape))
            .run({bools.data(), &flag}, {n});
        EXPECT_EQ(flag, any);
      }
    }
}

TEST(Reduction, ExtremesPropagateNan) {
  Runner max(full_reduction(Op::kReduceMax, kF64, kF64)),
      min(full_reduction(Op::kReduceMin, kF64, kF64));
  for (int64_t n : {1, 9, 100, 3000})
    for (int64_t place : {int64_t{0}, n / 2, n - 1}) {
      std::vector<double> x = random_numbers(n);
      double got = 0;
      max.run({x.data(), &got}, {n});
      EXPECT_EQ(got, *std::max_element(x.begin(), x.end()));
      min.run({x.data(), &got}, {n});
      EXPECT_EQ(got, *std::min_element(x.begin(), x.end()));
      x[place] = NAN;
      ASSERT_EQ(max.run({x.data(), &got}, {n}), 0);
      EXPECT_TRUE(std::isnan(got));
      ASSERT_EQ(min.run({x.data(), &got}, {n}), 0);
      EXPECT_TRUE(std::isnan(got));
    }
}

TEST(Reduction, FirstExtremeAndFirstNanWin) {
  for (Shape shape : {Shape{true, false}, Shape{false, false}, Shape{true, true}}) {
    Runner argmax(full_reduction(Op::kReduceArgmax, kF64, DType::kInt64, shape));
    Runner argmin(full_reduction(Op::kReduceArgmin, kF64, DType::kInt64, shape));
    for (int64_t n : {1, 2, 31, 33, 300, 50000}) {
      std::vector<double> x(n);
      std::mt19937_64 engine(static_cast<uint64_t>(n));
      for (double& v : x) v = static_cast<double>(engine() % 10);
      int64_t got = -1;
      argmax.run({x.data(), &got}, {n});
      EXPECT_EQ(got, std::max_element(x.begin(), x.end()) - x.begin());
      argmin.run({x.data(), &got}, {n});
      EXPECT_EQ(got, std::min_element(x.begin(), x.end()) - x.begin());
      x[n / 2] = x[n - 1] = NAN;
      argmin.run({x.data(), &got}, {n});
      EXPECT_EQ(got, n / 2);
      argmax.run({x.data(), &got}, {n});
      EXPECT_EQ(got, n / 2);
      std::fill(x.begin(), x.end(), -INFINITY);
      argmax.run({x.data(), &got}, {n});
      EXPECT_EQ(got, 0);
    }
  }
}

TEST(Reduction, SumRestartsWhenNumpyWouldWarn) {
  Runner runner(full_reduction(Op::kReduceSum, kF64, kF64));
  struct Case {
    double a, b;
    int32_t exit;
  };
  for (int64_t n : {2, 9, 40, 700})
    for (const Case& c : {Case{NAN, 1, 0}, Case{INFINITY, 1, 0}, Case{INFINITY, INFINITY, 0},
                          Case{INFINITY, -INFINITY, 1}, Case{1.7e308, 1.7e308, 1}, Case{1, 2, 0}}) {
      std::vector<double> x(n, 0.5);
      x[0] = c.a;
      x[n - 1] = c.b;
      double sum;
      EXPECT_EQ(runner.run({x.data(), &sum}, {n}), c.exit) << c.a << " + " << c.b << " n=" << n;
    }
}

TEST(Reduction, DoesNotDependOnTheNumberOfThreads) {
  mutable_options().parallel_threshold = 1;
  Runner sum(full_reduction(Op::kReduceSum, kF64, kF64, {true, true}));
  Runner argmax(full_reduction(Op::kReduceArgmax, kF64, DType::kInt64, {true, true}));
  for (int64_t n : {100, 20000, 100001, 1000000}) {
    const std::vector<double> x = random_numbers(n);
    double first = 0;
    for (int threads : {1, 2, 4}) {
      set_num_threads(threads);
      for (int repeat = 0; repeat < 3; ++repeat) {
        double got = -1;
        int64_t position = -1;
        ASSERT_EQ(sum.run({const_cast<double*>(x.data()), &got}, {n}), 0);
        ASSERT_EQ(argmax.run({const_cast<double*>(x.data()), &position}, {n}), 0);
        if (threads == 1 && repeat == 0) first = got;
        EXPECT_EQ(std::memcmp(&got, &first, 8), 0) << n << " threads " << threads;
        EXPECT_EQ(position, std::max_element(x.begin(), x.end()) - x.begin());
      }
    }
  }
  set_num_threads(0);
  reset_options();
}

// x[rows, cols] summed over both axes, over rows (lanes are columns), over columns (one row a
// time).
TEST(Reduction, TwoAxes) {
  const int64_t rows = 37, cols = 53;
  const std::vector<double> x = random_numbers(rows * cols);
  const SizeExpr r = symbol(0), c = symbol(1), row_bytes = SizeExpr(8) * symbol(1);
  {
    NestBuilder b;
    const BufferId in = b.buffer(kF64), out = b.buffer(kF64);
    const VarId i = b.open(r, false, true, true);
    const VarId j = b.open(c, true, false, true);
    const ValueId v = b.load(in, {{i, row_bytes}, {j, 8}});
    b.close();
    const ValueId sum = b.reduce(Op::kReduceSum, v, kF64, {i, j}, kFpAll);
    b.close();
    b.store(out, sum, {});
    b.finish_nest(r * c);
    double got = 0;
    ASSERT_EQ(Runner(b.program).run({const_cast<double*>(x.data()), &got}, {rows, cols}), 0);
    long double want = 0;
    for (double value : x) want += value;
    EXPECT_NEAR(got, static_cast<double>(want), 1e-11);
  }
  {
    NestBuilder b;
    const BufferId in = b.buffer(kF64), out = b.buffer(kF64), largest = b.buffer(kF64);
    const VarId j = b.open(c, true, true);
    const VarId i = b.open(r, false, false, true);
    const ValueId v = b.load(in, {{i, row_bytes}, {j, 8}});
    const ValueId sum = b.reduce(Op::kReduceSum, v, kF64, {i}, kFpAll);
    const ValueId max = b.reduce(Op::kReduceMax, v, kF64, {i});
    b.close();
    b.store(out, sum, {{j, 8}});
    b.store(largest, max, {{j, 8}});
    b.close();
    b.finish_nest(r * c);
    std::vector<double> got(cols), most(cols);
    Runner runner(b.program);
    ASSERT_EQ(runner.run({const_cast<double*>(x.data()), got.data(), most.data()}, {rows, cols}),
              0);
    for (int64_t col = 0; col < cols; ++col) {
      double want = 0, want_most = -1e9;
      for (int64_t row = 0; row < rows; ++row) {
        want += x[row * cols + col];
        want_most = std::max(want_most, x[row * cols + col]);
      }
      EXPECT_NEAR(got[col], want, 1e-12);
      EXPECT_EQ(most[col], want_most);
    }
  }
  {
    NestBuilder b;
    const BufferId in = b.buffer(kF64), out = b.buffer(kF64), where = b.buffer(DType::kInt64);
    const VarId i = b.open(r, false, true);
    const VarId j = b.open(c, true, false, true);
    const ValueId v = b.load(in, {{i, row_bytes}, {j, 8}});
    const ValueId position = b.index(j);
    const ValueId sum = b.reduce(Op::kReduceSum, v, kF64, {j}, kFpAll);
    const ValueId least = b.reduce(Op::kReduceArgmin, v, DType::kInt64, {j}, kFpNone, position);
    b.close();
    b.store(out, sum, {{i, 8}});
    b.store(where, least, {{i, 8}});
    b.close();
    b.finish_nest(r * c);
    std::vector<double> got(rows);
    std::vector<int64_t> positions(rows);
    Runner runner(b.program);
    ASSERT_EQ(
        runner.run({const_cast<double*>(x.data()), got.data(), positions.data()}, {rows, cols}), 0);
    for (int64_t row = 0; row < rows; ++row) {
      const double* begin = x.data() + row * cols;
      EXPECT_NEAR(got[row], static_cast<double>(numpy_pairwise(begin, cols)), 1e-12);
      EXPECT_EQ(positions[row], std::min_element(begin, begin + cols) - begin);
    }
  }
}

// Sums, maxima and argmins down columns of many shapes, with conditions per column.
TEST(Reduction, DownTheRows) {
  const SizeExpr r = symbol(0), c = symbol(1), row_bytes = SizeExpr(8) * symbol(1);
  NestBuilder b;
  const BufferId in = b.buffer(kF64), sums = b.buffer(kF64), most = b.buffer(kF64),
                 where = b.buffer(DType::kInt64);
  const VarId j = b.open(c, true, true);
  const VarId i = b.open(r, false, false, true);
  const ValueId v = b.load(in, {{i, row_bytes}, {j, 8}});
  const ValueId scaled = b.op(Op::kMultiply, {v, b.constant(kF64, 2.0)}, kF64, kFpAll);
  const ValueId row = b.index(i);
  const ValueId sum = b.reduce(Op::kReduceSum, scaled, kF64, {i}, kFpAll);
  const ValueId max = b.reduce(Op::kReduceMax, v, kF64, {i});
  const ValueId argmin = b.reduce(Op::kReduceArgmin, v, DType::kInt64, {i}, kFpNone, row);
  b.close();
  b.store(sums, b.op(Op::kMultiply, {sum, b.constant(kF64, 0.5)}, kF64, kFpAll), {{j, 8}});
  b.store(most, max, {{j, 8}});
  b.store(where, argmin, {{j, 8}});
  b.close();
  b.finish_nest(r * c, 3);
  Runner runner(b.program);
  mutable_options().parallel_threshold = 1;
  for (int64_t rows : {1, 5, 31, 32, 33, 200, 1100})
    for (int64_t cols : {1, 7, 8, 9, 255, 256, 257, 700}) {
      std::vector<double> x = random_numbers(rows * cols);
      std::vector<double> got(cols + 1, -9.0), got_most(cols);
      std::vector<int64_t> got_where(cols);
      const auto run = [&] {
        return runner.run({x.data(), got.data(), got_most.data(), got_where.data()}, {rows, cols});
      };
      ASSERT_EQ(run(), 0) << rows << " x " << cols;
      EXPECT_EQ(got[cols], -9.0);
      for (int64_t col = 0; col < cols; ++col) {
        double want = 0, want_most = -1e9;
        int64_t best = 0;
        for (int64_t row_index = 0; row_index < rows; ++row_index) {
          const double value = x[row_index * cols + col];
          want += value;
          want_most = std::max(want_most, value);
          if (value < x[best * cols + col]) best = row_index;
        }
        ASSERT_NEAR(got[col], want, 1e-11) << rows << " x " << cols << " column " << col;
        ASSERT_EQ(got_most[col], want_most);
        ASSERT_EQ(got_where[col], best);
      }
      x[(rows - 1) * cols + cols - 1] = NAN;
      EXPECT_EQ(run(), 0) << "a NaN is no condition";
      EXPECT_TRUE(std::isnan(got[cols - 1]));
      if (rows > 1) {
        x[cols - 1] = INFINITY;
        EXPECT_EQ(run(), 1) << "with an infinity beside a NaN nobody knows";
        x[(rows - 1) * cols + cols - 1] = -INFINITY;
        EXPECT_EQ(run(), 1);
      }
    }
  reset_options();
}

// A reduction's result used by a second loop of the nest: softmax's shape, all of it parallel.
TEST(Reduction, ResultFeedsTheNextLoop) {
  NestBuilder b;
  const BufferId in = b.buffer(kF64), out = b.buffer(kF64);
  const VarId i = b.open(symbol(0), true, true, true);
  const ValueId v = b.load(in, {{i, 8}});
  const ValueId sum = b.reduce(Op::kReduceSum, v, kF64, {i}, kFpAll);
  b.close();
  const ValueId half = b.op(Op::kMultiply, {sum, b.constant(kF64, 0.5)}, kF64, kFpAll);
  const VarId j = b.open(symbol(0), true, true);
  b.store(out, b.op(Op::kSubtract, {b.load(in, {{j, 8}}), half}, kF64, kFpAll), {{j, 8}});
  b.close();
  b.finish_nest(symbol(0));
  Runner runner(b.program);
  for (int64_t n : {1, 100, 50000}) {
    std::vector<double> x(n, 2.0), y(n);
    ASSERT_EQ(runner.run({x.data(), y.data()}, {n}), 0);
    for (double value : y) ASSERT_EQ(value, 2.0 - static_cast<double>(n));
  }
}

TEST(Reduction, DearBodiesAreNotUnrolled) {
  NestBuilder b;
  const BufferId in = b.buffer(kF64), out = b.buffer(kF64);
  const VarId i = b.open(symbol(0), true, false, true);
  const ValueId v = b.op(Op::kSin, {b.load(in, {{i, 8}})}, kF64, kFpAll);
  const ValueId sum = b.reduce(Op::kReduceSum, v, kF64, {i}, kFpAll);
  b.close();
  b.store(out, sum, {});
  b.finish_nest(symbol(0), 30);
  Runner runner(b.program);
  for (int64_t n : {1, 8, 20, 32, 100, 1000}) {
    std::vector<double> x = random_numbers(n);
    double want = 0, got = 0;
    for (double value : x) want += std::sin(value);
    ASSERT_EQ(runner.run({x.data(), &got}, {n}), 0);
    EXPECT_NEAR(got, want, 1e-12);
    x[n - 1] = INFINITY;
    EXPECT_EQ(runner.run({x.data(), &got}, {n}), 1);
  }
}

}  // namespace
}  // namespace numlift::codegen::test
