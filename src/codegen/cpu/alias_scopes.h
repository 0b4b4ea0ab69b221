// Which memory of a program is distinct, as LLVM's alias scopes.
//
// A stored input meets no other input: the host does not run the program else. Arrays and slots are
// the program's own. Only an extern's array may lie anywhere.
#pragma once

#include <llvm/IR/Instruction.h>

#include <unordered_map>

#include "numlift/codegen/program.h"

namespace numlift::codegen::cpu {

class AliasScopes {
 public:
  AliasScopes(const Program& program, llvm::LLVMContext& context);
  // A load or store of elements.
  void tag(llvm::Instruction* access, BufferId id) const;
  // ... of the frame's own tables.
  void tag_frame(llvm::Instruction* access) const;

 private:
  struct Metadata {
    llvm::MDNode* scope = nullptr;   // its own
    llvm::MDNode* others = nullptr;  // all but its own
  };
  static void apply(llvm::Instruction* access, const Metadata& metadata);

  std::vector<Metadata> by_buffer_;
  Metadata frame_;
};

}  // namespace numlift::codegen::cpu
