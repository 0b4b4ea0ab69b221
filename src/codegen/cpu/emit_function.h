// One LLVM function under construction, with what all nests need in it: the program's frame, size
// expressions, buffer addresses, the restart flag.
//
// The entry block ("entry") holds stack slots, loads from the frame and size arithmetic, each
// emitted once; the code proper starts in "body". Symbols, buffer pointers and scalar inputs do not
// change while the function runs, but in `program` itself (`is_program`): there, what the steps
// change is read and computed where the present step begins (begin_step()).
#pragma once

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>

#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "alias_scopes.h"
#include "fp_checks.h"
#include "lanes.h"
#include "lower_ops.h"
#include "numlift/codegen/program.h"

namespace numlift::codegen::cpu {

class FunctionEmitter {
 public:
  // Makes `i32 name(ptr frame, extra parameters...)`, internal to the module.
  FunctionEmitter(const Program& program, llvm::Module& module, const std::string& name,
                  llvm::ArrayRef<llvm::Type*> extra_parameters = {}, bool is_program = false);
  FunctionEmitter(const FunctionEmitter&) = delete;

  llvm::IRBuilder<>& builder() { return body_; }
  FpChecks& checks() { return checks_; }
  OpEmitter& ops() { return ops_; }
  llvm::Module& module() { return module_; }
  llvm::Function* function() { return function_; }
  llvm::Value* frame() { return function_->getArg(0); }
  llvm::Value* parameter(unsigned index) { return function_->getArg(index + 1); }
  const Program& program() const { return program_; }

  llvm::Value* size(const SizeExpr& expr);  // i64
  llvm::Value* buffer(BufferId id);         // address of element 0
  // From the next step on.
  void set_buffer(BufferId id, llvm::Value* address);
  LaneValue scalar_input(uint32_t input, DType dtype);
  llvm::Value* frame_field(unsigned index);  // a pointer of ProgramFrame
  // Says of a load or store of the buffer's elements which other memory it cannot meet.
  void tag(llvm::Instruction* access, BufferId id) {
    if (aliases_) aliases_->tag(access, id);
  }

  llvm::FunctionCallee runtime(const char* name, llvm::Type* result,
                               llvm::ArrayRef<llvm::Type*> parameters);
  void restart_if(llvm::Value* condition) { checks_.restart_if(condition); }

  // for (i = begin; i < end; i += step) body(i). The body may add blocks and use the builder.
  template <class Body>
  void counted_loop(llvm::Value* begin, llvm::Value* end, llvm::Value* step, const char* name,
                    Body body);
  // if (condition) then().
  template <class Then>
  void guarded(llvm::Value* condition, const char* name, Then then);

  // From here on sizes and buffers that steps change are read anew, at the builder's present place.
  // All code up to the next call must come after it on every path.
  void begin_step();
  // The register of a symbol that the program sets.
  llvm::AllocaInst* symbol_slot(SymbolId id);

  // Ends the function: returns the restart flag.
  void finish();

 private:
  llvm::Value* emit_atom(llvm::IRBuilder<>& b, const SizeExpr::Atom& atom);
  llvm::Value* emit_division(llvm::IRBuilder<>& b, const SizeExpr::Atom& atom);
  llvm::Value* emit_symbol(llvm::IRBuilder<>& b, SymbolId id);
  bool is_changing(const SizeExpr& expr) const;
  bool is_changing(SymbolId id) const;
  bool is_changing(BufferId id) const;
  llvm::Value* private_buffer(const Buffer& buffer);

  const Program& program_;
  llvm::Module& module_;
  llvm::Function* function_;
  llvm::IRBuilder<> entry_;  // inserts before the entry block's branch
  llvm::IRBuilder<> step_;   // inserts before the branch to the present step
  bool is_program_;
  std::optional<AliasScopes> aliases_;
  llvm::IRBuilder<> body_;
  llvm::AllocaInst* restart_slot_;
  FpChecks checks_;
  OpEmitter ops_;
  using Sizes = std::vector<std::pair<SizeExpr, llvm::Value*>>;
  Sizes sizes_, step_sizes_;
  std::unordered_map<uint32_t, llvm::Value*> buffers_, step_buffers_;
  std::unordered_map<uint32_t, llvm::AllocaInst*> symbol_slots_;
  std::unordered_map<uint32_t, LaneValue> scalars_;
  std::vector<llvm::Value*> fields_;
  std::vector<llvm::Value*> scratch_;  // to be freed at the end
};

template <class Body>
void FunctionEmitter::counted_loop(llvm::Value* begin, llvm::Value* end, llvm::Value* step,
                                   const char* name, Body body) {
  llvm::LLVMContext& context = module_.getContext();
  auto* before = body_.GetInsertBlock();
  auto* loop = llvm::BasicBlock::Create(context, name, function_);
  auto* done = llvm::BasicBlock::Create(context, std::string(name) + ".done", function_);
  body_.CreateCondBr(body_.CreateICmpSLT(begin, end), loop, done);
  body_.SetInsertPoint(loop);
  llvm::PHINode* index = body_.CreatePHI(body_.getInt64Ty(), 2, "i");
  index->addIncoming(begin, before);
  body(static_cast<llvm::Value*>(index));
  llvm::Value* next = body_.CreateNSWAdd(index, step);
  index->addIncoming(next, body_.GetInsertBlock());
  body_.CreateCondBr(body_.CreateICmpSLT(next, end), loop, done);
  done->moveAfter(body_.GetInsertBlock());
  body_.SetInsertPoint(done);
}

template <class Then>
void FunctionEmitter::guarded(llvm::Value* condition, const char* name, Then then) {
  llvm::LLVMContext& context = module_.getContext();
  auto* inside = llvm::BasicBlock::Create(context, name, function_);
  auto* after = llvm::BasicBlock::Create(context, std::string(name) + ".done", function_);
  body_.CreateCondBr(condition, inside, after);
  body_.SetInsertPoint(inside);
  then();
  body_.CreateBr(after);
  after->moveAfter(body_.GetInsertBlock());
  body_.SetInsertPoint(after);
}

}  // namespace numlift::codegen::cpu
