// Follows, along all paths, where the symbols that the program sets were set last.
#include "verify_symbols.h"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

namespace numlift {
namespace {

class SymbolChecker {
 public:
  explicit SymbolChecker(const Graph& graph)
      : graph_(graph), made_with_(graph.size()), ends_(region_ends(graph)) {}

  std::string run() {
    for (uint32_t i = 0; i < graph_.size(); ++i) note_symbols(NodeId{i});
    do {
      has_grown_ = false;
      (void)walk();
    } while (has_grown_);
    return walk();
  }

 private:
  // What has happened on the paths to a place.
  struct State {
    bool is_reached = true;
    std::vector<uint32_t> set_at;  // by symbol: the last node that sets it, in order of the nodes
    void join(const State& other) {
      if (!other.is_reached) return;
      if (!is_reached) *this = other;
      for (size_t i = 0; i < set_at.size(); ++i) set_at[i] = std::max(set_at[i], other.set_at[i]);
    }
  };
  struct Region {
    NodeId begin;
    State before;
    State left;  // of the paths that go on behind its end without reaching that
  };

  // "" or the first use that is wrong by what is known of the loops so far.
  std::string walk() {
    now_ = {true, std::vector<uint32_t>(graph_.symbols.size(), 0)};
    std::string first;
    for (uint32_t i = 0; i < graph_.size(); ++i) {
      const Node& node = graph_.node(NodeId{i});
      // Versions of one buffer: nothing of the older one is read.
      const bool is_next_version = node.op == Op::kMerge || node.op == Op::kResize;
      for (NodeId operand : node.operands) {
        if (is_next_version) break;
        const std::string error = first.empty() ? check_use(operand) : "";
        if (!error.empty())
          first = fmt::format("%{} ({}): operand {}", i, op_info(node.op).text, error);
      }
      go_on(NodeId{i}, node);
    }
    for (NodeId id : graph_.outputs) {
      const std::string error = first.empty() ? check_use(id) : "";
      if (!error.empty()) first = "output " + error;
    }
    return first;
  }

  std::string check_use(NodeId id) const {
    if (!now_.is_reached) return "";
    for (SymbolId symbol : made_with_[index_of(id)]) {
      if (now_.set_at[index(symbol)] > index_of(id))
        return fmt::format("%{} was made with s{}, which was set since", index_of(id),
                           index(symbol));
    }
    return "";
  }

  static size_t index(SymbolId id) { return static_cast<size_t>(id); }

  void note_symbols(NodeId id) {
    const Node& node = graph_.node(id);
    std::vector<SymbolId> used;
    for (const SizeExpr& dim : node.type.dims) dim.collect_symbols(&used);
    if (const auto* size = std::get_if<SizeAttr>(&node.attr)) size->value.collect_symbols(&used);
    if (const auto* view = std::get_if<ViewAttr>(&node.attr)) {
      for (const IndexMap::Axis& axis : view->map.axes) {
        axis.start.collect_symbols(&used);
        axis.step.collect_symbols(&used);
      }
    }
    std::set<SymbolId>& made_with = made_with_[index_of(id)];
    for (SymbolId symbol : used) {
      if (graph_.symbols[index(symbol)].kind == SymbolKind::kRun) made_with.insert(symbol);
    }
    // What lies in memory, or was given by a call, is made already.
    const OpClass op_class = op_info(node.op).op_class;
    const bool is_made = op_class == OpClass::kExtern || op_class == OpClass::kControl ||
                         node.op == Op::kStore || node.op == Op::kMerge || node.op == Op::kResize ||
                         node.op == Op::kCopy;
    if (is_made) return;
    for (NodeId operand : node.operands) {
      const auto& inner = made_with_[index_of(operand)];
      made_with.insert(inner.begin(), inner.end());
    }
  }

  void go_on(NodeId id, const Node& node) {
    switch (node.op) {
      case Op::kAssign:
        for (SymbolId symbol : attr_of<AssignAttr>(node).symbols)
          now_.set_at[index(symbol)] = index_of(id);
        break;
      case Op::kLoop:
        set_by_loop_[id].insert(attr_of<RegionAttr>(node).counter);
        for (SymbolId symbol : set_by_loop_[id]) now_.set_at[index(symbol)] = index_of(id);
        open(id);
        break;
      case Op::kIf:
      case Op::kBlock:
        open(id);
        break;
      case Op::kElse:
        regions_.back().left.join(now_);
        now_ = regions_.back().before;
        break;
      case Op::kEnd:
        close();
        break;
      case Op::kBreak:
        region_of(node.operands[0]).left.join(now_);
        now_.is_reached = false;
        break;
      case Op::kContinue:
        go_around(node.operands[0]);
        now_.is_reached = false;
        break;
      default:
        break;
    }
  }

  // What is set on the way is set when the body begins again.
  void go_around(NodeId loop) {
    if (!now_.is_reached) return;
    for (size_t i = 0; i < now_.set_at.size(); ++i) {
      if (now_.set_at[i] > index_of(loop))
        has_grown_ |= set_by_loop_[loop].insert(SymbolId{static_cast<uint32_t>(i)}).second;
    }
  }

  void open(NodeId begin) { regions_.push_back({begin, now_, {false, {}}}); }

  void close() {
    const Region region = std::move(regions_.back());
    regions_.pop_back();
    const Node& begin = graph_.node(region.begin);
    if (begin.op == Op::kLoop) {
      go_around(region.begin);
      // It is left at its begin, or by a break.
      now_ = region.before;
      now_.is_reached = now_.is_reached && attr_of<RegionAttr>(begin).trips.has_value();
    } else if (begin.op == Op::kIf && !has_else(region.begin)) {
      now_.join(region.before);
    }
    now_.join(region.left);
  }

  bool has_else(NodeId begin) const {
    for (uint32_t i = index_of(begin); i < index_of(ends_[index_of(begin)]); ++i) {
      const Node& node = graph_.node(NodeId{i});
      if (node.op == Op::kElse && node.operands[0] == begin) return true;
    }
    return false;
  }

  Region& region_of(NodeId begin) {
    return *std::find_if(regions_.begin(), regions_.end(),
                         [&](const Region& region) { return region.begin == begin; });
  }

  const Graph& graph_;
  std::vector<std::set<SymbolId>> made_with_;  // by node: of the symbols that the program sets
  std::vector<NodeId> ends_;
  std::map<NodeId, std::set<SymbolId>> set_by_loop_;  // those that an iteration finds changed
  bool has_grown_ = false;                            // set_by_loop_, in this walk
  std::vector<Region> regions_;                       // the open ones, outermost first
  State now_;
};

}  // namespace

std::string check_symbol_values(const Graph& graph) {
  const bool has_any = std::any_of(graph.symbols.begin(), graph.symbols.end(),
                                   [](const Symbol& s) { return s.kind == SymbolKind::kRun; });
  return has_any ? SymbolChecker(graph).run() : "";
}

}  // namespace numlift
