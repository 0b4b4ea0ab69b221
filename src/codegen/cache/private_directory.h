// A directory whose contents may be run as code: nobody but this user (and root) can have put
// anything there.
#pragma once

#include <string>
#include <utility>

#include "numlift/support/result.h"

namespace numlift::codegen::cache {

class FileDescriptor {
 public:
  FileDescriptor() = default;
  explicit FileDescriptor(int fd) : fd_(fd) {}
  FileDescriptor(FileDescriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  FileDescriptor& operator=(FileDescriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~FileDescriptor();
  int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }

 private:
  int fd_ = -1;
};

// Opens `path`, and makes what is missing of it for this user alone (mode 0700). Refused, with the
// reason, unless every directory on the way (symbolic links resolved) belongs to this user or root
// and can be written by nobody else (a sticky one such as /tmp can: names in it stay their
// owner's), and the last one belongs to this user and is open to nobody else at all.
Result<FileDescriptor, std::string> open_private_directory(const std::string& path);

}  // namespace numlift::codegen::cache
