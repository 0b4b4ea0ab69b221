// An entry: what one trace of a function gave, with the guards under which it may be used.
#pragma once

#include "numlift/py/python.h"

#include <memory>
#include <variant>
#include <vector>

#include "numlift/codegen/compile.h"
#include "numlift/frame_eval/compiled_function.h"
#include "numlift/frame_eval/trace.h"
#include "numlift/guards/guard_set.h"
#include "numlift/numpy_shim/errstate.h"
#include "run_program.h"

namespace numlift::frame_eval {

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
  // From now on a call that meets the guards runs in CPython.
  void become_python(BreakInfo why);

  bool is_python() const { return kind_ == Kind::kPython; }
  numpy_shim::ErrState errstate() const { return errstate_; }
  guards::GuardSet& guards() { return *guards_; }
  const BreakInfo& break_info() const { return break_info_; }
  // Null when it needs ProgramHost::run().
  const ProgramHost* direct_program() const { return direct_; }
  // Not for python entries. The guards hold; slots and symbols are as the check left them.
  Outcome run(const guards::CallInputs& call, PyObject* const* slots, int64_t* symbols,
              PyObject** result);
  EntryInfo info() const;
  const std::vector<PyObject*>& owned() const { return owned_; }

  uint64_t hits = 0, restarts = 0;
  int restarts_in_row = 0;
  int pins = 0;
  double trace_ms = 0;

 private:
  enum class Kind : uint8_t { kProgram, kReference, kPython };
  void note_owned();

  Kind kind_;
  numpy_shim::ErrState errstate_;
  std::unique_ptr<guards::GuardSet> guards_;
  std::vector<InputSpec> inputs_;
  std::vector<RecipeNode> recipe_;
  std::vector<ExternRecipe> externs_;
  Graph graph_;  // as captured; after the passes once compiled
  std::unique_ptr<codegen::CompiledProgram> compiled_;
  std::unique_ptr<ProgramHost> host_;
  const ProgramHost* direct_ = nullptr;
  BreakInfo break_info_;
  double passes_ms_ = 0;
  std::vector<PyObject*> owned_;  // every reference it owns, for tp_traverse
};

}  // namespace numlift::frame_eval
