#include "symbolic/attributes.h"

#include <algorithm>

#include "numlift/py/py_error.h"
#include "symbolic/builtins.h"
#include "symbolic/calls.h"
#include "symbolic/container_classes.h"
#include "symbolic/containers.h"
#include "symbolic/enums.h"
#include "symbolic/library_objects.h"
#include "symbolic/made_classes.h"
#include "symbolic/exceptions.h"
#include "symbolic/functions.h"
#include "symbolic/generators.h"
#include "symbolic/instance_dict.h"
#include "symbolic/instances.h"
#include "symbolic/named_tuples.h"
#include "symbolic/numpy_calls.h"
#include "symbolic/operators.h"
#include "symbolic/outside_containers.h"
#include "symbolic/polyfills.h"
#include "symbolic/pure.h"
#include "symbolic/random_calls.h"
#include "symbolic/special_methods.h"

namespace numlift::frame_eval {

using guards::Source;
using guards::SourcePtr;

namespace {

SourcePtr source_of(const Sym& value) {
  return value->source ? value->source : Source::constant(object_of(value));
}

BorrowedRef as_object(PyTypeObject* type) { return reinterpret_cast<PyObject*>(type); }

[[noreturn]] void unsupported_attribute(const Sym& owner, BorrowedRef name) {
  throw_value_break(owner,
                    fmt::format("attribute '{}' of a {}", utf8_text(name), type_name(owner)));
}

Sym built_in_method(const Sym& self, BorrowedRef name) {
  return std::make_shared<MethodValue>(self, nullptr, Ref::create(name));
}

bool is_c_class(const PyTypeObject* type) { return (type->tp_flags & Py_TPFLAGS_HEAPTYPE) == 0; }

bool is_data_descriptor(BorrowedRef raw) { return raw.type()->tp_descr_set != nullptr; }

// Of an instance from outside; one made in the frame has nothing else than the trace put there.
void guard_absent(Interpreter& interpreter, const Sym& owner, BorrowedRef name) {
  if (is_own_attribute_traced(owner, name)) return;
  interpreter.tracer.guard(Source::attribute(source_of(owner), name), guards::IsAbsent{},
                           "it is asked for at " + interpreter.location_text());
}

// The owner is a real object whose attributes are found without code of the user.
[[noreturn]] void no_attribute(Interpreter& interpreter, const Sym& owner, BorrowedRef name) {
  PyObject* object = object_of(owner).get();
  // What a class defines for the case was asked before, and is not run for real.
  const auto lookup = PyType_Check(object) ? PyType_Type.tp_getattro : PyObject_GenericGetAttr;
  if (PyModule_Check(object)) {
    throw_break("would_raise", fmt::format("the module has no attribute '{}'", utf8_text(name)));
  }
  const Ref found = Ref::steal(lookup(object, name.get()));
  if (!found) {
    guard_absent(interpreter, owner, name);
    if (auto raised = raised_from_error()) {
      raised->exception->members = {{"name", interpreter.object(name)}, {"obj", owner}};
      throw *raised;
    }
  }
  throw_break("would_raise",
              fmt::format("'{}' has no attribute '{}'", type_name(owner), utf8_text(name)));
}

[[noreturn]] void no_function_attribute(Interpreter& interpreter, const Sym& owner,
                                        BorrowedRef name) {
  const std::string message =
      fmt::format("'function' object has no attribute '{}'", utf8_text(name));
  auto exception = std::make_shared<ExceptionValue>(Ref::create(PyExc_AttributeError),
                                                    make_tuple({interpreter.text(message)}));
  exception->members = {{"name", interpreter.object(name)}, {"obj", owner}};
  throw Raised{std::move(exception), true, true, message};
}

// Numbers in these modules are constants of nature; elsewhere a module's numbers are run-time
// inputs.
bool has_constant_numbers(BorrowedRef module) {
  const char* name = PyModule_GetName(module.get());
  if (name == nullptr) PyErr_Clear();
  const std::string text = name ? name : "";
  return text == "math" || text == "cmath" || text == "numpy" || text.starts_with("numpy.") ||
         text == "scipy.constants";
}

Sym module_attribute(Interpreter& interpreter, const Sym& owner, BorrowedRef name) {
  BorrowedRef module = object_of(owner);
  if (auto changed = interpreter.changed_global(PyModule_GetDict(module.get()), name)) {
    if (*changed) return *changed;
    no_attribute(interpreter, owner, name);
  }
  PyObject* found = PyDict_GetItemWithError(PyModule_GetDict(module.get()), name);
  if (found == nullptr) {
    PyErr_Clear();
    throw_break("unsupported_value",
                fmt::format("the module has no attribute '{}' yet", utf8_text(name)));
  }
  auto source = Source::attribute(source_of(owner), name);
  if (PyFloat_CheckExact(found) && has_constant_numbers(module)) {
    interpreter.tracer.guard(source, guards::EqualsConstant{Ref::create(found)},
                             "it is used at " + interpreter.location_text());
    return interpreter.object(found);
  }
  return interpreter.tracer.outside(Ref::create(found), source);
}

Sym class_attribute(Interpreter& interpreter, const Sym& owner, BorrowedRef name) {
  auto* type = reinterpret_cast<PyTypeObject*>(object_of(owner).get());
  PyTypeObject* metatype = Py_TYPE(type);
  const std::string text = utf8_text(name);
  if (!guards::class_finds_generically(metatype)) unsupported_attribute(owner, name);
  PyObject* meta = _PyType_Lookup(metatype, name);
  if (meta != nullptr && is_data_descriptor(meta)) {
    if (text == "__name__" || text == "__qualname__" || text == "__module__") {
      real_object(interpreter, owner, "its name is used");
      Ref value = must(PyObject_GetAttr(object_of(owner), name));
      if (PyUnicode_CheckExact(value.get())) return interpreter.tracer.constant(std::move(value));
    }
    unsupported_attribute(owner, name);
  }
  if (const Sym changed = interpreter.changed_class_attribute(object_of(owner), name)) {
    real_object(interpreter, owner, "an attribute of it is read");
    return bind_attribute(interpreter, changed, nullptr, owner);
  }
  PyObject* raw = _PyType_Lookup(type, name);
  if (raw != nullptr && (Py_TYPE(raw) == &PyClassMethodDescr_Type ||
                         (Py_TYPE(raw) == &PyStaticMethod_Type && is_c_class(type)))) {
    real_object(interpreter, owner, "a method of it is used");
    return built_in_method(owner, name);
  }
  if (raw == nullptr) {
    if (meta != nullptr || metatype->tp_getattro != PyType_Type.tp_getattro)
      unsupported_attribute(owner, name);
    no_attribute(interpreter, owner, name);
  }
  if (as_made_class(owner)) {
    return bind_attribute(interpreter, class_member(interpreter, object_of(owner), name), nullptr,
                          owner);
  }
  Sym value =
      interpreter.tracer.outside(Ref::create(raw), Source::attribute(source_of(owner), name));
  return bind_attribute(interpreter, value, nullptr, owner);
}

// Null: it has none.
Sym find_instance_attribute(Interpreter& interpreter, const Sym& owner, BorrowedRef name) {
  BorrowedRef object = object_of(owner);
  PyTypeObject* type = object.type();
  type_of(interpreter, owner);
  BorrowedRef raw = _PyType_Lookup(type, name);
  const bool is_slot = guards::slot_of_instance(raw.get(), object).has_value();
  if (utf8_text(name) == "__dict__") {
    if (Sym dict = instance_dict(interpreter, owner)) return dict;
  }
  // One that can only be set does not hide the instance's own attribute.
  if (raw && is_data_descriptor(raw) && !is_slot && raw.type()->tp_descr_get != nullptr) {
    if (PyFunction_Check(object.get())) return outside_function_part(interpreter, owner, name);
    // The class is fixed by the guard on the instance's type.
    return bind_attribute(interpreter, class_member(interpreter, as_object(type), name), owner,
                          interpreter.object(as_object(type)));
  }
  if (Sym own = own_attribute(interpreter, owner, name)) return own;
  if (const Sym changed = interpreter.changed_class_attribute(as_object(type), name))
    return bind_attribute(interpreter, changed, owner, interpreter.object(as_object(type)));
  if (!raw || is_slot) return nullptr;
  // Of an object from outside the source reads the object first, then the class: it guards both.
  const Sym of_class =
      is_own_attribute_traced(owner, name)
          ? class_member(interpreter, as_object(type), name)
          : interpreter.tracer.outside(Ref::create(raw), Source::attribute(source_of(owner), name));
  return bind_attribute(interpreter, of_class, owner, interpreter.object(as_object(type)));
}

Sym instance_attribute(Interpreter& interpreter, const Sym& owner, BorrowedRef name) {
  PyTypeObject* type = object_of(owner).type();
  const bool is_of_python = PyType_HasFeature(type, Py_TPFLAGS_HEAPTYPE);
  if (!guards::finds_generically(type) ||
      (is_of_python && !has_objects_method(interpreter, as_object(type), "__getattribute__"))) {
    if (Sym found =
            special_method(interpreter, owner, "__getattribute__", {interpreter.object(name)})) {
      return found;
    }
    unsupported_attribute(owner, name);
  }
  if (Sym found = find_instance_attribute(interpreter, owner, name)) return found;
  guard_absent(interpreter, owner, name);
  if (is_of_python) {
    if (Sym made = special_method(interpreter, owner, "__getattr__", {interpreter.object(name)}))
      return made;
  }
  no_attribute(interpreter, owner, name);
}

// Attributes of str, int, dtype, … that are constants: read for real.
Sym constant_attribute(Interpreter& interpreter, const Sym& owner, BorrowedRef name) {
  Ref object = *real_object(interpreter, owner, "an attribute is read");
  Ref value = Ref::steal(PyObject_GetAttr(object.get(), name.get()));
  if (!value) {
    PyErr_Clear();
    no_attribute(interpreter, owner, name);
  }
  if (PyCFunction_Check(value.get()) || Py_TYPE(value.get())->tp_call == nullptr ||
      PyType_Check(value.get())) {
    if (PyCFunction_Check(value.get())) return built_in_method(owner, name);
    if (is_pure(value) || PyType_Check(value.get()) || is_immutable(value) ||
        is_numpy_value(interpreter.tracer.constant(value))) {
      return interpreter.tracer.constant(std::move(value));
    }
  }
  if (Py_TYPE(value.get())->tp_call != nullptr && !PyFunction_Check(value.get()))
    return built_in_method(owner, name);
  unsupported_attribute(owner, name);
}

// np.finfo(…), np.iinfo(…): immutable descriptions of a dtype.
bool is_number_info(BorrowedRef object) {
  const std::string name = object.type()->tp_name;
  if (name != "finfo" && name != "iinfo" && name != "numpy.finfo" && name != "numpy.iinfo")
    return false;
  Ref module = Ref::steal(PyObject_GetAttrString(as_object(object.type()).get(), "__module__"));
  if (!module) PyErr_Clear();
  return module && utf8_text(module).starts_with("numpy");
}

// Methods that put something in do not look at what is there.
Sym deque_attribute(Interpreter& interpreter, const Sym& owner, BorrowedRef name) {
  if (has_library_method(find_polyfill("collections.deque"), utf8_text(name)))
    return built_in_method(owner, name);
  return library_attribute(interpreter, opened_deque(interpreter, owner), name);
}

Sym object_attribute(Interpreter& interpreter, const Sym& owner, BorrowedRef name) {
  BorrowedRef object = object_of(owner);
  if (PyModule_CheckExact(object.get())) return module_attribute(interpreter, owner, name);
  if (is_number_info(object)) return constant_attribute(interpreter, owner, name);
  if (is_enum_class(object)) {
    if (Sym member = enum_class_attribute(interpreter, owner, name)) return member;
  }
  if (is_enum_member(object)) {
    if (Sym value = enum_member_attribute(interpreter, owner, name)) return value;
    return instance_attribute(interpreter, owner, name);
  }
  if (PyType_Check(object.get())) return class_attribute(interpreter, owner, name);
  if (is_list(owner) || is_dict(owner) || is_tuple(owner) || is_set(owner)) {
    if (!has_container_method(owner, utf8_text(name))) unsupported_attribute(owner, name);
    type_of(interpreter, owner);
    return built_in_method(owner, name);
  }
  if (is_outside_set(owner) && has_outside_set_method(utf8_text(name))) {
    type_of(interpreter, owner);
    return built_in_method(owner, name);
  }
  if (is_outside_deque(owner)) return deque_attribute(interpreter, owner, name);
  if (is_pure(object) || is_immutable_constant(owner))
    return constant_attribute(interpreter, owner, name);
  return instance_attribute(interpreter, owner, name);
}

}  // namespace

Sym generic_attribute(Interpreter& interpreter, const Sym& owner, BorrowedRef name) {
  // Guards read an object's attributes as the program's own code does: its __getattribute__ hides
  // from them what object's would find.
  if (!as<ObjectValue>(owner).is_new && !guards::finds_generically(object_of(owner).type())) {
    throw_break("unsupported_value",
                fmt::format("attribute '{}' of a {}, which has a __getattribute__ of its own",
                            utf8_text(name), type_name(owner)));
  }
  if (Sym found = find_instance_attribute(interpreter, owner, name)) return found;
  no_attribute(interpreter, owner, name);
}

Sym class_member(Interpreter& interpreter, BorrowedRef cls, BorrowedRef name) {
  if (const Sym changed = interpreter.changed_class_attribute(cls, name)) return changed;
  // Of a class made in the frame: what the first of its bases from outside has.
  if (const BorrowedRef base = outside_base(interpreter.tracer, cls)) {
    if (const Ref own = own_of_stand_in(interpreter.tracer, cls, name))
      return interpreter.object(own);
    return class_member(interpreter, base, name);
  }
  PyObject* raw = _PyType_Lookup(reinterpret_cast<PyTypeObject*>(cls.get()), name);
  auto source = Source::type_attribute(Source::constant(cls), name);
  if (raw == nullptr) {
    interpreter.tracer.guard(source, guards::IsAbsent{}, "the class has no such member");
    return nullptr;
  }
  return interpreter.tracer.outside(Ref::create(raw), source);
}

Sym type_attribute(Interpreter& interpreter, const Sym& owner, BorrowedRef name) {
  Ref type = type_of(interpreter, owner);
  return class_member(interpreter, type, name);
}

// Which object wraps the function does not matter.
Sym wrapped_function(Interpreter& interpreter, const Sym& method) {
  type_of(interpreter, method);
  const Ref function = must(PyObject_GetAttrString(object_of(method).get(), "__func__"));
  return interpreter.tracer.outside(function,
                                    Source::part(source_of(method), Source::Part::kMethodFunction));
}

Sym bind_attribute(Interpreter& interpreter, const Sym& raw, const Sym& instance,
                   const Sym& owner_class) {
  if (as_descriptor(raw)) return read_descriptor(interpreter, raw, instance, owner_class);
  if (raw->kind == SymKind::kFunction && instance)
    return std::make_shared<MethodValue>(instance, raw, Ref());
  if (raw->kind != SymKind::kObject) return raw;
  BorrowedRef object = object_of(raw);
  PyTypeObject* type = object.type();
  if (type->tp_descr_get == nullptr) return raw;
  if (type == &PyFunction_Type) {
    if (!instance) return raw;
    return std::make_shared<MethodValue>(instance, raw, Ref());
  }
  if (type == &PyStaticMethod_Type || type == &PyClassMethod_Type) {
    const Sym inner = wrapped_function(interpreter, raw);
    if (type == &PyStaticMethod_Type) return inner;
    return std::make_shared<MethodValue>(owner_class, inner, Ref());
  }
  if (type == &PyProperty_Type) {
    if (!instance) return raw;
    real_object(interpreter, raw, "a property is read");
    Ref getter = must(PyObject_GetAttrString(object.get(), "fget"));
    if (!PyFunction_Check(getter.get()))
      throw_break("unsupported_value", "a property without a Python getter");
    Sym function = interpreter.tracer.outside(getter, Source::constant(getter));
    return call_python_function(interpreter, function, {{instance}, {}});
  }
  if (instance && is_exception(instance) &&
      (type == &PyMethodDescr_Type || type == &PyWrapperDescr_Type)) {
    Ref method = must(PyObject_GetAttrString(object.get(), "__name__"));
    return built_in_method(instance, method);
  }
  if (instance && is_container_instance(instance) &&
      (type == &PyMethodDescr_Type || type == &PyWrapperDescr_Type) &&
      is_container_class(PyDescr_TYPE(object.get()))) {
    real_object(interpreter, raw, "a method that its class inherits");
    return std::make_shared<MethodValue>(instance, raw, Ref());
  }
  // Methods of C classes: unbound they are themselves; bound they belong to a value of that class.
  if (!instance && (type == &PyMethodDescr_Type || type == &PyWrapperDescr_Type ||
                    type == &PyGetSetDescr_Type || type == &PyMemberDescr_Type)) {
    return raw;
  }
  // super().__init__, super().__setattr__
  if (type == &PyWrapperDescr_Type && instance && instance->kind == SymKind::kObject &&
      reinterpret_cast<PyDescrObject*>(object.get())->d_type == &PyBaseObject_Type) {
    return std::make_shared<MethodValue>(instance, raw, Ref());
  }
  if (instance) {
    const Ref method = Ref::steal(PyObject_GetAttrString(object.get(), "__name__"));
    if (!method) PyErr_Clear();
    if (method && PyUnicode_CheckExact(method.get()) && is_draw(instance, utf8_text(method)))
      return built_in_method(instance, method);
  }
  // np.add.reduce: bound to a NumPy function, which is the same in every call.
  if (type == &PyMethodDescr_Type && instance && instance->kind == SymKind::kObject &&
      is_numpy_callable(object_of(instance))) {
    real_object(interpreter, instance, "a method of it is called");
    PyObject* self = object_of(instance).get();
    return interpreter.tracer.constant(
        must(type->tp_descr_get(object.get(), self, reinterpret_cast<PyObject*>(Py_TYPE(self)))));
  }
  if (instance &&
      reinterpret_cast<PyObject*>(type) == known_object("functools", "cached_property").get()) {
    return cached_property_value(interpreter, raw, instance);
  }
  if (has_python_method(interpreter, raw, "__get__")) {
    return special_method(interpreter, raw, "__get__",
                          {instance ? instance : interpreter.none(), owner_class});
  }
  Ref name = Ref::steal(PyObject_GetAttrString(object.get(), "__name__"));
  if (!name) PyErr_Clear();
  throw_value_break(instance ? instance : raw,
                    fmt::format("attribute '{}', which is a descriptor ({})",
                                name ? utf8_text(name) : "?", type->tp_name));
}

Sym get_super_attribute(Interpreter& interpreter, const Sym& start_class, const Sym& self,
                        BorrowedRef name) {
  auto start = class_for_tests(interpreter, start_class, "super() is used");
  if (!start || (self->kind != SymKind::kObject && !is_exception(self)))
    throw_break("unsupported_call", "super() of such an object");
  const bool self_is_class = self->kind == SymKind::kObject && PyType_Check(object_of(self).get());
  Ref own_class = self_is_class ? *class_for_tests(interpreter, self, "super() is used")
                                : type_of(interpreter, self);
  // The attribute of the super object itself.
  if (utf8_text(name) == "__class__") throw_break("unsupported_call", "super().__class__");
  PyObject* mro = reinterpret_cast<PyTypeObject*>(own_class.get())->tp_mro;
  if (mro == nullptr) throw_break("unsupported_call", "super() of a class that is being made");
  bool after = false;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(mro); ++i) {
    PyObject* candidate = PyTuple_GET_ITEM(mro, i);
    if (after) {
      // The first class that has the name in its own dict; it is read through that class, so that
      // a change of the class is seen.
      Ref dict = must(PyObject_GetAttrString(candidate, "__dict__"));
      const bool is_member = PyMapping_HasKey(dict.get(), name.get()) != 0;
      if (is_member && interpreter.tracer.made_class(candidate)) {
        if (const Sym own = interpreter.changed_class_attribute(candidate, name))
          return bind_attribute(interpreter, own, self_is_class ? nullptr : self,
                                interpreter.object(own_class));
      }
      if (is_member) {
        auto source = Source::type_attribute(Source::constant(candidate), name);
        BorrowedRef raw = source->read({});
        if (!raw) break;
        Sym value = interpreter.tracer.outside(Ref::create(raw), source);
        return bind_attribute(interpreter, value, self_is_class ? nullptr : self,
                              interpreter.object(own_class));
      }
    }
    if (candidate == start->get()) after = true;
  }
  throw_break("unsupported_value", fmt::format("super() has no attribute '{}'", utf8_text(name)));
}

