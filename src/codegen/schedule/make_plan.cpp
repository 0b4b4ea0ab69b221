// make_plan: buffers and places in node order, and the copies that memory order asks for.
//
// Values are evaluated where they are used, which may be after a store that changes what they read.
// Such a value is stored at its own position instead; a view of old contents is copied there. So
// at every task, each buffer has just the contents that the versions named by its reads have.
//
// Nothing that reads memory or may stop the program is evaluated in another stretch than its own:
// whether and how often it runs would change with it.
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
        is_stored_to_(graph_.size(), false),
        runs_anywhere_(graph_.size(), false),
        symbols_(graph_.size()),
        changed_at_(graph_.symbols.size(), 0) {}

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
    if (node.op == Op::kMerge) {
      next_version(id);
      return;
    }
    if (is_control(node.op)) {
      visit_control(id);
      return;
    }
    const size_t value_operands_from = node.op == Op::kStore ? 1 : 0;
    for (size_t i = value_operands_from; i < node.operands.size(); ++i)
      keep_fresh(node.operands[i], id);
    if (node.op == Op::kStore) {
      visit_store(id);
      return;
    }
    if (node.op == Op::kGufunc) {
      for (NodeId operand : node.operands) {
        if (!suits_blas(operand)) give_buffer(operand);
      }
    }
    if (node.op == Op::kGather && !plan_.of(node.operands[0]).place) give_buffer(node.operands[0]);
    note_symbols(id);
    runs_anywhere_[index_of(id)] = can_run_anywhere(node);
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

  // A product of other layouts costs NumPy's loops more than a copy: no unit stride among the last
  // two axes, or a vector that does not go forwards.
  bool suits_blas(NodeId operand) const {
    const Node& node = graph_.node(operand);
    const std::optional<Place>& place = plan_.of(operand).place;
    if (!place) return false;
    const auto& strides = place->strides;
    if (strides.empty()) return true;
    const int64_t item_bytes = item_size(node.type.dtype);
    const int64_t last = strides.back().constant().value_or(item_bytes);
    if (strides.size() == 1) return last > 0;
    return last == item_bytes || strides[strides.size() - 2].constant() == item_bytes;
  }

  void visit_store(NodeId id) {
    const NodeId root = plan_.root_of(id);
    const NodeId value = graph_.node(id).operands[1];
    const Reads& reads = reads_[index_of(value)];
    const bool reads_target = std::any_of(
        reads.begin(), reads.end(), [&](NodeId version) { return plan_.root_of(version) == root; });
    if (reads_target && reads_elements_of_others(id)) give_buffer(value);
    plan_.buffers[index(buffer_of_[index_of(root)])].stored_to = true;
    next_version(id);
  }

  void next_version(NodeId id) {
    const NodeId root = plan_.root_of(id);
    const BufferId buffer = buffer_of_[index_of(root)];
    plan_.nodes[index_of(id)].place = whole_buffer(buffer, plan_.buffers[index(buffer)], id);
    newest_[index_of(root)] = id;
    reads_[index_of(id)] = {id};
  }

  // ---- control flow ----

  void visit_control(NodeId id) {
    const Node& node = graph_.node(id);
    if (node.op == Op::kAssign) {
      const auto& symbols = attr_of<AssignAttr>(node).symbols;
      for (NodeId operand : node.operands) {
        keep_fresh(operand, id);
        if (graph_.node(operand).op != Op::kSizeValue) give_scalar(operand);
      }
      for (SymbolId symbol : symbols) changed_at_[static_cast<size_t>(symbol)] = index_of(id);
    } else if (node.op == Op::kIf || node.op == Op::kCheck) {
      keep_fresh(node.operands[0], id);
      give_scalar(node.operands[0]);
    } else if (node.op == Op::kLoop) {
      change_symbols_of_loop(id);
    }
  }

  // The program's own code reads it, from a buffer that holds nothing else.
  void give_scalar(NodeId id) {
    const std::optional<Place>& place = plan_.of(id).place;
    const bool is_whole =
        place && !is_view(graph_.node(id).op) && plan_.buffers[index(place->buffer)].dims.empty();
    if (!is_whole) give_buffer(id);
  }

  // In a later iteration the symbols have what the body gave them.
  void change_symbols_of_loop(NodeId loop) {
    int depth = 0;
    for (uint32_t i = index_of(loop); i < graph_.size(); ++i) {
      const Node& node = graph_.node(NodeId{i});
      const auto change = [&](SymbolId id) {
        changed_at_[static_cast<size_t>(id)] = index_of(loop);
      };
      if (node.op == Op::kLoop) change(attr_of<RegionAttr>(node).counter);
      if (node.op == Op::kAssign) {
        for (SymbolId id : attr_of<AssignAttr>(node).symbols) change(id);
      }
      if (begins_region(node.op)) ++depth;
      if (node.op == Op::kEnd && --depth == 0) return;
    }
  }

  // Made of numbers alone, without a condition to detect and hardly dearer than a load.
  bool can_run_anywhere(const Node& node) const {
    if (node.fp_checks != kFpNone) return false;
    const bool is_leaf = node.op == Op::kConstant || node.op == Op::kSizeValue ||
                         node.op == Op::kIota ||
                         (node.op == Op::kPlaceholder && node.type.value_kind != ValueKind::kArray);
    if (is_leaf) return true;
    if (!is_view(node.op) && !is_elementwise(node.op)) return false;
    return op_info(node.op).cost == OpCost::kCheap &&
           std::all_of(node.operands.begin(), node.operands.end(),
                       [&](NodeId operand) { return runs_anywhere_[index_of(operand)]; });
  }

  // The symbols that the program sets and that the node's value or place depends on.
  void note_symbols(NodeId id) {
    const Node& node = graph_.node(id);
    std::vector<SymbolId> used;
    if (node.op == Op::kSizeValue) attr_of<SizeAttr>(node).value.collect_symbols(&used);
    if (node.op == Op::kView) {
      for (const IndexMap::Axis& axis : attr_of<ViewAttr>(node).map.axes) {
        axis.start.collect_symbols(&used);
        axis.step.collect_symbols(&used);
      }
    }
    std::vector<SymbolId>& symbols = symbols_[index_of(id)];
    const auto add = [&](SymbolId symbol) {
      if (graph_.symbols[static_cast<size_t>(symbol)].kind == SymbolKind::kRun &&
          std::find(symbols.begin(), symbols.end(), symbol) == symbols.end())
        symbols.push_back(symbol);
    };
    for (SymbolId symbol : used) add(symbol);
    if (!is_view(node.op) && !is_elementwise(node.op) && node.op != Op::kCopy) return;
    for (NodeId operand : node.operands) {
      for (SymbolId symbol : symbols_[index_of(operand)]) add(symbol);
    }
  }

  // x[1:] = x[:-1]: an iteration of the store may overwrite what a later one reads.
  bool reads_elements_of_others(NodeId store) const {
    const Task task = make_task(plan_, store);
    if (task.is_scalar()) return false;  // reads all, then stores
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

  // The operand is about to be read: what it depends on must not have changed since, and it must
  // not be evaluated in another stretch.
  void keep_fresh(NodeId operand, NodeId user) {
    const Reads& reads = reads_[index_of(operand)];
    const bool stale = std::any_of(reads.begin(), reads.end(), [&](NodeId version) {
      return newest_[index_of(plan_.root_of(version))] != version;
    });
    const auto& symbols = symbols_[index_of(operand)];
    const bool changed = std::any_of(symbols.begin(), symbols.end(), [&](SymbolId symbol) {
      return changed_at_[static_cast<size_t>(symbol)] > index_of(operand);
    });
    const bool crosses = !plan_.of(operand).place && !runs_anywhere_[index_of(operand)] &&
                         graph_.node(operand).type.value_kind != ValueKind::kObject &&
                         graph_.node(operand).type.value_kind != ValueKind::kEffect &&
                         plan_.regions.stretch(operand) != plan_.regions.stretch(user);
    if (!stale && !changed && !crosses) return;
    const Op op = graph_.node(operand).op;
    NUMLIFT_CHECK(plan_.of(operand).own_buffer == false && !is_memory_root(graph_.node(operand)) &&
                      op != Op::kStore && op != Op::kMerge,
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
    symbols_[index_of(id)].clear();
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
  std::vector<Reads> reads_;                    // by node
  std::vector<BufferId> buffer_of_;             // by first version
  std::vector<NodeId> newest_;                  // by first version
  std::vector<bool> is_stored_to_;              // by first version
  std::vector<bool> runs_anywhere_;             // by node
  std::vector<std::vector<SymbolId>> symbols_;  // by node
  std::vector<uint32_t> changed_at_;            // by symbol: the last node that may have set it
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
  plan.regions = Regions(plan.graph);
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
