// Ops with bool results: comparisons, logical ops, tests. All compares are ordered and quiet, as
// NumPy's are; a NaN is unequal to everything and counts as true.
#include <llvm/IR/Intrinsics.h>

#include "lower_ops.h"
#include "numlift/support/check.h"

namespace numlift::codegen::cpu {

namespace {

llvm::CmpInst::Predicate integer_predicate(Op op, bool is_signed) {
  switch (op) {
    case Op::kEqual:
      return llvm::CmpInst::ICMP_EQ;
    case Op::kNotEqual:
      return llvm::CmpInst::ICMP_NE;
    case Op::kLess:
      return is_signed ? llvm::CmpInst::ICMP_SLT : llvm::CmpInst::ICMP_ULT;
    case Op::kLessEqual:
      return is_signed ? llvm::CmpInst::ICMP_SLE : llvm::CmpInst::ICMP_ULE;
    case Op::kGreater:
      return is_signed ? llvm::CmpInst::ICMP_SGT : llvm::CmpInst::ICMP_UGT;
    default:
      return is_signed ? llvm::CmpInst::ICMP_SGE : llvm::CmpInst::ICMP_UGE;
  }
}

llvm::CmpInst::Predicate float_predicate(Op op) {
  switch (op) {
    case Op::kEqual:
      return llvm::CmpInst::FCMP_OEQ;
    case Op::kNotEqual:
      return llvm::CmpInst::FCMP_UNE;
    case Op::kLess:
      return llvm::CmpInst::FCMP_OLT;
    case Op::kLessEqual:
      return llvm::CmpInst::FCMP_OLE;
    case Op::kGreater:
      return llvm::CmpInst::FCMP_OGT;
    default:
      return llvm::CmpInst::FCMP_OGE;
  }
}

}  // namespace

llvm::Value* OpEmitter::is_true(DType dtype, LaneValue x) {
  switch (kind_of(dtype)) {
    case DTypeKind::kBool:
      return x.re;
    case DTypeKind::kSigned:
    case DTypeKind::kUnsigned:
      return b_.CreateICmpNE(x.re, integer(x.re, 0));
    case DTypeKind::kFloat:
      return b_.CreateFCmpUNE(x.re, number(x.re, 0.0));
    case DTypeKind::kComplex:
      return b_.CreateOr(b_.CreateFCmpUNE(x.re, number(x.re, 0.0)),
                         b_.CreateFCmpUNE(x.im, number(x.im, 0.0)));
  }
  NUMLIFT_UNREACHABLE();
}

llvm::Value* OpEmitter::emit_predicate(Op op, DType dtype, Operands x) {
  const DTypeKind kind = kind_of(dtype);
  const bool floating = kind == DTypeKind::kFloat || kind == DTypeKind::kComplex;
  switch (op) {
    case Op::kEqual:
    case Op::kNotEqual:
    case Op::kLess:
    case Op::kLessEqual:
    case Op::kGreater:
    case Op::kGreaterEqual: {
      if (!floating)
        return b_.CreateICmp(integer_predicate(op, kind == DTypeKind::kSigned), x[0].re, x[1].re);
      llvm::Value* result = b_.CreateFCmp(float_predicate(op), x[0].re, x[1].re);
      if (kind == DTypeKind::kFloat) return result;
      llvm::Value* im = b_.CreateFCmp(float_predicate(op), x[0].im, x[1].im);
      return op == Op::kEqual ? b_.CreateAnd(result, im) : b_.CreateOr(result, im);
    }
    case Op::kLogicalAnd:
      return b_.CreateAnd(is_true(dtype, x[0]), is_true(dtype, x[1]));
    case Op::kLogicalOr:
      return b_.CreateOr(is_true(dtype, x[0]), is_true(dtype, x[1]));
    case Op::kLogicalXor:
      return b_.CreateXor(is_true(dtype, x[0]), is_true(dtype, x[1]));
    case Op::kLogicalNot:
      return b_.CreateNot(is_true(dtype, x[0]));
    case Op::kIsnan:
    case Op::kIsinf:
    case Op::kIsfinite: {
      llvm::Type* mask = with_lanes(b_.getInt1Ty(), lane_count(x[0]));
      if (!floating) return llvm::ConstantInt::get(mask, op == Op::kIsfinite ? 1 : 0);
      const auto test = op == Op::kIsnan ? is_nan : (op == Op::kIsinf ? is_infinite : is_finite);
      llvm::Value* result = test(b_, x[0].re);
      if (kind == DTypeKind::kFloat) return result;
      llvm::Value* im = test(b_, x[0].im);
      return op == Op::kIsfinite ? b_.CreateAnd(result, im) : b_.CreateOr(result, im);
    }
    case Op::kSignbit: {
      llvm::Type* bits = b_.getIntNTy(x[0].re->getType()->getScalarSizeInBits());
      llvm::Value* value = b_.CreateBitCast(x[0].re, with_lanes(bits, lane_count(x[0])));
      return b_.CreateICmpSLT(value, integer(value, 0));
    }
    default:
      return nullptr;
  }
}

}  // namespace numlift::codegen::cpu
