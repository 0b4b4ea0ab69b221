#include "fp_checks.h"

#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/MDBuilder.h>

#include <algorithm>

#include "numlift/support/check.h"

namespace numlift::codegen::cpu {

llvm::Value* is_nan(llvm::IRBuilder<>& builder, llvm::Value* value) {
  return builder.CreateFCmpUNO(value, value);
}

llvm::Value* is_infinite(llvm::IRBuilder<>& builder, llvm::Value* value) {
  llvm::Value* magnitude = builder.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, value);
  return builder.CreateFCmpOEQ(magnitude, llvm::ConstantFP::getInfinity(value->getType()));
}

llvm::Value* is_finite(llvm::IRBuilder<>& builder, llvm::Value* value) {
  llvm::Value* magnitude = builder.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, value);
  return builder.CreateFCmpOLT(magnitude, llvm::ConstantFP::getInfinity(value->getType()));
}

namespace {

template <class Test>
llvm::Value* any_part(llvm::IRBuilder<>& builder, const LaneValue& value, Test test) {
  llvm::Value* mask = test(builder, value.re);
  return value.im ? builder.CreateOr(mask, test(builder, value.im)) : mask;
}

// Masks of differing lane counts, combined: a scalar counts for all lanes.
llvm::Value* either(llvm::IRBuilder<>& builder, llvm::Value* a, llvm::Value* b) {
  if (!a) return b;
  const unsigned lanes = std::max(lane_count(a->getType()), lane_count(b->getType()));
  return builder.CreateOr(spread(builder, a, lanes), spread(builder, b, lanes));
}

enum class InfinityMeans { kOverflow, kDivide, kEither };

InfinityMeans infinity_means(Op op) {
  switch (op) {
    case Op::kLog:
    case Op::kLog2:
    case Op::kLog10:
    case Op::kLog1p:
    case Op::kArctanh:
      return InfinityMeans::kDivide;
    case Op::kDivide:
    case Op::kFloorDivide:
    case Op::kReciprocal:
    case Op::kPower:
      return InfinityMeans::kEither;
    default:
      return InfinityMeans::kOverflow;
  }
}

// Whether a NaN or infinity in operand `position` always makes the result NaN or infinite.
bool passes_on(Op op, DType dtype, size_t position) {
  switch (op) {
    case Op::kAdd:
    case Op::kSubtract:
    case Op::kMultiply:
    case Op::kSquare:
    case Op::kNegative:
    case Op::kPositive:
    case Op::kConjugate:
    case Op::kAbsolute:
      return true;
    case Op::kDivide:
      return position == 0;
    case Op::kSqrt:
    case Op::kSin:
    case Op::kCos:
    case Op::kTan:
    case Op::kDeg2rad:
    case Op::kRad2deg:
    case Op::kFloor:
    case Op::kCeil:
    case Op::kTrunc:
    case Op::kRint:
      return !is_complex(dtype);
    default:
      return false;
  }
}

}  // namespace

std::vector<bool> find_sentinels(const LoopNest& nest) {
  // carries: the value or one whose NaNs and infinities reach it has conditions to detect.
  std::vector<bool> carries(nest.values.size(), false), covered(nest.values.size(), false);
  std::vector<const void*> body_of(nest.values.size(), nullptr);
  const auto visit = [&](const std::vector<Item>& items) {
    for (const Item& item : items) {
      if (item.kind != Item::Kind::kValue) continue;
      const Value& value = nest.values[item.index];
      body_of[item.index] = &items;
      if (value.kind != Value::Kind::kOp || !(is_float(value.dtype) || is_complex(value.dtype)))
        continue;
      if (value.fp_checks != 0) carries[item.index] = true;
      for (size_t i = 0; i < value.operands.size(); ++i) {
        const auto operand = static_cast<uint32_t>(value.operands[i]);
        const DType dtype = nest.values[operand].dtype;
        const bool to_float = value.op == Op::kCast && is_float(value.dtype) && is_float(dtype);
        if (body_of[operand] != &items || !(to_float || passes_on(value.op, dtype, i))) continue;
        if (!carries[operand]) continue;
        carries[item.index] = true;
        covered[operand] = true;
      }
    }
  };
  visit(nest.root);
  for (const Loop& loop : nest.loops) visit(loop.body);
  std::vector<bool> sentinel(nest.values.size());
  for (size_t i = 0; i < sentinel.size(); ++i) sentinel[i] = carries[i] && !covered[i];
  return sentinel;
}

