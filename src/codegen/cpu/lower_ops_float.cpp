// float16, float32 and float64. float16 is computed in float32 and rounded after each op, which
// gives the correctly rounded float16 result for + - * / and sqrt, as in NumPy.
#include <llvm/IR/Intrinsics.h>

#include <numbers>

#include "lower_ops.h"
#include "numlift/support/check.h"
#include "vector_math.h"

namespace numlift::codegen::cpu {

llvm::Value* OpEmitter::round_to_half(llvm::Value* value) {
  llvm::Type* half = with_lanes(b_.getHalfTy(), lane_count(value->getType()));
  return b_.CreateFPExt(b_.CreateFPTrunc(value, half), value->getType());
}

llvm::Value* OpEmitter::emit_float(Op op, DType dtype, Operands x) {
  llvm::Value* a = x[0].re;
  llvm::Value* b = x.size() > 1 ? x[1].re : nullptr;
  const bool half = dtype == DType::kFloat16;
  const auto rounded = [&](llvm::Value* value) { return half ? round_to_half(value) : value; };
  const auto unary = [&](llvm::Intrinsic::ID id) { return b_.CreateUnaryIntrinsic(id, a); };
  const bool single = a->getType()->getScalarType()->isFloatTy();
  switch (op) {
    case Op::kAdd:
      return rounded(b_.CreateFAdd(a, b));
    case Op::kSubtract:
      return rounded(b_.CreateFSub(a, b));
    case Op::kMultiply:
      return rounded(b_.CreateFMul(a, b));
    case Op::kDivide:
      return rounded(b_.CreateFDiv(a, b));
    case Op::kSquare:
      return rounded(b_.CreateFMul(a, a));
    case Op::kReciprocal:
      return rounded(b_.CreateFDiv(number(a, 1.0), a));
    case Op::kDeg2rad:
      // NumPy divides pi by 180 in the loop's own precision.
      return rounded(b_.CreateFMul(
          a, number(a, single ? std::numbers::pi_v<float> / 180.0f : std::numbers::pi / 180.0)));
    case Op::kRad2deg:
      return rounded(b_.CreateFMul(
          a, number(a, single ? 180.0f / std::numbers::pi_v<float> : 180.0 / std::numbers::pi)));
    case Op::kSqrt:
      return rounded(unary(llvm::Intrinsic::sqrt));
    case Op::kNegative:
      return b_.CreateFNeg(a);
    case Op::kPositive:
    case Op::kConjugate:
      return a;
    case Op::kAbsolute:
      return unary(llvm::Intrinsic::fabs);
    case Op::kFloor:
      return unary(llvm::Intrinsic::floor);
    case Op::kCeil:
      return unary(llvm::Intrinsic::ceil);
    case Op::kTrunc:
      return unary(llvm::Intrinsic::trunc);
    case Op::kRint:
      return unary(llvm::Intrinsic::nearbyint);
    case Op::kCopysign:
      return b_.CreateBinaryIntrinsic(llvm::Intrinsic::copysign, a, b);
    case Op::kSign: {
      llvm::Value* zero = number(a, 0.0);
      llvm::Value* result = b_.CreateSelect(b_.CreateFCmpOEQ(a, zero), zero, a);  // -0 gives 0
      result = b_.CreateSelect(b_.CreateFCmpOGT(a, zero), number(a, 1.0), result);
      return b_.CreateSelect(b_.CreateFCmpOLT(a, zero), number(a, -1.0), result);
    }
    // Of two equal zeros NumPy's vector loops return the second, its float16 loop the first.
    case Op::kMaximum:
    case Op::kMinimum: {
      llvm::Value* first = op == Op::kMaximum
                               ? (half ? b_.CreateFCmpOGE(a, b) : b_.CreateFCmpOGT(a, b))
                               : (half ? b_.CreateFCmpOLE(a, b) : b_.CreateFCmpOLT(a, b));
      return b_.CreateSelect(b_.CreateOr(first, is_nan(b_, a)), a, b);
    }
    case Op::kFmax:
    case Op::kFmin: {
      llvm::Value* first = op == Op::kFmax
                               ? (half ? b_.CreateFCmpOGE(a, b) : b_.CreateFCmpOGT(a, b))
                               : (half ? b_.CreateFCmpOLE(a, b) : b_.CreateFCmpOLT(a, b));
      return b_.CreateSelect(b_.CreateOr(first, is_nan(b_, b)), a, b);
    }
    case Op::kFloorDivide:
    case Op::kRemainder:
      return rounded(emit_float_division(op, a, b));
    default: {
      llvm::Value* operands[] = {a, b};
      return rounded(emit_math_call(b_, math_function_name(op), {operands, x.size()}));
    }
  }
}

// Python's // and %: the rest has the divisor's sign, the quotient is the rounded exact one.
llvm::Value* OpEmitter::emit_float_division(Op op, llvm::Value* a, llvm::Value* b) {
  llvm::Value* operands[] = {a, b};
  llvm::Value* rest = emit_libm_call(b_, "fmod", operands);
  llvm::Value* zero = number(a, 0.0);
  llvm::Value* by_zero = b_.CreateFCmpOEQ(b, zero);
  llvm::Value* has_rest = b_.CreateFCmpUNE(rest, zero);
  llvm::Value* adjust =
      b_.CreateAnd(has_rest, b_.CreateXor(b_.CreateFCmpOLT(b, zero), b_.CreateFCmpOLT(rest, zero)));
  if (op == Op::kRemainder) {
    llvm::Value* result = b_.CreateSelect(adjust, b_.CreateFAdd(rest, b), rest);
    llvm::Value* signed_zero = b_.CreateBinaryIntrinsic(llvm::Intrinsic::copysign, zero, b);
    return b_.CreateSelect(by_zero, rest, b_.CreateSelect(has_rest, result, signed_zero));
  }
  llvm::Value* ratio = b_.CreateFDiv(a, b);
  llvm::Value* quotient = b_.CreateFDiv(b_.CreateFSub(a, rest), b);
  quotient = b_.CreateSelect(adjust, b_.CreateFSub(quotient, number(a, 1.0)), quotient);
  llvm::Value* floor = b_.CreateUnaryIntrinsic(llvm::Intrinsic::floor, quotient);
  llvm::Value* too_low = b_.CreateFCmpOGT(b_.CreateFSub(quotient, floor), number(a, 0.5));
  floor = b_.CreateSelect(too_low, b_.CreateFAdd(floor, number(a, 1.0)), floor);
  llvm::Value* signed_zero = b_.CreateBinaryIntrinsic(llvm::Intrinsic::copysign, zero, ratio);
  llvm::Value* is_zero = b_.CreateFCmpOEQ(quotient, zero);
  return b_.CreateSelect(by_zero, ratio, b_.CreateSelect(is_zero, signed_zero, floor));
}

}  // namespace numlift::codegen::cpu
