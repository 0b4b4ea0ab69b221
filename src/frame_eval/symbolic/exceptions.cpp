#include "symbolic/exceptions.h"

#include <algorithm>
#include <array>

#include "numlift/frame_eval/marks.h"
#include "numlift/py/py_error.h"
#include "symbolic/attributes.h"
#include "symbolic/builtins.h"
#include "symbolic/calls.h"
#include "symbolic/containers.h"
#include "symbolic/operators.h"
#include "symbolic/pure.h"

namespace numlift::frame_eval {

namespace {

PyTypeObject* as_type(BorrowedRef type) { return reinterpret_cast<PyTypeObject*>(type.get()); }
PyTypeObject* base_exception() { return as_type(PyExc_BaseException); }

bool is_static(const PyTypeObject* type) { return !(type->tp_flags & Py_TPFLAGS_HEAPTYPE); }

// The C class that lays out the instances.
PyTypeObject* static_base(PyTypeObject* type) {
  while (!is_static(type)) type = type->tp_base;
  return type;
}

// Its instances are made as BaseException's are.
bool is_plain(const PyTypeObject* base) {
  return base->tp_new == base_exception()->tp_new && base->tp_init == base_exception()->tp_init;
}

// The first argument is a member, too: StopIteration.value, SystemExit.code.
const char* value_member(const PyTypeObject* base) {
  for (const auto& [type, name] :
       {std::pair(PyExc_StopIteration, "value"), std::pair(PyExc_SystemExit, "code")}) {
    if (base->tp_init == as_type(type)->tp_init) return name;
  }
  return nullptr;
}

Ref interned(const char* text) { return checked(PyUnicode_InternFromString(text)); }

bool same_name(BorrowedRef a, BorrowedRef b) {
  return a.get() == b.get() || PyUnicode_Compare(a.get(), b.get()) == 0;
}

const std::vector<Sym>& args_of(const ExceptionValue& exception) {
  return as<SequenceValue>(exception.args).items;
}

Sym* find_member(ExceptionValue& exception, const std::string& name) {
  for (auto& [own, value] : exception.members) {
    if (own == name) return &value;
  }
  return nullptr;
}

Sym* find_attribute(ExceptionValue& exception, BorrowedRef name) {
  for (auto& [own, value] : exception.attributes) {
    if (same_name(own, name)) return &value;
  }
  return nullptr;
}

// Real objects that do not change; null when one of them is something else.
Ref constant_tuple(Interpreter& interpreter, const std::vector<Sym>& values) {
  Ref tuple = checked(PyTuple_New(static_cast<Py_ssize_t>(values.size())));
  for (size_t i = 0; i < values.size(); ++i) {
    auto constant = pure_constant(interpreter, values[i], "an argument of an exception");
    if (!constant) return {};
    PyTuple_SET_ITEM(tuple.get(), static_cast<Py_ssize_t>(i), constant->release());
  }
  return tuple;
}

std::vector<Sym> constants_of(BorrowedRef tuple) {
  std::vector<Sym> values;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(tuple.get()); ++i) {
    values.push_back(std::make_shared<ObjectValue>(Ref::create(PyTuple_GET_ITEM(tuple.get(), i))));
  }
  return values;
}

// One made by the class itself, where that runs no code of the user.
BorrowedRef real_of(Interpreter& interpreter, ExceptionValue& exception) {
  if (exception.real || !is_static(as_type(exception.type))) return exception.real;
  const Ref arguments = constant_tuple(interpreter, args_of(exception));
  if (!arguments) return {};
  exception.real = Ref::steal(PyObject_Call(exception.type.get(), arguments.get(), nullptr));
  if (!exception.real) PyErr_Clear();
  return exception.real;
}

bool is_function(const Sym& value) {
  return value && value->kind == SymKind::kObject && PyFunction_Check(object_of(value).get());
}

[[noreturn]] void unsupported_class(BorrowedRef type) {
  throw_break("object_made", fmt::format("an instance of {} is made", callable_text(type)));
}

// What base.__init__ does.
void init(Interpreter& interpreter, ExceptionValue& exception, const CallArguments& arguments) {
  const PyTypeObject* base = static_base(as_type(exception.type));
  const char* member = value_member(base);
  if (!is_plain(base) && member == nullptr) unsupported_class(exception.type);
  if (!arguments.keywords.empty()) {
    throw_break("would_raise",
                fmt::format("{}() takes no keyword arguments", as_type(exception.type)->tp_name));
  }
  exception.args = make_tuple(arguments.positional);
  exception.real = {};
  if (member != nullptr) {
    const Sym value =
        arguments.positional.empty() ? interpreter.none() : arguments.positional.front();
    if (Sym* own = find_member(exception, member)) {
      *own = value;
    } else {
      exception.members.emplace_back(member, value);
    }
  }
}

// A C class with members of its own: the class itself makes one, of constants.
void make_really(Interpreter& interpreter, ExceptionValue& exception,
                 const CallArguments& arguments) {
  const Ref positional = constant_tuple(interpreter, arguments.positional);
  if (!positional || !is_static(as_type(exception.type))) unsupported_class(exception.type);
  const Ref keywords = checked(PyDict_New());
  for (const auto& [name, value] : arguments.keywords) {
    auto constant = pure_constant(interpreter, value, "an argument of an exception");
    if (!constant) unsupported_class(exception.type);
    check_status(PyDict_SetItem(keywords.get(), name.get(), constant->get()));
  }
  exception.real = must(PyObject_Call(exception.type.get(), positional.get(), keywords.get()));
  // OSError makes one of a subclass, and may keep fewer of the arguments.
  exception.type = Ref::create(reinterpret_cast<PyObject*>(exception.real.type()));
  const Ref args = checked(PyObject_GetAttrString(exception.real.get(), "args"));
  const auto count = static_cast<size_t>(PyTuple_GET_SIZE(args.get()));
  if (count != arguments.positional.size()) exception.args = make_tuple(constants_of(args));
}

}  // namespace

