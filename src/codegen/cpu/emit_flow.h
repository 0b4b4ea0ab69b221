// Control flow of `program`: regions as basic blocks, the ways out, the symbols that steps set.
#pragma once

#include <vector>

#include "emit_function.h"
#include "numlift/codegen/compile.h"

namespace numlift::codegen::cpu {

class FlowEmitter {
 public:
  FlowEmitter(FunctionEmitter& function, LoopChecks checks)
      : f_(function), b_(function.builder()), loop_checks_(checks) {}

  // At the start of the code proper.
  void begin();
  // Joins all ways out; the exit code. The builder stands there.
  llvm::Value* finish();

  void emit(const LoopStep& step);
  void emit(const IfStep& step);
  void emit(const ElseStep& step);
  void emit(const BlockStep& step);
  void emit(const EndStep& step);
  void emit(const JumpStep& step);
  void emit(const AssignStep& step);
  void emit(const CheckStep& step);

  // An i64 on the stack that holds `value` on entry.
  llvm::AllocaInst* make_slot(int64_t value);

 private:
  struct Region {
    NodeId node = kNoNode;
    llvm::BasicBlock* done = nullptr;        // behind its end
    llvm::BasicBlock* other = nullptr;       // if: the other arm, until it begins
    llvm::BasicBlock* head = nullptr;        // loop
    llvm::BasicBlock* next = nullptr;        // loop: on to the next iteration
    llvm::BasicBlock* pause = nullptr;       // loop in chunks: a chunk is done
    llvm::AllocaInst* index = nullptr;       // loop
    llvm::AllocaInst* polls_left = nullptr;  // loop: back edges until the next look at the clock
  };

  llvm::BasicBlock* new_block(const char* name);
  llvm::Value* load_scalar(BufferId id, DType dtype);
  void set_symbol(SymbolId id, llvm::Value* value);
  llvm::Value* begin_chunks(Region& region, llvm::Value* trips, int64_t first);
  void find_scalar_loops();
  // Looks at the clock: the number of back edges until the next look.
  llvm::Value* look_at_clock();
  void emit_poll(llvm::AllocaInst* polls_left);
  // Leaves when a value of the present loop was not finite.
  void leave_if_suspicious();

  FunctionEmitter& f_;
  llvm::IRBuilder<>& b_;
  std::vector<Region> open_;
  llvm::BasicBlock* restart_ = nullptr;
  llvm::BasicBlock* interrupted_ = nullptr;
  llvm::BasicBlock* suspicious_ = nullptr;
  LoopChecks loop_checks_;
  llvm::AllocaInst* sum_ = nullptr;  // of what scalar code in loops tests
  llvm::Value* hidden_zero_ = nullptr;
  int loop_depth_ = 0;
  std::vector<NodeId> scalar_loops_;  // that hold nothing but scalar code
};

}  // namespace numlift::codegen::cpu
