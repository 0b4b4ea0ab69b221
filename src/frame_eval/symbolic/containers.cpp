#include "symbolic/containers.h"

#include <algorithm>
#include <unordered_set>

#include "numlift/py/py_error.h"
#include "symbolic/container_classes.h"
#include "symbolic/dict_keys.h"
#include "symbolic/exceptions.h"
#include "symbolic/iterators.h"
#include "symbolic/limits.h"
#include "symbolic/operators.h"
#include "symbolic/pure.h"
#include "symbolic/regions.h"
#include "symbolic/side_effects.h"
#include "symbolic/value_parts.h"

namespace numlift::frame_eval {

using guards::Source;
using guards::SourcePtr;

Sym make_tuple(std::vector<Sym> items) {
  auto tuple = std::make_shared<SequenceValue>(SymKind::kTuple);
  tuple->items = std::move(items);
  return tuple;
}

Sym make_list(std::vector<Sym> items) {
  auto list = std::make_shared<SequenceValue>(SymKind::kList);
  list->items = std::move(items);
  return list;
}

SourcePtr container_source(const Sym& container) {
  return container->source ? container->source : Source::constant(object_of(container));
}

namespace {

void guard_type(Interpreter& interpreter, const Sym& container) {
  interpreter.tracer.guard(
      container_source(container),
      guards::HasType{Ref::create(reinterpret_cast<PyObject*>(object_of(container).type()))},
      "its type is used at " + interpreter.location_text());
}

}  // namespace

void guard_length(Interpreter& interpreter, const Sym& container, int64_t length) {
  guard_type(interpreter, container);
  interpreter.tracer.guard(container_source(container), guards::HasLength{length},
                           "its length is used at " + interpreter.location_text());
}

void check_size(Py_ssize_t size, int64_t limit, const char* what) {
  if (size > limit) {
    throw_break("too_long", fmt::format("the items of a {} of length {} are followed", what, size));
  }
}

namespace {

bool has_object_type(const Sym& value, PyTypeObject* type) {
  return value->kind == SymKind::kObject && object_of(value).type() == type;
}

bool is_outside_list(const Sym& value) {
  return has_object_type(value, &PyList_Type) ||
         (is_container_instance(value) && PyList_Check(object_of(value).get()));
}

bool is_outside_dict(const Sym& value) {
  return has_object_type(value, &PyDict_Type) ||
         (is_container_instance(value) && PyDict_Check(object_of(value).get()));
}

bool is_changed(const Sym& container) {
  return container->kind == SymKind::kObject && as<ObjectValue>(container).state != nullptr;
}

// As the list was before the call.
std::vector<Sym> outside_items(Interpreter& interpreter, const Sym& list) {
  PyObject* real = object_of(list);
  const Py_ssize_t length = PyList_GET_SIZE(real);
  check_size(length, kMaxSequenceItems, "list");
  guard_length(interpreter, list, length);
  std::vector<Sym> items;
  for (Py_ssize_t i = 0; i < length; ++i) {
    items.push_back(interpreter.tracer.outside(Ref::create(PyList_GET_ITEM(real, i)),
                                               Source::item(container_source(list), i)));
  }
  return items;
}

// As the dict was before the call.
std::vector<std::pair<Sym, Sym>> outside_dict_items(Interpreter& interpreter, const Sym& dict) {
  PyObject* real = object_of(dict);
  check_size(PyDict_GET_SIZE(real), kMaxKeys, "dict");
  check_keys(real);
  std::vector<std::pair<Sym, Sym>> items;
  PyObject *key, *value;
  Py_ssize_t position = 0;
  while (PyDict_Next(real, &position, &key, &value)) {
    if (!is_pure(key) && !is_lasting_key(key, dict->source.get())) {
      throw_break("unsupported_value",
                  fmt::format("a dict with a {} as key", Py_TYPE(key)->tp_name));
    }
  }
  interpreter.guard_key_order(container_source(dict), real);
  position = 0;
  while (PyDict_Next(real, &position, &key, &value)) {
    items.emplace_back(interpreter.object(key),
                       interpreter.tracer.outside(Ref::create(value),
                                                  Source::dict_item(container_source(dict), key)));
  }
  return items;
}

}  // namespace

bool is_list(const Sym& value) {
  return value->kind == SymKind::kList || has_object_type(value, &PyList_Type);
}
bool is_list_based(const Sym& value) {
  return value->kind == SymKind::kList || is_outside_list(value);
}
bool is_dict_based(const Sym& value) {
  return value->kind == SymKind::kDict || is_outside_dict(value);
}
bool is_plain_tuple(const Sym& value) {
  if (value->kind == SymKind::kTuple) return !as<SequenceValue>(value).named_tuple_class;
  return has_object_type(value, &PyTuple_Type);
}

bool is_tuple(const Sym& value) {
  return value->kind == SymKind::kTuple || has_object_type(value, &PyTuple_Type);
}
bool is_dict(const Sym& value) {
  return value->kind == SymKind::kDict || has_object_type(value, &PyDict_Type);
}

std::optional<std::vector<Sym>> open_sequence(Interpreter& interpreter, const Sym& value) {
  if (value->kind == SymKind::kTuple || value->kind == SymKind::kList) {
    return as<SequenceValue>(value).items;
  }
  std::vector<Sym> items;
  if (has_object_type(value, &PyTuple_Type)) {
    // Tuples with a source were opened by the tracer: this is a constant.
    PyObject* tuple = object_of(value);
    check_size(PyTuple_GET_SIZE(tuple), kMaxSequenceItems, "tuple");
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(tuple); ++i) {
      items.push_back(interpreter.object(PyTuple_GET_ITEM(tuple, i)));
    }
    return items;
  }
  if (has_object_type(value, &PyList_Type)) {
    if (is_changed(value)) return as<SequenceValue>(open_for_change(interpreter, value)).items;
    return outside_items(interpreter, value);
  }
  return std::nullopt;
}

