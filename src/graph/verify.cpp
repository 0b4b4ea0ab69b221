// Checks the invariants of graph.h. Each check_* returns "" or what is broken; verify() adds where.
#include <algorithm>
#include <optional>
#include <set>

#include <fmt/format.h>

#include "dtype_rules.h"
#include "numlift/graph/text.h"
#include "numlift/support/check.h"
#include "numlift/support/options.h"
#include "verify_calls.h"
#include "verify_symbols.h"

namespace numlift {
namespace {

bool is_valued(const Type& type) {
  return type.value_kind != ValueKind::kObject && type.value_kind != ValueKind::kEffect;
}

SizeExpr element_count(const std::vector<SizeExpr>& dims) {
  SizeExpr count = 1;
  for (const SizeExpr& dim : dims) count = count * dim;
  return count;
}

// Unequal for every value of the symbols.
bool provably_different(const SizeExpr& a, const SizeExpr& b) {
  const auto difference = (a - b).constant();
  return difference && *difference != 0;
}

class Verifier {
 public:
  explicit Verifier(const Graph& graph)
      : graph_(graph), newest_(graph.size(), kNoNode), arm_of_(graph.size(), kNoNode) {}

  std::string run() {
    if (std::string error = check_symbols(); !error.empty()) return error;
    if (std::string error = check_regions(); !error.empty()) return error;
    for (size_t i = 0; i < graph_.size(); ++i) {
      id_ = NodeId{static_cast<uint32_t>(i)};
      const Node& node = graph_.node(id_);
      if (std::string error = check_node(node); !error.empty()) {
        return fmt::format("%{} ({}): {}", i, op_info(node.op).text, error);
      }
      enter(node);
    }
    if (std::string error = check_symbol_values(graph_); !error.empty()) return error;
    return check_results();
  }

 private:
  const Type& operand_type(const Node& node, size_t i) const {
    return graph_.node(node.operands[i]).type;
  }

  // Every region has its end; what else is wrong with them is told node by node.
  std::string check_regions() {
    for (size_t i = 0; i < graph_.size(); ++i) {
      const Node& node = graph_.nodes()[i];
      for (NodeId operand : node.operands) {
        if (index_of(operand) >= graph_.size())
          return fmt::format("%{} ({}): an operand is no node", i, op_info(node.op).text);
      }
      if ((node.op == Op::kElse || node.op == Op::kEnd) && node.operands.empty())
        return fmt::format("%{} ({}): it names no region", i, op_info(node.op).text);
    }
    ends_ = region_ends(graph_);
    for (size_t i = 0; i < graph_.size(); ++i) {
      if (begins_region(graph_.nodes()[i].op) && ends_[i] == kNoNode)
        return fmt::format("%{} ({}) has no end", i, op_info(graph_.nodes()[i].op).text);
    }
    return "";
  }

  // ------------------------------------------------------------ symbols

  std::string check_symbols() {
    for (size_t i = 0; i < graph_.symbols.size(); ++i) {
      const Symbol& symbol = graph_.symbols[i];
      if (symbol.kind != SymbolKind::kExternDim || symbol.input == index_of(kNoNode)) continue;
      if (symbol.input >= graph_.size() ||
          graph_.node(NodeId{symbol.input}).op != Op::kExternItem ||
          static_cast<int>(symbol.axis) >= graph_.node(NodeId{symbol.input}).type.rank()) {
        return fmt::format("symbol s{} is no dimension of an extern item", i);
      }
    }
    for (const SizeGuard& guard : graph_.size_guards) {
      id_ = NodeId{0};  // at entry: before every extern
      for (const SizeExpr* side : {&guard.left, &guard.right}) {
        if (std::string error = check_size(*side); !error.empty()) {
          return fmt::format("guard \"{}\": {}", guard.reason, error);
        }
      }
    }
    return "";
  }

  std::string check_size(const SizeExpr& size) const {
    std::vector<SymbolId> used;
    size.collect_symbols(&used);
    for (SymbolId id : used) {
      const auto index = static_cast<size_t>(id);
      if (index >= graph_.symbols.size())
        return fmt::format("s{} is not in the symbol table", index);
      const Symbol& symbol = graph_.symbols[index];
      if (symbol.kind == SymbolKind::kExternDim && symbol.input > index_of(id_)) {
        return fmt::format("s{} is known only after %{}", index, symbol.input);
      }
      if (symbol.kind == SymbolKind::kRun && !set_.contains(id))
        return fmt::format("s{} is read before the program sets it", index);
    }
    return "";
  }

