// Running a compiled program as the host: buffers, undo copies, extern calls, the call's result.
#pragma once

#include "numlift/py/python.h"

#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "numlift/codegen/cuda.h"
#include "numlift/codegen/program.h"
#include "numlift/frame_eval/trace.h"
#include "numlift/guards/guard_set.h"

namespace numlift::frame_eval {

enum class Outcome : uint8_t {
  kDone,
  kRestart,  // nothing that the program wrote can be seen: the call runs in CPython
  kOverlap,  // a stored input shares memory with another: nothing has run, the call runs in CPython
  kError,    // a Python error is set that must not be swallowed (KeyboardInterrupt, no memory)
};

// Bounds of what runs directly.
inline constexpr size_t kMostDirectSlots = 16, kMostDirectSymbols = 64, kMostDirectBuffers = 16;

// Everything of a program that can be prepared once. Shared by all threads: what a call needs lies
// in its own frame.
class ProgramHost {
 public:
  // The arguments outlive the host. `globals`: of the traced function.
  // One of function and device.
  ProgramHost(const codegen::Program& program, codegen::ProgramFunction function,
              codegen::CudaProgram* device, const std::vector<InputSpec>& inputs,
              const std::vector<RecipeNode>& recipe, const std::vector<uint32_t>& results,
              const std::vector<ExternRecipe>& externs, const guards::GuardSet& guards,
              uint8_t fp_checks, BorrowedRef globals);

  // slots and symbols as GuardSet::check left them. results: as many new references as the trace
  // has results when kDone. Throws InternalError.
  Outcome run(const guards::CallInputs& call, PyObject* const* slots, int64_t* symbols,
              PyObject** results) const;
  // The same at less cost, for the usual program: numbers and few arrays among the arguments, one
  // fresh array as the result, nothing else to hold, store to, undo or free. Null result: kError.
  bool is_direct() const { return is_direct_; }
  Outcome run_direct(PyObject* const* slots, int64_t* symbols, PyObject** result) const;

  void collect_refs(guards::RefCollector* collector) const;

 private:
  friend struct RunFrame;
  friend struct HostCallbacks;

  struct BufferPlan {
    codegen::Buffer::Kind kind;
    DType dtype;
    int64_t item_bytes;
    bool c_order;
    std::vector<guards::CompiledSize> dims, strides;
    // Of a kArray; *block: fresh memory for it. False: a size overflows or there is no memory.
    bool allocate(std::span<const int64_t> symbols, int64_t* dims, char** block) const;
    uint32_t input_slot = 0;  // kInput
    uint32_t slot = 0;        // kTemp
    uint32_t dims_at = 0;     // kArray: where its dims are in RunFrame::dims
    uint32_t scalar = 0;      // kScalar, and kExtern of a scalar: index of its 16 bytes
  };
  // Where the arrays of a RunFrame begin in its scratch memory, in bytes. All from `buffers` on
  // begin as zeros.
  struct FrameLayout {
    size_t scalar_storage, dims, held, saved, buffers, objects, copies, temps, item_objects, bytes;
  };
  struct ViewPlan {
    guards::CompiledSize offset, size;
    std::vector<guards::CompiledSize> dims, strides;
    std::vector<guards::CompiledSize>
        shown_strides;  // see RecipeNode::strides; empty: as `strides`
  };
  struct ExternPlan {
    ExternRecipe recipe;  // through a function in the user's name, so that warnings name their line
    std::vector<ViewPlan> operands;
    std::vector<guards::CompiledSizeGuard> size_guards;  // on what this call's result decides
    uint8_t fp_checks;
  };

  // Once the usual code has met something odd.
  codegen::ProgramFunction precise_function() const;
  codegen::ExitCode execute(codegen::ProgramFunction function, codegen::ProgramFrame* native,
                            struct RunFrame* frame) const;

  FrameLayout layout() const;
  // False: restart.
  bool prepare(struct RunFrame* frame) const;
  bool can_run_direct(const guards::GuardSet& guards) const;
  bool read_scalars(PyObject* const* slots, codegen::ScalarSlot* scalars) const;
  bool has_overlap(const struct RunFrame& frame) const;
  bool allocate_array(struct RunFrame* frame, uint32_t buffer) const;
  void save_undo_inputs(struct RunFrame* frame) const;
  PyObject* array_object(struct RunFrame* frame, uint32_t buffer) const;  // borrowed
  Ref make_value(struct RunFrame* frame, const codegen::ValueRef& value,
                 const ViewPlan& plan) const;
  void make_results(struct RunFrame* frame, PyObject** results) const;
  bool call_extern_step(struct RunFrame* frame, uint32_t step) const;
  bool take_item(struct RunFrame* frame, const Ref& result, NodeId node, uint32_t buffer) const;

  const codegen::Program& program_;
  codegen::ProgramFunction function_;
  codegen::CudaProgram* device_;
  const std::vector<InputSpec>& inputs_;
  const std::vector<RecipeNode>& recipe_;
  const std::vector<uint32_t>& results_;
  std::vector<uint32_t> input_slots_;  // by input
  std::vector<uint32_t> held_inputs_;  // inputs that need a reference during the run
  std::vector<uint32_t> array_inputs_, scalar_inputs_, stored_inputs_;
  std::vector<uint32_t> undo_inputs_;  // those that a restart must put back
  std::vector<BufferPlan> buffers_;
  struct InputBuffer {
    uint32_t buffer, slot;
  };
  std::vector<InputBuffer> input_buffers_;
  std::vector<uint32_t> scalar_buffers_;
  std::vector<uint32_t> owned_arrays_, early_arrays_;  // kArray: all; allocated before the run
  std::vector<guards::CompiledSize> temp_bytes_;
  std::vector<uint32_t> temp_buffers_;
  std::vector<uint32_t> moving_temps_;  // buffers: see Buffer::moves
  std::vector<ViewPlan> outputs_;
  std::vector<ExternPlan> externs_;   // by step (empty recipes for other steps)
  std::vector<NodeId> object_items_;  // extern items that are opaque objects
  // By buffer: an extern's array that the program stores to or hands out views of: no copy does.
  std::vector<bool> stored_externs_, shown_externs_;
  uint32_t scalar_count_ = 0, dims_count_ = 0;
  size_t local_count_ = 0;  // kLocal buffers
  size_t copy_count_ = 0;   // as many as buffers when there are externs
  struct Precise {
    std::mutex mutex;
    std::unique_ptr<codegen::NativeCode> code;
  };
  std::unique_ptr<Precise> precise_ = std::make_unique<Precise>();
  FrameLayout layout_{};
  bool is_direct_ = false;
};

}  // namespace numlift::frame_eval
