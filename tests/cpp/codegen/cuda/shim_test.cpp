// The kernels, compiled for the host by a launch shim, give the reference evaluator's results:
// sample programs and random ones, through the whole path of a run on a device.
#include <gtest/gtest.h>

#include <cstdio>

#include "codegen/cuda/fake_device.h"
#include "codegen/random_graph.h"
#include "codegen/runs_like_evaluator.h"
#include "codegen/sample_graphs.h"
#include "cuda/print_program.h"
#include "numlift/codegen/cuda.h"
#include "numlift/graph/pass.h"
#include "numlift/graph/text.h"

namespace numlift::testing {
namespace {

int kernels_checked = 0;

class Shim : public ::testing::Test {
 public:
  static void TearDownTestSuite() { std::printf("the shim checked %d kernels\n", kernels_checked); }
};

struct OnDevice {
  explicit OnDevice(Graph graph) {
    run_default_passes(&graph);
    program = codegen::schedule(std::move(graph));
    code = codegen::make_cuda_program(program);
    kernels_checked += codegen::cuda::print_program(program).kernel_count;
  }
  void expect_like_evaluator(const Graph& graph, const std::vector<int64_t>& dims, uint64_t seed) {
    expect_runs_like_evaluator(
        graph, program,
        [this](codegen::ProgramFrame* frame) { return static_cast<int32_t>(code->run(frame)); },
        dims, seed);
  }
  codegen::Program program;
  std::unique_ptr<codegen::CudaProgram> code;
};

TEST_F(Shim, SamplesRunLikeTheEvaluator) {
  FakeDevice fake;
  for (const SampleGraph& sample : sample_graphs()) {
    SCOPED_TRACE(sample.name);
    const Graph graph = sample.build();
    OnDevice on_device(graph);
    SCOPED_TRACE(codegen::cuda_kernels_text(on_device.program));
    for (int64_t size : {-1, 0, 1, 2, 5, 33, 300, 5000}) {
      SCOPED_TRACE(fmt::format("size {}", size));
      std::vector<int64_t> dims = graph.symbol_hints();
      for (size_t i = 0; i < dims.size() && size >= 0; ++i)
        dims[i] = size + static_cast<int64_t>(i);
      on_device.expect_like_evaluator(graph, dims, static_cast<uint64_t>(size + 7));
      if (HasFailure()) return;
    }
  }
  EXPECT_EQ(fake.used_bytes() == 0, false);
  codegen::cuda_release_memory();
  EXPECT_EQ(fake.used_bytes(), 0u);
}

TEST_F(Shim, RandomProgramsRunLikeTheEvaluator) {
  const FakeDevice fake;
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    const Graph graph = make_random_graph(seed);
    SCOPED_TRACE(graph_text(graph));
    OnDevice on_device(graph);
    SCOPED_TRACE(codegen::cuda_kernels_text(on_device.program));
    for (const auto& [rows, columns] : {std::pair{7, 5}, {3, 9}, {33, 18}, {4, 4}, {2, 1}}) {
      SCOPED_TRACE(fmt::format("{} x {}", rows, columns));
      std::vector<int64_t> dims = graph.symbol_hints();
      dims[0] = rows;
      dims[1] = columns;
      on_device.expect_like_evaluator(graph, dims, seed);
      if (HasFailure()) return;
    }
  }
}

}  // namespace
}  // namespace numlift::testing
