#include "symbolic/enums.h"

#include "numlift/numpy_shim/dtypes.h"
#include "numlift/py/py_error.h"
#include "symbolic/builtins.h"
#include "symbolic/numpy_calls.h"
#include "symbolic/pure.h"
#include "symbolic/pure_calls.h"

namespace numlift::frame_eval {

namespace {

PyTypeObject* as_type(BorrowedRef object) { return reinterpret_cast<PyTypeObject*>(object.get()); }

bool is_of_module_enum(BorrowedRef function) {
  if (!PyFunction_Check(function.get())) return true;  // C code, or no method at all
  PyObject* module = PyDict_GetItemString(PyFunction_GET_GLOBALS(function.get()), "__name__");
  return module != nullptr && utf8_text(module) == "enum";
}

// The metaclass keeps the members by name and by value.
PyObject* class_dict_item(BorrowedRef enum_class, const char* name) {
  Ref text = checked(PyUnicode_InternFromString(name));
  return _PyType_Lookup(as_type(enum_class), text.get());
}

bool runs_at_class_creation(const std::string& method) {
  return method == "__new__" || method == "__init__" || method == "__init_subclass__" ||
         method == "__set_name__";
}

}  // namespace

bool is_enum_class(BorrowedRef object) {
  if (!PyType_Check(object.get()) || Py_TYPE(object.get()) == &PyType_Type) return false;
  return reinterpret_cast<PyObject*>(object.type()) == known_object("enum", "EnumType").get();
}

bool is_enum_member(BorrowedRef object) {
  return is_enum_class(reinterpret_cast<PyObject*>(object.type()));
}

bool is_plain_enum_member(BorrowedRef object) {
  if (!is_enum_member(object)) return false;
  PyObject* mro = object.type()->tp_mro;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(mro); ++i) {
    PyObject* base = PyTuple_GET_ITEM(mro, i);
    if (!(as_type(base)->tp_flags & Py_TPFLAGS_HEAPTYPE)) continue;
    Ref dict = checked(PyObject_GetAttrString(base, "__dict__"));
    Ref items = checked(PyMapping_Items(dict.get()));
    for (Py_ssize_t k = 0; k < PyList_GET_SIZE(items.get()); ++k) {
      PyObject* item = PyList_GET_ITEM(items.get(), k);
      const std::string name = utf8_text(PyTuple_GET_ITEM(item, 0));
      if (name.starts_with("__") && !runs_at_class_creation(name) &&
          !is_of_module_enum(PyTuple_GET_ITEM(item, 1))) {
        return false;
      }
    }
  }
  return true;
}

namespace {

// The number that a member is, when it does what `is_as_number` asks about as a number does.
Sym member_number(Interpreter& interpreter, const Sym& value,
                  bool (*is_as_number)(const PyTypeObject& own, const PyTypeObject& base)) {
  if (value->kind != SymKind::kObject) return value;
  BorrowedRef object = object_of(value);
  const bool is_int = PyLong_Check(object.get()), is_float = PyFloat_Check(object.get());
  if ((!is_int && !is_float) || PyLong_CheckExact(object.get()) ||
      PyFloat_CheckExact(object.get()) || !is_enum_member(object)) {
    return value;
  }
  if (!is_as_number(*object.type(), is_int ? PyLong_Type : PyFloat_Type) ||
      !is_plain_enum_member(object)) {
    return value;
  }
  real_object(interpreter, value, "a member of an enum is used");
  return interpreter.tracer.constant(
      is_int ? checked(PyNumber_Add(checked(PyLong_FromLong(0)).get(), object.get()))
             : checked(PyFloat_FromDouble(PyFloat_AS_DOUBLE(object.get()))));
}

}  // namespace

// Flags have operators of their own.
Sym enum_number(Interpreter& interpreter, const Sym& value) {
  return member_number(
      interpreter, value, [](const PyTypeObject& own_type, const PyTypeObject& base_type) {
        const PyNumberMethods &own = *own_type.tp_as_number, &base = *base_type.tp_as_number;
        return own.nb_add == base.nb_add && own.nb_multiply == base.nb_multiply &&
               own.nb_or == base.nb_or;
      });
}

