// Greedy fusion, one loop level at a time. At each level a task's loop is its next axis in its own
// loop order; it joins the nearest earlier group whose loop has the same extent, if
//  - every element that it shares with the group's tasks, and that one of them writes, is touched
//    by both in the same iteration (are_aligned), or by one only (are_disjoint); and
//  - no group in between must come first; and
//  - it gains from it: it depends on the group, or reads what the group reads.
// Inside a group the next level is decided the same way. So a softmax becomes one loop over rows
// with several inner loops, and two results over one domain become one loop.
#include "schedule/fuse.h"

#include <algorithm>
#include <unordered_map>

#include "numlift/support/check.h"

namespace numlift::codegen {
namespace {

// Groups looked back upon for a task to join: keeps fusion linear in the number of tasks.
constexpr size_t kLookBack = 8;
constexpr size_t kLookBackScalars = 32;
// Independent tasks stop joining when their group walks through this many buffers at once.
constexpr size_t kMaxStreams = 24;
// Pairs of accesses to one buffer that are compared before they are simply kept in order.
constexpr size_t kMaxCompared = 64;

enum class Relation { kFree, kAligned, kBlocked };

class Group {
 public:
  explicit Group(LoopTree::Kind kind) { tree.kind = kind; }

  void add(const Task& task, TaskId id, uint32_t axis) {
    tree.members.push_back({id, axis});
    for (const TaskLoad& load : task.loads) {
      touches_[load.footprint.buffer].reads.push_back({&task, &load.footprint, axis});
    }
    if (task.store_access) {
      touches_[task.store_footprint.buffer].writes.push_back({&task, &task.store_footprint, axis});
    }
    if (task.kind == Task::Kind::kExtern) is_barrier_ = true;
  }

  // Of a task whose loop at this level would be `axis`; of no loop: kAligned is not possible.
  Relation relation(const Plan& plan, const Task& task, std::optional<uint32_t> axis) const {
    if (is_barrier_ || task.kind == Task::Kind::kExtern) return Relation::kBlocked;
    Relation worst = Relation::kFree;
    for (const TaskLoad& load : task.loads) {
      auto found = touches_.find(load.footprint.buffer);
      if (found == touches_.end()) continue;
      worst = std::max(worst, meet(plan, task, load.footprint, axis, found->second.writes));
    }
    if (task.store_access) {
      const Footprint& write = task.store_footprint;
      auto found = touches_.find(write.buffer);
      if (found != touches_.end()) {
        worst = std::max(worst, meet(plan, task, write, axis, found->second.reads));
        worst = std::max(worst, meet(plan, task, write, axis, found->second.writes));
      }
    }
    return worst;
  }

  bool shares_reads(const Task& task) const {
    return std::any_of(task.loads.begin(), task.loads.end(), [&](const TaskLoad& load) {
      return touches_.count(load.footprint.buffer) != 0;
    });
  }
  size_t streams() const { return touches_.size(); }

  LoopTree tree;

 private:
  struct Touch {
    const Task* task;
    const Footprint* footprint;
    uint32_t axis;
  };
  struct Touches {
    std::vector<Touch> reads, writes;
  };

  static Relation meet(const Plan& plan, const Task& task, const Footprint& footprint,
                       std::optional<uint32_t> axis, const std::vector<Touch>& others) {
    if (others.size() > kMaxCompared) return Relation::kBlocked;
    Relation worst = Relation::kFree;
    for (const Touch& other : others) {
      if (are_disjoint(plan, *other.task, *other.footprint, task, footprint)) continue;
      if (!axis || !are_aligned(*other.footprint, other.axis, footprint, *axis)) {
        return Relation::kBlocked;
      }
      worst = Relation::kAligned;
    }
    return worst;
  }

  std::unordered_map<BufferId, Touches> touches_;
  bool is_barrier_ = false;
};

class Fuser {
 public:
  Fuser(const Plan& plan, const std::vector<Task>& tasks) : plan_(plan), tasks_(tasks) {}

  std::vector<Group> fuse_level(const std::vector<TaskId>& ids, size_t depth) const {
    std::vector<Group> groups;
    for (TaskId id : ids) {
      const Task& task = task_of(id);
      const LoopTree::Kind kind = kind_at(task, depth);
      Group* group = kind == LoopTree::Kind::kLoop || kind == LoopTree::Kind::kReduction
                         ? find_group(&groups, task, kind, depth)
                         : nullptr;
      if (group == nullptr) group = &groups.emplace_back(kind);
      group->add(task, id, kind == LoopTree::Kind::kLoop ? task.order[depth] : 0);
    }
    for (Group& group : groups) {
      if (group.tree.kind != LoopTree::Kind::kLoop) continue;
      std::vector<TaskId> inside;
      for (const LoopTree::Member& member : group.tree.members) inside.push_back(member.task);
      for (Group& child : fuse_level(inside, depth + 1)) {
        group.tree.children.push_back(std::move(child.tree));
      }
    }
    return groups;
  }

  // All tasks of a loop that runs in order inside the first of their loops.
  LoopTree fuse_in_order(const std::vector<TaskId>& ids) const {
    Group outer(LoopTree::Kind::kLoop), inner(LoopTree::Kind::kLoop);
    for (TaskId id : ids) {
      outer.add(task_of(id), id, task_of(id).order[0]);
      inner.add(task_of(id), id, task_of(id).order[1]);
    }
    inner.tree.in_order = true;
    for (Group& child : fuse_level(ids, 2)) inner.tree.children.push_back(std::move(child.tree));
    outer.tree.children.push_back(std::move(inner.tree));
    return std::move(outer.tree);
  }

