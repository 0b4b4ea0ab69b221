// Tracer: nodes, arrays, outside objects and guards. Sizes: tracer_sizes.cpp; effects:
// tracer_effects.cpp; the end of a trace: tracer_finish.cpp; externs and present values:
// tracer_extern.cpp.
#include "symbolic/tracer.h"

#include <algorithm>

#include "numlift/frame_eval/marks.h"
#include "numlift/numpy_shim/dtypes.h"
#include "numlift/numpy_shim/numpy.h"
#include "numlift/py/py_error.h"
#include "numlift/support/options.h"
#include "symbolic/builtins.h"
#include "symbolic/named_tuples.h"
#include "symbolic/tracer_state.h"

namespace numlift::frame_eval {

using guards::Source;
using guards::SourcePtr;

std::vector<SizeExpr> strides_for(const Type& type, const AxisOrder& order) {
  const auto rank = type.dims.size();
  std::vector<SizeExpr> strides(rank);
  SizeExpr step = item_size(type.dtype);
  for (size_t k = rank; k-- > 0;) {
    const size_t axis = order.empty() ? k : order[k];
    strides[axis] = step;
    step = step * type.dims[axis];
  }
  return strides;
}

void throw_break(std::string category, std::string reason) {
  throw Break{std::move(category), std::move(reason)};
}

void refuse_loop(std::string reason) { throw_break(kLoopRefused, std::move(reason)); }

Tracer::Tracer(BorrowedRef function, const guards::CallInputs& inputs)
    : state_(std::make_unique<State>()) {
  state_->function = Ref::create(function);
  state_->call = inputs;
}

// Changed objects may hold each other in a circle, which would keep the real ones alive.
Tracer::~Tracer() {
  for (const auto& [object, value] : state_->identities) {
    if (value->kind == SymKind::kObject) static_cast<ObjectValue&>(*value).state.reset();
  }
}

// ---------------------------------------------------------------- nodes

// An operation on arrays or NumPy's scalars; inputs are none yet.
bool Tracer::is_numpys(Op op, const std::vector<NodeId>& operands, const Type& type) const {
  if (op == Op::kPlaceholder || op == Op::kSizeValue) return false;
  return type.value_kind != ValueKind::kPyScalar ||
         std::any_of(operands.begin(), operands.end(),
                     [&](NodeId id) { return type_of(id).value_kind != ValueKind::kPyScalar; });
}

NodeId Tracer::append(Op op, std::vector<NodeId> operands, Attr attr, Type type, AxisOrder order) {
  if (graph_.size() >= static_cast<size_t>(options().max_graph_nodes)) {
    throw_break("too_many_operations", fmt::format("the graph has {} operations", graph_.size()));
  }
  if (!options().trace_numpy && is_numpys(op, operands, type)) {
    throw_break("disabled", "numlift.config.trace_numpy is False: NumPy is left to NumPy");
  }
  Node node;
  node.op = op;
  node.operands = std::move(operands);
  node.attr = std::move(attr);
  node.type = std::move(type);
  node.order = std::move(order);
  // (Minus the least integer overflows; of a float nothing can go wrong.)
  const bool may_wrap = wraps_silently_on_arrays(op) && is_integer(node.type.dtype);
  if (op_info(op).fp != FpRule::kNone || may_wrap) node.fp_checks = fp_checks;
  node.location = state_->location;
  return graph_.append(std::move(node));
}

NodeId Tracer::read(const ArrayValue& array) {
  NodeId node = array.storage->current;
  for (const ViewStep& step : array.chain) node = append(step.op, {node}, step.attr, step.type);
  return node;
}

namespace {

bool is_identity(const AxisOrder& order) {
  for (size_t k = 0; k < order.size(); ++k) {
    if (order[k] != k) return false;
  }
  return true;
}

}  // namespace

Sym Tracer::new_array(NodeId id, AxisOrder order) {
  if (is_identity(order)) order.clear();
  Node& node = graph_.mutable_node(id);
  NUMLIFT_CHECK(node.type.value_kind == ValueKind::kArray, "new_array of {}", type_text(node.type));
  node.order = order;
  auto array = std::make_shared<ArrayValue>();
  array->storage = std::make_shared<Storage>();
  array->storage->current = id;
  array->type = node.type;
  array->strides = strides_for(node.type, order);
  if (const auto* item = std::get_if<ExternItemAttr>(&node.attr); item && !item->strides.empty())
    array->strides = item->strides;
  return array;
}

Sym Tracer::new_scalar(NodeId id) {
  const Type& type = type_of(id);
  NUMLIFT_CHECK(type.value_kind != ValueKind::kArray, "new_scalar of an array");
  return std::make_shared<ScalarValue>(id, type);
}

Sym Tracer::new_size(SizeExpr expr) {
  expr = simplify(expr);
  if (auto value = expr.constant()) return constant(checked(PyLong_FromLongLong(*value)));
  return std::make_shared<SizeValue>(std::move(expr));
}

Sym Tracer::new_view(const ArrayValue& base, ViewStep step, std::vector<SizeExpr> strides) {
  auto view = std::make_shared<ArrayValue>();
  view->storage = base.storage;
  view->chain = base.chain;
  view->type = step.type;
  view->strides = std::move(strides);
  view->writeable = base.writeable;
  view->read_only = base.read_only;
  view->chain.push_back(std::move(step));
  return view;
}

void Tracer::store(ArrayValue& target, NodeId value) {
  if (!target.writeable) throw_break("would_raise", "assignment destination is read-only");
  Storage& storage = *target.storage;
  if (storage.may_alias || storage.is_item)
    refuse_loop("an array is stored to that a loop or branch may share with others");
  const Type buffer_type = type_of(storage.current);
  const AxisOrder order = graph_.node(storage.current).order;
  const NodeId place = read(target);
  storage.current = append(Op::kStore, {place, value}, NoAttr{}, buffer_type, order);
  storage.stored_to = true;
  if (storage.is_input) {
    state_->inputs[storage.input].stored_to = true;
    auto& guard = state_->guards[state_->array_guards[storage.input]];
    std::get<guards::IsArray>(guard.predicate).array_class.writeable = true;
  }
}

// ---------------------------------------------------------------- outside objects

namespace {

// Tells sources apart, where their text may not: two modules have a global of one name, two classes
// print alike. Strings count by content, all other objects by identity (they are alive: sources
// hold them).
std::string source_key(const Source& source) {
  auto object_key = [](const Ref& object) -> std::string {
    if (!object) return "";
    if (PyUnicode_CheckExact(object.get())) {
      if (const char* text = PyUnicode_AsUTF8(object.get())) return std::string("'") + text;
      PyErr_Clear();
    }
    return fmt::format("{}", static_cast<const void*>(object.get()));
  };
  return fmt::format("{}({}|{}|{}|{})", static_cast<int>(source.kind),
                     source.parent ? source_key(*source.parent) : "", source.index,
                     object_key(source.name), object_key(source.object));
}

}  // namespace

Sym Tracer::constant(Ref object) {
  if (has_made_classes() && PyType_Check(object.get())) {
    if (Sym made = made_class(object)) return made;
  }
  return std::make_shared<ObjectValue>(std::move(object));
}

void Tracer::add_made_class(const Sym& made) { state_->made_classes.push_back(made); }

bool Tracer::has_made_classes() const { return !state_->made_classes.empty(); }

Sym Tracer::made_class(BorrowedRef stand_in) const {
  for (const Sym& made : state_->made_classes) {
    if (static_cast<const ObjectValue&>(*made).object.get() == stand_in.get()) return made;
  }
  return nullptr;
}

namespace {

// True of one object for good: what it is. Not so what it holds: a function gets other code, a dict
// other keys.
bool never_changes(const guards::Predicate& predicate) {
  return !std::holds_alternative<guards::FunctionIs>(predicate) &&
         !std::holds_alternative<guards::HasKeys>(predicate);
}

}  // namespace

void Tracer::guard(SourcePtr source, guards::Predicate predicate, std::string reason) {
  if (source == nullptr) return;
  if (source->kind == Source::Kind::kConstant && never_changes(predicate)) return;
  std::string key = source_key(*source) + ' ' + guards::predicate_text(predicate);
  if (!state_->guard_keys.insert(std::move(key)).second) return;
  state_->guards.push_back(
      {std::move(source), std::move(predicate), std::move(reason), location_text()});
}

SymbolId Tracer::new_symbol(SymbolKind kind, uint32_t input, uint32_t axis, int64_t hint) {
  const auto id = static_cast<SymbolId>(graph_.symbols.size());
  graph_.symbols.push_back({kind, input, axis, hint});
  state_->merged.push_back(SizeExpr::symbol(id));
  return id;
}

Sym Tracer::open_array(BorrowedRef object, SourcePtr source) {
  guards::ArrayClass array_class;
  const std::string reason = "it is used as an array at " + location_text();
  if (!guards::classify_array(object, &array_class)) {
    guard(source, guards::IsOpaqueArray{}, reason);
    auto opaque = std::make_shared<ObjectValue>(Ref::create(object));
    opaque->source = source;
    return opaque;
  }
  const auto input = static_cast<uint32_t>(state_->inputs.size());
  PyArrayObject* present = numpy_shim::as_array(object);
  auto array = std::make_shared<ArrayValue>();
  array->source = source;
  array->writeable = array_class.writeable;
  array->storage = std::make_shared<Storage>();
  array->storage->is_input = true;
  array->storage->input = input;

  const auto rank = static_cast<size_t>(array_class.rank);
  std::vector<SizeExpr> dims(rank), strides(rank);
  for (size_t axis = 0; axis < rank; ++axis) {
    if ((array_class.size_one >> axis) & 1) {
      dims[axis] = 1;
    } else {
      dims[axis] = SizeExpr::symbol(new_symbol(SymbolKind::kDim, input, static_cast<uint32_t>(axis),
                                               PyArray_DIM(present, static_cast<int>(axis))));
    }
  }
  // Strides follow from the sizes for contiguous arrays; else they are symbols, all but the
  // innermost one when it is the item size.
  using Layout = guards::ArrayClass::Layout;
  const int64_t item = item_size(array_class.dtype);
  auto stride_symbol = [&](size_t axis) {
    return SizeExpr::symbol(new_symbol(SymbolKind::kStride, input, static_cast<uint32_t>(axis),
                                       PyArray_STRIDE(present, static_cast<int>(axis))));
  };
  SizeExpr step = item;
  for (size_t k = 0; k < rank; ++k) {
    const size_t axis = array_class.layout == Layout::kF ? k : rank - 1 - k;
    const bool strided = array_class.layout == Layout::kStrided;
    const bool unit = strided && array_class.unit_inner && !array_class.stride_order.empty() &&
                      array_class.stride_order.back() == axis;
    if (unit) {
      strides[axis] = item;
    } else if (strided) {
      strides[axis] = stride_symbol(axis);
    } else {
      strides[axis] = step;
    }
    step = step * dims[axis];
  }

  array->type = array_type(array_class.dtype, dims);
  array->strides = strides;
  array->storage->current =
      append(Op::kPlaceholder, {}, PlaceholderAttr{input, strides}, array->type);
  state_->inputs.push_back({source, InputSpec::Kind::kArray, array_class.dtype, false});
  state_->input_objects.push_back(Ref::create(object));
  state_->storages.push_back(array->storage);
  array_class.writeable = false;  // asked for only once the program stores to it
  state_->array_guards.push_back(state_->guards.size());
  state_->guards.push_back({source, guards::IsArray{array_class}, reason, location_text()});
  const AxisMarks marks = axis_marks(object);
  for (size_t axis = 0; axis < rank; ++axis) {
    const auto symbol = dims[axis].as_symbol();
    if (!symbol) continue;
    if ((marks.fixed >> axis) & 1) specialize(dims[axis], "numlift.mark_static fixes it");
    if ((marks.dynamic >> axis) & 1) {
      state_->dynamic.emplace_back(*symbol, fmt::format("axis {} of {}", axis, source->text()));
    }
  }
  return array;
}

Sym Tracer::open_scalar(BorrowedRef object, SourcePtr source, InputSpec::Kind kind, DType dtype) {
  const auto input = static_cast<uint32_t>(state_->inputs.size());
  const bool numpy = kind == InputSpec::Kind::kNumpyScalar;
  const Type type = numpy ? numpy_scalar_type(dtype) : py_scalar_type(dtype);
  guard(source, guards::HasType{Ref::create(reinterpret_cast<PyObject*>(object.type()))},
        "it is a run-time number, used at " + location_text());
  const NodeId node = append(Op::kPlaceholder, {}, PlaceholderAttr{input, {}}, type);
  state_->inputs.push_back({source, kind, dtype, false});
  state_->input_objects.push_back(Ref::create(object));
  state_->storages.push_back(nullptr);
  state_->array_guards.push_back(0);
  auto scalar = std::make_shared<ScalarValue>(node, type);
  scalar->source = source;
  return scalar;
}

Sym Tracer::open_int(BorrowedRef object, SourcePtr source) {
  int overflow = 0;
  const long long value = PyLong_AsLongLongAndOverflow(object, &overflow);
  if (overflow != 0) {
    guard(source, guards::EqualsConstant{Ref::create(object)},
          "an int beyond 64 bits is a constant");
    auto big = std::make_shared<ObjectValue>(Ref::create(object));
    big->source = source;
    return big;
  }
  const auto input = static_cast<uint32_t>(state_->inputs.size());
  guard(source, guards::IsInt64{}, "it is a run-time int, used at " + location_text());
  state_->inputs.push_back({source, InputSpec::Kind::kPyInt, DType::kInt64, false});
  state_->input_objects.push_back(Ref::create(object));
  state_->storages.push_back(nullptr);
  state_->array_guards.push_back(0);
  auto size =
      std::make_shared<SizeValue>(SizeExpr::symbol(new_symbol(SymbolKind::kInt, input, 0, value)));
  size->source = source;
  return size;
}

namespace {

// Lists, dicts, sets, deques, functions and instances of Python classes: the traced code may change
// them.
bool can_change(PyObject* object) {
  return PyList_CheckExact(object) || PyDict_CheckExact(object) || PySet_CheckExact(object) ||
         PyFunction_Check(object) ||
         reinterpret_cast<PyObject*>(Py_TYPE(object)) ==
             known_object("collections", "deque").get() ||
         (PyType_HasFeature(Py_TYPE(object), Py_TPFLAGS_HEAPTYPE) && !PyType_Check(object) &&
          !PyArray_Check(object));
}

}  // namespace

Sym Tracer::outside(Ref object, SourcePtr source) {
  const bool guarded = source != nullptr && source->kind != Source::Kind::kConstant;
  std::string key;
  if (guarded) {
    key = source_key(*source);
    if (auto found = state_->opened.find(key); found != state_->opened.end()) return found->second;
    if (auto found = state_->identities.find(object.get()); found != state_->identities.end()) {
      guard(source, guards::IsSame{found->second->source}, "two names stand for one object");
      state_->opened.emplace(std::move(key), found->second);
      return found->second;
    }
  }
  auto open = [&]() -> Sym {
    PyObject* raw = object.get();
    if (PyBool_Check(raw) || raw == Py_None || raw == Py_Ellipsis || PyUnicode_CheckExact(raw) ||
        PyBytes_CheckExact(raw)) {
      guard(source, guards::EqualsConstant{object}, "its value is used at " + location_text());
    } else if (numpy_shim::is_exact_ndarray(raw)) {
      if (guarded) return open_array(raw, source);
      throw_break("unsupported_value", "an array that is a constant of the code");
    } else if (!guarded) {
      // A constant of the code: its value never changes.
    } else if (PyLong_CheckExact(raw)) {
      return open_int(raw, source);
    } else if (PyFloat_CheckExact(raw)) {
      return open_scalar(raw, source, InputSpec::Kind::kPyFloat, DType::kFloat64);
    } else if (PyComplex_CheckExact(raw)) {
      return open_scalar(raw, source, InputSpec::Kind::kPyComplex, DType::kComplex128);
    } else if (auto dtype = numpy_shim::dtype_of_scalar_class(object.type())) {
      return open_scalar(raw, source, InputSpec::Kind::kNumpyScalar, *dtype);
    } else if (PyTuple_CheckExact(raw) || is_named_tuple(raw)) {
      const Py_ssize_t length = PyTuple_GET_SIZE(raw);
      Ref type = Ref::create(reinterpret_cast<PyObject*>(Py_TYPE(raw)));
      guard(source, guards::HasType{type}, "it is a tuple");
      guard(source, guards::HasLength{length}, "its items are used at " + location_text());
      auto tuple = std::make_shared<SequenceValue>(SymKind::kTuple);
      tuple->object = object;
      if (!PyTuple_CheckExact(raw)) tuple->named_tuple_class = std::move(type);
      for (Py_ssize_t i = 0; i < length; ++i) {
        tuple->items.push_back(
            outside(Ref::create(PyTuple_GET_ITEM(raw, i)), Source::item(source, i)));
      }
      return tuple;
    }
    return std::make_shared<ObjectValue>(object);
  };
  PyObject* const raw = object.get();
  Sym value = open();
  value->source = source;
  if (guarded) {
    state_->opened.emplace(std::move(key), value);
    if (value->kind == SymKind::kObject && can_change(raw)) add_identity(raw, value);
  }
  return value;
}

// ---------------------------------------------------------------- constants

namespace {

bool is_value_like(PyObject* object) {
  return object == Py_None || object == Py_Ellipsis || PyBool_Check(object) ||
         PyLong_CheckExact(object) || PyFloat_CheckExact(object) || PyUnicode_CheckExact(object) ||
         PyBytes_CheckExact(object) || PyComplex_CheckExact(object);
}

}  // namespace

std::optional<Ref> Tracer::as_constant(const Sym& value, const std::string& reason) {
  if (value->kind == SymKind::kSize) {
    if (auto number = simplify(static_cast<SizeValue&>(*value).expr).constant()) {
      return checked(PyLong_FromLongLong(*number));
    }
    return std::nullopt;
  }
  if (value->kind == SymKind::kTuple) {
    const auto& tuple = static_cast<SequenceValue&>(*value);
    if (tuple.named_tuple_class) return std::nullopt;
    std::vector<Ref> items;
    for (const Sym& item : tuple.items) {
      auto constant = as_constant(item, reason);
      if (!constant) return std::nullopt;
      items.push_back(std::move(*constant));
    }
    if (tuple.object) return tuple.object;
    Ref result = checked(PyTuple_New(static_cast<Py_ssize_t>(items.size())));
    for (size_t i = 0; i < items.size(); ++i) {
      PyTuple_SET_ITEM(result.get(), static_cast<Py_ssize_t>(i), items[i].release());
    }
    return result;
  }
  if (value->kind != SymKind::kObject || static_cast<ObjectValue&>(*value).differs())
    return std::nullopt;
  const auto& object = static_cast<ObjectValue&>(*value).object;
  if (numpy_shim::is_exact_ndarray(object)) return std::nullopt;
  if (is_value_like(object.get())) {
    guard(value->source, guards::EqualsConstant{object}, reason);
  } else {
    guard(value->source, guards::IsObject{object}, reason);
  }
  return object;
}

std::optional<Ref> Tracer::as_deep_constant(const Sym& value, const std::string& reason) {
  switch (value->kind) {
    case SymKind::kObject:
      return as_constant(value, reason);
    case SymKind::kSize:
      return checked(PyLong_FromLongLong(specialize(static_cast<SizeValue&>(*value).expr, reason)));
    case SymKind::kScalar: {
      if (static_cast<ScalarValue&>(*value).type.value_kind != ValueKind::kPyScalar)
        return std::nullopt;
      return as_constant(specialize_value(value, reason), reason);
    }
    case SymKind::kTuple:
    case SymKind::kList: {
      const auto& sequence = static_cast<SequenceValue&>(*value);
      if (sequence.named_tuple_class) return std::nullopt;
      const auto size = static_cast<Py_ssize_t>(sequence.items.size());
      Ref result = checked(value->kind == SymKind::kTuple ? PyTuple_New(size) : PyList_New(size));
      for (Py_ssize_t i = 0; i < size; ++i) {
        auto item = as_deep_constant(sequence.items[static_cast<size_t>(i)], reason);
        if (!item) return std::nullopt;
        if (value->kind == SymKind::kTuple) {
          PyTuple_SET_ITEM(result.get(), i, item->release());
        } else {
          PyList_SET_ITEM(result.get(), i, item->release());
        }
      }
      return result;
    }
    case SymKind::kSlice: {
      const auto& slice = static_cast<SliceValue&>(*value);
      auto start = as_deep_constant(slice.start, reason);
      auto stop = as_deep_constant(slice.stop, reason);
      auto step = as_deep_constant(slice.step, reason);
      if (!start || !stop || !step) return std::nullopt;
      return checked(PySlice_New(start->get(), stop->get(), step->get()));
    }
    case SymKind::kDict: {
      Ref result = checked(PyDict_New());
      for (const auto& [key, item] : static_cast<DictValue&>(*value).items) {
        auto key_object = as_constant(key, reason);
        auto item_object = as_deep_constant(item, reason);
        if (!key_object || !item_object) return std::nullopt;
        check_status(PyDict_SetItem(result.get(), key_object->get(), item_object->get()));
      }
      return result;
    }
    case SymKind::kNull:
    case SymKind::kArray:
    case SymKind::kSet:
    case SymKind::kFunction:
    case SymKind::kMethod:
    case SymKind::kCell:
    case SymKind::kGrownList:
    case SymKind::kIterator:
    case SymKind::kException:
      return std::nullopt;
  }
  NUMLIFT_UNREACHABLE();
}

namespace {

// A branch says so in its reason.
[[noreturn]] void throw_needed(const std::string& reason) {
  throw_break(reason.starts_with("generic_jump") ? "generic_jump" : "data_dependent", reason);
}

}  // namespace

Sym Tracer::specialize_value(const Sym& value, const std::string& reason) {
  if (value->kind == SymKind::kSize) {
    return constant(
        checked(PyLong_FromLongLong(specialize(static_cast<SizeValue&>(*value).expr, reason))));
  }
  if (value->kind != SymKind::kScalar) return value;
  // Every run-time number that it is computed from is guarded to be what it is now.
  std::vector<NodeId> pending{static_cast<ScalarValue&>(*value).node};
  std::set<NodeId> seen;
  while (!pending.empty()) {
    const NodeId id = pending.back();
    pending.pop_back();
    if (!seen.insert(id).second) continue;
    const Node& node = graph_.node(id);
    if (node.type.value_kind == ValueKind::kArray ||
        op_info(node.op).op_class == OpClass::kExtern ||
        op_info(node.op).op_class == OpClass::kGather ||
        op_info(node.op).op_class == OpClass::kGufunc ||
        op_info(node.op).op_class == OpClass::kReduction) {
      throw_needed(reason);
    }
    if (node.op == Op::kPlaceholder) {
      const auto& spec = state_->inputs[attr_of<PlaceholderAttr>(node).input];
      const Ref& object = state_->input_objects[attr_of<PlaceholderAttr>(node).input];
      if (spec.kind == InputSpec::Kind::kNumpyScalar) {
        throw_needed(reason + ": the value of a NumPy scalar");
      }
      guard(spec.source, guards::EqualsConstant{object}, reason);
    } else if (node.op == Op::kSizeValue) {
      specialize(attr_of<SizeAttr>(node).value, reason);
    } else if (node.op == Op::kEmpty) {
      throw_needed(reason);  // the state of a loop
    }
    pending.insert(pending.end(), node.operands.begin(), node.operands.end());
  }
  return constant(present_value(value));
}

// ---------------------------------------------------------------- locations

void Tracer::set_location(const std::string& file, const std::string& function, int line) {
  const SourceLocation& now = graph_.locations[state_->location];
  if (now.line == line && now.function == function && now.file == file) return;
  for (size_t i = graph_.locations.size(); i-- > 1;) {
    const SourceLocation& known = graph_.locations[i];
    if (known.line == line && known.function == function && known.file == file) {
      state_->location = static_cast<uint32_t>(i);
      return;
    }
    if (graph_.locations.size() - i > 16) break;  // only what is near: the table may repeat a line
  }
  state_->location = static_cast<uint32_t>(graph_.locations.size());
  graph_.locations.push_back({file, function, line});
}

std::string Tracer::location_text() const {
  const SourceLocation& now = graph_.locations[state_->location];
  return fmt::format("{}:{}", now.file, now.line);
}

}  // namespace numlift::frame_eval
