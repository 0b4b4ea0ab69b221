// Transforms on hand-made graphs, with the numbers that the reference evaluator gives. Each op's
// derivative is checked against differences from Python (tests/gradcheck).
#include "numlift/graph/transforms.h"

#include <gtest/gtest.h>

#include <set>

#include "numlift/graph/builder.h"
#include "numlift/graph/text.h"
#include "support/graph_eval.h"

namespace numlift::testing {
namespace {

class NoCalls : public ExternRules {
 public:
  std::vector<NodeId> pull_back(NodeId, std::span<const NodeId>, std::span<const NodeId>,
                                const std::vector<bool>&) override {
    throw TransformRefusal{"no calls here", kNoNode};
  }
  std::vector<NodeId> batch(NodeId, std::span<const NodeId>, std::span<const NodeId>,
                            const std::vector<bool>&, const SizeExpr&) override {
    throw TransformRefusal{"no calls here", kNoNode};
  }
  std::vector<NodeId> repeat(NodeId, std::span<const NodeId>, std::span<const NodeId>) override {
    throw TransformRefusal{"no calls here", kNoNode};
  }
  void drop(NodeId) override {}
};

// A node that nothing before it depends on.
NodeId variable(GraphBuilder& b, NodeId of) {
  Node node;
  node.op = Op::kCast;
  node.operands = {of};
  node.type = b.type(of);
  return b.graph().append(std::move(node));
}

std::vector<double> values(const EvalArray& array) {
  std::vector<double> all;
  for_each_index(array.dims, [&](auto index) {
    all.push_back(array.get<double>({index.begin(), index.end()}));
  });
  return all;
}

EvalArray counted(std::vector<int64_t> dims) {
  EvalArray array = make_eval_array(DType::kFloat64, std::move(dims));
  double next = 1;
  for_each_index(array.dims,
                 [&](auto index) { array.set<double>({index.begin(), index.end()}, next++); });
  return array;
}

TEST(Transforms, EveryOpHasARuleOrAReason) {
  std::set<std::string> reasons;
#define NUMLIFT_OP(name, ...)                                 \
  EXPECT_NE(rule_names(Op::k##name).gradient, "pending");     \
  EXPECT_NE(rule_names(Op::k##name).batching, "pending");     \
  reasons.insert(std::string(gradient_refusal(Op::k##name))); \
  reasons.insert(std::string(batching_refusal(Op::k##name)));
#include "numlift/graph/ops.def"
#undef NUMLIFT_OP
  EXPECT_EQ(gradient_refusal(Op::kSin), "");
  EXPECT_NE(gradient_refusal(Op::kLoop), "");
  EXPECT_NE(gradient_refusal(Op::kLess), "");
  EXPECT_LE(reasons.size(), 8u);
}

TEST(Transforms, PullBackThroughViewsAndStores) {
  GraphBuilder b("f");
  const SizeExpr n = b.symbol(SymbolKind::kDim, 0, 0, 4);
  const NodeId x = variable(b, b.placeholder(DType::kFloat64, {n}));
  // a = x * x; a[:2] = 3 * x[::-1][:2]; sum(a)
  NodeId a = b.elementwise(Op::kMultiply, {x, x});
  const NodeId reversed = b.slice(x, 0, n - 1, -1, n);
  const NodeId three = b.constant(make_scalar(DType::kFloat64, 3.0), ValueKind::kNumpyScalar);
  const NodeId tripled = b.elementwise(Op::kMultiply, {b.slice(reversed, 0, 0, 1, 2), three});
  a = b.store(b.slice(a, 0, 0, 1, 2), tripled);
  const NodeId sum = b.reduce(Op::kReduceSum, a, {0});
  const NodeId one = b.constant(make_scalar(DType::kFloat64, 1.0), ValueKind::kNumpyScalar);
  NoCalls calls;
  const NodeId inputs[] = {x}, outputs[] = {sum}, cotangents[] = {one};
  const auto gradient = pull_back(&b.graph(), inputs, outputs, cotangents, calls);
  ASSERT_TRUE(gradient) << gradient.error().reason;
  b.output(sum);
  b.output((*gradient)[0]);
  const Graph graph = b.finish();
  ASSERT_EQ(verify(graph), "") << graph_text(graph);
  const EvalResult result = evaluate_graph(graph, {4}, {counted({4})});
  EXPECT_EQ(values(result.outputs[0]), std::vector<double>{3 * 4 + 3 * 3 + 9 + 16});
  EXPECT_EQ(values(result.outputs[1]), (std::vector<double>{0, 0, 2 * 3 + 3, 2 * 4 + 3}));
}

TEST(Transforms, PushForwardIsTheTransposedPullBack) {
  GraphBuilder b("f");
  const SizeExpr n = b.symbol(SymbolKind::kDim, 0, 0, 3);
  const NodeId x = variable(b, b.placeholder(DType::kFloat64, {n}));
  const NodeId squares = b.elementwise(Op::kSquare, {x});
  NoCalls calls;
  const NodeId inputs[] = {x}, tangents[] = {x}, outputs[] = {squares};
  const auto change = push_forward(&b.graph(), inputs, tangents, outputs, calls);
  ASSERT_TRUE(change) << change.error().reason;
  b.output((*change)[0]);
  const Graph graph = b.finish();
  ASSERT_EQ(verify(graph), "") << graph_text(graph);
  EXPECT_EQ(values(evaluate_graph(graph, {3}, {counted({3})}).outputs[0]),
            (std::vector<double>{2, 8, 18}));
}

TEST(Transforms, ABatchHasItsAxisFirst) {
  GraphBuilder b("f");
  const SizeExpr m = b.symbol(SymbolKind::kDim, 0, 0, 2), n = b.symbol(SymbolKind::kDim, 0, 1, 3);
  const NodeId all = b.placeholder(DType::kFloat64, {m, n});
  IndexMap first;
  first.axes = {{0, 0, -1}, {0, 1, 0}};
  const NodeId x = variable(b, b.view(all, first, {n}));
  // total = empty(n); total[...] = 1; total[0] = sum(x); total * x
  const NodeId one = b.constant(make_scalar(DType::kFloat64, 1.0), ValueKind::kNumpyScalar);
  const NodeId buffer = b.store(b.empty(DType::kFloat64, {n}), one);
  const NodeId total = b.store(b.slice(buffer, 0, 0, 1, 1), b.reduce(Op::kReduceSum, x, {0}));
  const NodeId product = b.elementwise(Op::kMultiply, {total, x});
  NoCalls calls;
  const NodeId inputs[] = {x}, values_of[] = {all}, outputs[] = {product, one};
  const auto made = batch(&b.graph(), inputs, values_of, m, outputs, calls);
  ASSERT_TRUE(made) << made.error().reason;
  for (NodeId id : *made) b.output(id);
  const Graph graph = b.finish();
  ASSERT_EQ(verify(graph), "") << graph_text(graph);
  const EvalResult result = evaluate_graph(graph, {2, 3}, {counted({2, 3})});
  EXPECT_EQ(values(result.outputs[0]), (std::vector<double>{6, 2, 3, 60, 5, 6}));
  EXPECT_EQ(values(result.outputs[1]), (std::vector<double>{1, 1}));
}

TEST(Transforms, WhatHasNoRuleIsNamed) {
  GraphBuilder b("f");
  const NodeId x = variable(b, b.placeholder(DType::kFloat64, {3}));
  const NodeId call = b.extern_call({"numpy.interp", true, true}, {x});
  const NodeId y = b.extern_item(call, {}, array_type(DType::kFloat64, {3}));
  NoCalls calls;
  const NodeId inputs[] = {x}, outputs[] = {y}, cotangents[] = {x};
  const auto gradient = pull_back(&b.graph(), inputs, outputs, cotangents, calls);
  ASSERT_FALSE(gradient);
  EXPECT_EQ(gradient.error().reason, "no calls here");
}

}  // namespace
}  // namespace numlift::testing
