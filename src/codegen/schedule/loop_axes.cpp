#include "schedule/loop_axes.h"

#include <algorithm>
#include <cstdlib>
#include <numeric>

namespace numlift::codegen {
namespace {

// Statements of one loop: every pair of their accesses is compared.
constexpr size_t kMostTasks = 32;
// Iterations (while tracing) from which on it pays to walk along memory.
constexpr int64_t kManyIterations = 16;

bool contains(const SizeExpr& size, SymbolId symbol) {
  std::vector<SymbolId> used;
  size.collect_symbols(&used);
  return std::find(used.begin(), used.end(), symbol) != used.end();
}

// A size as start + step * counter, neither of which depends on the counter.
class Splitter {
 public:
  struct Parts {
    SizeExpr start, step;
  };

  Splitter(const Graph& graph, SymbolId counter) : counter_(counter) {
    for (uint32_t i = 0; i < graph.symbols.size(); ++i) {
      symbols_.push_back(SizeExpr::symbol(SymbolId{i}));
    }
  }

  std::optional<Parts> split(const SizeExpr& size) {
    if (!contains(size, counter_)) return Parts{size, 0};
    const SizeExpr start = at(size, 0);
    SizeExpr step = at(size, 1) - start;
    if (!(start + step * SizeExpr::symbol(counter_) == size)) return std::nullopt;
    return Parts{start, std::move(step)};
  }
  bool is_free(const SizeExpr& size) const { return !contains(size, counter_); }

 private:
  SizeExpr at(const SizeExpr& size, int64_t value) {
    SizeExpr& place = symbols_[static_cast<size_t>(counter_)];
    place = value;
    SizeExpr result = size.substitute(symbols_);
    place = SizeExpr::symbol(counter_);
    return result;
  }

  SymbolId counter_;
  std::vector<SizeExpr> symbols_;
};

// A task with the loop's iterations as its last kept axis. `expanded`: buffers that get an element
// for each iteration.
class AxisAdder {
 public:
  AxisAdder(const Plan& plan, const RegionAttr& loop, const std::vector<BufferId>& expanded)
      : plan_(plan), loop_(loop), splitter_(plan.graph, loop.counter), expanded_(expanded) {}

  std::optional<Task> add(const Task& from) {
    task_ = from;
    axis_ = from.kept;
    if (!std::all_of(from.extents.begin(), from.extents.end(),
                     [&](const SizeExpr& extent) { return splitter_.is_free(extent); }))
      return std::nullopt;
    task_.extents.insert(task_.extents.begin() + axis_, *loop_.trips);
    ++task_.kept;
    task_.values.clear();
    renamed_.clear();
    for (const Value& value : from.values) {
      if (!add_value(value)) return std::nullopt;
    }
    for (TaskLoad& load : task_.loads) {
      load.value = renamed(load.value);
      if (!move(&load.footprint)) return std::nullopt;
    }
    if (task_.store_access && !(move(&*task_.store_access) && move(&task_.store_footprint)))
      return std::nullopt;
    task_.result = renamed(task_.result);
    if (task_.reduction) {
      task_.reduction->operand = renamed(task_.reduction->operand);
      if (!move(&task_.reduction->position)) return std::nullopt;
    }
    return std::move(task_);
  }

 private:
  uint32_t moved(uint32_t axis) const { return axis >= axis_ ? axis + 1 : axis; }
  ValueId renamed(ValueId id) const {
    return id == kNoValue ? id : renamed_[static_cast<size_t>(id)];
  }

  bool add_value(Value value) {
    for (ValueId& operand : value.operands) operand = renamed(operand);
    if (value.kind == Value::Kind::kIndex) {
      value.var = VarId{moved(static_cast<uint32_t>(value.var))};
    } else if (value.kind == Value::Kind::kLoad) {
      if (!move(&value.access)) return false;
      for (const SizeExpr& stride : value.index_strides) {
        if (!splitter_.is_free(stride)) return false;
      }
    } else if (value.kind == Value::Kind::kSize) {
      const auto parts = splitter_.split(value.size);
      if (!parts) return false;
      if (!is_zero(parts->step)) {
        renamed_.push_back(add_size(*parts, value));
        return true;
      }
    }
    renamed_.push_back(append(std::move(value)));
    return true;
  }

