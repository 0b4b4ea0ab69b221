// Golden text of each pass (tests/golden/graph/passes: the input, then one section a pass), and
// random graphs that must mean the same after the passes.
#include "numlift/graph/pass.h"

#include <gtest/gtest.h>

#include "numlift/graph/text.h"
#include "support/golden.h"
#include "support/random_graph.h"

namespace numlift::testing {
namespace {

using Pass = void (*)(Graph*);
Pass find_pass(const std::string& name) {
  if (name == "fold") return fold_constants;
  if (name == "cse") return eliminate_common_subexpressions;
  if (name == "dce") return eliminate_dead_code;
  if (name == "default") return run_default_passes;
  return nullptr;
}

TEST(Passes, MatchTheGoldenText) {
  const auto files = golden_files("graph/passes");
  EXPECT_GE(files.size(), 8u);
  for (const auto& path : files) {
    std::vector<GoldenSection> sections = read_golden(path);
    ASSERT_GE(sections.size(), 2u) << path;
    const auto input = parse_graph(sections[0].text);
    ASSERT_TRUE(input) << path << ": " << input.error();
    ASSERT_EQ(verify(*input), "") << path;
    for (size_t i = 1; i < sections.size(); ++i) {
      const Pass pass = find_pass(sections[i].name);
      ASSERT_NE(pass, nullptr) << path << ": " << sections[i].name;
      Graph graph = *input;
      pass(&graph);
      EXPECT_EQ(verify(graph), "") << path;
      sections[i].text = graph_text(graph);
    }
    expect_golden(path, sections);
  }
}

std::vector<EvalArray> copies(const std::vector<EvalArray>& arrays) {
  std::vector<EvalArray> copied;
  for (const EvalArray& array : arrays) copied.push_back(copy_eval_array(array));
  return copied;
}

bool same_memory(const EvalArray& a, const EvalArray& b) { return a.owned == b.owned; }

TEST(Passes, KeepTheMeaningOfRandomGraphs) {
  for (uint32_t seed = 0; seed < 600; ++seed) {
    const RandomGraph made = make_random_graph(seed, 30);
    Graph optimised = made.graph;
    set_verify_enabled(true);
    ASSERT_NO_THROW(run_default_passes(&optimised)) << "seed " << seed;
    set_verify_enabled(false);
    ASSERT_LE(optimised.size(), made.graph.size());

    const auto inputs = copies(made.inputs), inputs_after = copies(made.inputs);
    const EvalResult before = evaluate_graph(made.graph, made.symbols, inputs);
    const EvalResult after = evaluate_graph(optimised, made.symbols, inputs_after);
    const std::string context =
        "seed " + std::to_string(seed) + "\n" + graph_text(made.graph) + graph_text(optimised);
    ASSERT_EQ(before.must_restart, after.must_restart) << context;
    for (size_t i = 0; i < inputs.size(); ++i) {
      ASSERT_EQ(compare_arrays(inputs_after[i], inputs[i]), "") << context;
    }
    for (size_t i = 0; i < before.outputs.size(); ++i) {
      ASSERT_EQ(compare_arrays(after.outputs[i], before.outputs[i]), "") << context;
      // Separate arrays stay separate, shared ones shared. Constants have no memory to share.
      for (size_t j = 0; j < i; ++j) {
        if (made.graph.node(made.graph.outputs[i]).type.value_kind != ValueKind::kArray) continue;
        if (made.graph.node(made.graph.outputs[j]).type.value_kind != ValueKind::kArray) continue;
        ASSERT_EQ(same_memory(after.outputs[i], after.outputs[j]),
                  same_memory(before.outputs[i], before.outputs[j]))
            << context;
        ASSERT_EQ(optimised.outputs[i] == optimised.outputs[j],
                  made.graph.outputs[i] == made.graph.outputs[j])
            << context;
      }
    }
  }
}

// fold on constants equals the reference evaluator wherever it folds at all.
TEST(Passes, FoldedScalarsEqualTheReference) {
  constexpr DType kDTypes[] = {DType::kBool,    DType::kInt8,      DType::kUInt8,   DType::kInt32,
                               DType::kInt64,   DType::kUInt64,    DType::kFloat32, DType::kFloat64,
                               DType::kFloat16, DType::kComplex128};
  constexpr double kValues[] = {0.0, -0.0, 1.0, -1.0, 2.0, 3.0, -7.0, 0.5, 100.0, 1e300, -5e-324};
  int folded = 0;
  for (DType dtype : kDTypes) {
    std::vector<ScalarBits> values;
    for (double value : kValues) {
      uint8_t conditions = 0;
      const ScalarBits scalar =
          cast_scalar(make_scalar(DType::kFloat64, value), dtype, &conditions);
      if ((conditions & kFpInvalid) == 0) values.push_back(scalar);
    }
    if (dtype == DType::kInt8) values.push_back(make_scalar(dtype, int8_t{-128}));
    if (dtype == DType::kInt64) values.push_back(make_scalar(dtype, INT64_MIN));
    if (dtype == DType::kFloat64) values.push_back(make_scalar(dtype, static_cast<double>(NAN)));
#define NUMLIFT_OP(name, arity, cls, ...)                                         \
  if (OpClass::cls == OpClass::kElementwise && (arity) >= 1 && (arity) <= 2) {    \
    for (const ScalarBits& a : values) {                                          \
      for (const ScalarBits& b : values) folded += check_fold(Op::k##name, a, b); \
    }                                                                             \
  }
    auto check_fold = [](Op op, const ScalarBits& a, const ScalarBits& b) {
      if (op == Op::kMakeComplex || op == Op::kCast) return 0;
      GraphBuilder builder("f");
      const NodeId x = builder.constant(a, ValueKind::kNumpyScalar);
      const NodeId y = builder.constant(b, ValueKind::kNumpyScalar);
      NodeId result{};
      try {
        result =
            op_info(op).arity == 2 ? builder.elementwise(op, {x, y}) : builder.elementwise(op, {x});
      } catch (const InternalError&) {
        return 0;  // no such loop
      }
      builder.output(result);
      Graph graph = builder.finish();
      const EvalResult expected = evaluate_graph(graph, {}, std::vector<EvalArray>{});
      fold_constants(&graph);
      const Node& node = graph.node(graph.outputs[0]);
      if (node.op != Op::kConstant) return 0;
      const EvalArray actual = make_eval_scalar(attr_of<ConstantAttr>(node).value);
      EXPECT_EQ(compare_arrays(actual, expected.outputs[0]), "")
          << op_info(op).text << " of " << scalar_text(a) << ", " << scalar_text(b);
      return 1;
    };
#include "numlift/graph/ops.def"
#undef NUMLIFT_OP
  }
  EXPECT_GT(folded, 5000);
}

}  // namespace
}  // namespace numlift::testing
