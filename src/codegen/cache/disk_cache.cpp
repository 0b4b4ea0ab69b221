#include "disk_cache.h"

#include <fmt/format.h>
#include <sys/auxv.h>

#include <atomic>
#include <cstdlib>
#include <memory>
#include <mutex>

#include "numlift/support/log.h"
#include "numlift/support/options.h"
#include "store.h"

namespace numlift::codegen {
namespace cache {
namespace {

std::atomic<uint64_t> found_count{0}, missed_count{0}, stored_count{0};

void report(const std::string& text) { log(LogChannel::cache, "the disk cache: " + text); }

// What a store was opened for.
struct Settings {
  std::string directory;
  bool is_chosen = false;  // by the user, not by default
  uint64_t limit_bytes = 0;
  bool operator==(const Settings&) const = default;
};

// A folder of the environment's; it must be absolute, as the XDG rules say.
std::string folder_from(const char* variable, const char* below) {
  const char* folder = std::getenv(variable);
  return folder != nullptr && folder[0] == '/' ? std::string(folder) + below : "";
}

std::string default_directory() {
  const std::string directory = folder_from("XDG_CACHE_HOME", "/numlift");
  return directory.empty() ? folder_from("HOME", "/.cache/numlift") : directory;
}

// A process that runs with more rights than its user takes no code from the user's files.
bool has_more_rights_than_its_user() { return getauxval(AT_SECURE) != 0; }

std::shared_ptr<Store> open_store(const Settings& settings) {
  if (has_more_rights_than_its_user()) return nullptr;
  if (settings.directory.empty()) {
    report("off, for neither cache_dir nor XDG_CACHE_HOME nor HOME names a folder");
    return nullptr;
  }
  auto store = Store::open(settings.directory, settings.limit_bytes, &report);
  if (!store) {
    const std::string text = "off, for " + store.error();
    settings.is_chosen ? log_warning("the disk cache: " + text) : report(text);
    return nullptr;
  }
  return std::make_shared<Store>(std::move(*store));
}

class Current {
 public:
  void allow(bool allowed) {
    const std::lock_guard<std::mutex> lock(mutex_);
    is_allowed_ = allowed;
    default_ = default_directory();
  }

  // Null when the cache is off.
  std::shared_ptr<Store> store(std::string* directory = nullptr) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!is_allowed_ || !options().disk_cache) return nullptr;
    Settings wanted = wanted_settings();
    if (directory != nullptr) *directory = wanted.directory;
    if (!is_open_ || settings_ != wanted) {
      is_open_ = true;
      settings_ = std::move(wanted);
      store_ = open_store(settings_);
    }
    return store_;
  }

 private:
  Settings wanted_settings() const {
    Settings settings;
    settings.directory = options().cache_dir.get();
    settings.is_chosen = !settings.directory.empty();
    if (!settings.is_chosen) settings.directory = default_;
    settings.limit_bytes = static_cast<uint64_t>(options().disk_cache_bytes.load());
    return settings;
  }

  std::mutex mutex_;
  bool is_allowed_ = false;
  std::string default_;
  bool is_open_ = false;  // or was tried to be
  Settings settings_;
  std::shared_ptr<Store> store_;
};

Current& current() {
  static auto* one = new Current();
  return *one;
}

}  // namespace

bool is_on() { return current().store() != nullptr; }

std::optional<std::string> find_object(const cpu::Digest& key) {
  const std::shared_ptr<Store> store = current().store();
  if (store == nullptr) return std::nullopt;
  std::optional<std::string> object = store->find(key);
  ++(object ? found_count : missed_count);
  return object;
}

void keep_object(const cpu::Digest& key, std::string_view object) {
  const std::shared_ptr<Store> store = current().store();
  if (store != nullptr && store->put(key, object)) ++stored_count;
}

void refuse_object(const cpu::Digest& key, const std::string& why) {
  report(
      fmt::format("the code {} could not be loaded and is made anew: {}", cpu::hex_text(key), why));
  --found_count;
  ++missed_count;
  if (const std::shared_ptr<Store> store = current().store()) store->remove(key);
}

}  // namespace cache

void allow_disk_cache(bool allowed) { cache::current().allow(allowed); }

DiskCacheInfo disk_cache_info() {
  DiskCacheInfo info;
  std::string directory;
  if (cache::current().store(&directory) != nullptr) info.directory = directory;
  info.found = cache::found_count;
  info.missed = cache::missed_count;
  info.stored = cache::stored_count;
  return info;
}

}  // namespace numlift::codegen
