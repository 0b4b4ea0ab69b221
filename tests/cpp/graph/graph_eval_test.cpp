// The reference evaluator itself, on results known by hand.
#include "support/graph_eval.h"

#include <gtest/gtest.h>

#include "numlift/graph/builder.h"
#include "numlift/graph/text.h"

namespace numlift::testing {
namespace {

TEST(GraphEval, ViewsStoresAndReductions) {
  GraphBuilder b("f");
  const SizeExpr n = b.symbol(SymbolKind::kDim, 0, 0, 3);
  const NodeId x = b.placeholder(DType::kFloat64, {n});
  const NodeId row = b.elementwise(Op::kMultiply, {b.cast(b.iota({2, n}, 0), DType::kFloat64), x});
  const NodeId sum = b.reduce(Op::kReduceSum, row, {1});
  const NodeId reversed = b.slice(x, 0, n - 1, -1, n);
  b.store(reversed, x);  // overlaps: NumPy reads all before it writes
  b.output(row);
  b.output(sum);
  const Graph graph = b.finish();
  ASSERT_EQ(verify(graph), "");

  const EvalArray input = make_eval_array(DType::kFloat64, {3});
  for (int64_t i = 0; i < 3; ++i) input.set<double>({i}, static_cast<double>(i + 1));
  const EvalResult result = evaluate_graph(graph, {3}, {input});
  EXPECT_EQ(result.outputs[0].get<double>({1, 2}), 3.0);
  EXPECT_EQ(result.outputs[0].get<double>({0, 2}), 0.0);
  EXPECT_EQ(result.outputs[1].get<double>({1}), 6.0);
  EXPECT_EQ(input.get<double>({0}), 3.0);
  EXPECT_EQ(input.get<double>({1}), 2.0);
  EXPECT_EQ(input.get<double>({2}), 1.0);
  EXPECT_FALSE(result.must_restart);
}

TEST(GraphEval, ConditionsAskForARestart) {
  GraphBuilder b("f");
  const NodeId x = b.placeholder(DType::kInt32, {});
  const NodeId zero = b.constant(make_scalar(DType::kInt32, 0), ValueKind::kPyScalar);
  b.set_fp_checks(kFpAll);
  b.output(b.elementwise(Op::kFloorDivide, {x, zero}));
  const Graph graph = b.finish();
  ASSERT_EQ(verify(graph), "");
  EXPECT_TRUE(evaluate_graph(graph, {}, {make_eval_array(DType::kInt32, {})}).must_restart);
}

TEST(GraphEval, ScalarsFollowNumPy) {
  uint8_t conditions = 0;
  auto on_doubles = [&](Op op, double a, double b) {
    const ScalarBits operands[] = {make_scalar(DType::kFloat64, a),
                                   make_scalar(DType::kFloat64, b)};
    return scalar_value<double>(evaluate_scalar(op, operands, DType::kFloat64, &conditions));
  };
  EXPECT_EQ(on_doubles(Op::kFloorDivide, -7.0, 2.0), -4.0);
  EXPECT_EQ(on_doubles(Op::kRemainder, -7.0, 2.0), 1.0);
  EXPECT_EQ(on_doubles(Op::kFmod, -7.0, 2.0), -1.0);
  EXPECT_TRUE(std::isnan(on_doubles(Op::kMaximum, 1.0, NAN)));
  EXPECT_EQ(on_doubles(Op::kFmax, 1.0, NAN), 1.0);
  EXPECT_EQ(conditions, kFpNone);
  on_doubles(Op::kDivide, 1.0, 0.0);
  EXPECT_EQ(conditions, kFpDivide);
  on_doubles(Op::kMultiply, 1e300, 1e300);
  EXPECT_EQ(conditions, kFpOver);
  const ScalarBits lowest[] = {make_scalar(DType::kInt8, int8_t{-128})};
  EXPECT_EQ(
      scalar_value<uint8_t>(evaluate_scalar(Op::kBitwiseCount, lowest, DType::kUInt8, &conditions)),
      1);
}

TEST(GraphEval, ComparesByUlp) {
  const EvalArray a = make_eval_array(DType::kFloat64, {1});
  const EvalArray b = make_eval_array(DType::kFloat64, {1});
  a.set<double>({0}, 1.0);
  b.set<double>({0}, std::nextafter(1.0, 2.0));
  EXPECT_EQ(compare_arrays(a, b), "at [0]: 1, not 1.0000000000000002");
  EXPECT_EQ(compare_arrays(a, b, 1), "");
  b.set<double>({0}, NAN);
  EXPECT_NE(compare_arrays(a, b, 1000), "");
}

}  // namespace
}  // namespace numlift::testing
