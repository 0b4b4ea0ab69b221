// A nest under construction: the loop nest with what the later stages still need to know about its
// accesses. build_nest makes it; plan_buffers and finish_nest turn it into the final LoopNest.
#pragma once

#include <vector>

#include "schedule/fuse.h"
#include "schedule/task.h"

namespace numlift::codegen {

struct RawNest {
  LoopNest nest;
  std::vector<Footprint> load_footprints;   // by ValueId; loads only
  std::vector<Footprint> store_footprints;  // by StoreId
  // Where the extreme lies, by loop and index into Loop::reductions, in terms of loop variables.
  struct Position {
    VarId loop{};
    uint32_t reduction = 0;
    Affine index;
  };
  std::vector<Position> positions;
  // Loops whose iterations use one private buffer in turn: never vector loops.
  std::vector<bool> holds_private;  // by VarId
};

// The members' values merged under the shared loops: equal values once, each at the outermost place
// where its operands are known; loads of what was just stored become the stored value.
RawNest build_nest(const Plan& plan, const std::vector<Task>& tasks, const StepTrees& trees);

// Merges neighbouring loops that walk through memory as one, chooses vector and parallel loops, and
// drops what nothing uses.
LoopNest finish_nest(const Plan& plan, RawNest raw);

}  // namespace numlift::codegen
