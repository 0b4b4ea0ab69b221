#include "symbolic/exceptions.h"

#include <set>

#include "symbolic/attributes.h"
#include "symbolic/calls.h"
#include "symbolic/containers.h"
#include "symbolic/exception_parts.h"
#include "symbolic/made_classes.h"
#include "symbolic/pure.h"

namespace numlift::frame_eval {

PyTypeObject* static_base(PyTypeObject* type) {
  while (!is_static(type)) type = type->tp_base;
  return type;
}

bool is_plain(const PyTypeObject* base) {
  return base->tp_new == base_exception()->tp_new && base->tp_init == base_exception()->tp_init;
}

const char* value_member(const PyTypeObject* base) {
  for (const auto& [type, name] :
       {std::pair(PyExc_StopIteration, "value"), std::pair(PyExc_SystemExit, "code")}) {
    if (base->tp_init == as_type(type)->tp_init) return name;
  }
  return nullptr;
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

namespace {

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

}  // namespace

BorrowedRef real_of(Interpreter& interpreter, ExceptionValue& exception) {
  if (exception.real || !is_static(as_type(exception.type))) return exception.real;
  const Ref arguments = constant_tuple(interpreter, args_of(exception));
  if (!arguments) return {};
  exception.real = Ref::steal(PyObject_Call(exception.type.get(), arguments.get(), nullptr));
  if (!exception.real) PyErr_Clear();
  return exception.real;
}

namespace {

[[noreturn]] void unsupported_class(BorrowedRef type) {
  throw_break("object_made", fmt::format("an instance of {} is made", callable_text(type)));
}

}  // namespace

void init_exception(Interpreter& interpreter, ExceptionValue& exception,
                    const CallArguments& arguments) {
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

namespace {

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
  // No new cycle: who has the new one as context loses it. The user may have made one before.
  std::set<const SymbolicValue*> seen;
  for (Sym one = handled; one && is_exception(one) && seen.insert(one.get()).second;) {
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
    if (is_python_function(own_init) || (own_init && own_init->kind == SymKind::kFunction)) {
      if (base->tp_new != base_exception()->tp_new &&
          base->tp_new != as_type(PyExc_BaseExceptionGroup)->tp_new) {
        unsupported_class(object);
      }
      arguments.positional.insert(arguments.positional.begin(), exception);
      const Sym result = call_value(interpreter, own_init, std::move(arguments));
      if (!is_object(result, Py_None)) {
        throw_break("would_raise", "__init__() returns something else than None");
      }
      return exception;
    }
    if (type->tp_init != base->tp_init) unsupported_class(object);
  }
  if (is_plain(base) || value_member(base) != nullptr) {
    init_exception(interpreter, *exception, arguments);
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
    const auto real = class_for_tests(interpreter, one, "a handler's class");
    if (!real || !PyExceptionClass_Check(real->get())) {
      throw_error(PyExc_TypeError,
                  "catching classes that do not inherit from BaseException is not allowed");
    }
    found = found || is_instance(as<ExceptionValue>(exception), real->get());
  }
  return found;
}

}  // namespace numlift::frame_eval
