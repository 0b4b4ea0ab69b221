// Byte strings by key in a directory of this user alone, for any number of processes at a time.
//
// One file an entry, named by its key, written aside and then renamed, so that a reader sees a
// whole entry or none. An entry has a header with its own key and a digest of its contents;
// whatever is not just so (cut short, changed, written by another version) is no entry. Nothing
// here throws or waits for another process; a file system that fails makes entries be absent.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "cache/private_directory.h"
#include "cpu/digest.h"
#include "numlift/support/result.h"

namespace numlift::codegen::cache {

using cpu::Digest;

class Store {
 public:
  // What is worth a line in a log: damage, and why nothing can be written.
  using Report = std::function<void(const std::string& text)>;

  // An error says why this directory cannot be used. Entries lie in its folder "code".
  static Result<Store, std::string> open(const std::string& directory, uint64_t limit_bytes,
                                         Report report);
  Store(Store&& other) noexcept;

  // A found entry counts as used now. What has the name of an entry and is none is removed, and
  // reported.
  std::optional<std::string> find(const Digest& key);
  // False when it is not there now. Now and then the entries that were not used for longest are
  // removed, so that all together stay within the limit.
  bool put(const Digest& key, std::string_view contents);
  void remove(const Digest& key);
  // Removes entries, least recently used first, when all together are over the limit, and what
  // writers that died have left. The number removed.
  size_t trim();

 private:
  Store(FileDescriptor directory, uint64_t limit_bytes, Report report);
  bool write_entry(const std::string& name, const Digest& key, std::string_view contents);

  FileDescriptor directory_;
  uint64_t limit_bytes_;
  Report report_;
  std::atomic<uint64_t> written_bytes_{0};  // since the last trim()
  std::atomic<bool> cannot_write_{false};   // said once
};

}  // namespace numlift::codegen::cache
