#include "emit_flow.h"

#include <llvm/IR/CFG.h>
#include <llvm/IR/MDBuilder.h>

#include <algorithm>

#include "numlift/support/check.h"
#include "runtime.h"

namespace numlift::codegen::cpu {

namespace {

// Iterations before the first look at the clock: of scalar code some microseconds; of a loop inside
// a loop, which is begun often, a millisecond or so.
constexpr int64_t kFirstScalarChunk = 1024, kFirstInnerChunk = int64_t{1} << 20;

}  // namespace

llvm::BasicBlock* FlowEmitter::new_block(const char* name) {
  return llvm::BasicBlock::Create(b_.getContext(), name, f_.function());
}

llvm::AllocaInst* FlowEmitter::make_slot(int64_t value) {
  llvm::AllocaInst* slot = entry_alloca(b_, b_.getInt64Ty());
  llvm::IRBuilder<> at(slot->getNextNode());
  at.CreateStore(at.getInt64(static_cast<uint64_t>(value)), slot);
  return slot;
}

void FlowEmitter::begin() {
  restart_ = new_block("restart");
  interrupted_ = new_block("interrupted");
  suspicious_ = new_block("suspicious");
  f_.checks().leave_at(restart_);
  find_scalar_loops();
  const std::vector<Symbol>& symbols = f_.program().graph.symbols;
  for (uint32_t i = 0; i < symbols.size(); ++i) {
    if (symbols[i].kind != SymbolKind::kRun) continue;
    b_.CreateStore(b_.getInt64(0), f_.symbol_slot(SymbolId{i}));
  }
}

void FlowEmitter::find_scalar_loops() {
  std::vector<NodeId> open;  // kNoNode: no scalar loop
  for (const Step& step : f_.program().steps) {
    const auto* nest = std::get_if<NestStep>(&step);
    const bool is_scalar = nest != nullptr ? nest->is_inline && nest->nest.loops.empty()
                                           : !std::holds_alternative<ExternStep>(step) &&
                                                 !std::holds_alternative<NumpyLoopStep>(step) &&
                                                 !std::holds_alternative<AllocateStep>(step) &&
                                                 !std::holds_alternative<LoopStep>(step);
    if (!is_scalar) std::fill(open.begin(), open.end(), kNoNode);
    if (const auto* loop = std::get_if<LoopStep>(&step)) {
      open.push_back(loop->node);
    } else if (std::holds_alternative<IfStep>(step) || std::holds_alternative<BlockStep>(step)) {
      open.push_back(kNoNode);
    } else if (std::holds_alternative<EndStep>(step)) {
      if (open.back() != kNoNode) scalar_loops_.push_back(open.back());
      open.pop_back();
    }
  }
}

llvm::Value* FlowEmitter::finish() {
  NUMLIFT_CHECK(open_.empty(), "a region without an end");
  auto* stop = new_block("stop");
  std::vector<std::pair<ExitCode, llvm::BasicBlock*>> ways{
      {ExitCode::kReturn, b_.GetInsertBlock()}};
  b_.CreateBr(stop);
  for (const auto& [block, code] :
       {std::pair{restart_, ExitCode::kRestart}, std::pair{interrupted_, ExitCode::kInterrupted},
        std::pair{suspicious_, ExitCode::kSuspicious}}) {
    if (llvm::pred_empty(block)) {
      block->eraseFromParent();
      continue;
    }
    block->moveBefore(stop);
    b_.SetInsertPoint(block);
    b_.CreateBr(stop);
    ways.emplace_back(code, block);
  }
  b_.SetInsertPoint(stop);
  llvm::PHINode* result = b_.CreatePHI(b_.getInt32Ty(), static_cast<unsigned>(ways.size()));
  for (const auto& [code, block] : ways)
    result->addIncoming(b_.getInt32(static_cast<uint32_t>(code)), block);
  return result;
}

void FlowEmitter::emit(const LoopStep& step) {
  if (loop_depth_++ == 0 && loop_checks_ == LoopChecks::kOnce) {
    llvm::Constant* zero = llvm::ConstantFP::get(b_.getDoubleTy(), 0.0);
    if (sum_ == nullptr) {
      sum_ = entry_alloca(b_, b_.getDoubleTy());
      llvm::AllocaInst* hidden = entry_alloca(b_, b_.getDoubleTy());
      llvm::IRBuilder<> at(hidden->getNextNode());
      at.CreateStore(zero, hidden);
      hidden_zero_ = at.CreateLoad(b_.getDoubleTy(), hidden, /*isVolatile=*/true);
    }
    b_.CreateStore(zero, sum_);
    f_.checks().sum_up_in(sum_, hidden_zero_);
  }
  llvm::Value* trips = step.trips ? f_.size(*step.trips) : nullptr;
  const bool is_scalar =
      std::find(scalar_loops_.begin(), scalar_loops_.end(), step.node) != scalar_loops_.end();
  const int64_t first = step.polls ? kFirstScalarChunk : kFirstInnerChunk;
  const bool is_short = step.trips && step.trips->constant().value_or(first + 1) <= first;
  const bool is_chunked = trips != nullptr && is_scalar && !is_short;
  Region region;
  region.node = step.node;
  region.index = make_slot(0);
  // An inner loop that has trips and is not scalar does so much in each that the outer one is
  // enough.
  if (!is_chunked && (step.polls || trips == nullptr))
    region.polls_left = make_slot(step.polls ? 1 : kFirstInnerChunk);
  region.next = new_block("loop.next");
  region.done = new_block("loop.done");
  b_.CreateStore(b_.getInt64(0), region.index);
  llvm::Value* end = is_chunked ? begin_chunks(region, trips, first) : trips;
  region.head = new_block("loop");
  auto* body = new_block("loop.body");
  b_.CreateBr(region.head);
  b_.SetInsertPoint(region.head);
  llvm::Value* index = b_.CreateLoad(b_.getInt64Ty(), region.index);
  if (end != nullptr)
    b_.CreateCondBr(b_.CreateICmpSLT(index, end), body, is_chunked ? region.pause : region.done);
  else
    b_.CreateBr(body);
  b_.SetInsertPoint(body);
  set_symbol(step.counter, index);
  open_.push_back(region);
}

// A loop around the loop looks at the clock: LLVM can do more with one that does not. The end of a
// chunk of iterations; the builder stands where it begins.
llvm::Value* FlowEmitter::begin_chunks(Region& region, llvm::Value* trips, int64_t first) {
  llvm::AllocaInst* count = make_slot(0);
  b_.CreateStore(b_.getInt64(static_cast<uint64_t>(first)), count);
  auto* chunks = new_block("chunks");
  auto* chunk = new_block("chunk");
  auto* look = new_block("chunk.poll");
  region.pause = new_block("chunk.done");
  b_.CreateBr(chunks);
  b_.SetInsertPoint(region.pause);
  llvm::Value* index = b_.CreateLoad(b_.getInt64Ty(), region.index);
  b_.CreateCondBr(b_.CreateICmpSLT(index, trips), look, region.done);
  b_.SetInsertPoint(look);
  b_.CreateStore(look_at_clock(), count);
  b_.CreateBr(chunks);
  b_.SetInsertPoint(chunks);
  index = b_.CreateLoad(b_.getInt64Ty(), region.index);
  b_.CreateCondBr(b_.CreateICmpSLT(index, trips), chunk, region.done);
  b_.SetInsertPoint(chunk);
  llvm::Value* end = b_.CreateNSWAdd(index, b_.CreateLoad(b_.getInt64Ty(), count));
  return b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, end, trips);
}

