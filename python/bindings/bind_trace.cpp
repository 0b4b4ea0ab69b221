// trace(function, arguments): one call traced and nothing else, for tests and for looking at
// graphs.
#include <pybind11/stl.h>

#include <chrono>

#include "bindings.h"
#include "numlift/frame_eval/trace.h"
#include "numlift/graph/text.h"

namespace py = pybind11;

namespace numlift {
namespace {

std::string guard_text(const guards::Guard& guard) {
  return guard.source->text() + ": " + guards::predicate_text(guard.predicate) + " (" +
         guard.reason + ")";
}

// `arguments`: one per parameter, in the order of co_varnames.
py::dict trace(const py::object& function, const py::tuple& arguments) {
  if (!PyFunction_Check(function.ptr())) throw py::type_error("trace() takes a Python function");
  guards::CallInputs inputs;
  inputs.arguments = &PyTuple_GET_ITEM(arguments.ptr(), 0);
  inputs.function = function.ptr();
  const auto start = std::chrono::steady_clock::now();
  auto traced = with_python_errors(
      [&] { return frame_eval::trace_call({function.ptr(), nullptr, ""}, inputs); });
  const std::chrono::duration<double, std::micro> elapsed =
      std::chrono::steady_clock::now() - start;
  py::dict result;
  std::vector<std::string> guards;
  if (auto* whole = std::get_if<frame_eval::TraceResult>(&traced)) {
    for (const auto& guard : whole->guards) guards.push_back(guard_text(guard));
    result["graph"] = graph_text(whole->graph);
    if (whole->exit) {
      const auto& info = whole->exit->info;
      result["break"] = py::make_tuple(info.category, info.reason, info.place().position.line);
    }
  } else {
    const auto& broken = std::get<frame_eval::TraceBreak>(traced);
    for (const auto& guard : broken.guards) guards.push_back(guard_text(guard));
    result["break"] =
        py::make_tuple(broken.info.category, broken.info.reason, broken.info.place().position.line);
  }
  result["guards"] = guards;
  result["microseconds"] = elapsed.count();
  return result;
}

}  // namespace

void bind_trace(py::module_& module) {
  module.def("trace", &trace, py::arg("function"), py::arg("arguments"));
}

}  // namespace numlift
