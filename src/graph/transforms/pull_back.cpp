// Reverse mode over what was computed from the inputs, from its last node to the first.
#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "numlift/support/check.h"
#include "replay.h"
#include "reverse.h"

namespace numlift {

Reverse::Reverse(Graph& graph, std::span<const NodeId> inputs, uint32_t last, ExternRules& externs)
    : emit(graph), externs(externs), first_(last), last_(last) {
  for (NodeId input : inputs) first_ = std::min(first_, index_of(input));
  find_active(inputs);
}

void Reverse::find_active(std::span<const NodeId> inputs) {
  active_.resize(last_, false);
  is_input_.resize(last_, false);
  for (NodeId input : inputs) is_input_[index_of(input)] = true;
  for (uint32_t i = first_; i < last_; ++i) {
    const Node& node = this->node(NodeId{i});
    if (is_input_[i]) {
      active_[i] = true;
      continue;
    }
    const bool has_derivatives = node.op == Op::kExtern || is_inexact(node.type.dtype);
    if (!has_derivatives || op_info(node.op).op_class == OpClass::kControl) continue;
    active_[i] = std::any_of(node.operands.begin(), node.operands.end(),
                             [&](NodeId operand) { return is_active(operand); });
    if (active_[i] && node.op == Op::kExternItem) items_[node.operands[0]].push_back(NodeId{i});
  }
}

NodeId Reverse::cotangent(NodeId id) const {
  const auto found = sums_.find(id);
  return found == sums_.end() ? kNoNode : found->second.node;
}

std::vector<NodeId> Reverse::items_of(NodeId call) const {
  std::vector<NodeId> items;
  if (const auto found = items_.find(call); found != items_.end()) {
    for (NodeId item : found->second) {
      if (cotangent(item) != kNoNode) items.push_back(item);
    }
  }
  return items;
}

void Reverse::add(NodeId id, NodeId g) {
  if (!is_active(id)) return;
  const Type &to = emit.type(id), &from = emit.type(g);
  NUMLIFT_CHECK(to.dims == from.dims && to.dtype == from.dtype, "a cotangent {} of %{}: {}",
                type_text(from), index_of(id), type_text(to));
  Sum& sum = sums_[id];
  if (sum.node == kNoNode) {
    sum.node = g;
  } else {
    sum = {emit.plus(sum.node, g), true};
  }
}

namespace {

// A view of the whole operand: each element is there, perhaps several times.
bool is_whole(const Type& operand, const Node& view) {
  const auto& axes = attr_of<ViewAttr>(view).map.axes;
  std::vector<int> named;
  for (size_t i = 0; i < axes.size(); ++i) {
    const IndexMap::Axis& axis = axes[i];
    if (axis.axis < 0) {
      if (!(operand.dims[i] == SizeExpr(1)) || !(axis.start == SizeExpr(0))) return false;
      continue;
    }
    if (!(view.type.dims[static_cast<size_t>(axis.axis)] == operand.dims[i])) return false;
    if (std::find(named.begin(), named.end(), axis.axis) != named.end()) return false;
    named.push_back(axis.axis);
    const bool forward = axis.step == SizeExpr(1) && axis.start == SizeExpr(0);
    const bool backward = axis.step == SizeExpr(-1) && axis.start == operand.dims[i] - 1;
    if (!forward && !backward) return false;
  }
  return true;
}

// The view's axes that hang on no axis of its operand: along them elements repeat.
std::vector<int> repeated_axes(const Node& view) {
  std::vector<int> repeated;
  for (int axis = 0; axis < view.type.rank(); ++axis) {
    const auto& axes = attr_of<ViewAttr>(view).map.axes;
    const bool is_named = std::any_of(axes.begin(), axes.end(), [&](const IndexMap::Axis& one) {
      return one.axis == axis && !(one.step == SizeExpr(0));
    });
    if (!is_named) repeated.push_back(axis);
  }
  return repeated;
}

}  // namespace

void Reverse::add_through_view(const Node& view, NodeId operand, NodeId g) {
  if (!is_active(operand)) return;
  const Type from = emit.type(operand);
  if (view.op == Op::kReshape) return add(operand, emit.reshape(g, from.dims));
  if (view.op == Op::kPartView) {
    const NodeId zero = emit.number(emit.type(g).dtype, 0);
    const bool imaginary = attr_of<PartAttr>(view).imaginary;
    return add(operand, imaginary ? emit.apply(Op::kMakeComplex, {zero, emit.negative(g)})
                                  : emit.apply(Op::kMakeComplex, {g, zero}));
  }
  const std::vector<int> repeated = repeated_axes(view);
  const NodeId summed = emit.sum(g, repeated);
  // By axis of the view: that of `summed`.
  std::vector<int> renumbered(static_cast<size_t>(view.type.rank()), -1);
  int next = 0;
  for (int axis = 0; axis < view.type.rank(); ++axis) {
    if (!std::binary_search(repeated.begin(), repeated.end(), axis))
      renumbered[static_cast<size_t>(axis)] = next++;
  }
  IndexMap map = attr_of<ViewAttr>(view).map;
  for (IndexMap::Axis& axis : map.axes) {
    if (axis.axis >= 0) axis.axis = renumbered[static_cast<size_t>(axis.axis)];
  }
  if (is_whole(from, view)) {
    IndexMap back;
    back.axes.resize(static_cast<size_t>(next));
    for (size_t i = 0; i < map.axes.size(); ++i) {
      const IndexMap::Axis& axis = map.axes[i];
      if (axis.axis < 0) continue;
      back.axes[static_cast<size_t>(axis.axis)] = {axis.start, axis.step, static_cast<int>(i)};
    }
    return add(operand, emit.view(summed, std::move(back), from.dims));
  }
  // The sum becomes memory, and the view's part of it grows in place.
  Sum& sum = sums_[operand];
  if (sum.node == kNoNode) {
    sum.node = emit.filled(from.dtype, from.dims, 0);
    sum.is_owned = false;
  }
  if (!sum.is_owned) sum = {emit.copy(sum.node), true};
  const std::vector<SizeExpr> dims = emit.type(summed).dims;
  const NodeId place = emit.view(sum.node, std::move(map), dims);
  sum.node = emit.store(place, emit.plus(place, summed));
}

void Reverse::elementwise(NodeId id, ElementwiseGradient gradient) {
  const Node node = this->node(id);
  const NodeId g = cotangent(id);
  for (size_t i = 0; i < node.operands.size(); ++i) {
    const NodeId operand = node.operands[i];
    if (!is_active(operand)) continue;
    const NodeId part = gradient(emit, {node, id, g, i});
    if (part == kNoNode) continue;
    add(operand, emit.type(operand).rank() == 0 ? emit.sum_all(part) : part);
  }
}

void Reverse::run() {
  for (uint32_t i = last_; i-- > first_;) {
    const NodeId id{i};
    if (!active_[i] || is_input_[i]) continue;
    const Op op = node(id).op;
    const bool has_cotangent = op == Op::kExtern ? !items_of(id).empty() : cotangent(id) != kNoNode;
    if (!has_cotangent) continue;
    const GradientRule& rule = gradient_rule(op);
    if (rule.apply == nullptr) {
      refuse(fmt::format("{}: {}", op_info(op).text, rule.refusal), id);
    }
    emit.at(id);
    rule.apply(*this, id);
  }
}

// ---------------------------------------------------------------- the transforms

namespace {

bool stores_between(const Graph& graph, NodeId first, uint32_t last) {
  for (uint32_t i = index_of(first); i < last; ++i) {
    if (graph.node(NodeId{i}).op == Op::kStore) return true;
  }
  return false;
}

// The nodes from `start` on read older ones, of which some may have looked at other memory then.
void check_readable(const Graph& graph, uint32_t start) {
  const NewestVersions newest(graph);
  for (uint32_t i = start; i < graph.size(); ++i) {
    for (NodeId operand : graph.node(NodeId{i}).operands) {
      if (index_of(operand) < start && newest.is_stale(operand))
        refuse("an array that the function read has been changed since", operand);
    }
  }
}

std::vector<NodeId> pull_back_nodes(Graph& graph, std::span<const NodeId> given_inputs,
                                    std::span<const NodeId> given_outputs,
                                    std::span<const NodeId> cotangents, ExternRules& externs) {
  std::vector<NodeId> inputs(given_inputs.begin(), given_inputs.end());
  std::vector<NodeId> outputs(given_outputs.begin(), given_outputs.end());
  if (inputs.empty()) return {};
  const NodeId first = *std::min_element(inputs.begin(), inputs.end());
  // A rule reads values from before: of memory that is stored to, each version must be there.
  if (stores_between(graph, first, static_cast<uint32_t>(graph.size()))) {
    Replay replay(graph, externs, std::nullopt);
    inputs = replay.with_memory_of_their_own(given_inputs);
    outputs = replay.run(outputs);
  }
  const auto start = static_cast<uint32_t>(graph.size());
  Reverse reverse(graph, inputs, start, externs);
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (cotangents[i] != kNoNode) reverse.add(outputs[i], cotangents[i]);
  }
  reverse.run();
  check_readable(graph, start);
  std::vector<NodeId> results;
  for (NodeId input : inputs) results.push_back(reverse.cotangent(input));
  return results;
}

// The calls before `last` that hang on the inputs, unless something behind it reads what they gave:
// its sizes, then, for the values do not matter.
void drop_calls(const Graph& graph, std::span<const NodeId> inputs, uint32_t last,
                ExternRules& externs) {
  std::vector<bool> depends(last, false);
  for (NodeId input : inputs) depends[index_of(input)] = true;
  std::vector<bool> is_read(graph.size(), false);
  for (uint32_t i = static_cast<uint32_t>(graph.size()); i-- > 0;) {
    if (i < last && !is_read[i]) continue;
    for (NodeId operand : graph.node(NodeId{i}).operands) is_read[index_of(operand)] = true;
  }
  std::vector<NodeId> calls;
  for (uint32_t i = 0; i < last; ++i) {
    const Node& node = graph.node(NodeId{i});
    for (NodeId operand : node.operands) depends[i] = depends[i] || depends[index_of(operand)];
    if (depends[i] && node.op == Op::kExtern && !is_read[i]) calls.push_back(NodeId{i});
  }
  for (NodeId call : calls) externs.drop(call);
}

NodesOrRefusal refusal_as_value(const std::function<std::vector<NodeId>()>& transform) {
  try {
    return transform();
  } catch (TransformRefusal& refusal) {
    return Failure{std::move(refusal)};
  }
}

}  // namespace