  std::string check_sizes(const std::vector<SizeExpr>& sizes) const {
    for (const SizeExpr& size : sizes) {
      if (std::string error = check_size(size); !error.empty()) return error;
    }
    return "";
  }

  // ------------------------------------------------------------ one node

  std::string check_node(const Node& node) {
    const OpInfo& info = op_info(node.op);
    for (NodeId operand : node.operands) {
      if (index_of(operand) >= index_of(id_)) {
        return fmt::format("operand %{} does not stand before it", index_of(operand));
      }
    }
    if (info.arity >= 0 && node.operands.size() != static_cast<size_t>(info.arity)) {
      return fmt::format("{} operands, not {}", node.operands.size(), info.arity);
    }
    if (node.attr.index() != expected_attr(node.op)) return "attribute of another op";
    if (node.location >= graph_.locations.size()) return "no such location";
    if (std::string error = check_type(node.type); !error.empty()) return error;
    if (std::string error = check_order(node); !error.empty()) return error;
    if (std::string error = check_fp(node, info); !error.empty()) return error;
    if (std::string error = check_scope(node); !error.empty()) return error;
    if (std::string error = check_versions(node); !error.empty()) return error;
    switch (info.op_class) {
      case OpClass::kElementwise:
        return check_elementwise(node);
      case OpClass::kLeaf:
        return check_leaf(node);
      case OpClass::kView:
        return check_view(node);
      case OpClass::kMemory:
        return check_memory(node);
      case OpClass::kReduction:
        return check_reduction(node);
      case OpClass::kGather:
        return check_gather(graph_, node);
      case OpClass::kGufunc:
        return check_gufunc(graph_, node);
      case OpClass::kExtern:
        return check_extern(node);
      case OpClass::kControl:
        return check_control(node);
    }
    NUMLIFT_UNREACHABLE();
  }

  static size_t expected_attr(Op op) {
    auto index = []<class A>(A attr) { return Attr(std::move(attr)).index(); };
    if (op == Op::kPlaceholder) return index(PlaceholderAttr{});
    if (op == Op::kConstant) return index(ConstantAttr{});
    if (op == Op::kSizeValue) return index(SizeAttr{});
    if (op == Op::kIota) return index(IotaAttr{});
    if (op == Op::kView) return index(ViewAttr{});
    if (op == Op::kPartView) return index(PartAttr{});
    if (op == Op::kNumpyLoop || op == Op::kGufunc) return index(LoopAttr{});
    if (op == Op::kExtern) return index(ExternAttr{});
    if (op == Op::kExternItem) return index(ExternItemAttr{});
    if (op == Op::kLoop) return index(RegionAttr{});
    if (op == Op::kAssign) return index(AssignAttr{});
    return op_info(op).op_class == OpClass::kReduction ? index(ReduceAttr{}) : index(NoAttr{});
  }

  std::string check_type(const Type& type) const {
    if (type.value_kind != ValueKind::kArray && !type.dims.empty()) return "a scalar has dims";
    for (const SizeExpr& dim : type.dims) {
      if (dim.is_constant() && *dim.constant() < 0) return "a negative dim";
    }
    return check_sizes(type.dims);
  }

  static std::string check_order(const Node& node) {
    if (node.order.empty()) return "";
    AxisOrder sorted = node.order;
    std::sort(sorted.begin(), sorted.end());
    bool permutation = static_cast<int>(sorted.size()) == node.type.rank();
    for (size_t i = 0; permutation && i < sorted.size(); ++i) permutation = sorted[i] == i;
    return permutation ? "" : "the order is no permutation of the axes";
  }

  std::string check_fp(const Node& node, const OpInfo& info) const {
    if (node.fp_checks == 0) return "";
    if (node.fp_checks > kFpAll) return "unknown floating-point checks";
    if (node.operands.empty()) return "floating-point checks on a leaf";
    const bool on_integers = is_integer(operand_type(node, 0).dtype);
    if (info.fp == FpRule::kNone && !(on_integers && wraps_silently_on_arrays(node.op))) {
      return "floating-point checks on an op that meets no condition";
    }
    return "";
  }