  // start + step * iteration
  ValueId add_size(const Splitter::Parts& parts, const Value& like) {
    const auto size = [&](const SizeExpr& amount) {
      Value value = like;
      value.size = amount;
      return append(std::move(value));
    };
    const auto combine = [&](Op op, ValueId a, ValueId b) {
      Value value = like;
      value.kind = Value::Kind::kOp;
      value.size = 0;
      value.op = op;
      value.operands = {a, b};
      return append(std::move(value));
    };
    Value iteration = like;
    iteration.kind = Value::Kind::kIndex;
    iteration.size = 0;
    iteration.var = VarId{axis_};
    ValueId result = append(std::move(iteration));
    if (!is_one(parts.step)) result = combine(Op::kMultiply, result, size(parts.step));
    if (!is_zero(parts.start)) result = combine(Op::kAdd, result, size(parts.start));
    return result;
  }

  ValueId append(Value value) {
    task_.values.push_back(std::move(value));
    return ValueId{static_cast<uint32_t>(task_.values.size() - 1)};
  }

  bool is_expanded(BufferId id) const {
    return std::find(expanded_.begin(), expanded_.end(), id) != expanded_.end();
  }

  bool move(Access* access) {
    for (auto& [axis, stride] : access->strides) {
      axis = VarId{moved(static_cast<uint32_t>(axis))};
      if (!splitter_.is_free(stride)) return false;
    }
    auto parts = splitter_.split(access->offset);
    if (!parts) return false;
    access->offset = std::move(parts->start);
    if (is_expanded(access->buffer)) {
      const Buffer& buffer = plan_.buffers[static_cast<size_t>(access->buffer)];
      parts->step = product(buffer.dims) * item_size(buffer.dtype);
    }
    if (is_zero(parts->step)) return true;
    access->strides.emplace_back(VarId{axis_}, std::move(parts->step));
    std::sort(access->strides.begin(), access->strides.end(),
              [](const auto& a, const auto& b) { return a.first < b.first; });
    return true;
  }

  bool move(Affine* index) {
    for (auto& [axis, step] : index->terms) {
      axis = moved(axis);
      if (!splitter_.is_free(step)) return false;
    }
    auto parts = splitter_.split(index->offset);
    if (!parts) return false;
    index->offset = std::move(parts->start);
    index->add(Affine::axis(axis_), parts->step);
    return true;
  }

  bool move(Footprint* footprint) {
    for (auto& index : footprint->index) {
      if (index && !move(&*index)) return false;
    }
    if (is_expanded(footprint->buffer))
      footprint->index.insert(footprint->index.begin(), Affine::axis(axis_));
    return true;
  }

  const Plan& plan_;
  const RegionAttr& loop_;
  Splitter splitter_;
  const std::vector<BufferId>& expanded_;
  Task task_;
  uint32_t axis_ = 0;
  std::vector<ValueId> renamed_;
};

class LoopAxes {
 public:
  LoopAxes(Plan* plan, std::vector<Task>* tasks) : plan_(*plan), tasks_(*tasks) {
    plan_.runs_once.assign(plan_.graph.size(), false);
    is_expanded_.assign(plan_.buffers.size(), false);
  }

  void run() {
    std::vector<std::pair<uint32_t, uint32_t>> loops;  // nodes: begin, end
    std::vector<uint32_t> open;
    for (uint32_t i = 0; i < plan_.graph.size(); ++i) {
      const Op op = plan_.graph.node(NodeId{i}).op;
      if (begins_region(op)) open.push_back(i);
      if (op != Op::kEnd) continue;
      if (plan_.graph.node(NodeId{open.back()}).op == Op::kLoop) loops.emplace_back(open.back(), i);
      open.pop_back();
    }
    if (loops.empty()) return;
    find_users();
    for (const auto& [begin, end] : loops) visit(begin, end);  // inner loops end first
  }

 private:
  struct Users {
    size_t first = SIZE_MAX, last = 0;  // tasks
    bool others = false;                // control flow, results
  };

