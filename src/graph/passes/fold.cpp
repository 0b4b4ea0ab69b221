// Constant folding and the dropping of nodes that change nothing.
//
// Folds exactly what NumPy would compute, bit for bit: IEEE floats, integers that wrap unless the
// node checks for that. Leaves alone
// what would meet a floating-point condition (NumPy would report it), transcendental functions
// (whose last bits are the library's), and choices that NumPy's vector and scalar loops make
// differently (the sign of a zero or of a NaN in maximum).
#include <optional>

#include "../dtype_rules.h"
#include "fold_scalar.h"
#include "numlift/graph/pass.h"
#include "rewrite.h"

namespace numlift {
namespace {

bool is_identity_map(const Graph& graph, const Node& node) {
  if (!(graph.node(node.operands[0]).type == node.type)) return false;
  if (node.op == Op::kReshape) return true;
  if (node.op != Op::kView) return false;
  const auto& axes = attr_of<ViewAttr>(node).map.axes;
  for (size_t i = 0; i < axes.size(); ++i) {
    // Along a dim of 1 any step reads position `start`.
    const bool one = node.type.dims[i] == SizeExpr(1);
    if (!(axes[i].start == SizeExpr(0))) return false;
    if (!one && (axes[i].axis != static_cast<int>(i) || !(axes[i].step == SizeExpr(1))))
      return false;
  }
  return true;
}

// A cast to its own dtype is a copy: it may go only if nobody can tell the two memories apart.
bool is_needless_cast(const Graph& graph, const Visibility& visibility, NodeId id) {
  const Node& node = graph.node(id);
  if (node.op != Op::kCast || !(graph.node(node.operands[0]).type == node.type)) return false;
  if (visibility.seen[index_of(id)] || visibility.written[index_of(id)]) return false;
  return !visibility.written[index_of(graph.buffer_of(node.operands[0]))];
}

std::optional<Node> fold_node(const Graph& graph, const Node& node) {
  if (op_info(node.op).op_class != OpClass::kElementwise || node.operands.empty()) return {};
  // An array of rank 0 is memory; a Python int does not wrap.
  if (node.type.value_kind != ValueKind::kNumpyScalar &&
      !(node.type.value_kind == ValueKind::kPyScalar && !is_integer(node.type.dtype))) {
    return {};
  }
  std::vector<ScalarBits> operands;
  for (NodeId operand : node.operands) {
    const auto* constant = std::get_if<ConstantAttr>(&graph.node(operand).attr);
    if (constant == nullptr) return {};
    operands.push_back(constant->value);
  }
  const bool may_wrap = (node.fp_checks & kFpOver) == 0;
  const auto value = fold_scalar(node.op, operands, node.type.dtype, may_wrap);
  if (!value) return {};
  Node folded;
  folded.op = Op::kConstant;
  folded.attr = ConstantAttr{*value};
  folded.type = node.type;
  folded.location = node.location;
  return folded;
}

}  // namespace

void fold_constants(Graph* graph) {
  const Visibility visibility = find_visibility(*graph);
  std::vector<NodeId> replacement = identity_replacement(*graph);
  for (uint32_t i = 0; i < graph->size(); ++i) {
    const NodeId id{i};
    Node& node = graph->mutable_node(id);
    for (NodeId& operand : node.operands) operand = replacement[index_of(operand)];
    if (node.fp_checks != 0) {
      const DType operand = graph->node(node.operands[0]).type.dtype;
      node.fp_checks &= possible_conditions(node.op, operand, node.type);
    }
    if (auto folded = fold_node(*graph, node)) {
      node = std::move(*folded);
    } else if (is_needless_cast(*graph, visibility, id) ||
               (op_info(node.op).op_class == OpClass::kView && !visibility.seen[i] &&
                is_identity_map(*graph, node))) {
      node.fp_checks = 0;
      replacement[i] = node.operands[0];
    }
  }
  replace_uses(graph, replacement);
}

}  // namespace numlift
