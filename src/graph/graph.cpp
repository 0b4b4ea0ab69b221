// Node storage, renumbering, and the walk from a version to its buffer.
#include "numlift/graph/graph.h"

#include "numlift/support/check.h"

namespace numlift {

NodeId Graph::append(Node node) {
  const NodeId id{static_cast<uint32_t>(nodes_.size())};
  for (NodeId operand : node.operands) {
    NUMLIFT_CHECK(index_of(operand) < nodes_.size(), "operand %{} of new node %{}",
                  index_of(operand), index_of(id));
  }
  nodes_.push_back(std::move(node));
  return id;
}

const Node& Graph::node(NodeId id) const {
  NUMLIFT_CHECK(index_of(id) < nodes_.size(), "no node %{}", index_of(id));
  return nodes_[index_of(id)];
}

Node& Graph::mutable_node(NodeId id) {
  NUMLIFT_CHECK(index_of(id) < nodes_.size(), "no node %{}", index_of(id));
  return nodes_[index_of(id)];
}

void Graph::compact(const std::vector<bool>& keep) {
  NUMLIFT_CHECK(keep.size() == nodes_.size(), "{} flags for {} nodes", keep.size(), nodes_.size());
  std::vector<NodeId> order;
  for (uint32_t i = 0; i < nodes_.size(); ++i) {
    if (keep[i]) order.push_back(NodeId{i});
  }
  reorder(order);
}

void Graph::reorder(const std::vector<NodeId>& order) {
  std::vector<NodeId> renumbered(nodes_.size(), kNoNode);
  auto rename = [&](NodeId& id) {
    const NodeId renamed = renumbered[index_of(id)];
    NUMLIFT_CHECK(renamed != kNoNode, "%{} is used but dropped, or stands behind its user",
                  index_of(id));
    id = renamed;
  };
  std::vector<Node> ordered;
  ordered.reserve(order.size());
  for (NodeId id : order) {
    NUMLIFT_CHECK(renumbered[index_of(id)] == kNoNode, "%{} is placed twice", index_of(id));
    ordered.push_back(std::move(nodes_[index_of(id)]));
    for (NodeId& operand : ordered.back().operands) rename(operand);
    renumbered[index_of(id)] = NodeId{static_cast<uint32_t>(ordered.size() - 1)};
  }
  nodes_ = std::move(ordered);
  for (NodeId& id : outputs) rename(id);
  for (NodeId& id : mutated_inputs) rename(id);
  // A symbol of a dropped extern item is used by nothing that is kept; it keeps its place, so that
  // SymbolIds stay valid, and names no node.
  for (Symbol& symbol : symbols) {
    if (symbol.kind != SymbolKind::kExternDim || symbol.input == index_of(kNoNode)) continue;
    symbol.input = index_of(renumbered[symbol.input]);
  }
}

std::vector<int64_t> Graph::symbol_hints() const {
  std::vector<int64_t> hints;
  hints.reserve(symbols.size());
  for (const Symbol& symbol : symbols) hints.push_back(symbol.hint);
  return hints;
}

NodeId Graph::buffer_of(NodeId id) const {
  for (;;) {
    const Node& current = node(id);
    const bool passes_on = current.op == Op::kStore || current.op == Op::kMerge ||
                           current.op == Op::kResize ||
                           op_info(current.op).op_class == OpClass::kView;
    if (!passes_on) return id;
    id = current.operands[0];
  }
}

std::vector<NodeId> region_ends(const Graph& graph) {
  std::vector<NodeId> ends(graph.size(), kNoNode);
  std::vector<NodeId> elses(graph.size(), kNoNode);
  for (uint32_t i = 0; i < graph.size(); ++i) {
    const Node& node = graph.node(NodeId{i});
    if (node.op == Op::kElse) elses[index_of(node.operands[0])] = NodeId{i};
    if (node.op != Op::kEnd) continue;
    const NodeId begin = node.operands[0];
    ends[index_of(begin)] = NodeId{i};
    if (const NodeId other = elses[index_of(begin)]; other != kNoNode) {
      ends[index_of(other)] = NodeId{i};
    }
  }
  return ends;
}

}  // namespace numlift
