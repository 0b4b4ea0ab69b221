// Tasks: the unit that fusion moves about. One task computes one node with a buffer of its own, or
// carries out one store, with everything that is evaluated in place already inlined.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "numlift/codegen/loop_nest.h"
#include "schedule/affine.h"
#include "schedule/plan.h"

namespace numlift::codegen {

enum class TaskId : uint32_t {};

// Elements of a buffer that a task touches, by buffer axis, in terms of the task's axes.
struct Footprint {
  BufferId buffer{};
  NodeId version = kNoNode;  // read; of a write: the version it makes
  std::vector<std::optional<Affine>> index;
};

struct TaskLoad {
  ValueId value{};  // Task::values
  Footprint footprint;
};

struct TaskReduction {
  Op op = Op::kReduceSum;
  ValueId operand = kNoValue;
  Affine position;  // arg-reductions: in terms of the reduction axes
  uint8_t fp_checks = 0;
  uint32_t location = 0;
};

// Values are in order of definition; a VarId in them is an axis of the task. Axes of size 1 are
// not axes of a task.
struct Task {
  enum class Kind : uint8_t { kLoops, kNumpyLoop, kExtern } kind = Kind::kLoops;
  NodeId node = kNoNode;
  std::vector<SizeExpr> extents;  // kept axes, then the reduction's
  uint32_t kept = 0;              // number of kept axes
  std::vector<uint32_t> order;    // loop order, outermost first: the kept axes, then the others
  // A kept axis whose iterations must run one after the other, inside the first in `order`.
  std::optional<uint32_t> in_order;
  std::vector<Value> values;
  std::vector<TaskLoad> loads;
  ValueId result = kNoValue;  // value to store; of a reduction: kNoValue
  std::optional<TaskReduction> reduction;
  std::optional<Access> store_access;
  Footprint store_footprint;  // meaningful with store_access
  uint32_t location = 0;

  bool is_scalar() const { return extents.empty(); }
};

// `id` has a buffer of its own, or is a Store, a NumpyLoop or an Extern.
Task make_task(const Plan& plan, NodeId id);
// Sets the task's loop order: the innermost loop walks along memory.
void choose_order(const Plan& plan, Task* task);

// ---- dependences ----

// The two footprints (of one buffer) provably have no element in common.
bool are_disjoint(const Plan& plan, const Task& a, const Footprint& fa, const Task& b,
                  const Footprint& fb);
// Elements that both touch are touched in equal iterations of axis `axis_a` of a and `axis_b` of b.
bool are_aligned(const Footprint& fa, uint32_t axis_a, const Footprint& fb, uint32_t axis_b);

}  // namespace numlift::codegen
