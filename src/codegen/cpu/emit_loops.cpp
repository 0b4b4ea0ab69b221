// Loops of a nest: scalar, vector, vector reductions, parallel.
#include <algorithm>

#include "emit_nest.h"
#include "numlift/support/check.h"
#include "runtime.h"
#include "target.h"

namespace numlift::codegen::cpu {

namespace {

// Bodies up to this cost are unrolled over all accumulators of a vector reduction.
constexpr int kUnrolledCost = 12;
constexpr uint64_t kCaptureBytes = 16;

}  // namespace

void NestEmitter::emit_loop(VarId var) {
  const Loop& loop = nest_.loops[static_cast<uint32_t>(var)];
  if (loop.parallel && open_loops_.empty())
    emit_parallel_loop(var);
  else
    emit_loop_range(var, b_.getInt64(0), f_.size(loop.extent));
}

void NestEmitter::emit_loop_range(VarId var, llvm::Value* begin, llvm::Value* end) {
  const Loop& loop = nest_.loops[static_cast<uint32_t>(var)];
  open_loops_.push_back(var);
  if (!loop.vector || lanes_.count > 1)
    emit_scalar_loop(var, begin, end);
  else if (loop.reduction)
    emit_vector_reduction(var, begin, end);
  else if (is_column_reduction(var))
    emit_column_reduction(var, begin, end);
  else
    emit_vector_loop(var, begin, end);
  if (open_loops_.size() == 1) end_streaming();
  open_loops_.pop_back();
}

void NestEmitter::emit_iteration(VarId var, llvm::Value* index) {
  vars_[static_cast<uint32_t>(var)] = index;
  emit_items(nest_.loops[static_cast<uint32_t>(var)].body);
}

std::vector<const Reduction*> NestEmitter::reductions_at(VarId var) const {
  std::vector<const Reduction*> found;
  for (VarId open : open_loops_)
    for (const Reduction& reduction : nest_.loops[static_cast<uint32_t>(open)].reductions)
      if (std::find(reduction.loops.begin(), reduction.loops.end(), var) != reduction.loops.end())
        found.push_back(&reduction);
  return found;
}

Contribution NestEmitter::contribution(const Reduction& reduction, VarId var) {
  if (reduction.loops.back() != var) {
    for (const auto& [inner, partial] : partials_)
      if (inner == &reduction) return partial;
    NUMLIFT_CHECK(false, "a reduction loop without its inner loop");
  }
  Contribution result{value(reduction.operand)};
  NUMLIFT_CHECK(result.value.re, "a reduction's operand is not defined");
  const DType dtype = nest_.values[static_cast<uint32_t>(reduction.operand)].dtype;
  if (reduction.op == Op::kReduceAll || reduction.op == Op::kReduceAny)
    result.value = f_.ops().emit_cast(dtype, DType::kBool, result.value);
  if (reduction.position != kNoValue) result.position = value(reduction.position).re;
  return result;
}

void NestEmitter::define(const Reduction& reduction, VarId var, const Contribution& result) {
  std::erase_if(partials_, [&](const auto& entry) { return entry.first == &reduction; });
  const bool stays_partial = is_chunk_ && open_loops_.size() == 1 && open_loops_[0] == var;
  if (reduction.loops.front() != var || stays_partial) {
    partials_.emplace_back(&reduction, result);
    return;
  }
  const DType operand = nest_.values[static_cast<uint32_t>(reduction.operand)].dtype;
  LaneValue final = result.position ? LaneValue{result.position} : result.value;
  const bool is_truth = reduction.op == Op::kReduceAll || reduction.op == Op::kReduceAny;
  if (!result.position && (is_truth || operand == DType::kBool)) {  // bytes 0 and 1 so far
    final.re = b_.CreateICmpNE(final.re, llvm::Constant::getNullValue(final.re->getType()));
  } else if (!result.position && operand == DType::kFloat16) {
    llvm::Value* exact = final.re;
    final = f_.ops().emit_cast(DType::kFloat32, DType::kFloat16, final);
    if (reduction.fp_checks & kFpOver)
      f_.checks().must_restart(b_.CreateAnd(is_infinite(b_, final.re), is_finite(b_, exact)));
  }
  value(reduction.result) = final;
}

void NestEmitter::emit_scalar_loop(VarId var, llvm::Value* begin, llvm::Value* end) {
  const std::vector<const Reduction*> reductions = reductions_at(var);
  std::vector<Accumulator> accumulators;
  bool blocked = false;
  for (const Reduction* reduction : reductions) {
    const DType dtype = nest_.values[static_cast<uint32_t>(reduction->operand)].dtype;
    accumulators.emplace_back(f_, *reduction, dtype, lanes_.count, lanes_.count);
    blocked |= accumulators.back().pairwise();
  }
  std::vector<Carried> carried = find_carried(var);
  if (!carried.empty()) load_first(&carried, var, begin);
  llvm::BasicBlock* before = b_.GetInsertBlock();
  const auto iteration = [&](llvm::Value* index) {
    begin_carried(&carried, before);
    emit_iteration(var, index);
    for (size_t i = 0; i < reductions.size(); ++i)
      accumulators[i].add(0, contribution(*reductions[i], var), nullptr);
    f_.checks().flush();
    end_carried(carried);
  };
  llvm::Value* one = b_.getInt64(1);
  for (Accumulator& accumulator : accumulators) {
    accumulator.begin();
    if (!accumulator.pairwise()) accumulator.begin_block();
  }
  if (!blocked) {
    f_.counted_loop(begin, end, one, "loop", iteration);
  } else {
    llvm::Value* step = b_.getInt64(kScalarBlock);
    f_.counted_loop(begin, end, step, "block", [&](llvm::Value* block) {
      llvm::Value* block_end =
          b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, b_.CreateNSWAdd(block, step), end);
      for (Accumulator& accumulator : accumulators)
        if (accumulator.pairwise()) accumulator.begin_block();
      f_.counted_loop(block, block_end, one, "loop", iteration);
      for (Accumulator& accumulator : accumulators)
        if (accumulator.pairwise()) accumulator.end_block();
    });
  }
  for (size_t i = 0; i < reductions.size(); ++i) {
    if (!accumulators[i].pairwise()) accumulators[i].end_block();
    define(*reductions[i], var, accumulators[i].finish());
  }
}

