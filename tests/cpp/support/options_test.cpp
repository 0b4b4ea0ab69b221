#include "numlift/support/options.h"

#include <cstdlib>

#include <gtest/gtest.h>

#include "numlift/support/log.h"

namespace numlift {
namespace {

class OptionsTest : public ::testing::Test {
 protected:
  void SetUp() override { reset_options(); }
  void TearDown() override { reset_options(); }
};

TEST_F(OptionsTest, HaveTheirDefaults) {
  EXPECT_FALSE(options().strict);
  EXPECT_EQ(options().recompile_limit, 8);
  EXPECT_EQ(options().math.get(), "fast");
}

TEST_F(OptionsTest, AreSetAndReadByName) {
  EXPECT_EQ(set_option("strict", "True"), "");
  EXPECT_TRUE(options().strict);
  EXPECT_EQ(option_text("strict"), "true");
  EXPECT_EQ(set_option("num_threads", "4"), "");
  EXPECT_EQ(options().num_threads, 4);
  EXPECT_EQ(set_option("math", "exact"), "");
  EXPECT_EQ(option_text("math"), "exact");
}

TEST_F(OptionsTest, RefusedValuesSayWhyAndChangeNothing) {
  EXPECT_EQ(set_option("nonsense", "1"), "there is no option \"nonsense\"");
  EXPECT_EQ(set_option("strict", "maybe"), "option strict is true or false, not \"maybe\"");
  EXPECT_EQ(set_option("num_threads", "-1"),
            "option num_threads is a number that is not negative, not \"-1\"");
  EXPECT_EQ(set_option("num_threads", "4x"),
            "option num_threads is a number that is not negative, not \"4x\"");
  EXPECT_EQ(options().num_threads, 0);
  EXPECT_EQ(set_option("math", "wild"), "option math is \"fast\" or \"exact\", not \"wild\"");
  EXPECT_NE(set_option("logs", "graph,nonsense").find("no channel \"nonsense\""),
            std::string::npos);
  EXPECT_EQ(options().logs.get(), "");
}

TEST_F(OptionsTest, LogChannelsTakeEffectAtOnce) {
  EXPECT_EQ(set_option("logs", "perf_hints"), "");
  EXPECT_TRUE(log_enabled(LogChannel::perf_hints));
  reset_options();
  EXPECT_FALSE(log_enabled(LogChannel::perf_hints));
}

TEST_F(OptionsTest, ComeFromTheEnvironment) {
  ::setenv("NUMLIFT_RECOMPILE_LIMIT", "3", 1);
  ::setenv("NUMLIFT_STRICT", "perhaps", 1);
  EXPECT_EQ(load_options_from_environment(),
            "NUMLIFT_STRICT: option strict is true or false, not \"perhaps\"\n");
  EXPECT_EQ(options().recompile_limit, 3);
  ::unsetenv("NUMLIFT_RECOMPILE_LIMIT");
  ::unsetenv("NUMLIFT_STRICT");
}

TEST_F(OptionsTest, HelpNamesEveryOptionAndVariable) {
  const std::string help = options_help();
  for (const OptionInfo& info : option_table()) {
    EXPECT_NE(help.find(info.name), std::string::npos);
    EXPECT_NE(help.find(info.environment), std::string::npos);
    EXPECT_NE(help.find(info.help), std::string::npos);
  }
}

}  // namespace
}  // namespace numlift