void FpChecks::must_restart(llvm::Value* mask) { must_.push_back(mask); }

void FpChecks::watch(Op op, uint8_t fp_checks, const LaneValue& result,
                     std::span<const LaneValue> operands, std::span<const DType> operand_dtypes,
                     bool is_sentinel) {
  if (is_sentinel) {
    tested_.push_back(result.re);
    if (result.im) tested_.push_back(result.im);
  }
  if (fp_checks == 0) return;
  Watched watched{op, fp_checks, result, {}, {}};
  for (size_t i = 0; i < operands.size(); ++i)
    if (is_float(operand_dtypes[i]) || is_complex(operand_dtypes[i]))
      watched.operands.push_back(operands[i]);
  if (op == Op::kDivide || op == Op::kFloorDivide) watched.divisor = operands[1];
  if (op == Op::kReciprocal || op == Op::kPower) watched.divisor = operands[0];
  watched_.push_back(std::move(watched));
}

void FpChecks::note_operand(const SeenSlots& seen, const LaneValue& operand) {
  tested_.push_back(operand.re);
  if (operand.im) tested_.push_back(operand.im);
  noted_.push_back({seen, operand});
}

llvm::Value* FpChecks::suspicious(const Watched& watched) {
  llvm::Value* operand_nan = builder_.getFalse();
  llvm::Value* operand_infinite = builder_.getFalse();
  for (const LaneValue& operand : watched.operands) {
    operand_nan = either(builder_, operand_nan, any_part(builder_, operand, is_nan));
    operand_infinite = either(builder_, operand_infinite, any_part(builder_, operand, is_infinite));
  }
  const unsigned lanes = lane_count(watched.result);
  operand_nan = spread(builder_, operand_nan, lanes);
  operand_infinite = spread(builder_, operand_infinite, lanes);

  llvm::Value* bad = nullptr;
  if (watched.fp_checks & kFpInvalid) {
    // In complex arithmetic infinity times zero may hide behind a NaN of the other part.
    llvm::Value* excused = operand_nan;
    if (watched.result.im)
      excused = builder_.CreateAnd(excused, builder_.CreateNot(operand_infinite));
    bad = builder_.CreateAnd(any_part(builder_, watched.result, is_nan), builder_.CreateNot(excused));
  }
  const bool divide = (watched.fp_checks & kFpDivide) != 0;
  const bool over = (watched.fp_checks & kFpOver) != 0;
  if (divide || over) {
    llvm::Value* made = builder_.CreateAnd(
        any_part(builder_, watched.result, is_infinite),
        builder_.CreateNot(builder_.CreateOr(operand_nan, operand_infinite)));
    switch (infinity_means(watched.op)) {
      case InfinityMeans::kOverflow:
        if (!over) made = nullptr;
        break;
      case InfinityMeans::kDivide:
        if (!divide) made = nullptr;
        break;
      case InfinityMeans::kEither:
        if (divide != over) {
          llvm::Value* by_zero = nullptr;
          for (llvm::Value* part : {watched.divisor.re, watched.divisor.im}) {
            if (!part) continue;
            llvm::Value* zero =
                builder_.CreateFCmpOEQ(part, llvm::ConstantFP::get(part->getType(), 0.0));
            by_zero = by_zero ? builder_.CreateAnd(by_zero, zero) : zero;
          }
          by_zero = spread(builder_, by_zero, lanes);
          made = builder_.CreateAnd(made, divide ? by_zero : builder_.CreateNot(by_zero));
        }
        break;
    }
    if (made) bad = either(builder_, bad, made);
  }
  return bad;
}