llvm::Value* NestEmitter::active_mask(llvm::Value* index, llvm::Value* end, unsigned lanes) {
  llvm::SmallVector<llvm::Constant*, 64> numbers;
  for (unsigned i = 0; i < lanes; ++i) numbers.push_back(b_.getInt64(i));
  llvm::Value* left = b_.CreateVectorSplat(lanes, b_.CreateNSWSub(end, index));
  return b_.CreateICmpSLT(llvm::ConstantVector::get(numbers), left);
}

void NestEmitter::emit_vector_loop(VarId var, llvm::Value* begin, llvm::Value* end) {
  const unsigned lanes = host_target().vector_bytes / widest_bytes(var);
  lanes_.count = lanes;
  lanes_.var = var;
  llvm::Value* split = find_streamed_stores(var, begin, end);
  const auto full_vectors_and_masked = [&](llvm::Value* first, llvm::Value* last) {
    llvm::Value* length = b_.CreateNSWSub(last, first);
    llvm::Value* full_end =
        b_.CreateNSWAdd(first, b_.CreateAnd(length, b_.getInt64(~uint64_t{lanes - 1})));
    lanes_.mask = nullptr;
    f_.counted_loop(first, full_end, b_.getInt64(lanes), "vector", [&](llvm::Value* index) {
      emit_iteration(var, index);
      f_.checks().flush();
    });
    f_.guarded(b_.CreateICmpSLT(full_end, last), "tail", [&] {
      lanes_.mask = active_mask(full_end, last, lanes);
      emit_iteration(var, full_end);
      f_.checks().flush();
    });
  };
  if (!split) {
    full_vectors_and_masked(begin, end);
  } else {
    // One copy of the code for both goes.
    llvm::LLVMContext& context = b_.getContext();
    auto* before = b_.GetInsertBlock();
    auto* go = llvm::BasicBlock::Create(context, "go", f_.function());
    auto* done = llvm::BasicBlock::Create(context, "go.done", f_.function());
    b_.CreateBr(go);
    b_.SetInsertPoint(go);
    llvm::PHINode* first = b_.CreatePHI(b_.getInt64Ty(), 2);
    llvm::PHINode* last = b_.CreatePHI(b_.getInt64Ty(), 2);
    full_vectors_and_masked(first, last);
    first->addIncoming(begin, before);
    first->addIncoming(last, b_.GetInsertBlock());
    last->addIncoming(split, before);
    last->addIncoming(end, b_.GetInsertBlock());
    b_.CreateCondBr(b_.CreateICmpSLT(last, end), go, done);
    done->moveAfter(b_.GetInsertBlock());
    b_.SetInsertPoint(done);
  }
  streamed_.clear();
  lanes_ = {};
}

