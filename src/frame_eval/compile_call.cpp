// The slow path of a call: trace, guards, code, a new entry.
//
// One compilation at a time in a process. A thread that waits for its turn does so without the GIL,
// and the one that compiles never waits for anything but the GIL, so the two locks cannot block
// each other. A compiled function called by the thread that is tracing (a callable that the tracer
// runs, a destructor) runs plainly.
#include <pthread.h>

#include <chrono>
#include <deque>
#include <mutex>
#include <new>

#include "break_message.h"
#include "error_region.h"
#include "function_state.h"
#include "numlift/codegen/cuda.h"
#include "numlift/graph/text.h"
#include "numlift/py/py_error.h"
#include "numlift/support/log.h"
#include "numlift/support/options.h"

namespace numlift::frame_eval {
namespace {

std::mutex compile_mutex;
thread_local bool tracing = false;
std::deque<CompileLogLine> compile_lines;  // oldest first
constexpr size_t kMostCompileLines = 4096;

// In the child of a fork no other thread exists that could unlock it.
const int fork_handler = pthread_atfork(nullptr, nullptr, [] { new (&compile_mutex) std::mutex; });

class CompileTurn {
 public:
  CompileTurn() {
    if (!compile_mutex.try_lock()) {
      PyThreadState* state = PyEval_SaveThread();
      compile_mutex.lock();
      PyEval_RestoreThread(state);
    }
    tracing = true;
  }
  ~CompileTurn() {
    tracing = false;
    compile_mutex.unlock();
  }
  CompileTurn(const CompileTurn&) = delete;
  CompileTurn& operator=(const CompileTurn&) = delete;
};

double milliseconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start)
      .count();
}

void log_entry(const Site& site, const Entry& entry, const EntryInfo& info) {
  if (log_enabled(LogChannel::guards)) {
    std::string text = fmt::format("guards of {}:", site.name);
    for (const guards::GuardText& guard : info.guards) text += "\n  " + guard.line();
    log(LogChannel::guards, text);
  }
  if (log_enabled(LogChannel::timing) && !entry.is_python()) {
    log(LogChannel::timing,
        fmt::format("{}: trace {:.2f} ms, guards {:.2f} ms, passes {:.2f} ms, schedule {:.2f} ms, "
                    "emit {:.2f} ms{}",
                    site.name, info.times.trace, info.times.guards, info.times.passes,
                    info.times.schedule, info.times.emit,
                    info.is_from_disk ? ", loaded from the disk cache" : ""));
  }
  if (log_enabled(LogChannel::graph) && !entry.is_python()) {
    log(LogChannel::graph, fmt::format("{} after the passes:\n{}", site.name, info.graph_text));
  }
}

// A graph break is an error: everywhere in the function, or here.
bool must_raise(const FunctionState& state, const BreakInfo& info) {
  const bool outside = ErrorRegion::wanted().value_or(false);
  return state.options.fullgraph || info.is_error.value_or(outside);
}

// Why none of the entries served; "" when there is none.
std::string why_again(Site& site, const guards::CallInputs& call) {
  if (site.entries.empty()) return "";
  Entry& newest = *site.entries.front();
  const std::string why = newest.guards().explain_miss(call);
  if (!why.empty()) return why;
  return newest.why_left() != nullptr && ErrorRegion::wanted() == true
             ? "error_on_graph_break(True) is in force"
             : "np.errstate or the device is another";
}

// Entries that no call can meet any more do not count.
void drop_dead_entries(FunctionState* state, Site* site) {
  std::vector<std::unique_ptr<Entry>> dropped;
  for (auto& entry : site->entries) {
    if (!entry->is_dead()) continue;
    (entry->pins == 0 ? dropped : state->retired).push_back(std::move(entry));
  }
  std::erase_if(site->entries, [](const auto& entry) { return entry == nullptr; });
}

// False: the function has had its share of compilations.
bool may_compile(FunctionState* state, Site* site, const std::string& why_again) {
  if (site->entries.size() < static_cast<size_t>(options().recompile_limit.load())) return true;
  BreakInfo info;
  info.category = "recompile_limit";
  info.reason =
      fmt::format("{} was compiled {} times (recompile_limit) and needs another entry: {}",
                  site->name, site->entries.size(), why_again);
  info.user_stack = {first_line_of(state->code)};
  if (must_raise(*state, info)) {
    raise_unsupported(info);
    return false;
  }
  site->plain = true;
  // Nobody has asked for this very function to be compiled.
  if (!state->owns_code) {
    if (log_enabled(LogChannel::recompiles)) log(LogChannel::recompiles, info.reason);
    return false;
  }
  log_warning(info.reason +
              ". CPython runs it from now on. Fix: keep what the guard names the same from call "
              "to call, or raise numlift.config.recompile_limit");
  return false;
}

std::string what_happens_at(const EntryExit& exit, bool runs_in_python) {
  std::string text = runs_in_python ? "CPython runs the code up to here and this step"
                                    : "a program runs up to here, then CPython runs this step";
  if (!exit.after.empty()) text += "; " + exit.after.front()->name + " goes on";
  return text;
}

BreakInfo idle_info(const FunctionState& state) {
  BreakInfo info;
  info.category = "nothing_to_gain";
  info.reason = state.name + " does no work on arrays";
  info.user_stack = {first_line_of(state.code)};
  return info;
}

// A user's backend sees a graph as calls of NumPy's functions, and there is none for a loop.
bool takes_control_flow(const CompileOptions& options) {
  return options.backend != Backend::kUsers;
}

