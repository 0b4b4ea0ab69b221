#include "symbolic/named_tuples.h"

#include "numlift/py/py_error.h"
#include "symbolic/attributes.h"
#include "symbolic/builtins.h"
#include "symbolic/containers.h"
#include "symbolic/pure.h"

namespace numlift::frame_eval {

namespace {

Ref attribute(BorrowedRef object, const char* name) {
  Ref value = Ref::steal(PyObject_GetAttrString(object.get(), name));
  if (!value) PyErr_Clear();
  return value;
}

// Special methods that decide what an instance is to operators and to NumPy.
constexpr const char* kMethodsOfValues[] = {
    "__getattribute__",
    "__getattr__",
    "__iter__",
    "__eq__",
    "__ne__",
    "__lt__",
    "__le__",
    "__gt__",
    "__ge__",
    "__hash__",
    "__len__",
    "__getitem__",
    "__contains__",
    "__bool__",
    "__neg__",
    "__pos__",
    "__invert__",
    "__abs__",
    "__index__",
    "__int__",
    "__float__",
    "__round__",
    "__call__",
    "__array_ufunc__",
    "__array_function__",
    "__array__",
    "__array_interface__",
    "__array_struct__",
    "__array_priority__",
    "__add__",
    "__radd__",
    "__iadd__",
    "__and__",
    "__rand__",
    "__iand__",
    "__floordiv__",
    "__rfloordiv__",
    "__ifloordiv__",
    "__lshift__",
    "__rlshift__",
    "__ilshift__",
    "__matmul__",
    "__rmatmul__",
    "__imatmul__",
    "__mul__",
    "__rmul__",
    "__imul__",
    "__mod__",
    "__rmod__",
    "__imod__",
    "__or__",
    "__ror__",
    "__ior__",
    "__pow__",
    "__rpow__",
    "__ipow__",
    "__rshift__",
    "__rrshift__",
    "__irshift__",
    "__sub__",
    "__rsub__",
    "__isub__",
    "__truediv__",
    "__rtruediv__",
    "__itruediv__",
    "__xor__",
    "__rxor__",
    "__ixor__",
};

// The class has those of tuple, and no others.
bool behaves_as_tuple(PyTypeObject* type) {
  for (const char* method : kMethodsOfValues) {
    const Ref name = checked(PyUnicode_InternFromString(method));
    if (_PyType_Lookup(type, name.get()) != _PyType_Lookup(&PyTuple_Type, name.get())) return false;
  }
  return true;
}

}  // namespace

bool is_named_tuple_class(BorrowedRef object) {
  if (!PyType_Check(object.get())) return false;
  auto* type = reinterpret_cast<PyTypeObject*>(object.get());
  if (!PyType_IsSubtype(type, &PyTuple_Type) || Py_TYPE(type) != &PyType_Type) return false;
  if (type->tp_init != PyBaseObject_Type.tp_init || !behaves_as_tuple(type)) return false;
  Ref fields = attribute(object, "_fields"), maker = attribute(object, "__new__");
  if (!fields || !PyTuple_CheckExact(fields.get()) || !maker || !PyFunction_Check(maker.get()))
    return false;
  PyObject* module = PyDict_GetItemString(PyFunction_GET_GLOBALS(maker.get()), "__name__");
  return module != nullptr && utf8_text(module).starts_with("namedtuple_");
}

bool is_named_tuple(BorrowedRef object) {
  PyTypeObject* type = object.type();
  return PyTuple_Check(object.get()) && type != &PyTuple_Type &&
         _PyObject_GetDictPtr(object.get()) == nullptr &&
         is_named_tuple_class(reinterpret_cast<PyObject*>(type));
}

Sym new_tuple(Interpreter& interpreter, const CallArguments& arguments) {
  ArgumentReader read("tuple.__new__", arguments);
  read.expect(1, 2);
  auto cls = real_object(interpreter, read[0], "a tuple of this class is made");
  const bool is_plain = cls && cls->get() == reinterpret_cast<PyObject*>(&PyTuple_Type);
  if (!cls || (!is_plain && !is_named_tuple_class(*cls))) {
    throw_break("unsupported_call", "tuple.__new__() of such a class");
  }
  auto tuple = std::make_shared<SequenceValue>(SymKind::kTuple);
  if (read.count() == 2) tuple->items = collect_items(interpreter, read[1]);
  if (!is_plain) tuple->named_tuple_class = std::move(*cls);
  return tuple;
}

Sym make_named_tuple(Interpreter& interpreter, BorrowedRef named_tuple_class,
                     const CallArguments& arguments) {
  Ref fields = checked(PyObject_GetAttrString(named_tuple_class.get(), "_fields"));
  Ref defaults = checked(PyObject_GetAttrString(named_tuple_class.get(), "_field_defaults"));
  auto tuple = std::make_shared<SequenceValue>(SymKind::kTuple);
  tuple->named_tuple_class = Ref::create(named_tuple_class);
  const auto count = static_cast<size_t>(PyTuple_GET_SIZE(fields.get()));
  if (arguments.positional.size() > count)
    throw_break("would_raise", "too many fields of a named tuple");
  tuple->items = arguments.positional;
  tuple->items.resize(count);
  for (const auto& [keyword, value] : arguments.keywords) {
    size_t field = 0;
    while (field < count &&
           PyUnicode_Compare(PyTuple_GET_ITEM(fields.get(), static_cast<Py_ssize_t>(field)),
                             keyword.get()) != 0) {
      ++field;
    }
    if (field == count || tuple->items[field])
      throw_break("would_raise", "wrong field of a named tuple");
    tuple->items[field] = value;
  }
  for (size_t field = 0; field < count; ++field) {
    if (tuple->items[field]) continue;
    PyObject* value = PyDict_GetItemWithError(
        defaults.get(), PyTuple_GET_ITEM(fields.get(), static_cast<Py_ssize_t>(field)));
    if (value == nullptr || !is_pure(value)) {
      PyErr_Clear();
      throw_break("would_raise", "a field of a named tuple is missing");
    }
    tuple->items[field] = interpreter.object(value);
  }
  return tuple;
}

namespace {

// Null when `name` is none.
Sym named_tuple_field(const Sym& tuple, BorrowedRef name) {
  const auto& value = as<SequenceValue>(tuple);
  Ref fields = checked(PyObject_GetAttrString(value.named_tuple_class.get(), "_fields"));
  // A subclass may have put something else in the field's place.
  PyObject* raw =
      _PyType_Lookup(reinterpret_cast<PyTypeObject*>(value.named_tuple_class.get()), name);
  for (size_t i = 0; i < value.items.size(); ++i) {
    if (PyUnicode_Compare(PyTuple_GET_ITEM(fields.get(), static_cast<Py_ssize_t>(i)), name.get()) ==
        0) {
      if (raw == nullptr ||
          std::string_view(Py_TYPE(raw)->tp_name).find("_tuplegetter") == std::string_view::npos)
        break;
      return value.items[i];
    }
  }
  return nullptr;
}

}  // namespace

Sym named_tuple_attribute(Interpreter& interpreter, const Sym& tuple, BorrowedRef name) {
  if (Sym field = named_tuple_field(tuple, name)) return field;
  const Sym raw = type_attribute(interpreter, tuple, name);
  if (!raw) return nullptr;
  // What the class has from tuple is the tuple's.
  if (raw->kind == SymKind::kObject && (Py_TYPE(object_of(raw).get()) == &PyMethodDescr_Type ||
                                        Py_TYPE(object_of(raw).get()) == &PyWrapperDescr_Type)) {
    return nullptr;
  }
  return bind_attribute(interpreter, raw, tuple,
                        interpreter.object(as<SequenceValue>(tuple).named_tuple_class));
}

}  // namespace numlift::frame_eval
