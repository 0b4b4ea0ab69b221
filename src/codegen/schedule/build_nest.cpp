// Emission of fused tasks into one loop nest.
//
// A value is placed in the innermost open loop that it depends on. A loop stands in its parent's
// body from the moment it closes, so what it needs from outside, emitted meanwhile, comes before
// it.
#include <algorithm>
#include <unordered_map>

#include "numlift/support/check.h"
#include "schedule/raw_nest.h"

namespace numlift::codegen {
namespace {

size_t mix(size_t seed, size_t value) {
  return seed ^ (value + 0x9e3779b97f4a7c15ull + (seed << 6) + (seed >> 2));
}

bool same_access(const Access& a, const Access& b) {
  return a.buffer == b.buffer && a.offset == b.offset && a.strides == b.strides;
}

bool same_value(const Value& a, const Value& b) {
  return a.kind == b.kind && a.dtype == b.dtype && a.op == b.op && a.operands == b.operands &&
         a.fp_checks == b.fp_checks && same_access(a.access, b.access) &&
         a.index_strides == b.index_strides && a.constant == b.constant && a.input == b.input &&
         a.size == b.size && a.var == b.var;
}

size_t hash_value(const Value& value, NodeId version) {
  size_t hash = mix(static_cast<size_t>(value.kind), static_cast<size_t>(value.op));
  hash = mix(hash, index_of(version));
  for (ValueId operand : value.operands) hash = mix(hash, static_cast<size_t>(operand));
  hash = mix(hash, static_cast<size_t>(value.access.buffer));
  hash = mix(hash, value.access.offset.hash());
  for (const auto& [var, stride] : value.access.strides) {
    hash = mix(hash, static_cast<size_t>(var));
  }
  for (unsigned char byte : value.constant.bytes) hash = mix(hash, byte);
  hash = mix(hash, value.input);
  hash = mix(hash, value.size.hash());
  return mix(hash, static_cast<size_t>(value.var));
}

class NestBuilder {
 public:
  NestBuilder(const Plan& plan, const std::vector<Task>& tasks) : plan_(plan), tasks_(tasks) {
    scopes_.emplace_back();
  }

  RawNest build(const StepTrees& trees) {
    for (const LoopTree& tree : trees) emit(tree);
    raw_.nest.root = std::move(scopes_[0].body);
    raw_.load_footprints.resize(raw_.nest.values.size());
    raw_.holds_private.resize(raw_.nest.loops.size(), false);
    return std::move(raw_);
  }

 private:
  // An open loop; the first is the root.
  struct Scope {
    VarId var{};
    std::vector<Item> body;
    std::vector<size_t> known_hashes;
  };
  struct Known {
    Value key;
    NodeId version;
    ValueId value;
    size_t depth;
  };

  const Task& task_of(const LoopTree::Member& member) const {
    return tasks_[static_cast<size_t>(member.task)];
  }

  void emit(const LoopTree& tree) {
    switch (tree.kind) {
      case LoopTree::Kind::kLoop: {
        const Task& first = task_of(tree.members[0]);
        const VarId var = open_loop(first.extents[tree.members[0].axis], false);
        for (const LoopTree::Member& member : tree.members) bind(member.task, member.axis, var);
        if (tree.in_order) run_in_order(tree, var);
        for (const LoopTree& child : tree.children) emit(child);
        close_loop();
        return;
      }
      case LoopTree::Kind::kReduction:
        emit_reductions(tree);
        return;
      case LoopTree::Kind::kLeaf: {
        const LoopTree::Member& member = tree.members[0];
        const std::vector<ValueId> values = emit_values(member);
        const Task& task = task_of(member);
        emit_store(member, values[static_cast<size_t>(task.result)]);
        return;
      }
      case LoopTree::Kind::kOpaque:
        break;
    }
    NUMLIFT_CHECK(false, "an opaque task in a nest");
  }

  void run_in_order(const LoopTree& tree, VarId var) {
    loop_of(var).in_order = true;
    depth_in_order_ = depth_of_loop_[static_cast<size_t>(var)];
    for (const LoopTree::Member& member : tree.members)
      stored_in_order_.push_back(task_of(member).store_footprint.buffer);
  }

  void emit_reductions(const LoopTree& tree) {
    const Task& first = task_of(tree.members[0]);
    std::vector<VarId> loops;
    for (size_t i = first.kept; i < first.order.size(); ++i) {
      loops.push_back(open_loop(first.extents[first.order[i]], true));
      for (const LoopTree::Member& member : tree.members) {
        bind(member.task, task_of(member).order[i], loops.back());
      }
    }
    std::vector<ValueId> operands;
    for (const LoopTree::Member& member : tree.members) {
      const std::vector<ValueId> values = emit_values(member);
      operands.push_back(values[static_cast<size_t>(task_of(member).reduction->operand)]);
    }
    for (size_t i = 0; i < loops.size(); ++i) close_loop();
    for (size_t i = 0; i < tree.members.size(); ++i) {
      const LoopTree::Member& member = tree.members[i];
      const Task& task = task_of(member);
      const ValueId result = loops.empty() ? reduce_one(task, operands[i])
                                           : add_reduction(member, task, operands[i], loops);
      emit_store(member, result);
    }
  }