namespace {

Sym number_method(Interpreter& interpreter, const Sym& number, BorrowedRef name) {
  auto* type = reinterpret_cast<PyTypeObject*>(type_of(interpreter, number).get());
  PyObject* raw = _PyType_Lookup(type, name);
  if (raw == nullptr) {
    throw_break("would_raise",
                fmt::format("'{}' has no attribute '{}'", type_name(number), utf8_text(name)));
  }
  if (Py_TYPE(raw) == &PyGetSetDescr_Type || Py_TYPE(raw) == &PyMemberDescr_Type) {
    unsupported_attribute(number, name);
  }
  return built_in_method(number, name);
}

}  // namespace

bool says_its_class(const Sym& value) {
  if (value->kind != SymKind::kObject) return false;
  PyTypeObject* type = object_of(value).type();
  if (!PyType_HasFeature(type, Py_TPFLAGS_HEAPTYPE)) return false;
  static PyObject* const names[] = {PyUnicode_InternFromString("__class__"),
                                    PyUnicode_InternFromString("__getattribute__")};
  if (PyType_IsSubtype(type, &PyType_Type)) return false;
  return std::any_of(std::begin(names), std::end(names), [&](PyObject* name) {
    return _PyType_Lookup(type, name) != _PyType_Lookup(&PyBaseObject_Type, name) &&
           type->tp_getattro != PyModule_Type.tp_getattro;
  });
}

