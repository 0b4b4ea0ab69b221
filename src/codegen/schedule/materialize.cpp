// What must have memory of its own because something looks at that memory.
#include "schedule/materialize.h"

#include <utility>

#include "numlift/support/check.h"

namespace numlift::codegen {
namespace {

bool is_c_order(const AxisOrder& order) {
  for (size_t i = 0; i < order.size(); ++i) {
    if (order[i] != i) return false;
  }
  return true;
}

// Copies graph nodes one by one, with Copy nodes put in between.
class CopyInserter {
 public:
  explicit CopyInserter(const Graph& graph) : graph_(graph), renamed_(graph.size(), kNoNode) {
    result_.name = graph.name;
    result_.locations = graph.locations;
    result_.symbols = graph.symbols;
    result_.loops = graph.loops;
    result_.externs = graph.externs;
    result_.size_guards = graph.size_guards;
  }

  Graph run() {
    for (size_t i = 0; i < graph_.size(); ++i) {
      Node node = graph_.nodes()[i];
      for (NodeId& operand : node.operands) operand = renamed_[index_of(operand)];
      if (node.op == Op::kStore && stores_own_version(node)) {
        node.operands[1] = append_copy(node.operands[1], {}, node);
      }
      if (node.op == Op::kExtern) give_arrays(&node);
      renamed_[i] =
          node.op == Op::kNumpyLoop ? append_loop(std::move(node)) : append(std::move(node));
    }
    for (NodeId id : graph_.outputs) result_.outputs.push_back(renamed_[index_of(id)]);
    for (NodeId id : graph_.mutated_inputs) {
      result_.mutated_inputs.push_back(renamed_[index_of(id)]);
    }
    for (Symbol& symbol : result_.symbols) {
      if (symbol.kind != SymbolKind::kExternDim || symbol.input == index_of(kNoNode)) continue;
      symbol.input = index_of(renamed_[symbol.input]);
    }
    return std::move(result_);
  }

 private:
  NodeId append_loop(Node node) {
    for (NodeId& operand : node.operands) {
      if (!is_whole_contiguous(result_.node(operand))) operand = append_copy(operand, {}, node);
    }
    const AxisOrder order = std::exchange(node.order, {});
    const Node like = node;
    const NodeId loop = append(std::move(node));
    return is_c_order(order) ? loop : append_copy(loop, order, like);
  }

  // What only repeats a number becomes an array: NumPy takes objects.
  void give_arrays(Node* call) {
    for (NodeId& operand : call->operands) {
      const ValueKind kind = result_.node(operand).type.value_kind;
      const NodeId root = roots_[index_of(operand)];
      if (kind == ValueKind::kArray && result_.node(root).type.value_kind != ValueKind::kArray)
        operand = append_copy(operand, {}, *call);
    }
  }

  // x[::-1] = x
  bool stores_own_version(const Node& store) const {
    const NodeId value = store.operands[1];
    return !is_view(result_.node(value).op) &&
           roots_[index_of(value)] == roots_[index_of(store.operands[0])];
  }

  NodeId append_copy(NodeId operand, AxisOrder order, const Node& like) {
    Node copy;
    copy.op = Op::kCopy;
    copy.operands = {operand};
    copy.type = result_.node(operand).type;
    copy.order = std::move(order);
    copy.location = like.location;
    return append(std::move(copy));
  }

  NodeId append(Node node) {
    const NodeId id{static_cast<uint32_t>(result_.size())};
    roots_.push_back(find_root(node, id, roots_));
    return result_.append(std::move(node));
  }

  static bool is_whole_contiguous(const Node& node) {
    if (node.op == Op::kNumpyLoop || node.op == Op::kCopy) return is_c_order(node.order);
    return node.op == Op::kPlaceholder && node.type.value_kind == ValueKind::kArray &&
           is_c_contiguous(node.type.dims, attr_of<PlaceholderAttr>(node).strides,
                           item_size(node.type.dtype));
  }