void NestEmitter::emit_vector_reduction(VarId var, llvm::Value* begin, llvm::Value* end) {
  const unsigned widest = widest_bytes(var);
  const unsigned lanes = host_target().vector_bytes / widest;
  const unsigned total = kReductionBytes / widest;
  const std::vector<const Reduction*> reductions = reductions_at(var);
  std::vector<Accumulator> accumulators;
  bool blocked = false;
  for (const Reduction* reduction : reductions) {
    const DType dtype = nest_.values[static_cast<uint32_t>(reduction->operand)].dtype;
    accumulators.emplace_back(f_, *reduction, dtype, lanes, total);
    blocked |= accumulators.back().pairwise();
  }
  const unsigned unrolled = nest_.cost <= kUnrolledCost ? total / lanes : 1;

  const auto vector_step = [&](llvm::Value* index, llvm::Value* mask, auto add) {
    lanes_ = {lanes, var, mask};
    emit_iteration(var, index);
    for (size_t i = 0; i < reductions.size(); ++i)
      add(accumulators[i], contribution(*reductions[i], var));
    lanes_ = {};
  };
  const auto block = [&](llvm::Value* first, llvm::Value* last) {
    for (Accumulator& accumulator : accumulators)
      if (accumulator.pairwise()) accumulator.begin_block();
    llvm::Value* length = b_.CreateNSWSub(last, first);
    llvm::Value* done = first;
    if (unrolled > 1) {
      done = b_.CreateNSWAdd(first, b_.CreateAnd(length, b_.getInt64(~uint64_t{total - 1})));
      f_.counted_loop(first, done, b_.getInt64(total), "rounds", [&](llvm::Value* index) {
        for (unsigned part = 0; part < unrolled; ++part)
          vector_step(b_.CreateNSWAdd(index, b_.getInt64(part * lanes)), nullptr,
                      [&](Accumulator& a, const Contribution& x) { a.add(part, x, nullptr); });
        f_.checks().flush();
      });
    }
    for (Accumulator& accumulator : accumulators) accumulator.spill();
    const auto spilled_step = [&](llvm::Value* index, llvm::Value* mask) {
      llvm::Value* lane = b_.CreateAnd(b_.CreateNSWSub(index, first), b_.getInt64(total - 1));
      vector_step(index, mask,
                  [&](Accumulator& a, const Contribution& x) { a.add_spilled(lane, x, mask); });
      f_.checks().flush();
    };
    // Cheap bodies: the last few vectors, one copy of the code for full and partial ones.
    llvm::Value* full_end = done;
    if (unrolled == 1) {
      full_end = b_.CreateNSWAdd(first, b_.CreateAnd(length, b_.getInt64(~uint64_t{lanes - 1})));
      f_.counted_loop(first, full_end, b_.getInt64(lanes), "vector",
                      [&](llvm::Value* index) { spilled_step(index, nullptr); });
    }
    f_.counted_loop(full_end, last, b_.getInt64(lanes), "tail", [&](llvm::Value* index) {
      spilled_step(index, active_mask(index, last, lanes));
    });
    for (Accumulator& accumulator : accumulators) {
      if (accumulator.pairwise())
        accumulator.end_block();
      else if (blocked)
        accumulator.reload();
    }
  };

  for (Accumulator& accumulator : accumulators) {
    accumulator.begin();
    if (!accumulator.pairwise()) accumulator.begin_block();
  }
  if (!blocked) {
    block(begin, end);
  } else {
    // Float sums go by blocks; the others accumulate over all of them.
    llvm::Value* step = b_.getInt64(uint64_t{total} * kRoundsPerBlock);
    f_.counted_loop(begin, end, step, "block", [&](llvm::Value* first) {
      block(first,
            b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, b_.CreateNSWAdd(first, step), end));
    });
  }
  for (size_t i = 0; i < reductions.size(); ++i) {
    if (!accumulators[i].pairwise()) {
      if (blocked) accumulators[i].spill();
      accumulators[i].end_block();
    }
    define(*reductions[i], var, accumulators[i].finish());
  }
}