int64_t new_traceback() {
  static thread_local int64_t last = 0;
  return ++last;
}

void throw_error(PyObject* type, std::vector<Sym> args) {
  auto exception = std::make_shared<ExceptionValue>(Ref::create(type), make_tuple(std::move(args)));
  if (const char* member = value_member(static_base(as_type(type)))) {
    const auto& items = args_of(*exception);
    exception->members.emplace_back(
        member, items.empty() ? std::make_shared<ObjectValue>(Ref::create(Py_None)) : items[0]);
  }
  throw Raised{std::move(exception), true, true, as_type(type)->tp_name};
}

void throw_error(PyObject* type, const std::string& message) {
  std::vector<Sym> args{std::make_shared<ObjectValue>(checked(
      PyUnicode_FromStringAndSize(message.data(), static_cast<Py_ssize_t>(message.size()))))};
  auto exception = std::make_shared<ExceptionValue>(Ref::create(type), make_tuple(std::move(args)));
  throw Raised{std::move(exception), true, true,
               fmt::format("{}: {}", as_type(type)->tp_name, message)};
}

void throw_name_error(BorrowedRef name) {
  auto exception = std::make_shared<ExceptionValue>(
      Ref::create(PyExc_NameError),
      make_tuple({std::make_shared<ObjectValue>(
          checked(PyUnicode_FromFormat("name '%U' is not defined", name.get())))}));
  exception->members.emplace_back("name", std::make_shared<ObjectValue>(Ref::create(name)));
  std::string reason = fmt::format("name '{}' is not defined", utf8_text(name));
  throw Raised{std::move(exception), true, true, std::move(reason)};
}

std::optional<Raised> raised_from_error() {
  PyObject *raw_type, *raw_value, *raw_traceback;
  PyErr_Fetch(&raw_type, &raw_value, &raw_traceback);
  PyErr_NormalizeException(&raw_type, &raw_value, &raw_traceback);
  const Ref type = Ref::steal(raw_type), value = Ref::steal(raw_value),
            traceback = Ref::steal(raw_traceback);
  if (!value || !PyExceptionInstance_Check(value.get())) return std::nullopt;
  check_status(PyException_SetTraceback(value.get(), Py_None));
  PyException_SetContext(value.get(), nullptr);
  PyTypeObject* own = value.type();
  std::string reason = own->tp_name;
  if (const Ref text = Ref::steal(PyObject_Str(value.get()))) {
    reason += ": " + utf8_text(text);
  } else {
    PyErr_Clear();
  }
  if (!is_static(own)) {  // NumPy's own are written in Python
    const Ref module = Ref::steal(PyObject_GetAttrString(value.get(), "__module__"));
    if (!module) PyErr_Clear();
    if (!module || !utf8_text(module).starts_with("numpy")) return std::nullopt;
  }
  const Ref args = Ref::steal(PyObject_GetAttrString(value.get(), "args"));
  if (!args || !is_pure(args)) {
    PyErr_Clear();
    return std::nullopt;
  }
  auto exception = std::make_shared<ExceptionValue>(Ref::create(reinterpret_cast<PyObject*>(own)),
                                                    make_tuple(constants_of(args)));
  exception->real = value;
  return Raised{std::move(exception), true, true, std::move(reason)};
}

