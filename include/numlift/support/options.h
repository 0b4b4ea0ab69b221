// Options: plain fields that any thread may read at the price of one load; set by name (Python's
// config), from the environment once at import, or by tests.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace numlift {

// Read at compile time only: a copy under a lock.
class TextOption {
 public:
  constexpr explicit TextOption(const char* value) : default_(value) {}
  std::string get() const {
    std::lock_guard lock(mutex_);
    return is_set_ ? value_ : default_;
  }
  void set(std::string value) {
    std::lock_guard lock(mutex_);
    value_ = std::move(value);
    is_set_ = true;
  }

 private:
  mutable std::mutex mutex_;
  const char* default_;
  std::string value_;
  bool is_set_ = false;
};

struct Options {
  using Bool = std::atomic<bool>;
  using Int = std::atomic<int64_t>;
  using Text = TextOption;
#define NUMLIFT_OPTION(name, kind, default_value, environment, help) kind name{default_value};
#include "numlift/support/options.def"
#undef NUMLIFT_OPTION
};

// Initialised before any code runs, so that a read needs no check.
extern constinit Options global_options;
inline const Options& options() { return global_options; }
inline Options& mutable_options() { return global_options; }

enum class OptionKind : uint8_t { kBool, kInt, kText };
struct OptionInfo {
  std::string_view name;
  OptionKind kind;
  std::string_view environment;
  std::string_view help;
};
const std::vector<OptionInfo>& option_table();
const OptionInfo* find_option(std::string_view name);

// "true"/"false", digits or the text itself. The name must be known.
std::string option_text(std::string_view name);
// Takes effect at once (log channels, dump folder included). "" or why the value is refused; then
// nothing has changed. Bools: true, false, 1, 0 in any case.
std::string set_option(std::string_view name, std::string_view value);
void reset_options();
// Sets every option whose environment variable is set. One line for each refused value.
std::string load_options_from_environment();
std::string options_help();

}  // namespace numlift
