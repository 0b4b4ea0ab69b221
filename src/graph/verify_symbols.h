#pragma once

#include <string>

#include "numlift/graph/graph.h"

namespace numlift {

// "A symbol keeps its value while anything made with it is used": "" or the first use that breaks
// this. The graph's regions are well formed.
std::string check_symbol_values(const Graph& graph);

}  // namespace numlift
