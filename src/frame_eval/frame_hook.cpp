// What is done with a frame that begins in a region. Functions of one code object with the same
// globals share their entries: what differs among them, the closure and the defaults, is read from
// the call.
//
// Most functions of a program have nothing to gain. After a few calls in which no array work was
// found, a function's entries are dropped, and it is looked at again only when a call brings an
// array among its arguments.
#include "numlift/frame_eval/frame_hook.h"

#include <string_view>

#include "cpython/eval_frame.h"
#include "function_state.h"
#include "run_call.h"
#include "numlift/frame_eval/marks.h"
#include "numlift/numpy_shim/numpy.h"
#include "numlift/py/py_error.h"
#include "numlift/support/options.h"

namespace numlift::frame_eval {
namespace {

constexpr int kCallsWithoutGain = 2;
constexpr int kMostLooks = 4;
constexpr Py_ssize_t kMostArguments = 64;  // longer signatures run in CPython

// numlift.disable, numlift.skip
NumliftDecision decision_of(const MarkEntry& disabled) {
  return disabled.target ? NUMLIFT_RUN_FRAME : NUMLIFT_RUN_PLAINLY;
}

struct HookedFunction {
  FunctionState state;
  Ref globals;
  int calls_without_gain = 0;
  int calls_under_way = 0;
  int looks = 0;
  bool is_idle = false;
  uint64_t drops = drop_count();
  std::optional<NumliftDecision> always;  // asked for by the user

