#include "symbolic/instance_dict.h"

#include <algorithm>
#include <map>

#include "numlift/py/py_error.h"
#include "symbolic/attributes.h"
#include "symbolic/builtins.h"
#include "symbolic/containers.h"
#include "symbolic/instances.h"
#include "symbolic/library_objects.h"
#include "symbolic/polyfills.h"
#include "symbolic/pure.h"

namespace numlift::frame_eval {

using guards::Source;
using guards::SourcePtr;

namespace {

struct InstanceDict : LibraryObject {
  std::optional<CallShape> shape() const override {
    const Ref name = checked(PyUnicode_InternFromString("__dict__"));
    return CallShape{Ref::create(known_object("builtins", "getattr")),
                     {owner, std::make_shared<ObjectValue>(name)},
                     {},
                     0};
  }
  Sym owner;
};

PyTypeObject* class_of(const Sym& owner) { return object_of(owner).type(); }

SourcePtr dict_source(const Sym& owner) {
  const auto source = owner->source ? owner->source : Source::constant(object_of(owner));
  return Source::part(source, Source::Part::kInstanceDict);
}

bool is_same_name(BorrowedRef a, BorrowedRef b) {
  return a.get() == b.get() || PyUnicode_Compare(a, b) == 0;
}

// A data descriptor of the class, a slot too, stands before what the dict has under its name.
void check_not_hidden(Interpreter& interpreter, const Sym& owner, BorrowedRef name) {
  const Sym member = class_member(interpreter, reinterpret_cast<PyObject*>(class_of(owner)), name);
  if (!member) return;
  const Ref type = type_of(interpreter, member);
  if (reinterpret_cast<PyTypeObject*>(type.get())->tp_descr_set != nullptr) {
    throw_break("unsupported_value",
                fmt::format("'{}' in the __dict__ of a {}, whose class has a descriptor of that "
                            "name",
                            utf8_text(name), type_name(owner)));
  }
}

bool is_slot(const Sym& owner, BorrowedRef name) {
  return guards::slot_of_instance(_PyType_Lookup(class_of(owner), name), object_of(owner))
      .has_value();
}

// What was deleted and set again is the last in the dict.
bool was_deleted(Interpreter& interpreter, const Sym& owner, BorrowedRef name) {
  const Ref deleter = object_method("__delattr__");
  const auto& effects = interpreter.tracer.effects();
  return std::any_of(effects.begin(), effects.end(), [&](const Tracer::Effect& effect) {
    return effect.owner == owner && effect.call.callable == deleter &&
           is_same_name(object_of(effect.call.arguments[1]), name);
  });
}

// Of an object from outside, as they were before the call.
std::vector<Ref> outside_names(Interpreter& interpreter, const Sym& owner) {
  PyObject** dict = _PyObject_GetDictPtr(object_of(owner).get());
  const SourcePtr source = dict_source(owner);
  if (dict == nullptr || *dict == nullptr) {
    interpreter.tracer.guard(source, guards::IsAbsent{}, "the instance holds no attributes");
    return {};
  }
  std::vector<Ref> names;
  PyObject *key, *value;
  Py_ssize_t position = 0;
  while (PyDict_Next(*dict, &position, &key, &value)) {
    if (!PyUnicode_CheckExact(key)) {
      throw_break("unsupported_value", "a __dict__ with keys that are no names");
    }
    names.push_back(Ref::create(key));
  }
  interpreter.guard_key_order(source, *dict);
  return names;
}

std::vector<Ref> own_names(Interpreter& interpreter, const Sym& owner) {
  const auto& object = as<ObjectValue>(owner);
  std::vector<Ref> names;
  if (!object.is_new) names = outside_names(interpreter, owner);
  if (object.state) {
    for (const auto& [name, value] : object.state->attributes) {
      if (is_slot(owner, name)) continue;
      const auto known = std::find_if(names.begin(), names.end(),
                                      [&](const Ref& one) { return is_same_name(one, name); });
      if (known != names.end()) {
        if (value && !was_deleted(interpreter, owner, name)) continue;
        names.erase(known);
      }
      if (value) names.push_back(name);
    }
  }
  for (const Ref& name : names) check_not_hidden(interpreter, owner, name);
  return names;
}

// Null: it has none.
Sym own_value(Interpreter& interpreter, const Sym& owner, BorrowedRef name) {
  check_not_hidden(interpreter, owner, name);
  const Sym own = own_attribute(interpreter, owner, name);
  if (!is_own_attribute_traced(owner, name)) {
    // The class may have the name as well.
    using guards::Predicate;
    interpreter.tracer.guard(Source::dict_item(dict_source(owner), name),
                             own ? Predicate(guards::IsPresent{}) : Predicate(guards::IsAbsent{}),
                             "it is asked for at " + interpreter.location_text());
  }
  return own;
}

Ref name_of(Interpreter& interpreter, const Sym& value) {
  auto known = real_object(interpreter, value, "the name of an attribute");
  if (!known || !PyUnicode_CheckExact(known->get())) {
    throw_break("unsupported_value", "a key of a __dict__ that is no name");
  }
  PyObject* text = known->release();
  PyUnicode_InternInPlace(&text);
  return Ref::steal(text);
}

}  // namespace

bool is_instance_dict(const Sym& value) {
  return dynamic_cast<const InstanceDict*>(value.get()) != nullptr;
}

Sym instance_dict(Interpreter& interpreter, const Sym& owner) {
  if (owner->kind != SymKind::kObject) return nullptr;
  PyObject* object = object_of(owner);
  PyTypeObject* type = class_of(owner);
  const bool is_instance = type == &PyFunction_Type ||
                           (PyType_HasFeature(type, Py_TPFLAGS_HEAPTYPE) && !PyType_Check(object) &&
                            !PyModule_Check(object) && !PyExceptionInstance_Check(object));
  if (!is_instance || !guards::finds_generically(type) ||
      (!as<ObjectValue>(owner).is_new && !owner->source)) {
    return nullptr;
  }
  static PyObject* const name = PyUnicode_InternFromString("__dict__");
  PyObject* raw = _PyType_Lookup(type, name);
  if (raw == nullptr || Py_TYPE(raw) != &PyGetSetDescr_Type) return nullptr;
  type_of(interpreter, owner);
  // One object of one instance, for as long as somebody holds it. It holds the instance.
  static thread_local std::map<const SymbolicValue*, std::weak_ptr<InstanceDict>> made;
  std::erase_if(made, [](const auto& one) { return one.second.expired(); });
  std::weak_ptr<InstanceDict>& known = made[owner.get()];
  if (auto dict = known.lock()) return dict;
  auto dict = std::make_shared<InstanceDict>();
  dict->cls = Ref::create(reinterpret_cast<PyObject*>(&PyDict_Type));
  dict->polyfill = Ref::create(polyfill_object("InstanceDict"));
  dict->owner = owner;
  dict->fields["_owner"] = owner;
  known = dict;
  return dict;
}

Sym copy_of_instance_dict(Interpreter& interpreter, const Sym& value) {
  const Sym& owner = static_cast<const InstanceDict&>(*value).owner;
  auto copy = std::make_shared<DictValue>();
  for (const Ref& name : own_names(interpreter, owner)) {
    copy->items.emplace_back(interpreter.object(name), own_value(interpreter, owner, name));
  }
  return copy;
}

Sym instance_dict_intrinsic(Interpreter& interpreter, BorrowedRef function,
                            const std::vector<Sym>& arguments) {
  const auto is = [&](const char* name) { return function.get() == polyfill_object(name).get(); };
  if (is("own_names")) {
    std::vector<Sym> names;
    for (const Ref& name : own_names(interpreter, arguments[0])) {
      names.push_back(interpreter.object(name));
    }
    return make_tuple(std::move(names));
  }
  if (is("own_value")) {
    const Sym own = own_value(interpreter, arguments[0], name_of(interpreter, arguments[1]));
    return own ? own : arguments[2];
  }
  const bool sets = is("set_own");
  if (!sets && !is("del_own")) return nullptr;
  const Ref name = name_of(interpreter, arguments[1]);
  check_not_hidden(interpreter, arguments[0], name);
  set_own_attribute(interpreter, arguments[0], name, sets ? arguments[2] : nullptr);
  return interpreter.none();
}

}  // namespace numlift::frame_eval
