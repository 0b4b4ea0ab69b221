// The slow path of a call: trace, guards, code, a new entry.
//
// One compilation at a time in a process. A thread that waits for its turn does so without the GIL,
// and the one that compiles never waits for anything but the GIL, so the two locks cannot block
// each other. A compiled function called by the thread that is tracing (a callable that the tracer
// runs, a destructor) runs plainly.
#include <pthread.h>

#include <chrono>
#include <mutex>
#include <new>

#include "function_state.h"
#include "numlift/graph/text.h"
#include "numlift/py/py_error.h"
#include "numlift/support/log.h"
#include "numlift/support/options.h"

namespace numlift::frame_eval {
namespace {

std::mutex compile_mutex;
thread_local bool tracing = false;
PyObject* unsupported_class = nullptr;  // numlift.Unsupported, kept for the process

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

struct BreakText {
  std::string text, explanation, hint;
};
BreakText break_text(const std::string& category) {
#define NUMLIFT_BREAK(id, text, explanation, hint) \
  if (category == #id) return {text, explanation, hint};
#include "numlift/frame_eval/break_reasons.def"
#undef NUMLIFT_BREAK
  return {category, "", ""};
}

std::string place_text(const BreakInfo& info) {
  return fmt::format("{}:{} in {}", info.file, info.line, info.function);
}

std::string break_message(const BreakInfo& info, const char* what) {
  const BreakText text = break_text(info.category);
  std::string message = fmt::format("{} at {}: {}.", text.text, place_text(info), info.reason);
  if (!text.explanation.empty()) message += " " + text.explanation;
  message += fmt::format(" CPython runs {}.", what);
  if (!text.hint.empty()) message += " Fix: " + text.hint;
  return message;
}

std::string source_line(const BreakInfo& info) {
  Ref linecache = Ref::steal(PyImport_ImportModule("linecache"));
  Ref line = linecache ? Ref::steal(PyObject_CallMethod(linecache.get(), "getline", "si",
                                                        info.file.c_str(), info.line))
                       : Ref();
  const char* text = line && PyUnicode_Check(line.get()) ? PyUnicode_AsUTF8(line.get()) : nullptr;
  if (text == nullptr) {
    PyErr_Clear();
    return "";
  }
  std::string stripped = text;
  stripped.erase(0, stripped.find_first_not_of(" \t"));
  stripped.erase(stripped.find_last_not_of(" \t\n") + 1);
  return stripped;
}

void raise_unsupported(const BreakInfo& info) {
  const BreakText text = break_text(info.category);
  std::string message = fmt::format("{}: {}", text.text, info.reason);
  if (!text.explanation.empty()) message += "\n  " + text.explanation;
  if (!text.hint.empty()) message += "\n  Hint: " + text.hint;
  message += fmt::format("\nfrom user code:\n  File \"{}\", line {}, in {}", info.file, info.line,
                         info.function);
  if (const std::string line = source_line(info); !line.empty()) message += "\n    " + line;
  PyErr_SetString(unsupported_class, message.c_str());
}

double milliseconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start)
      .count();
}

void log_entry(const Site& site, const Entry& entry, const EntryInfo& info) {
  if (log_enabled(LogChannel::guards)) {
    std::string text = fmt::format("guards of {}:", site.name);
    for (const std::string& guard : info.guards) text += "\n  " + guard;
    log(LogChannel::guards, text);
  }
  if (log_enabled(LogChannel::timing) && !entry.is_python()) {
    log(LogChannel::timing,
        fmt::format("{}: trace {:.2f} ms, passes {:.2f} ms, schedule {:.2f} ms, emit {:.2f} ms",
                    site.name, info.trace_ms, info.passes_ms, info.schedule_ms, info.emit_ms));
  }
  if (log_enabled(LogChannel::graph) && !entry.is_python()) {
    log(LogChannel::graph, fmt::format("{} after the passes:\n{}", site.name, info.graph_text));
  }
}

// False: the function has had its share of compilations.
bool may_compile(FunctionState* state, Site* site, const guards::CallInputs& call) {
  if (site->entries.empty()) return true;
  const bool at_limit =
      site->entries.size() >= static_cast<size_t>(options().recompile_limit.load());
  if (!at_limit && !log_enabled(LogChannel::recompiles)) return true;
  const std::string why = site->entries.front()->guards().explain_miss(call);
  if (!at_limit) {
    log(LogChannel::recompiles, fmt::format("{} is compiled again: {}", site->name,
                                            why.empty() ? "np.errstate is another" : why));
    return true;
  }
  const std::string text =
      fmt::format("{} was compiled {} times (recompile_limit) and needs another entry: {}.",
                  site->name, site->entries.size(), why.empty() ? "np.errstate is another" : why);
  if (state->options.fullgraph) {
    PyErr_SetString(unsupported_class, text.c_str());
    return false;
  }
  site->plain = true;
  log_warning(text +
              " CPython runs it from now on. Fix: keep what the guard names the same from call "
              "to call, or raise numlift.config.recompile_limit");
  return false;
}

}  // namespace

