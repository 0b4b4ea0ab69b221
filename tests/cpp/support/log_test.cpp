#include "numlift/support/log.h"

#include <filesystem>
#include <fstream>
#include <vector>

#include <gtest/gtest.h>

namespace numlift {
namespace {

class Log : public ::testing::Test {
 protected:
  void SetUp() override {
    set_log_sink([this](std::string_view channel, const std::string& text) {
      lines.push_back(std::string(channel) + "|" + text);
    });
  }
  void TearDown() override {
    set_log_sink(nullptr);
    set_log_channels("");
    set_dump_directory("");
  }
  std::vector<std::string> lines;
};

TEST_F(Log, OnlyEnabledChannelsReachTheSink) {
  EXPECT_EQ(set_log_channels("breaks, guards"), "");
  EXPECT_TRUE(log_enabled(LogChannel::breaks));
  EXPECT_FALSE(log_enabled(LogChannel::graph));
  log(LogChannel::breaks, "one");
  log(LogChannel::graph, "two");
  EXPECT_EQ(lines, std::vector<std::string>{"breaks|one"});
}

TEST_F(Log, AnUnknownChannelIsNamedAndChangesNothing) {
  EXPECT_EQ(set_log_channels("timing"), "");
  EXPECT_EQ(set_log_channels("breaks,nonsense"), "nonsense");
  EXPECT_TRUE(log_enabled(LogChannel::timing));
  EXPECT_FALSE(log_enabled(LogChannel::breaks));
}

TEST_F(Log, WarningsAreAlwaysShown) {
  log_warning("careful");
  EXPECT_EQ(lines, std::vector<std::string>{"|careful"});
}

TEST_F(Log, TheSinkMayLogAndReplaceItself) {
  set_log_sink([this](std::string_view, const std::string& text) {
    lines.push_back(text);
    set_log_sink(nullptr);
  });
  log_warning("once");
  EXPECT_EQ(lines, std::vector<std::string>{"once"});
}

TEST_F(Log, HelpNamesEveryChannel) {
  const std::string help = log_help();
#define NUMLIFT_CHANNEL(name, text) EXPECT_NE(help.find(#name), std::string::npos);
  NUMLIFT_LOG_CHANNELS(NUMLIFT_CHANNEL)
#undef NUMLIFT_CHANNEL
}

TEST_F(Log, ADumpIsOneFileAStage) {
  const auto folder = std::filesystem::path(::testing::TempDir()) / "numlift_dump_test";
  std::filesystem::remove_all(folder);
  dump_stage("f", "graph", "unset: nothing is written");
  EXPECT_FALSE(std::filesystem::exists(folder));
  set_dump_directory(folder.string());
  dump_stage("f.<locals>.<lambda>", "graph", "text");
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    ++count;
    EXPECT_EQ(entry.path().filename().string().substr(4), "_f._locals_._lambda_.graph.txt");
    std::ifstream file(entry.path());
    std::string text;
    std::getline(file, text);
    EXPECT_EQ(text, "text");
  }
  EXPECT_EQ(count, 1);
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace numlift
