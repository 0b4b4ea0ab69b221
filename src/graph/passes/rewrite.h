// What several passes need: which nodes Python sees as objects or memory, and renaming.
#pragma once

#include <vector>

#include "numlift/graph/graph.h"

namespace numlift {

struct Visibility {
  // By node: it is an object that the caller or an impure extern gets, or its memory is (through a
  // view of any version).
  std::vector<bool> seen;
  // By node: a Store writes its memory, or an impure extern might.
  std::vector<bool> written;
};
Visibility find_visibility(const Graph& graph);

// `replacement[i]` is the node that stands for node i (itself when unchanged). Replacements stand
// before what they replace and are not replaced themselves. Renames operands and results.
void replace_uses(Graph* graph, const std::vector<NodeId>& replacement);
std::vector<NodeId> identity_replacement(const Graph& graph);

}  // namespace numlift
