// The object that nl.compile() returns, and what is asked of it from outside.
#pragma once

#include "numlift/py/python.h"

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "numlift/frame_eval/trace.h"
#include "numlift/guards/guard_set.h"
#include "numlift/py/ref.h"

namespace numlift::frame_eval {

enum class Backend : uint8_t {
  kLlvm,   // machine code
  kGraph,  // the graph after the passes, node by node with NumPy
  kEager,  // the captured graph likewise
  kCuda,   // kernels for a CUDA device
  kUsers,  // what a callable of the user's makes of the captured graph
};

// Why code of this backend cannot be had here; "" when it can.
std::string missing_for(Backend backend);

struct CompileOptions {
  bool fullgraph = false;
  std::optional<bool> dynamic;  // false: sizes and ints are guarded to be what they were
  Backend backend = Backend::kLlvm;
  Ref users_backend = {};  // kUsers
  // What has no array work is left to CPython as it is.
  bool only_gains = false;
  bool operator==(const CompileOptions& other) const {
    return fullgraph == other.fullgraph && dynamic == other.dynamic && backend == other.backend &&
           users_backend.get() == other.users_backend.get() && only_gains == other.only_gains;
  }
};

// Makes the type; called once when the module is imported.
void initialize_compiled_function();
PyTypeObject* compiled_function_type();
// `callable`: any callable; what is no Python function (or bound method, or object whose class has
// a Python __call__) is called plainly.
Ref make_compiled_function(BorrowedRef callable, const CompileOptions& options);

// The original callable; null when `object` is no CompiledFunction.
BorrowedRef wrapped_callable(BorrowedRef object);

const CompileOptions& options_of(BorrowedRef compiled);

struct CallStats {
  uint64_t calls = 0, hits = 0, misses = 0, compiles = 0, fallbacks = 0, restarts = 0;
};
CallStats stats_of(BorrowedRef compiled);

// Milliseconds of one compilation, by stage.
struct CompileTimes {
  double trace = 0, guards = 0, passes = 0, schedule = 0, emit = 0;
};

struct EntryInfo {
  std::string kind;  // "program", "graph" or "python"
  std::vector<guards::GuardText> guards;
  std::string graph_text, graph_table;  // "" for python
  std::string site;                     // where it begins: the function, or behind a graph break
  std::string break_reason;             // "": the program returns from the call
  std::vector<std::string> operations;  // on arrays, as the user wrote them: "numpy.absolute"
  // Why the entries that were there did not serve: the guard that failed, with the value found and
  // the one expected. "" for the first entry.
  std::string recompile_reason;
  int kernels = 0;
  bool is_from_disk = false;  // its machine code was loaded from the disk cache
  uint64_t code_size = 0, hits = 0, restarts = 0;
  CompileTimes times;
  std::vector<LoopLeft> loops_left;
};
// Most recently used first.
std::vector<EntryInfo> entries_of(BorrowedRef compiled);
// The kernels of each entry as CUDA C++, most recently used first; "" for what has none.
std::vector<std::string> cuda_sources_of(BorrowedRef compiled);
// In how many places the last traced call left the graph; a fall back of the whole call is one.
int break_count_of(BorrowedRef compiled);

// What a call did, in order: graphs that ran, and breaks at which CPython took over.
using CallEvent = std::variant<EntryInfo, BreakInfo>;
// Calls `callable` and says what the compiled functions on this thread did meanwhile, each graph
// and break once. Throws PyError when the call raises.
std::vector<CallEvent> record_call(BorrowedRef callable, BorrowedRef args, BorrowedRef kwargs);
// For each entry of `compiled`, why it would not serve this call; "" where it would. Runs nothing.
std::vector<std::string> explain_misses(BorrowedRef compiled, BorrowedRef args, BorrowedRef kwargs);

// One compilation of a graph, by the name of where it begins.
struct CompileLogLine {
  std::string site;
  CompileTimes times;
  bool is_from_disk = false;
};
// Of all functions, oldest first; the last few thousand are kept. reset_all() empties it.
std::vector<CompileLogLine> compile_log();

// error_on_graph_break(): what this thread asked for; nullopt: nothing. Set, it returns what was.
std::optional<bool> exchange_error_on_break(std::optional<bool> wanted);

// Drops all entries of all compiled functions and the memory kept for reuse.
void reset_all();
// The entries only. A trace that is on its way gives none.
void drop_entries();
uint64_t drop_count();

// What compiled functions do in the whole process (numlift.set_stance).
enum class Stance : uint8_t {
  kDefault,
  kForceEager,        // every call runs plainly
  kEagerOnRecompile,  // what no entry meets runs plainly
  kFailOnRecompile,   // … raises
};
inline std::atomic<Stance> current_stance{Stance::kDefault};

}  // namespace numlift::frame_eval