std::vector<Sym> sequence_items(Interpreter& interpreter, const Sym& value) {
  if (is_container_instance(value)) {
    if (is_changed(value)) return as<SequenceValue>(open_for_change(interpreter, value)).items;
    return outside_items(interpreter, value);
  }
  auto items = open_sequence(interpreter, value);
  NUMLIFT_CHECK(items.has_value(), "the items of a {}", type_name(value));
  return std::move(*items);
}

std::vector<Sym> collect_items(Interpreter& interpreter, const Sym& value) {
  if (auto items = open_sequence(interpreter, value)) return *items;
  auto iterator = make_iterator(interpreter, value);
  std::vector<Sym> items;
  while (Sym item = iterator->next(interpreter.tracer)) items.push_back(std::move(item));
  return items;
}

std::vector<Sym> collect_unordered(Interpreter& interpreter, const Sym& value) {
  return is_set(value) ? set_items(interpreter, value) : collect_items(interpreter, value);
}

const Sym& open_for_change(Interpreter& interpreter, const Sym& container) {
  if (container->kind != SymKind::kObject) return container;
  ObjectState& state = as<ObjectValue>(container).changed();
  if (state.content) return state.content;
  if (is_list_based(container)) {
    std::vector<Sym> items = outside_items(interpreter, container);
    items.insert(items.end(), state.appended.begin(), state.appended.end());
    state.content = make_list(std::move(items));
  } else {
    NUMLIFT_CHECK(is_dict_based(container), "a {} is changed", type_name(container));
    auto dict = std::make_shared<DictValue>();
    dict->items = outside_dict_items(interpreter, container);
    for (const auto& [key, value] : state.entries) {
      if (value) {
        set_entry(interpreter, *dict, {key}, value);
      } else {
        remove_entry(interpreter, *dict, {key});
      }
    }
    state.content = std::move(dict);
  }
  return state.content;
}

// ---------------------------------------------------------------- lists

void list_append(Interpreter& interpreter, const Sym& list, const Sym& item) {
  if (interpreter.regions != nullptr && interpreter.regions->append(list, item)) return;
  if (list->kind == SymKind::kGrownList)
    throw_break("unsupported_value", "a list that a loop has made becomes longer");
  if (list->kind == SymKind::kList) {
    check_acyclic(list, item);
    as<SequenceValue>(list).items.push_back(item);
    return;
  }
  guard_type(interpreter, list);
  ObjectState& state = as<ObjectValue>(list).changed();
  if (state.content) {
    as<SequenceValue>(state.content).items.push_back(item);
  } else {
    state.appended.push_back(item);
  }
  record_method(interpreter, &PyList_Type, "append", {list, item});
}

