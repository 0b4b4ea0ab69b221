// Reductions down the rows of row-major data. As scheduled, a vector loop over columns holds the
// loop over rows; here the two are interchanged within tiles of columns, so that rows are read
// along.
#include <algorithm>

#include "emit_nest.h"
#include "numlift/support/check.h"
#include "target.h"

namespace numlift::codegen::cpu {

namespace {

const Loop& loop_at(const LoopNest& nest, VarId var) {
  return nest.loops[static_cast<uint32_t>(var)];
}

SizeExpr stride_along(const Access& access, VarId var) {
  SizeExpr total(0);
  for (const auto& [stride_var, stride] : access.strides)
    if (stride_var == var) total = total + stride;
  return total;
}

// The only loop in the body; it must be a plain reduction loop that ends before everything else but
// values that cost nothing to repeat.
const Item* inner_loop(const LoopNest& nest, const std::vector<Item>& body) {
  const Item* found = nullptr;
  for (const Item& item : body) {
    if (item.kind == Item::Kind::kLoop) {
      if (found) return nullptr;
      found = &item;
    } else if (!found) {
      if (item.kind == Item::Kind::kStore) return nullptr;
      if (nest.values[item.index].kind == Value::Kind::kOp) return nullptr;
    }
  }
  return found;
}

}  // namespace

bool NestEmitter::is_column_reduction(VarId var) const {
  constexpr int64_t kFewRows = 16;  // accumulators in registers do better
  const Item* item = inner_loop(nest_, loop_at(nest_, var).body);
  if (!item) return false;
  const VarId row_var{item->index};
  const Loop& rows = loop_at(nest_, row_var);
  if (!rows.reduction || rows.reductions.empty()) return false;
  if (const auto extent = rows.extent.constant(); extent && *extent <= kFewRows) return false;
  for (const Reduction& reduction : rows.reductions)
    if (reduction.loops.size() != 1) return false;
  bool along = false;
  for (const Item& inner : rows.body) {
    if (inner.kind != Item::Kind::kValue) return false;
    const Value& value = nest_.values[inner.index];
    if (value.kind != Value::Kind::kLoad) continue;
    if (!value.operands.empty()) return false;
    const SizeExpr column = stride_along(value.access, var);
    if (column == SizeExpr(0)) continue;
    if (column != SizeExpr(item_size(value.dtype))) return false;
    along |= stride_along(value.access, row_var) != SizeExpr(0);
  }
  return along;
}

int64_t NestEmitter::chunk_granule(VarId var) const {
  const Loop& loop = loop_at(nest_, var);
  if (!loop.vector) return 1;
  if (!loop.reduction && is_column_reduction(var)) return kColumnBytes / widest_bytes(var);
  return 64;
}

// Full vectors, then one masked: step(index).
template <class Step>
void NestEmitter::each_vector_of(VarId var, llvm::Value* begin, llvm::Value* end, unsigned lanes,
                                 Step step) {
  llvm::Value* length = b_.CreateNSWSub(end, begin);
  llvm::Value* full_end =
      b_.CreateNSWAdd(begin, b_.CreateAnd(length, b_.getInt64(~uint64_t{lanes - 1})));
  const auto at = [&](llvm::Value* index, llvm::Value* mask) {
    lanes_ = {lanes, var, mask};
    vars_[static_cast<uint32_t>(var)] = index;
    step(index);
    f_.checks().flush();
    lanes_ = {};
  };
  f_.counted_loop(begin, full_end, b_.getInt64(lanes), "vector",
                  [&](llvm::Value* index) { at(index, nullptr); });
  f_.guarded(b_.CreateICmpSLT(full_end, end), "tail",
             [&] { at(full_end, active_mask(full_end, end, lanes)); });
}

void NestEmitter::emit_column_reduction(VarId var, llvm::Value* begin, llvm::Value* end) {
  const std::vector<Item>& body = loop_at(nest_, var).body;
  const Item* item = inner_loop(nest_, body);
  const auto split = body.begin() + (item - body.data());
  const std::vector<Item> before(body.begin(), split), after(split + 1, body.end());
  const VarId row_var{item->index};
  const Loop& rows = loop_at(nest_, row_var);
  const unsigned widest = widest_bytes(var);
  const unsigned lanes = host_target().vector_bytes / widest;
  const unsigned tile = kColumnBytes / widest;

  std::vector<Accumulator> accumulators;
  for (const Reduction& reduction : rows.reductions) {
    const DType dtype = nest_.values[static_cast<uint32_t>(reduction.operand)].dtype;
    accumulators.emplace_back(f_, reduction, dtype, lanes, tile, Accumulator::Layout::kColumns);
  }
  const auto minimum = [&](llvm::Value* a, llvm::Value* b) {
    return b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, a, b);
  };
  llvm::Value* row_count = f_.size(rows.extent);
  f_.counted_loop(begin, end, b_.getInt64(tile), "tile", [&](llvm::Value* first) {
    llvm::Value* last = minimum(b_.CreateNSWAdd(first, b_.getInt64(tile)), end);
    llvm::Value* width = b_.CreateNSWSub(last, first);
    for (Accumulator& accumulator : accumulators) {
      accumulator.begin_columns(width);
      if (!accumulator.pairwise()) accumulator.begin_column_block(width);
    }
    llvm::Value* block_rows = b_.getInt64(kScalarBlock);
    f_.counted_loop(b_.getInt64(0), row_count, block_rows, "block", [&](llvm::Value* block) {
      for (Accumulator& accumulator : accumulators)
        if (accumulator.pairwise()) accumulator.begin_column_block(width);
      llvm::Value* block_end = minimum(b_.CreateNSWAdd(block, block_rows), row_count);
      f_.counted_loop(block, block_end, b_.getInt64(1), "row", [&](llvm::Value* row) {
        vars_[static_cast<uint32_t>(row_var)] = row;
        open_loops_.insert(open_loops_.end() - 1, row_var);
        each_vector_of(var, first, last, lanes, [&](llvm::Value* index) {
          emit_items(before);
          emit_items(rows.body);
          llvm::Value* lane = b_.CreateNSWSub(index, first);
          for (size_t i = 0; i < accumulators.size(); ++i)
            accumulators[i].add_columns(lane, contribution(rows.reductions[i], row_var),
                                        lanes_.mask);
        });
        open_loops_.erase(open_loops_.end() - 2);
      });
      for (Accumulator& accumulator : accumulators)
        if (accumulator.pairwise()) accumulator.end_column_block(width);
    });
    for (Accumulator& accumulator : accumulators) accumulator.end_columns(width);
    each_vector_of(var, first, last, lanes, [&](llvm::Value* index) {
      emit_items(before);
      llvm::Value* lane = b_.CreateNSWSub(index, first);
      for (size_t i = 0; i < accumulators.size(); ++i)
        define(rows.reductions[i], row_var, accumulators[i].column_results(lane, lanes_.mask));
      emit_items(after);
    });
  });
}

}  // namespace numlift::codegen::cpu