  const Graph& graph_;
  Graph result_;
  std::vector<NodeId> renamed_;  // by node of graph_
  std::vector<NodeId> roots_;    // by node of result_
};

// A value that Python gets or an extern call takes.
void show(Plan* plan, NodeId id) {
  const Node& node = plan->graph.node(id);
  const bool is_array = node.type.value_kind == ValueKind::kArray;
  if (node.type.value_kind == ValueKind::kObject || node.type.value_kind == ValueKind::kEffect) {
    return;
  }
  const NodeId root = is_array ? plan->root_of(id) : id;
  const Node& root_node = plan->graph.node(root);
  NodePlan& root_plan = plan->nodes[index_of(root)];
  root_plan.visible = true;
  const bool is_given = root_node.op == Op::kExternItem ||
                        (root_node.op == Op::kPlaceholder && root == id) ||
                        is_memory_root(root_node) || root_node.op == Op::kSizeValue;
  // A view of a scalar (broadcast_to) needs the scalar in memory, whatever it is.
  if (!is_given || (root != id && !is_memory_root(root_node))) root_plan.own_buffer = true;
}

// To what a node is, or is a view of.
void give_memory(Plan* plan, NodeId id) {
  const NodeId root = plan->root_of(id);
  if (!is_memory_root(plan->graph.node(root))) plan->nodes[index_of(root)].own_buffer = true;
}

}  // namespace

Graph insert_copies(Graph graph) {
  for (const Node& node : graph.nodes()) {
    if (node.op == Op::kNumpyLoop || node.op == Op::kStore || node.op == Op::kExtern)
      return CopyInserter(graph).run();
  }
  return graph;
}

void mark_needed(Plan* plan) {
  const Graph& graph = plan->graph;
  auto need = [&](NodeId id) { plan->nodes[index_of(id)].needed = true; };
  for (NodeId id : graph.outputs) need(id);
  for (NodeId id : graph.mutated_inputs) need(id);
  for (size_t i = graph.size(); i > 0; --i) {
    const Node& node = graph.nodes()[i - 1];
    bool& needed = plan->nodes[i - 1].needed;
    if (node.op == Op::kStore || node.op == Op::kMerge || node.fp_checks != kFpNone) needed = true;
    if (is_control(node.op)) needed = true;
    // Its sizes are checked, and read by expressions that name no node.
    if (node.op == Op::kExternItem && node.type.value_kind == ValueKind::kArray) needed = true;
    if (node.op == Op::kExtern) {
      const ExternInfo& info = graph.externs[attr_of<ExternAttr>(node).call];
      if (!info.pure || info.may_raise) needed = true;
    }
    if (!needed) continue;
    for (NodeId operand : node.operands) need(operand);
  }
}

void mark_required(Plan* plan) {
  const Graph& graph = plan->graph;
  for (NodeId id : graph.outputs) show(plan, id);
  for (size_t i = 0; i < graph.size(); ++i) {
    const Node& node = graph.nodes()[i];
    if (!plan->nodes[i].needed) continue;
    if (node.op == Op::kExtern) {
      for (NodeId operand : node.operands) show(plan, operand);
    } else if (node.op == Op::kStore) {
      give_memory(plan, NodeId{static_cast<uint32_t>(i)});
    } else if (node.op == Op::kNumpyLoop) {
      plan->nodes[i].own_buffer = true;
      for (NodeId operand : node.operands) {
        if (!is_memory_root(graph.node(operand))) plan->nodes[index_of(operand)].own_buffer = true;
      }
    } else if (node.op == Op::kGather) {
      give_memory(plan, node.operands[0]);
    } else if (node.op == Op::kGufunc) {
      plan->nodes[i].own_buffer = true;
      for (NodeId operand : node.operands) give_memory(plan, operand);
    } else if (is_reduction(node.op)) {
      plan->nodes[i].own_buffer = true;
    }
  }
}

}  // namespace numlift::codegen
