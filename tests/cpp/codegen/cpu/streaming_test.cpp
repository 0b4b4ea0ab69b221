// Results large enough for streaming stores: every element is written, none beside them, wherever
// rows begin.
#include <gtest/gtest.h>

#include <cstring>

#include "nest_builder.h"
#include "numlift/support/options.h"

namespace numlift::codegen::test {
namespace {

constexpr DType kF64 = DType::kFloat64;

// Two results, both x + 1: rows of symbol 1 elements; x is C contiguous, the
// results' rows are symbols 2 and 3 bytes apart.
Program add_one_twice() {
  NestBuilder b;
  const BufferId x = b.buffer(kF64), one = b.buffer(kF64), two = b.buffer(kF64);
  const VarId i = b.open(symbol(0), false, true);
  const VarId j = b.open(symbol(1), true);
  const ValueId loaded = b.load(x, {{i, SizeExpr(8) * symbol(1)}, {j, 8}});
  const ValueId sum = b.op(Op::kAdd, {loaded, b.constant(kF64, 1.0)}, kF64);
  b.store(one, sum, {{i, symbol(2)}, {j, 8}});
  b.store(two, sum, {{i, symbol(3)}, {j, 8}});
  b.close();
  b.close();
  b.finish_nest(symbol(0) * symbol(1));
  return b.program;
}

void expect_rows(const std::vector<double>& memory, int64_t first, int64_t rows, int64_t columns,
                 int64_t row_step) {
  int64_t written = 0;
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j)
      written +=
          memory[first + i * row_step + j] == static_cast<double>((i * columns + j) % 1000 + 1);
  EXPECT_EQ(written, rows * columns);
  int64_t untouched = 0;
  for (double value : memory) untouched += value == -5.0;
  EXPECT_EQ(untouched, static_cast<int64_t>(memory.size()) - rows * columns);
}

TEST(Streaming, WritesEveryElementWhereverRowsBegin) {
  Runner runner(add_one_twice());
  mutable_options().parallel_threshold = 1;
  struct Case {
    int64_t rows, columns, gap;
  };
  // From 16 MiB on, rows of more than 1 KiB: the last three stay below one or the other.
  for (const auto& [rows, columns, gap] :
       {Case{2200, 1001, 0}, Case{2200, 1001, 2}, Case{1100, 2048, 0}, Case{3, 1500001, 0},
        Case{1, 4400000, 0}, Case{40, 1001, 3}, Case{200000, 21, 0}, Case{0, 5000000, 0}}) {
    std::vector<double> x(rows * columns);
    for (int64_t k = 0; k < rows * columns; ++k) x[k] = static_cast<double>(k % 1000);
    const int64_t step = columns + gap;
    for (int64_t first : {0, 1, 7}) {
      SCOPED_TRACE(std::to_string(rows) + " x " + std::to_string(columns) + " from " +
                   std::to_string(first));
      std::vector<double> one(rows * step + 20, -5.0);
      std::vector<double> two(rows * (step + 1) + 20, -5.0);
      ASSERT_EQ(runner.run({x.data(), one.data() + first, two.data() + 3},
                           {rows, columns, 8 * step, 8 * (step + 1)}),
                0);
      expect_rows(one, first, rows, columns, step);
      expect_rows(two, 3, rows, columns, step + 1);
    }
  }
  reset_options();
}

// Memory that is not even aligned to its elements is never streamed.
TEST(Streaming, UnalignedElements) {
  Runner runner(add_one_twice());
  const int64_t rows = 2200, columns = 1001;
  std::vector<double> x(rows * columns, 2.0), want(rows * columns, 3.0);
  std::vector<char> one(rows * columns * 8 + 8), two(rows * columns * 8 + 8);
  ASSERT_EQ(runner.run({x.data(), one.data() + 3, two.data() + 1},
                       {rows, columns, 8 * columns, 8 * columns}),
            0);
  EXPECT_EQ(std::memcmp(one.data() + 3, want.data(), want.size() * 8), 0);
  EXPECT_EQ(std::memcmp(two.data() + 1, want.data(), want.size() * 8), 0);
}

}  // namespace
}  // namespace numlift::codegen::test
