// Graphs with loops and branches, compiled and run beside the reference evaluator.
#pragma once

#include <gtest/gtest.h>

#include "codegen/test_host.h"
#include "codegen/test_inputs.h"
#include "numlift/graph/regions.h"
#include "numlift/graph/text.h"
#include "numlift/support/check.h"
#include "schedule/print.h"

namespace numlift::testing {

// The text names any version of a buffer; versions and merges are settled here.
inline Graph graph_of(const std::string& text) {
  auto parsed = parse_graph(text);
  NUMLIFT_CHECK(bool(parsed), "{}", parsed.error());
  Graph graph = std::move(*parsed);
  settle_regions(&graph, {});
  const std::string error = verify(graph);
  NUMLIFT_CHECK(error.empty(), "{}\n{}", error, graph_text(graph));
  return graph;
}

class ControlFlow : public ::testing::Test {
 protected:
  void SetUp() override {
    set_verify_enabled(true);
    codegen::initialize_native();
  }

  void compile(const std::string& text) { compile(graph_of(text)); }
  void compile(Graph graph) {
    graph_ = std::move(graph);
    compiled_ = codegen::compile_graph(graph_);
    precise_ = nullptr;
    text_ = codegen::program_text(compiled_->program);
  }

  // `values`: of the first symbols, dims and Python ints. Inputs beside arrays are left out.
  TestInputs inputs(const std::vector<int64_t>& values, uint64_t seed = 1) const {
    std::vector<int64_t> symbols = graph_.symbol_hints();
    std::copy(values.begin(), values.end(), symbols.begin());
    return make_inputs(graph_, std::move(symbols), seed);
  }

  // Results lie in its memory.
  TestHost& new_host(codegen::ProgramFunction function, const TestInputs& inputs) {
    hosts_.push_back(
        std::make_unique<TestHost>(compiled_->program, function, inputs.symbols, inputs.arrays));
    return *hosts_.back();
  }

  HostResult run(const TestInputs& inputs) {
    TestHost& host = new_host(compiled_->code->function(), inputs);
    host.stop_at_poll = stop_at_poll_;
    const TestInputs before = clone_inputs(inputs);
    HostResult result = host.run();
    polls_ = host.polls;
    is_suspicious_ = host.is_suspicious;
    if (is_suspicious_) {
      for (size_t i = 0; i < inputs.arrays.size(); ++i) {
        if (inputs.arrays[i].owned) *inputs.arrays[i].owned = *before.arrays[i].owned;
      }
      if (!precise_)
        precise_ = codegen::emit_native(compiled_->program, false, codegen::LoopChecks::kPrecise);
      result = new_host(precise_->function(), inputs).run();
    }
    EXPECT_TRUE(result.guards_intact) << text_;
    return result;
  }

  void expect_like_evaluator(const TestInputs& given) {
    SCOPED_TRACE(text_);
    const TestInputs theirs = clone_inputs(given), ours = clone_inputs(given);
    const EvalResult expected = evaluate_graph(graph_, theirs.symbols, theirs.arrays);
    const HostResult actual = run(ours);
    ASSERT_EQ(actual.exit_code != 0, expected.must_restart);
    if (expected.must_restart) return;
    ASSERT_EQ(actual.outputs.size(), expected.outputs.size());
    for (size_t i = 0; i < actual.outputs.size(); ++i)
      EXPECT_EQ(compare_arrays(actual.outputs[i], expected.outputs[i]), "") << "output " << i;
    for (size_t i = 0; i < ours.arrays.size(); ++i)
      EXPECT_EQ(compare_arrays(ours.arrays[i], theirs.arrays[i]), "") << "input " << i;
  }

  Graph graph_;
  std::unique_ptr<codegen::CompiledProgram> compiled_;
  std::vector<std::unique_ptr<TestHost>> hosts_;
  std::unique_ptr<codegen::NativeCode> precise_;  // made when it is needed
  bool is_suspicious_ = false;
  std::string text_;
  int stop_at_poll_ = -1, polls_ = 0;
};

}  // namespace numlift::testing
