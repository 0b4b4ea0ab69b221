// Lowering one task: its node's expression, down to the places where values can be read, as scalar
// values over the task's axes. Views, casts and broadcasts become subscripts and leave no trace.
#include <algorithm>
#include <numeric>
#include <unordered_map>

#include "numlift/support/check.h"
#include "schedule/task.h"

namespace numlift::codegen {
namespace {

class TaskMaker {
 public:
  TaskMaker(const Plan& plan, NodeId id) : plan_(plan), node_(plan.graph.node(id)) {
    task_.node = id;
    task_.location = node_.location;
  }

  Task make() {
    if (node_.op == Op::kStore) {
      make_store();
    } else if (is_reduction(node_.op)) {
      make_reduction();
    } else if (node_.op == Op::kReshape) {
      make_reshape_copy();
    } else {
      const Subscripts domain = add_axes(node_.type.dims);
      task_.kept = static_cast<uint32_t>(task_.extents.size());
      task_.result = compute(task_.node, domain);
      store_to(*plan_.of(task_.node).place, domain);
    }
    choose_order(plan_, &task_);
    return std::move(task_);
  }

 private:
  Subscripts add_axes(const std::vector<SizeExpr>& dims) {
    Subscripts subscripts;
    for (const SizeExpr& dim : dims) subscripts.push_back(add_axis(dim));
    return subscripts;
  }
  Affine add_axis(const SizeExpr& dim) {
    if (is_one(dim)) return Affine{};
    task_.extents.push_back(dim);
    return Affine::axis(static_cast<uint32_t>(task_.extents.size() - 1));
  }

  void make_store() {
    const Node& target = plan_.graph.node(node_.operands[0]);
    const Subscripts domain = add_axes(target.type.dims);
    task_.kept = static_cast<uint32_t>(task_.extents.size());
    const NodeId value = node_.operands[1];
    const bool broadcast = plan_.graph.node(value).type.dims.empty();
    task_.result = value_at(value, broadcast ? Subscripts{} : domain);
    Place place = memory_place(plan_, node_.operands[0]);
    place.version = task_.node;
    store_to(place, domain);
  }

  void make_reduction() {
    const std::vector<int>& axes = attr_of<ReduceAttr>(node_).axes;
    const std::vector<SizeExpr>& dims = plan_.graph.node(node_.operands[0]).type.dims;
    auto is_reduced = [&](size_t axis) {
      return std::find(axes.begin(), axes.end(), static_cast<int>(axis)) != axes.end();
    };
    Subscripts operand(dims.size()), result;
    for (size_t axis = 0; axis < dims.size(); ++axis) {
      if (!is_reduced(axis)) result.push_back(operand[axis] = add_axis(dims[axis]));
    }
    task_.kept = static_cast<uint32_t>(task_.extents.size());
    Affine position;
    for (size_t axis = 0; axis < dims.size(); ++axis) {
      if (!is_reduced(axis)) continue;
      operand[axis] = add_axis(dims[axis]);
      Affine next;  // position = position * dim + index
      next.add(position, dims[axis]);
      next.add(operand[axis], 1);
      position = std::move(next);
    }
    TaskReduction reduction{
        node_.op, value_at(node_.operands[0], operand), {}, node_.fp_checks, node_.location};
    if (node_.op == Op::kReduceArgmin || node_.op == Op::kReduceArgmax) {
      reduction.position = std::move(position);
    }
    task_.reduction = std::move(reduction);
    store_to(*plan_.of(task_.node).place, result);
  }

  // The elements keep their C order, so the operand's axes address the result as well.
  void make_reshape_copy() {
    const Type& operand = plan_.graph.node(node_.operands[0]).type;
    const Subscripts domain = add_axes(operand.dims);
    task_.kept = static_cast<uint32_t>(task_.extents.size());
    task_.result = value_at(node_.operands[0], domain);
    Place place = *plan_.of(task_.node).place;
    place.strides = contiguous_strides(operand.dims, {}, item_size(operand.dtype));
    for (auto& axis : place.buffer_axes) axis = std::nullopt;
    for (const ReshapeGroup& group : match_reshape(operand.dims, node_.type.dims)) {
      if (group.old_end - group.old_begin == 1 && group.new_end - group.new_begin == 1) {
        place.buffer_axes[group.new_begin] =
            IndexMap::Axis{0, 1, static_cast<int>(group.old_begin)};
      }
    }
    store_to(place, domain);
  }

  void store_to(const Place& place, const Subscripts& subscripts) {
    task_.store_access = access(place, subscripts);
    task_.store_footprint = footprint(place, subscripts);
  }