void note_compilation(const Site& site, const Entry& entry) {
  if (compile_lines.size() == kMostCompileLines) compile_lines.pop_front();
  compile_lines.push_back({site.name, entry.times, entry.is_from_disk()});
}

}  // namespace

bool is_tracing() { return tracing; }

std::string missing_for(Backend backend) {
  if (backend != Backend::kCuda) return "";
  return codegen::missing_for_cuda();
}

std::vector<CompileLogLine> compile_log() {
  (void)fork_handler;
  return {compile_lines.begin(), compile_lines.end()};
}

void clear_compile_log() { compile_lines.clear(); }

Entry* compile_call(FunctionState* state, Site* site, const guards::CallInputs& call,
                    numpy_shim::ErrState errstate) {
  const size_t known = site->entries.size();
  const CompileTurn turn;
  if (const std::string why = missing_for(state->options.backend); !why.empty()) {
    PyErr_SetString(PyExc_RuntimeError, why.c_str());
    return nullptr;
  }
  // Another thread may have compiled just this while we waited: look again before tracing.
  if (site->entries.size() != known) return nullptr;
  drop_dead_entries(state, site);
  std::string why = why_again(*site, call);
  if (!may_compile(state, site, why)) return nullptr;
  if (!why.empty() && log_enabled(LogChannel::recompiles)) {
    log(LogChannel::recompiles, fmt::format("{} is compiled again: {}", site->name, why));
  }

  const auto start = std::chrono::steady_clock::now();
  const uint64_t drops = drop_count();
  const Ref function = Ref::create(call.function);
  ++state->stats.compiles;
  const bool is_start = site->frames.empty();
  auto traced = trace_call({function, is_start ? nullptr : &site->frames, site->name,
                            takes_control_flow(state->options)},
                           call);
  const double trace_ms = milliseconds_since(start);
  // What the trace relied on, beside its guards, has changed meanwhile.
  if (drop_count() != drops) return nullptr;
  const auto report_break = [&](const BreakInfo& info, const std::string& what_was_done) {
    if (log_enabled(LogChannel::breaks)) {
      log(LogChannel::breaks, break_log_text(info, site->name, what_was_done));
    }
    if (info.category == "generic_jump" && log_enabled(LogChannel::perf_hints)) {
      log(LogChannel::perf_hints,
          fmt::format("{}: {}:{}: which way this goes hangs on an array's value: what comes before "
                      "and behind it, each round of a loop too, is a program of its own",
                      site->name, info.place().file, info.place().position.line));
    }
  };
  std::unique_ptr<Entry> entry;
  if (auto* broken = std::get_if<TraceBreak>(&traced)) {
    if (must_raise(*state, broken->info)) {
      raise_unsupported(broken->info);
      return nullptr;
    }
    report_break(broken->info,
                 is_start ? "CPython runs the whole call" : "CPython runs the rest of the call");
    entry = std::make_unique<Entry>(std::move(*broken), state->options, errstate, call);
    entry->times.trace = trace_ms;
  } else {
    auto& result = std::get<TraceResult>(traced);
    if (result.exit && must_raise(*state, result.exit->info)) {
      raise_unsupported(result.exit->info);
      return nullptr;
    }
    result.graph.name = site->name;
    CompileOptions options = state->options;
    const bool is_idle = options.only_gains && !has_array_work(result.graph);
    if (!is_idle) state->has_gain = true;
    if (log_enabled(LogChannel::graph)) {
      log(LogChannel::graph,
          fmt::format("{} as captured:\n{}", site->name, graph_text(result.graph)));
    }
    if (dump_enabled()) dump_stage(site->name, "captured", graph_text(result.graph));
    std::unique_ptr<EntryExit> exit;
    bool runs_in_python = false;
    if (result.exit) {
      const std::vector<SuspendedFrame> from =
          is_start ? std::vector<SuspendedFrame>{first_frame(function)} : site->frames;
      runs_in_python = is_step(result, from);
      exit =
          make_exit(*result.exit, runs_in_python ? from : result.exit->frames,
                    runs_in_python && is_start && PyFunction_GET_CLOSURE(function.get()) != nullptr,
                    &state->resume_sites);
      // A function of its own has one closure for all calls.
      if (exit->needs_closure && state->owns_code) {
        PyObject* closure = PyFunction_GET_CLOSURE(function.get());
        check_status(PyFunction_SetClosure(exit->function.get(), closure));
      }
      report_break(exit->info, what_happens_at(*exit, runs_in_python));
    }
    entry = std::make_unique<Entry>(std::move(result), state->options, errstate, call);
    entry->times.trace = trace_ms;
    if (runs_in_python) {
      entry->become_python(exit->info);
    } else if (is_idle && !exit) {
      entry->become_python(idle_info(*state));
    } else {
      // Code for a few numbers takes longer to make than it ever saves.
      if (is_idle) options.backend = Backend::kEager;
      entry->compile(options, function);
      if (!is_idle) note_compilation(*site, *entry);
    }
    entry->exit = std::move(exit);
  }
  entry->borrow_names();
  entry->recompile_reason = std::move(why);
  if (log_enabled(LogChannel::guards) || log_enabled(LogChannel::timing) ||
      log_enabled(LogChannel::graph)) {
    log_entry(*site, *entry, entry->info());
  }
  site->entries.insert(site->entries.begin(), std::move(entry));
  return site->entries.front().get();
}

}  // namespace numlift::frame_eval
