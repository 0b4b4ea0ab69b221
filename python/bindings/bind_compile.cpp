// Compiled functions: making them, and what is asked of them.
#include <pybind11/stl.h>

#include "bindings.h"
#include "numlift/codegen/compile.h"
#include "numlift/codegen/disk_cache.h"
#include "numlift/frame_eval/break_reason.h"
#include "numlift/frame_eval/compiled_function.h"
#include "numlift/frame_eval/frame_hook.h"
#include "numlift/numpy_shim/allocator.h"

namespace py = pybind11;

namespace numlift {
namespace {

using frame_eval::Backend;
using frame_eval::CallStats;
using frame_eval::CompileTimes;
using frame_eval::EntryInfo;

// Every backend by name, in the order in which they are listed.
constexpr std::pair<const char*, Backend> kBackends[] = {{"llvm", Backend::kLlvm},
                                                         {"cuda", Backend::kCuda},
                                                         {"graph", Backend::kGraph},
                                                         {"eager", Backend::kEager}};

Backend backend_named(const std::string& name) {
  std::string known;
  for (const auto& [text, backend] : kBackends) {
    if (name == text) return backend;
    known += (known.empty() ? "\"" : ", \"") + std::string(text) + "\"";
  }
  throw py::value_error("unknown backend \"" + name + "\"; the backends are " + known);
}

// A name, or a callable of the user's.
Backend backend_of(const py::object& backend) {
  if (py::isinstance<py::str>(backend)) return backend_named(backend.cast<std::string>());
  if (PyCallable_Check(backend.ptr()) != 0) return Backend::kUsers;
  throw py::type_error("backend is a name or a callable, not " +
                       std::string(Py_TYPE(backend.ptr())->tp_name));
}

frame_eval::CompileOptions make_options(bool fullgraph, std::optional<bool> dynamic,
                                        const py::object& backend) {
  frame_eval::CompileOptions options;
  options.fullgraph = fullgraph;
  options.dynamic = dynamic;
  options.backend = backend_of(backend);
  if (options.backend == Backend::kUsers) options.users_backend = Ref::create(backend.ptr());
  return options;
}

py::object compile(const py::object& callable, bool fullgraph, std::optional<bool> dynamic,
                   const py::object& backend) {
  const frame_eval::CompileOptions options = make_options(fullgraph, dynamic, backend);
  return with_python_errors([&] {
    return py::reinterpret_steal<py::object>(
        frame_eval::make_compiled_function(callable.ptr(), options).release());
  });
}

void check_compiled(const py::object& object) {
  if (object.ptr()->ob_type != frame_eval::compiled_function_type()) {
    throw py::type_error("expected what numlift.compile returned");
  }
}

// graph: text and table of an entry's graph.
struct GraphText {
  std::string text, table;
};

}  // namespace

void bind_compile(py::module_& module) {
  module.def("list_backends", [] {
    py::list names;
    for (const auto& [text, backend] : kBackends) names.append(text);
    return names;
  });
  module.def("check_backend", [](const py::object& backend) { (void)backend_of(backend); });
  module.def("compile", &compile, py::arg("callable"), py::kw_only(), py::arg("fullgraph"),
             py::arg("dynamic").none(true), py::arg("backend"));
  module.def("reset", &frame_eval::reset_all);
  module.def("set_num_threads", [](int count) {
    if (count < 1) throw py::value_error("the number of threads is at least 1");
    codegen::set_num_threads(count);
  });
  module.def("get_num_threads", &codegen::get_num_threads);
  module.def("pool_stats", [] {
    const auto stats = numpy_shim::pool_stats();
    return py::dict(py::arg("live_blocks") = stats.live_blocks,
                    py::arg("kept_bytes") = stats.kept_bytes);
  });
  module.def("disk_cache_info", [] {
    const codegen::DiskCacheInfo info = codegen::disk_cache_info();
    return py::dict(py::arg("directory") = info.directory, py::arg("found") = info.found,
                    py::arg("missed") = info.missed, py::arg("stored") = info.stored);
  });
  module.def("break_count", [](const py::object& compiled) {
    check_compiled(compiled);
    return frame_eval::break_count_of(compiled.ptr());
  });

  module.def(
      "enter_region",
      [](std::optional<bool> dynamic, const py::object& backend, bool everywhere) {
        const frame_eval::CompileOptions options = make_options(false, dynamic, backend);
        if (const std::string why = frame_eval::missing_for(options.backend); !why.empty())
          throw std::runtime_error(why);
        with_python_errors([&] { frame_eval::enter_region(options, everywhere); });
      },
      py::arg("dynamic").none(true), py::arg("backend"), py::arg("everywhere"));
  module.def("leave_region", [] { with_python_errors([] { frame_eval::leave_region(); }); });
  module.def("is_in_region", &frame_eval::is_in_region);
  module.def("region_stats", [] {
    const frame_eval::RegionStats stats = frame_eval::region_stats();
    return py::dict(py::arg("looked_at") = stats.looked_at, py::arg("functions") = stats.functions);
  });

  py::class_<CallStats>(module, "CallStats")
      .def_readonly("calls", &CallStats::calls)
      .def_readonly("hits", &CallStats::hits)
      .def_readonly("misses", &CallStats::misses)
      .def_readonly("compiles", &CallStats::compiles)
      .def_readonly("fallbacks", &CallStats::fallbacks)
      .def_readonly("restarts", &CallStats::restarts)
      .def("__repr__", [](const CallStats& s) {
        return "CallStats(calls=" + std::to_string(s.calls) + ", hits=" + std::to_string(s.hits) +
               ", misses=" + std::to_string(s.misses) + ", compiles=" + std::to_string(s.compiles) +
               ", fallbacks=" + std::to_string(s.fallbacks) +
               ", restarts=" + std::to_string(s.restarts) + ")";
      });
  py::class_<GraphText>(module, "GraphText")
      .def_readonly("text", &GraphText::text)
      .def_readonly("table", &GraphText::table)
      .def("print_tabular", [](const GraphText& graph) { py::print(graph.table); })
      .def("__str__", [](const GraphText& graph) { return graph.text; });
  py::class_<guards::GuardText>(module, "Guard")
      .def_readonly("source", &guards::GuardText::source)
      .def_readonly("kind", &guards::GuardText::kind)
      .def_readonly("condition", &guards::GuardText::condition)
      .def_readonly("reason", &guards::GuardText::reason)
      .def_readonly("user_line", &guards::GuardText::place)
      .def("__str__", &guards::GuardText::line)
      .def("__repr__",
           [](const guards::GuardText& guard) { return "<numlift.Guard " + guard.line() + ">"; });
  py::class_<EntryInfo>(module, "Entry")
      .def_readonly("kind", &EntryInfo::kind)
      .def_readonly("site", &EntryInfo::site)
      .def_property_readonly("guards",
                             [](const EntryInfo& e) {
                               py::list lines;
                               for (const auto& guard : e.guards) lines.append(guard.line());
                               return lines;
                             })
      .def_readonly("guard_details", &EntryInfo::guards)
      .def_readonly("operations", &EntryInfo::operations)
      .def_readonly("recompile_reason", &EntryInfo::recompile_reason)
      .def_property_readonly("loops_left",
                             [](const EntryInfo& e) {
                               py::list left;
                               for (const auto& loop : e.loops_left) {
                                 left.append(py::reinterpret_steal<py::object>(
                                     frame_eval::loop_attributes(loop).release()));
                               }
                               return left;
                             })
      .def_property_readonly(
          "graph", [](const EntryInfo& e) { return GraphText{e.graph_text, e.graph_table}; })
      .def_readonly("break_reason", &EntryInfo::break_reason)
      .def_readonly("kernels", &EntryInfo::kernels)
      .def_readonly("code_size", &EntryInfo::code_size)
      .def_readonly("is_from_disk", &EntryInfo::is_from_disk)
      .def_readonly("hits", &EntryInfo::hits)
      .def_readonly("restarts", &EntryInfo::restarts)
      .def_property_readonly("compile_ms", [](const EntryInfo& e) { return times_dict(e.times); })
      .def("__repr__", [](const EntryInfo& e) {
        return "<numlift.Entry " + e.kind + ", " + std::to_string(e.hits) + " hits>";
      });

  // On the type itself, which knows nothing of pybind11: compiled.entries, compiled.stats.
  const auto property = py::module_::import("builtins").attr("property");
  const py::object type = module.attr("CompiledFunction");
  type.attr("entries") = property(
      py::cpp_function([](const py::object& self) { return frame_eval::entries_of(self.ptr()); }),
      py::none(), py::none(), "What has been compiled, most recently used first.");
  type.attr("stats") = property(
      py::cpp_function([](const py::object& self) { return frame_eval::stats_of(self.ptr()); }),
      py::none(), py::none(),
      "Counts of calls, hits, misses, compilations, fall backs and restarts.");
}

}  // namespace numlift
