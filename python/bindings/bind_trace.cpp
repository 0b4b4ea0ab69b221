// For tests and for looking at graphs. trace(function, arguments): one call traced and nothing
// else. run_graph(text, inputs, symbols): one graph run by the slow reference back end and nothing
// else.
#include <pybind11/stl.h>

#include <chrono>

#include "bindings.h"
#include "numlift/frame_eval/trace.h"
#include "numlift/graph/text.h"
#include "numlift/numpy_shim/run_graph.h"

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
      [&] { return frame_eval::trace_call({function.ptr(), nullptr, "", true}, inputs); });
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

// `inputs` by input index, `symbols` by SymbolId (any value for those that the program sets),
// `externs` the functions of the extern calls. The results, and what the inputs that are stored to
// would hold. Raises what makes the program restart.
py::tuple run_graph(const std::string& text, const std::vector<py::object>& inputs,
                    std::vector<int64_t> symbols, const std::vector<py::object>& externs) {
  const auto graph = parse_graph(text);
  if (!graph) throw py::value_error(graph.error());
  if (const std::string error = verify(*graph); !error.empty()) throw py::value_error(error);
  symbols.resize(graph->symbols.size());
  std::vector<Ref> objects;
  for (const py::object& input : inputs) objects.push_back(Ref::create(input.ptr()));
  const auto call_extern = [&](uint32_t call, const std::vector<Ref>& operands) {
    std::vector<PyObject*> arguments;
    for (const Ref& operand : operands) arguments.push_back(operand.get());
    return checked(
        PyObject_Vectorcall(externs.at(call).ptr(), arguments.data(), arguments.size(), nullptr));
  };
  py::list outputs, mutated;
  with_python_errors([&] {
    numpy_shim::GraphRunner runner(*graph, objects, std::move(symbols), call_extern);
    runner.run();
    for (NodeId id : graph->outputs)
      outputs.append(py::reinterpret_borrow<py::object>(runner.result(id).get()));
    for (NodeId id : graph->mutated_inputs)
      mutated.append(py::reinterpret_borrow<py::object>(runner.value(id).get()));
  });
  return py::make_tuple(outputs, mutated);
}

}  // namespace

void bind_trace(py::module_& module) {
  module.def("trace", &trace, py::arg("function"), py::arg("arguments"));
  module.def("run_graph", &run_graph, py::arg("text"), py::arg("inputs"),
             py::arg("symbols") = std::vector<int64_t>(),
             py::arg("externs") = std::vector<py::object>());
}

}  // namespace numlift
