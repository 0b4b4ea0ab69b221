// Accumulators of one reduction at one loop.
//
// Float sums are pairwise: blocks of iterations are summed in a fixed number of lanes (the same on
// every CPU), lanes and blocks are added as a binary tree. The error bound is that of NumPy's
// pairwise sum, and the order depends on the extents only. float16 is accumulated in float32, as in
// NumPy. Everything else combines in any order.
#pragma once

#include <vector>

#include "emit_function.h"

namespace numlift::codegen::cpu {

struct Contribution {
  LaneValue value;
  llvm::Value* position = nullptr;  // arg-reductions
};

// Lanes over which a vector reduction loop spreads its iterations: 256 bytes of the widest type.
inline constexpr unsigned kReductionBytes = 256;
// Rounds of all lanes in one block of a float sum, and iterations of one in a scalar loop.
inline constexpr unsigned kRoundsPerBlock = 16;
inline constexpr unsigned kScalarBlock = 32;
// Columns that are summed down side by side: their accumulators stay in the first-level cache.
inline constexpr unsigned kColumnBytes = 2048;
inline constexpr unsigned kColumnLevels = 40;  // of kScalarBlock rows and more: any number of rows

bool is_pairwise(const Reduction& reduction, DType operand_dtype);

class Accumulator {
 public:
  // kLanes: total_lanes accumulators, met `lanes` at a time. A scalar loop has total_lanes ==
  // lanes. kColumns: each of the total_lanes accumulators is a result of its own, in memory; see
  // below.
  enum class Layout { kLanes, kColumns };
  Accumulator(FunctionEmitter& function, const Reduction& reduction, DType operand_dtype,
              unsigned lanes, unsigned total_lanes, Layout layout = Layout::kLanes);

  bool pairwise() const { return pairwise_; }
  void begin();  // of the loop
  // Float sums: once a block; others: once, and end_block() after the loop.
  void begin_block();
  // Adds to the accumulators of part `part` (a constant) in registers...
  void add(unsigned part, Contribution x, llvm::Value* mask);
  // ...or, after spill(), to those in memory from lane `first_lane` on.
  void spill();
  void add_spilled(llvm::Value* first_lane, Contribution x, llvm::Value* mask);
  void reload();  // back into registers
  void end_block();
  // The result; checks it against the floating-point conditions wanted.
  // Vector reduction loops: one scalar. Scalar loops: `lanes` lanes.
  Contribution finish();

  // ---- columns: accumulators [0, width) of total_lanes; width is the same in all calls ----
  void begin_columns(llvm::Value* width);
  void begin_column_block(llvm::Value* width);
  void add_columns(llvm::Value* first_lane, Contribution x, llvm::Value* mask);
  void end_column_block(llvm::Value* width);
  void end_columns(llvm::Value* width);
  Contribution column_results(llvm::Value* first_lane, llvm::Value* mask);

 private:
  struct State {
    llvm::Value* re = nullptr;
    llvm::Value* im = nullptr;
    llvm::Value* position = nullptr;
  };
  State identity(unsigned lanes) const;
  State combine(const State& a, const State& b);
  State combine_positions(const State& a, const State& b);
  State prepare(Contribution x, llvm::Value* mask, const SeenSlots& seen);
  State load(const std::vector<llvm::AllocaInst*>& slots, unsigned lanes, llvm::Value* first_lane);
  void store(const std::vector<llvm::AllocaInst*>& slots, const State& state,
             llvm::Value* first_lane);
  State fold_lanes(State state);
  void push(const State& block);
  State pop_all();
  void make_columns();
  template <class Body>
  void each_vector(llvm::Value* width, Body body);
  SeenSlots seen_columns(llvm::Value* first_lane);
  llvm::Value* stack_lane(llvm::Value* level, llvm::Value* lane);
  unsigned component_count() const;
  llvm::Type* component_type(unsigned component) const;
  static llvm::Value*& component(State& state, unsigned index);

  FunctionEmitter& f_;
  llvm::IRBuilder<>& b_;
  const Reduction& reduction_;
  DType dtype_;  // of the accumulators; float32 for float16 sums
  bool of_bools_;
  bool pairwise_;
  bool checked_;
  unsigned lanes_;
  unsigned total_lanes_;
  bool spilled_ = false;
  std::vector<std::vector<llvm::AllocaInst*>> parts_;  // [part][component]
  std::vector<llvm::AllocaInst*> memory_;              // [component]: total_lanes_ elements
  std::vector<llvm::AllocaInst*> stack_;               // [component]: finished blocks by level
  llvm::AllocaInst* block_count_ = nullptr;
  SeenSlots seen_;
  State result_;  // after end_block(), unless pairwise
};

}  // namespace numlift::codegen::cpu
