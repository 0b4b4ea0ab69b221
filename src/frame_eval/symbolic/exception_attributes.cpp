// What code reads of exceptions and does with them: attributes, str(), repr(), methods in C.
#include <algorithm>

#include "numlift/py/py_error.h"
#include "symbolic/attributes.h"
#include "symbolic/builtins.h"
#include "symbolic/calls.h"
#include "symbolic/containers.h"
#include "symbolic/exception_parts.h"
#include "symbolic/exceptions.h"
#include "symbolic/pure.h"

namespace numlift::frame_eval {

// ---------------------------------------------------------------- attributes

namespace {

bool is_data_descriptor(PyObject* raw) { return Py_TYPE(raw)->tp_descr_set != nullptr; }

Sym or_none(Interpreter& interpreter, const Sym& value) {
  return value ? value : interpreter.none();
}

Sym read_context(Interpreter& interpreter, const ExceptionValue& exception) {
  if (!exception.has_outer_context) return or_none(interpreter, exception.context);
  const auto source = guards::Source::handled_exception();
  if (source->read({})) {
    throw Break{"handed_over", "the context of an exception is one of the caller's",
                exception.begins};
  }
  interpreter.tracer.guard(source, guards::IsAbsent{},
                           "the context of an exception is read at " + interpreter.location_text());
  return or_none(interpreter, exception.context);
}

[[noreturn]] void no_attribute(const ExceptionValue& exception, BorrowedRef name) {
  throw_error(PyExc_AttributeError, fmt::format("'{}' object has no attribute '{}'",
                                                as_type(exception.type)->tp_name, utf8_text(name)));
}

[[noreturn]] void unsupported_attribute(const ExceptionValue& exception, BorrowedRef name) {
  throw_break("unsupported_value", fmt::format("attribute '{}' of a {}", utf8_text(name),
                                               as_type(exception.type)->tp_name));
}

// Null: none of these.
Sym special_attribute(Interpreter& interpreter, ExceptionValue& exception,
                      const std::string& text) {
  if (text == "args") return exception.args;
  if (text == "__cause__") return or_none(interpreter, exception.cause);
  if (text == "__context__") return read_context(interpreter, exception);
  if (text == "__suppress_context__") return interpreter.boolean(exception.suppress_context);
  if (text == "__traceback__") {
    if (exception.traceback == 0) return interpreter.none();
    return std::make_shared<TracebackValue>(exception, exception.traceback);
  }
  Sym* member = find_member(exception, text);
  return member ? *member : nullptr;
}

}  // namespace

Sym exception_attribute(Interpreter& interpreter, const Sym& self, BorrowedRef name) {
  auto& exception = as<ExceptionValue>(self);
  PyTypeObject* type = as_type(exception.type);
  if (Sym value = special_attribute(interpreter, exception, utf8_text(name))) return value;
  if (type->tp_getattro != PyObject_GenericGetAttr) unsupported_attribute(exception, name);
  const Sym raw = type_attribute(interpreter, self, name);
  PyObject* found = raw ? _PyType_Lookup(type, name.get()) : nullptr;
  if (found != nullptr && is_data_descriptor(found)) {
    if (Py_TYPE(found) == &PyProperty_Type) {
      return bind_attribute(interpreter, raw, self, interpreter.object(exception.type));
    }
    if (BorrowedRef real = real_of(interpreter, exception)) {
      Ref value = must(PyObject_GetAttr(real.get(), name.get()));
      if (is_pure(value)) return interpreter.tracer.constant(std::move(value));
    }
    unsupported_attribute(exception, name);
  }
  if (Sym* own = find_attribute(exception, name)) return *own;
  if (exception.real && !is_static(type)) {
    Ref value = must(PyObject_GetAttr(exception.real.get(), name.get()));
    if (is_pure(value)) return interpreter.tracer.constant(std::move(value));
    unsupported_attribute(exception, name);
  }
  if (!raw) no_attribute(exception, name);
  return bind_attribute(interpreter, raw, self, interpreter.object(exception.type));
}

std::optional<bool> has_exception_attribute(Interpreter& interpreter, const Sym& self,
                                            BorrowedRef name) {
  auto& exception = as<ExceptionValue>(self);
  PyTypeObject* type = as_type(exception.type);
  if (type->tp_getattro != PyObject_GenericGetAttr) return std::nullopt;
  PyObject* found = _PyType_Lookup(type, name.get());
  if (found != nullptr && Py_TYPE(found) == &PyProperty_Type) return std::nullopt;
  type_attribute(interpreter, self, name);
  return found != nullptr || find_attribute(exception, name) != nullptr;
}

void set_exception_attribute(Interpreter& interpreter, const Sym& self, BorrowedRef name,
                             const Sym& value) {
  auto& exception = as<ExceptionValue>(self);
  PyTypeObject* type = as_type(exception.type);
  const std::string text = utf8_text(name);
  const bool generic = type->tp_setattro == PyObject_GenericSetAttr;
  PyObject* raw = _PyType_Lookup(type, name.get());
  if (!generic || (raw != nullptr && is_data_descriptor(raw) && !value)) {
    unsupported_attribute(exception, name);
  }
  if (text == "__cause__" || text == "__context__") {
    const bool is_none = is_object(value, Py_None);
    if (!is_none && !is_exception(value) &&
        !(value->kind == SymKind::kObject && PyExceptionInstance_Check(object_of(value).get()))) {
      throw_break("would_raise", "an exception's context or cause that is no exception");
    }
    if (text == "__context__") {
      exception.context = is_none ? nullptr : value;
      exception.has_outer_context = false;
    } else {
      exception.cause = is_none ? nullptr : value;
      exception.suppress_context = true;
    }
    return;
  }
  if (text == "__suppress_context__") {
    const auto flag = pure_constant(interpreter, value, "an exception's flag");
    if (!flag || !PyBool_Check(flag->get())) unsupported_attribute(exception, name);
    exception.suppress_context = flag->get() == Py_True;
    return;
  }
  if (text == "__traceback__") {
    const auto* traceback = dynamic_cast<const TracebackValue*>(value.get());
    if (traceback == nullptr && !is_object(value, Py_None)) unsupported_attribute(exception, name);
    exception.traceback = traceback ? traceback->number : 0;
    return;
  }
  if (text == "args") {
    exception.args = make_tuple(collect_items(interpreter, value));
    exception.real = {};
    return;
  }
  if (Sym* member = find_member(exception, text)) {
    *member = value;
    return;
  }
  if (raw != nullptr && is_data_descriptor(raw)) unsupported_attribute(exception, name);
  if (!is_static(type)) type_attribute(interpreter, self, name);
  Sym* own = find_attribute(exception, name);
  if (!value) {
    if (own == nullptr) unsupported_attribute(exception, name);
    std::erase_if(exception.attributes,
                  [&](const auto& attribute) { return same_name(attribute.first, name); });
  } else if (own != nullptr) {
    *own = value;
  } else {
    exception.attributes.emplace_back(Ref::create(name), value);
  }
}

// ---------------------------------------------------------------- methods

namespace {

Sym add_note(Interpreter& interpreter, const Sym& self, const CallArguments& arguments) {
  ArgumentReader read("add_note", arguments);
  read.expect(1, 1);
  const auto note = pure_constant(interpreter, read[0], "a note");
  if (!note) throw_break("unsupported_value", "a note that is a " + type_name(read[0]));
  if (!PyUnicode_Check(note->get())) {
    throw_error(PyExc_TypeError,
                fmt::format("note must be a str, not '{}'", note->type()->tp_name));
  }
  const Ref name = interned("__notes__");
  auto& exception = as<ExceptionValue>(self);
  if (Sym* notes = find_attribute(exception, name)) {
    if ((*notes)->kind != SymKind::kList) {
      throw_break("unsupported_value", "notes that are a " + type_name(*notes));
    }
    as<SequenceValue>(*notes).items.push_back(read[0]);
  } else {
    set_exception_attribute(interpreter, self, name, make_list({read[0]}));
  }
  return interpreter.none();
}

// The method as a class written in Python has it; null: the one in C.
Sym python_method(Interpreter& interpreter, const Sym& self, const char* name) {
  if (is_static(as_type(as<ExceptionValue>(self).type))) return nullptr;
  Sym method = type_attribute(interpreter, self, interned(name));
  return is_python_function(method) ? method : nullptr;
}

Sym text_of(Interpreter& interpreter, const Sym& value) {
  return call_value(interpreter, interpreter.object(known_object("builtins", "str")),
                    {{value}, {}});
}
Sym repr_of(Interpreter& interpreter, const Sym& value) {
  return call_value(interpreter, interpreter.object(known_object("builtins", "repr")),
                    {{value}, {}});
}

// "(…)": repr() of several arguments.
std::string tuple_text(Interpreter& interpreter, const std::vector<Sym>& items) {
  std::string text = "(";
  for (const Sym& item : items) {
    if (text.size() > 1) text += ", ";
    text += utf8_text(object_of(repr_of(interpreter, item)));
  }
  return text + (items.size() == 1 ? ",)" : ")");
}

Sym c_text(Interpreter& interpreter, const Sym& self) {
  auto& exception = as<ExceptionValue>(self);
  PyTypeObject* base = static_base(as_type(exception.type));
  const auto& args = args_of(exception);
  const bool is_key_error = base->tp_str == as_type(PyExc_KeyError)->tp_str;
  if (is_group(self)) {
    const size_t count =
        as<SequenceValue>(special_attribute(interpreter, exception, "exceptions")).items.size();
    const Sym message = special_attribute(interpreter, exception, "message");
    return interpreter.text(fmt::format("{} ({} sub-exception{})", utf8_text(object_of(message)),
                                        count, count > 1 ? "s" : ""));
  }
  if (base->tp_str != base_exception()->tp_str && !is_key_error) {
    if (BorrowedRef real = real_of(interpreter, exception)) {
      return interpreter.tracer.constant(must(PyObject_Str(real.get())));
    }
    throw_break("unsupported_value", fmt::format("str() of a {}", base->tp_name));
  }
  if (args.empty()) return interpreter.text("");
  if (args.size() > 1) return interpreter.text(tuple_text(interpreter, args));
  return is_key_error ? repr_of(interpreter, args[0]) : text_of(interpreter, args[0]);
}

Sym c_repr(Interpreter& interpreter, const Sym& self) {
  auto& exception = as<ExceptionValue>(self);
  const reprfunc repr = static_base(as_type(exception.type))->tp_repr;
  auto args = args_of(exception);
  const bool tells_what_it_holds =
      is_group(self) && repr == as_type(PyExc_BaseExceptionGroup)->tp_repr && args.size() == 2;
  if (repr != base_exception()->tp_repr && !tells_what_it_holds) {
    throw_break("unsupported_value",
                fmt::format("repr() of a {}", as_type(exception.type)->tp_name));
  }
  std::string name = as_type(exception.type)->tp_name;
  name = name.substr(name.rfind('.') + 1);
  if (repr != base_exception()->tp_repr) {
    // The list that it was made of may have changed since.
    const Sym held = special_attribute(interpreter, exception, "exceptions");
    args = {special_attribute(interpreter, exception, "message"),
            is_list(args[1]) ? make_list(as<SequenceValue>(held).items) : held};
  }
  if (args.size() != 1) return interpreter.text(name + tuple_text(interpreter, args));
  return interpreter.text(
      fmt::format("{}({})", name, utf8_text(object_of(repr_of(interpreter, args[0])))));
}

Sym checked_text(const Sym& text) {
  if (text->kind != SymKind::kObject || !PyUnicode_Check(object_of(text).get())) {
    throw_break("would_raise", "__str__ or __repr__ gives something else than a str");
  }
  return text;
}

}  // namespace

Sym exception_text(Interpreter& interpreter, const Sym& self) {
  auto& exception = as<ExceptionValue>(self);
  PyTypeObject* type = as_type(exception.type);
  if (exception.real && !is_static(type)) {  // of a class of NumPy's, and made by it
    return interpreter.tracer.constant(must(PyObject_Str(exception.real.get())));
  }
  if (const Sym method = python_method(interpreter, self, "__str__")) {
    return checked_text(call_python_function(interpreter, method, {{self}, {}}));
  }
  if (type->tp_str == static_base(type)->tp_str) return c_text(interpreter, self);
  throw_break("unsupported_value", fmt::format("str() of a {}", type->tp_name));
}

Sym exception_repr(Interpreter& interpreter, const Sym& self) {
  if (const Sym method = python_method(interpreter, self, "__repr__")) {
    return checked_text(call_python_function(interpreter, method, {{self}, {}}));
  }
  return c_repr(interpreter, self);
}

bool exception_truth(Interpreter& interpreter, const Sym& self) {
  for (const char* name : {"__bool__", "__len__"}) {
    if (!is_static(as_type(as<ExceptionValue>(self).type)) &&
        type_attribute(interpreter, self, interned(name))) {
      throw_break("unsupported_value", "the truth value of an exception that defines one");
    }
  }
  return true;
}

Sym exception_method(Interpreter& interpreter, const Sym& self, const std::string& name,
                     const CallArguments& arguments) {
  auto& exception = as<ExceptionValue>(self);
  ArgumentReader read(name.c_str(), arguments);
  if (name == "add_note") return add_note(interpreter, self, arguments);
  if (name == "__init__") {
    if (is_group(self)) return interpreter.none();
    init_exception(interpreter, exception, arguments);
    return interpreter.none();
  }
  if (name == "with_traceback") {
    read.expect(1, 1);
    set_exception_attribute(interpreter, self, interned("__traceback__"), read[0]);
    return self;
  }
  if (name == "__str__" || name == "__repr__") {
    read.expect(0, 0);
    return name == "__str__" ? c_text(interpreter, self) : c_repr(interpreter, self);
  }
  if (is_group(self)) return group_method(interpreter, self, name, arguments);
  throw_break("unsupported_call",
              fmt::format("method {} of a {}", name, as_type(exception.type)->tp_name));
}

bool keeps_nothing_alive(const ExceptionValue& exception, int depth) {
  constexpr int kMostLinks = 20;
  const auto is_constant = [depth](const Sym& value) {
    return !value || (value->kind == SymKind::kObject && !value->source) ||
           (is_exception(value) && depth < kMostLinks &&
            keeps_nothing_alive(as<ExceptionValue>(value), depth + 1));
  };
  return exception.members.empty() && exception.attributes.empty() &&
         is_constant(exception.cause) && is_constant(exception.context) &&
         std::all_of(args_of(exception).begin(), args_of(exception).end(), is_constant);
}

std::optional<CallShape> exception_shape(const ExceptionValue& exception) {
  const PyTypeObject* type = as_type(exception.type);
  if (exception.place || exception.traceback != 0 || exception.cause || exception.context ||
      exception.has_outer_context || exception.suppress_context || !exception.attributes.empty() ||
      !is_static(type) || !(is_plain(type) || value_member(type) != nullptr)) {
    return std::nullopt;
  }
  const auto& args = args_of(exception);
  for (const auto& [name, value] : exception.members) {
    if (!args.empty() && value != args.front()) return std::nullopt;
    if (args.empty() && !is_object(value, Py_None)) return std::nullopt;
  }
  return CallShape{exception.type, args, {}, 0};
}

}  // namespace numlift::frame_eval
