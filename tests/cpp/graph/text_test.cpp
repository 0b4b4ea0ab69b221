#include "numlift/graph/text.h"

#include <gtest/gtest.h>

#include "numlift/graph/builder.h"
#include "support/golden.h"
#include "support/random_graph.h"

namespace numlift::testing {
namespace {

// One of every kind of line and attribute.
Graph make_everything() {
  GraphBuilder b("outer.<locals>.f");
  const SizeExpr n = b.symbol(SymbolKind::kDim, 0, 0, 1024);
  const SizeExpr m = b.symbol(SymbolKind::kDim, 0, 1, 64);
  const SizeExpr stride = b.symbol(SymbolKind::kStride, 1, 0, 16);
  const SizeExpr k = b.symbol(SymbolKind::kInt, 3, 0, 5);
  b.graph().size_guards.push_back(
      {SizeGuard::Relation::kLessEqual, k, n, "the slice's \"stop\" is inside", ""});
  b.graph().loops.push_back(NumpyLoopInfo{"gcd.ll->l", nullptr, nullptr});
  b.graph().loops.push_back(
      {"matmul.dd->d", nullptr, nullptr, {{{0}, {1}}, {{1}, {2, true}}, {{0}, {2, true}}}});
  b.graph().loops.push_back({"det.d->d", nullptr, nullptr, {{{0}, {0}}, {}}});

  const NodeId x = b.placeholder(DType::kFloat64, {n, m});
  const NodeId y = b.placeholder(DType::kComplex64, {m}, {stride});
  const NodeId t = b.scalar_placeholder(py_scalar_type(DType::kFloat64));
  b.set_location({"user.py", "f", 12});
  b.set_fp_checks(kFpAll);
  const NodeId scaled = b.elementwise(Op::kMultiply, {x, t}, {1, 0});
  const NodeId part = b.part(y, true);
  const NodeId wide = b.cast(part, DType::kFloat64);
  const NodeId sum = b.reduce(Op::kReduceSum, b.elementwise(Op::kAdd, {scaled, wide}), {0, 1});
  b.set_location({"a dir/in it.py", "g", 3});
  const NodeId count = b.size(k * 2 - 1);
  const NodeId row = b.iota({n, m}, 1);
  const NodeId gcd = b.numpy_loop(0, std::vector<NodeId>{row, count}, DType::kInt64);
  const NodeId product =
      b.gufunc(1, {x, b.cast(part, DType::kFloat64)}, array_type(DType::kFloat64, {n}));
  const NodeId flat = b.reshape(gcd, {n * m});
  const NodeId fresh = b.empty(DType::kFloat64, {n, m});
  const NodeId filled =
      b.store(b.slice(fresh, 0, n - 1, -2, SizeExpr::floor_div(n, 2)), b.constant(-0.5));
  const NodeId call = b.extern_call({"numpy.linalg.eig", true, true}, {filled});
  const SizeExpr found =
      b.symbol(SymbolKind::kExternDim, static_cast<uint32_t>(b.graph().size()), 0, 7);
  const NodeId item = b.extern_item(call, {0}, array_type(DType::kComplex128, {found}));
  const NodeId i = b.constant(make_scalar(DType::kComplex128, std::complex<double>(0, 1)),
                              ValueKind::kNumpyScalar);
  b.store(b.view(x, IndexMap{{{0, 0, -1}, {0, 1, 0}}}, {m}), wide);
  for (NodeId id : {sum, flat, product, b.elementwise(Op::kMultiply, {item, i}), call, sum})
    b.output(id);
  return b.finish();
}

TEST(GraphText, OfEveryKindOfLineIsGolden) {
  const Graph graph = make_everything();
  ASSERT_EQ(verify(graph), "");
  expect_golden(golden_path("graph/text/everything.txt"),
                {{"graph", graph_text(graph)}, {"table", graph_table(graph)}});
}

TEST(GraphText, ExternItemsInAnotherOrderKeepTheirStrides) {
  const std::string text = R"(graph f(1 inputs)
symbols: s0 = dim(0, 0) ~3, s1 = dim(0, 1) ~4
extern: "numpy.linalg.eigh" pure may_raise
%0: f64[s0, s1] = placeholder() {input=0, strides=[8*s1, 8]}
%1: object = extern(%0) {call=0}
%2: f64[s0, s1] = extern_item(%1) {path=[1], strides=[8, 8*s0]}
return %2
)";
  const auto parsed = parse_graph(text);
  ASSERT_TRUE(parsed) << parsed.error();
  EXPECT_EQ(verify(*parsed), "");
  EXPECT_EQ(graph_text(*parsed), text);
  const auto& item = attr_of<ExternItemAttr>(parsed->node(NodeId{2}));
  EXPECT_EQ(item.strides, (std::vector<SizeExpr>{8, SizeExpr(8) * SizeExpr::symbol(SymbolId{0})}));
  std::string wrong = text;
  wrong.replace(wrong.find("[8, 8*s0]"), 9, "[8]");
  EXPECT_NE(verify(*parse_graph(wrong)).find("strides"), std::string::npos);
}

TEST(GraphText, ParsesToAnEqualGraph) {
  const Graph graph = make_everything();
  const auto parsed = parse_graph(graph_text(graph));
  ASSERT_TRUE(parsed) << parsed.error();
  EXPECT_EQ(graph_text(*parsed), graph_text(graph));
  EXPECT_EQ(verify(*parsed), "");
  EXPECT_EQ(parsed->name, graph.name);
  EXPECT_EQ(parsed->symbols, graph.symbols);
  EXPECT_EQ(parsed->size_guards, graph.size_guards);
  EXPECT_EQ(parsed->outputs, graph.outputs);
  EXPECT_EQ(parsed->mutated_inputs, graph.mutated_inputs);
  ASSERT_EQ(parsed->size(), graph.size());
  for (uint32_t i = 0; i < graph.size(); ++i) {
    const Node& a = graph.node(NodeId{i});
    const Node& b = parsed->node(NodeId{i});
    EXPECT_EQ(a.op, b.op);
    EXPECT_EQ(a.operands, b.operands);
    EXPECT_EQ(a.attr, b.attr) << "%" << i;
    EXPECT_EQ(a.type, b.type);
    EXPECT_EQ(a.order, b.order);
    EXPECT_EQ(a.fp_checks, b.fp_checks);
    EXPECT_EQ(graph.locations[a.location], parsed->locations[b.location]);
  }
}

TEST(GraphText, RandomGraphsRoundTrip) {
  for (uint32_t seed = 0; seed < 300; ++seed) {
    const Graph graph = make_random_graph(seed, 25).graph;
    ASSERT_EQ(verify(graph), "") << "seed " << seed << "\n" << graph_text(graph);
    const auto parsed = parse_graph(graph_text(graph));
    ASSERT_TRUE(parsed) << "seed " << seed << ": " << parsed.error();
    ASSERT_EQ(graph_text(*parsed), graph_text(graph)) << "seed " << seed;
  }
}

TEST(GraphText, ErrorsNameLineAndCause) {
  auto error = [](std::string_view text) {
    auto parsed = parse_graph(text);
    return parsed ? std::string("parsed") : parsed.error();
  };
  EXPECT_EQ(error("graph f(0 inputs)\n%1: f64[] = empty()\nreturn"),
            "line 2: %1 stands where %0 must");
  EXPECT_EQ(error("%0: f65[] = empty()\nreturn"), "line 1: unknown dtype \"f65\"");
  EXPECT_EQ(error("%0: f64[] = emty()\nreturn"), "line 1: unknown op \"emty\"");
  EXPECT_EQ(error("%0: f64[] = copy(%0)\nreturn"), "line 1: %0 is not defined above");
  EXPECT_EQ(error("%0: f64[s0 = empty()\nreturn"), "line 1: expected \"]\" before \"= empty()\"");
  EXPECT_EQ(error("%0: f64[] = empty() {colour=3}\nreturn"),
            "line 1: unknown attribute \"colour\"");
  EXPECT_EQ(error("%0: i8() = constant() {value=300}\nreturn"), "line 1: no i8: 300");
  EXPECT_EQ(error("symbols: s1 = dim(0, 0) ~3\nreturn"), "line 1: symbols are out of order");
  EXPECT_EQ(error("guard: s0 ~ s1 \"x\"\nreturn"), "line 1: expected a relation");
  EXPECT_EQ(error("guard: s0 == s1 \"x\nreturn"), "line 1: a string has no end");
  EXPECT_EQ(error("%0: f64[] = empty() trailing\nreturn"), "line 1: unexpected \"trailing\"");
  EXPECT_EQ(error("return %0"), "line 1: %0 is not defined above");
  EXPECT_EQ(error("graph f(0 inputs)\n"), "line 1: no return line");
}

}  // namespace
}  // namespace numlift::testing
