// Graph to machine code and run: results, changed inputs and restarts equal the reference
// evaluator's, for the sample programs at several sizes.
#include <gtest/gtest.h>

#include <cstdlib>

#include "codegen/random_graph.h"
#include "codegen/runs_like_evaluator.h"
#include "codegen/sample_graphs.h"
#include "numlift/graph/pass.h"
#include "numlift/graph/text.h"
#include "schedule/print.h"

namespace numlift::testing {
namespace {

class EndToEnd : public ::testing::TestWithParam<SampleGraph> {};

TEST_P(EndToEnd, RunsLikeEvaluator) {
  set_verify_enabled(true);
  codegen::initialize_native();
  const Graph graph = GetParam().build();
  const auto compiled = codegen::compile_graph(graph);
  SCOPED_TRACE(codegen::program_text(compiled->program));
  const std::vector<int64_t> hints = graph.symbol_hints();
  // The largest are worth several threads.
  for (int64_t size : {-1, 0, 1, 2, 3, 5, 8, 17, 33, 70, 500, 100000}) {
    SCOPED_TRACE(fmt::format("size {}", size));
    std::vector<int64_t> dims = hints;
    // Dims of different symbols differ, so that a mixed-up stride shows.
    for (size_t i = 0; i < dims.size() && size >= 0; ++i) {
      dims[i] = size + static_cast<int64_t>(i);
    }
    expect_runs_like_evaluator(graph, compiled->program, compiled->code->function(), dims,
                               static_cast<uint64_t>(size + 7));
    if (HasFatalFailure() || HasNonfatalFailure()) break;
  }
}

INSTANTIATE_TEST_SUITE_P(Samples, EndToEnd, ::testing::ValuesIn(sample_graphs()),
                         [](const auto& info) { return info.param.name; });

// NUMLIFT_FUZZ_FROM and NUMLIFT_FUZZ_COUNT choose other seeds.
TEST(EndToEndRandom, RunsLikeEvaluator) {
  set_verify_enabled(true);
  codegen::initialize_native();
  const auto number = [](const char* name, uint64_t otherwise) {
    const char* text = std::getenv(name);
    return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
  };
  const uint64_t from = number("NUMLIFT_FUZZ_FROM", 1);
  const uint64_t count = number("NUMLIFT_FUZZ_COUNT", 100);
  for (uint64_t seed = from; seed < from + count; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    const Graph graph = make_random_graph(seed);
    SCOPED_TRACE(graph_text(graph));
    const auto compiled = codegen::compile_graph(graph);
    SCOPED_TRACE(codegen::program_text(compiled->program));
    for (const auto& [rows, columns] : {std::pair{7, 5}, {3, 9}, {33, 18}, {4, 4}, {2, 1}}) {
      SCOPED_TRACE(fmt::format("{} x {}", rows, columns));
      std::vector<int64_t> dims = graph.symbol_hints();
      dims[0] = rows;
      dims[1] = columns;
      expect_runs_like_evaluator(graph, compiled->program, compiled->code->function(), dims, seed);
      if (HasFatalFailure() || HasNonfatalFailure()) return;
    }
  }
}

}  // namespace
}  // namespace numlift::testing
