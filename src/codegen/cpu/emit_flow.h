// Control flow of `program`: regions as basic blocks, the ways out, the symbols that steps set.
#pragma once

#include <vector>

#include "emit_function.h"

namespace numlift::codegen::cpu {

class FlowEmitter {
 public:
  explicit FlowEmitter(FunctionEmitter& function) : f_(function), b_(function.builder()) {}

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
    llvm::BasicBlock* done = nullptr;    // behind its end
    llvm::BasicBlock* other = nullptr;   // if: the other arm, until it begins
    llvm::BasicBlock* head = nullptr;    // loop
    llvm::BasicBlock* next = nullptr;    // loop: on to the next iteration
    llvm::AllocaInst* index = nullptr;   // loop
    bool polls = false;
  };

  llvm::BasicBlock* new_block(const char* name);
  llvm::Value* load_scalar(BufferId id, DType dtype);
  void set_symbol(SymbolId id, llvm::Value* value);
  void emit_poll();

  FunctionEmitter& f_;
  llvm::IRBuilder<>& b_;
  std::vector<Region> open_;
  llvm::BasicBlock* restart_ = nullptr;
  llvm::BasicBlock* interrupted_ = nullptr;
  llvm::AllocaInst* polls_left_ = nullptr;  // back edges until the next look at the clock
  llvm::AllocaInst* poll_state_ = nullptr;
};

}  // namespace numlift::codegen::cpu
