#include "fp_checks.h"

#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/MDBuilder.h>
#include <llvm/IR/Module.h>

#include <algorithm>

#include "infinities.h"
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

Segments find_segments(const LoopNest& nest) {
  constexpr int kOpsPerSegment = 12;
  const size_t count = nest.values.size();
  // carries: the value or one whose NaNs and infinities reach it has conditions to detect.
  std::vector<bool> carries(count, false), covered(count, false);
  std::vector<int> segment_of(count, -1);
  Segments segments{std::vector<bool>(count, false), std::vector<bool>(count, false)};
  int segment = 0;
  const auto visit = [&](const std::vector<Item>& items) {
    int ops = 0;
    ++segment;
    for (const Item& item : items) {
      if (item.kind == Item::Kind::kLoop) {  // the emitter flushes before an inner loop
        ops = 0;
        ++segment;
      }
      if (item.kind != Item::Kind::kValue) continue;
      const Value& value = nest.values[item.index];
      segment_of[item.index] = segment;
      if (value.kind != Value::Kind::kOp) continue;
      // No integer can be made of what is not finite: the cast restarts then.
      if (value.op == Op::kCast && is_integer(value.dtype)) {
        const auto operand = static_cast<uint32_t>(value.operands[0]);
        if (is_float(nest.values[operand].dtype) && segment_of[operand] == segment)
          covered[operand] = true;
        continue;
      }
      if (!(is_float(value.dtype) || is_complex(value.dtype))) continue;
      if (value.fp_checks != 0) carries[item.index] = true;
      for (size_t i = 0; i < value.operands.size(); ++i) {
        const auto operand = static_cast<uint32_t>(value.operands[i]);
        const DType dtype = nest.values[operand].dtype;
        const bool to_float = value.op == Op::kCast && is_float(value.dtype) && is_float(dtype);
        if (segment_of[operand] != segment || !(to_float || passes_on(value.op, dtype, i)))
          continue;
        if (!carries[operand]) continue;
        carries[item.index] = true;
        covered[operand] = true;
      }
      if (value.fp_checks != 0 && ++ops == kOpsPerSegment) {
        segments.ends[item.index] = true;
        ops = 0;
        ++segment;
      }
    }
  };
  visit(nest.root);
  for (const Loop& loop : nest.loops) visit(loop.body);
  for (size_t i = 0; i < count; ++i) segments.is_sentinel[i] = carries[i] && !covered[i];
  return segments;
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
  if (infinity_means(op) == InfinityMeans::kEither) watched.divisor = operands[divisor_of(op)];
  watched_.push_back(std::move(watched));
}

void FpChecks::note_operand(const SeenSlots& seen, const LaneValue& operand) {
  tested_.push_back(operand.re);
  if (operand.im) tested_.push_back(operand.im);
  noted_.push_back({seen, operand});
}

// Writes the values of the watched operations to the slots and asks check_values() about them.
llvm::Value* FpChecks::call_check_values() {
  llvm::LLVMContext& context = builder_.getContext();
  unsigned lanes = 1;
  const auto widen = [&](const LaneValue& v) {
    if (v.re) lanes = std::max(lanes, lane_count(v));
  };
  for (const Watched& watched : watched_) {
    widen(watched.result);
    for (const LaneValue& operand : watched.operands) widen(operand);
  }
  constexpr uint32_t kSlotBytes = 64;
  WatchTable table{lanes, kSlotBytes, 0, 0, {}};
  std::vector<llvm::Value*> written;
  const auto slot_of = [&](llvm::Value* value) -> uint8_t {
    if (!value) return WatchedOp::kNoSlot;
    const auto known = std::find(written.begin(), written.end(), value);
    const auto slot = static_cast<size_t>(known - written.begin());
    if (known != written.end()) return static_cast<uint8_t>(slot);
    NUMLIFT_CHECK(slot < WatchedOp::kNoSlot, "too many values in one segment");
    written.push_back(value);
    if (value->getType()->getScalarType()->isDoubleTy())
      table.double_slots[slot / 64] |= uint64_t{1} << (slot % 64);
    return static_cast<uint8_t>(slot);
  };
  std::vector<WatchedOp> ops;
  for (const Watched& watched : watched_) {
    WatchedOp op{watched.fp_checks,
                 static_cast<uint8_t>(infinity_means(watched.op)),
                 watched.result.im != nullptr,
                 {slot_of(watched.result.re), slot_of(watched.result.im)},
                 {slot_of(watched.divisor.re), slot_of(watched.divisor.im)},
                 {WatchedOp::kNoSlot, WatchedOp::kNoSlot, WatchedOp::kNoSlot, WatchedOp::kNoSlot},
                 0};
    size_t next = 0;
    for (const LaneValue& operand : watched.operands)
      for (llvm::Value* part : {operand.re, operand.im})
        if (part) op.operands[next++] = slot_of(part);
    ops.push_back(op);
  }
  table.slot_count = static_cast<uint32_t>(written.size());
  table.op_count = static_cast<uint32_t>(ops.size());

  if (!slots_) slots_ = entry_alloca(builder_, builder_.getInt8Ty(), kSlotBytes * 256);
  for (size_t i = 0; i < written.size(); ++i)
    builder_.CreateAlignedStore(
        spread(builder_, written[i], lanes),
        builder_.CreateConstGEP1_64(builder_.getInt8Ty(), slots_, i * kSlotBytes), llvm::Align(8));
  llvm::Module* module = builder_.GetInsertBlock()->getModule();
  const auto constant = [&](const void* data, size_t size_bytes) {
    llvm::Constant* bytes = llvm::ConstantDataArray::getString(
        context, llvm::StringRef(static_cast<const char*>(data), size_bytes), /*AddNull=*/false);
    auto* global = new llvm::GlobalVariable(*module, bytes->getType(), /*isConstant=*/true,
                                            llvm::GlobalValue::PrivateLinkage, bytes, "watch");
    global->setAlignment(llvm::Align(8));
    return global;
  };
  llvm::Type* pointer = builder_.getPtrTy();
  llvm::FunctionCallee helper = module->getOrInsertFunction(
      "numlift_check_values",
      llvm::FunctionType::get(builder_.getInt32Ty(), {pointer, pointer, pointer}, false));
  auto* declared = llvm::cast<llvm::Function>(helper.getCallee());
  declared->setDoesNotThrow();
  declared->addFnAttr(llvm::Attribute::Cold);
  llvm::Value* answer =
      builder_.CreateCall(helper, {constant(&table, sizeof table),
                                   constant(ops.data(), ops.size() * sizeof(WatchedOp)), slots_});
  return builder_.CreateICmpNE(answer, builder_.getInt32(0));
}

