// Log channels, the sink and the stage dump. State: one mask that readers load without a lock, and
// the sink and dump directory behind a mutex that is never held while a sink runs.
#include "numlift/support/log.h"

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <mutex>

#include <fmt/format.h>

namespace numlift {
namespace {

struct ChannelInfo {
  std::string_view name;
  std::string_view help;
};
constexpr ChannelInfo kChannels[] = {
#define NUMLIFT_CHANNEL(name, help) {#name, help},
    NUMLIFT_LOG_CHANNELS(NUMLIFT_CHANNEL)
#undef NUMLIFT_CHANNEL
};

std::atomic<uint32_t> enabled_mask{0};
std::atomic<bool> dump_on{false};
std::atomic<uint32_t> dump_serial{0};
std::mutex mutex;
std::shared_ptr<const LogSink> sink;
std::string dump_directory;

uint32_t bit(size_t channel) { return uint32_t{1} << channel; }

void emit(std::string_view channel, const std::string& text) {
  std::shared_ptr<const LogSink> current;
  {
    std::lock_guard lock(mutex);
    current = sink;
  }
  if (current && *current) {
    (*current)(channel, text);
  } else {
    fmt::print(stderr, "numlift{}{}: {}\n", channel.empty() ? "" : ".", channel, text);
  }
}

std::string_view trim(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

}  // namespace

bool log_enabled(LogChannel channel) {
  return (enabled_mask.load(std::memory_order_relaxed) & bit(static_cast<size_t>(channel))) != 0;
}

void log(LogChannel channel, const std::string& text) {
  if (log_enabled(channel)) emit(kChannels[static_cast<size_t>(channel)].name, text);
}

void log_warning(const std::string& text) { emit("", text); }

std::string set_log_channels(std::string_view comma_list) {
  uint32_t mask = 0;
  while (!comma_list.empty()) {
    const size_t comma = comma_list.find(',');
    const std::string_view name = trim(comma_list.substr(0, comma));
    comma_list.remove_prefix(comma == std::string_view::npos ? comma_list.size() : comma + 1);
    if (name.empty()) continue;
    bool known = false;
    for (size_t i = 0; i < std::size(kChannels); ++i) {
      if (kChannels[i].name == name) {
        mask |= bit(i);
        known = true;
      }
    }
    if (!known) return std::string(name);
  }
  enabled_mask.store(mask, std::memory_order_relaxed);
  return "";
}

std::string log_help() {
  std::string text;
  for (const ChannelInfo& channel : kChannels) {
    text += fmt::format("{:<12} {}\n", channel.name, channel.help);
  }
  return text;
}

void set_log_sink(LogSink new_sink) {
  auto replacement = std::make_shared<const LogSink>(std::move(new_sink));
  std::lock_guard lock(mutex);
  // The old sink dies after the lock is released: it may own a Python object.
  sink.swap(replacement);
}

void set_dump_directory(const std::string& directory) {
  std::lock_guard lock(mutex);
  dump_directory = directory;
  dump_on.store(!directory.empty(), std::memory_order_relaxed);
}

bool dump_enabled() { return dump_on.load(std::memory_order_relaxed); }

void dump_stage(std::string_view function_name, std::string_view stage, const std::string& text) {
  if (!dump_enabled()) return;
  std::string directory;
  {
    std::lock_guard lock(mutex);
    directory = dump_directory;
  }
  std::string name;  // "<lambda>" and "f.<locals>.g" are no file names
  for (char c : function_name) {
    const bool plain = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                       c == '_' || c == '.';
    name += plain ? c : '_';
  }
  const uint32_t serial = dump_serial.fetch_add(1, std::memory_order_relaxed);
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  const std::string path = fmt::format("{}/{:04}_{}.{}.txt", directory, serial, name, stage);
  std::ofstream file(path);
  file << text;
  if (!file) log_warning(fmt::format("cannot write the dump file {}", path));
}

}  // namespace numlift
