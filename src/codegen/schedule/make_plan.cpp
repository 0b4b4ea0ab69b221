// make_plan: buffers and places in node order, and the copies that memory order asks for.
//
// Values are evaluated where they are used, which may be after a store that changes what they read.
// Such a value is stored at its own position instead; a view of old contents is copied there. So
// at every task, each buffer has just the contents that the versions named by its reads have.
#include <algorithm>

#include "numlift/support/check.h"
#include "schedule/materialize.h"
#include "schedule/task.h"

namespace numlift::codegen {
namespace {

class Planner {
 public:
  explicit Planner(Plan* plan)
      : plan_(*plan),
        graph_(plan->graph),
        reads_(graph_.size()),
        buffer_of_(graph_.size()),
        newest_(graph_.size(), kNoNode),
        is_stored_to_(graph_.size(), false) {}

  void run() {
    for (size_t i = 0; i < graph_.size(); ++i) {
      const NodeId id{static_cast<uint32_t>(i)};
      if (plan_.nodes[i].needed && graph_.node(id).op == Op::kStore) {
        is_stored_to_[index_of(plan_.root_of(id))] = true;
      }
    }
    for (size_t i = 0; i < graph_.size(); ++i) {
      if (plan_.nodes[i].needed) visit(NodeId{static_cast<uint32_t>(i)});
    }
  }

 private:
  // A version that a value depends on, of a buffer that is stored to.
  using Reads = std::vector<NodeId>;

  void visit(NodeId id) {
    const Node& node = graph_.node(id);
    const size_t value_operands_from = node.op == Op::kStore ? 1 : 0;
    for (size_t i = value_operands_from; i < node.operands.size(); ++i)
      keep_fresh(node.operands[i]);
    if (node.op == Op::kStore) {
      visit_store(id);
      return;
    }
    if (is_memory_root(node) || plan_.of(id).own_buffer) {
      give_buffer(id);
      return;
    }
    Reads& reads = reads_[index_of(id)];
    for (NodeId operand : node.operands) merge(reads_[index_of(operand)], &reads);
    if (!is_view(node.op)) return;
    const NodePlan& operand = plan_.of(node.operands[0]);
    if (operand.place)
      plan_.nodes[index_of(id)].place = place_of_view(graph_, node, *operand.place);
    if (plan_.of(id).place || node.op != Op::kReshape) return;
    const bool must_copy =
        operand.place ||
        !reshape_is_affine(graph_.node(node.operands[0]).type.dims, node.type.dims);
    if (must_copy) give_buffer(id);
  }

  void visit_store(NodeId id) {
    const NodeId root = plan_.root_of(id);
    const NodeId value = graph_.node(id).operands[1];
    const Reads& reads = reads_[index_of(value)];
    const bool reads_target = std::any_of(
        reads.begin(), reads.end(), [&](NodeId version) { return plan_.root_of(version) == root; });
    if (reads_target && reads_elements_of_others(id)) give_buffer(value);
    const BufferId target = buffer_of_[index_of(root)];
    Buffer& buffer = plan_.buffers[index(target)];
    buffer.stored_to = true;
    plan_.nodes[index_of(id)].place = whole_buffer(target, buffer, id);
    newest_[index_of(root)] = id;
    reads_[index_of(id)] = {id};
  }

  // x[1:] = x[:-1]: an iteration of the store may overwrite what a later one reads.
  bool reads_elements_of_others(NodeId store) const {
    const Task task = make_task(plan_, store);
    for (const TaskLoad& load : task.loads) {
      if (load.footprint.buffer != task.store_footprint.buffer) continue;
      const Access& access = task.values[static_cast<size_t>(load.value)].access;
      const bool same_element = access.offset == task.store_access->offset &&
                                access.strides == task.store_access->strides;
      if (!same_element && !are_disjoint(plan_, task, load.footprint, task, task.store_footprint)) {
        return true;
      }
    }
    return false;
  }

