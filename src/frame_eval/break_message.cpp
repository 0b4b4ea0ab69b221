#include "break_message.h"

#include <algorithm>

#include <fmt/format.h>

#include "numlift/py/py_error.h"

namespace numlift::frame_eval {
namespace {

PyObject* unsupported_class = nullptr;

constexpr BreakReason kReasons[] = {
#define NUMLIFT_BREAK(id, code, text, explanation, hints) {#id, #code, text, explanation, hints},
#include "numlift/frame_eval/break_reasons.def"
#undef NUMLIFT_BREAK
};

Ref text_object(std::string_view text) {
  return checked(
      PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "replace"));
}

// The line of the source as linecache has it; "" when there is none.
std::string source_line(const UserFrame& place) {
  const Ref linecache = Ref::steal(PyImport_ImportModule("linecache"));
  const Ref line = linecache
                       ? Ref::steal(PyObject_CallMethod(linecache.get(), "getline", "si",
                                                        place.file.c_str(), place.position.line))
                       : Ref();
  const char* text = line && PyUnicode_Check(line.get()) ? PyUnicode_AsUTF8(line.get()) : nullptr;
  if (text == nullptr) PyErr_Clear();
  return text == nullptr ? "" : text;
}

size_t characters(std::string_view utf8) {
  return static_cast<size_t>(
      std::count_if(utf8.begin(), utf8.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

// The source line without its indent, and under it a marker below the expression. Columns are
// those of the compiler: bytes.
std::string marked_source(const UserFrame& place, const std::string& indent) {
  std::string line = source_line(place);
  line.erase(line.find_last_not_of(" \t\r\n\f") + 1);
  const size_t first = line.find_first_not_of(" \t\f");
  if (first == std::string::npos) return "";
  std::string text = "\n" + indent + line.substr(first);
  const Position& position = place.position;
  if (position.column < 0) return text;
  const size_t begin = std::max(static_cast<size_t>(position.column), first);
  const bool ends_here = position.end_line == position.line && position.end_column >= 0;
  const size_t end =
      ends_here ? std::min(static_cast<size_t>(position.end_column), line.size()) : line.size();
  if (begin >= end) return text;
  const std::string_view view = line;
  text += "\n" + indent + std::string(characters(view.substr(first, begin - first)), ' ') +
          std::string(characters(view.substr(begin, end - begin)), '^');
  return text;
}

std::vector<std::string> lines_of(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    lines.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

std::string unsupported_text(const BreakInfo& info) {
  const BreakReason& reason = break_reason(info.category);
  std::string text = fmt::format("{}\n  {}: {}\n  Explanation: {}", info.reason, reason.code,
                                 reason.text, reason.explanation);
  for (const std::string& hint : lines_of(reason.hints)) text += "\n  Hint: " + hint;
  text += fmt::format("\n  Example and rewrite: docs/breaks.md, {}", reason.code);
  text += "\n\nfrom user code:";
  for (const UserFrame& frame : info.user_stack) {
    text += fmt::format("\n  File \"{}\", line {}, in {}", frame.file, frame.position.line,
                        frame.function);
    text += marked_source(frame, "    ");
  }
  return text;
}

void set_item(const Ref& dict, const char* key, const Ref& value) {
  check_status(PyDict_SetItemString(dict.get(), key, value.get()));
}

// A traceback.FrameSummary; its columns count characters.
Ref frame_summary(BorrowedRef summary_class, const UserFrame& frame) {
  const Ref arguments = checked(
      Py_BuildValue("(sis)", frame.file.c_str(), frame.position.line, frame.function.c_str()));
  const Ref keywords = checked(PyDict_New());
  set_item(keywords, "lookup_line", Ref::create(Py_False));
  if (frame.position.column >= 0 && frame.position.end_line == frame.position.line) {
    const std::string line = source_line(frame);
    const auto column = [&](int bytes) {
      const auto count = std::min(static_cast<size_t>(bytes), line.size());
      return checked(PyLong_FromSize_t(characters(std::string_view(line).substr(0, count))));
    };
    if (!line.empty()) {
      set_item(keywords, "end_lineno", checked(PyLong_FromLong(frame.position.end_line)));
      set_item(keywords, "colno", column(frame.position.column));
      set_item(keywords, "end_colno", column(frame.position.end_column));
    }
  }
  return checked(PyObject_Call(summary_class.get(), arguments.get(), keywords.get()));
}

}  // namespace

std::span<const BreakReason> break_reasons() { return kReasons; }

const BreakReason& break_reason(const std::string& category) {
  const auto* found = std::find_if(std::begin(kReasons), std::end(kReasons),
                                   [&](const BreakReason& one) { return category == one.id; });
  NUMLIFT_CHECK(found != std::end(kReasons), "no break category '{}'", category);
  return *found;
}

Ref break_attributes(const BreakInfo& info) {
  const BreakReason& reason = break_reason(info.category);
  const Ref module = checked(PyImport_ImportModule("traceback"));
  const Ref summary_class = checked(PyObject_GetAttrString(module.get(), "FrameSummary"));
  const Ref stack = checked(PyList_New(0));
  for (const UserFrame& frame : info.user_stack) {
    check_status(PyList_Append(stack.get(), frame_summary(summary_class, frame).get()));
  }
  const Ref hints = checked(PyList_New(0));
  for (const std::string& hint : lines_of(reason.hints)) {
    check_status(PyList_Append(hints.get(), text_object(hint).get()));
  }
  Ref attributes = checked(PyDict_New());
  set_item(attributes, "reason", text_object(info.reason));
  set_item(attributes, "code", text_object(reason.code));
  set_item(attributes, "category", text_object(reason.id));
  set_item(attributes, "explanation", text_object(reason.explanation));
  set_item(attributes, "hints", hints);
  set_item(attributes, "user_stack", stack);
  return attributes;
}

Ref loop_attributes(const LoopLeft& loop) {
  const Ref module = checked(PyImport_ImportModule("traceback"));
  const Ref summary_class = checked(PyObject_GetAttrString(module.get(), "FrameSummary"));
  Ref attributes = checked(PyDict_New());
  set_item(attributes, "reason", text_object(loop.reason));
  set_item(attributes, "place", frame_summary(summary_class, loop.place));
  return attributes;
}

std::string break_log_text(const BreakInfo& info, const std::string& function,
                           const std::string& what_was_done) {
  const BreakReason& reason = break_reason(info.category);
  const UserFrame& place = info.place();
  std::string text = fmt::format("graph break in {}: {} ({}: {})", function, info.reason,
                                 reason.code, reason.text);
  text += fmt::format("\n  where: {}:{} in {}", place.file, place.position.line, place.function);
  text += marked_source(place, "    ");
  text += fmt::format("\n  why: {}\n  numlift: {}", reason.explanation, what_was_done);
  for (const std::string& hint : lines_of(reason.hints)) text += "\n  fix: " + hint;
  return text;
}

void set_unsupported_class(BorrowedRef unsupported) {
  unsupported_class = Ref::create(unsupported).release();
}

void raise_unsupported(const BreakInfo& info) {
  // Errors of the caller's, which NumPy's functions report in the same way.
  for (const auto& [category, error] : {std::pair{"transform_type", PyExc_TypeError},
                                        std::pair{"transform_value", PyExc_ValueError}}) {
    if (info.category != category) continue;
    PyErr_SetString(error, info.reason.c_str());
    return;
  }
  const Ref attributes = break_attributes(info);
  const Ref error =
      checked(PyObject_CallOneArg(unsupported_class, text_object(unsupported_text(info)).get()));
  PyObject *name, *value;
  Py_ssize_t position = 0;
  while (PyDict_Next(attributes.get(), &position, &name, &value)) {
    check_status(PyObject_SetAttr(error.get(), name, value));
  }
  PyErr_SetObject(unsupported_class, error.get());
}

}  // namespace numlift::frame_eval
