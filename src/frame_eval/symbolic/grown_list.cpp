#include "symbolic/grown_list.h"

#include <algorithm>

#include "numlift/graph/scalar.h"
#include "numlift/numpy_shim/output.h"
#include "symbolic/array_iterators.h"
#include "symbolic/numpy_calls.h"
#include "symbolic/numpy_views.h"
#include "symbolic/pure.h"

namespace numlift::frame_eval {
namespace {

// Of different items that a list begins with.
constexpr size_t kMostStores = 64;
// Room in a list before it has grown.
constexpr int64_t kFirstRoom = 16;

std::vector<SizeExpr> item_dims(const StateType& element) {
  return element.kind == StateKind::kArray ? element.type.dims : std::vector<SizeExpr>{};
}

std::vector<SizeExpr> with_count(const SizeExpr& count, const StateType& element) {
  std::vector<SizeExpr> dims = item_dims(element);
  dims.insert(dims.begin(), count);
  return dims;
}

// A symbol of its own, which keeps the value that `size` has now.
SizeExpr snapshot(Tracer& tracer, const SizeExpr& size) {
  return kept_size(tracer, tracer.size_node(size), tracer.hint(size));
}

void set_symbol(Tracer& tracer, const SizeExpr& symbol, const SizeExpr& value) {
  tracer.assign({*symbol.as_symbol()}, {tracer.size_node(value)});
}

std::shared_ptr<ArrayValue> whole_memory(const GrownList& list) {
  auto array = std::make_shared<ArrayValue>();
  array->storage = list.storage;
  array->type = array_type(list.element.type.dtype, with_count(list.capacity, list.element));
  array->strides = strides_for(array->type, {});
  return array;
}

// Items from `first` on.
Sym items_from(Tracer& tracer, const GrownList& list, const SizeExpr& first,
               const SizeExpr& count) {
  return slice_axis(tracer, *whole_memory(list), 0, first, 1, count);
}

// The place of one item, of the item's dims.
Sym place_of(Tracer& tracer, const GrownList& list, const SizeExpr& index) {
  const auto whole = whole_memory(list);
  IndexMap map;
  map.axes.push_back({index, 0, -1});
  for (int axis = 1; axis < whole->type.rank(); ++axis) map.axes.push_back({0, 1, axis - 1});
  return view_of(tracer, *whole, std::move(map), item_dims(list.element),
                 {whole->strides.begin() + 1, whole->strides.end()});
}

// An item that is an array may be looked at by others, too: from here on nobody may store to it.
NodeId item_node(Tracer& tracer, const Sym& item, const StateType& element) {
  if (element.kind != StateKind::kArray) return number_node(tracer, item, element.type.dtype);
  auto& array = as<ArrayValue>(item);
  array.storage->is_item = true;
  return broadcast_node(tracer, tracer.read(array), element.type.dims, false);
}

void put(Tracer& tracer, const GrownList& list, const SizeExpr& index, const Sym& item) {
  const NodeId node = item_node(tracer, item, list.element);
  tracer.store(as<ArrayValue>(place_of(tracer, list, index)), node);
}

// The first items.
void put_all(Tracer& tracer, const GrownList& list, const std::vector<Sym>& items) {
  size_t stores = 0;
  for (size_t i = 0; i < items.size(); ++stores) {
    // [0] * n
    size_t end = i + 1;
    while (end < items.size() && items[end] == items[i]) ++end;
    if (stores == kMostStores) refuse_loop("a list that grows begins with very many items");
    const NodeId node = item_node(tracer, items[i], list.element);
    const Sym place = items_from(tracer, list, SizeExpr(static_cast<int64_t>(i)),
                                 SizeExpr(static_cast<int64_t>(end - i)));
    const std::vector<SizeExpr> dims = as<ArrayValue>(place).type.dims;
    tracer.store(as<ArrayValue>(place), broadcast_node(tracer, node, dims, false));
    i = end;
  }
}

void allocate(Tracer& tracer, GrownList& list) {
  list.storage = std::make_shared<Storage>();
  list.storage->current =
      tracer.append(Op::kEmpty, {}, NoAttr{},
                    array_type(list.element.type.dtype, with_count(list.capacity, list.element)));
  list.storage->stored_to = true;
}

void copy_items(Tracer& tracer, const GrownList& from, const GrownList& to, const SizeExpr& count) {
  const NodeId node = tracer.read(as<ArrayValue>(items_from(tracer, from, 0, count)));
  tracer.store(as<ArrayValue>(items_from(tracer, to, 0, count)), node);
}

// Twice the memory, when there is no place for another item.
void make_room(Tracer& tracer, GrownList& list, const SizeExpr& length) {
  const NodeId is_full =
      tracer.append(Op::kEqual, {tracer.size_node(length), tracer.size_node(list.capacity)},
                    NoAttr{}, py_scalar_type(DType::kBool));
  const NodeId begin = tracer.enter_region(Op::kIf, {is_full}, NoAttr{});
  const Sym items = items_from(tracer, list, 0, length);
  const Type type = as<ArrayValue>(items).type;
  const NodeId kept =
      tracer.append(Op::kCopy, {tracer.read(as<ArrayValue>(items))}, NoAttr{}, type);
  set_symbol(tracer, list.capacity, snapshot(tracer, list.capacity * 2));
  const Node memory = tracer.graph().node(list.storage->current);
  list.storage->current =
      tracer.append(Op::kResize, {list.storage->current}, NoAttr{}, memory.type, memory.order);
  tracer.store(as<ArrayValue>(items_from(tracer, list, 0, length)), kept);
  tracer.leave_region(begin);
}

Sym read_item(Tracer& tracer, const GrownList& list, const SizeExpr& index) {
  NodeId place = tracer.read(as<ArrayValue>(place_of(tracer, list, index)));
  // A value of its own, whatever becomes of the memory.
  if (list.element.kind == StateKind::kArray || list.growth == Growth::kFree)
    place = tracer.append(Op::kCopy, {place}, NoAttr{}, tracer.type_of(place));
  if (list.element.kind == StateKind::kArray) {
    // The value is right; the object that the list holds is another one.
    const Sym copy = tracer.new_array(place);
    as<ArrayValue>(copy).storage->may_alias = true;
    return copy;
  }
  const Sym value =
      tracer.new_scalar(tracer.append(Op::kCast, {place}, NoAttr{}, list.element.type));
  as<ScalarValue>(value).either = !list.known.empty();
  return value;
}

}  // namespace

std::optional<StateType> item_type(const Sym& item) {
  const auto type = state_type(item);
  if (!type || type->either) return std::nullopt;
  if (type->kind == StateKind::kInt)
    return StateType{StateKind::kScalar, py_scalar_type(DType::kInt64), false, {}, {}};
  if (type->kind == StateKind::kArray) {
    const auto& array = as<ArrayValue>(item);
    const bool is_own = array.chain.empty() && !array.storage->is_input &&
                        !array.storage->may_alias && array.writeable;
    if (!is_own || !type->order.empty()) return std::nullopt;
  }
  return type;
}

namespace {

// Throws Break where no list holds both.
void check_joined(Tracer& tracer, const StateType& a, const StateType& b) {
  if (!is_alike(a, b)) {
    if (a.kind == StateKind::kArray || !join(a, b))
      refuse_loop("a list grows by items of several types");
    return;
  }
  for (size_t axis = 0; axis < a.type.dims.size(); ++axis) {
    if (!is_one_size(tracer, a.type.dims[axis], b.type.dims[axis]))
      refuse_loop("a list grows by arrays of several sizes");
  }
}

}  // namespace

std::shared_ptr<GrownList> make_grown(Tracer& tracer, const Sym& list, const StateType& element,
                                      Growth growth, const std::optional<SizeExpr>& trips) {
  auto grown = std::make_shared<GrownList>();
  grown->element = element;
  grown->growth = growth;
  const auto* before = list->kind == SymKind::kGrownList ? &as<GrownList>(list) : nullptr;
  std::vector<Sym> items;
  if (before == nullptr) items = as<SequenceValue>(list).items;
  const SizeExpr length =
      before ? grown_length(tracer, *before) : SizeExpr(static_cast<int64_t>(items.size()));
  if (growth != Growth::kFree) {
    grown->length = length;
    grown->capacity = growth == Growth::kCounted ? length + *trips : length;
  } else {
    const int64_t hint = tracer.hint(length) + 2;
    grown->length = size_symbol(tracer, hint);
    grown->capacity = size_symbol(tracer, 2 * hint + kFirstRoom);
    set_symbol(tracer, grown->length, length);
    set_symbol(tracer, grown->capacity, length + kFirstRoom);
  }
  allocate(tracer, *grown);
  if (before != nullptr) {
    if (!(before->element == element)) refuse_loop("a list grows by items of several types");
    grown->known = before->known;
    copy_items(tracer, *before, *grown, length);
    return grown;
  }
  bool all_alike = element.kind != StateKind::kArray;
  for (const Sym& item : items) {
    const auto type = item_type(item);
    if (!type) refuse_loop("a list that grows holds a " + type_name(item));
    check_joined(tracer, element, *type);
    all_alike = all_alike && *type == element;
  }
  put_all(tracer, *grown, items);
  if (!all_alike) grown->known = std::move(items);
  return grown;
}

void grown_append(Tracer& tracer, GrownList& list, const Sym& item, const SizeExpr& length) {
  const auto type = item_type(item);
  if (!type) refuse_loop("a list grows by a " + type_name(item));
  if (list.element.kind == StateKind::kArray) {
    check_joined(tracer, list.element, *type);
  } else if (!(*type == list.element)) {
    refuse_loop("a list grows by items of several types");
  }
  if (list.growth == Growth::kCounted) {
    put(tracer, list, list.length, item);
    list.length = length;
    return;
  }
  const SizeExpr place = snapshot(tracer, list.length);
  make_room(tracer, list, place);
  put(tracer, list, place, item);
  set_symbol(tracer, list.length, place + 1);
}

SizeExpr grown_length(Tracer& tracer, const GrownList& list) {
  return list.growth == Growth::kFree ? snapshot(tracer, list.length) : list.length;
}

namespace {

SizeExpr index_in(Tracer& tracer, const GrownList& list, const Sym& key) {
  const SizeExpr length = grown_length(tracer, list);
  const SizeExpr given = size_argument(tracer, key, "an index into a list");
  const std::string reason = "an index lies inside its list";
  const bool is_negative = tracer.decide_less(given, 0, reason);
  const SizeExpr index = tracer.simplify(is_negative ? given + length : given);
  if ((is_negative && tracer.decide_less(index, 0, reason)) ||
      (!is_negative && !tracer.decide_less(index, length, reason)))
    throw_break("would_raise", "list index out of range");
  return index;
}

}  // namespace

Sym grown_item(Tracer& tracer, const GrownList& list, const Sym& key) {
  return read_item(tracer, list, index_in(tracer, list, key));
}

void grown_set(Tracer& tracer, const GrownList& list, const Sym& key, const Sym& item) {
  const auto type = item_type(item);
  if (!type || list.element.kind == StateKind::kArray || !(*type == list.element) ||
      !list.known.empty())
    refuse_loop("an item of a list becomes one of another type");
  put(tracer, list, index_in(tracer, list, key), item);
}

Sym grown_pop(Tracer& tracer, GrownList& list) {
  if (list.growth == Growth::kCounted || !list.known.empty())
    refuse_loop("a list whose first items are of another type becomes shorter");
  const SizeExpr length = grown_length(tracer, list);
  if (!tracer.decide_less(0, length, "a list has an item to pop"))
    throw_break("would_raise", "pop from empty list");
  Sym item = read_item(tracer, list, length - 1);
  set_symbol(tracer, list.length, length - 1);
  return item;
}

Sym grown_array(Tracer& tracer, const GrownList& list) {
  const SizeExpr length = grown_length(tracer, list);
  // An array of no items is one of float64 and of one axis.
  const bool is_default =
      list.element.kind != StateKind::kArray && list.element.type.dtype == DType::kFloat64;
  if (!is_default && !tracer.decide_less(0, length, "an array is made of a list that has items"))
    throw_break("unsupported_value", "an array of a list without items");
  const Sym items = items_from(tracer, list, 0, length);
  const Type type = as<ArrayValue>(items).type;
  return tracer.new_array(
      tracer.append(Op::kCopy, {tracer.read(as<ArrayValue>(items))}, NoAttr{}, type));
}

Sym grown_rest(Tracer& tracer, const GrownList& list) {
  const SizeExpr first(static_cast<int64_t>(list.known.size()));
  return items_from(tracer, list, first, list.length - first);
}

namespace {

struct GrownListIterator : IteratorValue {
  explicit GrownListIterator(Sym list) : list(std::move(list)) {}
  Sym next(Tracer&) override {
    throw_break("data_dependent", "iteration over a list whose length only the program knows");
  }
  std::optional<SizeExpr> items_left(Tracer& tracer) override {
    return grown_length(tracer, as<GrownList>(list));
  }
  Sym item_ahead(Tracer& tracer, const SizeExpr& index) override {
    return grown_item(tracer, as<GrownList>(list), tracer.new_size(index));
  }
  std::optional<CallShape> shape() const override { return iterator_shape(list, 0); }
  Sym list;
};

}  // namespace

std::shared_ptr<IteratorValue> make_grown_iterator(const Sym& list) {
  return std::make_shared<GrownListIterator>(list);
}

}  // namespace numlift::frame_eval
