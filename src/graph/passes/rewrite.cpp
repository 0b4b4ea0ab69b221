#include "rewrite.h"

namespace numlift {

Visibility find_visibility(const Graph& graph) {
  Visibility found{std::vector<bool>(graph.size(), false), std::vector<bool>(graph.size(), false)};
  auto see = [&](NodeId id) {
    found.seen[index_of(id)] = true;
    found.seen[index_of(graph.buffer_of(id))] = true;
  };
  for (NodeId id : graph.outputs) see(id);
  for (NodeId id : graph.mutated_inputs) see(id);
  for (const Node& node : graph.nodes()) {
    if (node.op == Op::kStore) found.written[index_of(graph.buffer_of(node.operands[0]))] = true;
    if (node.op != Op::kExtern || graph.externs[attr_of<ExternAttr>(node).call].pure) continue;
    for (NodeId operand : node.operands) {
      see(operand);
      found.written[index_of(graph.buffer_of(operand))] = true;
    }
  }
  return found;
}

std::vector<NodeId> identity_replacement(const Graph& graph) {
  std::vector<NodeId> replacement;
  for (uint32_t i = 0; i < graph.size(); ++i) replacement.push_back(NodeId{i});
  return replacement;
}

void replace_uses(Graph* graph, const std::vector<NodeId>& replacement) {
  for (uint32_t i = 0; i < graph->size(); ++i) {
    for (NodeId& operand : graph->mutable_node(NodeId{i}).operands) {
      operand = replacement[index_of(operand)];
    }
  }
  for (NodeId& id : graph->outputs) id = replacement[index_of(id)];
  for (NodeId& id : graph->mutated_inputs) id = replacement[index_of(id)];
}

}  // namespace numlift
