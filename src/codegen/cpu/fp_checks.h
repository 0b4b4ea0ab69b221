// Detects the floating-point conditions that NumPy would report, by looking at values.
//
// An operation is suspicious when its result is NaN though no operand is (invalid), or infinite
// though all operands are finite (divide by zero, overflow). Unlike the hardware's flags this is
// exact next to libmvec, quiet compares and vector minima, all of which raise flags that NumPy does
// not, and it survives whatever the optimiser does to the arithmetic.
//
// The hot path stays short: a NaN or infinity passes on through sums, products and the like, so
// only the last value of such a chain is tested for being finite (find_segments() decides which),
// and only when that fails does a cold block look closer: it writes the operations' values to
// memory and calls the run time (check_values) with a constant table that says which is which. Long
// bodies are cut into segments with a test each, so that values need not stay in registers for the
// cold block.
#pragma once

#include <llvm/IR/IRBuilder.h>

#include <span>
#include <vector>

#include "lanes.h"
#include "numlift/codegen/loop_nest.h"

namespace numlift::codegen::cpu {

// Which operands of one reduction were not finite: bytes in memory, one a lane or one for all
// lanes.
struct SeenSlots {
  llvm::Value* nan = nullptr;
  llvm::Value* infinite = nullptr;
  llvm::Type* type = nullptr;
};

// One watched operation in the table of a cold block. Slots number the values written; each has the
// same number of lanes.
struct WatchedOp {
  static constexpr uint8_t kNoSlot = 0xFF;
  uint8_t fp_checks;
  uint8_t infinity;  // InfinityMeans
  uint8_t is_complex;
  uint8_t result[2];   // slots of the parts
  uint8_t divisor[2];  // kEither: zero here means division by zero
  uint8_t operands[4];
  uint8_t unused;
};
static_assert(sizeof(WatchedOp) == 12);
struct WatchTable {
  uint32_t lanes;
  uint32_t slot_bytes;
  uint32_t slot_count;
  uint32_t op_count;
  uint64_t double_slots[4];  // bit set: the slot holds doubles, else floats
};
// Called by cold blocks: whether any operation is suspicious in any lane.
int32_t check_values(const WatchTable* table, const WatchedOp* ops, const char* slots) noexcept;

class FpChecks {
 public:
  // restart_slot: an i32 that becomes 1.
  FpChecks(llvm::IRBuilder<>& builder, llvm::AllocaInst* restart_slot)
      : builder_(builder), restart_slot_(restart_slot) {}

  // Lanes that must restart whatever the result is (integer division by zero, a cast out of range).
  void must_restart(llvm::Value* mask);
  // An operation whose conditions count. is_sentinel: its result is tested.
  void watch(Op op, uint8_t fp_checks, const LaneValue& result, std::span<const LaneValue> operands,
             std::span<const DType> operand_dtypes, bool is_sentinel);
  // An operand of a float sum or product: NaN and infinities in it are noted in `seen`.
  void note_operand(const SeenSlots& seen, const LaneValue& operand);
  // Emits the tests of everything recorded since the last flush, at the builder's place.
  void flush();

  // From here on what is tested in scalar code is only summed up in `slot` (a double): it becomes
  // NaN once a value was not finite. Null: as before. `zero`: 0.0, but LLVM must not know.
  void sum_up_in(llvm::AllocaInst* slot, llvm::Value* zero) {
    sum_slot_ = slot;
    zero_ = zero;
  }

  // From here on a restart leaves for `block` at once; the slot stays 0.
  void leave_at(llvm::BasicBlock* block) { leave_ = block; }

  // After a reduction: the result against what its operands were.
  void check_reduction(const SeenSlots& seen, uint8_t fp_checks, const LaneValue& result);
  // Sets the restart slot, or leaves, where `condition` (i1) holds.
  void restart_if(llvm::Value* condition);

 private:
  bool can_sum_up() const;
  void sum_up();

  struct Watched {
    Op op;
    uint8_t fp_checks;
    LaneValue result;
    std::vector<LaneValue> operands;  // the floating ones
    LaneValue divisor;                // re is null unless infinity may mean division by zero
  };
  struct Noted {
    SeenSlots seen;
    LaneValue operand;
  };

  llvm::Value* call_check_values();

  llvm::IRBuilder<>& builder_;
  llvm::AllocaInst* restart_slot_;
  llvm::BasicBlock* leave_ = nullptr;
  llvm::AllocaInst* sum_slot_ = nullptr;
  llvm::Value* zero_ = nullptr;
  std::vector<llvm::Value*> must_;
  std::vector<llvm::Value*> tested_;  // components that are finite on the hot path
  std::vector<Watched> watched_;
  std::vector<Noted> noted_;
  llvm::AllocaInst* slots_ = nullptr;  // where cold blocks write values; one for the function
};

// How the bodies of a nest are tested, by ValueId.
struct Segments {
  // The value must be tested itself, because no operation in its segment passes its NaNs and
  // infinities on to a value that is.
  std::vector<bool> is_sentinel;
  // The segment ends after this value: flush() there.
  std::vector<bool> ends;
};
Segments find_segments(const LoopNest& nest);

// Mask tests on one component.
llvm::Value* is_nan(llvm::IRBuilder<>& builder, llvm::Value* value);
llvm::Value* is_infinite(llvm::IRBuilder<>& builder, llvm::Value* value);
llvm::Value* is_finite(llvm::IRBuilder<>& builder, llvm::Value* value);

}  // namespace numlift::codegen::cpu
