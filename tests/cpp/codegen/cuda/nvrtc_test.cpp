// Every kernel of the sample programs, and of random ones, compiles for sm_80 and sm_90 without a
// warning. Needs NVRTC, no GPU.
#include <gtest/gtest.h>

#include <cstdio>

#include "codegen/random_graph.h"
#include "codegen/sample_graphs.h"
#include "cuda/nvrtc.h"
#include "cuda/print_program.h"
#include "numlift/codegen/compile.h"
#include "numlift/graph/pass.h"

namespace numlift::codegen::cuda {
namespace {

void expect_compiles(Graph graph, int* count) {
  run_default_passes(&graph);
  const ProgramKernels kernels = print_program(schedule(std::move(graph)));
  if (kernels.kernel_count == 0) return;
  for (int arch : {80, 90}) {
    const auto image = compile_cuda(kernels.source(), "test", arch);
    ASSERT_TRUE(image) << image.error() << kernels.kernels_text;
    EXPECT_EQ(image->log, "") << kernels.kernels_text;
    EXPECT_EQ(image->cubin.substr(0, 4),
              "\x7F"
              "ELF");
  }
  *count += kernels.kernel_count;
}

TEST(Nvrtc, CompilesEveryKernelForBothArchitectures) {
  if (const std::string missing = missing_nvrtc(); !missing.empty()) GTEST_SKIP() << missing;
  int count = 0;
  for (const testing::SampleGraph& sample : testing::sample_graphs()) {
    SCOPED_TRACE(sample.name);
    expect_compiles(sample.build(), &count);
    if (HasFailure()) return;
  }
  for (uint64_t seed = 1; seed <= 30; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    expect_compiles(testing::make_random_graph(seed), &count);
    if (HasFailure()) return;
  }
  std::printf("NVRTC compiled %d kernels for sm_80 and sm_90\n", count);
}

TEST(Nvrtc, AnErrorHasTheCompilersText) {
  if (const std::string missing = missing_nvrtc(); !missing.empty()) GTEST_SKIP() << missing;
  const auto image = compile_cuda("this is no program", "test", 80);
  ASSERT_FALSE(image);
  EXPECT_NE(image.error().find("test.cu(1): error"), std::string::npos) << image.error();
}

}  // namespace
}  // namespace numlift::codegen::cuda
