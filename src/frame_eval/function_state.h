// What a CompiledFunction keeps beside its Python object, and the slow path of a call. Private to
// compiled_function.cpp and compile_call.cpp.
#pragma once

#include "numlift/py/python.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "arguments.h"
#include "entry.h"
#include "numlift/frame_eval/compiled_function.h"
#include "site.h"

namespace numlift::frame_eval {

// Used with the GIL held.
struct FunctionState {
  Ref callable;              // what the user gave; called whenever CPython is to run it
  Ref function_owner, self;  // the Python function inside, and its first argument if bound
  PyFunctionObject* function = nullptr;  // null: nothing to trace
  Ref code;                              // function.__code__ when signature was made
  bool owns_code = true;                 // false: the code owns this state
  Signature signature;
  CompileOptions options;
  std::string name;  // for messages

  Site start;
  ResumeSites resume_sites;
  std::vector<std::unique_ptr<Entry>> retired;  // dropped while a call was inside
  bool plain = false;                           // given up on: CPython runs all calls
  bool has_gain = false;                        // some program has array work
  CallStats stats;
  int break_count = 0;

  FunctionState* previous = nullptr;  // list of all, for reset
  FunctionState* next = nullptr;

  explicit FunctionState(PyCodeObject* any_code) : signature(any_code) {}
  template <class Visit>
  void for_each_site(Visit visit) {
    visit(start);
    for (const auto& site : resume_sites.all()) visit(*site);
  }
  // Moves entries out; destroy them (which can run user code) when no list is being walked.
  std::vector<std::unique_ptr<Entry>> take_entries();
  void sweep_retired();
};

// A call is inside an entry: it is not destroyed, whatever happens to the function.
class EntryPin {
 public:
  EntryPin(FunctionState* state, Entry* entry) : state_(state), entry_(entry) { ++entry_->pins; }
  ~EntryPin() {
    if (--entry_->pins == 0 && !state_->retired.empty()) state_->sweep_retired();
  }
  EntryPin(const EntryPin&) = delete;
  EntryPin& operator=(const EntryPin&) = delete;

 private:
  FunctionState* state_;
  Entry* entry_;
};

// No entry of the site met the call: traces it, compiles, adds an entry at the front. Null: CPython
// runs the (rest of the) call and no error is set, or an error is set that the caller hands on.
// Throws InternalError and whatever code generation throws.
Entry* compile_call(FunctionState* state, Site* site, const guards::CallInputs& call,
                    numpy_shim::ErrState errstate);
// This thread is tracing: compiled functions that it calls run plainly.
bool is_tracing();

// A call that is not looked at at all, for what `state` is: a generator, a function written in C.
// nullopt: it is another matter.
std::optional<BreakInfo> why_never_traced(const FunctionState& state);

void clear_compile_log();

// The list of all states, for numlift.reset().
void link_state(FunctionState* state);
void unlink_state(FunctionState* state);

// A debugger, profiler or sys.monitoring tool watches `code`: it must see real frames. Said once in
// the log.
bool steps_aside(PyCodeObject* code);

}  // namespace numlift::frame_eval
