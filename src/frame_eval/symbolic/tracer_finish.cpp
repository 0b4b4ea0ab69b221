// Tracer: the end of a trace. The result value becomes the graph's outputs and the recipe that
// builds it; sizes that were found equal become structurally equal everywhere in the graph.
#include <algorithm>
#include <set>
#include <unordered_map>

#include "numlift/frame_eval/marks.h"
#include "numlift/py/py_error.h"
#include "symbolic/grown_list.h"
#include "symbolic/builtins.h"
#include "symbolic/exceptions.h"
#include "symbolic/instances.h"
#include "symbolic/made_classes.h"
#include "symbolic/sets.h"
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

  // What each effect's call is given.
  void build_effects(const std::vector<Tracer::Effect>& effects) {
    for (const Tracer::Effect& effect : effects) {
      if (effect.released) {
        RecipeNode release;
        release.kind = RecipeNode::Kind::kRelease;
        release.index = *effect.released;
        // What was made of it for earlier effects goes, too, unless it is used again.
        if (auto made = built_.find(effect.owner.get()); made != built_.end())
          release.children = {made->second};
        effects_.push_back(std::move(release));
      } else {
        effects_.push_back(call_node(effect.call));
      }
    }
  }

  // Cells and instances get their contents when all else is there: a function may be in its own
  // closure. Effects come last: nothing that they change is read after them.
  void complete(const std::vector<uint32_t>& results) {
    while (!empty_cells_.empty() || !empty_instances_.empty()) {
      if (!empty_cells_.empty()) {
        const auto [cell, content] = empty_cells_.back();
        empty_cells_.pop_back();
        RecipeNode fill;
        fill.kind = RecipeNode::Kind::kFillCell;
        fill.children = {cell, build(content)};
        add(std::move(fill));
      } else {
        const auto [index, instance] = empty_instances_.back();
        empty_instances_.pop_back();
        fill_instance(index, *instance);
      }
    }
    for (size_t i = 0; i < effects_.size(); ++i) {
      std::vector<uint32_t>& released = effects_[i].children;
      if (effects_[i].kind != RecipeNode::Kind::kRelease || released.empty()) continue;
      const auto uses = [&](const std::vector<uint32_t>& nodes) {
        return std::find(nodes.begin(), nodes.end(), released[0]) != nodes.end();
      };
      const bool is_used_later =
          uses(results) ||
          std::any_of(effects_.begin() + static_cast<ptrdiff_t>(i) + 1, effects_.end(),
                      [&](const RecipeNode& later) { return uses(later.children); });
      if (is_used_later) released.clear();
    }
    for (RecipeNode& effect : effects_) add(std::move(effect));
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

  RecipeNode call_node(const CallShape& shape) {
    RecipeNode recipe;
    recipe.kind = RecipeNode::Kind::kCall;
    recipe.object = shape.callable;
    recipe.keyword_names = shape.keyword_names;
    recipe.index = static_cast<uint32_t>(shape.advance);
    recipe.place = shape.place;
    for (const Sym& argument : shape.arguments) recipe.children.push_back(build(argument));
    return recipe;
  }
  uint32_t call(const CallShape& shape) { return add(call_node(shape)); }

  uint32_t made_class(const MadeClass& value) {
    return call({Ref::create(reinterpret_cast<PyObject*>(&PyType_Type)),
                 {value.name, value.bases, value.names},
                 {},
                 0});
  }

  // An empty object of the class, by object.__new__; a class written in C is called.
  uint32_t instance(const ObjectValue& value) {
    BorrowedRef type = reinterpret_cast<PyObject*>(value.object.type());
    const bool is_of_python = PyType_HasFeature(value.object.type(), Py_TPFLAGS_HEAPTYPE);
    const uint32_t index =
        is_of_python
            ? call({maker_of(value.object.type()), {tracer_.constant(Ref::create(type))}, {}, 0})
            : call({Ref::create(type), {}, {}, 0});
    if (value.state) empty_instances_.emplace_back(index, &value);
    return index;
  }
  static Ref maker_of(PyTypeObject* type) {
    return checked(PyObject_GetAttrString(reinterpret_cast<PyObject*>(base_in_c(type)), "__new__"));
  }
  // Past what its class overrides.
  void fill_container(uint32_t index, const ObjectValue& value, const Sym& content) {
    RecipeNode fill;
    fill.kind = RecipeNode::Kind::kCall;
    PyTypeObject* base = base_in_c(value.object.type());
    fill.object = checked(PyObject_GetAttrString(
        reinterpret_cast<PyObject*>(base), content->kind == SymKind::kList ? "extend" : "update"));
    fill.children = {index, build(content)};
    add(std::move(fill));
  }
  void fill_instance(uint32_t index, const ObjectValue& value) {
    if (value.state->content) fill_container(index, value, value.state->content);
    for (const auto& [name, content] : value.state->attributes) {
      RecipeNode set;
      set.kind = RecipeNode::Kind::kCall;
      set.object = object_method("__setattr__");
      const uint32_t key = constant(name);
      set.children = {index, key, build(content)};
      add(std::move(set));
    }
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
    const uint32_t index = add(std::move(recipe));
    // At once, for what a call makes of the function may copy its attributes (classmethod does);
    // one of them may be the function itself.
    built_[&value] = index;
    complete_function(index, value);
    return index;
  }
  void set_part(uint32_t function, const char* name, uint32_t value) {
    RecipeNode set;
    set.kind = RecipeNode::Kind::kCall;
    set.object = Ref::create(known_object("builtins", "setattr"));
    const uint32_t key = constant(checked(PyUnicode_InternFromString(name)));
    set.children = {function, key, value};
    add(std::move(set));
  }
  void complete_function(uint32_t index, const FunctionValue& value) {
    for (const auto& [name, text] : value.texts)
      set_part(index, utf8_text(name).c_str(), build(text));
    if (value.type_parameters) set_part(index, "__type_params__", build(value.type_parameters));
    if (value.dict) set_part(index, "__dict__", build(value.dict));
  }

  uint32_t grown_list(const GrownList& list) {
    RecipeNode recipe;
    recipe.kind = RecipeNode::Kind::kGrownList;
    recipe.items = list.element.kind == StateKind::kArray ? RecipeNode::Items::kArrays
                   : list.element.type.value_kind == ValueKind::kPyScalar
                       ? RecipeNode::Items::kPython
                       : RecipeNode::Items::kNumpy;
    for (const Sym& item : list.known) recipe.children.push_back(build(item));
    recipe.children.push_back(build(grown_rest(tracer_, list)));
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
        const auto& object = static_cast<const ObjectValue&>(value);
        if (const auto* made = dynamic_cast<const MadeClass*>(&value)) return made_class(*made);
        if (object.is_new) return instance(object);
        if (outside) return source(value);
        return constant(object.object);
      }
      case SymKind::kArray: {
        const auto& array = static_cast<const ArrayValue&>(value);
        if (array.storage->may_alias)
          refuse_loop("an array is handed out that may be another one, by the path");
        const uint32_t index = output(tracer_.read(array));
        (*nodes_)[index].read_only = array.read_only;
        if (!array.chain.empty()) (*nodes_)[index].strides = array.strides;
        return index;
      }
      case SymKind::kScalar:
        if (outside) return source(value);
        if (static_cast<const ScalarValue&>(value).either)
          refuse_loop("a number is handed out whose class depends on a loop");
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
      case SymKind::kGrownList:
        return grown_list(static_cast<const GrownList&>(value));
      case SymKind::kSet: {
        const auto shape = set_shape(static_cast<const SetValue&>(value));
        if (!shape) cannot(value, "a set is handed to CPython whose order comes from its history");
        return call(*shape);
      }
      case SymKind::kDict: {
        if (!static_cast<const DictValue&>(value).hashes.empty())
          cannot(value, "a dict with keys that have a __hash__ of their own, made inside");
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
      case SymKind::kException: {
        const auto& exception = static_cast<const ExceptionValue&>(value);
        const auto shape = exception_shape(exception);
        if (!shape) {
          throw Break{"handed_over", "an exception that was raised inside is handed to CPython",
                      exception.begins};
        }
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
  std::vector<std::pair<uint32_t, const ObjectValue*>> empty_instances_;
  std::vector<RecipeNode> effects_;
};

}  // namespace

namespace {

bool may_be_gone(const guards::Source& source) {
  switch (source.kind) {
    case guards::Source::Kind::kGlobal:
    case guards::Source::Kind::kClosure:
    case guards::Source::Kind::kCellContent:
    case guards::Source::Kind::kAttribute:
    case guards::Source::Kind::kTypeAttribute:
    case guards::Source::Kind::kDictItem:
      return true;
    // An item comes with a guard on the length.
    default:
      return false;
  }
}

// What the trace found outside and looked at no closer: another call must find something there,
// too.
std::vector<guards::SourcePtr> sources_not_looked_at(const std::vector<guards::Guard>& guards,
                                                     const std::map<std::string, Sym>& opened) {
  std::set<const guards::Source*> seen;
  for (const guards::Guard& guard : guards) {
    if (std::holds_alternative<guards::IsAbsent>(guard.predicate)) continue;
    const guards::Source* one = guard.source.get();
    while (one != nullptr && seen.insert(one).second) one = one->parent.get();
  }
  std::vector<guards::SourcePtr> found;
  for (const auto& [key, value] : opened) {
    if (value->kind == SymKind::kObject && value->source && may_be_gone(*value->source) &&
        seen.insert(value->source.get()).second) {
      found.push_back(value->source);
    }
  }
  std::sort(found.begin(), found.end(),
            [](const auto& one, const auto& other) { return one->text() < other->text(); });
  return found;
}

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
    if (auto* item = std::get_if<ExternItemAttr>(&node.attr)) rewrite(item->strides);
    if (auto* size = std::get_if<SizeAttr>(&node.attr)) size->value = simplify(size->value);
    if (auto* region = std::get_if<RegionAttr>(&node.attr); region && region->trips)
      region->trips = simplify(*region->trips);
    if (auto* view = std::get_if<ViewAttr>(&node.attr)) {
      for (IndexMap::Axis& axis : view->map.axes) {
        axis.start = simplify(axis.start);
        axis.step = simplify(axis.step);
      }
    }
  }
}

