// Random graphs with nested loops, ifs and blocks over small arrays. `loose` is what a tracer would
// write down: the evaluator gives it its meaning. `settled` must mean the same.
#pragma once

#include <random>
#include <vector>

#include "support/graph_eval.h"
#include "support/loose_graph.h"

namespace numlift::testing {

struct RandomRegions {
  Graph loose, settled;
  std::vector<int64_t> symbols;
  std::vector<EvalArray> inputs;
};

class RandomRegionsMaker {
 public:
  explicit RandomRegionsMaker(uint32_t seed) : random_(seed) {}

  RandomRegions make(int node_count) {
    const SizeExpr n = b_.symbol(SymbolKind::kDim, 0, 0, kExtent);
    dims_ = {n};
    for (int i = 0; i < 2; ++i) {
      arrays_.push_back(b_.placeholder(DType::kFloat64, dims_));
      EvalArray array = make_eval_array(DType::kFloat64, {kExtent});
      for (int64_t at = 0; at < kExtent; ++at) {
        array.set<double>({at}, static_cast<double>(pick(9) - 4));
      }
      made_.inputs.push_back(array);
    }
    for (double value : {0.0, 1.5}) {
      arrays_.push_back(b_.empty(DType::kFloat64, {}));
      b_.store(arrays_.back(), b_.constant(value));
    }
    scalars_.push_back(b_.constant(-1.0));
    indices_.push_back(SizeExpr(1));
    b_.end(b_.block());  // without a region there is nothing to settle
    left_ = node_count;
    while (left_ > 0) add(0);
    for (size_t i = 0; i < arrays_.size(); ++i) b_.output(arrays_[i]);
    b_.output(arrays_[0]);
    made_.loose = b_.finish();
    made_.settled = made_.loose;
    settle_regions(&made_.settled, {});
    made_.symbols.assign(made_.loose.symbols.size(), -1000);  // what is not set yet is outside
    made_.symbols[0] = kExtent;
    return std::move(made_);
  }

 private:
  static constexpr int64_t kExtent = 4;

  int pick(int count) { return std::uniform_int_distribution<int>(0, count - 1)(random_); }
  template <class T>
  const T& any(const std::vector<T>& items) {
    return items[static_cast<size_t>(pick(static_cast<int>(items.size())))];
  }

  // What is made in a region is not seen outside it.
  struct Scope {
    size_t arrays, scalars, indices;
  };
  Scope scope() const { return {arrays_.size(), scalars_.size(), indices_.size()}; }
  void leave(const Scope& scope) {
    arrays_.resize(scope.arrays);
    scalars_.resize(scope.scalars);
    indices_.resize(scope.indices);
  }

  NodeId element() {
    const NodeId array = any(arrays_);
    if (b_.type(array).rank() == 0) return array;
    return b_.view(array, IndexMap{{{any(indices_), 0, -1}}}, {});
  }
  NodeId scalar() { return pick(2) == 0 ? any(scalars_) : element(); }
  NodeId condition() { return b_.elementwise(Op::kLess, {scalar(), scalar()}); }
  NodeId operand() { return pick(2) == 0 ? any(arrays_) : any(scalars_); }
  bool is_long(NodeId id) { return b_.type(id).rank() > 0; }

  void add(int depth) {
    --left_;
    b_.set_fp_checks(pick(12) == 0 ? kFpAll : kFpNone);
    switch (pick(12)) {
      case 0:
        if (depth < 3) return add_loop(depth);
        break;
      case 1:
        if (depth < 3) return add_if(depth);
        break;
      case 2:
        if (depth < 3) return add_block(depth);
        break;
      case 3:
        if (!open_.empty() && pick(2) == 0) return add_leave();
        break;
      case 4:
        if (pick(8) == 0) b_.check(condition());
        return;
      case 5:
        scalars_.push_back(b_.elementwise(Op::kAdd, {element(), scalar()}));
        return;
      case 6: {
        const NodeId value = scalar();  // not of the array itself, which has none yet
        const bool is_copy = pick(2) == 0;
        arrays_.push_back(is_copy ? b_.copy(any(arrays_)) : b_.empty(DType::kFloat64, dims_));
        if (!is_copy) b_.store(arrays_.back(), value);
        return;
      }
      case 7: {
        const NodeId array = any(arrays_);
        if (is_long(array)) arrays_.push_back(b_.slice(array, 0, kExtent - 1, -1, dims_[0]));
        return;
      }
      case 8: {
        constexpr Op kOps[] = {Op::kAdd, Op::kMultiply, Op::kMaximum, Op::kSubtract};
        const Op op = kOps[pick(4)];
        const NodeId made = b_.elementwise(op, {any(arrays_), operand()});
        (is_long(made) ? arrays_ : scalars_).push_back(made);
        return;
      }
      default:
        break;
    }
    add_store();
  }

