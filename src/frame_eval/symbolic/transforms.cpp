#include "symbolic/transforms.h"

#include <algorithm>

#include "numlift/py/py_error.h"
#include "symbolic/builtins.h"
#include "symbolic/calls.h"
#include "symbolic/containers.h"
#include "symbolic/extern_recipe.h"
#include "symbolic/pure.h"
#include "symbolic/tracer_state.h"

namespace numlift::frame_eval {

Transforms::Transforms(Interpreter& interpreter)
    : interpreter_(interpreter),
      tracer_(interpreter.tracer),
      regions_(std::exchange(interpreter.regions, nullptr)),
      fp_checks_(std::exchange(interpreter.tracer.fp_checks, uint8_t{kFpNone})),
      leaves_calls_(std::exchange(interpreter.tracer.leaves_calls, true)) {}

Transforms::~Transforms() {
  interpreter_.regions = regions_;
  tracer_.fp_checks = fp_checks_;
  tracer_.leaves_calls = leaves_calls_;
}

// ---------------------------------------------------------------- values and nodes

NodeId Transforms::node_of(const Sym& value, const std::string& what) {
  const auto operand = find_operand(tracer_, value);
  if (!operand || is_list(value) || is_tuple(value)) {
    throw_break("transform_type",
                fmt::format("{} is a {}, not an array or number", what, type_name(value)));
  }
  if (operand->node != kNoNode) return operand->node;
  return number_node(tracer_, operand->constant, operand->type.dtype);
}

std::vector<NodeId> Transforms::nodes_of(const Sym& list, const std::string& what) {
  std::vector<NodeId> nodes;
  for (const Sym& item : sequence_items(interpreter_, list)) nodes.push_back(node_of(item, what));
  return nodes;
}

Sym Transforms::result(NodeId node) {
  const Type type = tracer_.type_of(node);
  const Type own = type.rank() == 0 ? numpy_scalar_type(type.dtype) : type;
  const NodeId copy = tracer_.append(Op::kCast, {node}, NoAttr{}, own);
  return own.value_kind == ValueKind::kArray ? tracer_.new_array(copy) : tracer_.new_scalar(copy);
}

NodeId Transforms::conform(NodeId node, const Type& like, const std::string& what) {
  const Type type = tracer_.type_of(node);
  bool fits = type.rank() == like.rank();
  bool is_checked = false;
  for (size_t axis = 0; fits && axis < like.dims.size(); ++axis) {
    const SizeExpr own = tracer_.simplify(type.dims[axis]),
                   other = tracer_.simplify(like.dims[axis]);
    if (own == other) continue;
    if (tracer_.depends_on_extern(own) || tracer_.depends_on_extern(other)) {
      // Only the run knows: it goes on where they are equal.
      const NodeId sizes[] = {tracer_.size_node(own), tracer_.size_node(other)};
      require(tracer_, elementwise(tracer_, Op::kEqual, {sizes[0], sizes[1]}, DType::kBool));
      is_checked = true;
    } else {
      fits = tracer_.decide_equal(own, other, "a cotangent has its value's size");
    }
  }
  if (!fits) {
    throw_break("transform_value", fmt::format("{} has {} dimensions of other sizes than the value",
                                               what, type.rank()));
  }
  settle_sizes();
  if (is_checked) {
    IndexMap same;
    for (int axis = 0; axis < type.rank(); ++axis) same.axes.push_back({0, 1, axis});
    node = tracer_.append(Op::kView, {node}, ViewAttr{std::move(same)},
                          array_type(type.dtype, like.dims));
  }
  if (type.dtype == like.dtype) return node;
  if (is_complex(type.dtype) && !is_complex(like.dtype)) {
    const Type part =
        result_type_for(real_part(type.dtype), tracer_.type_of(node).dims, type.rank() == 0);
    node = tracer_.append(Op::kReal, {node}, NoAttr{}, part);
  }
  return cast(tracer_, node, like.dtype);
}

void Transforms::settle_sizes() { tracer_.apply_merges(); }

void Transforms::note_example(NodeId node) { tracer_.state_->examples.push_back(node); }

// `likes`: what a result of zeros looks like, by position.
Sym Transforms::results_or_break(NodesOrRefusal made, std::span<const NodeId> likes) {
  if (!made) {
    const TransformRefusal& refusal = made.error();
    std::string place;
    if (refusal.node != kNoNode) {
      const SourceLocation& at =
          tracer_.graph().locations[tracer_.graph().node(refusal.node).location];
      if (at.line > 0) place = fmt::format(" ({}:{})", at.file, at.line);
    }
    throw_break("transform_rule", refusal.reason + place);
  }
  std::vector<Sym> values;
  for (size_t i = 0; i < made->size(); ++i) {
    NodeId node = (*made)[i];
    if (node == kNoNode) {
      const Type& like = tracer_.type_of(likes[i]);
      const std::vector<SizeExpr> dims = like.dims;
      node = broadcast_node(tracer_, int_node(tracer_, 0, like.dtype), dims);
      if (!dims.empty() && tracer_.type_of(node).rank() == 0) {
        node = tracer_.append(Op::kView, {node}, ViewAttr{},
                              array_type(tracer_.type_of(node).dtype, dims));
      }
    }
    values.push_back(result(node));
  }
  return make_list(std::move(values));
}

// ---------------------------------------------------------------- calls out

const ExternRecipe& Transforms::recipe_of(NodeId call) const {
  return tracer_.state_->externs[attr_of<ExternAttr>(tracer_.graph().node(call)).call];
}

const std::string& Transforms::name_of(NodeId call) const {
  const Graph& graph = tracer_.graph();
  return graph.externs[attr_of<ExternAttr>(graph.node(call)).call].name;
}

// The node itself as a value: not to be stored to.
Sym Transforms::value_of(NodeId id) const {
  if (tracer_.type_of(id).value_kind != ValueKind::kArray) return tracer_.new_scalar(id);
  // A call takes memory: what only repeats a number becomes some.
  if (const NodeId buffer = tracer_.graph().buffer_of(id);
      tracer_.type_of(buffer).value_kind != ValueKind::kArray) {
    const Type type = tracer_.type_of(id);
    id = tracer_.append(Op::kCopy, {id}, NoAttr{}, type);
  }
  const Node& node = tracer_.graph().node(id);
  auto array = std::make_shared<ArrayValue>();
  array->storage = std::make_shared<Storage>();
  array->storage->current = id;
  array->type = node.type;
  array->strides = strides_for(node.type, node.order);
  array->writeable = false;
  return array;
}

Sym Transforms::argument(const ExternRecipe& recipe, uint32_t index,
                         const std::vector<NodeId>& operands) {
  const RecipeNode& node = recipe.nodes[index];
  std::vector<Sym> children;
  for (uint32_t child : node.children) children.push_back(argument(recipe, child, operands));
  switch (node.kind) {
    case RecipeNode::Kind::kOutput:
      return value_of(operands[node.index]);
    case RecipeNode::Kind::kConstant:
      return interpreter_.object(node.object);
    case RecipeNode::Kind::kTuple:
      return make_tuple(std::move(children));
    case RecipeNode::Kind::kList:
      return make_list(std::move(children));
    case RecipeNode::Kind::kSlice:
      return std::make_shared<SliceValue>(children[0], children[1], children[2]);
    case RecipeNode::Kind::kDict: {
      auto dict = std::make_shared<DictValue>();
      for (size_t i = 0; i + 1 < children.size(); i += 2) {
        dict->items.emplace_back(children[i], children[i + 1]);
      }
      return dict;
    }
    default:
      NUMLIFT_UNREACHABLE();
  }
}

// The call's result with these parts, and None where none is given.
Sym Transforms::structure(NodeId call, const std::vector<std::pair<std::vector<int>, Sym>>& parts,
                          const std::vector<int>& path) {
  for (const auto& [place, value] : parts) {
    if (place == path) return value;
  }
  for (const ExternRecipe::ResultPart& part : recipe_of(call).result_parts) {
    if (part.path != path || part.length < 0) continue;
    std::vector<Sym> items;
    for (int i = 0; i < static_cast<int>(part.length); ++i) {
      std::vector<int> inside = path;
      inside.push_back(i);
      items.push_back(structure(call, parts, inside));
    }
    return make_tuple(std::move(items));
  }
  return interpreter_.none();
}

void Transforms::take_parts(const ExternRecipe& recipe, uint32_t index, const Sym& value,
                            const Node& call, std::vector<NodeId>* parts) {
  const RecipeNode& node = recipe.nodes[index];
  if (is_object(value, Py_None) || node.kind == RecipeNode::Kind::kConstant) return;
  if (node.kind == RecipeNode::Kind::kOutput) {
    const Type like = tracer_.type_of(call.operands[node.index]);
    const NodeId part = node_of(value, "a cotangent");
    if (tracer_.graph().node(part).op == Op::kExternItem) promise_dims(part, like.dims);
    (*parts)[node.index] = conform(part, like, "a cotangent");
    return;
  }
  const std::vector<Sym> items = sequence_items(interpreter_, value);
  NUMLIFT_CHECK(items.size() == node.children.size(), "a rule gives {} cotangents for {} values",
                items.size(), node.children.size());
  for (size_t i = 0; i < items.size(); ++i) {
    take_parts(recipe, node.children[i], items[i], call, parts);
  }
}

std::vector<NodeId> Transforms::pull_back(NodeId call, std::span<const NodeId> items,
                                          std::span<const NodeId> cotangents,
                                          const std::vector<bool>& wanted) {
  const ExternRecipe recipe = recipe_of(call);
  const Node node = tracer_.graph().node(call);
  const std::string name = name_of(call);
  PyObject* rule = PyDict_GetItemString(known_object("numlift.transforms.rules", "GRADIENTS").get(),
                                        name.c_str());
  if (rule == nullptr) throw TransformRefusal{name + " has no gradient rule", call};
  std::vector<std::pair<std::vector<int>, Sym>> outer, given;
  for (size_t i = 0; i < items.size(); ++i) {
    const Node& item = tracer_.graph().node(items[i]);
    given.emplace_back(attr_of<ExternItemAttr>(item).path, value_of(cotangents[i]));
  }
  for (uint32_t i = index_of(call) + 1; i < tracer_.graph().size(); ++i) {
    const Node& item = tracer_.graph().node(NodeId{i});
    if (item.op == Op::kExternItem && item.operands[0] == call)
      outer.emplace_back(attr_of<ExternItemAttr>(item).path, value_of(NodeId{i}));
  }
  const size_t keywords =
      recipe.keyword_names ? static_cast<size_t>(PyTuple_GET_SIZE(recipe.keyword_names.get())) : 0;
  const size_t positional = recipe.arguments.size() - keywords;
  CallArguments arguments;
  arguments.positional = {structure(call, given, {}), structure(call, outer, {})};
  for (size_t i = 0; i < recipe.arguments.size(); ++i) {
    Sym value = argument(recipe, recipe.arguments[i], node.operands);
    if (i < positional) {
      arguments.positional.push_back(std::move(value));
    } else {
      arguments.keywords.emplace_back(
          Ref::create(PyTuple_GET_ITEM(recipe.keyword_names.get(),
                                       static_cast<Py_ssize_t>(i - positional))),
          std::move(value));
    }
  }
  std::vector<NodeId> parts(node.operands.size(), kNoNode);
  const auto first = static_cast<uint32_t>(tracer_.graph().size());
  Sym made;
  try {
    made = call_python_function(interpreter_, interpreter_.object(rule), std::move(arguments));
  } catch (const Break& reason) {
    throw TransformRefusal{
        fmt::format("{} has no gradient rule for these arguments ({})", name, reason.reason), call};
  }
  if (is_object(made, Py_NotImplemented)) {
    throw TransformRefusal{name + " has no gradient rule for these arguments", call};
  }
  const std::vector<Sym> values = sequence_items(interpreter_, made);
  for (size_t i = 0; i < values.size() && i < positional; ++i) {
    take_parts(recipe, recipe.arguments[i], values[i], node, &parts);
  }
  for (size_t i = positional; i < recipe.arguments.size(); ++i) {
    const RecipeNode& keyword = recipe.nodes[recipe.arguments[i]];
    if (keyword.kind == RecipeNode::Kind::kOutput && wanted[keyword.index]) {
      throw TransformRefusal{name + " has no gradient rule for its keyword arguments", call};
    }
  }
  settle_sizes();
  for (size_t i = 0; i < parts.size(); ++i) {
    if (!wanted[i]) parts[i] = kNoNode;
  }
  drop_unused(first, parts);
  return parts;
}

// Calls of a rule that only serve operands whose cotangents nobody wants.
void Transforms::drop_unused(uint32_t first, const std::vector<NodeId>& parts) {
  const Graph& graph = tracer_.graph();
  const auto last = static_cast<uint32_t>(graph.size());
  std::vector<bool> used(last, false);
  for (NodeId part : parts) {
    if (part != kNoNode) used[index_of(part)] = true;
  }
  for (uint32_t i = last; i-- > first;) {
    const Node& node = graph.node(NodeId{i});
    if (!used[i] && op_info(node.op).op_class != OpClass::kControl) continue;
    for (NodeId operand : node.operands) used[index_of(operand)] = true;
  }
  for (uint32_t i = first; i < last; ++i) {
    if (!used[i] && graph.node(NodeId{i}).op == Op::kExtern) drop(NodeId{i});
  }
}

// ---------------------------------------------------------------- batches of calls

std::vector<NodeId> Transforms::batch(NodeId call, std::span<const NodeId> items,
                                      std::span<const NodeId> operands,
                                      const std::vector<bool>& is_batched, const SizeExpr& size) {
  const std::string name = name_of(call);
  ExternRecipe recipe = recipe_of(call);
  // Sizes that only the call tells are those of the first example; the program checks the others.
  const bool any_sizes =
      std::any_of(items.begin(), items.end(), [&](NodeId item) { return has_own_sizes(item); });
  if (any_sizes) {
    const NodeId count = tracer_.size_node(size);
    require(tracer_,
            elementwise(tracer_, Op::kGreater, {count, tracer_.size_node(0)}, DType::kBool));
  }
  if (Sym made = batch_by_rule(call, operands, is_batched)) {
    if (items.size() != 1 || made->kind != SymKind::kArray) {
      throw TransformRefusal{name + ": only its whole result can be batched", call};
    }
    return {as_batch(made, items[0], size)};
  }
  const auto batched_call = known_object("numlift.transforms.batching", "BatchedCall");
  const Ref slot = checked(PyObject_GetAttrString(batched_call.get(), "slot"));
  std::vector<Ref> slots;
  for (size_t i = 0; i < operands.size(); ++i) {
    slots.push_back(checked(PyObject_CallFunction(slot.get(), "nO", static_cast<Py_ssize_t>(i),
                                                  is_batched[i] ? Py_True : Py_False)));
  }
  const Ref callable = recipe.callable;
  recipe.callable = checked(PyObject_GetAttrString(batched_call.get(), "arguments"));
  const Ref arguments = checked(call_extern(recipe, slots));
  const Ref paths = checked(PyList_New(0));
  for (NodeId item : items) {
    const auto& path = attr_of<ExternItemAttr>(tracer_.graph().node(item)).path;
    const Ref one = checked(PyTuple_New(static_cast<Py_ssize_t>(path.size())));
    for (size_t i = 0; i < path.size(); ++i) {
      PyTuple_SET_ITEM(one.get(), static_cast<Py_ssize_t>(i),
                       checked(PyLong_FromLong(path[i])).release());
    }
    check_status(PyList_Append(paths.get(), one.get()));
  }
  const Ref made = checked(PyObject_CallFunctionObjArgs(batched_call.get(), callable.get(),
                                                        arguments.get(), paths.get(), nullptr));
  std::vector<Sym> values;
  for (NodeId operand : operands) values.push_back(value_of(operand));
  const Sym result = tracer_.extern_call(made, values, {}, name + " (batched)");
  std::vector<NodeId> nodes;
  for (const Sym& value : sequence_items(interpreter_, result)) {
    nodes.push_back(as_batch(value, items[nodes.size()], size));
  }
  return nodes;
}

// The sizes of what a call gives; the program checks that it is so.
void Transforms::promise_dims(NodeId item, const std::vector<SizeExpr>& dims) {
  const Graph& graph = tracer_.graph();
  Node& node = tracer_.graph().mutable_node(item);
  std::vector<SizeExpr> now;
  for (uint32_t i = 0; i < graph.symbols.size(); ++i) now.push_back(SizeExpr::symbol(SymbolId{i}));
  for (size_t axis = 0; axis < node.type.dims.size() && axis < dims.size(); ++axis) {
    if (const auto symbol = node.type.dims[axis].as_symbol())
      now[static_cast<size_t>(*symbol)] = dims[axis];
  }
  for (SizeExpr& stride : std::get<ExternItemAttr>(node.attr).strides) {
    stride = stride.substitute(now);
  }
  node.type.dims = dims;
}

// The node of a batched result, with the sizes that it must have.
NodeId Transforms::as_batch(const Sym& value, NodeId item, const SizeExpr& size) {
  const NodeId node = node_of(value, "a batch");
  Type like = tracer_.type_of(item);
  like.value_kind = ValueKind::kArray;
  like.dims.insert(like.dims.begin(), size);
  if (tracer_.graph().node(node).op == Op::kExternItem) {
    promise_dims(node, like.dims);
    settle_sizes();
    return node;
  }
  return conform(node, like, "a batch");
}

namespace {

bool holds_batched(const ExternRecipe& recipe, uint32_t index,
                   const std::vector<bool>& is_batched) {
  const RecipeNode& node = recipe.nodes[index];
  if (node.kind == RecipeNode::Kind::kOutput) return is_batched[node.index];
  return std::any_of(node.children.begin(), node.children.end(),
                     [&](uint32_t child) { return holds_batched(recipe, child, is_batched); });
}

}  // namespace

Sym Transforms::batch_by_rule(NodeId call, std::span<const NodeId> operands,
                              const std::vector<bool>& is_batched) {
  const ExternRecipe recipe = recipe_of(call);
  PyObject* rule = PyDict_GetItemString(known_object("numlift.transforms.batches", "BATCHES").get(),
                                        name_of(call).c_str());
  if (rule == nullptr) return nullptr;
  const std::vector<NodeId> nodes(operands.begin(), operands.end());
  const size_t keywords =
      recipe.keyword_names ? static_cast<size_t>(PyTuple_GET_SIZE(recipe.keyword_names.get())) : 0;
  const size_t positional = recipe.arguments.size() - keywords;
  CallArguments arguments;
  std::vector<Sym> flags;
  for (size_t i = 0; i < recipe.arguments.size(); ++i) {
    const RecipeNode& node = recipe.nodes[recipe.arguments[i]];
    const bool batched = node.kind == RecipeNode::Kind::kOutput && is_batched[node.index];
    if (!batched && holds_batched(recipe, recipe.arguments[i], is_batched)) return nullptr;
    Sym value = argument(recipe, recipe.arguments[i], nodes);
    if (i < positional) {
      flags.push_back(interpreter_.boolean(batched));
      arguments.positional.push_back(std::move(value));
    } else if (batched) {
      return nullptr;
    } else {
      arguments.keywords.emplace_back(
          Ref::create(PyTuple_GET_ITEM(recipe.keyword_names.get(),
                                       static_cast<Py_ssize_t>(i - positional))),
          std::move(value));
    }
  }
  arguments.positional.insert(arguments.positional.begin(), make_tuple(std::move(flags)));
  Sym made = call_python_function(interpreter_, interpreter_.object(rule), std::move(arguments));
  return is_object(made, Py_NotImplemented) ? nullptr : made;
}

bool Transforms::has_own_sizes(NodeId item) const {
  const Graph& graph = tracer_.graph();
  std::vector<SymbolId> symbols;
  for (const SizeExpr& dim : graph.node(item).type.dims) dim.collect_symbols(&symbols);
  return std::any_of(symbols.begin(), symbols.end(), [&](SymbolId id) {
    const Symbol& symbol = graph.symbols[static_cast<size_t>(id)];
    return symbol.kind == SymbolKind::kExternDim && symbol.input == index_of(item);
  });
}

std::vector<NodeId> Transforms::repeat(NodeId call, std::span<const NodeId> items,
                                       std::span<const NodeId> operands) {
  Graph& graph = tracer_.graph();
  const std::string name = name_of(call);
  Node again = graph.node(call);
  const uint32_t index = attr_of<ExternAttr>(again).call;
  if (!graph.externs[index].pure) {
    throw TransformRefusal{name + " may not be called a second time", call};
  }
  graph.externs.push_back(ExternInfo(graph.externs[index]));
  auto& recipes = tracer_.state_->externs;
  recipes.push_back(ExternRecipe(recipes[index]));
  again.attr = ExternAttr{static_cast<uint32_t>(recipes.size() - 1)};
  again.operands.assign(operands.begin(), operands.end());
  const NodeId made = graph.append(std::move(again));
  std::vector<NodeId> results;
  for (NodeId id : items) {
    Node item = graph.node(id);
    item.operands = {made};
    results.push_back(graph.append(std::move(item)));
  }
  return results;
}

void Transforms::drop(NodeId call) {
  Graph& graph = tracer_.graph();
  graph.externs[attr_of<ExternAttr>(graph.node(call)).call].may_raise = false;
  for (uint32_t i = index_of(call) + 1; i < graph.size(); ++i) {
    Node& item = graph.mutable_node(NodeId{i});
    if (item.op != Op::kExternItem || item.operands[0] != call) continue;
    if (item.type.value_kind != ValueKind::kArray) continue;
    if (has_own_sizes(NodeId{i})) continue;  // something may need them
    item.op = Op::kEmpty;
    item.operands.clear();
    item.attr = NoAttr{};
  }
}

}  // namespace numlift::frame_eval