namespace {

// The nodes that the results of the call are computed by.
std::vector<bool> nodes_behind_results(const Graph& graph) {
  std::vector<bool> behind(graph.size(), false);
  for (NodeId id : graph.outputs) behind[index_of(id)] = true;
  for (NodeId id : graph.mutated_inputs) behind[index_of(id)] = true;
  for (size_t i = graph.size(); i-- > 0;) {
    const Node& node = graph.node(NodeId{static_cast<uint32_t>(i)});
    if (!behind[i] && op_info(node.op).op_class != OpClass::kControl) continue;
    for (NodeId operand : node.operands) behind[index_of(operand)] = true;
  }
  return behind;
}

}  // namespace

TraceResult Tracer::finish(const std::vector<Sym>& results) {
  TraceResult done;
  RecipeBuilder builder(*this, &done.recipe);
  for (const Sym& result : results) done.results.push_back(builder.build(result));
  builder.build_effects(effects_);
  builder.complete(done.results);
  guard_distinct();
  for (const guards::SourcePtr& source : sources_not_looked_at(state_->guards, state_->opened)) {
    if (source->read(state_->call)) guard(source, guards::IsPresent{}, "something is found there");
  }
  for (const auto& storage : state_->storages) {
    if (storage && storage->stored_to) graph_.mutated_inputs.push_back(storage->current);
  }
  if (!state_->examples.empty()) {
    const std::vector<bool> behind = nodes_behind_results(graph_);
    for (NodeId id : state_->examples) {
      if (behind[index_of(id)])
        throw_break("transform_rule",
                    "a value of a single example leaves the function under numlift.vmap");
    }
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
  settle_regions(&graph_, state_->moved);
  for (RecipeNode& node : done.recipe) {
    for (SizeExpr& stride : node.strides) stride = simplify(stride);
  }
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