  HookedFunction(BorrowedRef function, PyCodeObject* code, const CompileOptions& options)
      : state(code), globals(Ref::create(PyFunction_GET_GLOBALS(function.get()))) {
    // The code owns the state, by way of its record.
    state.code = Ref::steal(reinterpret_cast<PyObject*>(code));
    state.owns_code = false;
    state.options = options;
    const char* name = PyUnicode_AsUTF8(code->co_qualname);
    if (name == nullptr) PyErr_Clear();
    state.name = state.start.name = name == nullptr ? "?" : name;
    const MarkEntry* mark = find_mark(function);
    if (mark != nullptr && mark->mark == Mark::kDisabled) always = decision_of(*mark);
    link_state(&state);
  }
  ~HookedFunction() {
    unlink_state(&state);
    static_cast<void>(state.code.release());
  }
  void wake() {
    is_idle = false;
    calls_without_gain = 0;
  }
  // numlift.reset()
  void begin_anew() {
    wake();
    looks = 0;
    state.has_gain = false;
  }
  HookedFunction(const HookedFunction&) = delete;
  HookedFunction& operator=(const HookedFunction&) = delete;
};

struct CodeRecord {
  std::vector<std::unique_ptr<HookedFunction>> functions;
};

RegionStats stats;

struct Region {
  CompileOptions options;
  bool everywhere;
};
thread_local std::vector<Region> own_regions;
CompileOptions everywhere_options;

void free_record(void* kept) {
  if (kept != nullptr && kept != NUMLIFT_PLAIN_CODE) delete static_cast<CodeRecord*>(kept);
}

const CompileOptions& wanted_options() {
  return own_regions.empty() ? everywhere_options : own_regions.back().options;
}

// The package of the module whose globals these are.
std::string_view package_of(BorrowedRef globals) {
  PyObject* name = PyDict_GetItemString(globals.get(), "__name__");
  const char* text = name != nullptr && PyUnicode_Check(name) ? PyUnicode_AsUTF8(name) : nullptr;
  if (text == nullptr) {
    PyErr_Clear();
    return {};
  }
  const std::string_view module = text;
  return module.substr(0, module.find('.'));
}

HookedFunction* find_or_make(CodeRecord* record, BorrowedRef function, PyCodeObject* code) {
  CompileOptions options = wanted_options();
  options.only_gains = !numlift::options().compile_all;
  PyObject* globals = PyFunction_GET_GLOBALS(function.get());
  for (const auto& hooked : record->functions) {
    if (hooked->globals.get() == globals && hooked->state.options == options) return hooked.get();
  }
  // Code that is run with ever new globals is no function of a module.
  if (record->functions.size() >= static_cast<size_t>(numlift::options().recompile_limit.load()))
    return nullptr;
  record->functions.push_back(std::make_unique<HookedFunction>(function, code, options));
  ++stats.functions;
  return record->functions.back().get();
}

bool has_array(PyObject* const* arguments, Py_ssize_t count) {
  for (Py_ssize_t i = 0; i < count; ++i) {
    PyObject* argument = arguments[i];
    if (argument != nullptr && (PyArray_Check(argument) || PyArray_IsScalar(argument, Generic))) {
      return true;
    }
  }
  return false;
}

// Everything that it keeps alive goes.
void become_idle(HookedFunction& hooked) {
  hooked.is_idle = true;
  const std::vector<std::unique_ptr<Entry>> entries = hooked.state.take_entries();
  if (hooked.calls_under_way == 0) {
    const std::vector<std::unique_ptr<Site>> sites = hooked.state.resume_sites.take_all();
  }
}

struct Arguments {
  NumliftFrame* frame;
  Py_ssize_t count;
};
void release_arguments(void* context) {
  const auto* arguments = static_cast<Arguments*>(context);
  numlift_release_frame_arguments(arguments->frame, arguments->count);
}

NumliftDecision run_hooked(HookedFunction& hooked, NumliftFrame* frame, BorrowedRef function,
                           PyObject** result) {
  FunctionState& state = hooked.state;
  const Py_ssize_t count = state.signature.slots();
  if (state.plain || count > kMostArguments) return NUMLIFT_RUN_FRAME;
  PyObject* values[kMostArguments];
  numlift_frame_arguments(frame, values, count);
  if (std::exchange(hooked.drops, drop_count()) != hooked.drops) hooked.begin_anew();
  if (hooked.is_idle) {
    if (hooked.looks == kMostLooks || !has_array(values, count)) return NUMLIFT_RUN_FRAME;
    ++hooked.looks;
    hooked.wake();
  }
  if (steps_aside(reinterpret_cast<PyCodeObject*>(state.code.get()))) return NUMLIFT_RUN_FRAME;
  ++stats.looked_at;
  ++state.stats.calls;
  Arguments arguments{frame, count};
  const Leaving leaving{release_arguments, &arguments};
  ++hooked.calls_under_way;
  const Found found = run_bound(state, {values, function.get()}, &leaving, result);
  --hooked.calls_under_way;
  const bool may_be_idle = state.options.only_gains && !state.has_gain;
  if (may_be_idle && ++hooked.calls_without_gain >= kCallsWithoutGain) become_idle(hooked);
  return found == Found::kCPython ? NUMLIFT_RUN_FRAME : NUMLIFT_FRAME_IS_DONE;
}

NumliftDecision handle_frame(NumliftFrame* frame, PyObject* function, PyCodeObject* code,
                             void* kept, PyObject** result) noexcept {
  if (is_tracing() || options().disable ||
      current_stance.load(std::memory_order_relaxed) == Stance::kForceEager) {
    return NUMLIFT_RUN_FRAME;
  }
  try {
    auto* record = static_cast<CodeRecord*>(kept);
    if (record == nullptr) {
      // NumPy's and numlift's own functions have nothing inside that is worth looking at.
      const std::string_view package = package_of(PyFunction_GET_GLOBALS(function));
      if (package == "numlift") {
        const MarkEntry* mark = find_mark(function);
        return mark && mark->mark == Mark::kDisabled ? decision_of(*mark) : NUMLIFT_RUN_FRAME;
      }
      if (package == "numpy") {
        check_status(numlift_keep_with_code(code, NUMLIFT_PLAIN_CODE));
        return NUMLIFT_RUN_FRAME;
      }
      auto made = std::make_unique<CodeRecord>();
      check_status(numlift_keep_with_code(code, made.get()));
      record = made.release();
    }
    HookedFunction* hooked = find_or_make(record, function, code);
    if (hooked == nullptr) return NUMLIFT_RUN_FRAME;
    if (hooked->always) return *hooked->always;
    return run_hooked(*hooked, frame, function, result);
  } catch (const PyError&) {
    PyErr_Clear();  // memory is short: CPython sees to it
  } catch (const std::exception&) {
  }
  return NUMLIFT_RUN_FRAME;
}

}  // namespace

void initialize_frame_hook() { check_status(numlift_initialize_frames(handle_frame, free_record)); }

void enter_region(const CompileOptions& options, bool everywhere) {
  check_status(numlift_enter_region(everywhere));
  if (everywhere) everywhere_options = options;
  own_regions.push_back({options, everywhere});
}

void leave_region() {
  if (own_regions.empty()) {
    PyErr_SetString(PyExc_RuntimeError, "this thread is in no region of numlift");
    throw PyError();
  }
  numlift_leave_region(own_regions.back().everywhere);
  own_regions.pop_back();
}

bool is_in_region() { return numlift_is_in_region() != 0; }

RegionStats region_stats() { return stats; }

}  // namespace numlift::frame_eval
