#include "symbolic/container_classes.h"

#include <map>

#include "numlift/py/py_error.h"
#include "symbolic/containers.h"
#include "symbolic/exceptions.h"
#include "symbolic/instances.h"
#include "symbolic/iterators.h"
#include "symbolic/operators.h"
#include "symbolic/pure.h"
#include "symbolic/special_methods.h"

namespace numlift::frame_eval {

bool is_container_class(const PyTypeObject* type) {
  return type == &PyList_Type || type == &PyDict_Type;
}

bool is_container_instance(const Sym& value) {
  if (value->kind != SymKind::kObject) return false;
  PyTypeObject* type = object_of(value).type();
  return PyType_HasFeature(type, Py_TPFLAGS_LIST_SUBCLASS | Py_TPFLAGS_DICT_SUBCLASS) &&
         !is_container_class(type) && is_container_class(base_in_c(type));
}

void init_container(Interpreter& interpreter, const Sym& instance, const CallArguments& arguments) {
  if (is_list_based(instance)) {
    if (!arguments.keywords.empty() || arguments.positional.size() > 1) {
      throw_break("would_raise", "list() with these arguments");
    }
    if (!sequence_items(interpreter, instance).empty()) list_assign(interpreter, instance, {});
    if (!arguments.positional.empty()) {
      list_extend(interpreter, instance, arguments.positional[0]);
    }
    return;
  }
  container_method(interpreter, instance, "update", arguments);
}

Sym as_plain_container(Interpreter& interpreter, const Sym& value) {
  if (!is_container_instance(value)) return value;
  if (is_list_based(value)) return make_list(sequence_items(interpreter, value));
  return copy_of_dict(interpreter, value);
}

namespace {

struct Call {
  Interpreter& interpreter;
  const Sym& self;
  const std::vector<Sym>& arguments;  // without self
};
using Special = Sym (*)(const Call&);

Sym list_item(const Call& call) {
  return sequence_item(call.interpreter, call.self, call.arguments[0]);
}

Sym dict_item(const Call& call) {
  if (Sym found = find_in_dict(call.interpreter, call.self, call.arguments[0])) return found;
  if (Sym made = special_method(call.interpreter, call.self, "__missing__", {call.arguments[0]}))
    return made;
  throw_error(PyExc_KeyError, {call.arguments[0]});
}

Sym set_list_item(const Call& call) {
  list_set(call.interpreter, call.self, call.arguments[0], call.arguments[1]);
  return call.interpreter.none();
}

Sym set_dict_item(const Call& call) {
  dict_set(call.interpreter, call.self, call.arguments[0], call.arguments[1]);
  return call.interpreter.none();
}

Sym delete_list_item(const Call& call) {
  delete_item_of_list(call.interpreter, call.self, call.arguments[0]);
  return call.interpreter.none();
}

Sym delete_dict_item(const Call& call) {
  if (!dict_remove(call.interpreter, call.self, call.arguments[0]))
    throw_error(PyExc_KeyError, {call.arguments[0]});
  return call.interpreter.none();
}

Sym list_length(const Call& call) {
  return call.interpreter.integer(
      static_cast<int64_t>(sequence_items(call.interpreter, call.self).size()));
}

Sym dict_size(const Call& call) {
  return call.interpreter.integer(dict_length(call.interpreter, call.self));
}

Sym list_contains(const Call& call) {
  const Sym items = as_plain_container(call.interpreter, call.self);
  return call.interpreter.boolean(contains(call.interpreter, items, call.arguments[0]));
}

Sym dict_contains(const Call& call) {
  return call.interpreter.boolean(find_in_dict(call.interpreter, call.self, call.arguments[0]) !=
                                  nullptr);
}

Sym iterate(const Call& call) {
  return make_container_iterator(call.interpreter, call.self, false);
}
Sym iterate_backward(const Call& call) {
  return make_container_iterator(call.interpreter, call.self, true);
}

template <int compare>
Sym compare_with(const Call& call) {
  return compare_operation(call.interpreter, compare,
                           as_plain_container(call.interpreter, call.self),
                           as_plain_container(call.interpreter, call.arguments[0]));
}

// The result of an operator is a plain list or dict.
template <int nb_op>
Sym operate(const Call& call) {
  return binary_operation(call.interpreter, nb_op, false,
                          as_plain_container(call.interpreter, call.self),
                          as_plain_container(call.interpreter, call.arguments[0]));
}

Sym extend_in_place(const Call& call) {
  list_extend(call.interpreter, call.self, call.arguments[0]);
  return call.self;
}

Sym update_in_place(const Call& call) {
  container_method(call.interpreter, call.self, "update", {{call.arguments[0]}, {}});
  return call.self;
}

struct Entry {
  Special of_list, of_dict;
  size_t arguments;
};

const Entry* find_entry(const std::string& name) {
  static const std::map<std::string, Entry, std::less<>> entries{
      {"__getitem__", {list_item, dict_item, 1}},
      {"__setitem__", {set_list_item, set_dict_item, 2}},
      {"__delitem__", {delete_list_item, delete_dict_item, 1}},
      {"__len__", {list_length, dict_size, 0}},
      {"__contains__", {list_contains, dict_contains, 1}},
      {"__iter__", {iterate, iterate, 0}},
      {"__reversed__", {iterate_backward, iterate_backward, 0}},
      {"__eq__", {compare_with<kEqual>, compare_with<kEqual>, 1}},
      {"__ne__", {compare_with<kNotEqual>, compare_with<kNotEqual>, 1}},
      {"__lt__", {compare_with<kLess>, nullptr, 1}},
      {"__le__", {compare_with<kLessEqual>, nullptr, 1}},
      {"__gt__", {compare_with<kGreater>, nullptr, 1}},
      {"__ge__", {compare_with<kGreaterEqual>, nullptr, 1}},
      {"__add__", {operate<kNbAdd>, nullptr, 1}},
      {"__mul__", {operate<kNbMultiply>, nullptr, 1}},
      {"__rmul__", {operate<kNbMultiply>, nullptr, 1}},
      {"__iadd__", {extend_in_place, nullptr, 1}},
      {"__or__", {nullptr, operate<kNbOr>, 1}},
      {"__ior__", {nullptr, update_in_place, 1}},
  };
  const auto found = entries.find(name);
  return found == entries.end() ? nullptr : &found->second;
}

}  // namespace

Sym call_container_function(Interpreter& interpreter, BorrowedRef function,
                            const CallArguments& arguments) {
  if (function.type() != &PyWrapperDescr_Type && function.type() != &PyMethodDescr_Type)
    return nullptr;
  const PyTypeObject* cls = PyDescr_TYPE(function.get());
  if (!is_container_class(cls) || arguments.positional.empty()) return nullptr;
  const Sym self = arguments.positional[0];
  if (!is_container_instance(self)) return nullptr;
  if ((cls == &PyList_Type) != is_list_based(self)) return nullptr;
  type_of(interpreter, self);
  const std::string name = utf8_text(PyDescr_NAME(function.get()));
  CallArguments rest = arguments;
  rest.positional.erase(rest.positional.begin());
  if (name == "__init__") {
    init_container(interpreter, self, rest);
    return interpreter.none();
  }
  if (const Entry* entry = find_entry(name)) {
    const Special special = cls == &PyList_Type ? entry->of_list : entry->of_dict;
    if (special == nullptr || !rest.keywords.empty() ||
        rest.positional.size() != entry->arguments) {
      return nullptr;
    }
    return special({interpreter, self, rest.positional});
  }
  if (!has_container_method(self, name)) return nullptr;
  return container_method(interpreter, self, name, rest);
}

}  // namespace numlift::frame_eval
