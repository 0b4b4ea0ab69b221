#include "cache/private_directory.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "codegen/cache/temporary_directory.h"

namespace numlift::codegen::cache {
namespace {

using ::testing::HasSubstr;

class PrivateDirectory : public ::testing::Test {
 protected:
  std::string path(const std::string& below) const { return (root_.path() / below).string(); }
  void make(const std::string& below, mode_t mode) const {
    ASSERT_EQ(mkdir(path(below).c_str(), 0700), 0);
    ASSERT_EQ(chmod(path(below).c_str(), mode), 0);  // whatever the umask says
  }
  static void expect_refused(const std::string& where, const std::string& reason) {
    auto opened = open_private_directory(where);
    ASSERT_FALSE(opened) << where;
    EXPECT_THAT(opened.error(), HasSubstr(reason));
  }
  testing::TemporaryDirectory root_;
};

TEST_F(PrivateDirectory, WhatIsMissingIsMadeForTheUserAlone) {
  const mode_t usual = umask(0);
  auto opened = open_private_directory(path("a/b/c/"));
  umask(usual);
  ASSERT_TRUE(opened);
  for (const char* below : {"a", "a/b", "a/b/c"}) {
    struct stat found{};
    ASSERT_EQ(stat(path(below).c_str(), &found), 0);
    EXPECT_EQ(found.st_mode & 07777, 0700u) << below;
  }
  EXPECT_TRUE(open_private_directory(path("a/b/c")));
  // What was opened is a directory to read, not only a handle.
  const int fd = openat(opened->get(), "file", O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
  EXPECT_GE(fd, 0);
  close(fd);
}

TEST_F(PrivateDirectory, OneThatOthersMayReadIsRefused) {
  make("open", 0750);
  expect_refused(path("open"), "is open to other users");
  EXPECT_TRUE(open_private_directory(path("open/inside")));
}

TEST_F(PrivateDirectory, OneBelowWhatOthersMayWriteIsRefused) {
  for (const mode_t mode : {0770, 0707, 0777}) {
    const std::string name = std::to_string(mode);
    make(name, mode);
    expect_refused(path(name + "/inside"), "can be written by other users");
    EXPECT_FALSE(std::filesystem::exists(path(name + "/inside")));
  }
}

TEST_F(PrivateDirectory, AStickyDirectoryOnTheWayIsNoHarm) {
  make("sticky", 01777);
  EXPECT_TRUE(open_private_directory(path("sticky/inside")));
}

TEST_F(PrivateDirectory, LinksAreResolvedAndTheirTargetsLookedAt) {
  make("writable", 0777);
  make("good", 0755);
  std::filesystem::create_symlink(path("good"), path("to_good"));
  std::filesystem::create_symlink(path("writable"), path("to_writable"));
  std::filesystem::create_symlink(path("nowhere"), path("to_nothing"));
  EXPECT_TRUE(open_private_directory(path("to_good/inside")));
  expect_refused(path("to_writable/inside"), "can be written by other users");
  EXPECT_FALSE(open_private_directory(path("to_nothing/inside")));
}

TEST_F(PrivateDirectory, OneOfAnotherUserIsRefused) {
  make("theirs", 0700);
  constexpr uid_t kNobody = 65534;
  if (chown(path("theirs").c_str(), kNobody, kNobody) != 0)
    GTEST_SKIP() << "only root can give a directory away";
  expect_refused(path("theirs"), "belongs to user 65534");
  expect_refused(path("theirs/inside"), "belongs to user 65534");
}

TEST_F(PrivateDirectory, WhatCannotBeADirectoryIsRefused) {
  const int fd = open(path("file").c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
  close(fd);
  expect_refused(path("file"), "Not a directory");
  expect_refused("/proc/numlift", "No such file or directory");
  expect_refused("/", "Invalid argument");
}

}  // namespace
}  // namespace numlift::codegen::cache
