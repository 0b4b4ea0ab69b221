// Random graphs over int64 arrays: results are exact, so any difference is a fault. Made of what
// scheduling finds hard: shared dear values, views of views, broadcasts, reductions that feed what
// they reduce, reshapes, and stores between reads of the same memory.
#pragma once

#include "numlift/graph/graph.h"

namespace numlift::testing {

Graph make_random_graph(uint64_t seed);

}  // namespace numlift::testing
