// An entry: what one trace of a function gave, with the guards under which it may be used.
#pragma once

#include "numlift/py/python.h"

#include <memory>
#include <span>
#include <variant>
#include <vector>

#include "numlift/codegen/compile.h"
#include "numlift/frame_eval/backend.h"
#include "numlift/frame_eval/compiled_function.h"
#include "numlift/frame_eval/device_choice.h"
#include "numlift/frame_eval/trace.h"
#include "numlift/guards/guard_set.h"
#include "named_objects.h"
#include "numlift/numpy_shim/errstate.h"
#include "run_program.h"

namespace numlift::frame_eval {

struct Site;

// Where an entry's program ends when it does not return: CPython runs one unit of instructions.
struct EntryExit {
  BreakInfo info;
  Ref function;                // runs it, called with the trace's results; see make_unit_function
  bool needs_closure = false;  // that of the function that is called
  size_t value_count = 0;      // of all frames
  size_t outer_count = 0;      // of the frames around the last one: they stay as they are
  std::vector<Site*> after;
  uint64_t last_call = 0;  // that came through here
};

// Used with the GIL held; `pins` counts the calls that are inside it.
class Entry {
 public:
  // Both are made right after tracing, while the guards hold for `now`.
  Entry(TraceResult trace, const CompileOptions& options, numpy_shim::ErrState errstate,
        const guards::CallInputs& now);
  Entry(TraceBreak trace, const CompileOptions& options, numpy_shim::ErrState errstate,
        const guards::CallInputs& now);

  // Passes and code; releases the GIL meanwhile. Throws InternalError or what the back end throws.
  void compile(const CompileOptions& options, BorrowedRef function);
  // From now on a call that meets the guards runs in CPython: to the exit, if there is one.
  void become_python(BreakInfo why);

  bool is_from_disk() const;  // its machine code
  bool is_python() const { return kind_ == Kind::kPython; }
  // Whether it was made under this np.errstate, on the device that is wanted now.
  bool suits(numpy_shim::ErrState errstate) const {
    return errstate == errstate_ && current_device() == device_;
  }
  // Its kernels as CUDA C++; "" when it has none.
  std::string cuda_source() const;
  guards::GuardSet& guards() { return *guards_; }
  // Why a call leaves it other than by its return; null: it does not.
  const BreakInfo* why_left() const {
    if (exit) return &exit->info;
    return is_python() ? &break_info_ : nullptr;
  }
  // How many objects run() gives: one, or the values at the exit. A python entry with an exit takes
  // that many arguments.
  size_t result_count() const { return is_python() && exit ? exit->value_count : results_.size(); }
  // Null when it needs ProgramHost::run().
  const ProgramHost* direct_program() const { return direct_; }
  // Not for python entries. The guards hold; slots and symbols are as the check left them.
  Outcome run(const guards::CallInputs& call, PyObject* const* slots, int64_t* symbols,
              PyObject** results);
  EntryInfo info() const;
  // Without those that a dead entry still has.
  std::span<PyObject* const> owned() const {
    return is_dead() ? std::span<PyObject* const>() : owned_;
  }
  void note_owned();
  // The last step of making it: short-lived objects that it names do not live longer for it.
  void borrow_names();
  // Such an object is gone: no call meets the guards any more.
  bool is_dead() const { return named_.is_dead(); }

  std::unique_ptr<EntryExit> exit;  // null: the program returns from the call
  uint64_t hits = 0, restarts = 0;
  int restarts_in_row = 0;
  int pins = 0;
  std::string recompile_reason;
  CompileTimes times;

 private:
  enum class Kind : uint8_t { kProgram, kReference, kUsers, kPython };
  void collect_names(guards::RefCollector* collector) const;
  Outcome run_users(const guards::CallInputs& call, PyObject* const* slots,
                    std::span<const int64_t> symbols, PyObject** results);

  Kind kind_;
  numpy_shim::ErrState errstate_;
  DeviceKind device_;
  std::unique_ptr<guards::GuardSet> guards_;
  std::vector<InputSpec> inputs_;
  std::vector<RecipeNode> recipe_;
  std::vector<uint32_t> results_;
  std::vector<ExternRecipe> externs_;
  Graph graph_;  // as captured; after the passes once compiled
  std::unique_ptr<codegen::CompiledProgram> compiled_;
  std::unique_ptr<ProgramHost> host_;
  const ProgramHost* direct_ = nullptr;
  Ref users_backend_;
  BackendProgram users_program_;
  bool is_asking_ = false;  // the user's backend is at work on the graph
  BreakInfo break_info_;
  std::vector<std::string> operations_;
  std::vector<LoopLeft> loops_left_;
  std::vector<PyObject*> owned_;  // every reference it owns, for tp_traverse
  NamedObjects named_;            // the last member: its references are inside of the others
};

}  // namespace numlift::frame_eval