  // ------------------------------------------------------------ classes

  std::string check_elementwise(const Node& node) const {
    if (!is_valued(node.type)) return "its type has no value";
    std::vector<DType> dtypes;
    for (size_t i = 0; i < node.operands.size(); ++i) {
      const Type& type = operand_type(node, i);
      if (!is_valued(type)) return fmt::format("operand {} has no value", i);
      if (type.rank() != 0 && type.dims != node.type.dims) {
        return fmt::format("operand {} is {}, neither of rank 0 nor of the result's dims", i,
                           type_text(type));
      }
      dtypes.push_back(type.dtype);
    }
    if (node.op == Op::kNumpyLoop && attr_of<LoopAttr>(node).loop >= graph_.loops.size()) {
      return "no such loop";
    }
    if (std::string error = check_operand_dtypes(node.op, dtypes); !error.empty()) return error;
    return check_result_dtype(node, dtypes);
  }

  static std::string check_result_dtype(const Node& node, std::span<const DType> dtypes) {
    const auto expected = result_dtype(node.op, dtypes);
    if (!expected || *expected == node.type.dtype) return "";
    return fmt::format("its dtype is {}, not {}", dtype_text(node.type.dtype),
                       dtype_text(*expected));
  }

  std::string check_leaf(const Node& node) {
    const Type& type = node.type;
    if (!is_valued(type) && node.op != Op::kPlaceholder) return "its type has no value";
    if (node.op == Op::kPlaceholder) return check_placeholder(node);
    if (node.op == Op::kConstant) {
      if (attr_of<ConstantAttr>(node).value.dtype != type.dtype) return "value of another dtype";
      return type.rank() == 0 ? "" : "its rank is not 0";
    }
    if (node.op == Op::kSizeValue) {
      if (type.dtype != DType::kInt64 || type.rank() != 0) return "it is no int64 of rank 0";
      return check_size(attr_of<SizeAttr>(node).value);
    }
    if (node.op == Op::kIota) {
      const int axis = attr_of<IotaAttr>(node).axis;
      if (type.dtype != DType::kInt64) return "its dtype is not int64";
      return axis >= 0 && axis < type.rank() ? "" : "no such axis";
    }
    NUMLIFT_CHECK(node.op == Op::kEmpty, "a leaf that the verifier does not know");
    return type.value_kind == ValueKind::kArray ? "" : "it is no array";
  }

  std::string check_placeholder(const Node& node) {
    const auto& attr = attr_of<PlaceholderAttr>(node);
    if (node.type.value_kind == ValueKind::kEffect) return "an input without a value";
    if (!inputs_.insert(attr.input).second) return "its input has a placeholder already";
    if (attr.strides.size() != node.type.dims.size()) return "as many strides as dims are needed";
    return check_sizes(attr.strides);
  }

  std::string check_view(const Node& node) const {
    const Type& from = operand_type(node, 0);
    const Type& to = node.type;
    if (!is_valued(from) || !is_valued(to)) return "a view of no value";
    if (node.op == Op::kPartView) {
      if (!is_complex(from.dtype)) return "its operand is not complex";
      if (to.dtype != real_part(from.dtype)) return "its dtype is not the part's";
      return to.dims == from.dims ? "" : "its dims differ from the operand's";
    }
    if (to.dtype != from.dtype) return "its dtype differs from the operand's";
    if (node.op == Op::kReshape) {
      return provably_different(element_count(from.dims), element_count(to.dims))
                 ? "the number of elements changes"
                 : "";
    }
    const auto& axes = attr_of<ViewAttr>(node).map.axes;
    if (static_cast<int>(axes.size()) != from.rank())
      return "the map needs an entry per operand axis";
    for (size_t i = 0; i < axes.size(); ++i) {
      if (std::string error = check_map_axis(axes[i], from.dims[i], to); !error.empty()) {
        return fmt::format("operand axis {}: {}", i, error);
      }
    }
    return "";
  }

