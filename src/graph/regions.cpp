#include "numlift/graph/regions.h"

#include <algorithm>
#include <unordered_map>

#include "numlift/support/check.h"

namespace numlift {
namespace {

class Settler {
 public:
  Settler(Graph* graph, const std::vector<MovedNode>& moved) : graph_(*graph) {
    place(moved);
    find_stores();
  }

  void run() {
    for (size_t at = 0; at < placed_.size(); ++at) {
      const NodeId id = placed_[at];
      for (size_t i = 0; i < graph_.node(id).operands.size(); ++i) {
        const NodeId operand = newest(graph_.node(id).operands[i]);
        graph_.mutable_node(id).operands[i] = operand;
      }
      order_.push_back(id);
      switch (graph_.node(id).op) {
        case Op::kLoop:
          open_.push_back({at, newest_});
          merge_stored(at, end_of(id), newest_);
          break;
        case Op::kIf:
        case Op::kBlock:
          open_.push_back({at, newest_});
          break;
        case Op::kElse:
          merge_stored(open_.back().begin, at, open_.back().before);
          break;
        case Op::kEnd: {
          const Region region = std::move(open_.back());
          open_.pop_back();
          merge_stored(region.begin, at, region.before);
          break;
        }
        case Op::kStore:
        case Op::kResize:
          newest_[roots_[index_of(id)]] = id;
          break;
        default:
          break;
      }
    }
    settle_outputs();
    for (NodeId& id : graph_.mutated_inputs) id = newest(id);
    graph_.reorder(order_);
  }

 private:
  using Versions = std::unordered_map<NodeId, NodeId>;  // by buffer that is stored to
  struct Region {
    size_t begin = 0;
    Versions before;
  };

  void place(const std::vector<MovedNode>& moved) {
    const auto count = static_cast<uint32_t>(graph_.size());
    std::vector<std::vector<NodeId>> before(count);
    std::vector<bool> is_moved(count, false);
    for (const MovedNode& one : moved) {
      NUMLIFT_CHECK(!is_moved[index_of(one.before)], "%{} is moved before a moved node",
                    index_of(one.node));
      is_moved[index_of(one.node)] = true;
      before[index_of(one.before)].push_back(one.node);
    }
    NodeId outermost = kNoNode;
    int depth = 0;
    for (uint32_t i = 0; i < count; ++i) {
      if (is_moved[i]) continue;
      const NodeId id{i};
      const Op op = graph_.node(id).op;
      if (begins_region(op) && depth++ == 0) outermost = id;
      if (op == Op::kEnd) --depth;
      if (op != Op::kPlaceholder || depth == 0) continue;
      is_moved[i] = true;
      // Before what else was moved there, which may use it.
      auto& front = before[index_of(outermost)];
      front.insert(front.begin() + hoisted_[outermost]++, id);
    }
    for (uint32_t i = 0; i < count; ++i) {
      if (is_moved[i]) continue;
      placed_.insert(placed_.end(), before[i].begin(), before[i].end());
      placed_.push_back(NodeId{i});
    }
  }

  void find_stores() {
    roots_.resize(graph_.size(), kNoNode);
    position_.resize(graph_.size(), 0);
    for (size_t at = 0; at < placed_.size(); ++at) {
      const NodeId id = placed_[at];
      position_[index_of(id)] = at;
      if (graph_.node(id).op == Op::kEnd) ends_[graph_.node(id).operands[0]] = at;
      if (graph_.node(id).op != Op::kStore && graph_.node(id).op != Op::kResize) continue;
      const NodeId root = graph_.buffer_of(id);
      roots_[index_of(id)] = root;
      newest_.emplace(root, root);
    }
  }

  size_t end_of(NodeId begin) const {
    const auto found = ends_.find(begin);
    NUMLIFT_CHECK(found != ends_.end(), "%{} has no end", index_of(begin));
    return found->second;
  }

  // What stands for `id` here: the newest version of a buffer; an array that looks at an older one
  // is made again. (A scalar is not: it was read where it stands.)
  NodeId newest(NodeId id) {
    const OpClass op_class = op_info(graph_.node(id).op).op_class;
    if (op_class == OpClass::kControl) return id;
    if (op_class == OpClass::kView) {
      if (graph_.node(id).type.value_kind != ValueKind::kArray) return id;
      const NodeId before = graph_.node(id).operands[0];
      const NodeId now = newest(before);
      if (now == before) return id;
      Node view = graph_.node(id);
      view.operands = {now};
      return insert(std::move(view));
    }
    const auto found = newest_.find(graph_.buffer_of(id));
    return found == newest_.end() ? id : found->second;
  }

  NodeId insert(Node node) {
    const NodeId id = graph_.append(std::move(node));
    order_.push_back(id);
    return id;
  }

  // One object that is given twice stays one.
  void settle_outputs() {
    std::unordered_map<NodeId, NodeId> settled;
    for (NodeId& id : graph_.outputs) {
      auto [found, is_new] = settled.emplace(id, id);
      if (is_new) found->second = newest(id);
      id = found->second;
    }
  }

  // Paths meet here of which some have been through the nodes between the two places.
  void merge_stored(size_t from, size_t to, const Versions& before) {
    std::vector<NodeId> merged;
    const Versions versions = before;  // `before` may be newest_
    for (size_t at = from; at < to; ++at) {
      const NodeId root = roots_[index_of(placed_[at])];
      if (root == kNoNode || position_[index_of(root)] > from) continue;
      if (std::find(merged.begin(), merged.end(), root) != merged.end()) continue;
      merged.push_back(root);
      Node merge;
      merge.op = Op::kMerge;
      merge.operands = {versions.at(root)};
      merge.type = graph_.node(root).type;
      merge.order = graph_.node(root).order;
      merge.location = graph_.node(placed_[to]).location;
      newest_[root] = insert(std::move(merge));
    }
  }

  Graph& graph_;
  std::vector<NodeId> placed_;    // in their final order, merges apart
  std::vector<size_t> position_;  // by node: in placed_
  std::vector<NodeId> roots_;     // by node: of stores
  std::unordered_map<NodeId, size_t> ends_;
  std::unordered_map<NodeId, int> hoisted_;
  Versions newest_;
  std::vector<Region> open_;
  std::vector<NodeId> order_;
};

}  // namespace

void settle_regions(Graph* graph, const std::vector<MovedNode>& moved) {
  const bool has_regions = std::any_of(graph->nodes().begin(), graph->nodes().end(),
                                       [](const Node& node) { return begins_region(node.op); });
  if (has_regions) Settler(graph, moved).run();
}

}  // namespace numlift