void FlowEmitter::emit(const IfStep& step) {
  Region region;
  region.node = step.node;
  region.other = new_block("else");
  region.done = new_block("if.done");
  auto* then = new_block("then");
  // What the user's data decide: where the arms only compute, a select is cheaper than a wrong
  // guess.
  llvm::BranchInst* branch =
      b_.CreateCondBr(load_scalar(step.condition, DType::kBool), then, region.other);
  branch->setMetadata(llvm::LLVMContext::MD_unpredictable, llvm::MDNode::get(b_.getContext(), {}));
  b_.SetInsertPoint(then);
  open_.push_back(region);
}

void FlowEmitter::emit(const ElseStep&) {
  Region& region = open_.back();
  b_.CreateBr(region.done);
  b_.SetInsertPoint(region.other);
  region.other = nullptr;
}

void FlowEmitter::emit(const BlockStep& step) {
  Region region;
  region.node = step.node;
  region.done = new_block("block.done");
  open_.push_back(region);
}

void FlowEmitter::emit(const EndStep&) {
  const Region region = open_.back();
  open_.pop_back();
  if (region.head != nullptr) {
    b_.CreateBr(region.next);
    b_.SetInsertPoint(region.next);
    if (region.polls_left != nullptr) emit_poll(region.polls_left);
    llvm::Value* index = b_.CreateLoad(b_.getInt64Ty(), region.index);
    b_.CreateStore(b_.CreateNSWAdd(index, b_.getInt64(1)), region.index);
    b_.CreateBr(region.head);
  } else {
    b_.CreateBr(region.done);
    if (region.other != nullptr) {
      b_.SetInsertPoint(region.other);
      b_.CreateBr(region.done);
    }
  }
  b_.SetInsertPoint(region.done);
  if (region.head == nullptr || --loop_depth_ > 0) return;
  f_.checks().sum_up_in(nullptr, nullptr);
  leave_if_suspicious();
}