  ValueId add_reduction(const LoopTree::Member& member, const Task& task, ValueId operand,
                        const std::vector<VarId>& loops) {
    const TaskReduction& from = *task.reduction;
    Value value;
    value.kind = Value::Kind::kReduction;
    value.op = from.op;
    value.dtype = plan_.graph.node(task.node).type.dtype;
    value.location = from.location;
    Loop& loop = loop_of(loops[0]);
    if (from.op == Op::kReduceArgmin || from.op == Op::kReduceArgmax) {
      raw_.positions.push_back({loops[0], static_cast<uint32_t>(loop.reductions.size()),
                                on_loops(from.position, member.task)});
    }
    // Defined by the loop, not by an item.
    const ValueId result = define(std::move(value), scopes_.size() - 1);
    loop.reductions.push_back({from.op, operand, kNoValue, result, loops, from.fp_checks});
    return result;
  }

  // A reduction over axes of size 1 only: the element itself, or its position.
  ValueId reduce_one(const Task& task, ValueId operand) {
    const TaskReduction& reduction = *task.reduction;
    Value value;
    value.location = reduction.location;
    value.dtype = plan_.graph.node(task.node).type.dtype;
    if (reduction.op == Op::kReduceArgmin || reduction.op == Op::kReduceArgmax) {
      value.kind = Value::Kind::kSize;
      value.size = reduction.position.offset;
      return intern(std::move(value), kNoNode, {});
    }
    if (raw_.nest.values[static_cast<size_t>(operand)].dtype == value.dtype) return operand;
    value.op = Op::kCast;
    value.operands = {operand};
    return intern(std::move(value), kNoNode, {});
  }

  std::vector<ValueId> emit_values(const LoopTree::Member& member) {
    const Task& task = task_of(member);
    std::vector<ValueId> renamed;
    renamed.reserve(task.values.size());
    size_t next_load = 0;
    for (size_t i = 0; i < task.values.size(); ++i) {
      Value value = task.values[i];
      for (ValueId& operand : value.operands) operand = renamed[static_cast<size_t>(operand)];
      NodeId version = kNoNode;
      Footprint footprint;
      if (value.kind == Value::Kind::kLoad) {
        const TaskLoad& load = task.loads[next_load++];
        NUMLIFT_CHECK(static_cast<size_t>(load.value) == i, "loads of a task are in order");
        value.access = on_loops(value.access, member.task);
        footprint = on_loops(load.footprint, member.task);
        version = footprint.version;
      } else if (value.kind == Value::Kind::kIndex) {
        value.var = var_of(member.task, static_cast<uint32_t>(value.var));
      }
      renamed.push_back(intern(std::move(value), version, std::move(footprint)));
    }
    return renamed;
  }

  void emit_store(const LoopTree::Member& member, ValueId value) {
    const Task& task = task_of(member);
    Store store{on_loops(*task.store_access, member.task), value};
    Footprint footprint = on_loops(task.store_footprint, member.task);
    Value read_back;
    read_back.kind = Value::Kind::kLoad;
    read_back.dtype = raw_.nest.values[static_cast<size_t>(value)].dtype;
    read_back.access = store.access;
    remember(std::move(read_back), footprint.version, value, scopes_.size() - 1);
    push_item(Item::Kind::kStore, raw_.nest.stores.size(), scopes_.size() - 1);
    raw_.nest.stores.push_back(std::move(store));
    raw_.store_footprints.push_back(std::move(footprint));
  }

  // The known equal value, or a new one.
  ValueId intern(Value value, NodeId version, Footprint footprint) {
    auto [first, last] = known_.equal_range(hash_value(value, version));
    for (auto at = first; at != last; ++at) {
      if (at->second.version == version && same_value(at->second.key, value)) {
        return at->second.value;
      }
    }
    const size_t depth = depth_of(value);
    Value key = value;
    const bool is_load = value.kind == Value::Kind::kLoad;
    const ValueId result = define(std::move(value), depth);
    if (is_load) {
      raw_.load_footprints.resize(raw_.nest.values.size());
      raw_.load_footprints.back() = std::move(footprint);
    }
    push_item(Item::Kind::kValue, static_cast<size_t>(result), depth);
    remember(std::move(key), version, result, depth);
    return result;
  }