  std::string check_map_axis(const IndexMap::Axis& axis, const SizeExpr& extent,
                             const Type& to) const {
    for (const SizeExpr* size : {&axis.start, &axis.step}) {
      if (std::string error = check_size(*size); !error.empty()) return error;
    }
    if (axis.axis < -1 || axis.axis >= to.rank()) return "no such view axis";
    if (axis.axis == -1 && !(axis.step == SizeExpr(0))) return "a step without an axis";
    const SizeExpr count = axis.axis < 0 ? SizeExpr(1) : to.dims[static_cast<size_t>(axis.axis)];
    if (count == SizeExpr(0)) return "";
    const SizeExpr last = axis.start + axis.step * (count - 1);
    for (const SizeExpr& position : {axis.start, last}) {
      const bool known_count = count.is_constant() && *count.constant() > 0;
      if (!known_count) continue;  // perhaps an empty view, which reads nothing
      const auto below = position.constant();
      const auto room = (extent - position).constant();
      if ((below && *below < 0) || (room && *room <= 0)) return "it reaches outside the operand";
    }
    return "";
  }

  std::string check_memory(const Node& node) const {
    const Type& from = operand_type(node, 0);
    if (!is_valued(from)) return "its operand has no value";
    if (node.type.value_kind != ValueKind::kArray) return "it is no array";
    if (node.op == Op::kCopy) {
      if (node.type.dtype != from.dtype) return "its dtype differs from the operand's";
      return node.type.dims == from.dims ? "" : "its dims differ from the operand's";
    }
    const NodeId buffer = graph_.buffer_of(node.operands[0]);
    const Node& root = graph_.node(buffer);
    if (root.type.value_kind != ValueKind::kArray || root.op == Op::kConstant) {
      return fmt::format("its target's buffer %{} is no memory", index_of(buffer));
    }
    if (node.op == Op::kMerge) {
      if (version_of(node.operands[0]) != node.operands[0]) return "its operand is a view";
      return node.type == root.type ? "" : "its type differs from its buffer's";
    }
    const Type& value = operand_type(node, 1);
    if (!is_valued(value)) return "the value has no value";
    if (value.dtype != from.dtype) return "target and value differ in dtype";
    if (value.rank() != 0 && value.dims != from.dims) return "target and value differ in dims";
    if (!(node.type == root.type)) return "its type differs from its buffer's";
    return "";
  }

  std::string check_reduction(const Node& node) const {
    const Type& from = operand_type(node, 0);
    if (!is_valued(from) || !is_valued(node.type)) return "a reduction without a value";
    const std::vector<int>& axes = attr_of<ReduceAttr>(node).axes;
    if (axes.empty()) return "no axis";
    for (size_t i = 0; i < axes.size(); ++i) {
      if (axes[i] < 0 || axes[i] >= from.rank()) return "no such axis";
      if (i > 0 && axes[i] <= axes[i - 1]) return "the axes are not sorted";
    }
    std::vector<SizeExpr> kept;
    for (int axis = 0; axis < from.rank(); ++axis) {
      if (!std::binary_search(axes.begin(), axes.end(), axis)) {
        kept.push_back(from.dims[static_cast<size_t>(axis)]);
      }
    }
    if (kept != node.type.dims) return "its dims are not those that are left";
    if (!op_accepts(node.op, from.dtype)) return "no loop for its operand";
    return check_result_dtype(node, std::span(&from.dtype, 1));
  }

  std::string check_extern(const Node& node) const {
    if (node.op == Op::kExtern) {
      if (attr_of<ExternAttr>(node).call >= graph_.externs.size()) return "no such extern call";
      return is_valued(node.type) ? "its result is read through extern items only" : "";
    }
    if (graph_.node(node.operands[0]).op != Op::kExtern) return "its operand is no extern call";
    for (int position : attr_of<ExternItemAttr>(node).path) {
      if (position < 0) return "a negative position";
    }
    const auto& strides = attr_of<ExternItemAttr>(node).strides;
    if (!strides.empty() && strides.size() != node.type.dims.size())
      return "its strides are not one an axis";
    if (std::string error = check_sizes(strides); !error.empty()) return error;
    return node.type.value_kind == ValueKind::kEffect ? "an item without a value" : "";
  }

  // ------------------------------------------------------------ regions