  // Appends each task of rank 0 to the step that it must follow; all others are steps.
  std::vector<StepTrees> make_steps(std::vector<Group> groups) const {
    std::vector<StepTrees> steps;
    std::vector<std::vector<const Group*>> step_groups;
    for (Group& group : groups) {
      std::optional<size_t> step;
      if (group.tree.kind == LoopTree::Kind::kLeaf) {
        step = find_step(step_groups, task_of(group.tree.members[0].task));
      }
      if (!step) {
        step = steps.size();
        steps.emplace_back();
        step_groups.emplace_back();
      }
      step_groups[*step].push_back(&group);
      steps[*step].push_back(group.tree);
    }
    return steps;
  }

 private:
  const Task& task_of(TaskId id) const { return tasks_[static_cast<size_t>(id)]; }

  static LoopTree::Kind kind_at(const Task& task, size_t depth) {
    if (task.kind != Task::Kind::kLoops) return LoopTree::Kind::kOpaque;
    if (depth < task.kept) return LoopTree::Kind::kLoop;
    return task.reduction ? LoopTree::Kind::kReduction : LoopTree::Kind::kLeaf;
  }

  Group* find_group(std::vector<Group>* groups, const Task& task, LoopTree::Kind kind,
                    size_t depth) const {
    std::optional<uint32_t> axis;
    if (kind == LoopTree::Kind::kLoop) axis = task.order[depth];
    const size_t count = groups->size();
    for (size_t i = count; i > 0 && i + kLookBack > count; --i) {
      Group& group = (*groups)[i - 1];
      const bool same_kind = group.tree.kind == kind;
      const Relation relation =
          group.relation(plan_, task, same_kind ? axis : std::optional<uint32_t>());
      if (relation == Relation::kBlocked) return nullptr;
      if (same_kind && has_same_loops(group, task, kind, depth) &&
          gains(group, task, relation, depth)) {
        return &group;
      }
      if (relation != Relation::kFree) return nullptr;
    }
    return nullptr;
  }

  bool has_same_loops(const Group& group, const Task& task, LoopTree::Kind kind,
                      size_t depth) const {
    const LoopTree::Member& member = group.tree.members[0];
    const Task& other = task_of(member.task);
    if (kind == LoopTree::Kind::kLoop) {
      return other.extents[member.axis] == task.extents[task.order[depth]];
    }
    return has_same_extents(other, other.kept, task, task.kept);
  }

  // In loop order, from these depths on.
  static bool has_same_extents(const Task& a, size_t from_a, const Task& b, size_t from_b) {
    if (a.order.size() - from_a != b.order.size() - from_b) return false;
    for (size_t i = 0; from_a + i < a.order.size(); ++i) {
      if (!(a.extents[a.order[from_a + i]] == b.extents[b.order[from_b + i]])) return false;
    }
    return true;
  }

  bool gains(const Group& group, const Task& task, Relation relation, size_t depth) const {
    if (relation == Relation::kAligned) return true;
    if (group.streams() + task.loads.size() > kMaxStreams) return false;
    const Task& other = task_of(group.tree.members[0].task);
    if (other.kept == task.kept && has_same_extents(other, depth, task, depth)) return true;
    // Rows in the cache are read again; without inner loops the task would lose its vector loop.
    const bool both_go_on = other.order.size() > depth + 1 && task.order.size() > depth + 1;
    return both_go_on && group.shares_reads(task);
  }

  // The step that a task of rank 0 must follow, or one of such tasks that it may join.
  std::optional<size_t> find_step(const std::vector<std::vector<const Group*>>& steps,
                                  const Task& task) const {
    // What comes last anyway needs no proof.
    if (!steps.empty() && steps.back()[0]->tree.kind == LoopTree::Kind::kLeaf) {
      return steps.size() - 1;
    }
    if (plan_.regions.any()) return std::nullopt;
    std::optional<size_t> scalar_step;
    for (size_t i = steps.size(); i > 0 && i + kLookBackScalars > steps.size(); --i) {
      const auto& groups = steps[i - 1];
      const bool is_opaque = groups[0]->tree.kind == LoopTree::Kind::kOpaque;
      for (const Group* group : groups) {
        if (group->relation(plan_, task, std::nullopt) == Relation::kFree) continue;
        return is_opaque ? scalar_step : std::optional<size_t>(i - 1);
      }
      if (groups[0]->tree.kind == LoopTree::Kind::kLeaf) scalar_step = i - 1;
    }
    return scalar_step;
  }

  const Plan& plan_;
  const std::vector<Task>& tasks_;
};

}  // namespace

std::vector<StepTrees> fuse_tasks(const Plan& plan, const std::vector<Task>& tasks,
                                  const std::vector<TaskId>& ids) {
  const Fuser fuser(plan, tasks);
  if (!ids.empty() && tasks[static_cast<size_t>(ids[0])].in_order)
    return {{fuser.fuse_in_order(ids)}};
  return fuser.make_steps(fuser.fuse_level(ids, 0));
}

}  // namespace numlift::codegen
