#include "schedule/hints.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

namespace numlift::codegen {
namespace {

// What could be written instead of a call that NumPy carries out.
struct Instead {
  std::string_view call, text;
};
constexpr Instead kInstead[] = {
    {"numpy.ndarray.__getitem__",
     " (of a mask: only the run tells how many elements there are; np.where keeps the size)"},
    {"numpy.nonzero", " (only the run tells how many elements there are; np.where keeps the size)"},
};

std::string_view instead_of(std::string_view call) {
  for (const Instead& one : kInstead) {
    if (one.call == call) return one.text;
  }
  return "";
}

class HintFinder {
 public:
  HintFinder(const Plan& plan, const std::vector<Task>& tasks, const std::vector<FusedStep>& steps)
      : plan_(plan), tasks_(tasks), steps_(steps) {}

  std::vector<std::string> run() {
    const FusedStep* before = nullptr;  // the last nest in this stretch
    const FusedStep* call = nullptr;    // an extern call after it
    for (size_t i = 0; i < steps_.size(); ++i) {
      const FusedStep& step = steps_[i];
      if (step.control != kNoNode) {
        before = call = nullptr;
        if (plan_.graph.node(step.control).op == Op::kLoop) look_at_loop(i);
        continue;
      }
      if (step.tasks.empty()) continue;
      if (task(step.tasks[0]).kind == Task::Kind::kExtern) {
        call = before == nullptr ? nullptr : &step;
        continue;
      }
      for (TaskId id : step.tasks) look_at_temporary(task(id));
      if (!has_loops(step)) continue;
      if (call != nullptr) {
        look_at_call(task(call->tasks[0]));
      } else if (before != nullptr) {
        look_at_stores(*before, step);
      }
      before = &step;
      call = nullptr;
    }
    return std::move(hints_);
  }

 private:
  const Task& task(TaskId id) const { return tasks_[static_cast<size_t>(id)]; }
  const Node& node_of(const Task& task) const { return plan_.graph.node(task.node); }
  bool has_loops(const FusedStep& step) const {
    return std::any_of(step.tasks.begin(), step.tasks.end(),
                       [&](TaskId id) { return !task(id).is_scalar(); });
  }

  std::string place(uint32_t location) const {
    const SourceLocation& source = plan_.graph.locations[location];
    return source.line == 0 ? "somewhere" : fmt::format("{}:{}", source.file, source.line);
  }
  std::string place(const Task& task) const { return place(node_of(task).location); }

  void add(std::string hint) {
    if (std::find(hints_.begin(), hints_.end(), hint) == hints_.end())
      hints_.push_back(std::move(hint));
  }

  // The same elements, one of them written, in different iterations.
  bool collide(const Task& a, const Footprint& fa, const Task& b, const Footprint& fb) const {
    if (fa.buffer != fb.buffer || are_disjoint(plan_, a, fa, b, fb)) return false;
    for (uint32_t i = 0; i < a.kept && i < b.kept; ++i) {
      if (!are_aligned(fa, a.order[i], fb, b.order[i])) return true;
    }
    return a.kept != b.kept;
  }
  bool store_collides(const Task& store, const Task& other) const {
    if (node_of(store).op != Op::kStore || !store.store_access) return false;
    if (other.store_access && collide(store, store.store_footprint, other, other.store_footprint))
      return true;
    return std::any_of(other.loads.begin(), other.loads.end(), [&](const TaskLoad& load) {
      return collide(store, store.store_footprint, other, load.footprint);
    });
  }

  void look_at_stores(const FusedStep& first, const FusedStep& second) {
    for (TaskId a : first.tasks) {
      for (TaskId b : second.tasks) {
        const bool by_first = store_collides(task(a), task(b));
        if (!by_first && !store_collides(task(b), task(a))) continue;
        if (place(task(a)) == place(task(b))) return;  // one statement, with its temporary
        add(
            fmt::format("{}: the change in place and the work at {} are two loops, for an "
                        "iteration of one touches elements of others; a new array (x = x + y) "
                        "has no such order",
                        place(task(by_first ? a : b)), place(task(by_first ? b : a))));
        return;
      }
    }
  }

  void look_at_call(const Task& call) {
    const std::string& name = plan_.graph.externs[attr_of<ExternAttr>(node_of(call)).call].name;
    add(fmt::format("{}: {} is NumPy's: what comes before and behind it cannot be one loop{}",
                    place(call), name, instead_of(name)));
  }

  // Whether `id` is made of what belongs to buffer `root`, by way of values without memory.
  bool is_made_of(NodeId id, NodeId root) const {
    std::vector<NodeId> pending = plan_.graph.node(id).operands;
    std::vector<bool> seen(plan_.graph.size(), false);
    while (!pending.empty()) {
      const NodeId one = pending.back();
      pending.pop_back();
      if (plan_.root_of(one) == root) return true;
      if (seen[index_of(one)] || plan_.of(one).own_buffer) continue;
      seen[index_of(one)] = true;
      const auto& operands = plan_.graph.node(one).operands;
      pending.insert(pending.end(), operands.begin(), operands.end());
    }
    return false;
  }

  void look_at_temporary(const Task& task) {
    const Node& node = node_of(task);
    const bool could_be_evaluated =
        is_elementwise(node.op) || is_view(node.op) || node.op == Op::kCopy;
    if (task.is_scalar() || !could_be_evaluated || plan_.of(task.node).visible) return;
    uint32_t last_use = 0;
    for (uint32_t i = index_of(task.node) + 1; i < plan_.graph.size(); ++i) {
      const auto& operands = plan_.graph.node(NodeId{i}).operands;
      if (std::find(operands.begin(), operands.end(), task.node) != operands.end()) last_use = i;
    }
    for (uint32_t i = index_of(task.node) + 1; i <= last_use; ++i) {
      const Node& store = plan_.graph.node(NodeId{i});
      if (store.op != Op::kStore || !is_made_of(task.node, plan_.root_of(NodeId{i}))) continue;
      add(
          fmt::format("{}: the change in place needs a temporary array for what is computed at {}, "
                      "which is made of the old contents",
                      place(store.location), place(task)));
      return;
    }
  }

  void look_at_loop(size_t begin) {
    const NodeId loop = steps_[begin].control;
    size_t nests = 0;
    for (size_t i = begin + 1; i < steps_.size(); ++i) {
      const FusedStep& step = steps_[i];
      const NodeId node = step.control != kNoNode ? step.control
                          : step.tasks.empty()    ? kNoNode
                                                  : task(step.tasks[0]).node;
      if (node == kNoNode || !plan_.regions.is_inside(node, loop)) continue;
      if (step.control == kNoNode && has_loops(step)) ++nests;
    }
    if (nests < 2) return;
    add(
        fmt::format("{}: each round of this loop runs {} loops over arrays: nothing is fused "
                    "across a branch or from one round to the next",
                    place(plan_.graph.node(loop).location), nests));
  }

  const Plan& plan_;
  const std::vector<Task>& tasks_;
  const std::vector<FusedStep>& steps_;
  std::vector<std::string> hints_;
};

}  // namespace

std::vector<std::string> fusion_hints(const Plan& plan, const std::vector<Task>& tasks,
                                      const std::vector<FusedStep>& steps) {
  return HintFinder(plan, tasks, steps).run();
}

}  // namespace numlift::codegen