void list_extend(Interpreter& interpreter, const Sym& list, const Sym& more) {
  if (auto items = open_sequence(interpreter, more)) {
    for (const Sym& item : *items) list_append(interpreter, list, item);
    return;
  }
  // What the iterator runs sees the list grow.
  auto iterator = make_iterator(interpreter, more);
  while (Sym item = iterator->next(interpreter.tracer)) list_append(interpreter, list, item);
}

namespace {

int64_t index_in(Interpreter& interpreter, const Sym& key, size_t length, const char* what) {
  int64_t index = concrete_int(interpreter, key, "index into a list");
  if (index < 0) index += static_cast<int64_t>(length);
  if (index < 0 || index >= static_cast<int64_t>(length))
    throw_error(PyExc_IndexError, fmt::format("list {} index out of range", what));
  return index;
}

}  // namespace

void list_set(Interpreter& interpreter, const Sym& list, const Sym& key, const Sym& value) {
  auto& items = as<SequenceValue>(open_for_change(interpreter, list)).items;
  check_acyclic(list, value);
  if (key->kind == SymKind::kSlice || has_object_type(key, &PySlice_Type)) {
    auto real = interpreter.tracer.as_deep_constant(
        key, "slice of a list at " + interpreter.location_text());
    Py_ssize_t start, stop, step;
    if (!real || PySlice_Unpack(real->get(), &start, &stop, &step) < 0) {
      PyErr_Clear();
      throw_break("unsupported_value", "assignment to such a slice of a list");
    }
    const auto more = collect_items(interpreter, value);
    const Py_ssize_t count =
        PySlice_AdjustIndices(static_cast<Py_ssize_t>(items.size()), &start, &stop, step);
    if (step == 1) {
      const auto first = items.begin() + start;
      items.erase(first, first + count);
      items.insert(items.begin() + start, more.begin(), more.end());
    } else {
      if (static_cast<size_t>(count) != more.size()) {
        throw_break("would_raise", "assignment of another number of items to a slice with a step");
      }
      for (Py_ssize_t i = 0; i < count; ++i)
        items[static_cast<size_t>(start + i * step)] = more[static_cast<size_t>(i)];
    }
    if (list->kind == SymKind::kObject) {
      record_method(interpreter, &PyList_Type, "__setitem__",
                    {list, interpreter.object(*real), make_list(more)});
    }
    return;
  }
  const int64_t index = index_in(interpreter, key, items.size(), "assignment");
  items[static_cast<size_t>(index)] = value;
  if (list->kind == SymKind::kObject) {
    const Sym place = interpreter.integer(index);
    record_item(interpreter, &PyList_Type, object_of(place), {list, place, value});
  }
}

void list_remove(Interpreter& interpreter, const Sym& list, int64_t index) {
  auto& items = as<SequenceValue>(open_for_change(interpreter, list)).items;
  items.erase(items.begin() + index);
  if (list->kind == SymKind::kObject) {
    record_method(interpreter, &PyList_Type, "__delitem__", {list, interpreter.integer(index)});
  }
}

void list_assign(Interpreter& interpreter, const Sym& list, std::vector<Sym> items) {
  auto& own = as<SequenceValue>(open_for_change(interpreter, list)).items;
  own = items;
  if (list->kind == SymKind::kObject) {
    const Sym all = interpreter.tracer.constant(checked(PySlice_New(nullptr, nullptr, nullptr)));
    record_method(interpreter, &PyList_Type, "__setitem__",
                  {list, all, make_list(std::move(items))});
  }
}

