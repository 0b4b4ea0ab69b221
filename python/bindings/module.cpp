// numlift._core: what the Python side of numlift is made of.
#include "bindings.h"
#include "numlift/codegen/disk_cache.h"
#include "numlift/frame_eval/marks.h"
#include "numlift/frame_eval/break_reason.h"
#include "numlift/frame_eval/compiled_function.h"
#include "numlift/frame_eval/frame_hook.h"
#include "numlift/numpy_shim/allocator.h"
#include "numlift/numpy_shim/dtypes.h"
#include "numlift/numpy_shim/errstate.h"

namespace py = pybind11;

PYBIND11_MODULE(_core, module) {
  using namespace numlift;
  with_python_errors([&] {
    numpy_shim::import_numpy();
    numpy_shim::initialize_allocator();
    numpy_shim::initialize_errstate();
    // An error that numlift raises has these as attributes of its own.
    const Ref attributes =
        checked(Py_BuildValue("{sssssssss()s()}", "reason", "", "code", "", "category", "",
                              "explanation", "", "hints", "user_stack"));
    const Ref unsupported = checked(PyErr_NewExceptionWithDoc(
        "numlift.Unsupported",
        "A graph break where none may be (fullgraph=True, error_on_graph_break). The message says "
        "why and where; so do reason, code, category, explanation, hints and user_stack.",
        PyExc_RuntimeError, attributes.get()));
    frame_eval::initialize_compiled_function();
    frame_eval::set_unsupported_class(unsupported);
    frame_eval::initialize_frame_hook();
    const Ref hatch_error = checked(PyErr_NewExceptionWithDoc(
        "numlift.EscapeHatchError",
        "A function under an escape hatch does not keep what was promised of it.",
        PyExc_RuntimeError, nullptr));
    frame_eval::set_escape_hatch_error(hatch_error);
    module.attr("EscapeHatchError") = py::reinterpret_borrow<py::object>(hatch_error.get());
    module.attr("Unsupported") = py::reinterpret_borrow<py::object>(unsupported.get());
    module.attr("CompiledFunction") = py::reinterpret_borrow<py::object>(
        reinterpret_cast<PyObject*>(frame_eval::compiled_function_type()));
  });
  codegen::allow_disk_cache();
  bind_bytecode(module);
  bind_compile(module);
  bind_cuda(module);
  bind_hatches(module);
  bind_graph(module);
  bind_explain(module);
  bind_options(module);
  bind_trace(module);
}
