// Which computed values are stored although nothing looks at their memory.
//
// An inlined value is evaluated once per context: a task that needs it, and the view through which
// that task reads it (a stencil reads one value through several). With one context it is never
// stored. With several, storing costs a write and a read per element, so it must save more than
// that. Fusion undoes the decision where the readers turn out to share a loop: the value is then
// handed on in a register and its buffer dropped.
#include <algorithm>

#include "numlift/support/check.h"
#include "schedule/materialize.h"

namespace numlift::codegen {
namespace {

constexpr int kDearCost = 20;
// Evaluating again this many simple operations and loads is no worse than storing and loading.
constexpr int kRecomputeLimit = 8;
constexpr int kCostLimit = 1000;

struct Context {
  uint32_t task = 0, view = 0;
  bool operator==(const Context&) const = default;
};

struct Uses {
  bool any = false;
  bool many = false;
  Context first;
  // Evaluated for every one of its elements by some context.
  bool covered = false;
  // Read through a broadcasting view: evaluated again along the new axes.
  bool repeated = false;

  void add(Context context) {
    if (any && !(context == first)) many = true;
    if (!any) first = context;
    any = true;
  }
};

class Worth {
 public:
  explicit Worth(Plan* plan)
      : plan_(plan),
        graph_(plan->graph),
        cost_(graph_.size()),
        uses_(graph_.size()),
        optional_(graph_.size()) {}

  void run() {
    find_costs();
    for (size_t i = graph_.size(); i > 0; --i) {
      if (plan_->nodes[i - 1].needed) decide(i - 1);
    }
    // Costs were counted before anything was stored: what has become cheap is inlined after all.
    for (size_t i = 0; i < graph_.size(); ++i) {
      cost_[i] = cost_of(i);
      if (optional_[i] && own_cost(i) <= kRecomputeLimit / 2) plan_->nodes[i].own_buffer = false;
      if (!plan_->nodes[i].own_buffer) cost_[i] = own_cost(i);
    }
  }

 private:
  void find_costs() {
    for (size_t i = 0; i < graph_.size(); ++i) cost_[i] = cost_of(i);
  }

  // Of reading the node: a load if it has memory.
  int cost_of(size_t i) const { return plan_->nodes[i].own_buffer ? 1 : own_cost(i); }
  // Of evaluating it.
  int own_cost(size_t i) const {
    const Node& node = graph_.nodes()[i];
    switch (op_info(node.op).op_class) {
      case OpClass::kLeaf:
        return is_memory_root(node) ? 1 : 0;
      case OpClass::kExtern:
        return 1;
      case OpClass::kReduction:
      case OpClass::kGufunc:
        return kCostLimit;
      case OpClass::kView:
        return cost_[index_of(node.operands[0])];
      case OpClass::kMemory:
        return node.op == Op::kCopy ? cost_[index_of(node.operands[0])] : 1;
      case OpClass::kControl:
        return 0;
      case OpClass::kGather:
      case OpClass::kElementwise:
        break;
    }
    int cost = op_info(node.op).cost == OpCost::kDear ? kDearCost : 1;
    for (NodeId operand : node.operands) cost += cost_[index_of(operand)];
    return std::min(cost, kCostLimit);
  }

  void decide(size_t i) {
    const Node& node = graph_.nodes()[i];
    NodePlan& plan = plan_->nodes[i];
    Uses& uses = uses_[i];
    const bool is_computed = is_elementwise(node.op) || node.op == Op::kCopy;
    if (is_computed && !plan.own_buffer) {
      const bool partly_used = node.fp_checks != kFpNone && !uses.covered;
      const bool again = uses.many || (uses.repeated && !node.type.dims.empty());
      if (partly_used || !uses.any) {
        plan.own_buffer = true;
      } else if (again && cost_[i] > kRecomputeLimit) {
        plan.own_buffer = true;
        optional_[i] = uses.covered;
      }
    }
    pass_on(static_cast<uint32_t>(i), node, plan.own_buffer);
  }

  void pass_on(uint32_t i, const Node& node, bool own_buffer) {
    const Context self{i, i};
    auto computed_whole = [&](NodeId operand) {
      uses_[index_of(operand)].add(self);
      uses_[index_of(operand)].covered = true;
    };
    switch (op_info(node.op).op_class) {
      case OpClass::kLeaf:
        return;
      case OpClass::kExtern:
      case OpClass::kReduction:
      case OpClass::kGufunc:
      case OpClass::kControl:
        for (NodeId operand : node.operands) computed_whole(operand);
        return;
      case OpClass::kView:
        pass_through_view(i, node, own_buffer);
        return;
      case OpClass::kMemory:
        if (node.op != Op::kCopy) {
          if (node.op == Op::kStore) computed_whole(node.operands[1]);
          return;
        }
        break;
      case OpClass::kGather:
      case OpClass::kElementwise:
        break;
    }
    const Uses& uses = uses_[i];
    for (NodeId operand : node.operands) {
      Uses& operand_uses = uses_[index_of(operand)];
      const bool is_source = node.op == Op::kGather && operand == node.operands[0];
      if (own_buffer || node.op == Op::kNumpyLoop || is_source) {
        computed_whole(operand);
        continue;
      }
      if (uses.any) operand_uses.add(uses.first);
      operand_uses.many |= uses.many;
      operand_uses.covered |= uses.covered;
      operand_uses.repeated |= uses.repeated;
    }
  }

  void pass_through_view(uint32_t i, const Node& node, bool own_buffer) {
    Uses uses = uses_[i];
    if (own_buffer) {
      uses = Uses{true, false, {i, i}, true, false};
    }
    Uses& operand_uses = uses_[index_of(node.operands[0])];
    if (!uses.any) return;
    const std::vector<SizeExpr>& dims = graph_.node(node.operands[0]).type.dims;
    const bool is_copied = node.op == Op::kReshape && !reshape_is_affine(dims, node.type.dims);
    if (is_copied) {
      operand_uses.add({i, i});
      operand_uses.covered = true;
      return;
    }
    operand_uses.add({uses.first.task, i});
    operand_uses.many |= uses.many;
    operand_uses.repeated |= uses.repeated;
    if (node.op != Op::kView) {
      operand_uses.covered |= uses.covered;
      return;
    }
    const IndexMap& map = attr_of<ViewAttr>(node).map;
    std::vector<bool> named(node.type.dims.size(), false);
    bool covers = true;
    for (size_t axis = 0; axis < map.axes.size(); ++axis) {
      const IndexMap::Axis& entry = map.axes[axis];
      if (entry.axis < 0) {
        covers = covers && is_one(dims[axis]);
        continue;
      }
      const size_t view_axis = static_cast<size_t>(entry.axis);
      // Both a plain and a reversed axis of the full length; a diagonal covers little.
      covers = covers && !named[view_axis] && node.type.dims[view_axis] == dims[axis];
      named[view_axis] = true;
    }
    for (size_t axis = 0; axis < named.size(); ++axis) {
      if (named[axis] || is_one(node.type.dims[axis])) continue;
      operand_uses.repeated = true;
      // Along a new axis of size 0 nothing is evaluated.
      covers = covers && node.type.dims[axis].constant().value_or(0) > 0;
    }
    operand_uses.covered |= covers && uses.covered;
  }

  Plan* plan_;
  const Graph& graph_;
  std::vector<int> cost_;
  std::vector<Uses> uses_;
  std::vector<bool> optional_;
};

}  // namespace

void mark_worthwhile(Plan* plan) { Worth(plan).run(); }

}  // namespace numlift::codegen