Sym sequence_item(Interpreter& interpreter, const Sym& container, const Sym& key) {
  const Sym& sequence = is_changed(container) ? open_for_change(interpreter, container) : container;
  const bool outside_list = is_outside_list(sequence);
  if (key->kind == SymKind::kSlice || has_object_type(key, &PySlice_Type)) {
    auto items = sequence_items(interpreter, sequence);
    auto real = interpreter.tracer.as_deep_constant(
        key, "slice of a sequence at " + interpreter.location_text());
    if (!real) throw_break("unsupported_value", "slice of a sequence by run-time values");
    Py_ssize_t start, stop, step;
    if (PySlice_Unpack(real->get(), &start, &stop, &step) < 0) {
      PyErr_Clear();
      throw_break("would_raise", "slice of a sequence");
    }
    const Py_ssize_t count =
        PySlice_AdjustIndices(static_cast<Py_ssize_t>(items.size()), &start, &stop, step);
    if (count == static_cast<Py_ssize_t>(items.size()) && step == 1 && is_plain_tuple(sequence)) {
      return sequence;
    }
    std::vector<Sym> part;
    for (Py_ssize_t i = 0; i < count; ++i)
      part.push_back(items[static_cast<size_t>(start + i * step)]);
    return is_tuple(sequence) ? make_tuple(std::move(part)) : make_list(std::move(part));
  }
  int64_t index = concrete_int(interpreter, key, "index into a sequence");
  int64_t length;
  if (outside_list) {
    length = PyList_GET_SIZE(object_of(sequence).get());
    guard_length(interpreter, sequence, length);
  } else if (sequence->kind == SymKind::kObject) {
    length = PyTuple_GET_SIZE(object_of(sequence).get());
  } else {
    length = static_cast<int64_t>(as<SequenceValue>(sequence).items.size());
  }
  if (index < 0) index += length;
  if (index < 0 || index >= length) {
    throw_error(PyExc_IndexError,
                is_tuple(sequence) ? "tuple index out of range" : "list index out of range");
  }
  if (outside_list) {
    return interpreter.tracer.outside(
        Ref::create(PyList_GET_ITEM(object_of(sequence).get(), index)),
        Source::item(container_source(sequence), index));
  }
  if (sequence->kind == SymKind::kObject) {
    return interpreter.object(PyTuple_GET_ITEM(object_of(sequence).get(), index));
  }
  return as<SequenceValue>(sequence).items[static_cast<size_t>(index)];
}

// ---------------------------------------------------------------- dicts

std::vector<std::pair<Sym, Sym>> dict_items(Interpreter& interpreter, const Sym& dict) {
  if (dict->kind == SymKind::kDict) return as<DictValue>(dict).items;
  if (is_changed(dict)) return as<DictValue>(open_for_change(interpreter, dict)).items;
  return outside_dict_items(interpreter, dict);
}

Sym copy_of_dict(Interpreter& interpreter, const Sym& dict) {
  auto copy = std::make_shared<DictValue>();
  copy->items = dict_items(interpreter, dict);
  if (dict->kind == SymKind::kDict) copy->hashes = as<DictValue>(dict).hashes;
  return copy;
}

Sym find_in_dict(Interpreter& interpreter, const Sym& dict, const Sym& key) {
  if (dict->kind == SymKind::kDict) {
    const DictKey wanted = dict_key(interpreter, key);
    const auto* entry = find_entry(interpreter, as<DictValue>(dict), wanted);
    return entry == nullptr ? nullptr : entry->second;
  }
  const Sym known = constant_key(interpreter, key);
  BorrowedRef real_key = object_of(known);
  if (const ObjectState* state = as<ObjectValue>(dict).state.get()) {
    if (state->content) return find_in_dict(interpreter, state->content, known);
    for (auto entry = state->entries.rbegin(); entry != state->entries.rend(); ++entry) {
      if (same_key(object_of(entry->first), real_key)) return entry->second;
    }
  }
  if (as<ObjectValue>(known).is_new) return nullptr;
  PyObject* real = object_of(dict);
  check_keys(real);
  guard_type(interpreter, dict);
  const auto source = Source::dict_item(container_source(dict), real_key);
  PyObject* found = PyDict_GetItemWithError(real, real_key);
  if (found == nullptr) {
    PyErr_Clear();
    interpreter.tracer.guard(source, guards::IsAbsent{},
                             "the key is absent at " + interpreter.location_text());
    return nullptr;
  }
  return interpreter.tracer.outside(Ref::create(found), source);
}

int64_t dict_length(Interpreter& interpreter, const Sym& dict) {
  if (dict->kind == SymKind::kDict) return static_cast<int64_t>(as<DictValue>(dict).items.size());
  if (is_changed(dict)) return dict_length(interpreter, open_for_change(interpreter, dict));
  const int64_t length = PyDict_Size(object_of(dict).get());
  guard_length(interpreter, dict, length);
  return length;
}