  std::string check_control(const Node& node) {
    if (node.type.value_kind != ValueKind::kEffect) return "it has a value";
    switch (node.op) {
      case Op::kLoop:
        return check_loop(attr_of<RegionAttr>(node));
      case Op::kIf:
      case Op::kCheck:
        return check_scalar(node, 0, DType::kBool);
      case Op::kBlock:
        return "";
      case Op::kElse:
        if (open_.empty() || open_.back().begin != node.operands[0] ||
            graph_.node(open_.back().begin).op != Op::kIf || open_.back().arm != open_.back().begin)
          return "the innermost open region is not its if";
        return "";
      case Op::kEnd:
        if (open_.empty() || open_.back().begin != node.operands[0])
          return "it does not close the innermost open region";
        return "";
      case Op::kBreak:
      case Op::kContinue: {
        const bool is_open = std::any_of(open_.begin(), open_.end(), [&](const Region& region) {
          return region.begin == node.operands[0];
        });
        const Op begin = graph_.node(node.operands[0]).op;
        if (!is_open || begin == Op::kIf) return "it leaves no open loop or block";
        if (node.op == Op::kContinue && begin != Op::kLoop) return "a block has no next iteration";
        return "";
      }
      case Op::kAssign: {
        const auto& symbols = attr_of<AssignAttr>(node).symbols;
        if (symbols.size() != node.operands.size()) return "as many symbols as operands are needed";
        for (size_t i = 0; i < symbols.size(); ++i) {
          if (std::string error = check_run_symbol(symbols[i]); !error.empty()) return error;
          if (std::string error = check_scalar(node, i, DType::kInt64); !error.empty())
            return error;
        }
        return "";
      }
      default:
        NUMLIFT_UNREACHABLE();
    }
  }

  std::string check_loop(const RegionAttr& attr) const {
    if (std::string error = check_run_symbol(attr.counter); !error.empty()) return error;
    return attr.trips ? check_size(*attr.trips) : "";
  }

  std::string check_run_symbol(SymbolId id) const {
    const auto index = static_cast<size_t>(id);
    if (index >= graph_.symbols.size() || graph_.symbols[index].kind != SymbolKind::kRun)
      return fmt::format("s{} is no symbol that a program sets", index);
    return "";
  }

  std::string check_scalar(const Node& node, size_t i, DType dtype) const {
    const Type& type = operand_type(node, i);
    if (!is_valued(type) || type.rank() != 0 || type.dtype != dtype)
      return fmt::format("operand {} is {}, not {} of rank 0", i, type_text(type),
                         dtype_text(dtype));
    return "";
  }

  // Opens and closes regions, and forgets the newest versions of what paths that meet here store
  // to.
  void enter(const Node& node) {
    switch (node.op) {
      case Op::kAssign:
        set_.insert(attr_of<AssignAttr>(node).symbols.begin(),
                    attr_of<AssignAttr>(node).symbols.end());
        break;
      case Op::kLoop:
        set_.insert(attr_of<RegionAttr>(node).counter);
        part_versions(id_, ends_[index_of(id_)]);
        open_.push_back({id_, id_});
        break;
      case Op::kIf:
      case Op::kBlock:
        open_.push_back({id_, id_});
        break;
      case Op::kElse:
        part_versions(open_.back().begin, id_);
        open_.back().arm = id_;
        break;
      case Op::kEnd:
        part_versions(open_.back().begin, id_);
        open_.pop_back();
        break;
      default:
        break;
    }
    arm_of_[index_of(id_)] = open_.empty() ? kNoNode : open_.back().arm;
  }

  void part_versions(NodeId from, NodeId to) {
    for (uint32_t i = index_of(from); i < index_of(to); ++i) {
      if (graph_.node(NodeId{i}).op != Op::kStore) continue;
      const NodeId buffer = graph_.buffer_of(NodeId{i});
      if (index_of(buffer) < index_of(from)) newest_[index_of(buffer)] = kNoNode;
    }
  }

