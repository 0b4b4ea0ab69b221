// Integers wrap around, other than Python's and NumPy's scalars, which ask for kFpOver; bools know
// only "or" and "and".
#include <llvm/IR/Intrinsics.h>

#include "lower_ops.h"
#include "numlift/support/check.h"

namespace numlift::codegen::cpu {

llvm::Value* OpEmitter::emit_bool(Op op, Operands x) {
  switch (op) {
    case Op::kAdd:
    case Op::kMaximum:
    case Op::kFmax:
    case Op::kBitwiseOr:
      return b_.CreateOr(x[0].re, x[1].re);
    case Op::kMultiply:
    case Op::kMinimum:
    case Op::kFmin:
    case Op::kBitwiseAnd:
      return b_.CreateAnd(x[0].re, x[1].re);
    case Op::kBitwiseXor:
      return b_.CreateXor(x[0].re, x[1].re);
    case Op::kInvert:
      return b_.CreateNot(x[0].re);
    case Op::kAbsolute:
      return x[0].re;
    default:
      NUMLIFT_UNREACHABLE();
  }
}

llvm::Value* OpEmitter::emit_integer(Op op, DType dtype, uint8_t fp_checks, Operands x) {
  const bool is_signed = kind_of(dtype) == DTypeKind::kSigned;
  llvm::Value* a = x[0].re;
  llvm::Value* b = x.size() > 1 ? x[1].re : nullptr;
  if (fp_checks & kFpOver) check_overflow(op, is_signed, a, b);
  switch (op) {
    case Op::kAdd:
      return b_.CreateAdd(a, b);
    case Op::kSubtract:
      return b_.CreateSub(a, b);
    case Op::kMultiply:
      return b_.CreateMul(a, b);
    case Op::kSquare:
      return b_.CreateMul(a, a);
    case Op::kNegative:
      return b_.CreateNeg(a);
    case Op::kPositive:
    case Op::kConjugate:
    case Op::kFloor:
    case Op::kCeil:
    case Op::kTrunc:
      return a;
    case Op::kAbsolute:
      return is_signed ? b_.CreateBinaryIntrinsic(llvm::Intrinsic::abs, a, b_.getFalse()) : a;
    case Op::kSign: {
      llvm::Value* negative = b_.CreateAShr(a, integer(a, a->getType()->getScalarSizeInBits() - 1));
      llvm::Value* positive = b_.CreateZExt(b_.CreateICmpSGT(a, integer(a, 0)), a->getType());
      return b_.CreateOr(negative, positive);
    }
    case Op::kBitwiseAnd:
      return b_.CreateAnd(a, b);
    case Op::kBitwiseOr:
      return b_.CreateOr(a, b);
    case Op::kBitwiseXor:
      return b_.CreateXor(a, b);
    case Op::kInvert:
      return b_.CreateNot(a);
    case Op::kMaximum:
    case Op::kFmax:
      return b_.CreateBinaryIntrinsic(is_signed ? llvm::Intrinsic::smax : llvm::Intrinsic::umax, a,
                                      b);
    case Op::kMinimum:
    case Op::kFmin:
      return b_.CreateBinaryIntrinsic(is_signed ? llvm::Intrinsic::smin : llvm::Intrinsic::umin, a,
                                      b);
    case Op::kBitwiseCount: {
      // NumPy counts the bits of the absolute value.
      if (is_signed) a = b_.CreateBinaryIntrinsic(llvm::Intrinsic::abs, a, b_.getFalse());
      llvm::Value* count = b_.CreateUnaryIntrinsic(llvm::Intrinsic::ctpop, a);
      return b_.CreateZExtOrTrunc(count, with_lanes(b_.getInt8Ty(), lane_count(a->getType())));
    }
    case Op::kLeftShift:
    case Op::kRightShift:
      return emit_shift(op, is_signed, a, b);
    case Op::kFloorDivide:
    case Op::kRemainder:
    case Op::kFmod:
      return emit_integer_division(op, is_signed, fp_checks, a, b);
    case Op::kPower:
      return emit_integer_power(is_signed, a, b);
    default:
      NUMLIFT_UNREACHABLE();
  }
}

// The bare sum, difference or product that is computed next to this is merged with it by LLVM.
void OpEmitter::check_overflow(Op op, bool is_signed, llvm::Value* a, llvm::Value* b) {
  llvm::Intrinsic::ID intrinsic = llvm::Intrinsic::not_intrinsic;
  switch (op) {
    case Op::kAdd:
      intrinsic =
          is_signed ? llvm::Intrinsic::sadd_with_overflow : llvm::Intrinsic::uadd_with_overflow;
      break;
    case Op::kNegative:
    case Op::kSubtract:
      intrinsic =
          is_signed ? llvm::Intrinsic::ssub_with_overflow : llvm::Intrinsic::usub_with_overflow;
      break;
    case Op::kMultiply:
      intrinsic =
          is_signed ? llvm::Intrinsic::smul_with_overflow : llvm::Intrinsic::umul_with_overflow;
      break;
    case Op::kAbsolute: {
      const unsigned bits = a->getType()->getScalarSizeInBits();
      if (is_signed)
        checks_.must_restart(b_.CreateICmpEQ(
            a, llvm::ConstantInt::get(a->getType(), llvm::APInt::getSignedMinValue(bits))));
      return;
    }
    default:
      return;
  }
  if (op == Op::kNegative) {
    b = a;
    a = integer(b, 0);
  }
  checks_.must_restart(b_.CreateExtractValue(b_.CreateBinaryIntrinsic(intrinsic, a, b), 1));
}

// Distances of the width or more (negative ones among them) shift everything out.
llvm::Value* OpEmitter::emit_shift(Op op, bool is_signed, llvm::Value* a, llvm::Value* b) {
  const unsigned bits = a->getType()->getScalarSizeInBits();
  llvm::Value* in_range = b_.CreateICmpULT(b, integer(b, bits));
  if (op == Op::kRightShift && is_signed)
    return b_.CreateAShr(a, b_.CreateSelect(in_range, b, integer(b, bits - 1)));
  llvm::Value* distance = b_.CreateSelect(in_range, b, integer(b, 0));
  llvm::Value* shifted =
      op == Op::kLeftShift ? b_.CreateShl(a, distance) : b_.CreateLShr(a, distance);
  return b_.CreateSelect(in_range, shifted, integer(a, 0));
}

// Division by zero gives 0, and the least number by -1 gives itself; both restart where NumPy
// reports them.
llvm::Value* OpEmitter::emit_integer_division(Op op, bool is_signed, uint8_t fp_checks,
                                              llvm::Value* a, llvm::Value* b) {
  const unsigned bits = a->getType()->getScalarSizeInBits();
  llvm::Value* by_zero = b_.CreateICmpEQ(b, integer(b, 0));
  if (fp_checks & kFpDivide) checks_.must_restart(by_zero);
  llvm::Value* zero = integer(a, 0);
  if (!is_signed) {
    llvm::Value* divisor = b_.CreateSelect(by_zero, integer(b, 1), b);
    llvm::Value* result =
        op == Op::kFloorDivide ? b_.CreateUDiv(a, divisor) : b_.CreateURem(a, divisor);
    return b_.CreateSelect(by_zero, zero, result);
  }
  llvm::Value* least = llvm::ConstantInt::get(a->getType(), llvm::APInt::getSignedMinValue(bits));
  llvm::Value* wraps = b_.CreateAnd(
      b_.CreateICmpEQ(a, least), b_.CreateICmpEQ(b, llvm::Constant::getAllOnesValue(b->getType())));
  if (op == Op::kFloorDivide && (fp_checks & kFpOver)) checks_.must_restart(wraps);
  llvm::Value* odd = b_.CreateOr(by_zero, wraps);
  llvm::Value* divisor = b_.CreateSelect(odd, integer(b, 1), b);
  llvm::Value* quotient = b_.CreateSDiv(a, divisor);
  llvm::Value* rest = b_.CreateSub(a, b_.CreateMul(quotient, divisor));
  if (op == Op::kFmod) return b_.CreateSelect(odd, zero, rest);
  // Rounds towards minus infinity: one less when the signs differ and there is a rest.
  llvm::Value* adjust = b_.CreateAnd(b_.CreateICmpNE(rest, zero),
                                     b_.CreateICmpSLT(b_.CreateXor(rest, divisor), zero));
  if (op == Op::kRemainder) {
    llvm::Value* result = b_.CreateSelect(adjust, b_.CreateAdd(rest, divisor), rest);
    return b_.CreateSelect(odd, zero, result);
  }
  llvm::Value* result = b_.CreateAdd(quotient, b_.CreateSExt(adjust, a->getType()));
  return b_.CreateSelect(by_zero, zero, result);  // least // 1 is what least // -1 wraps to
}

// Repeated squaring. A negative exponent is a ValueError in NumPy.
llvm::Value* OpEmitter::emit_integer_power(bool is_signed, llvm::Value* base,
                                           llvm::Value* exponent) {
  llvm::Value* zero = integer(exponent, 0);
  if (is_signed) {
    llvm::Value* negative = b_.CreateICmpSLT(exponent, zero);
    checks_.must_restart(negative);
    exponent = b_.CreateSelect(negative, zero, exponent);
  }
  llvm::LLVMContext& context = b_.getContext();
  llvm::BasicBlock* before = b_.GetInsertBlock();
  llvm::Function* function = before->getParent();
  auto* loop = llvm::BasicBlock::Create(context, "power", function);
  auto* done = llvm::BasicBlock::Create(context, "power.done", function);
  b_.CreateBr(loop);
  b_.SetInsertPoint(loop);
  llvm::PHINode* result = b_.CreatePHI(base->getType(), 2);
  llvm::PHINode* square = b_.CreatePHI(base->getType(), 2);
  llvm::PHINode* left = b_.CreatePHI(exponent->getType(), 2);
  llvm::Value* odd = b_.CreateICmpNE(b_.CreateAnd(left, integer(left, 1)), zero);
  llvm::Value* next = b_.CreateSelect(odd, b_.CreateMul(result, square), result);
  llvm::Value* next_left = b_.CreateLShr(left, integer(left, 1));
  result->addIncoming(integer(base, 1), before);
  result->addIncoming(next, loop);
  square->addIncoming(base, before);
  square->addIncoming(b_.CreateMul(square, square), loop);
  left->addIncoming(exponent, before);
  left->addIncoming(next_left, loop);
  b_.CreateCondBr(any_lane(b_, b_.CreateICmpNE(next_left, zero)), loop, done);
  b_.SetInsertPoint(done);
  return next;
}

}  // namespace numlift::codegen::cpu
