// complex64 and complex128 as pairs of vectors, with the formulas of NumPy's loops: products are
// fused in its vector code (found by experiment: bit-identical), quotients are Smith's.
#include <llvm/IR/Intrinsics.h>

#include "lower_ops.h"
#include "numlift/support/check.h"
#include "target.h"
#include "vector_math.h"

namespace numlift::codegen::cpu {

llvm::Value* OpEmitter::multiply_add(llvm::Value* a, llvm::Value* b, llvm::Value* c) {
  if (!host_target().has_fma) return b_.CreateFAdd(b_.CreateFMul(a, b), c);
  return b_.CreateIntrinsic(llvm::Intrinsic::fma, {a->getType()}, {a, b, c});
}

LaneValue OpEmitter::emit_complex(Op op, Operands x) {
  const LaneValue a = x[0];
  const LaneValue b = x.size() > 1 ? x[1] : LaneValue{};
  switch (op) {
    case Op::kAdd:
      return {b_.CreateFAdd(a.re, b.re), b_.CreateFAdd(a.im, b.im)};
    case Op::kSubtract:
      return {b_.CreateFSub(a.re, b.re), b_.CreateFSub(a.im, b.im)};
    case Op::kMultiply:
      return {multiply_add(a.re, b.re, b_.CreateFNeg(b_.CreateFMul(a.im, b.im))),
              multiply_add(a.re, b.im, b_.CreateFMul(a.im, b.re))};
    case Op::kSquare:
      return {multiply_add(a.re, a.re, b_.CreateFNeg(b_.CreateFMul(a.im, a.im))),
              multiply_add(a.re, a.im, b_.CreateFMul(a.im, a.re))};
    case Op::kDivide:
      return emit_complex_divide(a, b);
    case Op::kReciprocal:
      return emit_complex_reciprocal(a);
    case Op::kPositive:
      return a;
    case Op::kNegative:
      return {b_.CreateFNeg(a.re), b_.CreateFNeg(a.im)};
    case Op::kConjugate:
      return {a.re, b_.CreateFNeg(a.im)};
    case Op::kReal:
      return {a.re};
    case Op::kImag:
      return {a.im};
    case Op::kRint:
      return {b_.CreateUnaryIntrinsic(llvm::Intrinsic::nearbyint, a.re),
              b_.CreateUnaryIntrinsic(llvm::Intrinsic::nearbyint, a.im)};
    case Op::kAbsolute:
      return {emit_complex_absolute(a)};
    default: {
      const auto [re, im] = emit_complex_call(b_, complex_function_name(op), a.re, a.im);
      return {re, im};
    }
  }
}

// Smith's algorithm: divides by the larger part first. The other formula's lanes are dropped.
LaneValue OpEmitter::emit_complex_divide(LaneValue a, LaneValue b) {
  const auto magnitude = [&](llvm::Value* v) {
    return b_.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, v);
  };
  llvm::Value* re_magnitude = magnitude(b.re);
  llvm::Value* im_magnitude = magnitude(b.im);
  llvm::Value* by_re = b_.CreateFCmpOGE(re_magnitude, im_magnitude);
  llvm::Value* large = b_.CreateSelect(by_re, b.re, b.im);
  llvm::Value* small = b_.CreateSelect(by_re, b.im, b.re);
  llvm::Value* ratio = b_.CreateFDiv(small, large);
  llvm::Value* scale =
      b_.CreateFDiv(number(ratio, 1.0), b_.CreateFAdd(large, b_.CreateFMul(small, ratio)));
  // by_re: ((ar + ai*ratio) * scale, (ai - ar*ratio) * scale)
  // else:  ((ar*ratio + ai) * scale, (ai*ratio - ar) * scale)
  llvm::Value* first = b_.CreateSelect(by_re, a.re, a.im);
  llvm::Value* second = b_.CreateSelect(by_re, a.im, a.re);
  llvm::Value* re = b_.CreateFMul(b_.CreateFAdd(first, b_.CreateFMul(second, ratio)), scale);
  llvm::Value* im_by_re = b_.CreateFSub(a.im, b_.CreateFMul(a.re, ratio));
  llvm::Value* im_by_im = b_.CreateFSub(b_.CreateFMul(a.im, ratio), a.re);
  llvm::Value* im = b_.CreateFMul(b_.CreateSelect(by_re, im_by_re, im_by_im), scale);
  // A divisor of zero divides both parts by it.
  llvm::Value* zero = number(ratio, 0.0);
  llvm::Value* is_zero =
      b_.CreateAnd(b_.CreateFCmpOEQ(re_magnitude, zero), b_.CreateFCmpOEQ(im_magnitude, zero));
  return {b_.CreateSelect(is_zero, b_.CreateFDiv(a.re, re_magnitude), re),
          b_.CreateSelect(is_zero, b_.CreateFDiv(a.im, re_magnitude), im)};
}

LaneValue OpEmitter::emit_complex_reciprocal(LaneValue a) {
  llvm::Value* by_re = b_.CreateFCmpOLE(b_.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, a.im),
                                        b_.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, a.re));
  llvm::Value* large = b_.CreateSelect(by_re, a.re, a.im);
  llvm::Value* small = b_.CreateSelect(by_re, a.im, a.re);
  llvm::Value* ratio = b_.CreateFDiv(small, large);
  llvm::Value* divisor = b_.CreateFAdd(large, b_.CreateFMul(small, ratio));
  llvm::Value* one = number(ratio, 1.0);
  llvm::Value* re = b_.CreateFDiv(b_.CreateSelect(by_re, one, ratio), divisor);
  llvm::Value* im =
      b_.CreateFDiv(b_.CreateSelect(by_re, b_.CreateFNeg(ratio), number(ratio, -1.0)), divisor);
  return {re, im};
}

// larger * sqrt(1 + (smaller / larger)^2); infinite if either part is, even beside a NaN.
llvm::Value* OpEmitter::emit_complex_absolute(LaneValue a) {
  llvm::Value* re = b_.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, a.re);
  llvm::Value* im = b_.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, a.im);
  llvm::Value* re_larger = b_.CreateFCmpOGT(re, im);
  llvm::Value* larger = b_.CreateSelect(re_larger, re, im);
  llvm::Value* smaller = b_.CreateSelect(re_larger, im, re);
  llvm::Value* zero = number(re, 0.0);
  llvm::Value* is_zero = b_.CreateFCmpOEQ(larger, zero);
  llvm::Value* ratio = b_.CreateFDiv(smaller, b_.CreateSelect(is_zero, number(re, 1.0), larger));
  llvm::Value* root =
      b_.CreateUnaryIntrinsic(llvm::Intrinsic::sqrt, multiply_add(ratio, ratio, number(re, 1.0)));
  llvm::Value* result = b_.CreateFMul(root, larger);
  llvm::Value* infinite = b_.CreateOr(is_infinite(b_, a.re), is_infinite(b_, a.im));
  return b_.CreateSelect(infinite, llvm::ConstantFP::getInfinity(re->getType()), result);
}

}  // namespace numlift::codegen::cpu
