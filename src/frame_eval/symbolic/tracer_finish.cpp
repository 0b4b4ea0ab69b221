// Tracer: the end of a trace. The result value becomes the graph's outputs and the recipe that
// builds it; sizes that were found equal become structurally equal everywhere in the graph.
#include <unordered_map>

#include "numlift/py/py_error.h"
#include "symbolic/tracer_state.h"

namespace numlift::frame_eval {

namespace {

class RecipeBuilder {
 public:
  RecipeBuilder(Tracer& tracer, std::vector<RecipeNode>* nodes) : tracer_(tracer), nodes_(nodes) {}

  uint32_t build(const Sym& value) {
    if (auto found = built_.find(value.get()); found != built_.end()) return found->second;
    const uint32_t index = make(*value);
    built_.emplace(value.get(), index);
    return index;
  }

 private:
  uint32_t add(RecipeNode node) {
    nodes_->push_back(std::move(node));
    return static_cast<uint32_t>(nodes_->size() - 1);
  }

  uint32_t output(NodeId node) {
    RecipeNode recipe;
    recipe.kind = RecipeNode::Kind::kOutput;
    recipe.index = static_cast<uint32_t>(tracer_.graph().outputs.size());
    tracer_.graph().outputs.push_back(node);
    return add(std::move(recipe));
  }

  uint32_t source(const SymbolicValue& value) {
    RecipeNode recipe;
    recipe.kind = RecipeNode::Kind::kSource;
    recipe.source = value.source;
    return add(std::move(recipe));
  }

  uint32_t container(RecipeNode::Kind kind, const std::vector<Sym>& items, Ref object = {}) {
    RecipeNode recipe;
    recipe.kind = kind;
    recipe.object = std::move(object);
    for (const Sym& item : items) recipe.children.push_back(build(item));
    return add(std::move(recipe));
  }

  uint32_t make(const SymbolicValue& value) {
    const bool outside =
        value.source != nullptr && value.source->kind != guards::Source::Kind::kConstant;
    switch (value.kind) {
      case SymKind::kObject: {
        if (outside) return source(value);
        RecipeNode recipe;
        recipe.kind = RecipeNode::Kind::kConstant;
        recipe.object = static_cast<const ObjectValue&>(value).object;
        return add(std::move(recipe));
      }
      case SymKind::kArray: {
        const auto& array = static_cast<const ArrayValue&>(value);
        const uint32_t index = output(tracer_.read(array));
        (*nodes_)[index].read_only = array.read_only;
        return index;
      }
      case SymKind::kScalar:
        if (outside) return source(value);
        return output(static_cast<const ScalarValue&>(value).node);
      case SymKind::kSize:
        if (outside) return source(value);
        return output(
            tracer_.append(Op::kSizeValue, {},
                           SizeAttr{tracer_.simplify(static_cast<const SizeValue&>(value).expr)},
                           py_scalar_type(DType::kInt64)));
      case SymKind::kTuple: {
        const auto& tuple = static_cast<const SequenceValue&>(value);
        if (outside && tuple.object) return source(value);
        if (tuple.named_tuple_class) {
          return container(RecipeNode::Kind::kNamedTuple, tuple.items, tuple.named_tuple_class);
        }
        return container(RecipeNode::Kind::kTuple, tuple.items);
      }
      case SymKind::kList:
        return container(RecipeNode::Kind::kList, static_cast<const SequenceValue&>(value).items);
      case SymKind::kSet:
        return container(RecipeNode::Kind::kSet, static_cast<const SequenceValue&>(value).items);
      case SymKind::kDict: {
        std::vector<Sym> flat;
        for (const auto& [key, item] : static_cast<const DictValue&>(value).items) {
          flat.push_back(key);
          flat.push_back(item);
        }
        return container(RecipeNode::Kind::kDict, flat);
      }
      case SymKind::kSlice: {
        const auto& slice = static_cast<const SliceValue&>(value);
        return container(RecipeNode::Kind::kSlice, {slice.start, slice.stop, slice.step});
      }
      case SymKind::kNull:
      case SymKind::kFunction:
      case SymKind::kMethod:
      case SymKind::kCell:
      case SymKind::kIterator:
        throw_break("unsupported_value", "a function or iterator made inside is returned");
    }
    NUMLIFT_UNREACHABLE();
  }

  Tracer& tracer_;
  std::vector<RecipeNode>* nodes_;
  std::unordered_map<const SymbolicValue*, uint32_t> built_;
};

}  // namespace

// Every size in the graph in terms of the symbols that are left after merging.
void Tracer::apply_merges() {
  auto rewrite = [&](std::vector<SizeExpr>& sizes) {
    for (SizeExpr& size : sizes) size = simplify(size);
  };
  for (uint32_t i = 0; i < graph_.size(); ++i) {
    Node& node = graph_.mutable_node(static_cast<NodeId>(i));
    rewrite(node.type.dims);
    if (auto* placeholder = std::get_if<PlaceholderAttr>(&node.attr)) rewrite(placeholder->strides);
    if (auto* size = std::get_if<SizeAttr>(&node.attr)) size->value = simplify(size->value);
    if (auto* view = std::get_if<ViewAttr>(&node.attr)) {
      for (IndexMap::Axis& axis : view->map.axes) {
        axis.start = simplify(axis.start);
        axis.step = simplify(axis.step);
      }
    }
  }
}

TraceResult Tracer::finish(const Sym& result) {
  TraceResult done;
  RecipeBuilder(*this, &done.recipe).build(result);
  for (const auto& storage : state_->storages) {
    if (storage && storage->stored_to) graph_.mutated_inputs.push_back(storage->current);
  }
  apply_merges();
  done.graph = std::move(graph_);
  done.guards = std::move(state_->guards);
  done.inputs = std::move(state_->inputs);
  done.externs = std::move(state_->externs);
  return done;
}

TraceBreak Tracer::finish_break(const Break& reason) {
  TraceBreak done;
  const SourceLocation& where = graph_.locations[state_->location];
  done.info = {reason.category, reason.reason, where.file, where.function, where.line};
  done.guards = std::move(state_->guards);
  done.size_guards = std::move(graph_.size_guards);
  done.symbols = std::move(graph_.symbols);
  done.inputs = std::move(state_->inputs);
  return done;
}

}  // namespace numlift::frame_eval
