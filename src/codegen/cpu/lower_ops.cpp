// Choice of the lowering by dtype, and which ops have one.
#include "lower_ops.h"

#include <algorithm>

#include "numlift/codegen/target.h"
#include "numlift/support/check.h"
#include "vector_math.h"

namespace numlift::codegen {

namespace {

bool supports_integer(Op op, bool is_signed) {
  switch (op) {
    case Op::kAdd:
    case Op::kSubtract:
    case Op::kMultiply:
    case Op::kFloorDivide:
    case Op::kRemainder:
    case Op::kFmod:
    case Op::kPower:
    case Op::kPositive:
    case Op::kNegative:
    case Op::kAbsolute:
    case Op::kSquare:
    case Op::kBitwiseAnd:
    case Op::kBitwiseOr:
    case Op::kBitwiseXor:
    case Op::kInvert:
    case Op::kLeftShift:
    case Op::kRightShift:
    case Op::kBitwiseCount:
    case Op::kMaximum:
    case Op::kMinimum:
    case Op::kFmax:
    case Op::kFmin:
    case Op::kFloor:
    case Op::kCeil:
    case Op::kTrunc:
    case Op::kConjugate:
      return true;
    case Op::kSign:
      return is_signed;
    default:
      return false;
  }
}

bool supports_bool(Op op) {
  switch (op) {
    case Op::kAdd:
    case Op::kMultiply:
    case Op::kAbsolute:
    case Op::kMaximum:
    case Op::kMinimum:
    case Op::kFmax:
    case Op::kFmin:
    case Op::kBitwiseAnd:
    case Op::kBitwiseOr:
    case Op::kBitwiseXor:
    case Op::kInvert:
      return true;
    default:
      return false;
  }
}

bool supports_float(Op op) {
  if (!cpu::math_function_name(op).empty()) return true;
  switch (op) {
    case Op::kAdd:
    case Op::kSubtract:
    case Op::kMultiply:
    case Op::kDivide:
    case Op::kFloorDivide:
    case Op::kRemainder:
    case Op::kPositive:
    case Op::kNegative:
    case Op::kAbsolute:
    case Op::kSign:
    case Op::kSquare:
    case Op::kReciprocal:
    case Op::kSqrt:
    case Op::kDeg2rad:
    case Op::kRad2deg:
    case Op::kMaximum:
    case Op::kMinimum:
    case Op::kFmax:
    case Op::kFmin:
    case Op::kCopysign:
    case Op::kFloor:
    case Op::kCeil:
    case Op::kTrunc:
    case Op::kRint:
    case Op::kConjugate:
    case Op::kSignbit:
    case Op::kMakeComplex:
      return true;
    default:
      return false;
  }
}

bool supports_complex(Op op) {
  if (!cpu::complex_function_name(op).empty()) return true;
  switch (op) {
    case Op::kAdd:
    case Op::kSubtract:
    case Op::kMultiply:
    case Op::kDivide:
    case Op::kPositive:
    case Op::kNegative:
    case Op::kAbsolute:
    case Op::kSquare:
    case Op::kReciprocal:
    case Op::kConjugate:
    case Op::kRint:
    case Op::kReal:
    case Op::kImag:
      return true;
    default:
      return false;
  }
}

// Tests and comparisons that take any dtype.
bool supports_any(Op op, DTypeKind kind) {
  switch (op) {
    case Op::kEqual:
    case Op::kNotEqual:
    case Op::kLogicalAnd:
    case Op::kLogicalOr:
    case Op::kLogicalXor:
    case Op::kLogicalNot:
    case Op::kIsnan:
    case Op::kIsinf:
    case Op::kIsfinite:
    case Op::kSelect:
    case Op::kCast:
      return true;
    // NumPy orders complex numbers with signalling compares.
    case Op::kLess:
    case Op::kLessEqual:
    case Op::kGreater:
    case Op::kGreaterEqual:
      return kind != DTypeKind::kComplex;
    default:
      return false;
  }
}

}  // namespace

bool native_supports(Op op, DType loop_dtype) {
  const DTypeKind kind = kind_of(loop_dtype);
  if (op_info(op).op_class == OpClass::kReduction)
    return kind != DTypeKind::kComplex || op == Op::kReduceSum || op == Op::kReduceProd ||
           op == Op::kReduceAll || op == Op::kReduceAny;
  if (op_info(op).op_class != OpClass::kElementwise) return false;
  if (supports_any(op, kind)) return true;
  switch (kind) {
    case DTypeKind::kBool:
      return supports_bool(op);
    case DTypeKind::kSigned:
      return supports_integer(op, true);
    case DTypeKind::kUnsigned:
      return supports_integer(op, false);
    case DTypeKind::kFloat:
      return supports_float(op);
    case DTypeKind::kComplex:
      return supports_complex(op);
  }
  NUMLIFT_UNREACHABLE();
}

namespace cpu {

DType result_dtype(Op op, DType loop_dtype, DType declared) {
  switch (op_info(op).result) {
    case ResultRule::kSame:
      return loop_dtype;
    case ResultRule::kBool:
      return DType::kBool;
    case ResultRule::kReal:
      return real_part(loop_dtype);
    case ResultRule::kOwn:
      return op == Op::kBitwiseCount ? DType::kUInt8 : declared;
  }
  NUMLIFT_UNREACHABLE();
}

LaneValue OpEmitter::emit(Op op, DType loop_dtype, DType declared, uint8_t fp_checks,
                          std::span<const LaneValue> operands) {
  NUMLIFT_CHECK(native_supports(op, loop_dtype), "{} on {} has no native code", op_info(op).text,
                dtype_text(loop_dtype));
  unsigned lanes = 1;
  for (const LaneValue& operand : operands) lanes = std::max(lanes, lane_count(operand));
  std::vector<LaneValue> x;
  for (const LaneValue& operand : operands) x.push_back(spread(b_, operand, lanes));

  if (op == Op::kCast) return emit_cast(loop_dtype, declared, x[0]);
  if (op == Op::kSelect) {
    LaneValue result{b_.CreateSelect(x[0].re, x[1].re, x[2].re)};
    if (x[1].im) result.im = b_.CreateSelect(x[0].re, x[1].im, x[2].im);
    return result;
  }
  if (op == Op::kMakeComplex) return {x[0].re, x[1].re};
  if (llvm::Value* result = emit_predicate(op, loop_dtype, x)) return {result};
  switch (kind_of(loop_dtype)) {
    case DTypeKind::kBool:
      return {emit_bool(op, x)};
    case DTypeKind::kSigned:
    case DTypeKind::kUnsigned:
      return {emit_integer(op, loop_dtype, fp_checks, x)};
    case DTypeKind::kFloat:
      return {emit_float(op, loop_dtype, x)};
    case DTypeKind::kComplex:
      return emit_complex(op, x);
  }
  NUMLIFT_UNREACHABLE();
}

llvm::Value* OpEmitter::number(llvm::Value* like, double value) {
  return llvm::ConstantFP::get(like->getType(), value);
}

llvm::Value* OpEmitter::integer(llvm::Value* like, uint64_t value) {
  return llvm::ConstantInt::get(like->getType(), value);
}

}  // namespace cpu
}  // namespace numlift::codegen
