// numlift._core: what the Python side of numlift is made of.
#include "bindings.h"
#include "numlift/frame_eval/marks.h"
#include "numlift/frame_eval/compiled_function.h"
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
    const Ref unsupported = checked(PyErr_NewExceptionWithDoc(
        "numlift.Unsupported",
        "With fullgraph=True: the function cannot be compiled as one graph. The message says why.",
        PyExc_RuntimeError, nullptr));
    const Ref hatch_error = checked(PyErr_NewExceptionWithDoc(
        "numlift.EscapeHatchError",
        "A function under an escape hatch does not keep what was promised of it.",
        PyExc_RuntimeError, nullptr));
    frame_eval::set_escape_hatch_error(hatch_error);
    frame_eval::initialize_compiled_function(unsupported);
    module.attr("EscapeHatchError") = py::reinterpret_borrow<py::object>(hatch_error.get());
    module.attr("Unsupported") = py::reinterpret_borrow<py::object>(unsupported.get());
    module.attr("CompiledFunction") = py::reinterpret_borrow<py::object>(
        reinterpret_cast<PyObject*>(frame_eval::compiled_function_type()));
  });
  bind_bytecode(module);
  bind_compile(module);
  bind_hatches(module);
  bind_options(module);
  bind_trace(module);
}
