#include "symbolic/side_effects.h"

#include "numlift/py/py_error.h"
#include "symbolic/builtins.h"
#include "symbolic/pure.h"

namespace numlift::frame_eval {

namespace {

// Nothing but the trace has it: what it holds is handed out with it.
bool is_made_inside(const Sym& owner) {
  return owner->kind == SymKind::kObject && as<ObjectValue>(owner).is_new;
}

Ref method_of(PyTypeObject* type, const char* name) {
  return checked(PyObject_GetAttrString(reinterpret_cast<PyObject*>(type), name));
}

}  // namespace

void store_global(Interpreter& interpreter, BorrowedRef globals, BorrowedRef name,
                  const Sym& value) {
  const Sym dict = interpreter.object_value(globals);
  const Sym key = interpreter.object(name);
  const auto known = interpreter.changed_global(globals, name);
  if (!value && (known ? !*known : PyDict_Contains(globals.get(), name.get()) != 1)) {
    throw_break("would_raise", fmt::format("name '{}' is not defined", utf8_text(name)));
  }
  if (!value && !known) {
    interpreter.tracer.guard(guards::Source::global(globals, name),
                             guards::HasType{Ref::create(reinterpret_cast<PyObject*>(
                                 Py_TYPE(PyDict_GetItemWithError(globals.get(), name.get()))))},
                             "it is deleted at " + interpreter.location_text());
  }
  interpreter.change_global(globals, name, value);
  interpreter.tracer.add_changed_globals(globals);
  if (value) {
    interpreter.tracer.record_set(
        dict, name, {method_of(&PyDict_Type, "__setitem__"), {dict, key, value}, {}, 0});
  } else {
    interpreter.tracer.record_effect(dict,
                                     {method_of(&PyDict_Type, "__delitem__"), {dict, key}, {}, 0});
  }
}

void store_outside_cell(Interpreter& interpreter, const Sym& cell, const Sym& value) {
  auto& outside = as<CellValue>(cell);
  outside.content = value;
  outside.is_changed = true;
  const Ref name = checked(PyUnicode_InternFromString("cell_contents"));
  const Sym key = interpreter.object(name);
  if (value) {
    interpreter.tracer.record_set(
        cell, name, {Ref::create(known_object("builtins", "setattr")), {cell, key, value}, {}, 0});
  } else {
    interpreter.tracer.record_effect(
        cell, {Ref::create(known_object("builtins", "delattr")), {cell, key}, {}, 0});
  }
}

void record_method(Interpreter& interpreter, PyTypeObject* type, const char* method,
                   std::vector<Sym> arguments) {
  const Sym owner = arguments[0];
  if (is_made_inside(owner)) return;
  interpreter.tracer.record_effect(owner, {method_of(type, method), std::move(arguments), {}, 0});
}

void record_item(Interpreter& interpreter, PyTypeObject* type, BorrowedRef key,
                 std::vector<Sym> arguments) {
  const Sym owner = arguments[0];
  if (is_made_inside(owner)) return;
  interpreter.tracer.record_set(owner, key,
                                {method_of(type, "__setitem__"), std::move(arguments), {}, 0});
}

namespace {

bool has_weakref_callback(PyObject* object) {
  if (PyType_Check(object) || !PyType_SUPPORTS_WEAKREFS(Py_TYPE(object))) return false;
  PyObject** list = PyObject_GET_WEAKREFS_LISTPTR(object);
  const auto* one = reinterpret_cast<const PyWeakReference*>(*list);
  for (; one != nullptr; one = one->wr_next) {
    if (one->wr_callback != nullptr) return true;
  }
  return false;
}

}  // namespace

void let_go(const Sym& value) {
  if (!value || value->kind != SymKind::kObject || !value->source) return;
  const PyTypeObject* type = object_of(value).type();
  if (type->tp_finalize != nullptr || type->tp_del != nullptr ||
      has_weakref_callback(object_of(value).get())) {
    throw_break("finalizer", fmt::format("a {} is let go of", type->tp_name));
  }
}

}  // namespace numlift::frame_eval