  void find_users() {
    users_.resize(plan_.buffers.size());
    for (size_t i = 0; i < tasks_.size(); ++i) {
      for_each_access(tasks_[i], [&](const Footprint& footprint, bool) {
        Users& users = users_[static_cast<size_t>(footprint.buffer)];
        users.first = std::min(users.first, i);
        users.last = std::max(users.last, i);
      });
    }
    const auto pin = [&](NodeId id) {
      if (plan_.of(id).place) users_[static_cast<size_t>(plan_.of(id).place->buffer)].others = true;
    };
    for (const Node& node : plan_.graph.nodes()) {
      if (!is_control(node.op)) continue;
      for (NodeId operand : node.operands) pin(operand);
    }
    for (NodeId output : plan_.graph.outputs) pin(output);
  }

  template <class Visit>
  static void for_each_access(const Task& task, Visit visit) {
    for (const TaskLoad& load : task.loads) visit(load.footprint, false);
    if (task.store_access) visit(task.store_footprint, true);
  }

  void visit(uint32_t begin, uint32_t end) {
    const auto& loop = attr_of<RegionAttr>(plan_.graph.node(NodeId{begin}));
    if (!loop.trips || !is_straight(begin, end, loop.counter)) return;
    const auto by_node = [](const Task& task, uint32_t node) { return index_of(task.node) < node; };
    first_ = std::lower_bound(tasks_.begin(), tasks_.end(), begin, by_node) - tasks_.begin();
    last_ = std::lower_bound(tasks_.begin(), tasks_.end(), end, by_node) - tasks_.begin();
    if (first_ == last_ || last_ - first_ > static_cast<ptrdiff_t>(kMostTasks)) return;
    if (!suits_tasks() || !find_expanded(NodeId{begin})) return;
    std::vector<Task> candidates;
    AxisAdder adder(plan_, loop, expanded_);
    for (ptrdiff_t i = first_; i < last_; ++i) {
      auto task = adder.add(tasks_[static_cast<size_t>(i)]);
      if (!task) return;
      candidates.push_back(std::move(*task));
    }
    const auto own_axis = [](const Task& task) { return task.kept - 1; };
    if (meet_only_along(candidates, own_axis)) {
      expand(*loop.trips);
      for (Task& task : candidates) choose_order(plan_, &task);
    } else if (!expanded_.empty() || !turn_around(*loop.trips, &candidates)) {
      return;
    }
    plan_.runs_once[begin] = true;
    std::move(candidates.begin(), candidates.end(), tasks_.begin() + first_);
  }

  // No branches, no changes of symbols, no calls; loops inside are axes already.
  bool is_straight(uint32_t begin, uint32_t end, SymbolId counter) const {
    for (uint32_t i = begin + 1; i < end; ++i) {
      const Node& node = plan_.graph.node(NodeId{i});
      if (node.op == Op::kExtern || node.op == Op::kExternItem) return false;
      if (!is_control(node.op) || node.op == Op::kBlock || node.op == Op::kEnd) continue;
      if (node.op != Op::kLoop || !plan_.runs_once[i]) return false;
      if (contains(*attr_of<RegionAttr>(node).trips, counter)) return false;
    }
    return true;
  }

  bool suits_tasks() const {
    bool any_array = false;
    for (ptrdiff_t i = first_; i < last_; ++i) {
      const Task& task = tasks_[static_cast<size_t>(i)];
      if (task.kind != Task::Kind::kLoops || task.in_order) return false;
      // Nothing meets where there are no elements, but nothing lies along the loop either.
      if (std::any_of(task.extents.begin(), task.extents.end(), is_zero)) return false;
      any_array = any_array || !task.is_scalar();
    }
    return any_array;
  }

  // Numbers that live in one iteration. False: arrays do, too.
  bool find_expanded(NodeId begin) {
    expanded_.clear();
    bool suits = true;
    for (ptrdiff_t i = first_; i < last_; ++i) {
      for_each_access(tasks_[static_cast<size_t>(i)], [&](const Footprint& footprint, bool) {
        const auto at = static_cast<size_t>(footprint.buffer);
        const Buffer& buffer = plan_.buffers[at];
        if (!plan_.regions.is_inside(buffer.node, begin)) return;
        if (std::find(expanded_.begin(), expanded_.end(), footprint.buffer) != expanded_.end())
          return;
        const Users& users = users_[at];
        suits = suits && buffer.kind == Buffer::Kind::kTemp && !users.others &&
                users.first >= static_cast<size_t>(first_) &&
                users.last < static_cast<size_t>(last_) &&
                (buffer.dims.empty() || is_expanded_[at]);
        expanded_.push_back(footprint.buffer);
      });
    }
    return suits;
  }

