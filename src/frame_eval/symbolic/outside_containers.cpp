#include "symbolic/outside_containers.h"

#include <algorithm>
#include <map>

#include "numlift/py/py_error.h"
#include "symbolic/builtins.h"
#include "symbolic/containers.h"
#include "symbolic/exceptions.h"
#include "symbolic/iterators.h"
#include "symbolic/library_objects.h"
#include "symbolic/limits.h"
#include "symbolic/operators.h"
#include "symbolic/polyfills.h"
#include "symbolic/pure.h"
#include "symbolic/side_effects.h"

namespace numlift::frame_eval {

using guards::Source;

namespace {

// ---------------------------------------------------------------- sets

constexpr const char* kAdd = "add";
constexpr const char* kDiscard = "discard";

// A set that holds objects of user classes compares by their methods.
void check_items(const Sym& set) {
  const Ref items = must(PySequence_Tuple(object_of(set).get()));
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(items.get()); ++i) {
    PyObject* item = PyTuple_GET_ITEM(items.get(), i);
    if (!is_pure(item) && !compares_by_identity(item)) {
      throw_break("unsupported_value", "a set with items of user classes");
    }
  }
}

// Put in or taken out.
void change_item(Interpreter& interpreter, const Sym& set, const char* how, const Sym& item) {
  const Sym known = constant_key(interpreter, item);
  if (as<ObjectValue>(known).is_new) {
    throw_break("unsupported_value", "an object made in the frame as item of a set");
  }
  type_of(interpreter, set);
  check_items(set);
  record_method(interpreter, &PySet_Type, how, {set, known});
  ObjectState& state = as<ObjectValue>(set).changed();
  if (state.content) {
    set_method(interpreter, state.content, how, {{known}, {}});
  } else {
    state.calls.push_back({how, {known}});
  }
}

// All of the set as it is now.
const Sym& opened_set(Interpreter& interpreter, const Sym& set) {
  ObjectState& state = as<ObjectValue>(set).changed();
  if (state.content) return state.content;
  check_items(set);
  const Py_ssize_t size = PySet_GET_SIZE(object_of(set).get());
  check_size(size, kMaxSequenceItems, "set");
  guard_length(interpreter, set, size);
  const Ref items = must(PySequence_Tuple(object_of(set).get()));
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(items.get()); ++i) {
    PyObject* item = PyTuple_GET_ITEM(items.get(), i);
    if (!is_pure(item) && !is_lasting_key(item, set->source.get())) {
      throw_break("unsupported_value", "a set with a " + std::string(Py_TYPE(item)->tp_name));
    }
    interpreter.tracer.guard(Source::dict_item(container_source(set), item), guards::IsPresent{},
                             "an item of the set at " + interpreter.location_text());
  }
  const auto content = std::make_shared<SetValue>(checked(PySet_New(object_of(set).get())));
  for (const auto& [how, arguments] : state.calls)
    set_method(interpreter, content, how, {arguments, {}});
  state.content = content;
  return state.content;
}

std::vector<Sym> items_of(Interpreter& interpreter, const Sym& set, const Sym& iterable) {
  if (iterable == set) return set_items(interpreter, opened_set(interpreter, set));
  if (is_outside_set(iterable)) return set_items(interpreter, opened_set(interpreter, iterable));
  return collect_unordered(interpreter, iterable);
}

void change_items(Interpreter& interpreter, const Sym& set, const char* how, const Sym& iterable) {
  // The order in which items are put in makes the set's own order.
  if (how == std::string_view(kAdd) && iterable != set && is_outside_set(iterable)) {
    type_of(interpreter, iterable);
    throw_break("set_order", "the items of a set are put into another one");
  }
  for (const Sym& item : items_of(interpreter, set, iterable))
    change_item(interpreter, set, how, item);
}

Sym clear_set(Interpreter& interpreter, const Sym& set) {
  type_of(interpreter, set);
  record_method(interpreter, &PySet_Type, "clear", {set});
  ObjectState& state = as<ObjectValue>(set).changed();
  state.calls.clear();
  state.content = std::make_shared<SetValue>(checked(PySet_New(nullptr)));
  return interpreter.none();
}

Sym remove_item(Interpreter& interpreter, const Sym& set, const Sym& item) {
  if (!outside_set_contains(interpreter, set, item)) throw_error(PyExc_KeyError, {item});
  change_item(interpreter, set, kDiscard, item);
  return interpreter.none();
}

