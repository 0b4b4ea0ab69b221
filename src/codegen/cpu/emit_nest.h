// A loop nest as LLVM code. Vector loops are written as vectors here, not found by LLVM: main loop
// of full vectors, then one masked vector. Lanes past the end hold lane 0's value, so they compute
// nothing that lane 0 does not and need no masks but at contiguous loads, stores and sums.
//
// A parallel root loop becomes a function of its own over a range of iterations, called by the
// run time (also when it runs serially: there is one copy of the code).
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "emit_function.h"
#include "reductions.h"

namespace numlift::codegen::cpu {

class NestEmitter {
 public:
  NestEmitter(FunctionEmitter& function, const LoopNest& nest);
  void emit_root();

 private:
  // Which loop's iterations are lanes at this place.
  struct Lanes {
    unsigned count = 1;
    VarId var{};
    llvm::Value* mask = nullptr;  // null: all lanes count
  };

  NestEmitter(FunctionEmitter& function, const NestEmitter& outer);

  void emit_items(const std::vector<Item>& items);
  void emit_value(ValueId id);
  LaneValue emit_op(ValueId id);
  std::optional<LaneValue> emit_quotient_by_truth(const Value& value);
  LaneValue emit_constant(const ScalarBits& constant);
  LaneValue emit_index(VarId var);

  llvm::Value* emit_address(const Access& access, SizeExpr* lane_stride);
  LaneValue emit_load(const Value& value);
  // At places that other values tell.
  LaneValue emit_indexed_load(const Value& value);
  void emit_store(uint32_t store_index);
  llvm::Value* lane_offsets(const SizeExpr& stride);
  llvm::Value* gather(llvm::Value* base, llvm::Value* offsets, DType dtype);
  void scatter(llvm::Value* base, llvm::Value* offsets, llvm::Value* value, DType dtype);
  llvm::Value* fill_masked(llvm::Value* value);
  llvm::Value* part_mask(bool is_pair, bool reversed);

  void emit_loop(VarId var);
  void emit_parallel_loop(VarId var);
  void emit_loop_range(VarId var, llvm::Value* begin, llvm::Value* end);
  void emit_scalar_loop(VarId var, llvm::Value* begin, llvm::Value* end);
  void emit_vector_loop(VarId var, llvm::Value* begin, llvm::Value* end);
  void emit_vector_reduction(VarId var, llvm::Value* begin, llvm::Value* end);
  // A vector loop over columns around a reduction down the rows, interchanged (emit_columns.cpp).
  bool is_column_reduction(VarId var) const;
  void emit_column_reduction(VarId var, llvm::Value* begin, llvm::Value* end);
  template <class Step>
  void each_vector_of(VarId var, llvm::Value* begin, llvm::Value* end, unsigned lanes, Step step);
  void emit_iteration(VarId var, llvm::Value* index);

  // Loops that run in order: a load of what the iteration before has stored, or loaded, takes it
  // from a register (emit_carried.cpp).
  struct Carried {
    ValueId load = kNoValue;
    ValueId source = kNoValue;  // its value in the iteration before is what the load gives
    LaneValue first{}, now{};
  };
  std::vector<Carried> find_carried(VarId var) const;
  void load_first(std::vector<Carried>* carried, VarId var, llvm::Value* begin);
  void begin_carried(std::vector<Carried>* carried, llvm::BasicBlock* before);
  void end_carried(const std::vector<Carried>& carried);
  llvm::Value* active_mask(llvm::Value* index, llvm::Value* end, unsigned lanes);

  // Streaming stores, for outputs too large to stay in the cache (emit_streaming.cpp).
  struct StreamedSize {
    SizeExpr bytes, row_bytes;
  };
  llvm::Value* find_streamed_stores(VarId var, llvm::Value* begin, llvm::Value* end);
  llvm::Value* is_large_store(const StreamedSize& size);
  void emit_contiguous_store(uint32_t store_index, llvm::Value* whole, llvm::Value* address);
  void end_streaming();

  // Reductions that `var` takes part in, and what one iteration of `var` gives to them.
  std::vector<const Reduction*> reductions_at(VarId var) const;
  Contribution contribution(const Reduction& reduction, VarId var);
  // The result of the loop's accumulators: a value of the nest, or a contribution to the next loop.
  void define(const Reduction& reduction, VarId var, const Contribution& result);
  // Parallel loops: what one chunk leaves behind, and all chunks combined, in order.
  Contribution chunk_result(const Reduction& reduction);
  void combine_chunks(const Reduction& reduction, VarId var,
                      const std::vector<llvm::AllocaInst*>& partials, llvm::Value* count);

  // Iterations of a parallel chunk come in multiples of this: whole vectors, whole tiles.
  int64_t chunk_granule(VarId var) const;
  std::vector<bool> varying_values(VarId vector_var) const;
  unsigned widest_bytes(VarId vector_var) const;
  std::vector<ValueId> captured_values(VarId var) const;
  LaneValue& value(ValueId id) { return values_[static_cast<uint32_t>(id)]; }

  FunctionEmitter& f_;
  llvm::IRBuilder<>& b_;
  const LoopNest& nest_;
  const Segments segments_;
  std::vector<LaneValue> values_;   // by ValueId
  std::vector<llvm::Value*> vars_;  // by VarId: first lane's iteration
  std::vector<VarId> open_loops_;   // outermost first
  std::vector<std::pair<const Reduction*, Contribution>> partials_;  // of inner loops
  Lanes lanes_;
  // Of the loop that is being emitted: store index, i1: streams in this run.
  std::vector<std::pair<uint32_t, llvm::Value*>> streamed_;
  std::vector<StreamedSize> streamed_sizes_;  // of all loops in the present root loop
  std::vector<bool> is_carried_;              // by ValueId
  bool is_chunk_ = false;  // emits a parallel loop's body: results of that loop stay partial
};

}  // namespace numlift::codegen::cpu
