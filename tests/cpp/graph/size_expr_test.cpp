#include "numlift/graph/size_expr.h"

#include <algorithm>
#include <random>

#include <gtest/gtest.h>

namespace numlift {
namespace {

SizeExpr s(uint32_t index) { return SizeExpr::symbol(SymbolId{index}); }

int64_t floor_div(int64_t a, int64_t b) {
  const int64_t q = a / b;
  return a % b != 0 && (a % b < 0) != (b < 0) ? q - 1 : q;
}

TEST(SizeExpr, EqualSumsHaveOneForm) {
  EXPECT_EQ(s(0) + s(1), s(1) + s(0));
  EXPECT_EQ((s(0) + 1) * (s(0) - 1), s(0) * s(0) - 1);
  EXPECT_EQ(s(0) - s(0), SizeExpr(0));
  EXPECT_EQ((s(0) + s(1)) * s(2), s(2) * s(1) + s(0) * s(2));
  EXPECT_FALSE(s(0) == s(1));
  EXPECT_FALSE(s(0) * 2 == s(0));
  EXPECT_EQ((s(0) * 3 + 1).hash(), (SizeExpr(1) + s(0) + s(0) + s(0)).hash());
}

TEST(SizeExpr, ConstantsAndSymbolsAreRecognised) {
  EXPECT_EQ(SizeExpr(7).constant(), 7);
  EXPECT_FALSE(s(0).constant());
  EXPECT_EQ(s(3).as_symbol(), SymbolId{3});
  EXPECT_FALSE((s(3) + 1).as_symbol());
  EXPECT_FALSE((s(3) * 2).as_symbol());
  EXPECT_TRUE((s(3) - s(3)).is_constant());
}

TEST(SizeExpr, QuotientsSimplify) {
  const SizeExpr n = s(0), m = s(1);
  EXPECT_EQ(SizeExpr::floor_div(n * 6, 6), n);
  EXPECT_EQ(SizeExpr::floor_div(n * m, m), n);
  EXPECT_EQ(SizeExpr::floor_div(n * 4 + 3, 4), n);
  EXPECT_EQ(SizeExpr::floor_div(n + 2, 2), SizeExpr::floor_div(n, 2) + 1);
  EXPECT_EQ(SizeExpr::floor_div(n * 4, 6), SizeExpr::floor_div(n * 2, 3));
  EXPECT_EQ(SizeExpr::floor_div(SizeExpr::floor_div(n, 2), 3), SizeExpr::floor_div(n, 6));
  EXPECT_EQ(SizeExpr::floor_div(n, -1), -n);
  EXPECT_EQ(SizeExpr::floor_div((n + 1) * (m + 2), n + 1), m + 2);
  EXPECT_EQ(SizeExpr::floor_div(n * m + m + 1, m), n + 1 + SizeExpr::floor_div(1, m));
  EXPECT_EQ(SizeExpr::floor_div(-7, 2), SizeExpr(-4));
  EXPECT_EQ(SizeExpr::floor_div(SizeExpr::floor_mod(n, 4), 4), SizeExpr(0));
}

TEST(SizeExpr, RemaindersSimplify) {
  const SizeExpr n = s(0), m = s(1);
  EXPECT_EQ(SizeExpr::floor_mod(n * 6, 3), SizeExpr(0));
  EXPECT_EQ(SizeExpr::floor_mod(n * m, m), SizeExpr(0));
  EXPECT_EQ(SizeExpr::floor_mod(n * 5 + 7, 4), SizeExpr::floor_mod(n + 3, 4));
  EXPECT_EQ(SizeExpr::floor_mod(n * 2, 4), SizeExpr::floor_mod(n, 2) * 2);
  EXPECT_EQ(SizeExpr::floor_mod(SizeExpr::floor_mod(n, 12), 4), SizeExpr::floor_mod(n, 4));
  EXPECT_EQ(SizeExpr::floor_mod(-7, 2), SizeExpr(1));
  EXPECT_EQ(SizeExpr::floor_mod(n, 1), SizeExpr(0));
}

TEST(SizeExpr, ExtremesFold) {
  const SizeExpr n = s(0), m = s(1);
  EXPECT_EQ(SizeExpr::min(n, n + 3), n);
  EXPECT_EQ(SizeExpr::max(n, n + 3), n + 3);
  EXPECT_EQ(SizeExpr::min(n, m), SizeExpr::min(m, n));
  EXPECT_EQ(SizeExpr::min(SizeExpr::min(n, 5), 3), SizeExpr::min(n, 3));
  EXPECT_EQ(SizeExpr::max(SizeExpr::max(n, m), s(2)), SizeExpr::max(n, SizeExpr::max(s(2), m)));
  EXPECT_EQ(SizeExpr::min(2, 3), SizeExpr(2));
}

TEST(SizeExpr, PrintsReadably) {
  const SizeExpr n = s(0), m = s(1);
  EXPECT_EQ((n * m + 2).text(), "s0*s1 + 2");
  EXPECT_EQ((m - n * 3 - 1).text(), "-3*s0 + s1 - 1");
  EXPECT_EQ(SizeExpr(-4).text(), "-4");
  EXPECT_EQ(SizeExpr(0).text(), "0");
  EXPECT_EQ(SizeExpr::floor_div(n, 2).text(), "floor(s0 / 2)");
  EXPECT_EQ(SizeExpr::floor_div(n + m, m * 2).text(), "floor((s0 + s1) / (2*s1))");
  EXPECT_EQ(SizeExpr::floor_mod(n + 1, 4).text(), "mod(s0 + 1, 4)");
  EXPECT_EQ(SizeExpr::max(SizeExpr::min(n, 4) - 1, 0).text(), "max(min(s0, 4) - 1, 0)");
}

TEST(SizeExpr, ParseRefusesWhatIsMalformed) {
  for (const char* text : {"", "s", "x", "s0 +", "min(s0)", "floor(s0 2)", "s0 s1", "(s0", "2**s0",
                           "99999999999999999999", "mod(s0, 2"}) {
    EXPECT_FALSE(SizeExpr::parse(text)) << text;
  }
  EXPECT_EQ(SizeExpr::parse("-(s0 + 2)*3"), s(0) * -3 - 6);
  EXPECT_EQ(SizeExpr::parse("-floor(7 / 2)"), SizeExpr(-3));
  EXPECT_EQ(SizeExpr::parse("-9223372036854775808"), SizeExpr(INT64_MIN));
}

TEST(SizeExpr, OverflowIsReportedNotWrapped) {
  const int64_t big[] = {int64_t{1} << 40, int64_t{1} << 40};
  EXPECT_FALSE((s(0) * s(1)).evaluate(big));
  EXPECT_EQ((s(0) * s(1) - s(0) * s(1) + 3).evaluate(big), 3);
  // Beyond int64 on the way, inside at the end.
  EXPECT_EQ((s(0) * (s(1) - big[1] + 1)).evaluate(big), big[0]);
  EXPECT_THROW(s(0) * (int64_t{1} << 40) * (int64_t{1} << 40), SizeOverflowError);
  EXPECT_FALSE(SizeExpr::floor_div(s(0), s(1)).evaluate(std::vector<int64_t>{1, 0}));
}

TEST(SizeExpr, SubstitutionEvaluatesAnew) {
  const SizeExpr expr = SizeExpr::floor_div(s(0), 2) + SizeExpr::min(s(1), 7);
  const std::vector<SizeExpr> by = {s(1) * 2, SizeExpr(9)};
  EXPECT_EQ(expr.substitute(by), s(1) + 7);
}

TEST(SizeExpr, CollectsSymbolsOnce) {
  std::vector<SymbolId> symbols;
  (SizeExpr::min(s(2), s(0)) * s(2) + 1).collect_symbols(&symbols);
  EXPECT_EQ(symbols.size(), 2u);
}

// Builds an expression and its value side by side.
struct Pair {
  SizeExpr expr;
  int64_t value;
};

class RandomExpr {
 public:
  RandomExpr(uint32_t seed, std::vector<int64_t> symbols)
      : random_(seed), symbols_(std::move(symbols)) {}

