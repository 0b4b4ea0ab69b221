// Casts between all dtypes, as NumPy's astype makes them on x86.
#include <llvm/IR/Intrinsics.h>

#include <cmath>

#include "lower_ops.h"
#include "numlift/support/check.h"

namespace numlift::codegen::cpu {

namespace {

unsigned bits_of(DType dtype) { return static_cast<unsigned>(item_size(dtype)) * 8; }

// double to float so that a second rounding to float16 cannot go wrong: towards zero, with the last
// bit set when anything was lost ("round to odd").
llvm::Value* narrow_for_half(llvm::IRBuilder<>& b, llvm::Value* value) {
  const unsigned lanes = lane_count(value->getType());
  llvm::Type* single = with_lanes(b.getFloatTy(), lanes);
  llvm::Type* bits = with_lanes(b.getInt32Ty(), lanes);
  llvm::Value* rounded = b.CreateFPTrunc(value, single);
  llvm::Value* back = b.CreateFPExt(rounded, value->getType());
  llvm::Value* lost = b.CreateFCmpONE(back, value);
  llvm::Value* too_large = b.CreateFCmpOGT(b.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, back),
                                           b.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, value));
  llvm::Value* raw = b.CreateBitCast(rounded, bits);
  raw = b.CreateAdd(raw, b.CreateSExt(too_large, bits));
  raw = b.CreateOr(raw, b.CreateZExt(lost, bits));
  return b.CreateBitCast(raw, single);
}

}  // namespace

// Out of range restarts: CPython's run gives the machine's value and the warning. 8 and 16 bit
// targets go through 32 bits and uint32 through 64, where NumPy wraps without a word.
llvm::Value* OpEmitter::float_to_integer(llvm::Value* value, DType to) {
  const bool is_signed = kind_of(to) == DTypeKind::kSigned;
  const unsigned bits = bits_of(to);
  const unsigned lanes = lane_count(value->getType());
  const unsigned through = bits < 32 ? 32 : ((bits == 32 && !is_signed) ? 64 : bits);
  const bool through_signed = is_signed || bits < 64;
  const double limit = std::ldexp(1.0, static_cast<int>(through) - (through_signed ? 1 : 0));
  llvm::Value* below = b_.CreateFCmpOLT(value, number(value, limit));
  llvm::Value* above;
  if (!through_signed)
    above = b_.CreateFCmpOGT(value, number(value, -1.0));
  else if (through == 32 && value->getType()->getScalarType()->isDoubleTy())
    above = b_.CreateFCmpOGT(value, number(value, -limit - 1.0));
  else
    above = b_.CreateFCmpOGE(value, number(value, -limit));
  llvm::Value* valid = b_.CreateAnd(below, above);
  checks_.must_restart(b_.CreateNot(valid));
  value = b_.CreateSelect(valid, value, number(value, 0.0));
  llvm::Type* wide = with_lanes(b_.getIntNTy(through), lanes);
  llvm::Value* result =
      through_signed ? b_.CreateFPToSI(value, wide) : b_.CreateFPToUI(value, wide);
  return b_.CreateTrunc(result, with_lanes(b_.getIntNTy(bits), lanes));
}

LaneValue OpEmitter::emit_cast(DType from, DType to, LaneValue value) {
  if (from == to) return value;
  if (to == DType::kBool) return {is_true(from, value)};
  const unsigned lanes = lane_count(value);
  if (is_complex(to)) {
    LaneValue result = is_complex(from) ? value : emit_cast(from, real_part(to), value);
    if (!is_complex(from)) result.im = llvm::Constant::getNullValue(result.re->getType());
    if (is_complex(from)) {
      llvm::Type* part = with_lanes(register_type(b_.getContext(), to), lanes);
      result = {b_.CreateFPCast(value.re, part), b_.CreateFPCast(value.im, part)};
    }
    return result;
  }
  if (is_complex(from)) return emit_cast(real_part(from), to, {value.re});

  llvm::Type* type = with_lanes(register_type(b_.getContext(), to), lanes);
  if (is_float(from)) {
    if (is_integer(to)) return {float_to_integer(value.re, to)};
    if (to != DType::kFloat16) return {b_.CreateFPCast(value.re, type)};
    llvm::Value* single = from == DType::kFloat64 ? narrow_for_half(b_, value.re) : value.re;
    return {round_to_half(single)};
  }
  const bool from_signed = kind_of(from) == DTypeKind::kSigned;
  if (is_integer(to)) return {b_.CreateIntCast(value.re, type, from_signed)};
  llvm::Value* result =
      from_signed ? b_.CreateSIToFP(value.re, type) : b_.CreateUIToFP(value.re, type);
  return {to == DType::kFloat16 ? round_to_half(result) : result};
}

}  // namespace numlift::codegen::cpu
