#include "symbolic/modules.h"

#include "numlift/py/py_error.h"
#include "symbolic/builtins.h"
#include "symbolic/containers.h"
#include "symbolic/operators.h"
#include "symbolic/pure.h"

namespace numlift::frame_eval {

using guards::Source;

namespace {

// The statement calls builtins.__import__, which programs replace.
void check_import_function(Interpreter& interpreter) {
  PyObject* builtins = PyEval_GetBuiltins();
  Ref name = checked(PyUnicode_InternFromString("__import__"));
  PyObject* now = PyDict_GetItemWithError(builtins, name.get());
  if (now == nullptr || !PyCFunction_Check(now)) {
    throw_break("import_statement", "builtins.__import__ has been replaced");
  }
  const Sym function = interpreter.tracer.outside(
      Ref::create(now), Source::dict_item(Source::constant(builtins), name));
  real_object(interpreter, function, "it imports");
}

// What the module does not have yet may be a module inside it, which the statement loads.
void check_names(Interpreter& interpreter, const Sym& module, const Sym& from_list) {
  PyObject* names = PyModule_GetDict(object_of(module).get());
  for (const Sym& wanted : sequence_items(interpreter, from_list)) {
    PyObject* name = object_of(wanted).get();
    if (PyDict_GetItemWithError(names, name) == nullptr) {
      throw_break("import_statement",
                  fmt::format("import of {}, which the module does not have", utf8_text(name)));
    }
  }
}

}  // namespace

Sym import_module(Interpreter& interpreter, BorrowedRef name, const Sym& from_list,
                  const Sym& level) {
  if (concrete_int(interpreter, level, "import") != 0) {
    throw_break("unsupported_instruction", "a relative import");
  }
  PyObject* modules = PyImport_GetModuleDict();
  const std::string text = utf8_text(name);
  const bool whole_path = !is_object(from_list, Py_None);
  // `import a.b` gives a, `from a.b import c` asks a.b.
  const std::string wanted = whole_path ? text : text.substr(0, text.find('.'));
  auto open = [&](const std::string& module_name) {
    Ref key = must(PyUnicode_FromStringAndSize(module_name.data(),
                                               static_cast<Py_ssize_t>(module_name.size())));
    PyObject* found = PyDict_GetItemWithError(modules, key.get());
    if (found == nullptr || !PyModule_Check(found)) {
      throw_break("import_statement",
                  fmt::format("import of {}, which is not loaded", module_name));
    }
    return interpreter.tracer.outside(Ref::create(found),
                                      Source::dict_item(Source::constant(modules), key));
  };
  check_import_function(interpreter);
  const Sym named = open(text);
  real_object(interpreter, named, "it is imported");
  if (whole_path) check_names(interpreter, named, from_list);
  Sym module = open(wanted);
  real_object(interpreter, module, "it is imported");
  return module;
}

}  // namespace numlift::frame_eval