NodesOrRefusal pull_back(Graph* graph, std::span<const NodeId> inputs,
                         std::span<const NodeId> outputs, std::span<const NodeId> cotangents,
                         ExternRules& externs) {
  return refusal_as_value(
      [&] { return pull_back_nodes(*graph, inputs, outputs, cotangents, externs); });
}

// What pull_back() makes of cotangents is linear in them. Pulling the tangents back through that
// gives what the outputs change by, whatever the cotangents were.
NodesOrRefusal push_forward(Graph* graph, std::span<const NodeId> inputs,
                            std::span<const NodeId> tangents, std::span<const NodeId> outputs,
                            ExternRules& externs) {
  return refusal_as_value([&] {
    Emit emit(*graph);
    std::vector<NodeId> standing;
    for (NodeId output : outputs) {
      const Type type = emit.type(output);
      const NodeId zeros = emit.filled(type.dtype, type.dims, 0);
      standing.push_back(emit.add(Op::kCast, {zeros}, NoAttr{}, value_type(type.dtype, type.dims)));
    }
    const std::vector<NodeId> through = pull_back_nodes(*graph, inputs, outputs, standing, externs);
    std::vector<NodeId> reached, changes;
    for (size_t i = 0; i < through.size(); ++i) {
      if (through[i] == kNoNode) continue;
      reached.push_back(through[i]);
      changes.push_back(tangents[i]);
    }
    const auto last = static_cast<uint32_t>(graph->size());
    std::vector<NodeId> results = pull_back_nodes(*graph, standing, reached, changes, externs);
    drop_calls(*graph, standing, last, externs);
    return results;
  });
}

NodesOrRefusal batch(Graph* graph, std::span<const NodeId> inputs, std::span<const NodeId> batched,
                     const SizeExpr& size, std::span<const NodeId> outputs, ExternRules& externs) {
  return refusal_as_value([&] {
    Replay replay(*graph, externs, size);
    for (size_t i = 0; i < inputs.size(); ++i) replay.stand_for(inputs[i], batched[i]);
    return replay.run(outputs);
  });
}

}  // namespace numlift
