// Where LLVM 19, 20 and 21 differ.
#pragma once

#include <llvm/ADT/ArrayRef.h>
#include <llvm/Config/llvm-config.h>
#include <llvm/ExecutionEngine/Orc/Core.h>
#include <llvm/ExecutionEngine/Orc/ExecutorProcessControl.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/TargetParser/Triple.h>
#if __has_include(<llvm/ExecutionEngine/Orc/AbsoluteSymbols.h>)
#include <llvm/ExecutionEngine/Orc/AbsoluteSymbols.h>
#endif
#if __has_include(<llvm/ExecutionEngine/Orc/SelfExecutorProcessControl.h>)
#include <llvm/ExecutionEngine/Orc/SelfExecutorProcessControl.h>
#endif

namespace numlift::codegen::cpu {

// How a triple is handed over.
#if LLVM_VERSION_MAJOR >= 21
inline llvm::Triple triple_argument(const llvm::Triple& triple) { return triple; }
#else
inline std::string triple_argument(const llvm::Triple& triple) { return triple.str(); }
#endif

// A call of an intrinsic that is not overloaded: `{}` for its types fits two functions of LLVM 21.
inline void call_intrinsic(llvm::IRBuilderBase& builder, llvm::Intrinsic::ID id,
                           llvm::ArrayRef<llvm::Value*> arguments) {
  builder.CreateIntrinsic(id, llvm::ArrayRef<llvm::Type*>(), arguments);
}

}  // namespace numlift::codegen::cpu