Sym enum_compared(Interpreter& interpreter, const Sym& value, const Sym& other) {
  if (is_numpy_value(other)) return enum_operand(interpreter, value, other);
  return member_number(interpreter, value, [](const PyTypeObject& own, const PyTypeObject& base) {
    return own.tp_richcompare == base.tp_richcompare;
  });
}

Sym enum_operand(Interpreter& interpreter, const Sym& value, const Sym& other) {
  if (!is_numpy_value(other)) return enum_number(interpreter, value);
  if (value->kind != SymKind::kObject || !PyLong_Check(object_of(value).get())) return value;
  const Sym number = enum_number(interpreter, value);
  if (number.get() == value.get()) return value;
  int overflow = 0;
  PyLong_AsLongLongAndOverflow(object_of(number).get(), &overflow);
  if (overflow != 0) return value;
  return interpreter.tracer.constant(must(PyObject_CallOneArg(
      numpy_shim::scalar_class_of(DType::kInt64).get(), object_of(number).get())));
}

Sym enum_class_attribute(Interpreter& interpreter, const Sym& owner, BorrowedRef name) {
  PyObject* by_name = class_dict_item(object_of(owner), "_member_map_");
  if (by_name == nullptr || !PyDict_CheckExact(by_name)) return nullptr;
  PyObject* member = PyDict_GetItemWithError(by_name, name.get());
  if (member == nullptr) {
    PyErr_Clear();
    return nullptr;
  }
  real_object(interpreter, owner, "a member of it is used");
  return interpreter.object(member);
}

Sym enum_member_attribute(Interpreter& interpreter, const Sym& owner, BorrowedRef name) {
  BorrowedRef object = object_of(owner);
  PyObject* raw = _PyType_Lookup(object.type(), name.get());
  const std::string text = utf8_text(name);
  const bool is_own = text == "_value_" || text == "_name_";
  if (raw != nullptr && Py_TYPE(raw) == &PyMethodDescr_Type && is_plain_enum_member(object)) {
    return std::make_shared<MethodValue>(owner, nullptr, Ref::create(name));
  }
  if (!is_own) {
    if (raw == nullptr ||
        reinterpret_cast<PyObject*>(Py_TYPE(raw)) != known_object("enum", "property").get()) {
      return nullptr;
    }
    Ref getter = must(PyObject_GetAttrString(raw, "fget"));
    if (!PyFunction_Check(getter.get()) || !is_of_module_enum(getter)) return nullptr;
  }
  real_object(interpreter, owner, "a member of an enum is used");
  return value_from_real(interpreter, must(PyObject_GetAttr(object.get(), name.get())));
}

Sym call_enum_class(Interpreter& interpreter, const Sym& owner, const CallArguments& arguments) {
  if (arguments.positional.size() != 1 || !arguments.keywords.empty()) return nullptr;
  auto value = known_value(interpreter, arguments.positional[0]);
  if (!value) return nullptr;
  BorrowedRef enum_class = object_of(owner);
  PyObject* member = value->get();
  if (reinterpret_cast<PyObject*>(Py_TYPE(member)) != enum_class.get()) {
    PyObject* by_value = class_dict_item(enum_class, "_value2member_map_");
    if (by_value == nullptr || !PyDict_CheckExact(by_value)) return nullptr;
    member = PyDict_GetItemWithError(by_value, value->get());
    PyErr_Clear();
    if (member == nullptr) return nullptr;
  }
  real_object(interpreter, owner, "it is called");
  return interpreter.object(member);
}

Sym enum_class_item(Interpreter& interpreter, const Sym& owner, const Sym& key) {
  auto name = pure_constant(interpreter, key, "the name of a member");
  if (!name || !PyUnicode_CheckExact(name->get())) return nullptr;
  return enum_class_attribute(interpreter, owner, *name);
}

std::optional<std::vector<Sym>> enum_members(Interpreter& interpreter, const Sym& owner) {
  Ref members = Ref::steal(PySequence_List(object_of(owner).get()));
  if (!members) {
    PyErr_Clear();
    return std::nullopt;
  }
  real_object(interpreter, owner, "its members are used");
  std::vector<Sym> items;
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(members.get()); ++i) {
    items.push_back(interpreter.object(PyList_GET_ITEM(members.get(), i)));
  }
  return items;
}

}  // namespace numlift::frame_eval
