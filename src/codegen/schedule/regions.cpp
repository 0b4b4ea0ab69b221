#include "schedule/regions.h"

namespace numlift::codegen {

Regions::Regions(const Graph& graph) {
  std::vector<NodeId> open;
  uint32_t stretch = 0;
  for (uint32_t i = 0; i < graph.size(); ++i) {
    const Op op = graph.node(NodeId{i}).op;
    if (op == Op::kEnd) open.pop_back();
    around_.push_back(open.empty() ? kNoNode : open.back());
    is_loop_.push_back(op == Op::kLoop);
    stretches_.push_back(stretch);
    if (begins_region(op)) open.push_back(NodeId{i});
    any_ = any_ || is_control(op);
    if (is_control(op) && op != Op::kCheck) ++stretch;
  }
}

bool Regions::is_inside(NodeId id, NodeId begin) const {
  for (NodeId at = around_[index_of(id)]; at != kNoNode; at = around_[index_of(at)]) {
    if (at == begin) return true;
  }
  return false;
}

NodeId Regions::loop_of(NodeId id) const {
  NodeId at = around_[index_of(id)];
  while (at != kNoNode && !is_loop_[index_of(at)]) at = around_[index_of(at)];
  return at;
}

}  // namespace numlift::codegen