  void add_store() {
    const NodeId target = pick(3) == 0 ? element() : any(arrays_);
    const NodeId value = pick(2) == 0 ? scalar() : operand();
    // A value that grows in every iteration becomes infinite, and hides what differs.
    const NodeId bounded = b_.elementwise(
        Op::kMinimum,
        {b_.elementwise(Op::kMaximum, {value, b_.constant(-50.0)}), b_.constant(50.0)});
    if (is_long(target) || !is_long(bounded)) b_.store(target, bounded);
  }

  void add_body(int depth) {
    for (int i = 2 + pick(5); i > 0 && left_ > 0; --i) add(depth + 1);
  }

  // A symbol steps through the indices beside the counter: 0, 1, .. modulo the extent.
  void add_loop(int depth) {
    const SizeExpr state = b_.symbol(SymbolKind::kRun, 0, 0, 0);
    b_.assign({state}, {b_.size(SizeExpr(pick(3)))});
    show(state);
    const bool is_counted = pick(2) == 0;
    const NodeId loop = b_.loop(is_counted ? std::optional(SizeExpr(pick(5))) : std::nullopt);
    const Scope outside = scope();
    const SizeExpr counter = SizeExpr::floor_mod(b_.counter(loop), dims_[0]);
    indices_.insert(indices_.end(), {state, counter, kExtent - 1 - state});
    open_.push_back({loop, state});
    if (!is_counted) {
      const NodeId branch = b_.begin_if(
          b_.elementwise(Op::kLess, {b_.constant(int64_t{pick(4)}), b_.size(b_.counter(loop))}));
      b_.leave(Op::kBreak, loop);
      b_.end(branch);
    }
    add_body(depth);
    show(state);
    step(state);
    open_.pop_back();
    b_.end(loop);
    leave(outside);
    show(state);
    indices_.push_back(state);
  }

  void step(const SizeExpr& state) {
    b_.assign({state}, {b_.size(SizeExpr::floor_mod(state + 1, dims_[0]))});
  }

  // Into memory: nothing made with the symbol is used later.
  void show(const SizeExpr& state) {
    const NodeId value = b_.cast(b_.size(state), DType::kFloat64);
    b_.store(arrays_[2], b_.elementwise(Op::kAdd, {value, arrays_[2]}));
  }

  void add_if(int depth) {
    const NodeId branch = b_.begin_if(condition());
    const Scope outside = scope();
    add_body(depth);
    leave(outside);
    if (pick(2) == 0) {
      b_.begin_else(branch);
      add_body(depth);
      leave(outside);
    }
    b_.end(branch);
  }

  void add_block(int depth) {
    const NodeId block = b_.block();
    const Scope outside = scope();
    open_.push_back({block, std::nullopt});
    add_body(depth);
    open_.pop_back();
    b_.end(block);
    leave(outside);
  }

  void add_leave() {
    const Open target = any(open_);
    const NodeId branch = b_.begin_if(condition());
    if (target.state) step(*target.state);
    b_.leave(target.state && pick(2) == 0 ? Op::kContinue : Op::kBreak, target.begin);
    b_.end(branch);
  }

  struct Open {
    NodeId begin;
    std::optional<SizeExpr> state;  // of loops
  };

  std::mt19937 random_;
  LooseGraph b_;
  RandomRegions made_;
  std::vector<SizeExpr> dims_;
  std::vector<NodeId> arrays_, scalars_;  // arrays of dims_ or rank 0; values of rank 0
  std::vector<SizeExpr> indices_;         // inside the extent
  std::vector<Open> open_;
  int left_ = 0;
};

inline RandomRegions make_random_regions(uint32_t seed, int node_count) {
  return RandomRegionsMaker(seed).make(node_count);
}

}  // namespace numlift::testing