  // A begin may be named by what belongs to its region.
  std::string check_scope(const Node& node) const {
    for (NodeId operand : node.operands) {
      if (op_info(graph_.node(operand).op).op_class == OpClass::kControl) {
        if (op_info(node.op).op_class != OpClass::kControl) return "it reads control flow";
        continue;
      }
      if (!in_scope(operand))
        return fmt::format("operand %{} belongs to a region that is closed", index_of(operand));
    }
    return "";
  }

  bool in_scope(NodeId id) const {
    const NodeId arm = arm_of_[index_of(id)];
    return arm == kNoNode || std::any_of(open_.begin(), open_.end(),
                                         [&](const Region& region) { return region.arm == arm; });
  }

  // ------------------------------------------------------------ memory

  // The version that a node reads when it names `id`: the last Store, or the buffer, below views.
  NodeId version_of(NodeId id) const {
    while (op_info(graph_.node(id).op).op_class == OpClass::kView) id = graph_.node(id).operands[0];
    return id;
  }

  std::string check_newest(NodeId id) const {
    const NodeId version = version_of(id);
    const NodeId newest = newest_[index_of(graph_.buffer_of(id))];
    if (version == newest) return "";
    if (newest == kNoNode)
      return fmt::format("it reads version %{}, but paths that stored to it have met since",
                         index_of(version));
    return fmt::format("it reads version %{}, but %{} is newer", index_of(version),
                       index_of(newest));
  }

  std::string check_versions(const Node& node) {
    const bool is_control = op_info(node.op).op_class == OpClass::kControl;
    if (node.op != Op::kMerge) {
      for (NodeId operand : node.operands) {
        if (is_control && op_info(graph_.node(operand).op).op_class == OpClass::kControl) continue;
        if (std::string error = check_newest(operand); !error.empty()) return error;
      }
    }
    if (!is_control) newest_[index_of(graph_.buffer_of(id_))] = version_of(id_);
    return "";
  }

  std::string check_results() const {
    for (NodeId id : graph_.outputs) {
      if (index_of(id) >= graph_.size()) return "an output is no node";
      if (graph_.node(id).type.value_kind == ValueKind::kEffect) {
        return fmt::format("output %{} has no value", index_of(id));
      }
      if (!in_scope(id)) return fmt::format("output %{} belongs to a closed region", index_of(id));
      if (std::string error = check_newest(id); !error.empty()) {
        return fmt::format("output %{}: {}", index_of(id), error);
      }
    }
    std::set<NodeId> listed;
    for (NodeId id : graph_.mutated_inputs) {
      if (index_of(id) >= graph_.size()) return "a mutated input is no node";
      const NodeId buffer = graph_.buffer_of(id);
      const Op op = graph_.node(id).op;
      if ((op != Op::kStore && op != Op::kMerge) || graph_.node(buffer).op != Op::kPlaceholder ||
          newest_[index_of(buffer)] != id || !listed.insert(buffer).second) {
        return fmt::format("mutated %{} is not the last version of an input", index_of(id));
      }
    }
    for (size_t i = 0; i < graph_.size(); ++i) {
      const NodeId id{static_cast<uint32_t>(i)};
      if (graph_.node(id).op == Op::kPlaceholder && newest_[i] != id && !listed.contains(id)) {
        return fmt::format("input %{} is stored to but not listed as mutated", i);
      }
    }
    return "";
  }

  const Graph& graph_;
  NodeId id_{0};
  std::vector<NodeId> newest_;  // by buffer: its newest version so far
  std::set<uint32_t> inputs_;
  std::set<SymbolId> set_;  // of kRun: those that a node so far sets
  struct Region {
    NodeId begin, arm;  // the arm: its begin, or the else
  };
  std::vector<Region> open_;    // outermost first
  std::vector<NodeId> ends_;    // by begin
  std::vector<NodeId> arm_of_;  // by node: the innermost arm that it stands in
};

}  // namespace

std::string verify(const Graph& graph) {
  try {
    return Verifier(graph).run();
  } catch (const SizeOverflowError& error) {
    return error.what();
  }
}

void check_verified(const Graph& graph, std::string_view stage) {
  const std::string error = verify(graph);
  NUMLIFT_CHECK(error.empty(), "after {}: {}\n{}", stage, error, graph_text(graph));
}

void set_verify_enabled(bool on) { mutable_options().verify = on; }
bool verify_enabled() { return options().verify; }

}  // namespace numlift
