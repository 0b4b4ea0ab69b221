#include "reductions.h"

#include <limits>

#include "numlift/support/check.h"

namespace numlift::codegen::cpu {

namespace {

bool is_sum_or_product(Op op) { return op == Op::kReduceSum || op == Op::kReduceProd; }
bool has_position(Op op) { return op == Op::kReduceArgmin || op == Op::kReduceArgmax; }

// Bools are accumulated as bytes 0 and 1, float16 sums as float32.
DType accumulator_dtype(Op op, DType operand) {
  if (operand == DType::kBool || op == Op::kReduceAll || op == Op::kReduceAny) return DType::kUInt8;
  if (operand == DType::kFloat16 && is_sum_or_product(op)) return DType::kFloat32;
  return operand;
}

// Elementwise op that combines two accumulators. On bytes 0 and 1: maximum is "or", minimum "and".
Op combining_op(Op op, bool is_bool) {
  switch (op) {
    case Op::kReduceSum:
      return is_bool ? Op::kMaximum : Op::kAdd;
    case Op::kReduceProd:
      return is_bool ? Op::kMinimum : Op::kMultiply;
    case Op::kReduceAny:
    case Op::kReduceMax:
    case Op::kReduceArgmax:
      return Op::kMaximum;
    case Op::kReduceAll:
    case Op::kReduceMin:
    case Op::kReduceArgmin:
      return Op::kMinimum;
    default:
      NUMLIFT_UNREACHABLE();
  }
}

bool acts_on_bool(Op op, DType operand) {
  return operand == DType::kBool || op == Op::kReduceAll || op == Op::kReduceAny;
}

constexpr unsigned kStackLevels = 48;

}  // namespace

bool is_pairwise(const Reduction& reduction, DType operand_dtype) {
  return reduction.op == Op::kReduceSum && (is_float(operand_dtype) || is_complex(operand_dtype));
}

llvm::Value*& Accumulator::component(State& state, unsigned index) {
  return index == 0 ? state.re : (index == 1 && state.im ? state.im : state.position);
}

unsigned Accumulator::component_count() const {
  return (is_complex(dtype_) || has_position(reduction_.op)) ? 2 : 1;
}

llvm::Type* Accumulator::component_type(unsigned index) const {
  if (index == 1 && has_position(reduction_.op)) return b_.getInt64Ty();
  return register_type(b_.getContext(), dtype_);
}

Accumulator::Accumulator(FunctionEmitter& function, const Reduction& reduction, DType operand_dtype,
                         unsigned lanes, unsigned total_lanes, Layout layout)
    : f_(function),
      b_(function.builder()),
      reduction_(reduction),
      dtype_(accumulator_dtype(reduction.op, operand_dtype)),
      of_bools_(acts_on_bool(reduction.op, operand_dtype)),
      pairwise_(is_pairwise(reduction, operand_dtype)),
      checked_(reduction.fp_checks != 0 && is_sum_or_product(reduction.op) &&
               (is_float(operand_dtype) || is_complex(operand_dtype))),
      lanes_(lanes),
      total_lanes_(total_lanes) {
  if (layout == Layout::kColumns) {
    make_columns();
    return;
  }
  const unsigned result_lanes = total_lanes > lanes ? 1 : lanes;
  for (unsigned part = 0; part < total_lanes / lanes; ++part) {
    parts_.emplace_back();
    for (unsigned c = 0; c < component_count(); ++c)
      parts_.back().push_back(entry_alloca(b_, with_lanes(component_type(c), lanes)));
  }
  for (unsigned c = 0; c < component_count(); ++c) {
    if (total_lanes > lanes)
      memory_.push_back(entry_alloca(b_, with_lanes(component_type(c), total_lanes)));
    if (pairwise_)
      stack_.push_back(entry_alloca(b_, with_lanes(component_type(c), result_lanes), kStackLevels));
  }
  if (pairwise_) block_count_ = entry_alloca(b_, b_.getInt64Ty());
  if (checked_) {
    llvm::Type* type = with_lanes(b_.getInt8Ty(), result_lanes);
    seen_ = {entry_alloca(b_, type), entry_alloca(b_, type), type};
  }
}

Accumulator::State Accumulator::identity(unsigned lanes) const {
  llvm::Type* type = with_lanes(component_type(0), lanes);
  llvm::Type* element = component_type(0);
  const unsigned bits = element->getScalarSizeInBits();
  State state;
  const bool is_signed = kind_of(dtype_) == DTypeKind::kSigned;
  const auto extreme = [&](bool highest) -> llvm::Value* {
    if (element->isFloatingPointTy()) return llvm::ConstantFP::getInfinity(type, !highest);
    const llvm::APInt value =
        highest
            ? (is_signed ? llvm::APInt::getSignedMaxValue(bits) : llvm::APInt::getMaxValue(bits))
            : (is_signed ? llvm::APInt::getSignedMinValue(bits) : llvm::APInt::getMinValue(bits));
    return llvm::ConstantInt::get(type, value);
  };
  const auto number = [&](double value) -> llvm::Value* {
    if (element->isFloatingPointTy()) return llvm::ConstantFP::get(type, value);
    return llvm::ConstantInt::get(type, static_cast<uint64_t>(value));
  };
  switch (reduction_.op) {
    case Op::kReduceSum:
      state.re = number(0);
      break;
    case Op::kReduceProd:
      state.re = number(1);
      break;
    case Op::kReduceAny:
      state.re = number(0);
      break;
    case Op::kReduceAll:
      state.re = number(1);
      break;
    case Op::kReduceMax:
    case Op::kReduceArgmax:
      state.re = extreme(false);
      break;
    case Op::kReduceMin:
    case Op::kReduceArgmin:
      state.re = extreme(true);
      break;
    default:
      NUMLIFT_UNREACHABLE();
  }
  if (is_complex(dtype_)) state.im = number(0);
  if (has_position(reduction_.op))
    state.position = llvm::ConstantInt::get(with_lanes(b_.getInt64Ty(), lanes),
                                            std::numeric_limits<int64_t>::max());
  return state;
}

Accumulator::State Accumulator::combine(const State& a, const State& b) {
  if (has_position(reduction_.op)) return combine_positions(a, b);
  const LaneValue operands[] = {{a.re, a.im}, {b.re, b.im}};
  const LaneValue result =
      f_.ops().emit(combining_op(reduction_.op, of_bools_), dtype_, dtype_, kFpNone, operands);
  return {result.re, result.im, nullptr};
}

// b wins when it is better, or as good and earlier. A NaN is better than any number.
Accumulator::State Accumulator::combine_positions(const State& a, const State& b) {
  const bool largest = reduction_.op == Op::kReduceArgmax;
  const auto compare = [&](Op op, llvm::Value* x, llvm::Value* y) {
    const LaneValue operands[] = {{x}, {y}};
    return f_.ops().emit(op, dtype_, DType::kBool, kFpNone, operands).re;
  };
  llvm::Value* better = compare(largest ? Op::kGreater : Op::kLess, b.re, a.re);
  llvm::Value* equal = compare(Op::kEqual, b.re, a.re);
  if (is_float(dtype_)) {
    llvm::Value* a_nan = is_nan(b_, a.re);
    llvm::Value* b_nan = is_nan(b_, b.re);
    better = b_.CreateOr(better, b_.CreateAnd(b_nan, b_.CreateNot(a_nan)));
    equal = b_.CreateOr(equal, b_.CreateAnd(a_nan, b_nan));
  }
  llvm::Value* earlier = b_.CreateICmpSLT(b.position, a.position);
  llvm::Value* take = b_.CreateOr(better, b_.CreateAnd(equal, earlier));
  State result;
  result.re = b_.CreateSelect(take, b.re, a.re);
  result.position = b_.CreateSelect(take, b.position, a.position);
  return result;
}

Accumulator::State Accumulator::load(const std::vector<llvm::AllocaInst*>& slots, unsigned lanes,
                                     llvm::Value* first_lane) {
  State state;
  for (unsigned c = 0; c < component_count(); ++c) {
    llvm::Type* type = with_lanes(component_type(c), lanes);
    llvm::Value* address = slots[c];
    if (first_lane) address = b_.CreateGEP(component_type(c), address, {first_lane});
    llvm::Value* value = first_lane ? b_.CreateAlignedLoad(type, address, llvm::Align(8))
                                    : b_.CreateLoad(type, address);
    if (c == 0)
      state.re = value;
    else if (is_complex(dtype_))
      state.im = value;
    else
      state.position = value;
  }
  return state;
}

void Accumulator::store(const std::vector<llvm::AllocaInst*>& slots, const State& state,
                        llvm::Value* first_lane) {
  State copy = state;
  for (unsigned c = 0; c < component_count(); ++c) {
    llvm::Value* value = component(copy, c);
    llvm::Value* address = slots[c];
    if (first_lane)
      b_.CreateAlignedStore(value, b_.CreateGEP(component_type(c), address, {first_lane}),
                            llvm::Align(8));
    else
      b_.CreateStore(value, address);
  }
}

void Accumulator::begin() {
  if (pairwise_) b_.CreateStore(b_.getInt64(0), block_count_);
  if (checked_)
    for (llvm::Value* slot : {seen_.nan, seen_.infinite})
      b_.CreateAlignedStore(llvm::Constant::getNullValue(seen_.type), slot, llvm::Align(1));
}

void Accumulator::begin_block() {
  for (const auto& slots : parts_) store(slots, identity(lanes_), nullptr);
}

Accumulator::State Accumulator::prepare(Contribution x, llvm::Value* mask, const SeenSlots& seen) {
  x.value = spread(b_, x.value, lanes_);
  if (x.position) x.position = spread(b_, x.position, lanes_);
  if (x.value.re->getType()->getScalarType()->isIntegerTy(1))
    x.value.re = b_.CreateZExt(x.value.re, with_lanes(b_.getInt8Ty(), lanes_));
  else if (reduction_.op == Op::kReduceAll || reduction_.op == Op::kReduceAny)
    NUMLIFT_CHECK(dtype_ == DType::kUInt8, "operand of a bool reduction");
  if (mask && is_sum_or_product(reduction_.op)) {
    const State neutral = identity(lanes_);
    x.value.re = b_.CreateSelect(mask, x.value.re, neutral.re);
    if (x.value.im) x.value.im = b_.CreateSelect(mask, x.value.im, neutral.im);
  }
  if (checked_) f_.checks().note_operand(seen, x.value);
  return {x.value.re, x.value.im, x.position};
}

void Accumulator::add(unsigned part, Contribution x, llvm::Value* mask) {
  const State operand = prepare(x, mask, seen_);
  store(parts_[part], combine(load(parts_[part], lanes_, nullptr), operand), nullptr);
}

void Accumulator::spill() {
  for (unsigned part = 0; part < parts_.size(); ++part)
    store(memory_, load(parts_[part], lanes_, nullptr), b_.getInt64(part * lanes_));
  spilled_ = true;
}

void Accumulator::reload() {
  for (unsigned part = 0; part < parts_.size(); ++part)
    store(parts_[part], load(memory_, lanes_, b_.getInt64(part * lanes_)), nullptr);
}

void Accumulator::add_spilled(llvm::Value* first_lane, Contribution x, llvm::Value* mask) {
  const State operand = prepare(x, mask, seen_);
  store(memory_, combine(load(memory_, lanes_, first_lane), operand), first_lane);
}

Accumulator::State Accumulator::fold_lanes(State state) {
  for (unsigned lanes = total_lanes_; lanes > 1; lanes /= 2) {
    State low = state, high = state;
    for (unsigned c = 0; c < component_count(); ++c) {
      llvm::SmallVector<int, 128> first, second;
      for (unsigned i = 0; i < lanes / 2; ++i) {
        first.push_back(static_cast<int>(i));
        second.push_back(static_cast<int>(i + lanes / 2));
      }
      llvm::Value* whole = component(state, c);
      if (lanes == 2) {
        component(low, c) = b_.CreateExtractElement(whole, uint64_t{0});
        component(high, c) = b_.CreateExtractElement(whole, uint64_t{1});
      } else {
        component(low, c) = b_.CreateShuffleVector(whole, first);
        component(high, c) = b_.CreateShuffleVector(whole, second);
      }
    }
    state = combine(low, high);
  }
  return state;
}

void Accumulator::end_block() {
  State block;
  if (total_lanes_ > lanes_) {
    NUMLIFT_CHECK(spilled_, "lanes are folded from memory");
    block = fold_lanes(load(memory_, total_lanes_, nullptr));
  } else {
    block = load(parts_[0], lanes_, nullptr);
  }
  if (pairwise_)
    push(block);
  else
    result_ = block;
}

// Binary counter: two sums over equally many blocks are added as soon as both exist.
void Accumulator::push(const State& block) {
  llvm::LLVMContext& context = b_.getContext();
  llvm::Value* count = b_.CreateLoad(b_.getInt64Ty(), block_count_);
  auto* before = b_.GetInsertBlock();
  auto* head = llvm::BasicBlock::Create(context, "push", f_.function());
  auto* merge = llvm::BasicBlock::Create(context, "push.add", f_.function());
  auto* done = llvm::BasicBlock::Create(context, "push.done", f_.function());
  b_.CreateBr(head);
  b_.SetInsertPoint(head);
  llvm::PHINode* level = b_.CreatePHI(b_.getInt64Ty(), 2);
  level->addIncoming(b_.getInt64(0), before);
  State start = block, current;
  std::vector<llvm::PHINode*> phis;
  for (unsigned c = 0; c < component_count(); ++c) {
    phis.push_back(b_.CreatePHI(component(start, c)->getType(), 2));
    phis.back()->addIncoming(component(start, c), before);
  }
  current.re = phis[0];
  if (component_count() == 2) current.im = phis[1];
  llvm::Value* full = b_.CreateAnd(b_.CreateLShr(count, level), b_.getInt64(1));
  b_.CreateCondBr(b_.CreateICmpNE(full, b_.getInt64(0)), merge, done);

  const auto address = [&](unsigned c) {
    return b_.CreateGEP(stack_[c]->getAllocatedType(), stack_[c],
                        {static_cast<llvm::Value*>(level)});
  };
  b_.SetInsertPoint(merge);
  State older;
  older.re = b_.CreateLoad(stack_[0]->getAllocatedType(), address(0));
  if (component_count() == 2) older.im = b_.CreateLoad(stack_[1]->getAllocatedType(), address(1));
  State sum = combine(older, current);
  for (unsigned c = 0; c < component_count(); ++c) phis[c]->addIncoming(component(sum, c), merge);
  level->addIncoming(b_.CreateAdd(level, b_.getInt64(1)), merge);
  b_.CreateBr(head);

  b_.SetInsertPoint(done);
  for (unsigned c = 0; c < component_count(); ++c)
    b_.CreateStore(component(current, c), address(c));
  b_.CreateStore(b_.CreateAdd(count, b_.getInt64(1)), block_count_);
}

Accumulator::State Accumulator::pop_all() {
  llvm::LLVMContext& context = b_.getContext();
  llvm::Value* count = b_.CreateLoad(b_.getInt64Ty(), block_count_);
  auto* before = b_.GetInsertBlock();
  auto* loop = llvm::BasicBlock::Create(context, "pop", f_.function());
  auto* done = llvm::BasicBlock::Create(context, "pop.done", f_.function());
  State zero = identity(total_lanes_ > lanes_ ? 1 : lanes_);
  b_.CreateCondBr(b_.CreateICmpEQ(count, b_.getInt64(0)), done, loop);
  b_.SetInsertPoint(loop);
  llvm::PHINode* left = b_.CreatePHI(b_.getInt64Ty(), 2);
  llvm::PHINode* level = b_.CreatePHI(b_.getInt64Ty(), 2);
  left->addIncoming(count, before);
  level->addIncoming(b_.getInt64(0), before);
  std::vector<llvm::PHINode*> phis;
  State current;
  for (unsigned c = 0; c < component_count(); ++c) {
    phis.push_back(b_.CreatePHI(component(zero, c)->getType(), 2));
    phis.back()->addIncoming(component(zero, c), before);
  }
  current.re = phis[0];
  if (component_count() == 2) current.im = phis[1];
  State older;
  for (unsigned c = 0; c < component_count(); ++c) {
    llvm::Type* type = stack_[c]->getAllocatedType();
    llvm::Value* address = b_.CreateGEP(type, stack_[c], {static_cast<llvm::Value*>(level)});
    (c == 0 ? older.re : older.im) = b_.CreateLoad(type, address);
  }
  State sum = combine(older, current);
  llvm::Value* used = b_.CreateTrunc(left, b_.getInt1Ty());
  State next;
  next.re = b_.CreateSelect(used, sum.re, current.re);
  if (sum.im) next.im = b_.CreateSelect(used, sum.im, current.im);
  llvm::Value* next_left = b_.CreateLShr(left, b_.getInt64(1));
  for (unsigned c = 0; c < component_count(); ++c) phis[c]->addIncoming(component(next, c), loop);
  left->addIncoming(next_left, loop);
  level->addIncoming(b_.CreateAdd(level, b_.getInt64(1)), loop);
  b_.CreateCondBr(b_.CreateICmpEQ(next_left, b_.getInt64(0)), done, loop);

  b_.SetInsertPoint(done);
  State result;
  for (unsigned c = 0; c < component_count(); ++c) {
    llvm::PHINode* phi = b_.CreatePHI(component(zero, c)->getType(), 2);
    phi->addIncoming(component(zero, c), before);
    phi->addIncoming(component(next, c), loop);
    (c == 0 ? result.re : result.im) = phi;
  }
  return result;
}

Contribution Accumulator::finish() {
  const State state = pairwise_ ? pop_all() : result_;
  Contribution result{{state.re, state.im}, state.position};
  if (checked_) f_.checks().check_reduction(seen_, reduction_.fp_checks, result.value);
  return result;
}

}  // namespace numlift::codegen::cpu