bool is_tracing() { return tracing; }

void set_unsupported_class(BorrowedRef unsupported) {
  unsupported_class = Ref::create(unsupported).release();
  (void)fork_handler;
}

Entry* compile_call(FunctionState* state, Site* site, const guards::CallInputs& call,
                    numpy_shim::ErrState errstate) {
  const size_t known = site->entries.size();
  const CompileTurn turn;
  // Another thread may have compiled just this while we waited: look again before tracing.
  if (site->entries.size() != known) return nullptr;
  if (!may_compile(state, site, call)) return nullptr;

  const auto start = std::chrono::steady_clock::now();
  const uint64_t drops = drop_count();
  const Ref function = Ref::create(reinterpret_cast<PyObject*>(state->function));
  ++state->stats.compiles;
  auto traced = trace_call({function, site->frames.empty() ? nullptr : &site->frames}, call);
  const double trace_ms = milliseconds_since(start);
  // What the trace relied on, beside its guards, has changed meanwhile.
  if (drop_count() != drops) return nullptr;
  const auto report_break = [&](const BreakInfo& info, const char* what) {
    if (log_enabled(LogChannel::breaks)) log(LogChannel::breaks, break_message(info, what));
  };
  std::unique_ptr<Entry> entry;
  if (auto* broken = std::get_if<TraceBreak>(&traced)) {
    if (state->options.fullgraph) {
      raise_unsupported(broken->info);
      return nullptr;
    }
    report_break(broken->info, site->frames.empty() ? "the call" : "the rest of the call");
    entry = std::make_unique<Entry>(std::move(*broken), state->options, errstate, call);
    entry->trace_ms = trace_ms;
  } else {
    auto& result = std::get<TraceResult>(traced);
    if (result.exit && state->options.fullgraph) {
      raise_unsupported(result.exit->info);
      return nullptr;
    }
    result.graph.name = site->name;
    if (log_enabled(LogChannel::graph)) {
      log(LogChannel::graph,
          fmt::format("{} as captured:\n{}", site->name, graph_text(result.graph)));
    }
    if (dump_enabled()) dump_stage(site->name, "captured", graph_text(result.graph));
    std::unique_ptr<EntryExit> exit;
    bool runs_in_python = false;
    if (result.exit) {
      report_break(result.exit->info, "this step");
      const bool is_start = site->frames.empty();
      const std::vector<SuspendedFrame> from =
          is_start ? std::vector<SuspendedFrame>{first_frame(function)} : site->frames;
      runs_in_python = is_step(result, from);
      exit =
          make_exit(*result.exit, runs_in_python ? from : result.exit->frames,
                    runs_in_python && is_start ? PyFunction_GET_CLOSURE(function.get()) : nullptr,
                    &state->resume_sites);
    }
    entry = std::make_unique<Entry>(std::move(result), state->options, errstate, call);
    entry->trace_ms = trace_ms;
    if (runs_in_python) {
      entry->become_python(exit->info);
    } else {
      entry->compile(state->options, function);
    }
    entry->exit = std::move(exit);
    entry->note_owned();
  }
  if (log_enabled(LogChannel::guards) || log_enabled(LogChannel::timing) ||
      log_enabled(LogChannel::graph)) {
    log_entry(*site, *entry, entry->info());
  }
  site->entries.insert(site->entries.begin(), std::move(entry));
  return site->entries.front().get();
}

}  // namespace numlift::frame_eval
