// Golden loop nests: the text of the sample programs after the passes and after scheduling.
// NUMLIFT_UPDATE_GOLDEN=1 rewrites the files; read the difference.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "codegen/sample_graphs.h"
#include "numlift/codegen/compile.h"
#include "numlift/graph/pass.h"
#include "numlift/graph/text.h"
#include "schedule/print.h"

namespace numlift::codegen {
namespace {

std::string read_file(const std::string& path) {
  std::ifstream in(path);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

class NestGolden : public ::testing::TestWithParam<testing::SampleGraph> {};

TEST_P(NestGolden, IsUnchanged) {
  set_verify_enabled(true);
  Graph graph = GetParam().build();
  run_default_passes(&graph);
  const std::string before = graph_text(graph);
  const std::string text = before + "\n" + program_text(schedule(std::move(graph)));
  const std::string path =
      std::string(NUMLIFT_TEST_DATA) + "/golden/loop_nest/" + GetParam().name + ".txt";
  if (std::getenv("NUMLIFT_UPDATE_GOLDEN") != nullptr) {
    std::ofstream(path) << text;
    return;
  }
  EXPECT_EQ(text, read_file(path)) << path;
}

INSTANTIATE_TEST_SUITE_P(Samples, NestGolden, ::testing::ValuesIn(testing::sample_graphs()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace numlift::codegen
