// Golden CUDA C++: the kernels of some sample programs. NUMLIFT_UPDATE_GOLDEN=1 rewrites the files;
// read the difference.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "codegen/sample_graphs.h"
#include "numlift/codegen/compile.h"
#include "numlift/codegen/cuda.h"
#include "numlift/graph/pass.h"

namespace numlift::codegen {
namespace {

class KernelGolden : public ::testing::TestWithParam<const char*> {};

TEST_P(KernelGolden, IsUnchanged) {
  for (const testing::SampleGraph& sample : testing::sample_graphs()) {
    if (sample.name != GetParam()) continue;
    Graph graph = sample.build();
    run_default_passes(&graph);
    const std::string text = cuda_kernels_text(schedule(std::move(graph)));
    const std::string path =
        std::string(NUMLIFT_TEST_DATA) + "/golden/cuda/" + sample.name + ".cu.txt";
    if (std::getenv("NUMLIFT_UPDATE_GOLDEN") != nullptr) {
      std::ofstream(path) << text;
      return;
    }
    std::stringstream expected;
    expected << std::ifstream(path).rdbuf();
    EXPECT_EQ(text, expected.str()) << path;
    return;
  }
  FAIL() << "no such sample";
}

INSTANTIATE_TEST_SUITE_P(Samples, KernelGolden,
                         ::testing::Values("add_strided", "softmax", "layer_norm", "argmin_axis",
                                           "centre_all", "variance_axis_0", "stores_then_read",
                                           "complex_parts", "faq_outer_sum"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace numlift::codegen
