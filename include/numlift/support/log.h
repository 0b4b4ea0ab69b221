// Logging by channel. A disabled channel costs one branch; text goes to the sink (stderr until
// the Python side installs one that hands it to the `logging` module), never to stdout.
// Messages hold no addresses, so that they can be golden.
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace numlift {

// name, what it prints
#define NUMLIFT_LOG_CHANNELS(X)                                                       \
  X(graph, "the captured graph, and the graph after the passes")                      \
  X(guards, "the guards of each compiled entry, in the order they are checked")       \
  X(recompiles, "why a function was compiled again: the guard that failed")           \
  X(output_code, "the loop nests and the LLVM IR, with the user's lines as comments") \
  X(breaks, "what left the graph: where, why, what to do")                            \
  X(timing, "milliseconds per stage of each compilation")                             \
  X(perf_hints, "what prevented fusion or parallel code")                             \
  X(cache, "what is amiss with the disk cache: why it is off, entries that were damaged")

enum class LogChannel {
#define NUMLIFT_CHANNEL(name, help) name,
  NUMLIFT_LOG_CHANNELS(NUMLIFT_CHANNEL)
#undef NUMLIFT_CHANNEL
};

bool log_enabled(LogChannel channel);
void log(LogChannel channel, const std::string& text);
// Shown whatever the channels say: a fall back caused by our own fault.
void log_warning(const std::string& text);

// A comma list of channel names. Returns the first unknown name, or "" when all are known.
std::string set_log_channels(std::string_view comma_list);
std::string log_help();

// `channel` is "" for warnings. Replaces the stderr sink.
using LogSink = std::function<void(std::string_view channel, const std::string& text)>;
void set_log_sink(LogSink sink);

// NUMLIFT_DUMP: one file a stage, `<dir>/<serial>_<name>.<stage>.txt`; a no-op when unset.
void set_dump_directory(const std::string& directory);
bool dump_enabled();
void dump_stage(std::string_view function_name, std::string_view stage, const std::string& text);

}  // namespace numlift
