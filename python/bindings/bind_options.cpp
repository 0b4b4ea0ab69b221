// Options, log channels and the log's way into Python's logging.
#include <cstdio>
#include <string>

#include "bindings.h"
#include "numlift/frame_eval/compiled_function.h"
#include "numlift/support/check.h"
#include "numlift/support/log.h"
#include "numlift/support/options.h"

namespace py = pybind11;

namespace numlift {
namespace {

py::object option_value(const std::string& name) {
  const OptionInfo* info = find_option(name);
  if (info == nullptr) throw py::key_error(name);
  const std::string text = option_text(name);
  switch (info->kind) {
    case OptionKind::kBool:
      return py::bool_(text == "true");
    case OptionKind::kInt:
      return py::int_(std::stoll(text));
    case OptionKind::kText:
      return py::str(text);
  }
  NUMLIFT_UNREACHABLE();
}

void change_option(const std::string& name, const std::string& value) {
  if (const std::string error = set_option(name, value); !error.empty())
    throw py::value_error(error);
  // What is compiled depends on these, and no guard looks at them.
  if (name == "trace_numpy" || name == "check_escape_hatches") frame_eval::drop_entries();
}

// `sink` is called as sink(channel, text), with the GIL, from whichever thread logs; it is kept for
// the life of the process, as log lines may come until its very end.
void install_sink(const py::function& sink) {
  PyObject* const kept = Py_NewRef(sink.ptr());
  set_log_sink([kept](std::string_view channel, const std::string& text) {
    if (!Py_IsInitialized()) {
      std::fprintf(stderr, "numlift: %s\n", text.c_str());
      return;
    }
    const PyGILState_STATE gil = PyGILState_Ensure();
    PyObject *type = nullptr, *value = nullptr, *traceback = nullptr;
    PyErr_Fetch(&type, &value, &traceback);
    PyObject* result =
        PyObject_CallFunction(kept, "s#s#", channel.data(), static_cast<Py_ssize_t>(channel.size()),
                              text.data(), static_cast<Py_ssize_t>(text.size()));
    if (result == nullptr) PyErr_WriteUnraisable(kept);
    Py_XDECREF(result);
    PyErr_Restore(type, value, traceback);
    PyGILState_Release(gil);
  });
}

}  // namespace

void bind_options(py::module_& module) {
  module.def("option_names", [] {
    py::list names;
    for (const OptionInfo& info : option_table()) names.append(std::string(info.name));
    return names;
  });
  module.def("get_option", &option_value);
  module.def("set_option", &change_option);
  module.def("options_help", &options_help);
  module.def("load_options_from_environment", &load_options_from_environment);
  module.def("log_help", &log_help);
  module.def("set_log_sink", &install_sink);
}

}  // namespace numlift
