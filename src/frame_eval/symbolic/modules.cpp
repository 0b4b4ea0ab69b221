#include "symbolic/modules.h"

#include "symbolic/builtins.h"
#include "symbolic/operators.h"
#include "symbolic/pure.h"

namespace numlift::frame_eval {

using guards::Source;

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
  real_object(interpreter, open(text), "it is imported");
  Sym module = open(wanted);
  real_object(interpreter, module, "it is imported");
  return module;
}

}  // namespace numlift::frame_eval