constexpr std::string_view kQuestions[] = {"isdisjoint", "issubset", "issuperset"};
constexpr std::string_view kChanges[] = {"add",   "discard", "remove",
                                         "clear", "update",  "difference_update"};

bool is_one_of(const auto& names, const std::string& name) {
  return std::find(std::begin(names), std::end(names), name) != std::end(names);
}

}  // namespace

bool is_outside_set(const Sym& value) {
  return value->kind == SymKind::kObject && PySet_CheckExact(object_of(value).get());
}

bool has_outside_set_method(const std::string& name) {
  return is_one_of(kQuestions, name) || is_one_of(kChanges, name);
}

Sym call_outside_set(Interpreter& interpreter, const Sym& set, const std::string& name,
                     const CallArguments& arguments) {
  const auto& given = arguments.positional;
  if (!arguments.keywords.empty()) return nullptr;
  if (is_one_of(kQuestions, name)) {
    std::vector<Sym> others;
    for (const Sym& one : given)
      others.push_back(is_outside_set(one) ? opened_set(interpreter, one) : one);
    return set_method(interpreter, opened_set(interpreter, set), name, {others, {}});
  }
  if (name == "update" || name == "difference_update") {
    for (const Sym& one : given)
      change_items(interpreter, set, name == "update" ? kAdd : kDiscard, one);
    return interpreter.none();
  }
  if (name == "clear" && given.empty()) return clear_set(interpreter, set);
  if (given.size() != 1) return nullptr;
  if (name == "remove") return remove_item(interpreter, set, given[0]);
  if (name != kAdd && name != kDiscard) return nullptr;
  change_item(interpreter, set, name == kAdd ? kAdd : kDiscard, given[0]);
  return interpreter.none();
}

bool outside_set_contains(Interpreter& interpreter, const Sym& set, const Sym& item) {
  const Sym known = constant_key(interpreter, item);
  if (as<ObjectValue>(known).is_new) return false;
  BorrowedRef key = object_of(known);
  if (const ObjectState* state = as<ObjectValue>(set).state.get()) {
    if (state->content) return set_contains(interpreter, state->content, known);
    for (auto call = state->calls.rbegin(); call != state->calls.rend(); ++call) {
      if (same_key(object_of(call->second[0]), key)) return call->first == kAdd;
    }
  }
  check_items(set);
  type_of(interpreter, set);
  const int found = PySet_Contains(object_of(set).get(), key);
  if (found < 0) must(nullptr);
  using guards::Predicate;
  interpreter.tracer.guard(
      Source::dict_item(container_source(set), key),
      found == 1 ? Predicate(guards::IsPresent{}) : Predicate(guards::IsAbsent{}),
      "it is looked for at " + interpreter.location_text());
  return found == 1;
}

int64_t outside_set_size(Interpreter& interpreter, const Sym& set) {
  if (as<ObjectValue>(set).state)
    return PySet_GET_SIZE(as<SetValue>(opened_set(interpreter, set)).real.get());
  const Py_ssize_t size = PySet_GET_SIZE(object_of(set).get());
  guard_length(interpreter, set, size);
  return size;
}

Sym copy_of_outside_set(Interpreter& interpreter, const Sym& set) {
  return std::make_shared<SetValue>(
      checked(PySet_New(as<SetValue>(opened_set(interpreter, set)).real.get())));
}

bool change_outside_set(Interpreter& interpreter, int nb_op, const Sym& set, const Sym& other) {
  const bool is_set_like = is_set(other) || is_outside_set(other);
  if (!is_set_like || (nb_op != kNbOr && nb_op != kNbSubtract)) return false;
  change_items(interpreter, set, nb_op == kNbOr ? kAdd : kDiscard, other);
  return true;
}

// ---------------------------------------------------------------- deques