void set_context(Interpreter& interpreter, const std::shared_ptr<ExceptionValue>& exception) {
  const Sym handled = interpreter.topmost_handled();
  if (!handled) {
    exception->has_outer_context = true;
    return;
  }
  if (handled == exception) return;
  // No cycle: who has the new one as context loses it.
  for (Sym one = handled; one && is_exception(one);) {
    auto& link = as<ExceptionValue>(one);
    if (link.context == exception) {
      link.context = nullptr;
      break;
    }
    one = link.context;
  }
  exception->context = handled;
  exception->has_outer_context = false;
}

bool is_instance(const ExceptionValue& exception, PyObject* type) {
  return PyType_IsSubtype(as_type(exception.type), as_type(type)) != 0;
}

Sym make_exception(Interpreter& interpreter, const Sym& callable, CallArguments arguments) {
  real_object(interpreter, callable, "it is called");
  BorrowedRef object = object_of(callable);
  PyTypeObject* type = as_type(object);
  const PyTypeObject* base = static_base(type);
  if (Py_TYPE(type) != &PyType_Type || type->tp_new != base->tp_new) unsupported_class(object);
  auto exception =
      std::make_shared<ExceptionValue>(Ref::create(object), make_tuple(arguments.positional));
  if (base->tp_new == as_type(PyExc_BaseExceptionGroup)->tp_new) {
    make_group(interpreter, *exception, arguments);
    if (type->tp_init == base->tp_init) return exception;
  }
  if (!is_static(type)) {
    const Sym own_init = type_attribute(interpreter, exception, interned("__init__"));
    if (is_function(own_init)) {
      if (base->tp_new != base_exception()->tp_new &&
          base->tp_new != as_type(PyExc_BaseExceptionGroup)->tp_new) {
        unsupported_class(object);
      }
      arguments.positional.insert(arguments.positional.begin(), exception);
      const Sym result = call_python_function(interpreter, own_init, std::move(arguments));
      if (!is_object(result, Py_None)) {
        throw_break("would_raise", "__init__() returns something else than None");
      }
      return exception;
    }
    if (type->tp_init != base->tp_init) unsupported_class(object);
  }
  if (is_plain(base) || value_member(base) != nullptr) {
    init(interpreter, *exception, arguments);
  } else {
    make_really(interpreter, *exception, arguments);
  }
  return exception;
}

bool matches(Interpreter& interpreter, const Sym& exception, const Sym& classes) {
  const std::vector<Sym> wanted =
      is_tuple(classes) ? sequence_items(interpreter, classes) : std::vector<Sym>{classes};
  bool found = false;
  for (const Sym& one : wanted) {
    const auto real = real_object(interpreter, one, "a handler's class");
    if (!real || !PyExceptionClass_Check(real->get())) {
      throw_error(PyExc_TypeError,
                  "catching classes that do not inherit from BaseException is not allowed");
    }
    found = found || is_instance(as<ExceptionValue>(exception), real->get());
  }
  return found;
}

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
  return is_function(method) ? method : nullptr;
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
  const auto& exception = as<ExceptionValue>(self);
  if (static_base(as_type(exception.type))->tp_repr != base_exception()->tp_repr) {
    throw_break("unsupported_value",
                fmt::format("repr() of a {}", as_type(exception.type)->tp_name));
  }
  std::string name = as_type(exception.type)->tp_name;
  name = name.substr(name.rfind('.') + 1);
  const auto& args = args_of(exception);
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
    init(interpreter, exception, arguments);
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
