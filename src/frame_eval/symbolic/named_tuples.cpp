#include "symbolic/named_tuples.h"

#include "numlift/py/py_error.h"
#include "symbolic/pure.h"

namespace numlift::frame_eval {

namespace {

Ref attribute(BorrowedRef object, const char* name) {
  Ref value = Ref::steal(PyObject_GetAttrString(object.get(), name));
  if (!value) PyErr_Clear();
  return value;
}

}  // namespace

bool is_named_tuple_class(BorrowedRef object) {
  if (!PyType_Check(object.get())) return false;
  auto* type = reinterpret_cast<PyTypeObject*>(object.get());
  if (!PyType_IsSubtype(type, &PyTuple_Type) || Py_TYPE(type) != &PyType_Type) return false;
  if (type->tp_init != PyBaseObject_Type.tp_init || type->tp_dictoffset != 0) return false;
  Ref fields = attribute(object, "_fields"), maker = attribute(object, "__new__");
  if (!fields || !PyTuple_CheckExact(fields.get()) || !maker || !PyFunction_Check(maker.get()))
    return false;
  PyObject* module = PyDict_GetItemString(PyFunction_GET_GLOBALS(maker.get()), "__name__");
  return module != nullptr && utf8_text(module).starts_with("namedtuple_");
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

Sym named_tuple_field(Interpreter&, const Sym& tuple, BorrowedRef name) {
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

}  // namespace numlift::frame_eval
