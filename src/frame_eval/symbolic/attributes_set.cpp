// Attributes that are set and deleted: obj.name = value, cls.name = value, module.name = value.
#include "numlift/py/py_error.h"
#include "symbolic/attributes.h"
#include "symbolic/exceptions.h"
#include "symbolic/functions.h"
#include "symbolic/instances.h"
#include "symbolic/library_objects.h"
#include "symbolic/made_classes.h"
#include "symbolic/numpy_calls.h"
#include "symbolic/pure.h"
#include "symbolic/side_effects.h"
#include "symbolic/special_methods.h"

namespace numlift::frame_eval {

namespace {

bool is_plain_value(Interpreter& interpreter, const Sym& value) {
  if (value->kind == SymKind::kFunction || value->kind == SymKind::kIterator) return false;
  const Ref type = type_of(interpreter, value);
  return reinterpret_cast<PyTypeObject*>(type.get())->tp_descr_get == nullptr &&
         reinterpret_cast<PyTypeObject*>(type.get())->tp_descr_set == nullptr;
}

// cls.name = value, where neither what the class has now nor the new value is a descriptor and the
// name is none that Python itself looks for.
void set_class_attribute(Interpreter& interpreter, const Sym& owner, BorrowedRef name,
                         const Sym& value) {
  BorrowedRef cls = object_of(owner);
  auto* type = reinterpret_cast<PyTypeObject*>(cls.get());
  const auto cannot = [&] {
    throw_break("attribute_set",
                fmt::format("attribute '{}' of a {} is set", utf8_text(name), type_name(owner)));
  };
  if (!value || !PyType_HasFeature(type, Py_TPFLAGS_HEAPTYPE) ||
      PyType_HasFeature(type, Py_TPFLAGS_IMMUTABLETYPE) ||
      Py_TYPE(type)->tp_setattro != PyType_Type.tp_setattro || utf8_text(name).starts_with("__") ||
      _PyType_Lookup(Py_TYPE(type), name) != nullptr || !is_plain_value(interpreter, value)) {
    cannot();
  }
  real_object(interpreter, owner, "an attribute of it is set");
  if (const Sym now = class_member(interpreter, cls, name);
      now && !is_plain_value(interpreter, now)) {
    cannot();
  }
  interpreter.change_class_attribute(cls, name, value);
  interpreter.tracer.record_set(
      interpreter.object_value(cls), name,
      {checked(PyObject_GetAttrString(reinterpret_cast<PyObject*>(&PyType_Type), "__setattr__")),
       {owner, interpreter.object(name), value},
       {},
       0});
}

}  // namespace

void set_attribute(Interpreter& interpreter, const Sym& owner, BorrowedRef name, const Sym& value) {
  if (as_library_object(owner)) {
    set_library_attribute(interpreter, owner, name, value);
    return;
  }
  if (is_numpy_value(owner)) {
    if (!value) {
      throw_value_break(owner, fmt::format("attribute '{}' of a {} is deleted", utf8_text(name),
                                           type_name(owner)));
    }
    numpy_set_attribute(interpreter.tracer, owner, name, value);
    return;
  }
  if (owner->kind == SymKind::kFunction) {
    set_function_attribute(interpreter, owner, name, value);
    return;
  }
  if (is_exception(owner)) {
    set_exception_attribute(interpreter, owner, name, value);
    return;
  }
  if (owner->kind == SymKind::kObject && !PyType_Check(object_of(owner).get())) {
    BorrowedRef object = object_of(owner);
    // What the class of modules defines (__class__, __dict__) is no global.
    if (PyModule_CheckExact(object.get()) && _PyType_Lookup(object.type(), name) == nullptr) {
      real_object(interpreter, owner, "an attribute of it is set");
      store_global(interpreter, PyModule_GetDict(object.get()), name, value);
      return;
    }
    const char* method = value ? "__setattr__" : "__delattr__";
    if (!has_objects_method(interpreter, type_of(interpreter, owner), method)) {
      std::vector<Sym> arguments{interpreter.object(name)};
      if (value) arguments.push_back(value);
      if (special_method(interpreter, owner, method, std::move(arguments))) return;
      throw_break("attribute_set",
                  fmt::format("attribute '{}' of a {} is set", utf8_text(name), type_name(owner)));
    }
  }
  if (as_made_class(owner)) {
    set_made_class_attribute(interpreter, owner, name, value);
    return;
  }
  if (owner->kind == SymKind::kObject && PyType_Check(object_of(owner).get())) {
    set_class_attribute(interpreter, owner, name, value);
    return;
  }
  set_own_attribute(interpreter, owner, name, value);
}

}  // namespace numlift::frame_eval
