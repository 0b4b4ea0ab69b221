#include "lanes.h"

#include "numlift/support/check.h"

namespace numlift::codegen::cpu {

llvm::Type* register_type(llvm::LLVMContext& context, DType dtype) {
  switch (dtype) {
    case DType::kBool:
      return llvm::Type::getInt1Ty(context);
    case DType::kInt8:
    case DType::kUInt8:
      return llvm::Type::getInt8Ty(context);
    case DType::kInt16:
    case DType::kUInt16:
      return llvm::Type::getInt16Ty(context);
    case DType::kInt32:
    case DType::kUInt32:
      return llvm::Type::getInt32Ty(context);
    case DType::kInt64:
    case DType::kUInt64:
      return llvm::Type::getInt64Ty(context);
    case DType::kFloat16:
    case DType::kFloat32:
    case DType::kComplex64:
      return llvm::Type::getFloatTy(context);
    case DType::kFloat64:
    case DType::kComplex128:
      return llvm::Type::getDoubleTy(context);
  }
  NUMLIFT_UNREACHABLE();
}

llvm::Type* memory_type(llvm::LLVMContext& context, DType dtype) {
  if (dtype == DType::kBool) return llvm::Type::getInt8Ty(context);
  if (dtype == DType::kFloat16) return llvm::Type::getHalfTy(context);
  return register_type(context, dtype);
}

llvm::Value* spread(llvm::IRBuilder<>& builder, llvm::Value* value, unsigned lanes) {
  const unsigned have = lane_count(value->getType());
  if (have == lanes) return value;
  NUMLIFT_CHECK(have == 1, "{} lanes where {} are needed", have, lanes);
  return builder.CreateVectorSplat(lanes, value);
}

LaneValue spread(llvm::IRBuilder<>& builder, LaneValue value, unsigned lanes) {
  return {spread(builder, value.re, lanes), value.im ? spread(builder, value.im, lanes) : nullptr};
}

llvm::Value* any_lane(llvm::IRBuilder<>& builder, llvm::Value* mask) {
  const unsigned lanes = lane_count(mask->getType());
  if (lanes == 1) return mask;
  llvm::Value* bits = builder.CreateBitCast(mask, builder.getIntNTy(lanes));
  return builder.CreateICmpNE(bits, llvm::ConstantInt::get(bits->getType(), 0));
}

llvm::Value* to_memory(llvm::IRBuilder<>& builder, llvm::Value* value, DType dtype) {
  llvm::Type* type =
      with_lanes(memory_type(builder.getContext(), dtype), lane_count(value->getType()));
  if (dtype == DType::kBool) return builder.CreateZExt(value, type);
  if (dtype == DType::kFloat16) return builder.CreateFPTrunc(value, type);
  return value;
}

llvm::Value* from_memory(llvm::IRBuilder<>& builder, llvm::Value* value, DType dtype) {
  if (dtype == DType::kBool)
    return builder.CreateICmpNE(value, llvm::Constant::getNullValue(value->getType()));
  if (dtype == DType::kFloat16)
    return builder.CreateFPExt(value,
                               with_lanes(builder.getFloatTy(), lane_count(value->getType())));
  return value;
}

llvm::AllocaInst* entry_alloca(llvm::IRBuilder<>& builder, llvm::Type* type, uint64_t count) {
  llvm::BasicBlock& entry = builder.GetInsertBlock()->getParent()->getEntryBlock();
  llvm::IRBuilder<> at_entry(&entry, entry.begin());
  return at_entry.CreateAlloca(type, count == 1 ? nullptr : builder.getInt64(count));
}

}  // namespace numlift::codegen::cpu