  // The operand is about to be read: what it depends on must not have been stored to since.
  void keep_fresh(NodeId operand) {
    const Reads& reads = reads_[index_of(operand)];
    const bool stale = std::any_of(reads.begin(), reads.end(), [&](NodeId version) {
      return newest_[index_of(plan_.root_of(version))] != version;
    });
    if (!stale) return;
    NUMLIFT_CHECK(plan_.of(operand).own_buffer == false && !is_memory_root(graph_.node(operand)) &&
                      graph_.node(operand).op != Op::kStore,
                  "%{} is read after a store to it", index_of(operand));
    give_buffer(operand);
  }

  void give_buffer(NodeId id) {
    const Node& node = graph_.node(id);
    NodePlan& plan = plan_.nodes[index_of(id)];
    const bool is_array = node.type.value_kind == ValueKind::kArray;
    Buffer buffer;
    buffer.dtype = node.type.dtype;
    buffer.dims = node.type.dims;
    buffer.node = id;
    if (node.op == Op::kPlaceholder && is_array) {
      buffer.kind = Buffer::Kind::kInput;
      buffer.input = attr_of<PlaceholderAttr>(node).input;
      buffer.strides = attr_of<PlaceholderAttr>(node).strides;
    } else if (node.op == Op::kExternItem) {
      if (node.type.value_kind == ValueKind::kObject) return;
      buffer.kind = Buffer::Kind::kExtern;
      buffer.strides = attr_of<ExternItemAttr>(node).strides;
    } else {
      plan.own_buffer = node.op != Op::kEmpty;
      buffer.kind = !plan.visible ? Buffer::Kind::kTemp
                    : is_array    ? Buffer::Kind::kArray
                                  : Buffer::Kind::kScalar;
      if (!is_view(node.op)) buffer.order = node.order;
    }
    const int64_t item_bytes = item_size(buffer.dtype);
    if (buffer.kind != Buffer::Kind::kInput && buffer.strides.empty()) {
      buffer.strides = contiguous_strides(buffer.dims, buffer.order, item_bytes);
    }
    if (buffer.kind == Buffer::Kind::kTemp) {
      buffer.bytes = product(buffer.dims) * item_bytes;
      buffer.order.clear();
    }
    const BufferId buffer_id{static_cast<uint32_t>(plan_.buffers.size())};
    plan.place = whole_buffer(buffer_id, buffer, id);
    plan_.buffers.push_back(std::move(buffer));
    buffer_of_[index_of(id)] = buffer_id;
    newest_[index_of(id)] = id;
    reads_[index_of(id)].clear();
    if (is_stored_to_[index_of(id)]) reads_[index_of(id)] = {id};
  }

  static void merge(const Reads& from, Reads* into) {
    for (NodeId version : from) {
      if (std::find(into->begin(), into->end(), version) == into->end()) into->push_back(version);
    }
  }
  static size_t index(BufferId id) { return static_cast<size_t>(id); }

  Plan& plan_;
  const Graph& graph_;
  std::vector<Reads> reads_;         // by node
  std::vector<BufferId> buffer_of_;  // by first version
  std::vector<NodeId> newest_;       // by first version
  std::vector<bool> is_stored_to_;   // by first version
};

}  // namespace

Place memory_place(const Plan& plan, NodeId id) {
  const Node& node = plan.graph.node(id);
  if (!is_view(node.op)) {
    NUMLIFT_CHECK(plan.of(id).place, "%{} has no memory", index_of(id));
    return *plan.of(id).place;
  }
  const auto place = place_of_view(plan.graph, node, memory_place(plan, node.operands[0]));
  NUMLIFT_CHECK(place, "%{} reshapes memory that is not contiguous", index_of(id));
  return *place;
}

Plan make_plan(Graph graph) {
  Plan plan;
  plan.graph = insert_copies(std::move(graph));
  plan.hints = plan.graph.symbol_hints();
  plan.nodes.resize(plan.graph.size());
  for (size_t i = 0; i < plan.graph.size(); ++i) {
    plan.roots.push_back(
        find_root(plan.graph.nodes()[i], NodeId{static_cast<uint32_t>(i)}, plan.roots));
  }
  mark_needed(&plan);
  mark_required(&plan);
  mark_worthwhile(&plan);
  Planner(&plan).run();
  return plan;
}

}  // namespace numlift::codegen
