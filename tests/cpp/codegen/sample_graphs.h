// Graphs of typical programs, by name: golden nests are made of them, and they are run end to end.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "numlift/graph/builder.h"

namespace numlift::testing {

struct SampleGraph {
  std::string name;
  std::function<Graph()> build;
};

const std::vector<SampleGraph>& sample_graphs();

}  // namespace numlift::testing