  void remember(Value key, NodeId version, ValueId value, size_t depth) {
    const size_t hash = hash_value(key, version);
    scopes_[depth].known_hashes.push_back(hash);
    known_.emplace(hash, Known{std::move(key), version, value, depth});
  }

  ValueId define(Value value, size_t depth) {
    raw_.nest.values.push_back(std::move(value));
    depth_of_value_.push_back(depth);
    return ValueId{static_cast<uint32_t>(raw_.nest.values.size() - 1)};
  }

  void push_item(Item::Kind kind, size_t index, size_t depth) {
    scopes_[depth].body.push_back({kind, static_cast<uint32_t>(index)});
  }

  size_t depth_of(const Value& value) const {
    size_t depth = 0;
    for (ValueId operand : value.operands) {
      depth = std::max(depth, depth_of_value_[static_cast<size_t>(operand)]);
    }
    for (const auto& [var, stride] : value.access.strides) {
      depth = std::max(depth, depth_of_loop_[static_cast<size_t>(var)]);
    }
    if (value.kind == Value::Kind::kIndex) {
      depth = std::max(depth, depth_of_loop_[static_cast<size_t>(value.var)]);
    }
    // The element may be another one's in the next iteration.
    if (value.kind == Value::Kind::kLoad &&
        std::find(stored_in_order_.begin(), stored_in_order_.end(), value.access.buffer) !=
            stored_in_order_.end())
      depth = std::max(depth, depth_in_order_);
    return depth;
  }

  VarId open_loop(SizeExpr extent, bool reduction) {
    const VarId var{static_cast<uint32_t>(raw_.nest.loops.size())};
    Loop& loop = raw_.nest.loops.emplace_back();
    loop.extent = std::move(extent);
    loop.reduction = reduction;
    depth_of_loop_.push_back(scopes_.size());
    scopes_.push_back({var, {}, {}});
    return var;
  }

  void close_loop() {
    Scope scope = std::move(scopes_.back());
    scopes_.pop_back();
    for (size_t hash : scope.known_hashes) {
      auto [first, last] = known_.equal_range(hash);
      for (auto at = first; at != last;) {
        at = at->second.depth >= scopes_.size() ? known_.erase(at) : std::next(at);
      }
    }
    loop_of(scope.var).body = std::move(scope.body);
    push_item(Item::Kind::kLoop, static_cast<size_t>(scope.var), scopes_.size() - 1);
  }

  Loop& loop_of(VarId var) { return raw_.nest.loops[static_cast<size_t>(var)]; }

  // ---- from a task's axes to the nest's loops ----

  void bind(TaskId task, uint32_t axis, VarId var) {
    std::vector<VarId>& vars = vars_[static_cast<uint32_t>(task)];
    const size_t rank = tasks_[static_cast<size_t>(task)].extents.size();
    if (vars.size() < rank) vars.resize(rank, VarId{0xFFFFFFFFu});
    vars[axis] = var;
  }
  VarId var_of(TaskId task, uint32_t axis) {
    const VarId var = vars_[static_cast<uint32_t>(task)][axis];
    NUMLIFT_CHECK(static_cast<size_t>(var) < raw_.nest.loops.size(), "axis {} has no loop", axis);
    return var;
  }
  Access on_loops(Access access, TaskId task) {
    for (auto& [axis, stride] : access.strides) axis = var_of(task, static_cast<uint32_t>(axis));
    std::sort(access.strides.begin(), access.strides.end(),
              [](const auto& a, const auto& b) { return a.first < b.first; });
    return access;
  }
  Affine on_loops(Affine index, TaskId task) {
    for (auto& [axis, step] : index.terms) axis = static_cast<uint32_t>(var_of(task, axis));
    std::sort(index.terms.begin(), index.terms.end(),
              [](const auto& a, const auto& b) { return a.first < b.first; });
    return index;
  }
  Footprint on_loops(Footprint footprint, TaskId task) {
    for (auto& index : footprint.index) {
      if (index) index = on_loops(std::move(*index), task);
    }
    return footprint;
  }

  const Plan& plan_;
  const std::vector<Task>& tasks_;
  RawNest raw_;
  std::vector<Scope> scopes_;
  std::vector<size_t> depth_of_value_, depth_of_loop_;
  std::unordered_map<uint32_t, std::vector<VarId>> vars_;  // by task, by axis
  std::unordered_multimap<size_t, Known> known_;
  std::vector<BufferId> stored_in_order_;  // in the loop of the nest that runs in order
  size_t depth_in_order_ = 0;
};

}  // namespace

RawNest build_nest(const Plan& plan, const std::vector<Task>& tasks, const StepTrees& trees) {
  return NestBuilder(plan, tasks).build(trees);
}

}  // namespace numlift::codegen
