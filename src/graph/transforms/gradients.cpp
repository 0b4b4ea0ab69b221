// The gradients of views, memory, reductions and calls; the table of rules.
#include <algorithm>

#include "numlift/support/check.h"
#include "reverse.h"

namespace numlift {
namespace gradient_rules {
namespace {

// The axes of a reduction's operand that its result has.
std::vector<int> kept_axes(const Node& node, int rank) {
  const std::vector<int>& axes = attr_of<ReduceAttr>(node).axes;
  std::vector<int> kept;
  for (int axis = 0; axis < rank; ++axis) {
    if (!std::binary_search(axes.begin(), axes.end(), axis)) kept.push_back(axis);
  }
  return kept;
}

void view_gradient(Reverse& r, NodeId id) {
  const Node node = r.node(id);
  const NodeId g = r.cotangent(id);
  r.add_through_view(node, node.operands[0], g);
}

void copy_gradient(Reverse& r, NodeId id) {
  const NodeId operand = r.node(id).operands[0];
  r.add(operand, r.cotangent(id));
}

// What was stored gets the cotangent of its place; what was there before gets nothing there.
void store_gradient(Reverse& r, NodeId id) {
  const Node node = r.node(id);
  Emit& e = r.emit;
  const NodeId g = r.cotangent(id);
  const NodeId target = node.operands[0], value = node.operands[1];
  const NodeId before = version_below(e.graph(), target);
  const std::vector<NodeId> views = views_above(e.graph(), target);
  const auto at_target = [&](NodeId buffer) {
    for (NodeId view : views) buffer = e.view_again(Node(e.node(view)), buffer);
    return buffer;
  };
  if (r.is_active(value)) {
    NodeId part = at_target(g);
    // d(x + iy) = i dy
    for (NodeId view : views) {
      if (e.node(view).op == Op::kPartView && attr_of<PartAttr>(e.node(view)).imaginary)
        part = e.negative(part);
    }
    r.add(value, e.type(value).rank() == 0 ? e.sum_all(part) : part);
  }
  if (!r.is_active(before) || views.empty()) return;
  const NodeId left = e.copy(g, AxisOrder(node.order));
  const NodeId place = at_target(left);
  r.add(before, e.store(place, e.number(e.type(place).dtype, 0)));
}

void sum_gradient(Reverse& r, NodeId id) {
  const Node node = r.node(id);
  const Type from = r.emit.type(node.operands[0]);
  r.add(node.operands[0], r.emit.spread(r.cotangent(id), kept_axes(node, from.rank()), from.dims));
}

// The product of all others. Where elements are 0 it is exact, and so are its own derivatives: the
// other one of two zeros stands there as a value.
void product_gradient(Reverse& r, NodeId id) {
  const Node node = r.node(id);
  Emit& e = r.emit;
  const NodeId x = node.operands[0];
  const Type from = e.type(x);
  const std::vector<int> kept = kept_axes(node, from.rank());
  const std::vector<int> axes = attr_of<ReduceAttr>(node).axes;
  const auto wide = [&](NodeId result) { return e.spread(result, kept, from.dims); };
  const NodeId is_zero = e.equals(x, 0);
  const NodeId product_of_rest = e.reduce(Op::kReduceProd, e.where(is_zero, 1, x), axes);
  const NodeId zeros = e.sum(e.cast(is_zero, DType::kInt64), axes);
  const NodeId other_zero = e.minus(wide(e.sum(e.where(is_zero, x, 0), axes)), x);
  const NodeId if_two =
      e.where(e.equals(wide(zeros), 2), e.multiply(wide(product_of_rest), other_zero), 0);
  const NodeId if_only_zero = e.select(e.equals(wide(zeros), 1), wide(product_of_rest), if_two);
  const NodeId divided = e.divide(wide(id), e.where(is_zero, 1, x));
  const NodeId others = e.select(is_zero, if_only_zero, divided);
  r.add(x, e.multiply(wide(r.cotangent(id)), others));
}

void extreme_gradient(Reverse& r, NodeId id) {
  const Node node = r.node(id);
  Emit& e = r.emit;
  const NodeId x = node.operands[0];
  const Type from = e.type(x);
  const std::vector<int> kept = kept_axes(node, from.rank());
  const auto wide = [&](NodeId result) { return e.spread(result, kept, from.dims); };
  const NodeId is_extreme = e.equals(x, wide(id));
  const NodeId count = e.sum(e.cast(is_extreme, from.dtype), attr_of<ReduceAttr>(node).axes);
  r.add(x, e.where(is_extreme, wide(e.divide(r.cotangent(id), count)), 0));
}

void extern_gradient(Reverse& r, NodeId id) {
  const Node node = r.node(id);
  const std::vector<NodeId> items = r.items_of(id);
  std::vector<NodeId> cotangents;
  for (NodeId item : items) cotangents.push_back(r.cotangent(item));
  std::vector<bool> wanted;
  for (NodeId operand : node.operands) wanted.push_back(r.is_active(operand));
  const std::vector<NodeId> parts = r.externs.pull_back(id, items, cotangents, wanted);
  for (size_t i = 0; i < parts.size(); ++i) {
    if (wanted[i] && parts[i] != kNoNode) r.add(node.operands[i], parts[i]);
  }
}

}  // namespace

constinit const GradientRule view{view_gradient, {}};
constinit const GradientRule copy{copy_gradient, {}};
constinit const GradientRule store{store_gradient, {}};
constinit const GradientRule reduce_sum{sum_gradient, {}};
constinit const GradientRule reduce_prod{product_gradient, {}};
constinit const GradientRule reduce_extreme{extreme_gradient, {}};
constinit const GradientRule call{extern_gradient, {}};
constinit const GradientRule call_item{[](Reverse&, NodeId) {}, {}};  // the call's rule reads it
constinit const GradientRule leaf{[](Reverse&, NodeId) {}, {}};
// Inside transforms these are calls, which have rules.
constinit const GradientRule gather{
    nullptr, "reads through integer arrays made outside the function have no gradient rule"};
constinit const GradientRule gufunc{
    nullptr, "products and linear algebra made outside the function have no gradient rule"};
constinit const GradientRule region{
    nullptr, "loops and branches that the program runs itself are not differentiated yet"};

}  // namespace gradient_rules

const GradientRule& gradient_rule(Op op) {
  switch (op) {
#define NUMLIFT_OP(name, arity, cls, result, cost, fp, gradient, batching) \
  case Op::k##name:                                                        \
    return gradient_rules::gradient;
#include "numlift/graph/ops.def"
#undef NUMLIFT_OP
  }
  NUMLIFT_UNREACHABLE();
}

std::string_view gradient_refusal(Op op) { return gradient_rule(op).refusal; }

}  // namespace numlift
