// The object that nl.compile() returns, and what is asked of it from outside.
#pragma once

#include "numlift/py/python.h"

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "numlift/py/ref.h"

namespace numlift::frame_eval {

enum class Backend : uint8_t {
  kLlvm,   // machine code
  kGraph,  // the graph after the passes, node by node with NumPy
  kEager,  // the captured graph likewise
};

struct CompileOptions {
  bool fullgraph = false;
  std::optional<bool> dynamic;  // false: sizes and ints are guarded to be what they were
  Backend backend = Backend::kLlvm;
};

// Makes the type; called once when the module is imported. `unsupported`: numlift.Unsupported.
void initialize_compiled_function(BorrowedRef unsupported);
PyTypeObject* compiled_function_type();
// `callable`: any callable; what is no Python function (or bound method, or object whose class has
// a Python __call__) is called plainly.
Ref make_compiled_function(BorrowedRef callable, const CompileOptions& options);

// The original callable; null when `object` is no CompiledFunction.
BorrowedRef wrapped_callable(BorrowedRef object);

struct CallStats {
  uint64_t calls = 0, hits = 0, misses = 0, compiles = 0, fallbacks = 0, restarts = 0;
};
CallStats stats_of(BorrowedRef compiled);

struct EntryInfo {
  std::string kind;  // "program", "graph" or "python"
  std::vector<std::string> guards;
  std::string graph_text, graph_table;  // "" for python
  std::string site;                     // where it begins: the function, or behind a graph break
  std::string break_reason;             // "": the program returns from the call
  int kernels = 0;
  uint64_t code_size = 0, hits = 0, restarts = 0;
  double trace_ms = 0, passes_ms = 0, schedule_ms = 0, emit_ms = 0;
};
// Most recently used first.
std::vector<EntryInfo> entries_of(BorrowedRef compiled);
// In how many places the last traced call left the graph; a fall back of the whole call is one.
int break_count_of(BorrowedRef compiled);

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
