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
  std::vector<NodeId> renumbered(nodes_.size(), kNoNode);
  auto rename = [&](NodeId& id) {
    const NodeId renamed = renumbered[index_of(id)];
    NUMLIFT_CHECK(renamed != kNoNode, "%{} is dropped but used", index_of(id));
    id = renamed;
  };
  std::vector<Node> kept;
  for (size_t i = 0; i < nodes_.size(); ++i) {
    if (!keep[i]) continue;
    renumbered[i] = NodeId{static_cast<uint32_t>(kept.size())};
    kept.push_back(std::move(nodes_[i]));
    for (NodeId& operand : kept.back().operands) rename(operand);
  }
  nodes_ = std::move(kept);
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
    const bool passes_on =
        current.op == Op::kStore || op_info(current.op).op_class == OpClass::kView;
    if (!passes_on) return id;
    id = current.operands[0];
  }
}

}  // namespace numlift