  Pair make(int depth) {
    if (depth == 0) {
      if (pick(3) == 0) {
        const int64_t value = pick(13) - 6;
        return {SizeExpr(value), value};
      }
      const auto index = static_cast<uint32_t>(pick(static_cast<int>(symbols_.size())));
      return {s(index), symbols_[index]};
    }
    const Pair a = make(depth - 1);
    const Pair b = make(pick(2) == 0 ? 0 : depth - 1);
    switch (pick(7)) {
      case 0:
        return {a.expr - b.expr, a.value - b.value};
      case 1:
        return {a.expr * b.expr, a.value * b.value};
      case 2:
        if (b.value == 0) break;
        return {SizeExpr::floor_div(a.expr, b.expr), floor_div(a.value, b.value)};
      case 3:
        if (b.value == 0) break;
        return {SizeExpr::floor_mod(a.expr, b.expr),
                a.value - b.value * floor_div(a.value, b.value)};
      case 4:
        return {SizeExpr::min(a.expr, b.expr), std::min(a.value, b.value)};
      case 5:
        return {SizeExpr::max(a.expr, b.expr), std::max(a.value, b.value)};
      default:
        break;
    }
    return {a.expr + b.expr, a.value + b.value};
  }

 private:
  int pick(int count) { return std::uniform_int_distribution<int>(0, count - 1)(random_); }
  std::mt19937 random_;
  std::vector<int64_t> symbols_;
};

TEST(SizeExpr, RandomExpressionsKeepTheirValueAndText) {
  for (uint32_t seed = 0; seed < 3000; ++seed) {
    const std::vector<int64_t> symbols = {static_cast<int64_t>(seed % 11) - 3, 5,
                                          static_cast<int64_t>(seed % 7) + 1, -2};
    const Pair pair = RandomExpr(seed, symbols).make(1 + static_cast<int>(seed % 4));
    ASSERT_EQ(pair.expr.evaluate(symbols), pair.value)
        << "seed " << seed << ": " << pair.expr.text();
    const auto parsed = SizeExpr::parse(pair.expr.text());
    ASSERT_TRUE(parsed) << "seed " << seed << ": " << pair.expr.text();
    ASSERT_EQ(parsed->evaluate(symbols), pair.value) << "seed " << seed << ": " << pair.expr.text();
    // The text is that of the canonical form: it is stable.
    ASSERT_EQ(*parsed, pair.expr) << "seed " << seed << ": " << pair.expr.text() << " | "
                                  << parsed->text();
    ASSERT_EQ(parsed->hash(), pair.expr.hash());
    std::vector<SizeExpr> same;
    for (uint32_t i = 0; i < 4; ++i) same.push_back(s(i));
    ASSERT_EQ(pair.expr.substitute(same), pair.expr) << "seed " << seed;
  }
}

TEST(SizeExpr, EqualRandomExpressionsHaveEqualValues) {
  // Equality is claimed from one form; the values then agree for all symbol values.
  std::vector<SizeExpr> made;
  for (uint32_t seed = 0; seed < 300; ++seed)
    made.push_back(RandomExpr(seed, {3, 5, 2}).make(2).expr);
  for (size_t i = 0; i < made.size(); ++i) {
    for (size_t j = 0; j < i; ++j) {
      if (!(made[i] == made[j])) continue;
      for (int64_t value = 1; value < 6; ++value) {
        const std::vector<int64_t> symbols = {value, 7 - value, value + 1};
        ASSERT_EQ(made[i].evaluate(symbols), made[j].evaluate(symbols));
      }
    }
  }
}

}  // namespace
}  // namespace numlift
