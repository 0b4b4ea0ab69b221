#include "symbolic/polyfills.h"

#include <map>

#include "numlift/py/py_error.h"
#include "symbolic/calls.h"
#include "symbolic/instance_dict.h"
#include "symbolic/library_objects.h"
#include "symbolic/pure.h"
#include "symbolic/transform_calls.h"

namespace numlift::frame_eval {

std::optional<std::string> library_name(BorrowedRef callable) {
  PyObject* raw = callable.get();
  const bool is_plain_class = PyType_Check(raw) && (Py_TYPE(raw) == &PyType_Type ||
                                                    reinterpret_cast<PyObject*>(Py_TYPE(raw)) ==
                                                        known_object("abc", "ABCMeta").get());
  if (!is_plain_class && !PyCFunction_Check(raw) && !PyFunction_Check(raw)) return std::nullopt;
  Ref module = Ref::steal(PyObject_GetAttrString(raw, "__module__"));
  Ref name = Ref::steal(PyObject_GetAttrString(raw, "__name__"));
  PyErr_Clear();
  if (!module || !name || !PyUnicode_Check(module.get()) || !PyUnicode_Check(name.get())) {
    return std::nullopt;
  }
  PyObject* loaded = PyDict_GetItemWithError(PyImport_GetModuleDict(), module.get());
  PyErr_Clear();
  if (loaded == nullptr || !PyModule_Check(loaded)) return std::nullopt;
  PyObject* found = PyDict_GetItemWithError(PyModule_GetDict(loaded), name.get());
  PyErr_Clear();
  if (found != raw) return std::nullopt;
  return utf8_text(module) + "." + utf8_text(name);
}

BorrowedRef polyfill_object(const char* name) { return known_object("numlift.polyfills", name); }

BorrowedRef find_polyfill(const std::string& name) {
  return PyDict_GetItemString(polyfill_object("TABLE"), name.c_str());
}

Sym LibraryValue::next(Tracer& tracer) {
  if (inner->kind != SymKind::kIterator) throw_break("would_raise", "next() of no iterator");
  Sym item = as<IteratorValue>(inner).next(tracer);
  return item && is_object(item, polyfill_object("exhausted")) ? nullptr : item;
}

Ref LibraryValue::type() const {
  return callable && PyType_Check(callable.get()) ? callable : Ref();
}

Sym call_polyfill(Interpreter& interpreter, BorrowedRef callable, const std::string& name,
                  CallArguments arguments) {
  interpreter.direct_caller = nullptr;
  std::optional<CallShape> remade;
  if (PySet_Contains(polyfill_object("MAKERS"), object_of(interpreter.text(name)).get()) == 1) {
    remade = CallShape{Ref::create(callable), arguments.positional, {}, 0};
    remade->keyword_names =
        checked(PyTuple_New(static_cast<Py_ssize_t>(arguments.keywords.size())));
    Py_ssize_t i = 0;
    for (const auto& [keyword, value] : arguments.keywords) {
      PyTuple_SET_ITEM(remade->keyword_names.get(), i++, Ref(keyword).release());
      remade->arguments.push_back(value);
    }
  }
  const BorrowedRef polyfill = find_polyfill(name);
  if (PyType_Check(polyfill.get())) {
    return make_library_object(interpreter, callable, polyfill, std::move(arguments));
  }
  Sym result =
      call_python_function(interpreter, interpreter.object(polyfill), std::move(arguments));
  if (result->kind == SymKind::kFunction) {
    auto value = std::make_shared<LibraryValue>();
    value->inner = std::move(result);
    value->callable = Ref::create(callable);
    value->remade = std::move(remade);
    return value;
  }
  if (auto* made = dynamic_cast<LibraryValue*>(result.get()); made && !made->callable) {
    made->callable = Ref::create(callable);
  }
  return result;
}

Sym polyfill_intrinsic(Interpreter& interpreter, BorrowedRef function,
                       const CallArguments& arguments) {
  const Frame* frame = interpreter.current_frame();
  if (frame == nullptr || !frame->is_polyfill) return nullptr;
  if (Sym result = transform_intrinsic(interpreter, function, arguments)) return result;
  if (PyType_Check(function.get())) {
    Ref module = must(PyObject_GetAttrString(function.get(), "__module__"));
    const bool is_ours =
        PyUnicode_Check(module.get()) && utf8_text(module).starts_with("numlift.polyfills");
    return is_ours ? make_library_object(interpreter, nullptr, function, arguments) : nullptr;
  }
  if (function.get() == polyfill_object("leave").get()) {
    throw_break("would_raise", "a function of the standard library with these arguments");
  }
  if (function.get() == polyfill_object("is_made_by").get()) {
    const auto* value = dynamic_cast<LibraryValue*>(arguments.positional[0].get());
    PyObject* code = PyFunction_GET_CODE(object_of(arguments.positional[1]).get());
    return interpreter.boolean(value != nullptr && value->generator.get() == code);
  }
  return instance_dict_intrinsic(interpreter, function, arguments.positional);
}

}  // namespace numlift::frame_eval
