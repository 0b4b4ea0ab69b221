#include "symbolic/instances.h"

#include "numlift/py/py_error.h"
#include "symbolic/attributes.h"
#include "symbolic/builtins.h"
#include "symbolic/calls.h"
#include "symbolic/container_classes.h"
#include "symbolic/containers.h"
#include "symbolic/made_classes.h"
#include "symbolic/pure.h"
#include "symbolic/special_methods.h"

namespace numlift::frame_eval {

using guards::Source;

Ref object_method(const char* name) {
  return checked(PyObject_GetAttrString(reinterpret_cast<PyObject*>(&PyBaseObject_Type), name));
}

PyTypeObject* base_in_c(PyTypeObject* type) {
  // Classes written in Python have the deallocator of all of them; one written in C has its own.
  static const destructor of_python =
      reinterpret_cast<PyTypeObject*>(known_object("functools", "cached_property").get())
          ->tp_dealloc;
  while (PyType_HasFeature(type, Py_TPFLAGS_HEAPTYPE) && type->tp_dealloc == of_python) {
    type = type->tp_base;
  }
  return type;
}

namespace {

// object's own function of this name, which all classes that do not override it share.
bool is_object_method(const Sym& value, const char* name) {
  return value && value->kind == SymKind::kObject &&
         object_of(value).get() == object_method(name).get();
}

PyTypeObject* as_type(BorrowedRef cls) { return reinterpret_cast<PyTypeObject*>(cls.get()); }

// What the list or dict that the class is derived from has under that name.
bool is_method_of_base(PyTypeObject* type, const Sym& value, const char* name) {
  const Ref text = checked(PyUnicode_InternFromString(name));
  return value && value->kind == SymKind::kObject &&
         object_of(value).get() == _PyType_Lookup(base_in_c(type), text.get());
}

bool is_namespace_class(PyTypeObject* type) {
  return reinterpret_cast<PyObject*>(type) == known_object("types", "SimpleNamespace").get();
}

// Its instances hold attributes, and items where it is derived from list or dict, and no more, and
// nobody sees when they go.
bool is_plain_class(BorrowedRef cls) {
  PyTypeObject* type = as_type(cls);
  if (is_namespace_class(type)) return true;
  if (!PyType_HasFeature(type, Py_TPFLAGS_HEAPTYPE) ||
      PyType_HasFeature(type, Py_TPFLAGS_IS_ABSTRACT) || type->tp_itemsize != 0) {
    return false;
  }
  const PyTypeObject* base = base_in_c(type);
  return (base == &PyBaseObject_Type || is_container_class(base)) &&
         type->tp_alloc == PyType_GenericAlloc && type->tp_finalize == nullptr &&
         type->tp_del == nullptr;
}

// Of the running trace.
std::vector<std::weak_ptr<ObjectValue>>& instances_made() {
  static thread_local std::vector<std::weak_ptr<ObjectValue>> made;
  return made;
}

[[noreturn]] void cannot_make(const Sym& cls) {
  throw_break("object_made",
              fmt::format("an instance of {} is made", callable_text(object_of(cls))));
}

std::string short_name_of(BorrowedRef function) {
  return reinterpret_cast<PyCFunctionObject*>(function.get())->m_ml->ml_name;
}

Sym new_instance(Interpreter& interpreter, const Sym& cls) {
  if (cls->kind != SymKind::kObject || !PyType_Check(object_of(cls).get()) ||
      !is_plain_class(object_of(cls))) {
    cannot_make(cls);
  }
  real_object(interpreter, cls, "an instance of it is made");
  has_objects_method(interpreter, object_of(cls), "__del__");
  const Ref nothing = checked(PyTuple_New(0));
  PyTypeObject* type = as_type(object_of(cls));
  const PyTypeObject* base = is_namespace_class(type) ? type : base_in_c(type);
  auto instance = std::make_shared<ObjectValue>(must(base->tp_new(type, nothing.get(), nullptr)));
  instance->is_new = true;
  if (base == &PyList_Type) instance->changed().content = make_list({});
  if (base == &PyDict_Type) instance->changed().content = std::make_shared<DictValue>();
  instances_made().push_back(instance);
  return instance;
}

// types.SimpleNamespace(name=value, …)
Sym make_namespace(Interpreter& interpreter, const Sym& cls, const CallArguments& arguments) {
  if (!arguments.positional.empty()) cannot_make(cls);
  const Sym instance = new_instance(interpreter, cls);
  for (const auto& [name, value] : arguments.keywords) {
    set_own_attribute(interpreter, instance, name, value);
  }
  return instance;
}

// A method written in Python, maybe behind staticmethod as __new__ is; null otherwise.
Sym python_function(Interpreter& interpreter, const Sym& raw) {
  if (raw->kind == SymKind::kFunction) return raw;
  if (raw->kind != SymKind::kObject) return nullptr;
  BorrowedRef object = object_of(raw);
  if (PyFunction_Check(object.get())) return raw;
  if (object.type() != &PyStaticMethod_Type) return nullptr;
  const Sym function = wrapped_function(interpreter, raw);
  const bool is_function =
      function->kind == SymKind::kObject && PyFunction_Check(object_of(function).get());
  return is_function ? function : nullptr;
}

Sym class_lookup(Interpreter& interpreter, BorrowedRef cls, const char* name) {
  Ref text = checked(PyUnicode_InternFromString(name));
  return class_member(interpreter, cls, text);
}

}  // namespace

namespace {

// Object's own method, or another class's wrapper around the same C function.
bool does_as_objects(BorrowedRef member, const char* name) {
  const Ref text = checked(PyUnicode_InternFromString(name));
  PyObject* own = _PyType_Lookup(&PyBaseObject_Type, text.get());
  if (own == nullptr || member.get() == own) return own != nullptr;
  return Py_TYPE(own) == &PyWrapperDescr_Type && member.type() == &PyWrapperDescr_Type &&
         reinterpret_cast<PyWrapperDescrObject*>(own)->d_wrapped ==
             reinterpret_cast<PyWrapperDescrObject*>(member.get())->d_wrapped;
}

}  // namespace

bool has_objects_method(Interpreter& interpreter, BorrowedRef cls, const char* name) {
  const Sym member = class_lookup(interpreter, cls, name);
  if (!member) return true;
  if (member->kind != SymKind::kObject || !does_as_objects(object_of(member), name)) return false;
  real_object(interpreter, member, "a method that it inherits from object");
  return true;
}

namespace {

bool is_instance_of(Interpreter& interpreter, const Sym& value, BorrowedRef cls) {
  Ref type = type_of(interpreter, value);
  return PyType_IsSubtype(as_type(type), as_type(cls)) != 0;
}

std::pair<Ref, Sym>* find_entry(ObjectState& state, BorrowedRef name) {
  for (auto& entry : state.attributes) {
    if (entry.first.get() == name.get() || PyUnicode_Compare(entry.first.get(), name.get()) == 0)
      return &entry;
  }
  return nullptr;
}

// What the real object holds; null: nothing, or it is not reached so.
BorrowedRef real_attribute(BorrowedRef object, BorrowedRef name) {
  PyObject* raw = _PyType_Lookup(object.type(), name);
  if (const auto slot = guards::slot_of_instance(raw, object)) return *slot;
  PyObject** dict = _PyObject_GetDictPtr(object.get());
  if (dict == nullptr || *dict == nullptr) return {};
  PyObject* found = PyDict_GetItemWithError(*dict, name.get());
  if (found == nullptr) PyErr_Clear();
  return found;
}

bool has_dict(PyTypeObject* type) {
  return type->tp_dictoffset != 0 || PyType_HasFeature(type, Py_TPFLAGS_MANAGED_DICT);
}

void store_own(Interpreter& interpreter, const Sym& owner, BorrowedRef name, const Sym& value) {
  auto& object = as<ObjectValue>(owner);
  const auto no_attribute = [&] {
    throw_break("would_raise", fmt::format("'{}' has no attribute '{}' to delete", type_name(owner),
                                           utf8_text(name)));
  };
  auto* entry = object.state ? find_entry(*object.state, name) : nullptr;
  if (!value) {
    if (entry != nullptr ? !entry->second : object.is_new) no_attribute();
    if (entry == nullptr) {
      BorrowedRef own = real_attribute(object.object, name);
      if (!own) no_attribute();
      if (PyObject* of_class = _PyType_Lookup(object.object.type(), name);
          of_class != nullptr && !guards::slot_of_instance(of_class, object.object)) {
        throw_break("attribute_set",
                    fmt::format("attribute '{}' of a {}, which its class has, too, is deleted",
                                utf8_text(name), type_name(owner)));
      }
      interpreter.tracer.guard(
          Source::attribute(owner->source, name),
          guards::HasType{Ref::create(reinterpret_cast<PyObject*>(own.type()))},
          "it is deleted at " + interpreter.location_text());
    }
  }
  auto& attributes = object.changed().attributes;
  entry = find_entry(*object.state, name);
  if (entry != nullptr && value && entry->second) {
    entry->second = value;
  } else {
    // Set anew, it is the last in the dict.
    if (entry != nullptr) attributes.erase(attributes.begin() + (entry - attributes.data()));
    if (value || !object.is_new) attributes.emplace_back(Ref::create(name), value);
  }
  if (object.is_new) return;
  const Sym key = interpreter.object(name);
  if (value) {
    interpreter.tracer.record_set(owner, name,
                                  {object_method("__setattr__"), {owner, key, value}, {}, 0});
  } else {
    interpreter.tracer.record_effect(owner, {object_method("__delattr__"), {owner, key}, {}, 0});
  }
}

}  // namespace

Sym make_instance(Interpreter& interpreter, const Sym& cls, CallArguments arguments) {
  BorrowedRef object = object_of(cls);
  PyTypeObject* type = as_type(object);
  if (Py_TYPE(type)->tp_call != PyType_Type.tp_call || !is_plain_class(object)) cannot_make(cls);
  real_object(interpreter, cls, "it is called");
  if (is_namespace_class(type)) {
    interpreter.direct_caller = nullptr;
    return make_namespace(interpreter, cls, arguments);
  }
  if (Py_TYPE(type) != &PyType_Type) {
    const BorrowedRef metaclass = reinterpret_cast<PyObject*>(Py_TYPE(type));
    real_object(interpreter, class_lookup(interpreter, metaclass, "__call__"), "it is called");
  }
  interpreter.direct_caller = nullptr;
  const Sym maker = class_lookup(interpreter, object, "__new__");
  Sym initializer = class_lookup(interpreter, object, "__init__");
  Sym instance;
  const bool is_container = is_container_class(base_in_c(type));
  if (is_container && is_method_of_base(type, maker, "__new__")) {
    real_object(interpreter, maker, "an instance is made");
    instance = new_instance(interpreter, cls);
    if (is_method_of_base(type, initializer, "__init__")) {
      real_object(interpreter, initializer, "an instance is made");
      init_container(interpreter, instance, arguments);
      return instance;
    }
  } else if (is_object_method(maker, "__new__")) {
    if (is_object_method(initializer, "__init__") &&
        (!arguments.positional.empty() || !arguments.keywords.empty())) {
      throw_break("would_raise", fmt::format("{}() takes no arguments", type->tp_name));
    }
    real_object(interpreter, maker, "an instance is made");
    instance = new_instance(interpreter, cls);
  } else {
    const Sym function = python_function(interpreter, maker);
    if (!function) cannot_make(cls);
    CallArguments given = arguments;
    given.positional.insert(given.positional.begin(), cls);
    instance = call_value(interpreter, function, std::move(given));
    if (!is_instance_of(interpreter, instance, object)) return instance;
    // It may be of a class derived from this one.
    initializer = class_lookup(interpreter, type_of(interpreter, instance), "__init__");
  }
  if (is_object_method(initializer, "__init__")) {
    real_object(interpreter, initializer, "an instance is made");
    return instance;
  }
  const Sym function = python_function(interpreter, initializer);
  if (!function || function != initializer) cannot_make(cls);
  arguments.positional.insert(arguments.positional.begin(), instance);
  if (!is_object(call_value(interpreter, function, std::move(arguments)), Py_None)) {
    throw_break("would_raise", "__init__() should return None");
  }
  return instance;
}

Sym make_of_container_class(Interpreter& interpreter, const Sym& callable,
                            const std::vector<Sym>& arguments) {
  if (arguments.empty() || arguments[0]->kind != SymKind::kObject ||
      !PyType_Check(object_of(arguments[0]).get())) {
    return nullptr;
  }
  PyTypeObject* type = as_type(object_of(arguments[0]));
  const bool is_maker = Py_TYPE(object_of(callable).get()) == &PyCFunction_Type &&
                        base_in_c(type) != type && is_container_class(base_in_c(type)) &&
                        is_plain_class(object_of(arguments[0])) &&
                        PyCFunction_GET_SELF(object_of(callable).get()) ==
                            reinterpret_cast<PyObject*>(base_in_c(type));
  if (!is_maker || short_name_of(object_of(callable)) != "__new__") return nullptr;
  return new_instance(interpreter, arguments[0]);
}

Sym cached_property_value(Interpreter& interpreter, const Sym& property, const Sym& instance) {
  real_object(interpreter, property, "a cached property is read");
  const auto part = [&](const char* name) {
    return must(PyObject_GetAttrString(object_of(property).get(), name));
  };
  Ref name = part("attrname");
  const Ref function = part("func");
  const bool can_keep =
      instance->kind == SymKind::kObject && has_dict(object_of(instance).type()) &&
      (as<ObjectValue>(instance).is_new ||
       (instance->source && guards::finds_generically(object_of(instance).type())));
  if (!can_keep || !PyUnicode_CheckExact(name.get()) || !PyFunction_Check(function.get())) {
    throw_break("unsupported_value", "such a cached property of a " + type_name(instance));
  }
  PyObject* text = name.release();
  PyUnicode_InternInPlace(&text);
  name = Ref::steal(text);
  // Where the class has it under another name, too.
  if (Sym own = own_attribute(interpreter, instance, name)) return own;
  Sym value = call_python_function(interpreter,
                                   interpreter.tracer.outside(function, Source::constant(function)),
                                   {{instance}, {}});
  store_own(interpreter, instance, name, value);
  return value;
}

void drop_instances() {
  for (const auto& made : std::exchange(instances_made(), {})) {
    if (const auto instance = made.lock()) instance->state.reset();
  }
}

Sym own_attribute(Interpreter& interpreter, const Sym& owner, BorrowedRef name) {
  auto& object = as<ObjectValue>(owner);
  if (object.state) {
    if (const auto* entry = find_entry(*object.state, name)) return entry->second;
  }
  if (object.is_new) return nullptr;
  BorrowedRef own = real_attribute(object.object, name);
  if (!own) return nullptr;
  const auto source = owner->source ? owner->source : Source::constant(object.object);
  return interpreter.tracer.outside(Ref::create(own), Source::attribute(source, name));
}

bool is_own_attribute_traced(const Sym& owner, BorrowedRef name) {
  const auto& object = as<ObjectValue>(owner);
  return object.is_new || (object.state && find_entry(*object.state, name) != nullptr);
}

void set_own_attribute(Interpreter& interpreter, const Sym& owner, BorrowedRef name,
                       const Sym& value) {
  const auto cannot = [&](const char* why) {
    throw_break("attribute_set", fmt::format("attribute '{}' of a {} is set{}", utf8_text(name),
                                             type_name(owner), why));
  };
  if (owner->kind != SymKind::kObject) cannot("");
  BorrowedRef object = object_of(owner);
  PyTypeObject* type = object.type();
  const bool holds_attributes = PyType_HasFeature(type, Py_TPFLAGS_HEAPTYPE) ||
                                is_namespace_class(type) || type == &PyFunction_Type;
  if (!holds_attributes || PyType_Check(object.get()) || PyModule_Check(object.get()) ||
      (!as<ObjectValue>(owner).is_new && !owner->source)) {
    cannot("");
  }
  Ref cls = type_of(interpreter, owner);
  const Sym raw = class_member(interpreter, cls, name);
  if (raw && as_descriptor(raw) &&
      type_of(interpreter, raw).get() == reinterpret_cast<PyObject*>(&PyProperty_Type)) {
    set_by_descriptor(interpreter, raw, owner, value);
    return;
  }
  if (raw) {
    PyTypeObject* kind = reinterpret_cast<PyTypeObject*>(type_of(interpreter, raw).get());
    PyObject* real = _PyType_Lookup(type, name);
    if (kind->tp_descr_set != nullptr && !guards::slot_of_instance(real, object)) {
      if (kind == &PyProperty_Type) {
        real_object(interpreter, raw, "a property is set");
        Ref setter = must(PyObject_GetAttrString(real, value ? "fset" : "fdel"));
        if (!PyFunction_Check(setter.get())) cannot(", whose property has no setter in Python");
        const Sym function = interpreter.tracer.outside(setter, Source::constant(setter));
        CallArguments arguments{{owner}, {}};
        if (value) arguments.positional.push_back(value);
        call_python_function(interpreter, function, std::move(arguments));
        return;
      }
      const Sym result = value ? special_method(interpreter, raw, "__set__", {owner, value})
                               : special_method(interpreter, raw, "__delete__", {owner});
      if (!result) cannot(", which is a descriptor");
      return;
    }
    if (kind->tp_descr_set == nullptr && !has_dict(type)) {
      throw_break("would_raise", fmt::format("attribute '{}' of a {} is read-only", utf8_text(name),
                                             type_name(owner)));
    }
  } else if (!has_dict(type)) {
    throw_break("would_raise",
                fmt::format("'{}' has no attribute '{}'", type_name(owner), utf8_text(name)));
  }
  store_own(interpreter, owner, name, value);
}

Sym call_object_method(Interpreter& interpreter, const Sym& callable,
                       const CallArguments& arguments) {
  const auto& given = arguments.positional;
  const auto is = [&](const char* name) { return is_object_method(callable, name); };
  BorrowedRef object = object_of(callable);
  if (object.type() != &PyWrapperDescr_Type && object.type() != &PyCFunction_Type) return nullptr;
  if (!arguments.keywords.empty()) return nullptr;
  const auto name_at = [&](size_t i) -> BorrowedRef {
    return given.size() > i && given[i]->kind == SymKind::kObject &&
                   PyUnicode_CheckExact(object_of(given[i]).get())
               ? object_of(given[i])
               : BorrowedRef();
  };
  const auto guard_name = [&](size_t i) {
    Ref name = *real_object(interpreter, given[i], "the name of an attribute");
    PyObject* text = name.release();
    PyUnicode_InternInPlace(&text);
    return Ref::steal(text);
  };
  if (Sym made = make_of_container_class(interpreter, callable, given)) return made;
  if (given.size() == 1 && is("__new__")) return new_instance(interpreter, given[0]);
  if (given.size() == 1 && is("__init__")) return interpreter.none();
  if (given.size() == 3 && is("__setattr__") && name_at(1)) {
    set_own_attribute(interpreter, given[0], guard_name(1), given[2]);
    return interpreter.none();
  }
  if (given.size() == 2 && is("__delattr__") && name_at(1)) {
    set_own_attribute(interpreter, given[0], guard_name(1), nullptr);
    return interpreter.none();
  }
  if (given.size() == 2 && is("__getattribute__") && name_at(1) &&
      given[0]->kind == SymKind::kObject) {
    return generic_attribute(interpreter, given[0], guard_name(1));
  }
  return nullptr;
}

}  // namespace numlift::frame_eval