  void expand(const SizeExpr& trips) {
    for (BufferId id : expanded_) {
      Buffer& buffer = plan_.buffers[static_cast<size_t>(id)];
      buffer.dims.insert(buffer.dims.begin(), trips);
      buffer.strides = contiguous_strides(buffer.dims, {}, item_size(buffer.dtype));
      buffer.bytes = product(buffer.dims) * item_size(buffer.dtype);
      is_expanded_[static_cast<size_t>(id)] = true;
    }
  }

  // Whether different iterations of axis_of(task) never touch what one of them writes.
  template <class AxisOf>
  bool meet_only_along(const std::vector<Task>& tasks, AxisOf axis_of) const {
    for (const Task& writer : tasks) {
      if (!writer.store_access) continue;
      const Footprint& write = writer.store_footprint;
      for (const Task& task : tasks) {
        bool suits = true;
        for_each_access(task, [&](const Footprint& other, bool) {
          suits = suits && (other.buffer != write.buffer ||
                            are_aligned(write, axis_of(writer), other, axis_of(task)) ||
                            are_disjoint(plan_, writer, write, task, other));
        });
        if (!suits) return false;
      }
    }
    return true;
  }

  // An axis of all tasks along which nothing meets becomes their outermost loop, the loop's
  // iterations run in order inside it.
  bool turn_around(const SizeExpr& trips, std::vector<Task>* tasks) {
    if (plan_.hint(trips, kManyIterations) < kManyIterations) return false;
    const Task& first = (*tasks)[0];
    for (uint32_t axis = 0; axis + 1 < first.kept; ++axis) {
      std::vector<uint32_t> axes;
      for (const Task& task : *tasks) {
        const auto end = task.extents.begin() + (task.kept - 1);
        const auto same = std::find(task.extents.begin(), end, first.extents[axis]);
        if (same != end) axes.push_back(static_cast<uint32_t>(same - task.extents.begin()));
      }
      if (axes.size() < tasks->size()) continue;
      axes[0] = axis;
      const auto chosen = [&](const Task& task) {
        return axes[static_cast<size_t>(&task - tasks->data())];
      };
      if (!meet_only_along(*tasks, chosen) || !lies_across(*tasks, chosen)) continue;
      for (Task& task : *tasks) {
        choose_order(plan_, &task);
        task.in_order = task.kept - 1;
        const auto to_front = [&](uint32_t moved) {
          task.order.erase(std::find(task.order.begin(), task.order.end(), moved));
          task.order.insert(task.order.begin(), moved);
        };
        to_front(*task.in_order);
        to_front(chosen(task));
      }
      return true;
    }
    return false;
  }

  // More accesses walk along memory from one iteration to the next than do along the axis.
  template <class AxisOf>
  bool lies_across(const std::vector<Task>& tasks, AxisOf axis_of) const {
    int along_axis = 0, along_loop = 0;
    for (const Task& task : tasks) {
      const auto count = [&](const Access& access, DType dtype) {
        for (const auto& [axis, stride] : access.strides) {
          if (std::abs(plan_.hint(stride, 0)) != item_size(dtype)) continue;
          if (static_cast<uint32_t>(axis) == axis_of(task)) ++along_axis;
          if (static_cast<uint32_t>(axis) == task.kept - 1) ++along_loop;
        }
      };
      for (const TaskLoad& load : task.loads) {
        const Value& value = task.values[static_cast<size_t>(load.value)];
        count(value.access, value.dtype);
      }
      if (task.store_access) {
        const Buffer& buffer = plan_.buffers[static_cast<size_t>(task.store_access->buffer)];
        count(*task.store_access, buffer.dtype);
      }
    }
    return along_loop > along_axis;
  }

  Plan& plan_;
  std::vector<Task>& tasks_;
  std::vector<Users> users_;        // by buffer
  std::vector<bool> is_expanded_;   // by buffer
  ptrdiff_t first_ = 0, last_ = 0;  // tasks of the present loop
  std::vector<BufferId> expanded_;  // by the present loop
};

}  // namespace

void make_axes_of_loops(Plan* plan, std::vector<Task>* tasks) { LoopAxes(plan, tasks).run(); }

}  // namespace numlift::codegen
