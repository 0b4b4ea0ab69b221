#include "symbolic/dispatching.h"

#include "numlift/py/py_error.h"
#include "symbolic/builtins.h"
#include "symbolic/pure.h"

namespace numlift::frame_eval {

using guards::Source;

namespace {

bool is_dispatch(BorrowedRef function) {
  if (!PyFunction_Check(function.get())) return false;
  auto* code = reinterpret_cast<PyCodeObject*>(PyFunction_GET_CODE(function.get()));
  if (PyUnicode_CompareWithASCIIString(code->co_qualname, "singledispatch.<locals>.dispatch") != 0)
    return false;
  PyObject* module = PyDict_GetItemString(PyFunction_GET_GLOBALS(function.get()), "__name__");
  return module != nullptr && utf8_text(module) == "functools";
}

// What dispatch() has under the name; null: nothing that was there before and is unchanged.
Sym variable_of(Interpreter& interpreter, const Sym& function, const char* name) {
  BorrowedRef object = object_of(function);
  const auto source = function->source ? function->source : Source::constant(object);
  const auto cells = interpreter.open_closure(object, source);
  Ref names = checked(
      PyCode_GetFreevars(reinterpret_cast<PyCodeObject*>(PyFunction_GET_CODE(object.get()))));
  for (size_t i = 0; i < cells.size(); ++i) {
    if (utf8_text(PyTuple_GET_ITEM(names.get(), static_cast<Py_ssize_t>(i))) != name) continue;
    Sym value = interpreter.read_cell(*cells[i]);
    const bool is_known =
        value->kind == SymKind::kObject && value->source && !as<ObjectValue>(value).differs();
    return is_known ? value : nullptr;
  }
  return nullptr;
}

}  // namespace

Sym call_dispatch(Interpreter& interpreter, const Sym& function, const CallArguments& arguments) {
  BorrowedRef object = object_of(function);
  if (!is_dispatch(object) || arguments.positional.size() != 1 || !arguments.keywords.empty()) {
    return nullptr;
  }
  const auto cls = real_object(interpreter, arguments.positional[0], "a function is chosen by it");
  const Sym registry = variable_of(interpreter, function, "registry");
  const Sym cache = variable_of(interpreter, function, "dispatch_cache");
  if (!cls || !PyType_Check(cls->get()) || !registry || !cache ||
      !PyDict_CheckExact(object_of(registry).get())) {
    return nullptr;
  }
  // One of another class would be seen to stay as it is.
  const Ref cache_class = type_of(interpreter, cache);
  if (cache_class.get() != known_object("weakref", "WeakKeyDictionary").get()) return nullptr;
  PyObject* table = object_of(registry).get();
  if (function->source) {
    interpreter.tracer.guard(function->source, guards::IsObject{Ref::create(object)},
                             "it is called at " + interpreter.location_text());
  }
  interpreter.guard_key_order(registry->source, table);
  PyObject *key, *implementation;
  Py_ssize_t position = 0;
  const bool is_registered = PyDict_GetItemWithError(table, cls->get()) != nullptr;
  while (PyDict_Next(table, &position, &key, &implementation)) {
    // Abstract classes may get further subclasses at any time.
    if (!is_registered && Py_TYPE(key) != &PyType_Type) return nullptr;
    interpreter.tracer.guard(Source::dict_item(registry->source, key),
                             guards::IsObject{Ref::create(implementation)},
                             "a function is chosen at " + interpreter.location_text());
  }
  // As dispatch() itself finds it, without what it remembers for the next time: the trace may have
  // looked at that, and changes nothing.
  const Ref chosen =
      is_registered
          ? Ref::create(PyDict_GetItemWithError(table, cls->get()))
          : must(PyObject_CallFunctionObjArgs(known_object("functools", "_find_impl").get(),
                                              cls->get(), table, nullptr));
  position = 0;
  while (PyDict_Next(table, &position, &key, &implementation)) {
    if (implementation == chosen.get()) {
      return interpreter.tracer.outside(chosen, Source::dict_item(registry->source, key));
    }
  }
  return nullptr;
}

}  // namespace numlift::frame_eval
