#include "replay.h"

#include <fmt/format.h>

#include <algorithm>

#include "numlift/support/check.h"

namespace numlift {

Replay::Replay(Graph& graph, ExternRules& externs, std::optional<SizeExpr> size)
    : emit(graph),
      externs(externs),
      size_(std::move(size)),
      first_(static_cast<uint32_t>(graph.size())),
      last_(first_) {}

std::vector<NodeId> Replay::with_memory_of_their_own(std::span<const NodeId> inputs) {
  std::vector<NodeId> own;
  for (NodeId input : inputs) {
    const Node node = this->node(input);
    NUMLIFT_CHECK(node.op == Op::kCast, "an input of a transform is {}", op_info(node.op).text);
    bool is_stored_to = false;
    for (uint32_t i = index_of(input); i < last_ && !is_stored_to; ++i) {
      is_stored_to =
          this->node(NodeId{i}).op == Op::kStore && emit.graph().buffer_of(NodeId{i}) == input;
    }
    emit.at(input);
    own.push_back(is_stored_to ? emit.add(Op::kCast, node.operands, NoAttr{}, node.type, node.order)
                               : input);
    stand_for(input, own.back());
  }
  return own;
}

void Replay::stand_for(NodeId input, NodeId value) {
  first_ = std::min(first_, index_of(input));
  inputs_.push_back(input);
  values_[input] = {value, size_.has_value()};
}

Replay::Value Replay::of(NodeId id) const {
  const auto found = values_.find(id);
  return found == values_.end() ? Value{id, false} : found->second;
}

void Replay::set(NodeId id, Value value) {
  values_[id] = value;
  is_own_[value.node] = true;
}

bool Replay::any_batched(const Node& node) const {
  return std::any_of(node.operands.begin(), node.operands.end(),
                     [&](NodeId operand) { return of(operand).is_batched; });
}

bool Replay::is_unchanged(NodeId id) const {
  if (is_stored_to_.contains(id)) return false;
  const auto& operands = node(id).operands;
  return std::all_of(operands.begin(), operands.end(),
                     [&](NodeId operand) { return of(operand).node == operand; });
}

bool Replay::may_store_into(NodeId version) const {
  const auto readers = readers_.find(version);
  const Value value = of(version);
  if (readers == readers_.end() || readers->second != 1 || !is_own_.contains(value.node))
    return false;
  // Rules of reverse mode read the results of other ops.
  const Op op = node(version).op;
  return size_.has_value() || op == Op::kCopy || op == Op::kEmpty || op == Op::kStore;
}

// ---------------------------------------------------------------- making nodes again

std::vector<SizeExpr> Replay::batched_dims(const std::vector<SizeExpr>& dims) const {
  std::vector<SizeExpr> all{size()};
  all.insert(all.end(), dims.begin(), dims.end());
  return all;
}

NodeId Replay::batched(NodeId id, const std::vector<SizeExpr>& example_dims) {
  const Value value = of(id);
  const Type type = emit.type(value.node);
  const std::vector<SizeExpr> dims = batched_dims(example_dims);
  if (type.dims == dims) return value.node;
  std::vector<int> axes;
  if (value.is_batched) axes.push_back(0);
  const int own = type.rank() - (value.is_batched ? 1 : 0);
  NUMLIFT_CHECK(own == 0 || own == static_cast<int>(example_dims.size()),
                "%{} has {} axes in a node of {}", index_of(id), own, example_dims.size());
  for (int axis = 0; axis < own; ++axis) axes.push_back(axis + 1);
  return emit.spread(value.node, axes, dims);
}

namespace {

AxisOrder batched_order(const AxisOrder& order) {
  if (order.empty()) return order;
  AxisOrder with_batch{0};
  for (uint8_t axis : order) with_batch.push_back(static_cast<uint8_t>(axis + 1));
  return with_batch;
}

}  // namespace

NodeId Replay::again(const Node& node, std::vector<NodeId> operands, bool is_batched) {
  Node made = node;
  made.operands = std::move(operands);
  if (is_batched) {
    made.type = array_type(node.type.dtype, batched_dims(node.type.dims));
    made.order = batched_order(node.order);
    if (auto* reduce = std::get_if<ReduceAttr>(&made.attr)) {
      for (int& axis : reduce->axes) ++axis;
    }
  }
  return emit.graph().append(std::move(made));
}

NodeId Replay::view_step(const Node& step, NodeId over, bool is_batched) {
  if (!is_batched || step.op != Op::kView) return again(step, {over}, is_batched);
  Node made = step;
  IndexMap& map = std::get<ViewAttr>(made.attr).map;
  for (IndexMap::Axis& axis : map.axes) {
    if (axis.axis >= 0) ++axis.axis;
  }
  map.axes.insert(map.axes.begin(), {0, 1, 0});
  return again(made, {over}, true);
}

std::vector<NodeId> Replay::items_of(NodeId call) const {
  std::vector<NodeId> items;
  for (NodeId id : slice_) {
    if (node(id).op == Op::kExternItem && node(id).operands[0] == call) items.push_back(id);
  }
  return items;
}

// ---------------------------------------------------------------- the slice

void Replay::find_slice(std::span<const NodeId> outputs) {
  std::vector<bool> reached(last_, false);
  const auto reach = [&](NodeId id) {
    if (index_of(id) >= first_ && index_of(id) < last_) reached[index_of(id)] = true;
  };
  for (NodeId output : outputs) reach(output);
  depends_.resize(last_, false);
  for (NodeId input : inputs_) depends_[index_of(input)] = true;
  for (uint32_t i = first_; i < last_; ++i) {
    const Node& node = this->node(NodeId{i});
    for (NodeId operand : node.operands) {
      if (index_of(operand) < last_ && depends_[index_of(operand)]) depends_[i] = true;
    }
    if (size_ && node.op == Op::kCheck && depends_[i]) {
      checks_.push_back(NodeId{i});
      reach(node.operands[0]);
    }
  }
  for (NodeId output : outputs) ++readers_[version_below(emit.graph(), output)];
  const auto is_input = [&](NodeId id) {
    return std::find(inputs_.begin(), inputs_.end(), id) != inputs_.end();
  };
  for (uint32_t i = last_; i-- > first_;) {
    if (!reached[i] || is_input(NodeId{i})) continue;
    slice_.push_back(NodeId{i});
    for (NodeId operand : node(NodeId{i}).operands) reach(operand);
  }
  std::reverse(slice_.begin(), slice_.end());
  find_stored();
}

// Memory that a transform looks at while it changes: what is stored hangs on an input, or a version
// that is not the last one is read by what does.
void Replay::find_stored() {
  std::unordered_map<NodeId, NodeId> last;
  for (NodeId id : slice_) {
    if (node(id).op == Op::kStore) last[emit.graph().buffer_of(id)] = id;
  }
  const auto note = [&](NodeId buffer) {
    if (last.contains(buffer)) is_stored_to_[buffer] = true;
  };
  for (NodeId id : slice_) {
    const Node& node = this->node(id);
    if (!depends_[index_of(id)] || op_info(node.op).op_class == OpClass::kView) continue;
    if (node.op == Op::kStore) note(emit.graph().buffer_of(id));
    for (NodeId operand : node.operands) {
      const NodeId buffer = emit.graph().buffer_of(operand);
      const auto found = last.find(buffer);
      if (found != last.end() && found->second != version_below(emit.graph(), operand))
        note(buffer);
    }
  }
  for (NodeId id : slice_) {
    const Node& node = this->node(id);
    if (node.op == Op::kStore) {
      const NodeId buffer = emit.graph().buffer_of(id);
      if (index_of(buffer) < first_ || this->node(buffer).op == Op::kPlaceholder) {
        refuse("the function stores to an array that it did not make", id);
      }
    }
    if (op_info(node.op).op_class == OpClass::kView) continue;
    for (NodeId operand : node.operands) ++readers_[version_below(emit.graph(), operand)];
  }
}

std::vector<NodeId> Replay::run(std::span<const NodeId> outputs) {
  find_slice(outputs);
  for (NodeId id : slice_) {
    const BatchingRule& rule = batching_rule(node(id).op);
    if (rule.apply == nullptr) {
      refuse(fmt::format("{}: {}", op_info(node(id).op).text, rule.refusal), id);
    }
    emit.at(id);
    rule.apply(*this, id);
  }
  replace_checks();
  std::vector<NodeId> results;
  for (NodeId output : outputs) {
    if (!size_) {
      results.push_back(of(output).node);
    } else {
      const std::vector<SizeExpr> dims = emit.type(output).dims;
      results.push_back(batched(output, dims));
    }
  }
  return results;
}

// What the one example was checked for and computed by calls holds no more.
void Replay::replace_checks() {
  if (!size_) return;
  for (NodeId check : checks_) {
    const Value condition = of(node(check).operands[0]);
    emit.at(check);
    const NodeId all =
        condition.is_batched ? emit.reduce(Op::kReduceAll, condition.node, {0}) : condition.node;
    emit.add(Op::kCheck, {all}, NoAttr{}, Type{ValueKind::kEffect, DType::kBool, {}});
    Node& old = emit.graph().mutable_node(check);
    old.op = Op::kConstant;
    old.operands.clear();
    old.type = numpy_scalar_type(DType::kBool);
    ScalarBits truth;
    truth.dtype = DType::kBool;
    old.attr = ConstantAttr{truth};
  }
  for (uint32_t i = first_; i < last_; ++i) {
    if (depends_[i] && node(NodeId{i}).op == Op::kExtern) externs.drop(NodeId{i});
  }
}

// ---------------------------------------------------------------- rules

namespace batching_rules {
namespace {

void batch_elementwise(Replay& r, NodeId id) {
  if (r.is_unchanged(id)) return;
  const Node node = r.node(id);
  const bool is_batched = r.any_batched(node);
  std::vector<NodeId> operands;
  for (NodeId operand : node.operands) {
    const Replay::Value value = r.of(operand);
    const bool is_number = !value.is_batched && r.emit.type(value.node).rank() == 0;
    operands.push_back(is_batched && !is_number ? r.batched(operand, node.type.dims) : value.node);
  }
  r.set(id, {r.again(node, std::move(operands), is_batched), is_batched});
}

void batch_leaf(Replay& r, NodeId id) {
  if (!r.is_unchanged(id)) r.set(id, {r.again(Node(r.node(id)), {}, false), false});
}

void batch_view(Replay& r, NodeId id) {
  if (r.is_unchanged(id)) return;
  const Node node = r.node(id);
  const Replay::Value value = r.of(node.operands[0]);
  r.set(id, {r.view_step(node, value.node, value.is_batched), value.is_batched});
}

// Copies and reductions.
void batch_whole(Replay& r, NodeId id) {
  if (r.is_unchanged(id)) return;
  const Node node = r.node(id);
  const Replay::Value value = r.of(node.operands[0]);
  r.set(id, {r.again(node, {value.node}, value.is_batched), value.is_batched});
}

void batch_store(Replay& r, NodeId id) {
  const Node node = r.node(id);
  Graph& graph = r.emit.graph();
  const NodeId target = node.operands[0];
  const NodeId before = version_below(graph, target);
  const std::vector<NodeId> views = views_above(graph, target);
  const Replay::Value old = r.of(before), value = r.of(node.operands[1]);
  if (old.node == before && value.node == node.operands[1] && r.is_unchanged(graph.buffer_of(id)))
    return;
  const bool is_batched = old.is_batched || value.is_batched;
  NodeId buffer = old.node;
  if (old.is_batched != is_batched || !r.may_store_into(before)) {
    const std::vector<SizeExpr> dims = r.emit.type(before).dims;
    AxisOrder order = is_batched ? batched_order(node.order) : node.order;
    buffer = r.emit.copy(is_batched ? r.batched(before, dims) : old.node, std::move(order));
  }
  bool is_sliced = false;
  for (NodeId view : views) {
    const Node step = r.node(view);
    if (step.op == Op::kReshape && is_sliced && is_batched) {
      refuse("it stores to a part of an array that is reshaped, which cannot be done for a batch",
             id);
    }
    is_sliced = is_sliced || step.op == Op::kView;
    buffer = r.view_step(step, buffer, is_batched);
  }
  const std::vector<SizeExpr> dims = r.emit.type(target).dims;
  const bool is_number = !value.is_batched && r.emit.type(value.node).rank() == 0;
  const NodeId stored = is_batched && !is_number ? r.batched(node.operands[1], dims) : value.node;
  r.set(id, {r.emit.store(buffer, stored), is_batched});
}

void batch_call(Replay& r, NodeId id) {
  const Node node = r.node(id);
  const std::vector<NodeId> items = r.items_of(id);
  const bool is_needed =
      !r.is_unchanged(id) ||
      std::any_of(items.begin(), items.end(), [&](NodeId item) { return !r.is_unchanged(item); });
  if (!is_needed || items.empty()) return;
  std::vector<NodeId> operands;
  std::vector<bool> is_batched;
  for (NodeId operand : node.operands) {
    operands.push_back(r.of(operand).node);
    is_batched.push_back(r.of(operand).is_batched);
  }
  const bool any = r.any_batched(node);
  const std::vector<NodeId> results =
      any ? r.externs.batch(id, items, operands, is_batched, r.size())
          : r.externs.repeat(id, items, operands);
  for (size_t i = 0; i < items.size(); ++i) r.set(items[i], {results[i], any});
}

}  // namespace

constinit const BatchingRule elementwise{batch_elementwise, {}};
constinit const BatchingRule leaf{batch_leaf, {}};
constinit const BatchingRule view{batch_view, {}};
constinit const BatchingRule whole{batch_whole, {}};
constinit const BatchingRule store{batch_store, {}};
constinit const BatchingRule call{batch_call, {}};
constinit const BatchingRule call_item{[](Replay&, NodeId) {}, {}};  // the call's rule sets it
constinit const BatchingRule check{[](Replay&, NodeId) {}, {}};      // see replace_checks()
// Inside transforms these are calls, which have rules.
constinit const BatchingRule gather{
    nullptr, "reads through integer arrays made outside the function have no batching rule"};
constinit const BatchingRule gufunc{
    nullptr, "products and linear algebra made outside the function have no batching rule"};
constinit const BatchingRule region{
    nullptr, "loops and branches that the program runs itself are not batched yet"};

}  // namespace batching_rules

const BatchingRule& batching_rule(Op op) {
  switch (op) {
#define NUMLIFT_OP(name, arity, cls, result, cost, fp, gradient, batching) \
  case Op::k##name:                                                        \
    return batching_rules::batching;
#include "numlift/graph/ops.def"
#undef NUMLIFT_OP
  }
  NUMLIFT_UNREACHABLE();
}

std::string_view batching_refusal(Op op) { return batching_rule(op).refusal; }

RuleNames rule_names(Op op) {
  switch (op) {
#define NUMLIFT_OP(name, arity, cls, result, cost, fp, gradient, batching) \
  case Op::k##name:                                                        \
    return {#gradient, #batching};
#include "numlift/graph/ops.def"
#undef NUMLIFT_OP
  }
  NUMLIFT_UNREACHABLE();
}

}  // namespace numlift
