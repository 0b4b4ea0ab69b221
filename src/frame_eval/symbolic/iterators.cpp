#include "symbolic/iterators.h"

#include "numlift/numpy_shim/numpy.h"
#include "numlift/py/py_error.h"
#include "symbolic/builtins.h"
#include "symbolic/containers.h"
#include "symbolic/exceptions.h"
#include "symbolic/enums.h"
#include "symbolic/numpy_calls.h"
#include "symbolic/operators.h"
#include "symbolic/polyfills.h"
#include "symbolic/pure.h"

namespace numlift::frame_eval {

namespace {

CallShape iterator_shape(Sym iterable, size_t position, const char* maker = "iter") {
  return {Ref::create(known_object("builtins", maker)),
          {std::move(iterable)},
          {},
          static_cast<int64_t>(position)};
}

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

// Elements are read when their turn comes: the loop may have stored to the array.
struct ArrayIterator : IteratorValue {
  ArrayIterator(Sym array, int64_t count) : array(std::move(array)), count(count) {}
  Sym next(Tracer& tracer) override {
    if (position >= count) return nullptr;
    return numpy_get_item(tracer, array, tracer.constant(checked(PyLong_FromLongLong(position++))));
  }
  std::optional<CallShape> shape() const override {
    return iterator_shape(array, static_cast<size_t>(position));
  }
  Sym array;
  int64_t count;
  int64_t position = 0;
};

// A list may change while it is iterated: items are looked up one by one.
struct LiveListIterator : IteratorValue {
  LiveListIterator(Interpreter& interpreter, Sym list)
      : interpreter(interpreter), list(std::move(list)) {
    if (this->list->kind == SymKind::kObject) outside = sequence_items(interpreter, this->list);
  }
  Sym next(Tracer&) override {
    if (!list) return nullptr;
    const bool is_as_outside = list->kind == SymKind::kObject && !as<ObjectValue>(list).differs();
    const auto& items =
        is_as_outside ? outside : as<SequenceValue>(open_for_change(interpreter, list)).items;
    if (position < items.size()) return items[position++];
    list = nullptr;  // exhausted for good
    return nullptr;
  }
  std::optional<CallShape> shape() const override {
    return iterator_shape(list ? list : make_list({}), position);
  }
  Interpreter& interpreter;
  Sym list;
  std::vector<Sym> outside;  // what a list from outside holds as long as it is not changed
  size_t position = 0;
};

struct LiveDictIterator : IteratorValue {
  // `origin`: the dict or the view of it that is iterated.
  LiveDictIterator(Interpreter& interpreter, Sym dict, Sym origin, std::vector<Sym> items)
      : interpreter(interpreter),
        dict(std::move(dict)),
        origin(std::move(origin)),
        items(std::move(items)),
        keys(keys_now()) {}
  Sym next(Tracer&) override {
    if (!dict) return nullptr;
    if (may_differ() && keys_now().size() != items.size()) {
      throw_error(PyExc_RuntimeError, "dictionary changed size during iteration");
    }
    if (position < items.size()) return items[position++];
    dict = nullptr;  // exhausted for good
    return nullptr;
  }
  std::optional<CallShape> shape() const override {
    if (!dict) return iterator_shape(make_list({}), 0);
    if (may_differ() && keys_now() != keys)
      return std::nullopt;  // only the real iterator knows of the change
    return iterator_shape(origin, position);
  }
  bool may_differ() const {
    return dict->kind == SymKind::kDict || as<ObjectValue>(dict).differs();
  }
  std::vector<PyObject*> keys_now() const {
    std::vector<PyObject*> found;
    for (const auto& [key, item] : dict_items(interpreter, dict))
      found.push_back(object_of(key).get());
    return found;
  }
  Interpreter& interpreter;
  Sym dict, origin;
  std::vector<Sym> items;
  std::vector<PyObject*> keys;
  size_t position = 0;
};

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
  std::optional<CallShape> shape() const override { return iterator_shape(origin, position); }
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
  std::optional<CallShape> shape() const override {
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
    return std::make_shared<ArrayIterator>(value, numpy_row_count(interpreter.tracer, value));
  }
  switch (value->kind) {
    case SymKind::kList:
      return std::make_shared<LiveListIterator>(interpreter, value);
    case SymKind::kTuple:
      return std::make_shared<ListIterator>(as<SequenceValue>(value).items, value);
    case SymKind::kSet:
      return make_set_iterator(interpreter, value);
    case SymKind::kDict: {
      std::vector<Sym> keys;
      for (const auto& [key, item] : as<DictValue>(value).items) keys.push_back(key);
      return std::make_shared<LiveDictIterator>(interpreter, value, value, std::move(keys));
    }
    case SymKind::kIterator:
      if (auto* view = dynamic_cast<DictView*>(value.get())) {
        return std::make_shared<LiveDictIterator>(interpreter, view->dict, value,
                                                  view->items(interpreter));
      }
      return std::static_pointer_cast<IteratorValue>(value);
    case SymKind::kObject: {
      if (is_dict(value)) {
        std::vector<Sym> keys;
        for (const auto& [key, item] : dict_items(interpreter, value)) keys.push_back(key);
        return std::make_shared<LiveDictIterator>(interpreter, value, value, std::move(keys));
      }
      if (is_list(value)) return std::make_shared<LiveListIterator>(interpreter, value);
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
  if (values->kind == SymKind::kIterator && !dynamic_cast<DictView*>(values.get())) {
    throw_break("would_raise", "reversed() of an iterator");
  }
  if (values->kind == SymKind::kSet) throw_break("would_raise", "reversed() of a set");
  std::vector<Sym> items = collect_items(interpreter, values);
  return std::make_shared<ListIterator>(std::vector<Sym>(items.rbegin(), items.rend()), values,
                                        "reversed");
}

std::vector<std::pair<Sym, Sym>> collect_pairs(Interpreter& interpreter, const Sym& value) {
  if (is_dict(value)) return dict_items(interpreter, value);
  std::vector<std::pair<Sym, Sym>> pairs;
  for (const Sym& item : collect_items(interpreter, value)) {
    auto pair = collect_items(interpreter, item);
    if (pair.size() != 2) throw_break("would_raise", "a dict is made of something else than pairs");
    pairs.emplace_back(pair[0], pair[1]);
  }
  return pairs;
}

}  // namespace numlift::frame_eval
