#include "store.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <tuple>
#include <vector>

namespace numlift::codegen::cache {
namespace {

// Before the contents of every entry. The format is the name of the folder, too: another one's
// entries are not even looked at.
struct Header {
  char magic[8] = {'n', 'u', 'm', 'l', 'i', 'f', 't', '1'};
  uint64_t size = 0;
  Digest key{};
  Digest contents{};
};
static_assert(sizeof(Header) == 80, "no padding: it is written as it lies in memory");

constexpr std::string_view kUnfinished = ".new-";
constexpr time_t kUnfinishedSeconds = 3600;  // a writer that has not come to its end has died
constexpr mode_t kOthersWrite = S_IWGRP | S_IWOTH;

bool is_entry_name(std::string_view name) {
  return name.size() == 2 * std::tuple_size_v<Digest> &&
         name.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

// What the file takes on a disk, near enough.
uint64_t disk_bytes(uint64_t size) { return (size + 4095) / 4096 * 4096; }

// A fresh name in this directory, whoever else writes there.
std::string unfinished_name() {
  static std::atomic<uint64_t> serial{0};
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  return fmt::format("{}{}-{}-{}", kUnfinished, getpid(), serial.fetch_add(1), now.tv_nsec);
}

// The file was used now. The kernel's own stamps are some milliseconds apart, which is many
// entries.
bool stamp(int fd) {
  timespec times[2];
  clock_gettime(CLOCK_REALTIME, &times[0]);
  times[1] = times[0];
  return futimens(fd, times) == 0;
}

bool write_all(int fd, const void* data, size_t size) {
  const char* next = static_cast<const char*>(data);
  while (size > 0) {
    const ssize_t written = write(fd, next, size);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    next += written;
    size -= static_cast<size_t>(written);
  }
  return true;
}

bool read_all(int fd, void* data, size_t size) {
  char* next = static_cast<char*>(data);
  while (size > 0) {
    const ssize_t count = read(fd, next, size);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    next += count;
    size -= static_cast<size_t>(count);
  }
  return true;
}

// "" when `fd` is a whole entry of this key, whose contents are then in *contents.
std::string read_entry(int fd, const Digest& key, uint64_t limit_bytes, std::string* contents) {
  struct stat found{};
  if (fstat(fd, &found) != 0) return std::strerror(errno);
  if (!S_ISREG(found.st_mode)) return "is no file";
  if (found.st_uid != geteuid()) return "belongs to another user";
  if ((found.st_mode & kOthersWrite) != 0) return "can be written by other users";
  const auto size = static_cast<uint64_t>(found.st_size);
  if (size < sizeof(Header) || size > limit_bytes + sizeof(Header)) return "has an odd size";
  Header header;
  if (!read_all(fd, &header, sizeof(header))) return "cannot be read";
  const Header usual;
  if (std::memcmp(header.magic, usual.magic, sizeof(usual.magic)) != 0)
    return "is in no known form";
  if (header.key != key) return "has the key of another";
  if (header.size != size - sizeof(Header)) return "is cut short";
  contents->resize(header.size);
  if (!read_all(fd, contents->data(), contents->size())) return "is cut short";
  if (cpu::digest_of({*contents}) != header.contents) return "is damaged";
  return "";
}

}  // namespace

Result<Store, std::string> Store::open(const std::string& directory, uint64_t limit_bytes,
                                       Report report) {
  auto folder = open_private_directory(directory + "/code");
  if (!folder) return Failure{folder.error()};
  return Store(std::move(*folder), limit_bytes, std::move(report));
}

Store::Store(FileDescriptor directory, uint64_t limit_bytes, Report report)
    : directory_(std::move(directory)), limit_bytes_(limit_bytes), report_(std::move(report)) {}

Store::Store(Store&& other) noexcept
    : directory_(std::move(other.directory_)),
      limit_bytes_(other.limit_bytes_),
      report_(std::move(other.report_)),
      written_bytes_(other.written_bytes_.load()),
      cannot_write_(other.cannot_write_.load()) {}

std::optional<std::string> Store::find(const Digest& key) {
  const std::string name = cpu::hex_text(key);
  // Not blocked by what is no file.
  const FileDescriptor fd(
      openat(directory_.get(), name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!fd && errno == ENOENT) return std::nullopt;
  std::string contents;
  const std::string why =
      fd ? read_entry(fd.get(), key, limit_bytes_, &contents) : std::strerror(errno);
  if (why.empty()) {
    stamp(fd.get());
    return contents;
  }
  report_(fmt::format("the entry {} {}: it is removed, and its code made anew", name, why));
  remove(key);
  return std::nullopt;
}

bool Store::put(const Digest& key, std::string_view contents) {
  if (cannot_write_ || disk_bytes(sizeof(Header) + contents.size()) > limit_bytes_) return false;
  if (!write_entry(cpu::hex_text(key), key, contents)) {
    if (!cannot_write_.exchange(true))
      report_(fmt::format("nothing more is written: {}", std::strerror(errno)));
    return false;
  }
  // Looking at all entries is dear when they are many: one write in 16, whoever writes, and after
  // many by one process.
  const uint64_t size = disk_bytes(sizeof(Header) + contents.size());
  const uint64_t written = written_bytes_.fetch_add(size) + size;
  if (key[0] % 16 == 0 || written > limit_bytes_ / 16) trim();
  return true;
}

bool Store::write_entry(const std::string& name, const Digest& key, std::string_view contents) {
  Header header;
  header.size = contents.size();
  header.key = key;
  header.contents = cpu::digest_of({contents});
  const std::string aside = unfinished_name();
  {
    const FileDescriptor fd(openat(directory_.get(), aside.c_str(),
                                   O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (!fd) return false;
    if (!write_all(fd.get(), &header, sizeof(header)) ||
        !write_all(fd.get(), contents.data(), contents.size()) || !stamp(fd.get())) {
      const int error = errno;
      unlinkat(directory_.get(), aside.c_str(), 0);
      errno = error;
      return false;
    }
  }
  if (renameat(directory_.get(), aside.c_str(), directory_.get(), name.c_str()) == 0) return true;
  const int error = errno;
  unlinkat(directory_.get(), aside.c_str(), 0);
  errno = error;
  return false;
}

void Store::remove(const Digest& key) {
  const std::string name = cpu::hex_text(key);
  if (unlinkat(directory_.get(), name.c_str(), 0) != 0 && errno == EISDIR)
    unlinkat(directory_.get(), name.c_str(), AT_REMOVEDIR);
}

size_t Store::trim() {
  struct Found {
    timespec used;
    uint64_t bytes;
    std::string name;
  };
  written_bytes_ = 0;
  const int copy = openat(directory_.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR* listing = copy < 0 ? nullptr : fdopendir(copy);
  if (listing == nullptr) {
    if (copy >= 0) close(copy);
    return 0;
  }
  std::vector<Found> entries;
  uint64_t total = 0;
  size_t removed = 0;
  const time_t now = time(nullptr);
  while (const dirent* one = readdir(listing)) {
    const std::string_view name = one->d_name;
    const bool is_unfinished = name.starts_with(kUnfinished);
    struct stat found{};
    if ((!is_unfinished && !is_entry_name(name)) ||
        fstatat(directory_.get(), one->d_name, &found, AT_SYMLINK_NOFOLLOW) != 0)
      continue;
    if (is_unfinished) {
      if (found.st_mtim.tv_sec + kUnfinishedSeconds < now &&
          unlinkat(directory_.get(), one->d_name, 0) == 0)
        ++removed;
      continue;
    }
    entries.push_back(
        {found.st_mtim, disk_bytes(static_cast<uint64_t>(found.st_size)), std::string(name)});
    total += entries.back().bytes;
  }
  closedir(listing);
  if (total <= limit_bytes_) return removed;
  std::sort(entries.begin(), entries.end(), [](const Found& a, const Found& b) {
    return std::tie(a.used.tv_sec, a.used.tv_nsec) < std::tie(b.used.tv_sec, b.used.tv_nsec);
  });
  // Some room for the next ones, so that not every write removes one.
  const uint64_t wanted = limit_bytes_ - limit_bytes_ / 8;
  for (const Found& one : entries) {
    if (total <= wanted) break;
    if (unlinkat(directory_.get(), one.name.c_str(), 0) != 0 && errno != ENOENT) continue;
    total -= one.bytes;
    ++removed;
  }
  return removed;
}

}  // namespace numlift::codegen::cache
