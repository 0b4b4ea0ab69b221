// schedule(): the stages in order, on one page.
//
//   make_plan      which nodes get memory; where each node can be read
//   make_task      one task a buffer to fill or store to carry out, all else inlined
//   fuse_tasks     tasks that share loops
//   build_nest     their scalar code in one loop nest
//   buffers        temporaries that vanish, are private to an iteration, or share slots
//   finish_nest    collapsed, parallel and vector loops
#include "numlift/codegen/compile.h"
#include "numlift/graph/text.h"
#include "numlift/support/check.h"
#include "schedule/buffers.h"
#include "schedule/outputs.h"
#include "schedule/verify_nest.h"

namespace numlift::codegen {
namespace {

std::vector<Task> make_tasks(const Plan& plan) {
  std::vector<Task> tasks;
  for (size_t i = 0; i < plan.graph.size(); ++i) {
    const Op op = plan.graph.nodes()[i].op;
    const bool is_effect = op == Op::kStore || op == Op::kExtern;
    if (!plan.nodes[i].needed || !(plan.nodes[i].own_buffer || is_effect)) continue;
    tasks.push_back(make_task(plan, NodeId{static_cast<uint32_t>(i)}));
  }
  return tasks;
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

Step make_loop_step(const Plan& plan, NodeId id) {
  const Node& node = plan.graph.node(id);
  NumpyLoopStep step;
  step.loop = attr_of<LoopAttr>(node).loop;
  step.fp_checks = node.fp_checks;
  step.count = product(node.type.dims);
  for (NodeId operand : node.operands) {
    const Type& type = plan.graph.node(operand).type;
    step.operands.push_back(plan.of(operand).place->buffer);
    step.operand_steps.push_back(
        type.dims.empty() && !node.type.dims.empty() ? 0 : item_size(type.dtype));
  }
  step.result = plan.of(id).place->buffer;
  return step;
}

Step finish_step(const Plan& plan, const std::vector<Task>& tasks, RawStep raw) {
  if (RawNest* nest = std::get_if<RawNest>(&raw)) {
    return NestStep{finish_nest(plan, std::move(*nest))};
  }
  const Task& task = tasks[static_cast<size_t>(std::get<TaskId>(raw))];
  return task.kind == Task::Kind::kExtern ? make_extern_step(plan, task.node)
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
  return true;  // calls out; an allocation may fail
}

void find_restarts(Program* program) {
  std::vector<bool> is_stored_to(program->buffers.size(), false);
  for (const Step& step : program->steps) {
    if (const auto* nest_step = std::get_if<NestStep>(&step)) {
      for (const Store& store : nest_step->nest.stores) {
        is_stored_to[static_cast<size_t>(store.access.buffer)] = true;
      }
    } else if (const auto* loop_step = std::get_if<NumpyLoopStep>(&step)) {
      is_stored_to[static_cast<size_t>(loop_step->result)] = true;
    }
    if (!may_restart(step)) continue;
    program->may_restart = true;
    // A nest that restarts has stored some elements.
    for (size_t b = 0; b < program->buffers.size(); ++b) {
      Buffer& buffer = program->buffers[b];
      buffer.needs_undo = buffer.kind == Buffer::Kind::kInput && is_stored_to[b];
    }
  }
}

}  // namespace

Program schedule(Graph graph) {
  Plan plan = make_plan(std::move(graph));
  const std::vector<Task> tasks = make_tasks(plan);
  std::vector<RawStep> raw_steps;
  for (const StepTrees& trees : fuse_tasks(plan, tasks)) {
    if (trees[0].kind == LoopTree::Kind::kOpaque) {
      raw_steps.emplace_back(trees[0].members[0].task);
    } else {
      raw_steps.emplace_back(build_nest(plan, tasks, trees));
    }
  }
  drop_unread_stores(plan, tasks, &raw_steps);
  make_private(&plan, tasks, &raw_steps);

  Program program;
  for (RawStep& raw : raw_steps) {
    program.steps.push_back(finish_step(plan, tasks, std::move(raw)));
    if (!std::holds_alternative<ExternStep>(program.steps.back())) ++program.kernel_count;
  }
  for (NodeId output : plan.graph.outputs) program.outputs.push_back(value_ref(plan, output));
  program.graph = std::move(plan.graph);
  program.buffers = std::move(plan.buffers);
  drop_unused_buffers(&program);
  add_late_allocations(&program);
  assign_temp_slots(&program);
  find_restarts(&program);
  if (verify_enabled()) check_nests_verified(program);
  return program;
}

}  // namespace numlift::codegen
