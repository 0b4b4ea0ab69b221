#include "cache/store.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <sstream>
#include <thread>
#include <vector>

#include "codegen/cache/temporary_directory.h"

namespace numlift::codegen::cache {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Digest key(const std::string& name) { return cpu::digest_of({name}); }

class StoreTest : public ::testing::Test {
 protected:
  Store open(uint64_t limit = 1 << 20) {
    auto store = Store::open(root_.path().string(), limit,
                             [this](const std::string& text) { reports_.push_back(text); });
    EXPECT_TRUE(store);
    return std::move(*store);
  }
  std::filesystem::path folder() const { return root_.path() / "code"; }
  std::filesystem::path file(const std::string& name) const {
    return folder() / cpu::hex_text(key(name));
  }
  std::string bytes(const std::string& name) const {
    std::ifstream stream(file(name), std::ios::binary);
    std::stringstream all;
    all << stream.rdbuf();
    return all.str();
  }
  void overwrite(const std::string& name, const std::string& contents) const {
    std::ofstream(file(name), std::ios::binary | std::ios::trunc) << contents;
  }
  void set_used(const std::string& name, time_t seconds) const {
    const timespec times[2] = {{seconds, 0}, {seconds, 0}};
    ASSERT_EQ(utimensat(AT_FDCWD, file(name).c_str(), times, 0), 0);
  }
  size_t file_count() const {
    size_t count = 0;
    for ([[maybe_unused]] const auto& one : std::filesystem::directory_iterator(folder())) ++count;
    return count;
  }
  testing::TemporaryDirectory root_;
  std::vector<std::string> reports_;
};

TEST_F(StoreTest, GivesWhatWasPutThere) {
  Store store = open();
  EXPECT_EQ(store.find(key("a")), std::nullopt);
  const std::string contents("one\0two", 7);
  EXPECT_TRUE(store.put(key("a"), contents));
  EXPECT_TRUE(store.put(key("empty"), ""));
  EXPECT_EQ(store.find(key("a")), contents);
  EXPECT_EQ(store.find(key("empty")), "");
  EXPECT_TRUE(store.put(key("a"), "other"));
  Store second = open();
  EXPECT_EQ(second.find(key("a")), "other");
  second.remove(key("a"));
  EXPECT_EQ(store.find(key("a")), std::nullopt);
  EXPECT_THAT(reports_, IsEmpty());
}

TEST_F(StoreTest, FilesAreTheUsersAlone) {
  const mode_t usual = umask(0);
  open().put(key("a"), "contents");
  umask(usual);
  struct stat found{};
  ASSERT_EQ(stat(file("a").c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 07777, 0600u);
  ASSERT_EQ(stat(folder().c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 07777, 0700u);
  EXPECT_EQ(file_count(), 1u);  // nothing is left beside it
}

// Every byte, and every length: none of these is an entry, and each is said and removed.
TEST_F(StoreTest, WhateverIsDamagedIsNoEntry) {
  Store store = open();
  ASSERT_TRUE(store.put(key("a"), "contents"));
  const std::string whole = bytes("a");
  for (size_t i = 0; i < whole.size(); ++i) {
    std::string damaged = whole;
    damaged[i] = static_cast<char>(damaged[i] ^ 0x10);
    overwrite("a", damaged);
    reports_.clear();
    ASSERT_EQ(store.find(key("a")), std::nullopt) << "byte " << i;
    ASSERT_EQ(reports_.size(), 1u) << "byte " << i;
    ASSERT_FALSE(std::filesystem::exists(file("a")));
  }
  for (size_t size = 0; size <= whole.size() + 1; ++size) {
    if (size == whole.size()) continue;
    overwrite("a", (whole + "!").substr(0, size));
    ASSERT_EQ(store.find(key("a")), std::nullopt) << "length " << size;
  }
  overwrite("a", whole);
  EXPECT_EQ(store.find(key("a")), "contents");
}

TEST_F(StoreTest, AnEntryUnderAnothersNameIsNone) {
  Store store = open();
  store.put(key("a"), "contents");
  std::filesystem::copy_file(file("a"), file("b"));
  EXPECT_EQ(store.find(key("b")), std::nullopt);
  EXPECT_THAT(reports_, ElementsAre(HasSubstr("has the key of another")));
  EXPECT_EQ(store.find(key("a")), "contents");
}

TEST_F(StoreTest, WhatOthersCouldHaveWrittenIsNoEntry) {
  Store store = open();
  store.put(key("a"), "contents");
  ASSERT_EQ(chmod(file("a").c_str(), 0620), 0);
  EXPECT_EQ(store.find(key("a")), std::nullopt);
  EXPECT_THAT(reports_, ElementsAre(HasSubstr("can be written by other users")));

  store.put(key("b"), "contents");
  if (chown(file("b").c_str(), 65534, 65534) == 0) {
    EXPECT_EQ(store.find(key("b")), std::nullopt);
    EXPECT_THAT(reports_.back(), HasSubstr("belongs to another user"));
  }
}

TEST_F(StoreTest, LinksPipesAndFoldersAreNoEntries) {
  Store store = open();
  store.put(key("a"), "contents");
  std::filesystem::rename(file("a"), folder() / "aside");
  std::filesystem::create_symlink(folder() / "aside", file("a"));
  EXPECT_EQ(store.find(key("a")), std::nullopt);
  ASSERT_EQ(mkfifo(file("pipe").c_str(), 0600), 0);
  EXPECT_EQ(store.find(key("pipe")), std::nullopt);
  ASSERT_EQ(mkdir(file("folder").c_str(), 0700), 0);
  EXPECT_EQ(store.find(key("folder")), std::nullopt);
  EXPECT_EQ(reports_.size(), 3u);
  EXPECT_TRUE(std::filesystem::exists(folder() / "aside"));  // what the link led to
  for (const char* name : {"a", "pipe", "folder"}) {
    EXPECT_TRUE(store.put(key(name), "anew"));
    EXPECT_EQ(store.find(key(name)), "anew");
  }
}

TEST_F(StoreTest, TheLeastRecentlyUsedGoFirst) {
  Store store = open(8 * 4096);
  const std::string contents(3000, 'x');  // 4096 bytes on disk
  for (int i = 0; i < 8; ++i) {
    ASSERT_TRUE(store.put(key(std::to_string(i)), contents));
    set_used(std::to_string(i), 1000 + i);
  }
  EXPECT_EQ(store.trim(), 0u);        // just as much as may be
  EXPECT_TRUE(store.find(key("0")));  // used now
  ASSERT_TRUE(store.put(key("8"), contents));
  store.trim();
  EXPECT_EQ(store.find(key("1")), std::nullopt);
  EXPECT_EQ(store.find(key("2")), std::nullopt);  // an eighth is made free
  for (const char* name : {"0", "3", "4", "5", "6", "7", "8"})
    EXPECT_TRUE(store.find(key(name))) << name;
  EXPECT_THAT(reports_, IsEmpty());
}

TEST_F(StoreTest, WritersKeepTheLimitThemselves) {
  constexpr uint64_t kLimit = 64 * 4096;
  Store store = open(kLimit);
  for (int i = 0; i < 500; ++i)
    ASSERT_TRUE(store.put(key(std::to_string(i)), std::string(3000, 'x')));
  // What one process writes between two looks is a sixteenth of the limit.
  EXPECT_LE(file_count() * 4096, kLimit + kLimit / 16);
  EXPECT_TRUE(store.find(key("499")));
  EXPECT_FALSE(store.put(key("large"), std::string(kLimit, 'x')));
  EXPECT_THAT(reports_, IsEmpty());
}

TEST_F(StoreTest, WhatDeadWritersLeftIsRemovedAndOtherFilesStay) {
  Store store = open();
  const auto old = folder() / ".new-1-2-3", fresh = folder() / ".new-4-5-6",
             foreign = folder() / "README";
  for (const auto& path : {old, fresh, foreign}) std::ofstream(path) << "text";
  const timespec long_ago[2] = {{1000, 0}, {1000, 0}};
  ASSERT_EQ(utimensat(AT_FDCWD, old.c_str(), long_ago, 0), 0);
  EXPECT_EQ(store.trim(), 1u);
  EXPECT_FALSE(std::filesystem::exists(old));
  EXPECT_TRUE(std::filesystem::exists(fresh));
  EXPECT_TRUE(std::filesystem::exists(foreign));
}

TEST_F(StoreTest, AWriteThatFailsIsSaidOnceAndReadingGoesOn) {
  Store store = open();
  store.put(key("a"), "contents");
  std::filesystem::rename(folder(), root_.path() / "moved");  // still the same directory
  EXPECT_EQ(store.find(key("a")), "contents");
  std::filesystem::remove_all(root_.path() / "moved");
  EXPECT_FALSE(store.put(key("b"), "contents"));
  EXPECT_FALSE(store.put(key("c"), "contents"));
  EXPECT_EQ(store.find(key("a")), std::nullopt);
  EXPECT_THAT(reports_, ElementsAre(HasSubstr("nothing more is written")));
}

// Contents that tell whether they are whole, different at every write.
std::string contents_of(int serial) {
  return std::string(static_cast<size_t>(500 + 37 * (serial % 400)),
                     static_cast<char>('a' + serial % 26));
}
bool is_whole(const std::string& contents) {
  return contents.find_first_not_of(contents.at(0)) == std::string::npos;
}
// Many writes, reads and removals of a few keys with a limit that makes them go all the time.
int work(Store& store, int seed) {
  int broken = 0;
  for (int i = 0; i < 400; ++i) {
    const Digest one = key(std::to_string((seed + i) % 20));
    if (i % 3 == 0) store.put(one, contents_of(seed * 400 + i));
    if (i % 17 == 0) store.trim();
    if (const auto found = store.find(one); found && !is_whole(*found)) ++broken;
  }
  return broken;
}

TEST_F(StoreTest, ThreadsAndProcessesShareADirectory) {
  constexpr uint64_t kLimit = 10 * 8192;
  std::vector<pid_t> children;
  for (int child = 0; child < 4; ++child) {
    const pid_t pid = fork();
    if (pid == 0) {
      int broken = 0;
      auto store =
          Store::open(root_.path().string(), kLimit, [&broken](const std::string&) { ++broken; });
      _exit(store ? broken + work(*store, child) : 100);
    }
    ASSERT_GT(pid, 0);
    children.push_back(pid);
  }
  Store store = open(kLimit);
  std::vector<std::thread> threads;
  std::atomic<int> broken{0};
  for (int thread = 0; thread < 3; ++thread)
    threads.emplace_back([&, thread] { broken += work(store, 10 + thread); });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(broken, 0);
  for (const pid_t child : children) {
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status));
    EXPECT_EQ(WEXITSTATUS(status), 0);
  }
  EXPECT_THAT(reports_, IsEmpty());
  store.trim();
  uint64_t total = 0;
  for (const auto& one : std::filesystem::directory_iterator(folder())) {
    EXPECT_FALSE(one.path().filename().string().starts_with(".new-"));
    total += one.file_size();
  }
  EXPECT_LE(total, kLimit);
}

TEST(Digests, KnowTheirParts) {
  EXPECT_NE(cpu::digest_of({"ab", "c"}), cpu::digest_of({"a", "bc"}));
  EXPECT_NE(cpu::digest_of({"ab"}), cpu::digest_of({"ab", ""}));
  EXPECT_EQ(cpu::hex_text(cpu::digest_of({})),  // of nothing: known everywhere
            "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
}

}  // namespace
}  // namespace numlift::codegen::cache
