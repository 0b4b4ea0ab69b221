// Fusion: which tasks run in one nest, and which loops they share.
#pragma once

#include <vector>

#include "schedule/task.h"

namespace numlift::codegen {

// A loop that its tasks share, with what runs inside it, in order.
struct LoopTree {
  enum class Kind : uint8_t {
    kLoop,       // a kept axis of every member
    kReduction,  // all reduction axes of every member, which have equal extents, in their order
    kLeaf,       // one member without loops of its own: all its axes are those around it
    kOpaque,     // an extern call or a NumPy loop: alone at the top level
  };
  struct Member {
    TaskId task{};
    uint32_t axis = 0;  // kLoop
  };
  Kind kind = Kind::kLeaf;
  std::vector<Member> members;
  std::vector<LoopTree> children;  // kLoop
  bool in_order = false;           // kLoop: one iteration after the other
};

// The trees of one step. Several: what follows the first has rank 0. In a graph with control flow
// all of them have rank 0 then: scalars stay with the code that branches on them.
using StepTrees = std::vector<LoopTree>;

// Steps for the tasks `ids`, which are in node order with no control flow in between. Their order
// keeps all dependences.
std::vector<StepTrees> fuse_tasks(const Plan& plan, const std::vector<Task>& tasks,
                                  const std::vector<TaskId>& ids);

}  // namespace numlift::codegen
