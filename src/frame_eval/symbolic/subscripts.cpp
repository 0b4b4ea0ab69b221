// Subscripts, and the lengths and indices that they ask for.
#include "numlift/py/py_error.h"
#include "symbolic/attributes.h"
#include "symbolic/containers.h"
#include "symbolic/enums.h"
#include "symbolic/exceptions.h"
#include "symbolic/outside_containers.h"
#include "symbolic/grown_list.h"
#include "symbolic/pure.h"
#include "symbolic/python_scalars.h"
#include "symbolic/regions.h"
#include "symbolic/special_methods.h"
#include "symbolic/operators.h"

namespace numlift::frame_eval {

int64_t concrete_int(Interpreter& interpreter, const Sym& value, const char* what) {
  Sym known = concrete(interpreter, enum_number(interpreter, value), what);
  if (is_numpy_value(known)) {
    // An index may be any integer scalar: what matters is its value now.
    known = concrete(interpreter, numpy_to_number(interpreter.tracer, &PyLong_Type, known), what);
  }
  auto real = pure_constant(interpreter, known, what);
  if (!real || !PyLong_Check(real->get())) {
    throw_break("unsupported_value", fmt::format("{} by a {}", what, type_name(value)));
  }
  int overflow = 0;
  const long long number = PyLong_AsLongLongAndOverflow(real->get(), &overflow);
  if (overflow != 0) throw_break("would_raise", "an int beyond 64 bits as index or count");
  return number;
}

Sym get_item(Interpreter& interpreter, const Sym& container, const Sym& key) {
  if (is_numpy_value(container)) return numpy_get_item(interpreter.tracer, container, key);
  if (is_dict(container)) {
    if (Sym found = find_in_dict(interpreter, container, key)) return found;
    throw_error(PyExc_KeyError, {key});
  }
  if (interpreter.regions != nullptr) {
    if (Sym item = interpreter.regions->item_of(container, key)) return item;
  }
  if (is_list(container) || is_tuple(container)) return sequence_item(interpreter, container, key);
  if (container->kind == SymKind::kObject && is_enum_class(object_of(container))) {
    if (Sym member = enum_class_item(interpreter, container, key)) return member;
  }
  if (Sym made = numpy_index_object(interpreter.tracer, container, key)) return made;
  if (auto real = pure_constant(interpreter, container, "a subscript")) {
    auto real_key =
        interpreter.tracer.as_deep_constant(key, "a subscript at " + interpreter.location_text());
    if (real_key && is_pure(*real_key) && !PyType_Check(real->get())) {
      return interpreter.tracer.constant(must(PyObject_GetItem(real->get(), real_key->get())));
    }
  }
  if (container->kind == SymKind::kObject && PyType_Check(object_of(container).get())) {
    const Ref name = checked(PyUnicode_InternFromString("__class_getitem__"));
    const Sym method = class_member(interpreter, object_of(container), name);
    if (method && method->kind == SymKind::kObject &&
        object_of(method).type() == &PyClassMethod_Type &&
        object_of(container).type() == &PyType_Type) {
      return call_value(interpreter, get_attribute(interpreter, container, name), {{key}, {}});
    }
  }
  if (auto result = special_method(interpreter, container, "__getitem__", {key})) return result;
  throw_value_break(container, "a subscript of a " + type_name(container));
}

void set_item(Interpreter& interpreter, const Sym& container, const Sym& key, const Sym& value) {
  if (is_numpy_value(container)) {
    numpy_set_item(interpreter.tracer, container, key, value);
    return;
  }
  if (is_dict(container)) {
    dict_set(interpreter, container, key, value);
    return;
  }
  if (interpreter.regions != nullptr && interpreter.regions->set_item(container, key, value))
    return;
  if (is_list(container)) {
    list_set(interpreter, container, key, value);
    return;
  }
  if (has_python_method(interpreter, container, "__setitem__") &&
      special_method(interpreter, container, "__setitem__", {key, value})) {
    return;
  }
  throw_break("side_effect", fmt::format("item assignment to a {}", type_name(container)));
}

void delete_item_of_list(Interpreter& interpreter, const Sym& list, const Sym& key) {
  // 3.14 makes one object of constant bounds.
  if (key->kind == SymKind::kSlice ||
      (key->kind == SymKind::kObject && PySlice_Check(object_of(key).get()))) {
    list_set(interpreter, list, key, make_list({}));
    return;
  }
  const auto length = static_cast<int64_t>(sequence_items(interpreter, list).size());
  int64_t index = concrete_int(interpreter, key, "index into a list");
  if (index < 0) index += length;
  if (index < 0 || index >= length) {
    throw_error(PyExc_IndexError, "list assignment index out of range");
  }
  list_remove(interpreter, list, index);
}

void delete_item(Interpreter& interpreter, const Sym& container, const Sym& key) {
  if (is_dict(container)) {
    if (!dict_remove(interpreter, container, key)) throw_error(PyExc_KeyError, {key});
    return;
  }
  if (is_list(container)) {
    delete_item_of_list(interpreter, container, key);
    return;
  }
  if (has_python_method(interpreter, container, "__delitem__") &&
      special_method(interpreter, container, "__delitem__", {key})) {
    return;
  }
  throw_break("side_effect", fmt::format("del of an item of a {}", type_name(container)));
}

Sym length_of(Interpreter& interpreter, const Sym& value) {
  if (is_numpy_value(value)) return numpy_length(interpreter.tracer, value);
  switch (value->kind) {
    case SymKind::kTuple:
    case SymKind::kList:
      return interpreter.integer(static_cast<int64_t>(as<SequenceValue>(value).items.size()));
    case SymKind::kGrownList:
      return interpreter.tracer.new_size(grown_length(interpreter.tracer, as<GrownList>(value)));
    case SymKind::kSet:
      return interpreter.integer(PySet_GET_SIZE(as<SetValue>(value).real.get()));
    default:
      break;  // NOLINT: the kinds without a length go on below
  }
  if (is_dict(value)) return interpreter.integer(dict_length(interpreter, value));
  if (auto* view = dynamic_cast<DictView*>(value.get())) {
    return interpreter.integer(dict_length(interpreter, view->dict));
  }
  if (value->kind == SymKind::kObject && is_enum_class(object_of(value))) {
    if (auto members = enum_members(interpreter, value))
      return interpreter.integer(static_cast<int64_t>(members->size()));
  }
  if (is_outside_set(value)) return interpreter.integer(outside_set_size(interpreter, value));
  if (is_list(value)) {
    return interpreter.integer(static_cast<int64_t>(sequence_items(interpreter, value).size()));
  }
  if (auto real = pure_constant(interpreter, value, "its length")) {
    const Py_ssize_t length = PyObject_Length(real->get());
    if (length < 0) {
      PyErr_Clear();
      throw_break("would_raise", fmt::format("a {} has no len()", type_name(value)));
    }
    return interpreter.integer(length);
  }
  if (auto result = special_method(interpreter, value, "__len__", {})) return result;
  throw_value_break(value, "len() of a " + type_name(value));
}

}  // namespace numlift::frame_eval
