#include "symbolic/iterators.h"

#include <string_view>

#include "numlift/numpy_shim/numpy.h"
#include "numlift/py/py_error.h"
#include "symbolic/array_iterators.h"
#include "symbolic/builtins.h"
#include "symbolic/container_classes.h"
#include "symbolic/containers.h"
#include "symbolic/enums.h"
#include "symbolic/exceptions.h"
#include "symbolic/grown_list.h"
#include "symbolic/numpy_calls.h"
#include "symbolic/numpy_views.h"
#include "symbolic/operators.h"
#include "symbolic/instance_dict.h"
#include "symbolic/library_objects.h"
#include "symbolic/polyfills.h"
#include "symbolic/special_methods.h"
#include "symbolic/user_iterators.h"
#include "symbolic/pure.h"

namespace numlift::frame_eval {

namespace {

// The items of `origin`, which does not change; `maker` is the builtin that iterates it so.
struct ListIterator : IteratorValue {
  ListIterator(std::vector<Sym> items, Sym origin, const char* maker = "iter")
      : items(std::move(items)), origin(std::move(origin)), maker(maker) {}
  Sym next(Tracer&) override { return position < items.size() ? items[position++] : nullptr; }
  std::optional<CallShape> shape() const override {
    return iterator_shape(origin, position, maker);
  }
  std::vector<Sym> items;
  Sym origin;
  const char* maker;
  size_t position = 0;
};

// The order in which a container is gone through, as the builtin that does it is called.
enum class Order : uint8_t { kForward, kBackward };

const char* maker_of(Order order) { return order == Order::kForward ? "iter" : "reversed"; }

// A list may change while it is iterated: items are looked up one by one.
struct LiveListIterator : IteratorValue {
  LiveListIterator(Interpreter& interpreter, Sym the_list, Order order)
      : interpreter(interpreter), list(std::move(the_list)), order(order) {
    if (list->kind == SymKind::kObject) outside = sequence_items(interpreter, list);
    if (order == Order::kBackward) position = static_cast<int64_t>(items_now().size()) - 1;
  }
  Sym next(Tracer&) override {
    if (!list) return nullptr;
    const auto& items = items_now();
    if (position >= 0 && position < static_cast<int64_t>(items.size())) {
      const auto place = static_cast<size_t>(position);
      position += order == Order::kForward ? 1 : -1;
      return items[place];
    }
    list = nullptr;  // exhausted for good
    return nullptr;
  }
  std::optional<CallShape> shape() const override {
    if (!list) return iterator_shape(make_list({}), 0, maker_of(order));
    // The iterator is made before the list gets what the trace has put into it.
    if (is_container_instance(list)) return std::nullopt;
    if (list->kind == SymKind::kObject) {
      const int64_t size = PyList_GET_SIZE(object_of(list).get());
      if (position > (order == Order::kForward ? size : size - 1)) return std::nullopt;
    }
    return placed_shape(list, position, maker_of(order));
  }
  const std::vector<Sym>& items_now() const {
    const bool is_as_outside = list->kind == SymKind::kObject && !as<ObjectValue>(list).differs();
    return is_as_outside ? outside : as<SequenceValue>(open_for_change(interpreter, list)).items;
  }
  Interpreter& interpreter;
  Sym list;
  Order order;
  std::vector<Sym> outside;  // what a list from outside holds as long as it is not changed
  int64_t position = 0;
};

// A dict or a view of it. CPython goes through the dict's table, in which an item that was removed
// leaves a gap until the table is made anew. So when the dict is as long as at the start but
// something was removed from it, only the real table, with all its history, tells what comes next.
struct LiveDictIterator : IteratorValue {
  LiveDictIterator(Interpreter& interpreter, Sym the_dict, DictView::Part part, Sym the_origin,
                   Order order)
      : IteratorValue(the_dict->kind == SymKind::kDict ? the_dict->born : trace_clock()),
        interpreter(interpreter),
        dict(std::move(the_dict)),
        origin(std::move(the_origin)),
        part(part),
        order(order) {
    if (dict->kind == SymKind::kObject) outside = dict_items(interpreter, dict);
    size = items_now().size();
    removals = dict_removals(dict);
  }
  Sym next(Tracer&) override {
    if (!dict) return nullptr;
    const auto& items = items_now();
    if (has_failed || items.size() != size) {
      has_failed = true;
      throw_error(PyExc_RuntimeError, "dictionary changed size during iteration");
    }
    if (dict_removals(dict) != removals) {
      throw Break{"would_raise", "keys of a dict come and go while it is iterated", born};
    }
    if (position < size) {
      const auto& [key, value] = items[order == Order::kForward ? position : size - 1 - position];
      ++position;
      return DictView::part_of(key, value, part);
    }
    dict = nullptr;  // exhausted for good
    return nullptr;
  }
  std::optional<CallShape> shape() const override {
    if (!dict) {
      const auto empty = std::make_shared<DictValue>();
      return iterator_shape(std::make_shared<DictView>(empty, part), 0, maker_of(order));
    }
    bool is_as_before =
        !has_failed && items_now().size() == size && dict_removals(dict) == removals;
    // The iterator is made before the dict gets what the trace has put into it.
    if (is_container_instance(dict)) return std::nullopt;
    if (dict->kind == SymKind::kObject) {
      const auto real_size = static_cast<size_t>(PyDict_GET_SIZE(object_of(dict).get()));
      is_as_before &= removals == 0 && size == real_size;
    }
    if (!is_as_before) return std::nullopt;
    return iterator_shape(origin, position, maker_of(order));
  }
  const std::vector<std::pair<Sym, Sym>>& items_now() const {
    const bool is_as_outside = dict->kind == SymKind::kObject && !as<ObjectValue>(dict).differs();
    return is_as_outside ? outside : as<DictValue>(open_for_change(interpreter, dict)).items;
  }
  Interpreter& interpreter;
  Sym dict, origin;
  DictView::Part part;
  Order order;
  std::vector<std::pair<Sym, Sym>> outside;  // of a dict from outside that is not changed
  size_t size = 0, position = 0;
  uint64_t removals = 0;
  bool has_failed = false;  // for good
};

// range(*bounds), handed to CPython.
struct RangeObject : IteratorValue {
  explicit RangeObject(std::vector<Sym> bounds) : bounds(std::move(bounds)) {}
  Sym next(Tracer&) override { NUMLIFT_UNREACHABLE(); }
  std::optional<CallShape> shape() const override {
    return CallShape{Ref::create(reinterpret_cast<PyObject*>(&PyRange_Type)), bounds, {}, 0};
  }
  std::vector<Sym> bounds;
};

// iter(range(*bounds)) of bounds that may be known only when the program runs.
struct RangeValue : IteratorValue {
  RangeValue(std::vector<Sym> bounds, SizeExpr start, SizeExpr step, SizeExpr count)
      : bounds(std::move(bounds)),
        start(std::move(start)),
        step(std::move(step)),
        count(std::move(count)) {}
  Sym next(Tracer& tracer) override {
    static const std::string reason = "the iterations of a loop";
    if (position >= tracer.specialize(count, reason)) return nullptr;
    return tracer.new_size(SizeExpr(tracer.specialize(start, reason)) +
                           SizeExpr(tracer.specialize(step, reason)) * SizeExpr(position++));
  }
  std::optional<SizeExpr> items_left(Tracer&) override { return count - SizeExpr(position); }
  Sym item_ahead(Tracer& tracer, const SizeExpr& index) override {
    return tracer.new_size(start + step * (index + SizeExpr(position)));
  }
  std::optional<CallShape> shape() const override {
    const auto range = std::make_shared<RangeObject>(bounds);
    if (order == Order::kForward) return placed_shape(range, position);
    return iterator_shape(range, static_cast<size_t>(position), maker_of(order));
  }
  // reversed() of the range.
  std::shared_ptr<RangeValue> reversed() const {
    auto made = std::make_shared<RangeValue>(bounds, start + step * (count - 1), -step, count);
    made->order = Order::kBackward;
    return made;
  }
  std::vector<Sym> bounds;
  SizeExpr start, step, count;
  int64_t position = 0;
  Order order = Order::kForward;
};

std::shared_ptr<IteratorValue> make_dict_iterator(Interpreter& interpreter, const Sym& dict,
                                                  Order order = Order::kForward) {
  return std::make_shared<LiveDictIterator>(interpreter, dict, DictView::Part::kKeys, dict, order);
}

// range, str, bytes: real objects without user code.
struct PureIterator : IteratorValue {
  PureIterator(Ref iterator, Sym origin)
      : iterator(std::move(iterator)), origin(std::move(origin)) {}
  Sym next(Tracer& tracer) override {
    PyObject* item = PyIter_Next(iterator.get());
    if (item == nullptr && PyErr_Occurred()) throw PyError();
    if (item == nullptr) return nullptr;
    ++position;
    return tracer.constant(Ref::steal(item));
  }
  std::optional<SizeExpr> items_left(Tracer&) override {
    const auto bounds = range_bounds();
    if (!bounds) return std::nullopt;
    return SizeExpr(bounds->count - static_cast<int64_t>(position));
  }
  Sym item_ahead(Tracer& tracer, const SizeExpr& index) override {
    const auto bounds = *range_bounds();
    return tracer.new_size(SizeExpr(bounds.start) +
                           SizeExpr(bounds.step) *
                               (index + SizeExpr(static_cast<int64_t>(position))));
  }
  struct RangeBounds {
    int64_t start, step, count;
  };
  // nullopt: it is no range, or one beyond 64 bits.
  std::optional<RangeBounds> range_bounds() const {
    if (origin->kind != SymKind::kObject || !PyRange_Check(object_of(origin).get())) return {};
    PyObject* range = object_of(origin).get();
    const auto number = [&](const char* name) {
      const Ref value = checked(PyObject_GetAttrString(range, name));
      return PyLong_AsLongLong(value.get());
    };
    const RangeBounds bounds{number("start"), number("step"),
                             static_cast<int64_t>(PyObject_Size(range))};
    if (PyErr_Occurred() == nullptr) return bounds;
    PyErr_Clear();
    return {};
  }
  std::optional<CallShape> shape() const override {
    return placed_shape(origin, static_cast<int64_t>(position));
  }
  Ref iterator;
  Sym origin;
  size_t position = 0;
};

struct EnumerateIterator : IteratorValue {
  EnumerateIterator(Interpreter& interpreter, std::shared_ptr<IteratorValue> values, int64_t count)
      : interpreter(interpreter), values(std::move(values)), count(count) {}
  Sym next(Tracer& tracer) override {
    Sym value = values->next(tracer);
    return value ? make_tuple({interpreter.integer(count++), std::move(value)}) : nullptr;
  }
  std::optional<SizeExpr> items_left(Tracer& tracer) override { return values->items_left(tracer); }
  Sym item_ahead(Tracer& tracer, const SizeExpr& index) override {
    Sym value = values->item_ahead(tracer, index);
    return make_tuple({tracer.new_size(index + SizeExpr(count)), std::move(value)});
  }
  std::optional<CallShape> shape() const override {
    if (holds_user_iterator({values})) return std::nullopt;
    return CallShape{Ref::create(known_object("builtins", "enumerate")),
                     {values, interpreter.integer(count)},
                     {},
                     0};
  }
  Interpreter& interpreter;
  std::shared_ptr<IteratorValue> values;
  int64_t count;
};

struct ZipIterator : IteratorValue {
  explicit ZipIterator(Interpreter& interpreter) : interpreter(interpreter) {}
  Sym next(Tracer& tracer) override {
    std::vector<Sym> items;
    for (size_t i = 0; i < parts.size(); ++i) {
      Sym item = parts[i]->next(tracer);
      if (!item) {
        if (strict) check_all_exhausted(tracer, i);
        return nullptr;
      }
      items.push_back(std::move(item));
    }
    return parts.empty() ? nullptr : make_tuple(std::move(items));
  }
  std::optional<SizeExpr> items_left(Tracer& tracer) override {
    std::optional<SizeExpr> least;
    for (const auto& part : parts) {
      const auto left = part->items_left(tracer);
      if (!left) return std::nullopt;
      const bool is_less =
          !least || tracer.decide_less(*left, *least, "the shortest argument of zip()");
      if (strict && least && !tracer.decide_equal(*left, *least, "the arguments of zip()"))
        return std::nullopt;
      if (is_less) least = left;
    }
    return least;
  }
  Sym item_ahead(Tracer& tracer, const SizeExpr& index) override {
    std::vector<Sym> items;
    for (const auto& part : parts) items.push_back(part->item_ahead(tracer, index));
    return make_tuple(std::move(items));
  }
  void check_all_exhausted(Tracer& tracer, size_t first) {
    // CPython names the first argument that differs from those before it.
    const auto fail = [](size_t argument, const char* how) {
      throw_error(PyExc_ValueError, argument == 1
                                        ? fmt::format("zip() argument 2 is {} than argument 1", how)
                                        : fmt::format("zip() argument {} is {} than arguments 1-{}",
                                                      argument + 1, how, argument));
    };
    if (first > 0) fail(first, "shorter");
    for (size_t i = 1; i < parts.size(); ++i) {
      if (parts[i]->next(tracer)) fail(i, "longer");
    }
  }
  std::optional<CallShape> shape() const override {
    if (holds_user_iterator(parts)) return std::nullopt;
    CallShape shape{
        Ref::create(known_object("builtins", "zip")), {parts.begin(), parts.end()}, {}, 0};
    if (strict) {
      shape.arguments.push_back(interpreter.boolean(true));
      shape.keyword_names = checked(Py_BuildValue("(s)", "strict"));
    }
    return shape;
  }
  Interpreter& interpreter;
  std::vector<std::shared_ptr<IteratorValue>> parts;
  bool strict = false;
};

struct MapIterator : IteratorValue {
  explicit MapIterator(Interpreter& interpreter) : interpreter(interpreter) {}
  Sym next(Tracer& tracer) override {
    CallArguments arguments;
    for (auto& part : parts) {
      Sym item = part->next(tracer);
      if (!item) return nullptr;
      arguments.positional.push_back(std::move(item));
    }
    return call_value(interpreter, function, std::move(arguments));
  }
  std::optional<CallShape> shape() const override {
    if (holds_user_iterator(parts)) return std::nullopt;
    CallShape shape{Ref::create(known_object("builtins", "map")), {function}, {}, 0};
    shape.arguments.insert(shape.arguments.end(), parts.begin(), parts.end());
    return shape;
  }
  Interpreter& interpreter;
  Sym function;
  std::vector<std::shared_ptr<IteratorValue>> parts;
};

struct FilterIterator : IteratorValue {
  explicit FilterIterator(Interpreter& interpreter) : interpreter(interpreter) {}
  Sym next(Tracer& tracer) override {
    while (Sym item = values->next(tracer)) {
      const Sym verdict =
          is_object(function, Py_None) ? item : call_value(interpreter, function, {{item}, {}});
      if (truth(interpreter, verdict)) return item;
    }
    return nullptr;
  }
  std::optional<CallShape> shape() const override {
    if (holds_user_iterator({values})) return std::nullopt;
    return CallShape{Ref::create(known_object("builtins", "filter")), {function, values}, {}, 0};
  }
  Interpreter& interpreter;
  Sym function;
  std::shared_ptr<IteratorValue> values;
};

std::vector<std::shared_ptr<IteratorValue>> make_iterators(Interpreter& interpreter,
                                                           const std::vector<Sym>& values) {
  std::vector<std::shared_ptr<IteratorValue>> iterators;
  for (const Sym& value : values) iterators.push_back(make_iterator(interpreter, value));
  return iterators;
}

}  // namespace

std::shared_ptr<IteratorValue> make_iterator(Interpreter& interpreter, const Sym& value) {
  if (is_numpy_value(value)) {
    if (value->kind != SymKind::kArray || as<ArrayValue>(value).type.rank() == 0)
      numpy_row_count(interpreter.tracer, value);  // throws
    return make_array_iterator(value);
  }
  switch (value->kind) {
    case SymKind::kList:
      return std::make_shared<LiveListIterator>(interpreter, value, Order::kForward);
    case SymKind::kGrownList:
      return make_grown_iterator(value);
    case SymKind::kTuple:
      return std::make_shared<ListIterator>(as<SequenceValue>(value).items, value);
    case SymKind::kSet:
      return make_set_iterator(interpreter, value);
    case SymKind::kDict:
      return make_dict_iterator(interpreter, value);
    case SymKind::kIterator:
      if (auto* view = dynamic_cast<DictView*>(value.get())) {
        return std::make_shared<LiveDictIterator>(interpreter, view->dict, view->part, value,
                                                  Order::kForward);
      }
      if (as_library_object(value)) {
        Sym made = special_method(interpreter, value, "__iter__", {});
        if (!made) throw_break("unsupported_value", "iteration over a " + type_name(value));
        return make_iterator(interpreter, made);
      }
      if (is_no_iterator(value)) throw_break("would_raise", "iteration over a coroutine");
      return std::static_pointer_cast<IteratorValue>(value);
    case SymKind::kObject: {
      if (is_dict(value)) return make_dict_iterator(interpreter, value);
      if (is_list(value))
        return std::make_shared<LiveListIterator>(interpreter, value, Order::kForward);
      if (auto items = open_sequence(interpreter, value)) {
        return std::make_shared<ListIterator>(std::move(*items), value);
      }
      if (is_set(value)) return make_set_iterator(interpreter, value);
      if (is_enum_class(object_of(value))) {
        if (auto members = enum_members(interpreter, value))
          return std::make_shared<ListIterator>(std::move(*members), value);
      }
      BorrowedRef object = object_of(value);
      PyTypeObject* type = object.type();
      if (type == &PyRange_Type || type == &PyUnicode_Type || type == &PyBytes_Type) {
        real_object(interpreter, value, "it is iterated");
        return std::make_shared<PureIterator>(must(PyObject_GetIter(object)), value);
      }
      if (auto made = make_user_iterator(interpreter, value)) return made;
      if (type->tp_iter == nullptr && type->tp_as_sequence == nullptr) {
        throw_break("would_raise", fmt::format("a {} is not iterable", type->tp_name));
      }
      break;
    }
    case SymKind::kNull:
    case SymKind::kArray:
    case SymKind::kScalar:
    case SymKind::kSize:
    case SymKind::kSlice:
    case SymKind::kFunction:
    case SymKind::kMethod:
    case SymKind::kCell:
    case SymKind::kException:
      break;
  }
  if (value->kind == SymKind::kObject && PyIter_Check(object_of(value).get())) {
    throw_break("outside_iterator",
                fmt::format("iteration over a {} that came in from outside", type_name(value)));
  }
  if (value->kind == SymKind::kObject && PyAnySet_Check(object_of(value).get())) {
    throw_break("set_order", "iteration over a set, whose order is not known");
  }
  throw_value_break(value, "iteration over a " + type_name(value));
}

std::shared_ptr<IteratorValue> make_range_iterator(Interpreter& interpreter,
                                                   std::vector<Sym> bounds) {
  Tracer& tracer = interpreter.tracer;
  static const std::string reason = "the bounds of a range";
  const auto size = [&](size_t i) { return size_argument(tracer, bounds[i], reason); };
  const SizeExpr start = bounds.size() > 1 ? size(0) : SizeExpr(0);
  const SizeExpr stop = size(bounds.size() > 1 ? 1 : 0);
  const SizeExpr step = bounds.size() > 2 ? tracer.specialize(size(2), reason) : SizeExpr(1);
  const int64_t stride = *step.constant();
  if (stride == 0) throw_break("would_raise", "range() arg 3 must not be zero");
  const SizeExpr distance = stride > 0 ? stop - start : start - stop;
  const int64_t width = stride > 0 ? stride : -stride;
  const SizeExpr count =
      width == 1 ? distance : SizeExpr::floor_div(distance + SizeExpr(width - 1), SizeExpr(width));
  return std::make_shared<RangeValue>(std::move(bounds), start, step, tracer.simplify(count));
}

Sym make_enumerate(Interpreter& interpreter, const Sym& values, int64_t start) {
  return std::make_shared<EnumerateIterator>(interpreter, make_iterator(interpreter, values),
                                             start);
}

Sym make_zip(Interpreter& interpreter, const std::vector<Sym>& iterables, bool strict) {
  auto zip = std::make_shared<ZipIterator>(interpreter);
  zip->parts = make_iterators(interpreter, iterables);
  zip->strict = strict;
  return zip;
}

Sym make_map(Interpreter& interpreter, const Sym& function, const std::vector<Sym>& iterables) {
  auto map = std::make_shared<MapIterator>(interpreter);
  map->function = function;
  map->parts = make_iterators(interpreter, iterables);
  return map;
}

Sym make_filter(Interpreter& interpreter, const Sym& function, const Sym& values) {
  auto filter = std::make_shared<FilterIterator>(interpreter);
  filter->function = function;
  filter->values = make_iterator(interpreter, values);
  return filter;
}

Sym make_reversed(Interpreter& interpreter, const Sym& values) {
  if (as_library_object(values)) {
    if (Sym made = special_method(interpreter, values, "__reversed__", {})) return made;
  }
  if (auto* view = dynamic_cast<DictView*>(values.get())) {
    return std::make_shared<LiveDictIterator>(interpreter, view->dict, view->part, values,
                                              Order::kBackward);
  }
  if (auto* range = dynamic_cast<RangeValue*>(values.get()); range && range->position == 0)
    return range->reversed();
  if (values->kind == SymKind::kIterator) throw_break("would_raise", "reversed() of an iterator");
  if (values->kind == SymKind::kArray && as<ArrayValue>(values).type.rank() > 0)
    return make_reversed_array_iterator(values);
  if (values->kind == SymKind::kSet) throw_break("would_raise", "reversed() of a set");
  if (is_dict(values)) return make_dict_iterator(interpreter, values, Order::kBackward);
  if (values->kind == SymKind::kObject) {
    if (has_python_method(interpreter, values, "__reversed__"))
      return special_method(interpreter, values, "__reversed__", {});
    // By its length and items, if at all.
    if (has_python_method(interpreter, values, "__iter__"))
      throw_break("unsupported_value", "reversed() of a " + type_name(values));
  }
  if (is_list(values))
    return std::make_shared<LiveListIterator>(interpreter, values, Order::kBackward);
  std::vector<Sym> items = collect_items(interpreter, values);
  return std::make_shared<ListIterator>(std::vector<Sym>(items.rbegin(), items.rend()), values,
                                        "reversed");
}

std::shared_ptr<IteratorValue> make_container_iterator(Interpreter& interpreter,
                                                       const Sym& instance, bool backward) {
  const Order order = backward ? Order::kBackward : Order::kForward;
  if (is_dict_based(instance)) return make_dict_iterator(interpreter, instance, order);
  return std::make_shared<LiveListIterator>(interpreter, instance, order);
}

}  // namespace numlift::frame_eval