  static Access access(const Place& place, const Subscripts& subscripts) {
    Affine bytes{place.offset, {}};
    for (size_t axis = 0; axis < subscripts.size(); ++axis) {
      bytes.add(subscripts[axis], place.strides[axis]);
    }
    Access access{place.buffer, std::move(bytes.offset), {}};
    access.strides.reserve(bytes.terms.size());
    for (auto& [axis, stride] : bytes.terms) access.strides.emplace_back(VarId{axis}, stride);
    return access;
  }
  static Footprint footprint(const Place& place, const Subscripts& subscripts) {
    Footprint result{place.buffer, place.version, {}};
    for (const auto& axis : place.buffer_axes) {
      if (!axis) {
        result.index.emplace_back();
        continue;
      }
      Affine index{axis->start, {}};
      if (axis->axis >= 0) index.add(subscripts[static_cast<size_t>(axis->axis)], axis->step);
      result.index.emplace_back(std::move(index));
    }
    return result;
  }

  ValueId value_at(NodeId id, const Subscripts& subscripts) {
    auto& known = known_[index_of(id)];
    for (const auto& [at, value] : known) {
      if (at == subscripts) return value;
    }
    const NodePlan& plan = plan_.of(id);
    const ValueId value = plan.place ? load(id, *plan.place, subscripts) : compute(id, subscripts);
    known_[index_of(id)].emplace_back(subscripts, value);
    return value;
  }

  ValueId load(NodeId id, const Place& place, const Subscripts& subscripts) {
    Value value;
    value.kind = Value::Kind::kLoad;
    value.access = access(place, subscripts);
    const ValueId result = append(id, std::move(value));
    task_.loads.push_back({result, footprint(place, subscripts)});
    return result;
  }

  // The value of a node from its operands, whatever buffer it may have.
  ValueId compute(NodeId id, const Subscripts& subscripts) {
    const Node& node = plan_.graph.node(id);
    Value value;
    switch (op_info(node.op).op_class) {
      case OpClass::kLeaf:
        return compute_leaf(id, subscripts);
      case OpClass::kView:
        return compute_view(id, subscripts);
      case OpClass::kMemory:
        NUMLIFT_CHECK(node.op == Op::kCopy, "%{}: a store or merge has no value", index_of(id));
        return value_at(node.operands[0], subscripts);
      case OpClass::kGather:
        return compute_gather(id, subscripts);
      case OpClass::kElementwise:
        NUMLIFT_CHECK(node.op != Op::kNumpyLoop, "%{}: its result is in memory", index_of(id));
        value.kind = Value::Kind::kOp;
        value.op = node.op;
        value.fp_checks = node.fp_checks;
        for (NodeId operand : node.operands) {
          value.operands.push_back(
              value_at(operand, is_broadcast(operand) ? Subscripts{} : subscripts));
        }
        return append(id, std::move(value));
      case OpClass::kReduction:
      case OpClass::kGufunc:
      case OpClass::kExtern:
      case OpClass::kControl:
        break;
    }
    NUMLIFT_CHECK(false, "%{} ({}) cannot be evaluated in place", index_of(id),
                  op_info(node.op).text);
  }

  // An index that runs along an axis is part of the address, as in any other load. Not inline: long
  // chains of values recurse through compute().
  [[gnu::noinline]] ValueId compute_gather(NodeId id, const Subscripts& subscripts) {
    const Node& node = plan_.graph.node(id);
    const Place& place = *plan_.of(node.operands[0]).place;
    Subscripts known(place.strides.size());
    Footprint read = footprint(place, known);
    Value value;
    value.kind = Value::Kind::kLoad;
    for (size_t axis = 0; axis < known.size(); ++axis) {
      const NodeId index = node.operands[axis + 1];
      const Subscripts at = is_broadcast(index) ? Subscripts{} : subscripts;
      if (auto along = affine_index(index, at)) {
        known[axis] = std::move(*along);
        continue;
      }
      value.operands.push_back(value_at(index, at));
      value.index_strides.push_back(place.strides[axis]);
    }
    value.access = access(place, known);
    // Which elements: only the run tells.
    for (auto& index : read.index) index = std::nullopt;
    const ValueId result = append(id, std::move(value));
    task_.loads.push_back({result, std::move(read)});
    return result;
  }

  bool is_broadcast(NodeId id) const { return plan_.graph.node(id).type.dims.empty(); }

  std::optional<Affine> affine_index(NodeId id, const Subscripts& subscripts) const {
    const Node& node = plan_.graph.node(id);
    if (node.op == Op::kIota) return subscripts[static_cast<size_t>(attr_of<IotaAttr>(node).axis)];
    if (node.op == Op::kSizeValue) return Affine{attr_of<SizeAttr>(node).value, {}};
    if (node.op != Op::kView) return std::nullopt;
    return affine_index(node.operands[0], through_view(attr_of<ViewAttr>(node).map, subscripts));
  }

  ValueId compute_leaf(NodeId id, const Subscripts& subscripts) {
    const Node& node = plan_.graph.node(id);
    Value value;
    if (node.op == Op::kConstant) {
      value.kind = Value::Kind::kConstant;
      value.constant = attr_of<ConstantAttr>(node).value;
    } else if (node.op == Op::kSizeValue) {
      value.kind = Value::Kind::kSize;
      value.size = attr_of<SizeAttr>(node).value;
    } else if (node.op == Op::kPlaceholder) {
      value.kind = Value::Kind::kScalarInput;
      value.input = attr_of<PlaceholderAttr>(node).input;
    } else {
      NUMLIFT_CHECK(node.op == Op::kIota, "%{} ({}) has no value", index_of(id),
                    op_info(node.op).text);
      return affine_value(subscripts[static_cast<size_t>(attr_of<IotaAttr>(node).axis)], id);
    }
    return append(id, std::move(value));
  }