Sym get_attribute(Interpreter& interpreter, const Sym& owner, BorrowedRef name) {
  const std::string text = utf8_text(name);
  if (text == "__class__") {
    if (says_its_class(owner)) unsupported_attribute(owner, name);
    return interpreter.object(type_of(interpreter, owner));
  }
  if (is_either(owner)) refuse_loop("an attribute of a number that may be Python's or NumPy's");
  if (is_numpy_value(owner)) return numpy_get_attribute(interpreter.tracer, owner, name);
  switch (owner->kind) {
    case SymKind::kObject:
      return object_attribute(interpreter, owner, name);
    case SymKind::kSize:
      if (text == "real" || text == "numerator") return owner;
      if (text == "imag") return interpreter.integer(0);
      if (text == "denominator") return interpreter.integer(1);
      return number_method(interpreter, owner, name);
    case SymKind::kScalar:
      return number_method(interpreter, owner, name);
    case SymKind::kTuple:
      if (as<SequenceValue>(owner).named_tuple_class) {
        if (Sym found = named_tuple_attribute(interpreter, owner, name)) return found;
      }
      [[fallthrough]];
    case SymKind::kList:
    case SymKind::kGrownList:
    case SymKind::kSet:
    case SymKind::kDict:
      if (has_container_method(owner, text)) return built_in_method(owner, name);
      unsupported_attribute(owner, name);
    case SymKind::kSlice: {
      const auto& slice = as<SliceValue>(owner);
      if (text == "start") return slice.start;
      if (text == "stop") return slice.stop;
      if (text == "step") return slice.step;
      unsupported_attribute(owner, name);
    }
    case SymKind::kFunction:
      if (Sym found = function_attribute(interpreter, owner, name)) return found;
      no_function_attribute(interpreter, owner, name);
    case SymKind::kIterator:
      if (as_library_object(owner)) return library_attribute(interpreter, owner, name);
      if (auto* parent = dynamic_cast<SuperValue*>(owner.get())) {
        return get_super_attribute(interpreter, parent->start_class, parent->self, name);
      }
      if (has_generator_method(owner, text) || as_descriptor(owner))
        return built_in_method(owner, name);
      unsupported_attribute(owner, name);
    case SymKind::kException:
      return exception_attribute(interpreter, owner, name);
    case SymKind::kNull:
    case SymKind::kArray:
    case SymKind::kMethod:
    case SymKind::kCell:
      unsupported_attribute(owner, name);
  }
  NUMLIFT_UNREACHABLE();
}

