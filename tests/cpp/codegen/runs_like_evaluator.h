// A program's run against the reference evaluator's: results, changed inputs, restarts.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "codegen/test_host.h"
#include "codegen/test_inputs.h"

namespace numlift::testing {

// Library functions are within 4 ULP, and what is computed from them loses a little more.
inline int64_t tolerance(const Graph& graph) {
  bool library = false, reduced = false;
  for (const Node& node : graph.nodes()) {
    library = library || op_info(node.op).cost == OpCost::kDear;
    reduced = reduced || op_info(node.op).op_class == OpClass::kReduction;
  }
  return reduced ? 256 : (library ? 16 : 0);
}

// Too large for the reference evaluator.
inline bool has_large_array(const Graph& graph, const std::vector<int64_t>& symbols) {
  for (const Node& node : graph.nodes()) {
    double size = 1;
    for (const SizeExpr& dim : node.type.dims) {
      size *= static_cast<double>(evaluate_size(dim, symbols));
    }
    if (size > 300000) return true;
  }
  return false;
}

inline void expect_runs_like_evaluator(const Graph& graph, const codegen::Program& program,
                                       TestHost::Function function,
                                       const std::vector<int64_t>& dims, uint64_t seed) {
  const std::vector<int64_t> symbols = make_symbols(graph, dims);
  if (has_negative_dim(graph, symbols) || has_large_array(graph, symbols)) return;
  const TestInputs inputs = make_inputs(graph, symbols, seed);
  const TestInputs theirs = clone_inputs(inputs), ours = clone_inputs(inputs);
  EvalResult expected;
  try {
    expected = evaluate_graph(graph, theirs.symbols, theirs.arrays);
  } catch (const std::exception& error) {
    // x[5] of three elements, max of none: the guards of such a graph keep these sizes away.
    ASSERT_THAT(error.what(), ::testing::AnyOf(::testing::HasSubstr("outside its operand"),
                                               ::testing::HasSubstr("an extreme of nothing")));
    return;
  }
  TestHost host(program, std::move(function), ours.symbols, ours.arrays);
  const HostResult actual = host.run();
  EXPECT_TRUE(actual.guards_intact);
  ASSERT_EQ(actual.exit_code != 0, expected.must_restart);
  if (expected.must_restart) return;
  ASSERT_EQ(actual.outputs.size(), expected.outputs.size());
  for (size_t i = 0; i < actual.outputs.size(); ++i) {
    EXPECT_EQ(compare_arrays(actual.outputs[i], expected.outputs[i], tolerance(graph)), "")
        << "output " << i;
  }
  for (size_t i = 0; i < ours.arrays.size(); ++i) {
    EXPECT_EQ(compare_arrays(ours.arrays[i], theirs.arrays[i], tolerance(graph)), "")
        << "input " << i;
  }
}

}  // namespace numlift::testing