namespace {

PyTypeObject* deque_class() {
  return reinterpret_cast<PyTypeObject*>(known_object("collections", "deque").get());
}

enum class Change : uint8_t {
  kNone,
  kBlind,  // nothing has to be known of the deque
  kCall,   // the same call, made later
  kWhole   // all items are put in anew
};

Change change_of(const std::string& name) {
  static const std::map<std::string, Change, std::less<>> changes{
      {"append", Change::kBlind},     {"appendleft", Change::kBlind},
      {"clear", Change::kBlind},      {"pop", Change::kCall},
      {"popleft", Change::kCall},     {"rotate", Change::kCall},
      {"reverse", Change::kCall},     {"insert", Change::kCall},
      {"__setitem__", Change::kCall}, {"__delitem__", Change::kCall},
      {"remove", Change::kWhole},     {"__imul__", Change::kWhole},
  };
  const auto found = changes.find(name);
  return found == changes.end() ? Change::kNone : found->second;
}

void record_call(Interpreter& interpreter, const Sym& deque, const std::string& name,
                 const std::vector<Sym>& arguments) {
  std::vector<Sym> all{deque};
  all.insert(all.end(), arguments.begin(), arguments.end());
  record_method(interpreter, deque_class(), name.c_str(), std::move(all));
}

void put_in(Interpreter& interpreter, const Sym& deque, const char* how, const Sym& iterable) {
  if (iterable == deque) {
    const Sym items = as_library_object(opened_deque(interpreter, deque))->fields.at("_items");
    for (const Sym& item : sequence_items(interpreter, items))
      call_outside_deque(interpreter, deque, how, {{item}, {}});
    return;
  }
  // What the iterator runs sees the deque grow.
  const auto iterator = make_iterator(interpreter, iterable);
  while (Sym item = iterator->next(interpreter.tracer))
    call_outside_deque(interpreter, deque, how, {{item}, {}});
}

}  // namespace

bool is_outside_deque(const Sym& value) {
  return value->kind == SymKind::kObject && object_of(value).type() == deque_class();
}

Sym opened_deque(Interpreter& interpreter, const Sym& deque) {
  if (const auto& state = as<ObjectValue>(deque).state; state && state->content)
    return state->content;
  BorrowedRef real = object_of(deque);
  const auto size = PyObject_Length(real.get());
  check_size(size, kMaxSequenceItems, "collections.deque");
  guard_length(interpreter, deque, size);
  const Ref limit = must(PyObject_GetAttrString(real.get(), "maxlen"));
  interpreter.tracer.guard(Source::part(container_source(deque), Source::Part::kDequeLimit),
                           guards::EqualsConstant{limit}, "the bound of a deque");
  std::vector<Sym> items;
  for (Py_ssize_t i = 0; i < size; ++i) {
    items.push_back(interpreter.tracer.outside(must(PySequence_GetItem(real.get(), i)),
                                               Source::item(container_source(deque), i)));
  }
  auto content = std::make_shared<LibraryObject>();
  content->cls = Ref::create(reinterpret_cast<PyObject*>(deque_class()));
  content->polyfill = Ref::create(find_polyfill("collections.deque"));
  content->fields["_items"] = make_list(std::move(items));
  content->fields["_limit"] = interpreter.object(limit);
  content->fields["_changes"] = interpreter.integer(0);
  ObjectState& state = as<ObjectValue>(deque).changed();
  state.content = content;
  for (const auto& [name, arguments] : state.calls)
    call_library_method(interpreter, content, name, {arguments, {}});
  return content;
}

Sym call_outside_deque(Interpreter& interpreter, const Sym& deque, const std::string& name,
                       const CallArguments& arguments) {
  interpreter.direct_caller = nullptr;
  const auto& given = arguments.positional;
  if (!arguments.keywords.empty()) return nullptr;
  if ((name == "extend" || name == "__iadd__" || name == "extendleft") && given.size() == 1) {
    put_in(interpreter, deque, name == "extendleft" ? "appendleft" : "append", given[0]);
    return name == "__iadd__" ? deque : interpreter.none();
  }
  const Change change = change_of(name);
  const size_t wanted = name == "clear" ? 0 : 1;
  if (change == Change::kBlind) {
    if (given.size() != wanted) return nullptr;
    type_of(interpreter, deque);
    record_call(interpreter, deque, name, given);
    ObjectState& state = as<ObjectValue>(deque).changed();
    if (state.content) return call_library_method(interpreter, state.content, name, arguments);
    state.calls.push_back({name, given});
    return interpreter.none();
  }
  const Sym content = opened_deque(interpreter, deque);
  Sym result = call_library_method(interpreter, content, name, arguments);
  if (change == Change::kCall) record_call(interpreter, deque, name, given);
  if (change == Change::kWhole) {
    record_call(interpreter, deque, "clear", {});
    const Sym items = as_library_object(content)->fields.at("_items");
    record_call(interpreter, deque, "extend", {make_list(sequence_items(interpreter, items))});
    if (name == "__imul__") return deque;
  }
  return result;
}

}  // namespace numlift::frame_eval
