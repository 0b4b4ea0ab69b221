// The way to a directory is walked name by name from the root, each opened by way of the one
// before and without following links, so that nothing that was checked can be exchanged afterwards.
#include "private_directory.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

namespace numlift::codegen::cache {
namespace {

constexpr mode_t kForUserAlone = 0700;
constexpr mode_t kOthers = S_IRWXG | S_IRWXO;
constexpr mode_t kOthersWrite = S_IWGRP | S_IWOTH;

// An empty text when entries of this directory can be trusted not to be exchanged by others.
std::string complaint(const struct stat& found, bool is_last) {
  if (found.st_uid != geteuid() && (is_last || found.st_uid != 0))
    return fmt::format("belongs to user {}, not {}", found.st_uid, geteuid());
  if (is_last && (found.st_mode & kOthers) != 0) return "is open to other users";
  if ((found.st_mode & kOthersWrite) != 0 && (found.st_mode & S_ISVTX) == 0)
    return "can be written by other users";
  return "";
}

// At least one name below the root.
std::filesystem::path resolved(const std::string& path, std::error_code* error) {
  std::filesystem::path whole = std::filesystem::absolute(path, *error);
  if (!*error) whole = std::filesystem::weakly_canonical(whole, *error);
  if (!whole.has_filename()) whole = whole.parent_path();  // a slash at the end
  if (!*error && whole == whole.root_path())
    *error = std::make_error_code(std::errc::invalid_argument);
  return whole;
}

}  // namespace

FileDescriptor::~FileDescriptor() {
  if (fd_ >= 0) close(fd_);
}

Result<FileDescriptor, std::string> open_private_directory(const std::string& path) {
  std::error_code error;
  const std::filesystem::path whole = resolved(path, &error);
  if (error) return Failure{fmt::format("{}: {}", path, error.message())};

  // Only the last directory is read; the others need not be readable.
  constexpr int kStep = O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
  std::filesystem::path here = whole.root_path();
  FileDescriptor fd(open(here.c_str(), kStep | O_PATH));
  for (auto name = whole.begin(); fd; ++name) {
    const bool is_root = name == whole.begin();
    if (!is_root) {
      here /= *name;
      const int flags = kStep | (here == whole ? O_RDONLY : O_PATH);
      FileDescriptor next(openat(fd.get(), name->c_str(), flags));
      if (!next && errno == ENOENT &&
          (mkdirat(fd.get(), name->c_str(), kForUserAlone) == 0 || errno == EEXIST))
        next = FileDescriptor(openat(fd.get(), name->c_str(), flags));
      fd = std::move(next);
      if (!fd) break;
    }
    struct stat found{};
    if (fstat(fd.get(), &found) != 0) break;
    const bool is_last = here == whole;
    if (const std::string why = complaint(found, is_last); !why.empty())
      return Failure{fmt::format("{} {}", here.string(), why)};
    if (is_last) return fd;
  }
  return Failure{fmt::format("{}: {}", here.string(), std::strerror(errno))};
}

}  // namespace numlift::codegen::cache