void FlowEmitter::leave_if_suspicious() {
  if (loop_checks_ != LoopChecks::kOnce) return;
  auto* go_on = new_block("finite");
  llvm::Value* sum = b_.CreateLoad(b_.getDoubleTy(), sum_);
  b_.CreateCondBr(is_nan(b_, sum), suspicious_, go_on,
                  llvm::MDBuilder(b_.getContext()).createBranchWeights(1, 1000));
  b_.SetInsertPoint(go_on);
}

void FlowEmitter::emit(const JumpStep& step) {
  const auto target = std::find_if(
      open_.begin(), open_.end(), [&](const Region& region) { return region.node == step.target; });
  NUMLIFT_CHECK(target != open_.end(), "a jump to %{}, which is not open", index_of(step.target));
  // Out of all loops, past the end of the outermost?
  const auto is_loop = [](const Region& region) { return region.head != nullptr; };
  if (std::find_if(open_.begin(), target, is_loop) == target && !is_loop(*target) &&
      std::any_of(target, open_.end(), is_loop))
    leave_if_suspicious();
  b_.CreateBr(step.again ? target->next : target->done);
  b_.SetInsertPoint(new_block("dead"));  // what follows in the region is never reached
}

void FlowEmitter::emit(const AssignStep& step) {
  std::vector<llvm::Value*> values;
  for (const AssignStep::Assignment& one : step.assignments)
    values.push_back(one.buffer ? load_scalar(*one.buffer, DType::kInt64) : f_.size(one.size));
  for (size_t i = 0; i < values.size(); ++i) set_symbol(step.assignments[i].symbol, values[i]);
}

void FlowEmitter::emit(const CheckStep& step) {
  f_.restart_if(b_.CreateNot(load_scalar(step.condition, DType::kBool)));
}

llvm::Value* FlowEmitter::load_scalar(BufferId id, DType dtype) {
  llvm::Value* memory =
      b_.CreateAlignedLoad(memory_type(b_.getContext(), dtype), f_.buffer(id), llvm::Align(1));
  return from_memory(b_, memory, dtype);
}

void FlowEmitter::set_symbol(SymbolId id, llvm::Value* value) {
  b_.CreateStore(value, f_.symbol_slot(id));
  const std::vector<bool>& shared = f_.program().shared_symbols;
  const auto index = static_cast<uint32_t>(id);
  if (!shared.empty() && !shared[index]) return;
  b_.CreateStore(value, b_.CreateConstGEP1_64(b_.getInt64Ty(), f_.frame_field(0), index));
}

llvm::Value* FlowEmitter::look_at_clock() {
  // Each loop has a pace of its own.
  llvm::AllocaInst* state = entry_alloca(b_, b_.getInt8Ty(), sizeof(PollState));
  state->setAlignment(llvm::Align(alignof(PollState)));
  llvm::IRBuilder<> at(state->getNextNode());
  at.CreateMemSet(state, at.getInt8(0), sizeof(PollState), llvm::Align(alignof(PollState)));
  llvm::Type* pointer = b_.getPtrTy();
  llvm::Value* next = b_.CreateCall(f_.runtime("numlift_poll", b_.getInt64Ty(), {pointer, pointer}),
                                    {f_.frame(), state});
  auto* go_on = new_block("poll.again");
  b_.CreateCondBr(b_.CreateICmpSLE(next, b_.getInt64(0)), interrupted_, go_on,
                  llvm::MDBuilder(b_.getContext()).createBranchWeights(1, 1000));
  b_.SetInsertPoint(go_on);
  leave_if_suspicious();  // a NaN may keep the loop from ending
  return next;
}

void FlowEmitter::emit_poll(llvm::AllocaInst* polls_left) {
  auto* look = new_block("poll");
  auto* go_on = new_block("poll.done");
  llvm::Value* left = b_.CreateNSWSub(b_.CreateLoad(b_.getInt64Ty(), polls_left), b_.getInt64(1));
  b_.CreateStore(left, polls_left);
  b_.CreateCondBr(b_.CreateICmpSLE(left, b_.getInt64(0)), look, go_on,
                  llvm::MDBuilder(b_.getContext()).createBranchWeights(1, 1000));
  b_.SetInsertPoint(look);
  b_.CreateStore(look_at_clock(), polls_left);
  b_.CreateBr(go_on);
  b_.SetInsertPoint(go_on);
}

}  // namespace numlift::codegen::cpu
