// Expands options.def and checks values.
#include "numlift/support/options.h"

#include <cctype>
#include <charconv>
#include <cstdlib>

#include <fmt/format.h>

#include "numlift/support/check.h"
#include "numlift/support/log.h"

namespace numlift {
namespace {

bool assign(std::atomic<bool>* field, std::string_view text) {
  std::string lower;
  for (char c : text) lower += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  const bool on = lower == "true" || lower == "1";
  if (!on && lower != "false" && lower != "0") return false;
  *field = on;
  return true;
}

bool assign(std::atomic<int64_t>* field, std::string_view text) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 0) return false;
  *field = value;
  return true;
}

bool assign(TextOption* field, std::string_view text) {
  field->set(std::string(text));
  return true;
}

std::string text_of(const std::atomic<bool>& field) { return field ? "true" : "false"; }
std::string text_of(const std::atomic<int64_t>& field) { return std::to_string(field.load()); }
std::string text_of(const TextOption& field) { return field.get(); }

// `wanted` must be known.
std::string text_in(const Options& values, std::string_view wanted) {
#define NUMLIFT_OPTION(name, kind, default_value, environment, help) \
  if (wanted == #name) return text_of(values.name);
#include "numlift/support/options.def"
#undef NUMLIFT_OPTION
  fail_check(__FILE__, __LINE__, "text_in", fmt::format("unknown option {}", wanted));
}

std::string_view expected(OptionKind kind) {
  switch (kind) {
    case OptionKind::kBool:
      return "true or false";
    case OptionKind::kInt:
      return "a number that is not negative";
    case OptionKind::kText:
      return "text";
  }
  NUMLIFT_UNREACHABLE();
}

}  // namespace

constinit Options global_options;

const std::vector<OptionInfo>& option_table() {
  static const std::vector<OptionInfo> table{
#define NUMLIFT_OPTION(name, kind, default_value, environment, help) \
  OptionInfo{#name, OptionKind::k##kind, environment, help},
#include "numlift/support/options.def"
#undef NUMLIFT_OPTION
  };
  return table;
}

const OptionInfo* find_option(std::string_view name) {
  for (const OptionInfo& info : option_table()) {
    if (info.name == name) return &info;
  }
  return nullptr;
}

std::string option_text(std::string_view name) { return text_in(options(), name); }

std::string set_option(std::string_view wanted, std::string_view value) {
  const OptionInfo* info = find_option(wanted);
  if (info == nullptr) return fmt::format("there is no option \"{}\"", wanted);
  if (wanted == "math" && value != "fast" && value != "exact") {
    return fmt::format("option math is \"fast\" or \"exact\", not \"{}\"", value);
  }
  if (wanted == "logs") {
    if (const std::string unknown = set_log_channels(value); !unknown.empty()) {
      return fmt::format("option logs: there is no channel \"{}\". The channels are:\n{}", unknown,
                         log_help());
    }
  }
  bool accepted = false;
#define NUMLIFT_OPTION(name, kind, default_value, environment, help) \
  if (wanted == #name) accepted = assign(&mutable_options().name, value);
#include "numlift/support/options.def"
#undef NUMLIFT_OPTION
  if (!accepted) {
    return fmt::format("option {} is {}, not \"{}\"", wanted, expected(info->kind), value);
  }
  if (wanted == "dump") set_dump_directory(std::string(value));
  return "";
}

void reset_options() {
  const Options defaults;
  for (const OptionInfo& info : option_table()) {
    const std::string error = set_option(info.name, text_in(defaults, info.name));
    NUMLIFT_CHECK(error.empty(), "{}", error);
  }
}

std::string load_options_from_environment() {
  std::string errors;
  for (const OptionInfo& info : option_table()) {
    const char* value = std::getenv(std::string(info.environment).c_str());
    if (value == nullptr) continue;
    if (const std::string error = set_option(info.name, value); !error.empty()) {
      errors += fmt::format("{}: {}\n", info.environment, error);
    }
  }
  return errors;
}

std::string options_help() {
  const Options defaults;
  std::string text;
  for (const OptionInfo& info : option_table()) {
    std::string value = text_in(defaults, info.name);
    if (info.kind == OptionKind::kText) value = "\"" + value + "\"";
    text += fmt::format("{:<20} {:<12} {:<28} {}\n", info.name, value, info.environment, info.help);
  }
  return text;
}

}  // namespace numlift
