// Programs whose code comes from disk: the same bytes, found or missed as options and machine say.
#include "cache/disk_cache.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "codegen/cache/temporary_directory.h"
#include "codegen/cpu/nest_builder.h"
#include "cpu/fingerprint.h"
#include "numlift/codegen/compile.h"
#include "numlift/support/log.h"
#include "numlift/support/options.h"

namespace numlift::codegen {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

Program add_constant(double constant) {
  test::NestBuilder b;
  const BufferId x = b.buffer(DType::kFloat64), out = b.buffer(DType::kFloat64);
  const VarId i = b.open(test::symbol(0), true);
  const ValueId sum =
      b.op(Op::kAdd, {b.load(x, {{i, 8}}), b.constant(DType::kFloat64, constant)}, DType::kFloat64);
  b.store(out, sum, {{i, 8}});
  b.close();
  b.finish_nest(test::symbol(0));
  return b.program;
}

class DiskCache : public ::testing::Test {
 protected:
  void SetUp() override {
    set_option("cache_dir", root_.path().string());
    set_log_channels("cache,timing");
    set_log_sink([this](std::string_view channel, const std::string& text) {
      lines_.push_back(std::string(channel) + "|" + text);
    });
    allow_disk_cache();
  }
  void TearDown() override {
    allow_disk_cache(false);
    set_log_sink(nullptr);
    set_log_channels("");
    reset_options();
  }

  // Whether the code came from disk. It is right in any case.
  static bool comes_from_disk(const Program& program, double constant, bool keep_ir = false) {
    test::Runner runner(program, keep_ir);
    std::vector<double> x = {1, 2, 3, 4, 5, 6, 7, 8, 9}, out(9);
    EXPECT_EQ(runner.run({x.data(), out.data()}, {9}), 0);
    for (size_t i = 0; i < x.size(); ++i) EXPECT_EQ(out[i], x[i] + constant);
    EXPECT_EQ(runner.code().ir_text().empty(), !keep_ir);
    return is_from_disk(runner.code());
  }
  std::vector<std::filesystem::path> entries() const {
    std::vector<std::filesystem::path> found;
    std::error_code none;
    for (const auto& one : std::filesystem::directory_iterator(root_.path() / "code", none))
      found.push_back(one.path());
    return found;
  }

  testing::TemporaryDirectory root_;
  std::vector<std::string> lines_;
};

TEST_F(DiskCache, TheSecondProgramOfAKindIsLoaded) {
  const DiskCacheInfo before = disk_cache_info();
  EXPECT_EQ(before.directory, root_.path().string());
  Program program = add_constant(2.5);
  program.graph.name = "f";
  EXPECT_FALSE(comes_from_disk(program, 2.5));
  EXPECT_EQ(entries().size(), 1u);
  program.graph.name = "another name";
  EXPECT_TRUE(comes_from_disk(program, 2.5));
  EXPECT_FALSE(comes_from_disk(add_constant(3.5), 3.5));
  EXPECT_TRUE(comes_from_disk(add_constant(3.5), 3.5));
  const DiskCacheInfo after = disk_cache_info();
  EXPECT_EQ(after.found - before.found, 2u);
  EXPECT_EQ(after.missed - before.missed, 2u);
  EXPECT_EQ(after.stored - before.stored, 2u);
  EXPECT_THAT(lines_, IsEmpty());
}

TEST_F(DiskCache, CodeThatIsToBeShownIsMadeAndKept) {
  EXPECT_FALSE(comes_from_disk(add_constant(1), 1, /*keep_ir=*/true));
  EXPECT_FALSE(comes_from_disk(add_constant(1), 1, /*keep_ir=*/true));
  EXPECT_TRUE(comes_from_disk(add_constant(1), 1));
}

TEST_F(DiskCache, AnotherWordOfTheUserIsAnotherEntry) {
  EXPECT_FALSE(comes_from_disk(add_constant(1), 1));
  set_option("cache_key", "release 2");
  EXPECT_FALSE(comes_from_disk(add_constant(1), 1));
  EXPECT_TRUE(comes_from_disk(add_constant(1), 1));
  set_option("cache_key", "");
  EXPECT_TRUE(comes_from_disk(add_constant(1), 1));
}

TEST_F(DiskCache, OffMeansOff) {
  set_option("disk_cache", "false");
  EXPECT_FALSE(comes_from_disk(add_constant(1), 1));
  set_option("disk_cache", "true");
  allow_disk_cache(false);
  EXPECT_FALSE(comes_from_disk(add_constant(1), 1));
  EXPECT_EQ(disk_cache_info().directory, "");
  EXPECT_THAT(entries(), IsEmpty());
}

TEST_F(DiskCache, ADirectoryThatCannotBeUsedSwitchesItOffWithOneLine) {
  set_option("cache_dir", "/proc/numlift");
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(comes_from_disk(add_constant(1), 1));
  // The user has named it, so that the line needs no channel.
  EXPECT_THAT(lines_, ElementsAre(HasSubstr("|the disk cache: off, for /proc/numlift")));
  EXPECT_EQ(lines_[0][0], '|');
  set_option("cache_dir", root_.path().string());
  EXPECT_FALSE(comes_from_disk(add_constant(1), 1));
  EXPECT_TRUE(comes_from_disk(add_constant(1), 1));
}

TEST_F(DiskCache, ADamagedEntryIsMadeAnew) {
  EXPECT_FALSE(comes_from_disk(add_constant(1), 1));
  ASSERT_EQ(entries().size(), 1u);
  std::filesystem::resize_file(entries()[0], 100);
  EXPECT_FALSE(comes_from_disk(add_constant(1), 1));
  EXPECT_THAT(lines_, ElementsAre(AllOf(HasSubstr("cache|"), HasSubstr("is cut short"))));
  EXPECT_TRUE(comes_from_disk(add_constant(1), 1));
}

// Whole by its digest, yet no object code: written by a fault of ours.
TEST_F(DiskCache, AnEntryThatCannotBeLinkedIsMadeAnew) {
  EXPECT_FALSE(comes_from_disk(add_constant(1), 1));
  cpu::Digest key{};
  const std::string name = entries().at(0).filename().string();
  for (size_t i = 0; i < key.size(); ++i)
    key[i] = static_cast<uint8_t>(std::stoi(name.substr(2 * i, 2), nullptr, 16));
  ASSERT_EQ(cpu::hex_text(key), name);
  cache::keep_object(key, "no object code");
  EXPECT_FALSE(comes_from_disk(add_constant(1), 1));
  EXPECT_THAT(lines_, ElementsAre(HasSubstr("could not be loaded")));
  EXPECT_TRUE(comes_from_disk(add_constant(1), 1));
}

TEST(Fingerprint, NamesBuildsAndMachine) {
  const std::string& text = cpu::code_fingerprint();
  EXPECT_THAT(text, HasSubstr("numlift "));
  EXPECT_THAT(text, HasSubstr("llvm " + std::to_string(NUMLIFT_LLVM_MAJOR) + "."));
  EXPECT_THAT(text, HasSubstr("x86_64"));
  EXPECT_THAT(text, Not(HasSubstr("0x")));
}

}  // namespace
}  // namespace numlift::codegen
