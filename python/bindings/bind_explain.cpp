// Breaks and what is told of a call: behind nl.explain, nl.compile_times, nl.error_on_graph_break.
#include <pybind11/stl.h>

#include "bindings.h"
#include "numlift/frame_eval/break_reason.h"
#include "numlift/frame_eval/compiled_function.h"

namespace py = pybind11;

namespace numlift {
namespace {

using frame_eval::BreakInfo;
using frame_eval::BreakReason;
using frame_eval::CompileTimes;
using frame_eval::EntryInfo;

void check_compiled(const py::object& object) {
  if (object.ptr()->ob_type != frame_eval::compiled_function_type()) {
    throw py::type_error("expected what numlift.compile returned");
  }
}

// A list: an Entry for each graph, a dict for each break.
py::list record_call(const py::object& callable, const py::tuple& args, const py::dict& kwargs) {
  return with_python_errors([&] {
    py::list events;
    for (auto& event : frame_eval::record_call(callable.ptr(), args.ptr(), kwargs.ptr())) {
      if (auto* entry = std::get_if<EntryInfo>(&event)) {
        events.append(py::cast(std::move(*entry)));
      } else {
        events.append(py::reinterpret_steal<py::object>(
            frame_eval::break_attributes(std::get<BreakInfo>(event)).release()));
      }
    }
    return events;
  });
}

}  // namespace

py::dict times_dict(const CompileTimes& times) {
  return py::dict(py::arg("trace") = times.trace, py::arg("guards") = times.guards,
                  py::arg("passes") = times.passes, py::arg("schedule") = times.schedule,
                  py::arg("emit") = times.emit);
}

void bind_explain(py::module_& module) {
  module.def("record_call", &record_call, py::arg("callable"), py::arg("args"), py::arg("kwargs"));
  module.def(
      "explain_misses",
      [](const py::object& compiled, const py::tuple& args, const py::dict& kwargs) {
        check_compiled(compiled);
        return with_python_errors(
            [&] { return frame_eval::explain_misses(compiled.ptr(), args.ptr(), kwargs.ptr()); });
      },
      py::arg("compiled"), py::arg("args"), py::arg("kwargs"));
  module.def("dynamic_of", [](const py::object& compiled) {
    check_compiled(compiled);
    return frame_eval::options_of(compiled.ptr()).dynamic;
  });
  module.def("break_reasons", [] {
    py::list reasons;
    for (const BreakReason& one : frame_eval::break_reasons()) {
      reasons.append(py::dict(py::arg("id") = one.id, py::arg("code") = one.code,
                              py::arg("text") = one.text, py::arg("explanation") = one.explanation,
                              py::arg("hints") = one.hints));
    }
    return reasons;
  });
  module.def("compile_log", [] {
    py::list lines;
    for (const auto& line : frame_eval::compile_log()) {
      lines.append(py::make_tuple(line.site, times_dict(line.times), line.is_from_disk));
    }
    return lines;
  });
  module.def("exchange_error_on_break", &frame_eval::exchange_error_on_break,
             py::arg("wanted").none(true));
}

}  // namespace numlift
