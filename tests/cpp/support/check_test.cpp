#include "numlift/support/check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "numlift/support/result.h"

namespace numlift {
namespace {

TEST(Check, FailureNamesPlaceConditionAndValues) {
  try {
    const int rank = 3;
    NUMLIFT_CHECK(rank < 2, "rank {}", rank);
    FAIL() << "did not throw";
  } catch (const InternalError& error) {
    // The place starts below the source tree: the same text on every machine.
    EXPECT_THAT(error.what(), ::testing::MatchesRegex(
                                  "tests/cpp/support/check_test.cpp:[0-9]+: rank < 2: rank 3"));
  }
}

TEST(Check, PassesWithoutEvaluatingTheText) {
  int evaluated = 0;
  NUMLIFT_CHECK(true, "{}", ++evaluated);
  EXPECT_EQ(evaluated, 0);
}

TEST(Result, HoldsAValueOrAnError) {
  const Result<int, std::string> good = 4;
  ASSERT_TRUE(good);
  EXPECT_EQ(*good, 4);
  const Result<int, std::string> bad = Failure{std::string("no")};
  ASSERT_FALSE(bad);
  EXPECT_EQ(bad.error(), "no");
  EXPECT_THROW(*bad, InternalError);
}

}  // namespace
}  // namespace numlift
