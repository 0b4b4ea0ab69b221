// Regions as a tracer writes them down: in the order in which it learns of things, with memory
// versions that know nothing of other paths. settle_regions() turns that into the form of graph.h.
#pragma once

#include <vector>

#include "numlift/graph/graph.h"

namespace numlift {

// A node that was appended late but belongs before another one: the state that an arm of an if
// leaves, which is known only when both arms are there.
struct MovedNode {
  NodeId node, before;
};

// Moves the nodes, and placeholders out of all regions; names, for every read and store of memory,
// the version that is the newest at its place; adds the merges. A graph without regions stays as it
// is.
void settle_regions(Graph* graph, const std::vector<MovedNode>& moved);

}  // namespace numlift
