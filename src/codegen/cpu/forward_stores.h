// Recurrences over memory: what an iteration stores and a later one loads stays in a register.
#pragma once

#include <llvm/IR/PassManager.h>

namespace numlift::codegen::cpu {

// y[i] = f(y[i - 1], y[i - 2]): LLVM's own pass for this gives up where another access of the loop
// lies at an unknown distance, as the rows above and below do. An innermost loop's load is replaced
// where the store of one of the last iterations provably left its value.
class ForwardStoresPass : public llvm::PassInfoMixin<ForwardStoresPass> {
 public:
  llvm::PreservedAnalyses run(llvm::Function& function, llvm::FunctionAnalysisManager& analyses);
};

}  // namespace numlift::codegen::cpu