void FpChecks::restart_if(llvm::Value* condition) {
  if (leave_ != nullptr) {
    llvm::LLVMContext& context = builder_.getContext();
    auto* next = llvm::BasicBlock::Create(context, "go.on", leave_->getParent(), leave_);
    builder_.CreateCondBr(condition, leave_, next,
                          llvm::MDBuilder(context).createBranchWeights(1, 1000));
    builder_.SetInsertPoint(next);
    return;
  }
  llvm::Value* old = builder_.CreateLoad(builder_.getInt32Ty(), restart_slot_);
  builder_.CreateStore(
      builder_.CreateOr(old, builder_.CreateZExt(condition, builder_.getInt32Ty())), restart_slot_);
}

bool FpChecks::can_sum_up() const {
  const auto is_scalar = [](llvm::Value* value) { return lane_count(value->getType()) == 1; };
  return sum_slot_ != nullptr && noted_.empty() &&
         std::all_of(tested_.begin(), tested_.end(), is_scalar) &&
         std::all_of(must_.begin(), must_.end(), is_scalar);
}

// sum += x * 0 for all x: neither branches nor keeps anything for a cold block. The sum may be
// reordered, so that loops can be vectorised. The products may not, and their zero is a secret: of
// (y * 1e200) * 0 LLVM would make y * 0.
void FpChecks::sum_up() {
  llvm::Value* bad = nullptr;
  for (llvm::Value* mask : must_) bad = either(builder_, bad, mask);
  if (bad) restart_if(bad);
  llvm::IRBuilder<>::FastMathFlagGuard guard(builder_);
  llvm::FastMathFlags product_flags, sum_flags;
  product_flags.setAllowContract();
  sum_flags.setAllowContract();
  sum_flags.setAllowReassoc();
  llvm::Value* sum = nullptr;
  for (llvm::Value* value : tested_) {
    builder_.setFastMathFlags(product_flags);
    if (!value->getType()->isDoubleTy())
      value = builder_.CreateFPExt(value, builder_.getDoubleTy());
    llvm::Value* product = builder_.CreateFMul(value, zero_);
    builder_.setFastMathFlags(sum_flags);
    sum = sum ? builder_.CreateFAdd(sum, product) : product;
  }
  if (sum)
    builder_.CreateStore(
        builder_.CreateFAdd(builder_.CreateLoad(builder_.getDoubleTy(), sum_slot_), sum),
        sum_slot_);
  must_.clear();
  tested_.clear();
  watched_.clear();
}

void FpChecks::flush() {
  if (can_sum_up()) {
    sum_up();
    return;
  }
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
    if (bad) restart_if(any_lane(builder_, bad));
    if (!watched_.empty()) restart_if(call_check_values());
    for (const Noted& noted : noted_) {
      const std::pair<llvm::Value*, llvm::Value*> seen[] = {
          {noted.seen.nan, any_part(builder_, noted.operand, is_nan)},
          {noted.seen.infinite, any_part(builder_, noted.operand, is_infinite)}};
      for (const auto& [slot, mask] : seen) {
        llvm::Type* type = noted.seen.type;
        llvm::Value* now = lane_count(type) == 1 ? any_lane(builder_, mask) : mask;
        now = spread(
            builder_,
            builder_.CreateZExt(now, with_lanes(builder_.getInt8Ty(), lane_count(now->getType()))),
            lane_count(type));
        const llvm::Align align(1);
        llvm::Value* before = builder_.CreateAlignedLoad(type, slot, align);
        builder_.CreateAlignedStore(builder_.CreateOr(before, now), slot, align);
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
  const auto load = [&](llvm::Value* slot) {
    llvm::Value* value = builder_.CreateAlignedLoad(seen.type, slot, llvm::Align(1));
    return builder_.CreateICmpNE(value, llvm::Constant::getNullValue(value->getType()));
  };
  const unsigned lanes = lane_count(result);
  llvm::Value* seen_nan = spread(builder_, load(seen.nan), lanes);
  llvm::Value* seen_infinite = spread(builder_, load(seen.infinite), lanes);
  llvm::Value* bad = nullptr;
  // With both a NaN and an infinity among the operands, infinity minus infinity cannot be excluded.
  if (fp_checks & kFpInvalid)
    bad = builder_.CreateAnd(any_part(builder_, result, is_nan),
                             builder_.CreateOr(builder_.CreateNot(seen_nan), seen_infinite));
  if (fp_checks & kFpOver)
    bad = either(builder_, bad,
                 builder_.CreateAnd(any_part(builder_, result, is_infinite),
                                    builder_.CreateNot(seen_infinite)));
  if (bad) restart_if(any_lane(builder_, bad));
}

}  // namespace numlift::codegen::cpu
