// Accumulators of many columns side by side: rows are read along, as they lie in memory, and added
// to accumulators in memory. Going down one column (or one vector of columns) at a time would touch
// a new page for every row.
#include "reductions.h"

namespace numlift::codegen::cpu {

namespace {

const llvm::Align kElementAlign(8);

}  // namespace

// Room for whole vectors past the last column.
void Accumulator::make_columns() {
  const unsigned room = total_lanes_ + lanes_;
  for (unsigned c = 0; c < component_count(); ++c) {
    memory_.push_back(entry_alloca(b_, component_type(c), room));
    memory_.back()->setAlignment(llvm::Align(64));
    if (!pairwise_) continue;
    stack_.push_back(entry_alloca(b_, component_type(c), uint64_t{kColumnLevels} * room));
    stack_.back()->setAlignment(llvm::Align(64));
  }
  if (pairwise_) block_count_ = entry_alloca(b_, b_.getInt64Ty());
  if (checked_)
    seen_ = {entry_alloca(b_, b_.getInt8Ty(), room), entry_alloca(b_, b_.getInt8Ty(), room),
             with_lanes(b_.getInt8Ty(), lanes_)};
}

template <class Body>
void Accumulator::each_vector(llvm::Value* width, Body body) {
  f_.counted_loop(b_.getInt64(0), width, b_.getInt64(lanes_), "columns", body);
}

SeenSlots Accumulator::seen_columns(llvm::Value* first_lane) {
  const auto at = [&](llvm::Value* base) {
    return b_.CreateGEP(b_.getInt8Ty(), base, {first_lane});
  };
  return {at(seen_.nan), at(seen_.infinite), seen_.type};
}

// Index of a lane of a level of the stack.
llvm::Value* Accumulator::stack_lane(llvm::Value* level, llvm::Value* lane) {
  return b_.CreateAdd(b_.CreateMul(level, b_.getInt64(total_lanes_ + lanes_)), lane);
}

void Accumulator::begin_columns(llvm::Value* width) {
  if (pairwise_) b_.CreateStore(b_.getInt64(0), block_count_);
  if (!checked_) return;
  each_vector(width, [&](llvm::Value* lane) {
    const SeenSlots seen = seen_columns(lane);
    for (llvm::Value* slot : {seen.nan, seen.infinite})
      b_.CreateAlignedStore(llvm::Constant::getNullValue(seen.type), slot, llvm::Align(1));
  });
}

void Accumulator::begin_column_block(llvm::Value* width) {
  each_vector(width, [&](llvm::Value* lane) { store(memory_, identity(lanes_), lane); });
}

void Accumulator::add_columns(llvm::Value* first_lane, Contribution x, llvm::Value* mask) {
  const State operand = prepare(x, mask, checked_ ? seen_columns(first_lane) : seen_);
  store(memory_, combine(load(memory_, lanes_, first_lane), operand), first_lane);
}

// The binary counter of push(), for all columns at once.
void Accumulator::end_column_block(llvm::Value* width) {
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
  llvm::Value* full = b_.CreateAnd(b_.CreateLShr(count, level), b_.getInt64(1));
  b_.CreateCondBr(b_.CreateICmpNE(full, b_.getInt64(0)), merge, done);
  b_.SetInsertPoint(merge);
  each_vector(width, [&](llvm::Value* lane) {
    const State older = load(stack_, lanes_, stack_lane(level, lane));
    store(memory_, combine(older, load(memory_, lanes_, lane)), lane);
  });
  level->addIncoming(b_.CreateAdd(level, b_.getInt64(1)), b_.GetInsertBlock());
  b_.CreateBr(head);
  done->moveAfter(b_.GetInsertBlock());
  b_.SetInsertPoint(done);
  each_vector(width, [&](llvm::Value* lane) {
    store(stack_, load(memory_, lanes_, lane), stack_lane(level, lane));
  });
  b_.CreateStore(b_.CreateAdd(count, b_.getInt64(1)), block_count_);
}

// Leaves the results in memory_.
void Accumulator::end_columns(llvm::Value* width) {
  if (!pairwise_) return;
  begin_column_block(width);
  llvm::Value* count = b_.CreateLoad(b_.getInt64Ty(), block_count_);
  llvm::Value* levels = b_.CreateSub(
      b_.getInt64(64), b_.CreateBinaryIntrinsic(llvm::Intrinsic::ctlz, count, b_.getFalse()));
  f_.counted_loop(b_.getInt64(0), levels, b_.getInt64(1), "pop", [&](llvm::Value* level) {
    llvm::Value* used = b_.CreateTrunc(b_.CreateLShr(count, level), b_.getInt1Ty());
    f_.guarded(used, "pop.add", [&] {
      each_vector(width, [&](llvm::Value* lane) {
        const State older = load(stack_, lanes_, stack_lane(level, lane));
        store(memory_, combine(older, load(memory_, lanes_, lane)), lane);
      });
    });
  });
}

// Lanes past the width hold what masked additions left there; lane 0's result takes their place
// once the conditions have been looked at.
Contribution Accumulator::column_results(llvm::Value* first_lane, llvm::Value* mask) {
  State state = load(memory_, lanes_, first_lane);
  if (checked_)
    f_.checks().check_reduction(seen_columns(first_lane), reduction_.fp_checks,
                                {state.re, state.im});
  for (unsigned c = 0; mask && c < component_count(); ++c) {
    llvm::Value*& part = component(state, c);
    llvm::Value* first = b_.CreateExtractElement(part, uint64_t{0});
    part = b_.CreateSelect(mask, part, b_.CreateVectorSplat(lanes_, first));
  }
  return {{state.re, state.im}, state.position};
}

}  // namespace numlift::codegen::cpu