namespace {

std::optional<bool> class_has_attribute(Interpreter& interpreter, const Sym& cls,
                                        BorrowedRef name) {
  BorrowedRef object = object_of(cls);
  PyTypeObject* metaclass = object.type();
  if (metaclass->tp_getattro != PyType_Type.tp_getattro ||
      _PyType_Lookup(metaclass, name) != nullptr) {
    return std::nullopt;
  }
  real_object(interpreter, cls, "an attribute of it is asked for");
  return class_member(interpreter, object, name) != nullptr;
}

}  // namespace

std::optional<bool> has_attribute(Interpreter& interpreter, const Sym& owner, BorrowedRef name) {
  if (owner->kind == SymKind::kArray) {
    return PyObject_HasAttr(reinterpret_cast<PyObject*>(&PyBaseObject_Type), name) ||
           _PyType_Lookup(reinterpret_cast<PyTypeObject*>(type_of(interpreter, owner).get()),
                          name) != nullptr;
  }
  if (is_exception(owner)) return has_exception_attribute(interpreter, owner, name);
  if (owner->kind == SymKind::kFunction) return has_function_attribute(interpreter, owner, name);
  if (owner->kind == SymKind::kObject && PyFunction_Check(object_of(owner).get()) &&
      _PyType_Lookup(&PyFunction_Type, name) != nullptr) {
    return true;
  }
  if (owner->kind != SymKind::kObject) {
    if (owner->kind == SymKind::kIterator || owner->kind == SymKind::kCell ||
        owner->kind == SymKind::kNull || owner->kind == SymKind::kMethod) {
      return std::nullopt;
    }
    auto* type = reinterpret_cast<PyTypeObject*>(type_of(interpreter, owner).get());
    return _PyType_Lookup(type, name) != nullptr;
  }
  BorrowedRef object = object_of(owner);
  if (as<ObjectValue>(owner).differs() && !PyModule_Check(object.get()) &&
      !PyType_Check(object.get()) && object.type()->tp_getattro == PyObject_GenericGetAttr) {
    PyObject* raw = _PyType_Lookup(object.type(), name);
    if (raw != nullptr && is_data_descriptor(raw) && !guards::slot_of_instance(raw, object))
      return std::nullopt;
    if (find_instance_attribute(interpreter, owner, name)) return true;
    guard_absent(interpreter, owner, name);
    return !has_objects_method(interpreter, as_object(object.type()), "__getattr__")
               ? std::nullopt
               : std::optional(false);
  }
  if (PyType_Check(object.get())) return class_has_attribute(interpreter, owner, name);
  auto source = Source::attribute(source_of(owner), name);
  bool present;
  if (PyModule_CheckExact(object.get())) {
    if (_PyType_Lookup(&PyModule_Type, name) != nullptr) return true;  // __dict__ and the like
    Ref hook = checked(PyUnicode_InternFromString("__getattr__"));
    PyObject* dict = PyModule_GetDict(object.get());
    present = PyDict_Contains(dict, name) == 1;
    if (!present && PyDict_Contains(dict, hook.get()) == 1) return std::nullopt;
  } else if (!PyType_Check(object.get()) && object.type()->tp_getattro == PyObject_GenericGetAttr) {
    type_of(interpreter, owner);
    if (PyObject* raw = _PyType_Lookup(object.type(), name);
        raw && is_data_descriptor(raw) && !guards::slot_of_instance(raw, object)) {
      return std::nullopt;
    }
    present = static_cast<bool>(source->read_from(object, {}));
  } else {
    return std::nullopt;
  }
  const std::string reason = "it is asked for at " + interpreter.location_text();
  if (present) {
    interpreter.tracer.guard(source, guards::IsPresent{}, reason);
  } else {
    interpreter.tracer.guard(source, guards::IsAbsent{}, reason);
  }
  return present;
}

}  // namespace numlift::frame_eval