// The loop becomes `i32 <nest>.loop<var>(frame, captures, begin, end, chunk)`. captures: one slot a
// value of the root that the loop reads, then one pointer a reduction: where chunks leave results.
void NestEmitter::emit_parallel_loop(VarId var) {
  const Loop& loop = nest_.loops[static_cast<uint32_t>(var)];
  const std::vector<ValueId> captured = captured_values(var);
  llvm::Type* pointer = b_.getPtrTy();
  llvm::Type* i64 = b_.getInt64Ty();
  const std::string name =
      f_.function()->getName().str() + ".loop" + std::to_string(static_cast<uint32_t>(var));
  llvm::Value* captures = entry_alloca(
      b_, b_.getInt8Ty(), kCaptureBytes * (captured.size() + loop.reductions.size() + 1));
  llvm::cast<llvm::AllocaInst>(captures)->setAlignment(llvm::Align(16));
  const auto slot = [&](llvm::IRBuilder<>& b, llvm::Value* base, size_t index, uint64_t offset) {
    return b.CreateConstGEP1_64(b.getInt8Ty(), base, index * kCaptureBytes + offset);
  };

  FunctionEmitter body(f_.program(), f_.module(), name, {pointer, i64, i64, i64});
  NestEmitter inner(body, *this);
  llvm::IRBuilder<>& ib = body.builder();
  for (size_t i = 0; i < captured.size(); ++i) {
    const LaneValue outer = value(captured[i]);
    LaneValue& copy = inner.value(captured[i]);
    if (llvm::isa<llvm::Constant>(outer.re) && (!outer.im || llvm::isa<llvm::Constant>(outer.im))) {
      copy = outer;
      continue;
    }
    b_.CreateStore(outer.re, slot(b_, captures, i, 0));
    copy.re = ib.CreateLoad(outer.re->getType(), slot(ib, body.parameter(0), i, 0));
    if (!outer.im) continue;
    b_.CreateStore(outer.im, slot(b_, captures, i, 8));
    copy.im = ib.CreateLoad(outer.im->getType(), slot(ib, body.parameter(0), i, 8));
  }
  inner.emit_loop_range(var, body.parameter(1), body.parameter(2));

  // Results of the chunk, and their combination here.
  llvm::Value* extent = f_.size(loop.extent);
  llvm::Value* work = f_.size(nest_.work);
  llvm::Value* chunk =
      b_.CreateCall(f_.runtime("numlift_chunk_size", i64, {i64, i64, i64}),
                    {extent, work, b_.getInt64(static_cast<uint64_t>(chunk_granule(var)))});
  llvm::Value* count =
      b_.CreateSDiv(b_.CreateNSWAdd(extent, b_.CreateNSWSub(chunk, b_.getInt64(1))), chunk);
  std::vector<std::vector<llvm::AllocaInst*>> partials;
  for (size_t r = 0; r < loop.reductions.size(); ++r) {
    const Reduction& reduction = loop.reductions[r];
    const Contribution result = inner.chunk_result(reduction);
    llvm::Value* parts[] = {result.value.re, result.value.im, result.position};
    partials.emplace_back();
    uint64_t offset = 0;
    for (llvm::Value* part : parts) {
      if (!part) {
        partials.back().push_back(nullptr);
        continue;
      }
      llvm::AllocaInst* array = entry_alloca(b_, part->getType(), kMaxChunks);
      partials.back().push_back(array);
      b_.CreateStore(array, slot(b_, captures, captured.size() + r, offset));
      llvm::Value* base =
          ib.CreateLoad(pointer, slot(ib, body.parameter(0), captured.size() + r, offset));
      ib.CreateStore(part, ib.CreateGEP(part->getType(), base, {body.parameter(3)}));
      offset += 8;
    }
  }
  body.checks().flush();
  body.finish();

  llvm::Value* cost =
      b_.CreateMul(work, b_.getInt64(static_cast<uint64_t>(std::max(nest_.cost, 1))));
  llvm::Value* restart =
      b_.CreateCall(f_.runtime("numlift_parallel_for", b_.getInt32Ty(),
                               {pointer, pointer, pointer, i64, i64, i64, b_.getInt32Ty()}),
                    {body.function(), f_.frame(), captures, extent, chunk, cost,
                     b_.getInt32(loop.reductions.empty() ? 0 : 1)});
  f_.restart_if(b_.CreateICmpNE(restart, b_.getInt32(0)));
  for (size_t r = 0; r < loop.reductions.size(); ++r)
    combine_chunks(loop.reductions[r], var, partials[r], count);
}

Contribution NestEmitter::chunk_result(const Reduction& reduction) {
  for (const auto& [done, result] : partials_)
    if (done == &reduction) return result;
  NUMLIFT_CHECK(false, "a parallel loop without its reduction");
}

void NestEmitter::combine_chunks(const Reduction& reduction, VarId var,
                                 const std::vector<llvm::AllocaInst*>& partials,
                                 llvm::Value* count) {
  const DType dtype = nest_.values[static_cast<uint32_t>(reduction.operand)].dtype;
  Accumulator accumulator(f_, reduction, dtype, 1, 1);
  accumulator.begin();
  if (!accumulator.pairwise()) accumulator.begin_block();
  f_.counted_loop(b_.getInt64(0), count, b_.getInt64(1), "combine", [&](llvm::Value* chunk) {
    const auto part = [&](size_t index) -> llvm::Value* {
      if (!partials[index]) return nullptr;
      llvm::Type* type = partials[index]->getAllocatedType();
      return b_.CreateLoad(type, b_.CreateGEP(type, partials[index], {chunk}));
    };
    if (accumulator.pairwise()) accumulator.begin_block();
    accumulator.add(0, {{part(0), part(1)}, part(2)}, nullptr);
    if (accumulator.pairwise()) accumulator.end_block();
    f_.checks().flush();
  });
  if (!accumulator.pairwise()) accumulator.end_block();
  define(reduction, var, accumulator.finish());
}

}  // namespace numlift::codegen::cpu
