#include "dtype_rules.h"

#include <fmt/format.h>

#include "numlift/support/check.h"

namespace numlift {
namespace {

enum KindSet : unsigned {
  kNoKind = 0,
  kBoolKind = 1,
  kIntKinds = 2,
  kFloatKind = 4,
  kComplexKind = 8,
  kAll = 15,
};

unsigned kind_bit(DType dtype) {
  switch (kind_of(dtype)) {
    case DTypeKind::kBool:
      return kBoolKind;
    case DTypeKind::kSigned:
    case DTypeKind::kUnsigned:
      return kIntKinds;
    case DTypeKind::kFloat:
      return kFloatKind;
    case DTypeKind::kComplex:
      return kComplexKind;
  }
  NUMLIFT_UNREACHABLE();
}

// The kinds that NumPy has loops of one dtype for.
unsigned accepted_kinds(Op op) {
  switch (op) {
    case Op::kAdd:
    case Op::kMultiply:
    case Op::kAbsolute:
    case Op::kEqual:
    case Op::kNotEqual:
    case Op::kLess:
    case Op::kLessEqual:
    case Op::kGreater:
    case Op::kGreaterEqual:
    case Op::kLogicalAnd:
    case Op::kLogicalOr:
    case Op::kLogicalXor:
    case Op::kLogicalNot:
    case Op::kMaximum:
    case Op::kMinimum:
    case Op::kFmax:
    case Op::kFmin:
    case Op::kIsnan:
    case Op::kIsinf:
    case Op::kIsfinite:
    case Op::kReduceSum:
    case Op::kReduceProd:
    case Op::kReduceMin:
    case Op::kReduceMax:
    case Op::kReduceAll:
    case Op::kReduceAny:
    case Op::kReduceArgmin:
    case Op::kReduceArgmax:
      return kAll;
    case Op::kFloorDivide:
    case Op::kRemainder:
    case Op::kFmod:
      return kIntKinds | kFloatKind;
    case Op::kSubtract:
    case Op::kPower:
    case Op::kNegative:
    case Op::kPositive:
    case Op::kSign:
    case Op::kSquare:
    case Op::kReciprocal:
    case Op::kConjugate:
      return kIntKinds | kFloatKind | kComplexKind;
    case Op::kDivide:
    case Op::kSqrt:
    case Op::kExp:
    case Op::kExp2:
    case Op::kExpm1:
    case Op::kLog:
    case Op::kLog2:
    case Op::kLog10:
    case Op::kLog1p:
    case Op::kSin:
    case Op::kCos:
    case Op::kTan:
    case Op::kArcsin:
    case Op::kArccos:
    case Op::kArctan:
    case Op::kSinh:
    case Op::kCosh:
    case Op::kTanh:
    case Op::kArcsinh:
    case Op::kArccosh:
    case Op::kArctanh:
    case Op::kRint:
      return kFloatKind | kComplexKind;
    case Op::kCbrt:
    case Op::kArctan2:
    case Op::kHypot:
    case Op::kDeg2rad:
    case Op::kRad2deg:
    case Op::kSignbit:
    case Op::kCopysign:
      return kFloatKind;
    case Op::kBitwiseAnd:
    case Op::kBitwiseOr:
    case Op::kBitwiseXor:
    case Op::kInvert:
      return kBoolKind | kIntKinds;
    case Op::kLeftShift:
    case Op::kRightShift:
    case Op::kBitwiseCount:
      return kIntKinds;
    case Op::kFloor:
    case Op::kCeil:
    case Op::kTrunc:
      return kBoolKind | kIntKinds | kFloatKind;
    case Op::kReal:
    case Op::kImag:
      return kComplexKind;
    case Op::kMakeComplex:
    case Op::kSelect:
    case Op::kCast:
    case Op::kNumpyLoop:
    case Op::kGather:
    case Op::kGufunc:
    case Op::kPlaceholder:
    case Op::kConstant:
    case Op::kSizeValue:
    case Op::kIota:
    case Op::kEmpty:
    case Op::kView:
    case Op::kReshape:
    case Op::kPartView:
    case Op::kCopy:
    case Op::kStore:
    case Op::kMerge:
    case Op::kLoop:
    case Op::kIf:
    case Op::kElse:
    case Op::kBlock:
    case Op::kEnd:
    case Op::kBreak:
    case Op::kContinue:
    case Op::kAssign:
    case Op::kCheck:
    case Op::kExtern:
    case Op::kExternItem:
      return kNoKind;
  }
  NUMLIFT_UNREACHABLE();
}

}  // namespace

bool op_accepts(Op op, DType loop_dtype) {
  return (accepted_kinds(op) & kind_bit(loop_dtype)) != 0;
}

std::optional<DType> result_dtype(Op op, std::span<const DType> operands) {
  switch (op_info(op).result) {
    case ResultRule::kSame:
      return operands[0];
    case ResultRule::kBool:
      return DType::kBool;
    case ResultRule::kReal:
      return real_part(operands[0]);
    case ResultRule::kOwn:
      break;
  }
  if (op == Op::kBitwiseCount) return DType::kUInt8;
  if (op == Op::kSelect) return operands[1];
  if (op == Op::kReduceArgmin || op == Op::kReduceArgmax) return DType::kInt64;
  if (op == Op::kMakeComplex) {
    return operands[0] == DType::kFloat32 ? DType::kComplex64 : DType::kComplex128;
  }
  return std::nullopt;
}

std::string check_operand_dtypes(Op op, std::span<const DType> operands) {
  if (op == Op::kCast || op == Op::kNumpyLoop) return "";
  if (op == Op::kSelect) {
    if (operands[0] != DType::kBool) return "the condition is not bool";
    return operands[1] == operands[2] ? "" : "the two values differ in dtype";
  }
  if (op == Op::kMakeComplex) {
    const bool fits = operands[0] == operands[1] &&
                      (operands[0] == DType::kFloat32 || operands[0] == DType::kFloat64);
    return fits ? "" : "the parts are not both float32 or both float64";
  }
  for (DType dtype : operands) {
    if (dtype != operands[0]) {
      return fmt::format("operands of {} and {}: casts are explicit", dtype_text(operands[0]),
                         dtype_text(dtype));
    }
  }
  return op_accepts(op, operands[0]) ? "" : fmt::format("no loop for {}", dtype_text(operands[0]));
}

bool wraps_silently_on_arrays(Op op) {
  return op == Op::kAdd || op == Op::kSubtract || op == Op::kMultiply || op == Op::kNegative ||
         op == Op::kAbsolute;
}

namespace {

uint8_t possible_on_integers(Op op, const Type& result) {
  if (wraps_silently_on_arrays(op)) {
    // NumPy's scalars warn, Python's ints do not wrap.
    const bool scalar =
        result.value_kind == ValueKind::kNumpyScalar || result.value_kind == ValueKind::kPyScalar;
    return scalar && is_integer(result.dtype) ? kFpOver : kFpNone;
  }
  if (op == Op::kFloorDivide) return kFpDivide | kFpOver;
  if (op == Op::kRemainder || op == Op::kFmod || op == Op::kReciprocal) return kFpDivide;
  if (op == Op::kPower) return kFpInvalid;
  // 70000 does not fit float16.
  if (op == Op::kCast) return result.dtype == DType::kFloat16 ? kFpOver : kFpNone;
  return kFpNone;
}

}  // namespace

uint8_t possible_conditions(Op op, DType loop_dtype, const Type& result) {
  if (op == Op::kNumpyLoop) return kFpAll;
  if (!is_float(loop_dtype) && !is_complex(loop_dtype)) return possible_on_integers(op, result);
  if (op_info(op).fp == FpRule::kNone) return kFpNone;
  if (op != Op::kCast) return kFpAll;
  if (is_integer(result.dtype)) return kFpInvalid;
  const bool narrower = result.dtype != DType::kBool &&
                        item_size(real_part(result.dtype)) < item_size(real_part(loop_dtype));
  return narrower ? kFpOver : kFpNone;
}

}  // namespace numlift
