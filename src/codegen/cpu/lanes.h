// How values of a nest are held in LLVM registers: a scalar, or a vector with one lane an
// iteration.
#pragma once

#include <llvm/IR/IRBuilder.h>

#include "numlift/graph/type.h"

namespace numlift::codegen::cpu {

// A value of any dtype: bool is i1, float16 is a float that holds a float16 exactly, complex
// numbers are a pair. Uniform values (the same in all lanes) stay scalars until a vector meets
// them.
struct LaneValue {
  llvm::Value* re = nullptr;
  llvm::Value* im = nullptr;  // complex only
};

// Type of a component in registers and in memory.
llvm::Type* register_type(llvm::LLVMContext& context, DType dtype);
llvm::Type* memory_type(llvm::LLVMContext& context, DType dtype);

inline llvm::Type* with_lanes(llvm::Type* element, unsigned lanes) {
  return lanes == 1 ? element : llvm::FixedVectorType::get(element, lanes);
}
inline unsigned lane_count(const llvm::Type* type) {
  const auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(type);
  return vector ? vector->getNumElements() : 1;
}
inline unsigned lane_count(const LaneValue& value) { return lane_count(value.re->getType()); }

// The value in `lanes` lanes: a scalar is spread, a vector must have that many already.
llvm::Value* spread(llvm::IRBuilder<>& builder, llvm::Value* value, unsigned lanes);
LaneValue spread(llvm::IRBuilder<>& builder, LaneValue value, unsigned lanes);

// i1: whether any lane of the mask (i1 or vector of i1) is set.
llvm::Value* any_lane(llvm::IRBuilder<>& builder, llvm::Value* mask);

// Register form to memory form of one component and back.
llvm::Value* to_memory(llvm::IRBuilder<>& builder, llvm::Value* value, DType dtype);
llvm::Value* from_memory(llvm::IRBuilder<>& builder, llvm::Value* value, DType dtype);

// A stack slot in the function's entry block.
llvm::AllocaInst* entry_alloca(llvm::IRBuilder<>& builder, llvm::Type* type, uint64_t count = 1);

}  // namespace numlift::codegen::cpu
