#include "forward_stores.h"

#include <llvm/Analysis/AliasAnalysis.h>
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/Analysis/ScalarEvolution.h>
#include <llvm/Analysis/ScalarEvolutionExpressions.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/Module.h>
#include <llvm/Transforms/Utils/ScalarEvolutionExpander.h>

#include <map>
#include <vector>

namespace numlift::codegen::cpu {

namespace {

// Iterations that a value is kept for.
constexpr int64_t kMostDistance = 4;

class LoopForwarder {
 public:
  LoopForwarder(llvm::Loop& loop, llvm::ScalarEvolution& evolution, llvm::DominatorTree& dominators,
                llvm::AAResults& aliases)
      : loop_(loop), scev_(evolution), dominators_(dominators), aliases_(aliases) {}

  bool run() {
    if (loop_.getLoopPreheader() == nullptr || loop_.getLoopLatch() == nullptr) return false;
    if (!find_stores()) return false;
    bool changed = false;
    for (llvm::StoreInst* store : stores_) {
      if (dominators_.dominates(store->getParent(), loop_.getLoopLatch()))
        changed = forward(store) || changed;
    }
    return changed;
  }

 private:
  // False: something else writes memory.
  bool find_stores() {
    for (llvm::BasicBlock* block : loop_.blocks()) {
      for (llvm::Instruction& instruction : *block) {
        if (!instruction.mayWriteToMemory()) continue;
        auto* store = llvm::dyn_cast<llvm::StoreInst>(&instruction);
        if (store == nullptr || !store->isSimple()) return false;
        stores_.push_back(store);
      }
    }
    return !stores_.empty();
  }

  const llvm::SCEVAddRecExpr* walk_of(llvm::Value* pointer) {
    const auto* walk = llvm::dyn_cast<llvm::SCEVAddRecExpr>(scev_.getSCEV(pointer));
    return walk != nullptr && walk->getLoop() == &loop_ && walk->isAffine() ? walk : nullptr;
  }

  std::optional<int64_t> constant(const llvm::SCEV* value) {
    const auto* number = llvm::dyn_cast<llvm::SCEVConstant>(value);
    if (number == nullptr || number->getAPInt().getSignificantBits() > 62) return std::nullopt;
    return number->getAPInt().getSExtValue();
  }

  bool forward(llvm::StoreInst* store) {
    const llvm::SCEVAddRecExpr* stored = walk_of(store->getPointerOperand());
    if (stored == nullptr) return false;
    const llvm::SCEV* step = stored->getStepRecurrence(scev_);
    // By distance. Of the header: it runs in the first iteration whatever the loop does then.
    std::map<int64_t, std::vector<llvm::LoadInst*>> loads;
    for (llvm::Instruction& instruction : *loop_.getHeader()) {
      if (&instruction == store) break;
      auto* load = llvm::dyn_cast<llvm::LoadInst>(&instruction);
      if (load == nullptr || !load->isSimple() ||
          load->getType() != store->getValueOperand()->getType())
        continue;
      const llvm::SCEVAddRecExpr* loaded = walk_of(load->getPointerOperand());
      if (loaded == nullptr || loaded->getStepRecurrence(scev_) != step) continue;
      const llvm::SCEV* ahead = scev_.getMinusSCEV(stored, loaded);
      for (int64_t distance = 1; distance <= kMostDistance; ++distance) {
        if (ahead != scev_.getMulExpr(scev_.getConstant(step->getType(), distance), step)) continue;
        if (keeps(store, step, distance)) loads[distance].push_back(load);
      }
    }
    llvm::Value* later = store->getValueOperand();
    bool changed = false;
    for (int64_t distance = 1; loads.count(distance) != 0; ++distance) {
      llvm::PHINode* value = carry(*loads[distance][0], later);
      if (value == nullptr) break;
      for (llvm::LoadInst* load : loads[distance]) {
        load->replaceAllUsesWith(value);
        scev_.forgetValue(load);
        load->eraseFromParent();
      }
      later = value;
      changed = true;
    }
    return changed;
  }

  // Nothing else is stored to the element up to so many iterations later.
  bool keeps(llvm::StoreInst* store, const llvm::SCEV* step, int64_t distance) {
    const llvm::DataLayout& layout = store->getModule()->getDataLayout();
    const auto size_of = [&](llvm::StoreInst* at) {
      return static_cast<int64_t>(
          layout.getTypeStoreSize(at->getValueOperand()->getType()).getFixedValue());
    };
    const auto anywhere = [](llvm::StoreInst* at) {
      return llvm::MemoryLocation::getBeforeOrAfter(at->getPointerOperand(), at->getAAMetadata());
    };
    const auto stride = constant(step);
    for (llvm::StoreInst* other : stores_) {
      if (other == store || aliases_.isNoAlias(anywhere(store), anywhere(other))) continue;
      const auto apart = constant(scev_.getMinusSCEV(scev_.getSCEV(other->getPointerOperand()),
                                                     scev_.getSCEV(store->getPointerOperand())));
      if (!stride || !apart) return false;
      for (int64_t later = 0; later <= distance; ++later) {
        const int64_t at = *apart + later * *stride;
        if (at < size_of(store) && -at < size_of(other)) return false;
      }
    }
    return true;
  }

  // What `load` gives in the first iteration, then `next` of the one before.
  llvm::PHINode* carry(llvm::LoadInst& load, llvm::Value* next) {
    llvm::BasicBlock* before = loop_.getLoopPreheader();
    const llvm::SCEV* start = walk_of(load.getPointerOperand())->getStart();
    llvm::SCEVExpander expander(scev_, load.getModule()->getDataLayout(), "start");
    if (!expander.isSafeToExpandAt(start, before->getTerminator())) return nullptr;
    llvm::Value* address =
        expander.expandCodeFor(start, load.getPointerOperandType(), before->getTerminator());
    llvm::IRBuilder<> b(before->getTerminator());
    llvm::LoadInst* first = b.CreateAlignedLoad(load.getType(), address, load.getAlign());
    first->setAAMetadata(load.getAAMetadata());
    b.SetInsertPoint(&loop_.getHeader()->front());
    llvm::PHINode* value = b.CreatePHI(load.getType(), 2, "carried");
    value->addIncoming(first, before);
    value->addIncoming(next, loop_.getLoopLatch());
    return value;
  }

  llvm::Loop& loop_;
  llvm::ScalarEvolution& scev_;
  llvm::DominatorTree& dominators_;
  llvm::AAResults& aliases_;
  std::vector<llvm::StoreInst*> stores_;
};

}  // namespace

llvm::PreservedAnalyses ForwardStoresPass::run(llvm::Function& function,
                                               llvm::FunctionAnalysisManager& analyses) {
  llvm::LoopInfo& loops = analyses.getResult<llvm::LoopAnalysis>(function);
  llvm::ScalarEvolution& evolution = analyses.getResult<llvm::ScalarEvolutionAnalysis>(function);
  llvm::DominatorTree& dominators = analyses.getResult<llvm::DominatorTreeAnalysis>(function);
  llvm::AAResults& aliases = analyses.getResult<llvm::AAManager>(function);
  bool changed = false;
  for (llvm::Loop* loop : loops.getLoopsInPreorder()) {
    if (loop->isInnermost())
      changed = LoopForwarder(*loop, evolution, dominators, aliases).run() || changed;
  }
  if (!changed) return llvm::PreservedAnalyses::all();
  llvm::PreservedAnalyses kept;
  kept.preserveSet<llvm::CFGAnalyses>();
  return kept;
}

}  // namespace numlift::codegen::cpu
