// Tracer: the end of a trace. The result value becomes the graph's outputs and the recipe that
// builds it; sizes that were found equal become structurally equal everywhere in the graph.
#include <unordered_map>

#include "numlift/frame_eval/marks.h"
#include "numlift/py/py_error.h"
#include "symbolic/builtins.h"
#include "symbolic/tracer_state.h"

namespace numlift::frame_eval {

namespace {

class RecipeBuilder {
 public:
  RecipeBuilder(Tracer& tracer, std::vector<RecipeNode>* nodes) : tracer_(tracer), nodes_(nodes) {}

  uint32_t build(const Sym& value) {
    auto [found, is_new] = built_.try_emplace(value.get(), kInProgress);
    if (!is_new) {
      if (found->second == kInProgress) cannot(*value, "a container holds itself");
      return found->second;
    }
    kept_.push_back(value);
    if (depth_ == kMostNested) cannot(*value, "containers are nested too deep");
    ++depth_;
    const uint32_t index = make(*value);
    --depth_;
    built_[value.get()] = index;
    return index;
  }

  // Cells get their contents when all else is there: a function may be in its own closure.
  void fill_cells() {
    while (!empty_cells_.empty()) {
      const auto [cell, content] = empty_cells_.back();
      empty_cells_.pop_back();
      RecipeNode fill;
      fill.kind = RecipeNode::Kind::kFillCell;
      fill.children = {cell, build(content)};
      add(std::move(fill));
    }
  }

 private:
  static constexpr uint32_t kInProgress = ~uint32_t{0};
  static constexpr int kMostNested = 1000;

  // CPython has to make the value: the trace ends before the instruction that did.
  [[noreturn]] static void cannot(const SymbolicValue& value, std::string what) {
    throw Break{"handed_over", std::move(what), value.born};
  }

  uint32_t constant(Ref object) {
    RecipeNode recipe;
    recipe.kind = RecipeNode::Kind::kConstant;
    recipe.object = std::move(object);
    return add(std::move(recipe));
  }
  uint32_t none() { return constant(Ref::create(Py_None)); }

  uint32_t call(const CallShape& shape) {
    RecipeNode recipe;
    recipe.kind = RecipeNode::Kind::kCall;
    recipe.object = shape.callable;
    recipe.keyword_names = shape.keyword_names;
    recipe.index = static_cast<uint32_t>(shape.advance);
    recipe.place = shape.place;
    for (const Sym& argument : shape.arguments) recipe.children.push_back(build(argument));
    return add(std::move(recipe));
  }

  uint32_t function(const FunctionValue& value) {
    RecipeNode recipe;
    recipe.kind = RecipeNode::Kind::kFunction;
    recipe.object = value.code;
    recipe.children.push_back(constant(value.globals));
    recipe.children.push_back(
        value.defaults.empty() ? none() : container(RecipeNode::Kind::kTuple, value.defaults));
    std::vector<Sym> flat;
    for (const auto& [name, item] : value.kwdefaults) {
      flat.push_back(tracer_.constant(name));
      flat.push_back(item);
    }
    recipe.children.push_back(flat.empty() ? none() : container(RecipeNode::Kind::kDict, flat));
    recipe.children.push_back(
        value.closure.empty()
            ? none()
            : container(RecipeNode::Kind::kTuple, {value.closure.begin(), value.closure.end()}));
    recipe.children.push_back(value.annotations ? build(value.annotations) : none());
    return add(std::move(recipe));
  }

  uint32_t method(const MethodValue& value) {
    if (value.function) {
      return call({Ref::create(reinterpret_cast<PyObject*>(&PyMethod_Type)),
                   {value.function, value.self},
                   {},
                   0});
    }
    return call({Ref::create(known_object("builtins", "getattr")),
                 {value.self, tracer_.constant(value.name)},
                 {},
                 0});
  }

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
        return constant(static_cast<const ObjectValue&>(value).object);
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
      case SymKind::kFunction:
        return function(static_cast<const FunctionValue&>(value));
      case SymKind::kMethod:
        return method(static_cast<const MethodValue&>(value));
      case SymKind::kCell: {
        const auto& cell = static_cast<const CellValue&>(value);
        if (outside) return source(value);
        NUMLIFT_CHECK(!cell.outside, "a cell from outside has no source");
        RecipeNode recipe;
        recipe.kind = RecipeNode::Kind::kCell;
        const uint32_t index = add(std::move(recipe));
        if (cell.content) empty_cells_.emplace_back(index, cell.content);
        return index;
      }
      case SymKind::kIterator: {
        const auto shape = static_cast<const IteratorValue&>(value).shape();
        if (!shape) cannot(value, "a generator or the like, made inside, is handed to CPython");
        return call(*shape);
      }
      case SymKind::kNull:
        break;
    }
    NUMLIFT_UNREACHABLE();
  }

  Tracer& tracer_;
  std::vector<RecipeNode>* nodes_;
  std::unordered_map<const SymbolicValue*, uint32_t> built_;
  std::vector<Sym> kept_;  // what built_ names stays alive
  int depth_ = 0;
  std::vector<std::pair<uint32_t, Sym>> empty_cells_;
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

TraceResult Tracer::finish(const std::vector<Sym>& results) {
  TraceResult done;
  RecipeBuilder builder(*this, &done.recipe);
  for (const Sym& result : results) done.results.push_back(builder.build(result));
  builder.fill_cells();
  for (const auto& storage : state_->storages) {
    if (storage && storage->stored_to) graph_.mutated_inputs.push_back(storage->current);
  }
  for (const auto& [symbol, axis] : state_->dynamic) {
    const SizeExpr now = simplify(SizeExpr::symbol(symbol));
    if (now.is_constant()) {
      raise_escape_hatch_error(fmt::format(
          "{} is marked dynamic, but the code fixes its size to {}", axis, *now.constant()));
    }
    done.dynamic_symbols.push_back(symbol);
  }
  apply_merges();
  done.graph = std::move(graph_);
  done.guards = std::move(state_->guards);
  done.inputs = std::move(state_->inputs);
  done.externs = std::move(state_->externs);
  done.operations = std::move(operations_);
  return done;
}

UserFrame first_line_of(BorrowedRef code) {
  const auto* raw = reinterpret_cast<PyCodeObject*>(code.get());
  const auto text = [](PyObject* object) {
    const char* chars = PyUnicode_AsUTF8(object);
    if (chars == nullptr) PyErr_Clear();
    return std::string(chars == nullptr ? "?" : chars);
  };
  const int line = raw->co_firstlineno;
  return {text(raw->co_filename), text(raw->co_name), {line, line, -1, -1}};
}

BreakInfo Tracer::break_info(const Break& reason) const {
  BreakInfo info{reason.category, reason.reason, reason.user_stack, error_on_break};
  if (info.user_stack.empty()) {
    const SourceLocation& where = graph_.locations[state_->location];
    const Position line{where.line, where.line, -1, -1};
    info.user_stack.push_back(where.file.empty()
                                  ? first_line_of(PyFunction_GET_CODE(state_->function.get()))
                                  : UserFrame{where.file, where.function, line});
  }
  return info;
}

TraceBreak Tracer::finish_break(const Break& reason) {
  TraceBreak done;
  done.info = break_info(reason);
  done.guards = std::move(state_->guards);
  done.size_guards = std::move(graph_.size_guards);
  done.symbols = std::move(graph_.symbols);
  done.inputs = std::move(state_->inputs);
  return done;
}

}  // namespace numlift::frame_eval