void FpChecks::restart_if(llvm::Value* condition) {
  llvm::Value* old = builder_.CreateLoad(builder_.getInt32Ty(), restart_slot_);
  builder_.CreateStore(
      builder_.CreateOr(old, builder_.CreateZExt(condition, builder_.getInt32Ty())), restart_slot_);
}

void FpChecks::flush() {
  llvm::Value* any = nullptr;
  for (llvm::Value* mask : must_) any = either(builder_, any, mask);
  for (llvm::Value* component : tested_)
    any = either(builder_, any, builder_.CreateNot(is_finite(builder_, component)));
  if (any) {
    llvm::Function* function = builder_.GetInsertBlock()->getParent();
    llvm::LLVMContext& context = builder_.getContext();
    auto* cold = llvm::BasicBlock::Create(context, "odd", function);
    auto* next = llvm::BasicBlock::Create(context, "next", function);
    builder_.CreateCondBr(any_lane(builder_, any), cold, next,
                          llvm::MDBuilder(context).createBranchWeights(1, 1000));
    builder_.SetInsertPoint(cold);
    llvm::Value* bad = nullptr;
    for (llvm::Value* mask : must_) bad = either(builder_, bad, mask);
    for (const Watched& watched : watched_)
      if (llvm::Value* mask = suspicious(watched)) bad = either(builder_, bad, mask);
    if (bad) restart_if(any_lane(builder_, bad));
    for (const Noted& noted : noted_) {
      const std::pair<llvm::AllocaInst*, llvm::Value*> seen[] = {
          {noted.seen.nan, any_part(builder_, noted.operand, is_nan)},
          {noted.seen.infinite, any_part(builder_, noted.operand, is_infinite)}};
      for (const auto& [slot, mask] : seen) {
        llvm::Type* type = slot->getAllocatedType();
        llvm::Value* now = lane_count(type) == 1 ? any_lane(builder_, mask) : mask;
        now = spread(builder_, builder_.CreateZExt(now, with_lanes(builder_.getInt8Ty(),
                                                                   lane_count(now->getType()))),
                     lane_count(type));
        builder_.CreateStore(builder_.CreateOr(builder_.CreateLoad(type, slot), now), slot);
      }
    }
    builder_.CreateBr(next);
    builder_.SetInsertPoint(next);
  }
  must_.clear();
  tested_.clear();
  watched_.clear();
  noted_.clear();
}

void FpChecks::check_reduction(const SeenSlots& seen, uint8_t fp_checks, const LaneValue& result) {
  const auto load = [&](llvm::AllocaInst* slot) {
    llvm::Value* value = builder_.CreateLoad(slot->getAllocatedType(), slot);
    return builder_.CreateICmpNE(value, llvm::Constant::getNullValue(value->getType()));
  };
  const unsigned lanes = lane_count(result);
  llvm::Value* seen_nan = spread(builder_, load(seen.nan), lanes);
  llvm::Value* seen_infinite = spread(builder_, load(seen.infinite), lanes);
  llvm::Value* bad = nullptr;
  // With both a NaN and an infinity among the operands, infinity minus infinity cannot be excluded.
  if (fp_checks & kFpInvalid)
    bad = builder_.CreateAnd(
        any_part(builder_, result, is_nan),
        builder_.CreateOr(builder_.CreateNot(seen_nan), seen_infinite));
  if (fp_checks & kFpOver)
    bad = either(builder_, bad,
                 builder_.CreateAnd(any_part(builder_, result, is_infinite),
                                    builder_.CreateNot(seen_infinite)));
  if (bad) restart_if(any_lane(builder_, bad));
}

}  // namespace numlift::codegen::cpu
