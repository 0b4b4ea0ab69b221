// Dead code: what neither a result, a mutated input nor an effect needs.
#include "../dtype_rules.h"
#include "numlift/graph/pass.h"
#include "numlift/support/check.h"

namespace numlift {
namespace {

// Kept although nobody reads it. Conditions that cannot occur (integer sums) keep nothing alive.
bool has_effect(const Graph& graph, const Node& node) {
  if (node.op == Op::kExtern) {
    const ExternInfo& info = graph.externs[attr_of<ExternAttr>(node).call];
    return !info.pure || info.may_raise;
  }
  // The sizes that the trace took its array to have are checked where it is taken.
  if (node.op == Op::kExternItem) return node.type.value_kind == ValueKind::kArray;
  if (op_info(node.op).op_class == OpClass::kControl) return true;
  if (node.fp_checks == 0) return false;
  const DType operand = graph.node(node.operands[0]).type.dtype;
  return (node.fp_checks & possible_conditions(node.op, operand, node.type)) != 0;
}

}  // namespace

void eliminate_dead_code(Graph* graph) {
  std::vector<bool> live(graph->size(), false);
  for (NodeId id : graph->outputs) live[index_of(id)] = true;
  for (NodeId id : graph->mutated_inputs) live[index_of(id)] = true;
  // A size used by a live node or a guard keeps the extern item alive that gives it.
  auto keep_sizes = [&](const SizeExpr& size) {
    std::vector<SymbolId> used;
    size.collect_symbols(&used);
    for (SymbolId id : used) {
      const Symbol& symbol = graph->symbols[static_cast<size_t>(id)];
      if (symbol.kind != SymbolKind::kExternDim) continue;
      NUMLIFT_CHECK(symbol.input < live.size(), "s{} names no node", static_cast<size_t>(id));
      live[symbol.input] = true;
    }
  };
  // Where paths meet, what was stored on any of them may be read: a buffer that is read behind such
  // a place, or in the next iteration, keeps all its stores.
  std::vector<bool> merged(graph->size(), false);
  bool found_merge = true;
  while (found_merge) {
    found_merge = false;
    for (size_t i = graph->size(); i-- > 0;) {
      const NodeId id{static_cast<uint32_t>(i)};
      const Node& node = graph->node(id);
      const bool is_kept_store = (node.op == Op::kStore || node.op == Op::kResize) &&
                                 merged[index_of(graph->buffer_of(id))];
      if (!live[i] && !is_kept_store && !has_effect(*graph, node)) continue;
      live[i] = true;
      for (NodeId operand : node.operands) live[index_of(operand)] = true;
      if (node.op != Op::kMerge) continue;
      const size_t buffer = index_of(graph->buffer_of(id));
      found_merge = found_merge || !merged[buffer];
      merged[buffer] = true;
    }
  }
  for (size_t i = graph->size(); i-- > 0;) {
    const Node& node = graph->node(NodeId{static_cast<uint32_t>(i)});
    if (!live[i]) continue;
    // (An extern item that a size keeps alive comes earlier.)
    for (NodeId operand : node.operands) live[index_of(operand)] = true;
    for (const SizeExpr& dim : node.type.dims) keep_sizes(dim);
    if (const auto* region = std::get_if<RegionAttr>(&node.attr)) {
      if (region->trips) keep_sizes(*region->trips);
    }
    if (const auto* size = std::get_if<SizeAttr>(&node.attr)) keep_sizes(size->value);
    if (const auto* view = std::get_if<ViewAttr>(&node.attr)) {
      for (const IndexMap::Axis& axis : view->map.axes) {
        keep_sizes(axis.start);
        keep_sizes(axis.step);
      }
    }
  }
  graph->compact(live);
}

}  // namespace numlift