void dict_set(Interpreter& interpreter, const Sym& dict, const Sym& key, const Sym& value) {
  if (dict->kind == SymKind::kDict) {
    check_acyclic(dict, value);
    set_entry(interpreter, as<DictValue>(dict), dict_key(interpreter, key), value);
    return;
  }
  const Sym known = constant_key(interpreter, key);
  guard_type(interpreter, dict);
  check_keys(object_of(dict));
  ObjectState& state = as<ObjectValue>(dict).changed();
  if (state.content) {
    set_entry(interpreter, as<DictValue>(state.content), {known}, value);
  } else {
    state.entries.emplace_back(known, value);
  }
  record_item(interpreter, &PyDict_Type, object_of(known), {dict, known, value});
}

bool dict_remove(Interpreter& interpreter, const Sym& dict, const Sym& key, const char* how) {
  if (dict->kind == SymKind::kDict)
    return remove_entry(interpreter, as<DictValue>(dict), dict_key(interpreter, key));
  const Sym known = constant_key(interpreter, key);
  const Sym found = find_in_dict(interpreter, dict, known);
  if (!found) return false;
  if (found->kind == SymKind::kObject && found->source) type_of(interpreter, found);
  ObjectState& state = as<ObjectValue>(dict).changed();
  if (state.content) {
    remove_entry(interpreter, as<DictValue>(state.content), {known});
  } else {
    state.entries.emplace_back(known, nullptr);
  }
  std::vector<Sym> arguments{dict};
  if (how != std::string_view("popitem")) arguments.push_back(known);
  record_method(interpreter, &PyDict_Type, how, std::move(arguments));
  return true;
}

void dict_clear(Interpreter& interpreter, const Sym& dict) {
  if (dict->kind == SymKind::kDict) {
    as<DictValue>(dict).items.clear();
    as<DictValue>(dict).hashes.clear();
    ++as<DictValue>(dict).removals;
    return;
  }
  guard_type(interpreter, dict);
  auto empty = std::make_shared<DictValue>();
  empty->removals = dict_removals(dict) + 1;
  as<ObjectValue>(dict).changed().content = std::move(empty);
  record_method(interpreter, &PyDict_Type, "clear", {dict});
}

uint64_t dict_removals(const Sym& dict) {
  if (dict->kind == SymKind::kDict) return as<DictValue>(dict).removals;
  const ObjectState* state = as<ObjectValue>(dict).state.get();
  if (state == nullptr) return 0;
  if (state->content) return as<DictValue>(state->content).removals;
  return static_cast<uint64_t>(std::count_if(state->entries.begin(), state->entries.end(),
                                             [](const auto& entry) { return !entry.second; }));
}

std::optional<CallShape> DictView::shape() const {
  const char* method = part == Part::kKeys ? "keys" : part == Part::kValues ? "values" : "items";
  Ref of_dict = checked(PyObject_GetAttrString(reinterpret_cast<PyObject*>(&PyDict_Type), method));
  return CallShape{std::move(of_dict), {dict}, {}, 0};
}

Sym DictView::next(Tracer&) { throw_break("would_raise", "next() of a dict view"); }

std::vector<Sym> DictView::items(Interpreter& interpreter) const {
  std::vector<Sym> result;
  for (const auto& [key, value] : dict_items(interpreter, dict)) {
    result.push_back(part_of(key, value, part));
  }
  return result;
}

Sym DictView::part_of(const Sym& key, const Sym& value, Part part) {
  if (part == Part::kKeys) return key;
  return part == Part::kValues ? value : make_tuple({key, value});
}

// ---------------------------------------------------------------- containers in each other

void check_acyclic(const Sym& container, const Sym& value) {
  std::unordered_set<const SymbolicValue*> seen;
  std::vector<Sym> pending{value};
  while (!pending.empty()) {
    const Sym next = std::move(pending.back());
    pending.pop_back();
    if (next == container) throw_break("unsupported_value", "a container that holds itself");
    if (!seen.insert(next.get()).second) continue;
    // Cells and instances get their contents when all else is there: a way back through them is
    // none.
    const bool is_filled_late = next->kind == SymKind::kCell || next->kind == SymKind::kFunction ||
                                next->kind == SymKind::kObject;
    if (!is_filled_late) visit_parts(*next, [&](const Sym& part) { pending.push_back(part); });
  }
}

}  // namespace numlift::frame_eval
