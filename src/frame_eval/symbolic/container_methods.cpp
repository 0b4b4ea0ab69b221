// Methods of lists, tuples, dicts and sets.
#include <algorithm>
#include <map>

#include "numlift/py/py_error.h"
#include "symbolic/container_classes.h"
#include "symbolic/containers.h"
#include "symbolic/exceptions.h"
#include "symbolic/instance_dict.h"
#include "symbolic/iterators.h"
#include "symbolic/library_objects.h"
#include "symbolic/operators.h"
#include "symbolic/pure.h"
#include "symbolic/regions.h"
#include "symbolic/side_effects.h"
#include "symbolic/sorting.h"

namespace numlift::frame_eval {

namespace {

struct MethodCall {
  Interpreter& interpreter;
  const Sym& self;
  const std::string& name;
  const CallArguments& arguments;

  void expect(size_t least, size_t most) const {
    if (!arguments.keywords.empty() || arguments.positional.size() < least ||
        arguments.positional.size() > most) {
      throw_break("would_raise", fmt::format("{}() with these arguments", name));
    }
  }
  const Sym& operator[](size_t i) const { return arguments.positional[i]; }
  size_t count() const { return arguments.positional.size(); }
};

using Method = Sym (*)(const MethodCall&);

int64_t clamp_index(int64_t index, int64_t length) {
  if (index < 0) index = std::max<int64_t>(0, index + length);
  return std::min(index, length);
}

// ---- sequences

Sym sequence_index(const MethodCall& call) {
  call.expect(1, 3);
  const auto items = sequence_items(call.interpreter, call.self);
  const auto length = static_cast<int64_t>(items.size());
  int64_t first = 0, last = length;
  if (call.count() > 1)
    first = clamp_index(concrete_int(call.interpreter, call[1], "index()"), length);
  if (call.count() > 2)
    last = clamp_index(concrete_int(call.interpreter, call[2], "index()"), length);
  for (int64_t i = first; i < last; ++i) {
    if (equal_items(call.interpreter, items[static_cast<size_t>(i)], call[0])) {
      return call.interpreter.integer(i);
    }
  }
  throw_break("would_raise", "index() of an item that is not there");
}

Sym sequence_count(const MethodCall& call) {
  call.expect(1, 1);
  int64_t count = 0;
  for (const Sym& item : sequence_items(call.interpreter, call.self)) {
    if (equal_items(call.interpreter, item, call[0])) ++count;
  }
  return call.interpreter.integer(count);
}

Sym append_method(const MethodCall& call) {
  call.expect(1, 1);
  list_append(call.interpreter, call.self, call[0]);
  return call.interpreter.none();
}

Sym extend_method(const MethodCall& call) {
  call.expect(1, 1);
  list_extend(call.interpreter, call.self, call[0]);
  return call.interpreter.none();
}

Sym insert_method(const MethodCall& call) {
  call.expect(2, 2);
  const int64_t index = concrete_int(call.interpreter, call[0], "insert()");
  check_acyclic(call.self, call[1]);
  auto& items = as<SequenceValue>(open_for_change(call.interpreter, call.self)).items;
  const int64_t place = clamp_index(index, static_cast<int64_t>(items.size()));
  items.insert(items.begin() + place, call[1]);
  if (call.self->kind == SymKind::kObject) {
    record_method(call.interpreter, &PyList_Type, "insert",
                  {call.self, call.interpreter.integer(place), call[1]});
  }
  return call.interpreter.none();
}

Sym list_pop(const MethodCall& call) {
  call.expect(0, 1);
  if (call.count() == 0 && call.interpreter.regions != nullptr) {
    if (Sym item = call.interpreter.regions->pop(call.self)) return item;
  }
  if (call.self->kind == SymKind::kGrownList)
    throw_break("unsupported_value", "pop() of such an item of a list that a loop has made");
  int64_t index = call.count() ? concrete_int(call.interpreter, call[0], "pop()") : -1;
  const auto items = sequence_items(call.interpreter, call.self);
  const auto length = static_cast<int64_t>(items.size());
  if (index < 0) index += length;
  if (length == 0) throw_error(PyExc_IndexError, "pop from empty list");
  if (index < 0 || index >= length) throw_error(PyExc_IndexError, "pop index out of range");
  list_remove(call.interpreter, call.self, index);
  return items[static_cast<size_t>(index)];
}

Sym remove_method(const MethodCall& call) {
  call.expect(1, 1);
  const auto items = sequence_items(call.interpreter, call.self);
  for (size_t i = 0; i < items.size(); ++i) {
    if (equal_items(call.interpreter, items[i], call[0])) {
      list_remove(call.interpreter, call.self, static_cast<int64_t>(i));
      return call.interpreter.none();
    }
  }
  throw_error(PyExc_ValueError, "list.remove(x): x not in list");
}

Sym list_reverse(const MethodCall& call) {
  call.expect(0, 0);
  auto items = sequence_items(call.interpreter, call.self);
  std::reverse(items.begin(), items.end());
  list_assign(call.interpreter, call.self, std::move(items));
  return call.interpreter.none();
}

Sym list_clear(const MethodCall& call) {
  call.expect(0, 0);
  list_assign(call.interpreter, call.self, {});
  return call.interpreter.none();
}

Sym list_copy(const MethodCall& call) {
  call.expect(0, 0);
  return make_list(sequence_items(call.interpreter, call.self));
}

// While a list is sorted, the key functions and comparisons find it empty.
Sym list_sort(const MethodCall& call) {
  if (call.count() != 0) throw_break("would_raise", "sort() takes no positional arguments");
  const std::vector<Sym> items = sequence_items(call.interpreter, call.self);
  auto& own = as<SequenceValue>(open_for_change(call.interpreter, call.self)).items;
  own.clear();
  std::vector<Sym> sorted;
  try {
    sorted = sort_items(call.interpreter, items, call.arguments.keywords);
  } catch (...) {
    own = items;
    throw;
  }
  if (!own.empty()) throw_break("would_raise", "a list is changed while it is sorted");
  list_assign(call.interpreter, call.self, std::move(sorted));
  return call.interpreter.none();
}

// ---- dicts

Sym dict_get(const MethodCall& call) {
  call.expect(1, 2);
  if (Sym found = find_in_dict(call.interpreter, call.self, call[0])) return found;
  return call.count() > 1 ? call[1] : call.interpreter.none();
}

template <DictView::Part part>
Sym dict_view(const MethodCall& call) {
  call.expect(0, 0);
  return std::make_shared<DictView>(call.self, part);
}

Sym dict_copy(const MethodCall& call) {
  call.expect(0, 0);
  return copy_of_dict(call.interpreter, call.self);
}

Sym dict_pop(const MethodCall& call) {
  call.expect(1, 2);
  Sym found = find_in_dict(call.interpreter, call.self, call[0]);
  if (!found) {
    if (call.count() > 1) return call[1];
    throw_error(PyExc_KeyError, {call[0]});
  }
  dict_remove(call.interpreter, call.self, call[0], "pop");
  return found;
}

Sym dict_popitem(const MethodCall& call) {
  call.expect(0, 0);
  const auto items = dict_items(call.interpreter, call.self);
  if (items.empty()) throw_error(PyExc_KeyError, "popitem(): dictionary is empty");
  const auto& [key, value] = items.back();
  dict_remove(call.interpreter, call.self, key, "popitem");
  return make_tuple({key, value});
}

Sym dict_setdefault(const MethodCall& call) {
  call.expect(1, 2);
  if (Sym found = find_in_dict(call.interpreter, call.self, call[0])) return found;
  Sym value = call.count() > 1 ? call[1] : call.interpreter.none();
  dict_set(call.interpreter, call.self, call[0], value);
  return value;
}

Sym dict_update(const MethodCall& call) {
  if (call.count() > 1) throw_break("would_raise", "update() with several arguments");
  if (call.count() == 1) {
    for (auto& [key, value] : collect_pairs(call.interpreter, call[0])) {
      dict_set(call.interpreter, call.self, key, value);
    }
  }
  for (const auto& [key, value] : call.arguments.keywords) {
    dict_set(call.interpreter, call.self, call.interpreter.object(key), value);
  }
  return call.interpreter.none();
}

Sym clear_dict(const MethodCall& call) {
  call.expect(0, 0);
  dict_clear(call.interpreter, call.self);
  return call.interpreter.none();
}

using Methods = std::map<std::string, Method, std::less<>>;

const Methods* methods_of(const Sym& self) {
  static const Methods tuple{{"index", sequence_index}, {"count", sequence_count}};
  static const Methods list{
      {"index", sequence_index}, {"count", sequence_count}, {"append", append_method},
      {"extend", extend_method}, {"insert", insert_method}, {"pop", list_pop},
      {"remove", remove_method}, {"reverse", list_reverse}, {"clear", list_clear},
      {"copy", list_copy},       {"sort", list_sort}};
  static const Methods dict{{"get", dict_get},
                            {"keys", dict_view<DictView::Part::kKeys>},
                            {"values", dict_view<DictView::Part::kValues>},
                            {"items", dict_view<DictView::Part::kItems>},
                            {"copy", dict_copy},
                            {"pop", dict_pop},
                            {"popitem", dict_popitem},
                            {"setdefault", dict_setdefault},
                            {"update", dict_update},
                            {"clear", clear_dict}};
  static const Methods grown{{"append", append_method}, {"pop", list_pop}};
  if (self->kind == SymKind::kGrownList) return &grown;
  if (is_tuple(self)) return &tuple;
  if (is_list_based(self)) return &list;
  if (is_dict_based(self)) return &dict;
  return nullptr;
}

}  // namespace

bool has_container_method(const Sym& self, const std::string& name) {
  if (is_set(self)) return has_set_method(name);
  const Methods* methods = methods_of(self);
  return methods != nullptr && methods->contains(name);
}

Sym container_method(Interpreter& interpreter, const Sym& self, const std::string& name,
                     const CallArguments& arguments) {
  if (is_set(self) && has_set_method(name)) {
    return set_method(interpreter, self, name, arguments);
  }
  const Methods* methods = methods_of(self);
  const auto found = methods ? methods->find(name) : Methods::const_iterator{};
  if (methods == nullptr || found == methods->end()) {
    throw_break("unsupported_call", fmt::format("method {} of a {}", name, type_name(self)));
  }
  try {
    return found->second({interpreter, self, name, arguments});
  } catch (const Raised& raised) {
    // How far a method has come when code that it calls raises is not followed.
    if (raised.is_new) throw;
    throw *raised.exception->place;
  }
}

std::vector<std::pair<Sym, Sym>> collect_pairs(Interpreter& interpreter, const Sym& value) {
  // CPython reads a subclass of dict past what it overrides, unless that is __iter__.
  const bool is_read_as_dict = is_container_instance(value) && is_dict_based(value) &&
                               object_of(value).type()->tp_iter == PyDict_Type.tp_iter;
  if (is_dict(value) || is_read_as_dict) return dict_items(interpreter, value);
  if (Sym dict = dict_of_library_object(value)) return dict_items(interpreter, dict);
  if (is_instance_dict(value))
    return dict_items(interpreter, copy_of_instance_dict(interpreter, value));
  if (value->kind == SymKind::kObject && !is_list(value) && !is_tuple(value)) {
    const Ref keys = checked(PyUnicode_InternFromString("keys"));
    if (_PyType_Lookup(object_of(value).type(), keys.get()) != nullptr) {
      throw_break("unsupported_value", "a dict is made of a " + type_name(value));
    }
  }
  std::vector<std::pair<Sym, Sym>> pairs;
  for (const Sym& item : collect_items(interpreter, value)) {
    auto pair = collect_items(interpreter, item);
    if (pair.size() != 2) throw_break("would_raise", "a dict is made of something else than pairs");
    pairs.emplace_back(pair[0], pair[1]);
  }
  return pairs;
}

}  // namespace numlift::frame_eval
