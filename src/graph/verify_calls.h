// Parts of verify(): nodes that read through indices, and calls of NumPy's loops on core axes.
#pragma once

#include <string>

#include "numlift/graph/graph.h"

namespace numlift {

// What is wrong with the node; empty: nothing.
std::string check_gather(const Graph& graph, const Node& node);
std::string check_gufunc(const Graph& graph, const Node& node);

}  // namespace numlift
