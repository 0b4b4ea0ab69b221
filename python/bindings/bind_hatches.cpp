// Escape hatches: the table of marks, the stance, and code with compiled callees.
#include "bindings.h"
#include "numlift/frame_eval/compiled_callees.h"
#include "numlift/frame_eval/marks.h"
#include "numlift/frame_eval/compiled_function.h"
#include "numlift/support/options.h"

namespace py = pybind11;

namespace numlift {
namespace {

using frame_eval::Stance;

constexpr std::pair<const char*, Stance> kStances[] = {
    {"default", Stance::kDefault},
    {"force_eager", Stance::kForceEager},
    {"eager_on_recompile", Stance::kEagerOnRecompile},
    {"fail_on_recompile", Stance::kFailOnRecompile}};

void set_mark(const py::object& callable, const std::string& mark, const py::object& target,
              const std::string& text) {
  with_python_errors([&] {
    frame_eval::MarkEntry entry;
    entry.mark = frame_eval::mark_named(mark);
    if (!target.is_none()) entry.target = Ref::create(target.ptr());
    entry.text = text;
    frame_eval::set_mark(callable.ptr(), std::move(entry));
  });
}

void set_stance(const std::string& name) {
  std::string known;
  for (const auto& [text, stance] : kStances) {
    if (name == text) {
      frame_eval::current_stance = stance;
      return;
    }
    known += (known.empty() ? "\"" : ", \"") + std::string(text) + "\"";
  }
  throw py::value_error("unknown stance \"" + name + "\"; the stances are " + known);
}

std::string get_stance() {
  for (const auto& [text, stance] : kStances) {
    if (frame_eval::current_stance == stance) return text;
  }
  return "default";
}

}  // namespace

void bind_hatches(py::module_& module) {
  module.def("set_mark", &set_mark, py::arg("callable"), py::arg("mark"),
             py::arg("target") = py::none(), py::arg("text") = "");
  module.def("clear_mark", [](const py::object& callable) {
    return with_python_errors([&] { return frame_eval::clear_mark(callable.ptr()); });
  });
  module.def("is_marked", [](const py::object& callable) {
    return frame_eval::find_mark(callable.ptr()) != nullptr;
  });
  module.def("checks_escape_hatches", [] { return options().check_escape_hatches.load(); });
  module.def("drop_entries", &frame_eval::drop_entries);
  module.def("mark_axes", [](const py::object& array, uint64_t fixed, uint64_t dynamic) {
    frame_eval::mark_axes(array.ptr(), {fixed, dynamic});
  });
  module.def("axis_marks", [](const py::object& array) {
    const auto marks = frame_eval::axis_marks(array.ptr());
    return py::make_tuple(marks.fixed, marks.dynamic);
  });
  module.def("set_stance", &set_stance);
  module.def("get_stance", &get_stance);
  module.def("code_with_wrapped_callees", [](const py::object& code, const py::object& wrap) {
    if (!PyCode_Check(code.ptr())) throw py::type_error("expected a code object");
    return with_python_errors([&] {
      return py::reinterpret_steal<py::object>(
          frame_eval::code_with_wrapped_callees(code.ptr(), wrap.ptr()).release());
    });
  });
}

}  // namespace numlift
