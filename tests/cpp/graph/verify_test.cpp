// Each invariant of graph.h, broken once.
#include <gtest/gtest.h>

#include "numlift/graph/builder.h"
#include "numlift/graph/text.h"
#include "numlift/support/options.h"

namespace numlift {
namespace {

constexpr std::string_view kHeader =
    "symbols: s0 = dim(0, 0) ~8, s1 = dim(0, 1) ~4\n"
    "%0: f64[s0, s1] = placeholder() {input=0, strides=[8*s1, 8]}\n"
    "%1: f64[s1] = placeholder() {input=1, strides=[8]}\n"
    "%2: py.f64 = placeholder() {input=2, strides=[]}\n"
    "%3: c128[s0] = placeholder() {input=3, strides=[16]}\n"
    "%4: i64[4] = placeholder() {input=4, strides=[8]}\n";

// What verify() says of the header and these lines.
std::string verdict(const std::string& lines) {
  const auto graph = parse_graph(std::string(kHeader) + lines);
  return graph ? verify(*graph) : "parse error: " + graph.error();
}

TEST(Verify, AcceptsWhatIsSound) {
  EXPECT_EQ(verdict("return %0"), "");
  EXPECT_EQ(verdict("%5: f64[s0, s1] = view(%1) {map=[0:1@1]}\n"
                    "%6: f64[s0, s1] = add(%0, %5) {order=[1, 0], fp=7}\n"
                    "%7: f64[s0, s1] = multiply(%6, %2)\nreturn %7"),
            "");
  EXPECT_EQ(verdict("%5: f64[s1] = view(%0) {map=[0, 0:1@0]}\n"
                    "%6: f64[s0, s1] = store(%5, %2)\nreturn %6\nmutates %6"),
            "");
}

TEST(Verify, OperandsStandBeforeTheirUser) {
  auto graph = parse_graph(std::string(kHeader) + "%5: f64[s1] = negative(%1)\nreturn %5");
  ASSERT_TRUE(graph);
  graph->mutable_node(NodeId{5}).operands[0] = NodeId{5};
  EXPECT_EQ(verify(*graph), "%5 (negative): operand %5 does not stand before it");
}

TEST(Verify, Arity) {
  EXPECT_EQ(verdict("%5: f64[s1] = add(%1)\nreturn %5"), "%5 (add): 1 operands, not 2");
}

TEST(Verify, AttributesBelongToTheOp) {
  EXPECT_EQ(verdict("%5: f64[s1] = negative(%1) {axis=0}\nreturn %5"),
            "%5 (negative): attribute of another op");
  EXPECT_EQ(verdict("%5: f64[] = reduce_sum(%1)\nreturn %5"),
            "%5 (reduce_sum): attribute of another op");
}

TEST(Verify, GatherIndices) {
  EXPECT_EQ(verdict("%5: f64[4] = gather(%1, %4)\nreturn %5"), "");
  EXPECT_EQ(verdict("%5: f64[4] = gather(%0, %4)\nreturn %5"),
            "%5 (gather): not one index an axis of its source");
  EXPECT_EQ(verdict("%5: f64[4] = gather(%2)\nreturn %5"), "%5 (gather): its source has no axes");
  EXPECT_EQ(verdict("%5: f64[s1] = gather(%1, %1)\nreturn %5"), "%5 (gather): index 0 is no int64");
  EXPECT_EQ(verdict("%5: f64[s0] = gather(%1, %4)\nreturn %5"),
            "%5 (gather): index 0 is neither of rank 0 nor of the result's dims");
  EXPECT_EQ(verdict("%5: f32[4] = gather(%1, %4)\nreturn %5"),
            "%5 (gather): its dtype is not its source's");
}

TEST(Verify, GufuncRanks) {
  const std::string loop = "loop: \"matmul.dd->d\" (0, 1), (1, 2?) -> (0, 2?)\n";
  EXPECT_EQ(verdict(loop + "%5: f64[s0] = gufunc(%0, %1) {loop=0}\nreturn %5"), "");
  EXPECT_EQ(verdict(loop + "%5: f64[3, s0] = gufunc(%0, %1) {loop=0}\nreturn %5"), "");
  EXPECT_EQ(verdict(loop + "%5: f64[s0, s0] = gufunc(%0, %2) {loop=0}\nreturn %5"),
            "%5 (gufunc): operand 1 has another rank");
  EXPECT_EQ(verdict(loop + "%5: f64() = gufunc(%0, %1) {loop=0}\nreturn %5"),
            "%5 (gufunc): its rank is not the loop's");
  EXPECT_EQ(verdict(loop + "%5: f64[s0] = gufunc(%0) {loop=0}\nreturn %5"),
            "%5 (gufunc): its loop has other operands");
  EXPECT_EQ(verdict(loop + "%5: f64[s0] = gufunc(%0, %1) {loop=1}\nreturn %5"),
            "%5 (gufunc): no such loop");
}

TEST(Verify, ElementwiseDims) {
  EXPECT_EQ(verdict("%5: f64[s0, s1] = add(%0, %1)\nreturn %5"),
            "%5 (add): operand 1 is f64[s1], neither of rank 0 nor of the result's dims");
  EXPECT_EQ(verdict("%5: f64[s0] = negative(%1)\nreturn %5"),
            "%5 (negative): operand 0 is f64[s1], neither of rank 0 nor of the result's dims");
}

TEST(Verify, ElementwiseDTypes) {
  EXPECT_EQ(verdict("%5: f64[4] = add(%4, %2)\nreturn %5"),
            "%5 (add): operands of i64 and f64: casts are explicit");
  EXPECT_EQ(verdict("%5: i64[4] = sqrt(%4)\nreturn %5"), "%5 (sqrt): no loop for i64");
  EXPECT_EQ(verdict("%5: f32[s1] = sqrt(%1)\nreturn %5"), "%5 (sqrt): its dtype is f32, not f64");
  EXPECT_EQ(verdict("%5: f64[s1] = less(%1, %2)\nreturn %5"),
            "%5 (less): its dtype is f64, not b8");
  EXPECT_EQ(verdict("%5: c128[s0] = absolute(%3)\nreturn %5"),
            "%5 (absolute): its dtype is c128, not f64");
  EXPECT_EQ(verdict("%5: f64[s1] = select(%1, %1, %2)\nreturn %5"),
            "%5 (select): the condition is not bool");
}

TEST(Verify, ScalarsHaveNoDimsAndDimsAreNotNegative) {
  EXPECT_EQ(verdict("%5: f64[-1] = empty()\nreturn %5"), "%5 (empty): a negative dim");
  auto graph = parse_graph(std::string(kHeader) + "%5: f64() = negative(%2)\nreturn %5");
  ASSERT_TRUE(graph);
  graph->mutable_node(NodeId{5}).type.dims = {SizeExpr(1)};
  EXPECT_EQ(verify(*graph), "%5 (negative): a scalar has dims");
}

TEST(Verify, SymbolsAreInTheTable) {
  EXPECT_EQ(verdict("%5: f64[s2] = empty()\nreturn %5"),
            "%5 (empty): s2 is not in the symbol table");
  EXPECT_EQ(verdict("guard: s9 == s0 \"why\"\nreturn %0"),
            "guard \"why\": s9 is not in the symbol table");
}

TEST(Verify, MemoryOrderIsAPermutation) {
  EXPECT_EQ(verdict("%5: f64[s0, s1] = copy(%0) {order=[0, 0]}\nreturn %5"),
            "%5 (copy): the order is no permutation of the axes");
}

TEST(Verify, FloatingPointChecksFitTheOp) {
  EXPECT_EQ(verdict("%5: b8[s1] = isnan(%1) {fp=4}\nreturn %5"),
            "%5 (isnan): floating-point checks on an op that meets no condition");
  EXPECT_EQ(verdict("%5: f64[s1] = sqrt(%1) {fp=8}\nreturn %5"),
            "%5 (sqrt): unknown floating-point checks");
}

TEST(Verify, Leaves) {
  EXPECT_EQ(verdict("%5: f64[s1] = placeholder() {input=1, strides=[8]}\nreturn %5"),
            "%5 (placeholder): its input has a placeholder already");
  EXPECT_EQ(verdict("%5: f64[s1] = placeholder() {input=5, strides=[]}\nreturn %5"),
            "%5 (placeholder): as many strides as dims are needed");
  EXPECT_EQ(verdict("%5: f64[s1] = constant() {value=1}\nreturn %5"),
            "%5 (constant): its rank is not 0");
  EXPECT_EQ(verdict("%5: f64() = size_value() {value=s0}\nreturn %5"),
            "%5 (size_value): it is no int64 of rank 0");
  EXPECT_EQ(verdict("%5: i64[s0] = iota() {axis=1}\nreturn %5"), "%5 (iota): no such axis");
  EXPECT_EQ(verdict("%5: f64() = empty()\nreturn %5"), "%5 (empty): it is no array");
}

TEST(Verify, Views) {
  EXPECT_EQ(verdict("%5: f64[s1] = view(%0) {map=[0:1@0]}\nreturn %5"),
            "%5 (view): the map needs an entry per operand axis");
  EXPECT_EQ(verdict("%5: f64[s1] = view(%0) {map=[0, 0:1@1]}\nreturn %5"),
            "%5 (view): operand axis 1: no such view axis");
  EXPECT_EQ(verdict("%5: f32[s1] = view(%1) {map=[0:1@0]}\nreturn %5"),
            "%5 (view): its dtype differs from the operand's");
  EXPECT_EQ(verdict("%5: i64[3] = view(%4) {map=[2:1@0]}\nreturn %5"),
            "%5 (view): operand axis 0: it reaches outside the operand");
  EXPECT_EQ(verdict("%5: i64[3] = view(%4) {map=[1:-1@0]}\nreturn %5"),
            "%5 (view): operand axis 0: it reaches outside the operand");
  EXPECT_EQ(verdict("%5: i64[0] = view(%4) {map=[4:1@0]}\nreturn %5"), "");
  EXPECT_EQ(verdict("%5: i64[3] = reshape(%4)\nreturn %5"),
            "%5 (reshape): the number of elements changes");
  EXPECT_EQ(verdict("%5: f64[s0 + 1, s1] = reshape(%0)\nreturn %5"), "");  // not provable
  EXPECT_EQ(verdict("%5: f64[s1] = part_view(%1) {part=real}\nreturn %5"),
            "%5 (part_view): its operand is not complex");
  EXPECT_EQ(verdict("%5: f32[s0] = part_view(%3) {part=imag}\nreturn %5"),
            "%5 (part_view): its dtype is not the part's");
}

TEST(Verify, CopiesAndStores) {
  EXPECT_EQ(verdict("%5: f64[s1] = copy(%0)\nreturn %5"),
            "%5 (copy): its dims differ from the operand's");
  EXPECT_EQ(verdict("%5: f64[s0, s1] = store(%0, %1)\nreturn\nmutates %5"),
            "%5 (store): target and value differ in dims");
  EXPECT_EQ(verdict("%5: i64[4] = store(%4, %2)\nreturn\nmutates %5"),
            "%5 (store): target and value differ in dtype");
  EXPECT_EQ(verdict("%5: f64[s1] = view(%0) {map=[0, 0:1@0]}\n"
                    "%6: f64[s1] = store(%5, %1)\nreturn\nmutates %6"),
            "%6 (store): its type differs from its buffer's");
  EXPECT_EQ(verdict("%5: py.f64 = constant() {value=1}\n%6: f64[] = store(%5, %2)\nreturn"),
            "%6 (store): its target's buffer %5 is no memory");
}

TEST(Verify, Reductions) {
  EXPECT_EQ(verdict("%5: f64[s1] = reduce_sum(%0) {axes=[1]}\nreturn %5"),
            "%5 (reduce_sum): its dims are not those that are left");
  EXPECT_EQ(verdict("%5: f64() = reduce_sum(%0) {axes=[1, 0]}\nreturn %5"),
            "%5 (reduce_sum): the axes are not sorted");
  EXPECT_EQ(verdict("%5: f64[s0] = reduce_sum(%0) {axes=[2]}\nreturn %5"),
            "%5 (reduce_sum): no such axis");
  EXPECT_EQ(verdict("%5: f64[s0, s1] = reduce_sum(%0) {axes=[]}\nreturn %5"),
            "%5 (reduce_sum): no axis");
  EXPECT_EQ(verdict("%5: f64() = reduce_argmax(%1) {axes=[0]}\nreturn %5"),
            "%5 (reduce_argmax): its dtype is f64, not i64");
}

TEST(Verify, ExternCalls) {
  EXPECT_EQ(verdict("%5: object = extern(%0) {call=0}\nreturn"),
            "%5 (extern): no such extern call");
  EXPECT_EQ(verdict("%5: f64() = extern_item(%2) {path=[]}\nreturn %5"),
            "%5 (extern_item): its operand is no extern call");
  EXPECT_EQ(verdict("extern: \"f\" pure\n%5: f64() = extern(%0) {call=0}\nreturn"),
            "%5 (extern): its result is read through extern items only");
  EXPECT_EQ(verdict("extern: \"f\" pure\n%5: effect = extern(%0) {call=0}\nreturn %5"),
            "output %5 has no value");
}

TEST(Verify, SizesOfExternResultsAreKnownAfterTheCall) {
  const std::string text =
      "symbols: s0 = extern_dim(%2, 0) ~3\nextern: \"f\" pure\n"
      "%0: f64[{}] = empty()\n%1: object = extern() {call=0}\n"
      "%2: f64[s0] = extern_item(%1) {path=[]}\nreturn %0, %2";
  auto with = [&](const std::string& dim) {
    std::string filled = text;
    filled.replace(filled.find("{}"), 2, dim);
    return verify(*parse_graph(filled));
  };
  EXPECT_EQ(with("4"), "");
  EXPECT_EQ(with("s0"), "%0 (empty): s0 is known only after %2");
}

TEST(Verify, OnlyTheNewestVersionIsRead) {
  EXPECT_EQ(
      verdict("%5: f64[s1] = store(%1, %2)\n%6: f64[s1] = negative(%1)\nreturn %6\nmutates %5"),
      "%6 (negative): it reads version %1, but %5 is newer");
  // A view taken before the store is of the old version.
  EXPECT_EQ(verdict("%5: f64[s1] = view(%1) {map=[s1 - 1:-1@0]}\n%6: f64[s1] = store(%1, %2)\n"
                    "%7: f64[s1] = negative(%5)\nreturn %7\nmutates %6"),
            "%7 (negative): it reads version %1, but %6 is newer");
  EXPECT_EQ(verdict("%5: f64[s1] = store(%1, %2)\n%6: f64[s1] = store(%1, %2)\nreturn\nmutates %6"),
            "%6 (store): it reads version %1, but %5 is newer");
  EXPECT_EQ(verdict("%5: f64[s1] = store(%1, %2)\nreturn %1\nmutates %5"),
            "output %1: it reads version %1, but %5 is newer");
  EXPECT_EQ(
      verdict("%5: f64[s1] = store(%1, %2)\n%6: f64[s1] = negative(%5)\nreturn %6, %5\nmutates %5"),
      "");
}

TEST(Verify, MutatedInputsAreListed) {
  EXPECT_EQ(verdict("%5: f64[s1] = store(%1, %2)\nreturn"),
            "input %1 is stored to but not listed as mutated");
  EXPECT_EQ(verdict("%5: f64[s1] = store(%1, %2)\n%6: f64[s1] = store(%5, %2)\nreturn\nmutates %5"),
            "mutated %5 is not the last version of an input");
  EXPECT_EQ(verdict("%5: f64[s1] = empty()\n%6: f64[s1] = store(%5, %2)\nreturn\nmutates %6"),
            "mutated %6 is not the last version of an input");
}

TEST(Verify, AFailureAfterAStageShowsTheGraph) {
  const auto graph = parse_graph("%0: f64[-1] = empty()\nreturn %0");
  try {
    check_verified(*graph, "a stage");
    FAIL() << "did not throw";
  } catch (const InternalError& error) {
    const std::string text = error.what();
    EXPECT_NE(text.find("after a stage: %0 (empty): a negative dim"), std::string::npos) << text;
    EXPECT_NE(text.find("%0: f64[-1] = empty()"), std::string::npos) << text;
  }
}

TEST(Verify, IsSwitchedByTheOption) {
  set_verify_enabled(true);
  EXPECT_EQ(option_text("verify"), "true");
  EXPECT_EQ(set_option("verify", "0"), "");
  EXPECT_FALSE(verify_enabled());
}

TEST(Builder, RefusesWhatDoesNotFit) {
  GraphBuilder b("f");
  const NodeId x = b.placeholder(DType::kFloat64, {3});
  const NodeId i = b.placeholder(DType::kInt64, {4});
  EXPECT_THROW(b.elementwise(Op::kAdd, {x, i}), InternalError);
  EXPECT_THROW(b.elementwise(Op::kSqrt, {i}), InternalError);
  EXPECT_THROW(b.elementwise(Op::kAdd, {x, b.cast(i, DType::kFloat64)}), InternalError);
}

TEST(Builder, ResultKindsFollowNumPy) {
  GraphBuilder b("f");
  const NodeId zero_d = b.placeholder(DType::kFloat64, {});
  const NodeId number = b.scalar_placeholder(py_scalar_type(DType::kFloat64));
  const NodeId x = b.placeholder(DType::kFloat64, {3});
  EXPECT_EQ(type_text(b.type(b.elementwise(Op::kAdd, {zero_d, zero_d}))), "f64()");
  EXPECT_EQ(type_text(b.type(b.elementwise(Op::kAdd, {number, number}))), "py.f64");
  EXPECT_EQ(type_text(b.type(b.elementwise(Op::kAdd, {number, x}))), "f64[3]");
  EXPECT_EQ(type_text(b.type(b.reduce(Op::kReduceSum, x, {0}))), "f64()");
}

}  // namespace
}  // namespace numlift
