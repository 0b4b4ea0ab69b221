// Buffer planning: which temporaries vanish, which shrink to the scratch of one iteration, and
// which of the others share memory.
#pragma once

#include <variant>
#include <vector>

#include "schedule/raw_nest.h"

namespace numlift::codegen {

// A nest, an opaque task, or a node of control flow.
using RawStep = std::variant<RawNest, TaskId, NodeId>;

// Drops stores to temporaries that nothing loads: their values were handed on in registers.
void drop_unread_stores(const Plan& plan, const std::vector<Task>& tasks,
                        std::vector<RawStep>* steps);
// Temporaries that only one root loop touches, each iteration its own part, keep just that part.
// `loops`: by step, the innermost loop of the program around it (kNoNode: none).
void make_private(Plan* plan, const std::vector<Task>& tasks, const std::vector<NodeId>& loops,
                  std::vector<RawStep>* steps);

// On the finished program: drops buffers that nothing mentions, keeps scalars on the stack that
// only `program` itself touches, gives the other temporaries their slots, and puts allocation steps
// before the first use of buffers whose size is not known on entry, and of arrays that are born
// inside a loop.
void drop_unused_buffers(Program* program);
void make_local(Program* program);
void add_late_allocations(Program* program, const Regions& regions);
// Copies of whole buffers inside loops, of which the source is not read again, become swaps.
void swap_for_copies(Program* program, const Regions& regions);
void assign_temp_slots(Program* program, const Regions& regions);

inline bool mentions_buffer(const ValueRef& value) {
  return value.kind == ValueRef::Kind::kBufferArray || value.kind == ValueRef::Kind::kView ||
         value.kind == ValueRef::Kind::kNumpyScalar || value.kind == ValueRef::Kind::kPyScalar;
}

// Calls visit(BufferId&) for each mention of a buffer in a step.
template <class Visit>
void for_each_buffer(Step* step, Visit visit) {
  if (auto* nest_step = std::get_if<NestStep>(step)) {
    for (Value& value : nest_step->nest.values) {
      if (value.kind == Value::Kind::kLoad) visit(value.access.buffer);
    }
    for (Store& store : nest_step->nest.stores) visit(store.access.buffer);
  } else if (auto* extern_step = std::get_if<ExternStep>(step)) {
    for (ValueRef& operand : extern_step->operands) {
      if (mentions_buffer(operand)) visit(operand.buffer);
    }
    for (auto& [item, buffer] : extern_step->items) visit(buffer);
  } else if (auto* loop_step = std::get_if<NumpyLoopStep>(step)) {
    for (NumpyLoopStep::Argument& argument : loop_step->arguments) visit(argument.buffer);
  } else if (auto* allocate_step = std::get_if<AllocateStep>(step)) {
    visit(allocate_step->buffer);
  } else if (auto* if_step = std::get_if<IfStep>(step)) {
    visit(if_step->condition);
  } else if (auto* check_step = std::get_if<CheckStep>(step)) {
    visit(check_step->condition);
  } else if (auto* assign_step = std::get_if<AssignStep>(step)) {
    for (AssignStep::Assignment& assignment : assign_step->assignments) {
      if (assignment.buffer) visit(*assignment.buffer);
    }
  } else if (auto* swap_step = std::get_if<SwapStep>(step)) {
    visit(swap_step->first);
    visit(swap_step->second);
  }
}

}  // namespace numlift::codegen
