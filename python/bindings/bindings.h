// The parts of the extension module numlift._core, one file each.
#pragma once

#include "numlift/py/python.h"

#include <pybind11/pybind11.h>

#include "numlift/frame_eval/compiled_function.h"
#include "numlift/py/py_error.h"

namespace numlift {

// pybind11 has its own type for a Python error that is set.
template <class Function>
auto with_python_errors(Function&& function) {
  try {
    return function();
  } catch (const PyError&) {
    throw pybind11::error_already_set();
  }
}

// By stage, in milliseconds.
pybind11::dict times_dict(const frame_eval::CompileTimes& times);

void bind_bytecode(pybind11::module_& module);
void bind_compile(pybind11::module_& module);
void bind_cuda(pybind11::module_& module);
void bind_hatches(pybind11::module_& module);
void bind_graph(pybind11::module_& module);
void bind_explain(pybind11::module_& module);
void bind_options(pybind11::module_& module);
void bind_trace(pybind11::module_& module);

}  // namespace numlift
