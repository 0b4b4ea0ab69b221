// schedule(): the stages in order, on one page.
//
//   make_plan      which nodes get memory; where each node can be read
//   make_task      one task a buffer to fill or store to carry out, all else inlined
//   loop_axes      captured loops that are one more axis of their tasks
//   fuse_tasks     tasks that share loops, of each stretch between control flow
//   build_nest     their scalar code in one loop nest
//   buffers        temporaries that vanish, are private to an iteration, or share slots
//   finish_nest    collapsed, parallel and vector loops
#include <algorithm>

#include "numlift/codegen/compile.h"
#include "numlift/graph/text.h"
#include "numlift/support/check.h"
#include "numlift/support/log.h"
#include "schedule/buffers.h"
#include "schedule/control_steps.h"
#include "schedule/hints.h"
#include "schedule/loop_axes.h"
#include "schedule/outputs.h"
#include "schedule/step_regions.h"
#include "schedule/verify_nest.h"

namespace numlift::codegen {
namespace {

// An axis is known to be empty.
bool stores_nothing(const Task& task) {
  return std::any_of(task.extents.begin(), task.extents.begin() + task.kept, is_zero);
}

// What the elements would be made of may still tell of a condition; false: it cannot. Where the
// elements would lie means nothing then, and may be all one place.
bool keep_conditions(const Plan& plan, Task* task) {
  if (std::all_of(task->values.begin(), task->values.end(),
                  [](const Value& value) { return value.fp_checks == 0; }))
    return false;
  Access& access = *task->store_access;
  access.strides.clear();
  for (uint32_t axis = 0; axis < task->kept; ++axis) {
    access.strides.emplace_back(VarId{axis},
                                item_size(plan.buffers[static_cast<size_t>(access.buffer)].dtype));
  }
  return true;
}

std::vector<Task> make_tasks(const Plan& plan) {
  std::vector<Task> tasks;
  for (size_t i = 0; i < plan.graph.size(); ++i) {
    const Op op = plan.graph.nodes()[i].op;
    const bool is_effect = op == Op::kStore || op == Op::kExtern;
    if (!plan.nodes[i].needed || !(plan.nodes[i].own_buffer || is_effect)) continue;
    Task task = make_task(plan, NodeId{static_cast<uint32_t>(i)});
    if (stores_nothing(task) && !keep_conditions(plan, &task)) continue;
    tasks.push_back(std::move(task));
  }
  return tasks;
}

// `fused` gets an element a step.
std::vector<RawStep> make_raw_steps(const Plan& plan, const std::vector<Task>& tasks,
                                    std::vector<FusedStep>* fused) {
  std::vector<RawStep> steps;
  std::vector<TaskId> stretch;
  const auto finish_stretch = [&] {
    for (const StepTrees& trees : fuse_tasks(plan, tasks, stretch)) {
      fused->emplace_back();
      for (const LoopTree& tree : trees) {
        for (const LoopTree::Member& member : tree.members)
          fused->back().tasks.push_back(member.task);
      }
      if (trees[0].kind == LoopTree::Kind::kOpaque) {
        steps.emplace_back(trees[0].members[0].task);
      } else {
        steps.emplace_back(build_nest(plan, tasks, trees));
      }
    }
    stretch.clear();
  };
  uint32_t next = 0;
  for (uint32_t i = 0; i < plan.graph.size(); ++i) {
    if (is_control(plan.graph.node(NodeId{i}).op)) {
      finish_stretch();
      steps.emplace_back(NodeId{i});
      fused->push_back({.tasks = {}, .control = NodeId{i}});
    } else if (next < tasks.size() && tasks[next].node == NodeId{i}) {
      stretch.push_back(TaskId{next++});
    }
  }
  finish_stretch();
  return steps;
}

Step make_extern_step(const Plan& plan, NodeId id) {
  const Node& node = plan.graph.node(id);
  ExternStep step;
  step.node = id;
  step.call = attr_of<ExternAttr>(node).call;
  for (NodeId operand : node.operands) step.operands.push_back(value_ref(plan, operand));
  for (size_t i = 0; i < plan.graph.size(); ++i) {
    const Node& item = plan.graph.nodes()[i];
    if (item.op != Op::kExternItem || item.operands[0] != id || !plan.nodes[i].place) continue;
    step.items.emplace_back(NodeId{static_cast<uint32_t>(i)}, plan.nodes[i].place->buffer);
  }
  return step;
}

// Without what moves the loop along its arguments.
NumpyLoopStep begin_loop_step(const Node& node, SizeExpr count) {
  NumpyLoopStep step;
  step.loop = attr_of<LoopAttr>(node).loop;
  step.fp_checks = node.fp_checks;
  step.count = std::move(count);
  return step;
}

std::vector<NodeId> loop_arguments(const Node& node, NodeId id) {
  std::vector<NodeId> arguments = node.operands;
  arguments.push_back(id);
  return arguments;
}

Step make_loop_step(const Plan& plan, NodeId id) {
  const Node& node = plan.graph.node(id);
  NumpyLoopStep step = begin_loop_step(node, product(node.type.dims));
  for (NodeId argument : loop_arguments(node, id)) {
    const Type& type = plan.graph.node(argument).type;
    const bool is_fixed = type.dims.empty() && !node.type.dims.empty();
    step.arguments.push_back(
        {plan.of(argument).place->buffer, 0, is_fixed ? 0 : item_size(type.dtype), {}});
  }
  return step;
}

Step make_gufunc_step(const Plan& plan, NodeId id) {
  const Node& node = plan.graph.node(id);
  NumpyLoopStep step = begin_loop_step(node, 1);
  const auto& core = plan.graph.loops[step.loop].core;
  const std::vector<NodeId> arguments = loop_arguments(node, id);
  for (size_t i = 0; i < arguments.size(); ++i) {
    const Type& type = plan.graph.node(arguments[i]).type;
    const Place& place = *plan.of(arguments[i]).place;
    NumpyLoopStep::Argument argument{place.buffer, place.offset, 0, {}};
    size_t axis = 0;
    if (type.rank() > present_axes(core[i])) {
      argument.step = place.strides[axis];
      step.count = type.dims[axis++];
    }
    for (const auto& [number, is_absent] : core[i]) {
      const auto dim = static_cast<size_t>(number);
      if (step.core_dims.size() <= dim) step.core_dims.resize(dim + 1, SizeExpr(1));
      argument.core_strides.push_back(is_absent ? SizeExpr(0) : place.strides[axis]);
      if (!is_absent) step.core_dims[dim] = type.dims[axis++];
    }
    step.arguments.push_back(std::move(argument));
  }
  return step;
}

// By step: the innermost loop of the program around it; kNoNode: none.
std::vector<NodeId> loops_around(const Plan& plan, const std::vector<RawStep>& steps) {
  std::vector<NodeId> loops, open;
  for (const RawStep& step : steps) {
    const NodeId* control = std::get_if<NodeId>(&step);
    const Node* node = control == nullptr ? nullptr : &plan.graph.node(*control);
    if (node != nullptr && node->op == Op::kLoop) open.push_back(*control);
    if (node != nullptr && node->op == Op::kEnd &&
        plan.graph.node(node->operands[0]).op == Op::kLoop)
      open.pop_back();
    loops.push_back(open.empty() ? kNoNode : open.back());
  }
  return loops;
}

// `inline_loops`: how many of the steps before are inline and have loops.
Step finish_step(const Plan& plan, const std::vector<Task>& tasks, NodeId loop_around,
                 int* inline_loops, RawStep raw) {
  if (const NodeId* control = std::get_if<NodeId>(&raw)) return make_control_step(plan, *control);
  if (RawNest* nest = std::get_if<RawNest>(&raw)) {
    NestStep step{finish_nest(plan, std::move(*nest))};
    step.is_inline = make_inline(plan, loop_around, *inline_loops, &step.nest);
    if (step.is_inline && !step.nest.loops.empty()) ++*inline_loops;
    return step;
  }
  const Task& task = tasks[static_cast<size_t>(std::get<TaskId>(raw))];
  if (task.kind == Task::Kind::kExtern) return make_extern_step(plan, task.node);
  return plan.graph.node(task.node).op == Op::kGufunc ? make_gufunc_step(plan, task.node)
                                                      : make_loop_step(plan, task.node);
}

// Whether a step may find out that NumPy would warn or raise, or that an extern did.
bool may_restart(const Step& step) {
  if (const auto* nest_step = std::get_if<NestStep>(&step)) {
    for (const Value& value : nest_step->nest.values) {
      if (value.fp_checks != 0) return true;
    }
    for (const Loop& loop : nest_step->nest.loops) {
      for (const Reduction& reduction : loop.reductions) {
        if (reduction.fp_checks != 0) return true;
      }
    }
    return false;
  }
  if (const auto* loop_step = std::get_if<NumpyLoopStep>(&step)) return loop_step->fp_checks != 0;
  // Calls out; an allocation may fail.
  return std::holds_alternative<ExternStep>(step) || std::holds_alternative<AllocateStep>(step) ||
         std::holds_alternative<CheckStep>(step);
}

// Calls visit(buffer) for what a step stores to.
template <class Visit>
void for_each_stored(const Step& step, Visit visit) {
  if (const auto* nest_step = std::get_if<NestStep>(&step)) {
    for (const Store& store : nest_step->nest.stores) visit(store.access.buffer);
  } else if (const auto* loop_step = std::get_if<NumpyLoopStep>(&step)) {
    visit(loop_step->arguments.back().buffer);
  }
}

// Inputs that are stored to before the last restart. All steps of a loop may come before any other
// of its steps, in an earlier iteration, and a nest that restarts has stored some elements.
void find_restarts(Program* program) {
  size_t last_restart = 0;
  std::vector<size_t> earliest(program->steps.size());
  walk_regions(program->steps, [&](size_t at, const std::vector<OpenRegion>& open) {
    const auto loop = std::find_if(open.begin(), open.end(),
                                   [](const OpenRegion& region) { return region.is_loop; });
    earliest[at] = loop == open.end() ? at : loop->begin;
    if (!may_restart(program->steps[at])) return;
    program->may_restart = true;
    last_restart = std::max(last_restart, loop == open.end() ? at : loop->end);
  });
  for (size_t at = 0; at < program->steps.size() && program->may_restart; ++at) {
    if (earliest[at] > last_restart) continue;
    for_each_stored(program->steps[at], [&](BufferId id) {
      Buffer& buffer = program->buffers[static_cast<size_t>(id)];
      if (buffer.kind == Buffer::Kind::kInput) buffer.needs_undo = true;
    });
  }
}

}  // namespace

Program schedule(Graph graph) {
  Plan plan = make_plan(std::move(graph));
  std::vector<Task> tasks = make_tasks(plan);
  make_axes_of_loops(&plan, &tasks);
  std::vector<FusedStep> fused;
  std::vector<RawStep> raw_steps = make_raw_steps(plan, tasks, &fused);
  if (log_enabled(LogChannel::perf_hints)) {
    for (const std::string& hint : fusion_hints(plan, tasks, fused))
      log(LogChannel::perf_hints, plan.graph.name + ": " + hint);
  }
  drop_unread_stores(plan, tasks, &raw_steps);
  const std::vector<NodeId> loops = loops_around(plan, raw_steps);
  make_private(&plan, tasks, loops, &raw_steps);

  Program program;
  int inline_loops = 0;
  for (size_t i = 0; i < raw_steps.size(); ++i) {
    program.steps.push_back(
        finish_step(plan, tasks, loops[i], &inline_loops, std::move(raw_steps[i])));
    const Step& step = program.steps.back();
    if (std::holds_alternative<NestStep>(step) || std::holds_alternative<NumpyLoopStep>(step))
      ++program.kernel_count;
  }
  for (NodeId output : plan.graph.outputs) program.outputs.push_back(value_ref(plan, output));
  program.graph = std::move(plan.graph);
  program.buffers = std::move(plan.buffers);
  drop_unused_buffers(&program);
  make_local(&program);
  add_late_allocations(&program, plan.regions);
  swap_for_copies(&program, plan.regions);
  assign_temp_slots(&program, plan.regions);
  find_restarts(&program);
  mark_polls(&program);
  find_shared_symbols(&program);
  if (verify_enabled()) check_nests_verified(program);
  return program;
}

}  // namespace numlift::codegen
