// From an LLVM module to callable machine code: passes, code generation, linking with ORC.
//
// One ORC session serves the process. Each program has a dylib of its own, removed with the
// NativeCode, which frees the pages. Code pages are never writable and executable at once.
#pragma once

#include <llvm/IR/Module.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "numlift/codegen/program.h"

namespace llvm {
class TargetMachine;
}

namespace numlift::codegen::cpu {

// Symbols that only this program knows (NumPy's loops), by name.
using ProgramSymbols = std::vector<std::pair<std::string, void*>>;

// Optimises the module, compiles it and links it. Takes the context with it: both die in here.
// What LLVM cannot compile throws InternalError.
// Thread safe; compilations run one at a time.
std::unique_ptr<NativeCode> link_program(std::unique_ptr<llvm::LLVMContext> context,
                                         std::unique_ptr<llvm::Module> module,
                                         const ProgramSymbols& symbols, bool keep_ir);

// A function that has loops of the user's.
inline constexpr const char* kLoopingAttribute = "numlift-looping";

// The short pipeline. The module has been verified.
void optimize(llvm::Module& module, llvm::TargetMachine& machine);

std::string module_text(const llvm::Module& module);

}  // namespace numlift::codegen::cpu