  // offset + sum of coefficient * axis, as int64 values.
  ValueId affine_value(const Affine& index, NodeId id) {
    ValueId sum = kNoValue;
    auto combine = [&](Op op, ValueId a, ValueId b) {
      Value value;
      value.op = op;
      value.operands = {a, b};
      return append(id, std::move(value));
    };
    auto add = [&](ValueId term) { sum = sum == kNoValue ? term : combine(Op::kAdd, sum, term); };
    for (const auto& [axis, coefficient] : index.terms) {
      Value value;
      value.kind = Value::Kind::kIndex;
      value.var = VarId{axis};
      const ValueId position = append(id, std::move(value));
      add(is_one(coefficient) ? position
                              : combine(Op::kMultiply, position, size_value(coefficient, id)));
    }
    if (sum == kNoValue || !is_zero(index.offset)) add(size_value(index.offset, id));
    return sum;
  }
  ValueId size_value(const SizeExpr& size, NodeId id) {
    Value value;
    value.kind = Value::Kind::kSize;
    value.size = size;
    return append(id, std::move(value));
  }

  ValueId compute_view(NodeId id, const Subscripts& subscripts) {
    const Node& node = plan_.graph.node(id);
    const NodeId operand = node.operands[0];
    if (node.op == Op::kView) {
      return value_at(operand, through_view(attr_of<ViewAttr>(node).map, subscripts));
    }
    if (node.op == Op::kReshape) {
      return value_at(operand, through_reshape(plan_.graph.node(operand).type.dims, node.type.dims,
                                               subscripts));
    }
    Value value;
    value.op = attr_of<PartAttr>(node).imaginary ? Op::kImag : Op::kReal;
    value.operands = {value_at(operand, subscripts)};
    return append(id, std::move(value));
  }

  ValueId append(NodeId id, Value value) {
    const Node& node = plan_.graph.node(id);
    value.dtype = value.kind == Value::Kind::kConstant ? value.constant.dtype : node.type.dtype;
    value.location = node.location;
    task_.values.push_back(std::move(value));
    return ValueId{static_cast<uint32_t>(task_.values.size() - 1)};
  }

  const Plan& plan_;
  const Node& node_;
  Task task_;
  std::unordered_map<uint32_t, std::vector<std::pair<Subscripts, ValueId>>> known_;
};

// An extern or a loop of NumPy's: only what it reads and writes, as whole buffers.
Task make_opaque_task(const Plan& plan, NodeId id) {
  const Node& node = plan.graph.node(id);
  Task task;
  task.kind = node.op == Op::kExtern ? Task::Kind::kExtern : Task::Kind::kNumpyLoop;
  task.node = id;
  task.location = node.location;
  for (NodeId operand : node.operands) {
    if (!plan.of(operand).place) continue;
    const Place& place = *plan.of(operand).place;
    Footprint whole{place.buffer, place.version, {}};
    whole.index.resize(plan.buffers[static_cast<size_t>(place.buffer)].dims.size());
    task.loads.push_back({kNoValue, std::move(whole)});
  }
  if (plan.of(id).place) {
    const Place& place = *plan.of(id).place;
    task.store_access = Access{place.buffer, 0, {}};
    task.store_footprint = Footprint{place.buffer, id, {}};
    task.store_footprint.index.resize(place.strides.size());
  }
  return task;
}

}  // namespace

// Axes by the bytes that one step moves in all accesses together, the longest step outermost: the
// innermost loop then walks along the memory. Stores count twice.
void choose_order(const Plan& plan, Task* task) {
  std::vector<double> step(task->extents.size(), 0);
  const auto count = [&](const Access& access, double weight) {
    for (const auto& [axis, stride] : access.strides) {
      step[static_cast<size_t>(axis)] += weight * std::abs(static_cast<double>(plan.hint(stride)));
    }
  };
  if (task->store_access) count(*task->store_access, 2);
  for (const TaskLoad& load : task->loads) {
    count(task->values[static_cast<size_t>(load.value)].access, 1);
  }
  task->order.resize(task->extents.size());
  std::iota(task->order.begin(), task->order.end(), 0u);
  const auto by_step = [&](uint32_t a, uint32_t b) { return step[a] > step[b]; };
  std::stable_sort(task->order.begin(), task->order.begin() + task->kept, by_step);
  std::stable_sort(task->order.begin() + task->kept, task->order.end(), by_step);
}

Task make_task(const Plan& plan, NodeId id) {
  const Op op = plan.graph.node(id).op;
  if (op == Op::kExtern || op == Op::kNumpyLoop || op == Op::kGufunc)
    return make_opaque_task(plan, id);
  return TaskMaker(plan, id).make();
}

}  // namespace numlift::codegen
