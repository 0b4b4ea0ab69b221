// Random valid graphs with small inputs, for round trips and for comparing two ways to run them.
// The seed alone decides the graph.
#pragma once

#include <random>
#include <vector>

#include "numlift/graph/builder.h"
#include "support/graph_eval.h"

namespace numlift::testing {

struct RandomGraph {
  Graph graph;
  std::vector<int64_t> symbols;
  std::vector<EvalArray> inputs;
};

class RandomGraphMaker {
 public:
  explicit RandomGraphMaker(uint32_t seed) : random_(seed), builder_("random") {}

  RandomGraph make(int node_count) {
    for (uint32_t i = 0; i < 3; ++i) add_input(i);
    pool_.push_back(builder_.constant(2.5));
    pool_.push_back(builder_.constant(-1.0));
    for (int i = 0; i < node_count; ++i) add_node();
    const int outputs = 1 + pick(3);
    for (int i = 0; i < outputs; ++i) builder_.output(pool_[below(pool_.size())]);
    made_.graph = builder_.finish();
    return std::move(made_);
  }

 private:
  int pick(int count) { return std::uniform_int_distribution<int>(0, count - 1)(random_); }
  size_t below(size_t count) { return static_cast<size_t>(pick(static_cast<int>(count))); }

  // Dims are n = 4 and m = 3 by symbol, or 1.
  void add_input(uint32_t input) {
    if (sizes_.empty()) {
      sizes_ = {builder_.symbol(SymbolKind::kDim, 0, 0, 4),
                builder_.symbol(SymbolKind::kDim, 0, 1, 3)};
      made_.symbols = {4, 3};
    }
    const std::vector<SizeExpr> shapes[] = {{sizes_[0], sizes_[1]}, {sizes_[1]}, {sizes_[0], 1}};
    const std::vector<int64_t> dims[] = {{4, 3}, {3}, {4, 1}};
    pool_.push_back(builder_.placeholder(DType::kFloat64, shapes[input]));
    EvalArray array = make_eval_array(DType::kFloat64, dims[input]);
    for_each_index(array.dims, [&](auto index) {
      array.store(index, make_scalar(DType::kFloat64, static_cast<double>(pick(9) - 4)));
    });
    made_.inputs.push_back(array);
  }

  NodeId any() { return pool_[below(pool_.size())]; }
  NodeId any_array() {
    for (;;) {
      const NodeId id = any();
      if (builder_.type(id).rank() > 0) return id;
    }
  }
  // An operand that broadcasts with `other`.
  NodeId partner(NodeId other) {
    for (int tries = 0; tries < 20; ++tries) {
      const NodeId id = any();
      if (builder_.type(id).dims == builder_.type(other).dims || builder_.type(id).rank() == 0) {
        return id;
      }
    }
    return other;
  }

  void add_node() {
    builder_.set_fp_checks(pick(4) == 0 ? kFpAll : kFpNone);
    builder_.set_location({"user.py", "f", 1 + pick(5)});
    constexpr Op kUnary[] = {Op::kNegative, Op::kAbsolute, Op::kSquare, Op::kFloor, Op::kSqrt};
    constexpr Op kBinary[] = {Op::kAdd, Op::kSubtract, Op::kMultiply, Op::kMaximum, Op::kDivide};
    switch (pick(9)) {
      case 0:
        pool_.push_back(builder_.elementwise(kUnary[below(5)], {any()}));
        break;
      case 1:
      case 2:
      case 3: {
        const NodeId a = any();
        pool_.push_back(builder_.elementwise(kBinary[below(5)], {a, partner(a)}));
        break;
      }
      case 4: {
        const NodeId a = any();
        const NodeId b = partner(a);
        pool_.push_back(builder_.select(builder_.elementwise(Op::kLess, {a, b}), a, b));
        break;
      }
      case 5: {
        const NodeId a = any_array();
        pool_.push_back(builder_.reduce(pick(2) == 0 ? Op::kReduceSum : Op::kReduceMax, a,
                                        {pick(builder_.type(a).rank())}));
        break;
      }
      case 6: {
        const NodeId a = any_array();
        std::vector<int> axes;
        for (int i = builder_.type(a).rank(); i-- > 0;) axes.push_back(i);
        pool_.push_back(builder_.transpose(a, axes));
        break;
      }
      case 7: {
        const NodeId a = any_array();
        const SizeExpr extent = builder_.type(a).dims[0];
        if (pick(2) == 0) {
          pool_.push_back(builder_.slice(a, 0, extent - 1, -1, extent));
        } else {
          pool_.push_back(builder_.copy(a));
        }
        break;
      }
      default:
        add_store();
    }
  }

  // Stores to a view of an array; older versions and their views leave the pool.
  void add_store() {
    const NodeId target = any_array();
    const NodeId buffer = builder_.graph().buffer_of(target);
    if (is_broadcast(target)) return;
    const NodeId version = builder_.store(target, partner(target));
    std::vector<NodeId> kept;
    for (NodeId id : pool_) {
      if (builder_.graph().buffer_of(id) != buffer) kept.push_back(id);
    }
    pool_ = std::move(kept);
    pool_.push_back(version);
  }

  // A constant is no memory; an element that a view repeats cannot be stored to.
  bool is_broadcast(NodeId id) {
    const Graph& graph = builder_.graph();
    for (NodeId at = id; op_info(graph.node(at).op).op_class == OpClass::kView;
         at = graph.node(at).operands[0]) {
      const auto* view = std::get_if<ViewAttr>(&graph.node(at).attr);
      if (view == nullptr) continue;
      for (const IndexMap::Axis& axis : view->map.axes) {
        if (axis.axis < 0) return true;
      }
    }
    return graph.node(graph.buffer_of(id)).type.value_kind != ValueKind::kArray;
  }

  std::mt19937 random_;
  GraphBuilder builder_;
  RandomGraph made_;
  std::vector<SizeExpr> sizes_;
  std::vector<NodeId> pool_;
};

inline RandomGraph make_random_graph(uint32_t seed, int node_count) {
  return RandomGraphMaker(seed).make(node_count);
}

}  // namespace numlift::testing
