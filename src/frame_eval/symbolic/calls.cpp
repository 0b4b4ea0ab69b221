#include "symbolic/calls.h"

#include <set>

#include "numlift/py/py_error.h"
#include "symbolic/attributes.h"
#include "symbolic/builtins.h"
#include "symbolic/container_classes.h"
#include "symbolic/containers.h"
#include "symbolic/dispatching.h"
#include "symbolic/enums.h"
#include "symbolic/error_region_value.h"
#include "symbolic/errstate.h"
#include "symbolic/exceptions.h"
#include "symbolic/generators.h"
#include "symbolic/hatch_calls.h"
#include "symbolic/instances.h"
#include "symbolic/iterators.h"
#include "symbolic/library_objects.h"
#include "symbolic/made_classes.h"
#include "symbolic/named_tuples.h"
#include "symbolic/numpy_calls.h"
#include "symbolic/outside_containers.h"
#include "symbolic/partial.h"
#include "symbolic/polyfills.h"
#include "symbolic/pure.h"
#include "symbolic/random_calls.h"
#include "symbolic/pure_calls.h"
#include "symbolic/sorting.h"
#include "symbolic/special_methods.h"

namespace numlift::frame_eval {

using guards::Source;

std::string callable_text(BorrowedRef callable) {
  Ref name = Ref::steal(PyObject_GetAttrString(callable.get(), "__qualname__"));
  if (!name) PyErr_Clear();
  Ref module = Ref::steal(PyObject_GetAttrString(callable.get(), "__module__"));
  if (!module) PyErr_Clear();
  std::string text =
      name && PyUnicode_Check(name.get()) ? utf8_text(name) : callable.type()->tp_name;
  if (module && PyUnicode_Check(module.get()) && utf8_text(module) != "builtins") {
    text = utf8_text(module) + "." + text;
  }
  return text;
}

namespace {

// "builtin: print [str] False": name, types of the positional arguments, whether there are
// keywords.
std::string builtin_text(const char* what, const std::string& name,
                         const CallArguments& arguments) {
  std::string types;
  for (const Sym& argument : arguments.positional) {
    if (!types.empty()) types += ", ";
    types += type_name(argument);
  }
  return fmt::format("{}: {} [{}] {}", what, name, types,
                     arguments.keywords.empty() ? "False" : "True");
}

std::string short_name(BorrowedRef callable) {
  Ref name = checked(PyObject_GetAttrString(callable.get(), "__name__"));
  return utf8_text(name);
}

// Builtins whose effects are those of the code that they call, in the same order: when that code
// raises, nothing else of them is seen.
bool ends_with_its_callee(BorrowedRef builtin) {
  static auto* const builtins = [] {
    auto known = std::make_unique<std::set<PyObject*>>();
    for (const char* name :
         {"next", "iter",    "list",    "tuple",      "set",        "dict",      "any",
          "all",  "len",     "abs",     "bool",       "int",        "float",     "str",
          "repr", "getattr", "hasattr", "isinstance", "issubclass", "enumerate", "zip",
          "map",  "filter",  "sum",     "sorted",     "divmod",     "pow",       "round"}) {
      known->insert(known_object("builtins", name).get());
    }
    return known.release();
  }();
  return builtins->contains(builtin.get());
}

// What the module builtins has under its name: open is written elsewhere.
bool is_builtin(BorrowedRef function) {
  PyObject* builtins = PyEval_GetBuiltins();
  return PyDict_GetItemString(builtins, short_name(function).c_str()) == function.get();
}

Sym run_frame(Interpreter& interpreter, std::unique_ptr<Frame> frame) {
  auto* code = reinterpret_cast<PyCodeObject*>(frame->bytecode->code.get());
  if (code->co_flags & CO_ITERABLE_COROUTINE) {
    throw_break("generator", "a generator that can be awaited");
  }
  if (code->co_flags & (CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR)) {
    return make_generator(interpreter, std::move(frame));
  }
  const Frame* caller = std::exchange(interpreter.direct_caller, nullptr);
  frame->is_direct = caller != nullptr && caller == interpreter.current_frame();
  return interpreter.run(*frame);
}

Sym call_inside_function(Interpreter& interpreter, const FunctionValue& function,
                         CallArguments arguments) {
  FunctionParts parts{function.code, function.globals, function.closure, function.defaults,
                      function.kwdefaults};
  return run_frame(interpreter, make_frame(parts, std::move(arguments)));
}

// Defaults are guarded by the identity of their tuple or dict: immutable ones are constants then.
Sym default_value(Interpreter& interpreter, BorrowedRef value, guards::SourcePtr source) {
  if (is_pure(value)) return interpreter.object(value);
  return interpreter.tracer.outside(Ref::create(value), std::move(source));
}

// The function is always the same one.
void known_defaults(Interpreter& interpreter, PyObject* defaults, PyObject* kwdefaults,
                    FunctionParts* parts) {
  for (Py_ssize_t i = 0; defaults != nullptr && i < PyTuple_GET_SIZE(defaults); ++i) {
    parts->defaults.push_back(default_value(interpreter, PyTuple_GET_ITEM(defaults, i),
                                            Source::item(Source::constant(defaults), i)));
  }
  PyObject *key, *value;
  Py_ssize_t position = 0;
  while (kwdefaults != nullptr && PyDict_Next(kwdefaults, &position, &key, &value)) {
    // The dict's items may be replaced in place: they are read through it.
    auto source = Source::dict_item(Source::constant(kwdefaults), key);
    Sym content;
    if (is_pure(value)) {
      interpreter.tracer.guard(source, guards::IsObject{Ref::create(value)}, "a default is used");
      content = interpreter.object(value);
    } else {
      content = interpreter.tracer.outside(Ref::create(value), std::move(source));
    }
    parts->kwdefaults.emplace_back(Ref::create(key), std::move(content));
  }
}

void open_defaults(Interpreter& interpreter, const guards::SourcePtr& function, PyObject* defaults,
                   PyObject* kwdefaults, FunctionParts* parts) {
  const auto source = Source::part(function, Source::Part::kDefaults);
  if (defaults == nullptr) {
    interpreter.tracer.guard(source, guards::IsAbsent{}, "the function has no defaults");
  } else {
    interpreter.tracer.guard(source, guards::HasLength{PyTuple_GET_SIZE(defaults)},
                             "the function has defaults");
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(defaults); ++i) {
      parts->defaults.push_back(interpreter.tracer.outside(
          Ref::create(PyTuple_GET_ITEM(defaults, i)), Source::item(source, i)));
    }
  }
  const auto keywords = Source::part(function, Source::Part::kKeywordDefaults);
  if (kwdefaults == nullptr) {
    interpreter.tracer.guard(keywords, guards::IsAbsent{}, "the function has no keyword defaults");
    return;
  }
  interpreter.guard_key_order(keywords, kwdefaults);
  PyObject *key, *value;
  Py_ssize_t position = 0;
  while (PyDict_Next(kwdefaults, &position, &key, &value)) {
    parts->kwdefaults.emplace_back(
        Ref::create(key),
        interpreter.tracer.outside(Ref::create(value), Source::dict_item(keywords, key)));
  }
}

bool begins_with_argument(const Source* source) {
  while (source->parent) source = source->parent.get();
  return source->kind == Source::Kind::kArgument;
}

bool is_numpy_function(BorrowedRef function) {
  PyObject* module = PyDict_GetItemString(PyFunction_GET_GLOBALS(function.get()), "__name__");
  const std::string name = module ? utf8_text(module) : "";
  return name == "numpy" || name.starts_with("numpy.");
}

// A function that a decorator of ours wraps: what is inlined is the plain function.
Ref unwrap_compiled(BorrowedRef object) {
  if (std::string_view(object.type()->tp_name).find("numlift") == std::string_view::npos) return {};
  Ref inner = Ref::steal(PyObject_GetAttrString(object.get(), "__wrapped__"));
  if (!inner) PyErr_Clear();
  return inner && PyFunction_Check(inner.get()) ? inner : Ref();
}

// What is pure, or what a polyfill stands for, under this name; null: neither.
Sym call_by_name(Interpreter& interpreter, const Sym& owner, BorrowedRef callable,
                 const std::string& name, const CallArguments& arguments) {
  const bool is_pure = is_pure_function(name);
  const bool has_polyfill = !PyFunction_Check(callable.get()) && find_polyfill(name);
  if (is_pure || has_polyfill) real_object(interpreter, owner, "it is called");
  if (is_pure) {
    if (Sym result = call_pure_function(interpreter, callable, arguments)) return result;
  }
  return has_polyfill ? call_polyfill(interpreter, callable, name, arguments) : nullptr;
}

Sym call_library(Interpreter& interpreter, const Sym& callable, const CallArguments& arguments) {
  BorrowedRef object = object_of(callable);
  if (Sym answer = polyfill_intrinsic(interpreter, object, arguments)) return answer;
  if (Sym chosen = call_dispatch(interpreter, callable, arguments)) return chosen;
  const auto name = library_name(object);
  if (!name) return nullptr;
  return call_by_name(interpreter, callable, object, *name, arguments);
}

// A method of a C class that is called on the class: int.from_bytes().
Sym call_class_method(Interpreter& interpreter, const MethodValue& method,
                      const CallArguments& arguments) {
  BorrowedRef owner = object_of(method.self);
  const std::string name = callable_text(owner) + "." + utf8_text(method.name);
  Ref real = must(PyObject_GetAttr(owner, method.name.get()));
  const bool is_builtin_class = callable_text(owner).find('.') == std::string::npos;
  if (library_name(owner)) {
    if (Sym result = call_by_name(interpreter, method.self, real,
                                  is_builtin_class ? "builtins." + name : name, arguments)) {
      return result;
    }
  }
  throw_break("c_call", builtin_text("C function", name, arguments));
}

// str.upper(text): the method of the first argument, when that is what its class has there.
Sym call_method_descriptor(Interpreter& interpreter, const Sym& callable, CallArguments arguments) {
  if (arguments.positional.empty()) throw_break("would_raise", "a method without its object");
  Ref name = must(PyObject_GetAttrString(object_of(callable), "__name__"));
  const Sym self = arguments.positional[0];
  Ref type = type_of(interpreter, self);
  if (_PyType_Lookup(reinterpret_cast<PyTypeObject*>(type.get()), name.get()) !=
      object_of(callable).get()) {
    throw_break("unsupported_call", fmt::format("call of {}", callable_text(object_of(callable))));
  }
  real_object(interpreter, callable, "it is called");
  arguments.positional.erase(arguments.positional.begin());
  return call_value(interpreter, get_attribute(interpreter, self, name), std::move(arguments));
}

Sym call_method(Interpreter& interpreter, const MethodValue& method, CallArguments arguments) {
  if (method.function) {
    arguments.positional.insert(arguments.positional.begin(), method.self);
    return call_value(interpreter, method.function, std::move(arguments));
  }
  interpreter.direct_caller = nullptr;
  if (is_numpy_value(method.self)) {
    return numpy_call_method(interpreter.tracer, method.self, method.name, arguments.positional,
                             arguments.keywords);
  }
  if (method.self->kind == SymKind::kObject && PyType_Check(object_of(method.self).get()) &&
      !is_pure(object_of(method.self))) {
    return call_class_method(interpreter, method, arguments);
  }
  const std::string name = utf8_text(method.name);
  if (is_exception(method.self)) {
    return exception_method(interpreter, method.self, name, arguments);
  }
  if (is_generator(method.self)) {
    return generator_method(interpreter, method.self, name, arguments);
  }
  if (as_descriptor(method.self)) {
    if (Sym made = call_descriptor_method(interpreter, method.self, name, arguments)) return made;
  }
  if (as_library_object(method.self)) {
    return call_library_method(interpreter, method.self, name, std::move(arguments));
  }
  if (is_draw(method.self, name)) {
    return call_draw(interpreter, method.self, name, std::move(arguments));
  }
  if (is_outside_set(method.self) || is_outside_deque(method.self)) {
    const auto call = is_outside_set(method.self) ? call_outside_set : call_outside_deque;
    if (Sym result = call(interpreter, method.self, name, arguments)) return result;
    throw_break("side_effect",
                fmt::format("method {} of a {} from outside", name, type_name(method.self)));
  }
  if (has_container_method(method.self, name)) {
    return container_method(interpreter, method.self, name, arguments);
  }
  return call_constant_method(interpreter, method.self, method.name, arguments);
}

// A bound method object: what it binds is looked at, not which object it is.
Sym call_bound_method(Interpreter& interpreter, const Sym& callable, CallArguments arguments) {
  BorrowedRef object = object_of(callable);
  const guards::SourcePtr source = callable->source ? callable->source : Source::constant(object);
  interpreter.tracer.guard(source, guards::HasType{Ref::create(object.type())},
                           "it is called at " + interpreter.location_text());
  const auto open = [&](PyObject* part, Source::Part name) {
    return interpreter.tracer.outside(Ref::create(part), Source::part(source, name));
  };
  arguments.positional.insert(arguments.positional.begin(),
                              open(PyMethod_GET_SELF(object.get()), Source::Part::kMethodSelf));
  return call_value(interpreter,
                    open(PyMethod_GET_FUNCTION(object.get()), Source::Part::kMethodFunction),
                    std::move(arguments));
}

Sym call_object(Interpreter& interpreter, const Sym& callable, CallArguments arguments) {
  BorrowedRef object = object_of(callable);
  if (BuiltinHandler handler = find_builtin(object)) {
    interpreter.direct_caller = nullptr;
    real_object(interpreter, callable, "it is called");
    try {
      return handler(interpreter, arguments);
    } catch (const Raised& raised) {
      if (raised.is_new || ends_with_its_callee(object)) throw;
      throw *raised.exception->place;
    }
  }
  if (is_numpy_callable(object)) {
    interpreter.direct_caller = nullptr;
    real_object(interpreter, callable, "it is called");
    return numpy_call(interpreter.tracer, object, arguments.positional, arguments.keywords);
  }
  if (Sym result = call_container_function(interpreter, object, arguments)) {
    real_object(interpreter, callable, "it is called");
    return result;
  }
  if (Sym result = call_library(interpreter, callable, arguments)) return result;
  if (PyFunction_Check(object.get())) {
    return call_python_function(interpreter, callable, std::move(arguments));
  }
  if (PyMethod_Check(object.get())) {
    return call_bound_method(interpreter, callable, std::move(arguments));
  }
  if (object.type() == &PyMethodDescr_Type) {
    return call_method_descriptor(interpreter, callable, std::move(arguments));
  }
  if (is_partial(object)) return call_outside_partial(interpreter, callable, std::move(arguments));
  if (Ref inner = unwrap_compiled(object)) {
    real_object(interpreter, callable, "it is called");
    return call_python_function(interpreter,
                                interpreter.tracer.outside(inner, Source::constant(inner)),
                                std::move(arguments));
  }
  if (PyType_Check(object.get())) {
    if (is_named_tuple_class(object)) {
      real_object(interpreter, callable, "it is called");
      return make_named_tuple(interpreter, object, arguments);
    }
    if (is_enum_class(object)) {
      if (Sym member = call_enum_class(interpreter, callable, arguments)) return member;
    }
    if (PyExceptionClass_Check(object.get())) {
      interpreter.direct_caller = nullptr;
      return make_exception(interpreter, callable, std::move(arguments));
    }
    return make_instance(interpreter, callable, std::move(arguments));
  }
  // Exception.__init__(self, …), written out
  if ((Py_TYPE(object.get()) == &PyWrapperDescr_Type ||
       Py_TYPE(object.get()) == &PyMethodDescr_Type) &&
      !arguments.positional.empty() && is_exception(arguments.positional[0]) &&
      PyExceptionClass_Check(reinterpret_cast<PyObject*>(PyDescr_TYPE(object.get())))) {
    interpreter.direct_caller = nullptr;
    real_object(interpreter, callable, "it is called");
    const Sym self = arguments.positional[0];
    arguments.positional.erase(arguments.positional.begin());
    return exception_method(interpreter, self, utf8_text(PyDescr_NAME(object.get())), arguments);
  }
  if (Sym result = call_object_method(interpreter, callable, arguments)) return result;
  if (PyCFunction_Check(object.get())) {
    if (is_builtin(object)) {
      throw_break("builtin_call", builtin_text("builtin", short_name(object), arguments));
    }
    throw_break("c_call", builtin_text("C function", callable_text(object), arguments));
  }
  if (!(object.type()->tp_flags & Py_TPFLAGS_HEAPTYPE)) {
    throw_break("unsupported_call", fmt::format("call of {}", callable_text(object)));
  }
  if (Sym result = special_method(interpreter, callable, "__call__",
                                  std::move(arguments.positional), std::move(arguments.keywords))) {
    return result;
  }
  throw_break("unsupported_call", fmt::format("call of {}", callable_text(object)));
}

}  // namespace

Sym call_python_function(Interpreter& interpreter, const Sym& function, CallArguments arguments) {
  BorrowedRef object = object_of(function);
  if (is_numpy_function(object)) {
    throw_break("unsupported_numpy", fmt::format("the function {}", callable_text(object)));
  }
  Ref code = Ref::create(PyFunction_GET_CODE(object.get()));
  if (!(reinterpret_cast<PyCodeObject*>(code.get())->co_flags & CO_OPTIMIZED)) {
    throw_break("unsupported_call", "a function without fast locals");
  }
  if (is_code_of_marked(code)) real_object(interpreter, function, "it is called");
  PyObject* defaults = PyFunction_GET_DEFAULTS(object.get());
  PyObject* kwdefaults = PyFunction_GET_KW_DEFAULTS(object.get());
  const guards::SourcePtr source = function->source ? function->source : Source::constant(object);
  // A function made anew for each call is another object with other defaults, of one code.
  const bool by_content =
      begins_with_argument(source.get()) && (defaults != nullptr || kwdefaults != nullptr);
  interpreter.tracer.guard(
      source,
      guards::FunctionIs{code, Ref::create(defaults), Ref::create(kwdefaults),
                         Ref::create(PyFunction_GET_GLOBALS(object.get())), by_content},
      "it is called at " + interpreter.location_text());
  FunctionParts parts;
  parts.code = code;
  parts.globals = Ref::create(PyFunction_GET_GLOBALS(object.get()));
  parts.closure = interpreter.open_closure(object, source);
  if (by_content) {
    open_defaults(interpreter, source, defaults, kwdefaults, &parts);
  } else {
    known_defaults(interpreter, defaults, kwdefaults, &parts);
  }
  return run_frame(interpreter, make_frame(parts, std::move(arguments)));
}

Sym call_value(Interpreter& interpreter, const Sym& callable, CallArguments arguments) {
  if (const MarkEntry* mark = mark_of(interpreter, callable)) {
    return call_marked(interpreter, callable, *mark, std::move(arguments));
  }
  switch (callable->kind) {
    case SymKind::kFunction:
      return call_inside_function(interpreter, as<FunctionValue>(callable), std::move(arguments));
    case SymKind::kMethod:
      return call_method(interpreter, as<MethodValue>(callable), std::move(arguments));
    case SymKind::kObject:
      return call_object(interpreter, callable, std::move(arguments));
    case SymKind::kIterator:
      if (auto* partial = dynamic_cast<PartialValue*>(callable.get())) {
        return call_partial(interpreter, *partial, std::move(arguments));
      }
      if (auto* maker = dynamic_cast<CompareKeyMaker*>(callable.get())) {
        return make_compare_key(*maker, arguments);
      }
      if (auto* library = dynamic_cast<LibraryValue*>(callable.get());
          library && library->inner->kind == SymKind::kFunction) {
        interpreter.direct_caller = nullptr;
        return call_value(interpreter, library->inner, std::move(arguments));
      }
      if (auto* marked = dynamic_cast<MarkedValue*>(callable.get())) {
        return call_marked_value(interpreter, *marked, std::move(arguments));
      }
      if (auto* enter = dynamic_cast<ErrorRegionEnter*>(callable.get())) {
        enter->state->enter(interpreter.tracer);
        return interpreter.none();
      }
      if (auto* exit = dynamic_cast<ErrorRegionExit*>(callable.get())) {
        exit->state->exit(interpreter.tracer);
        return interpreter.none();
      }
      if (auto* enter = dynamic_cast<ErrstateEnter*>(callable.get())) {
        enter->state->enter(interpreter.tracer);
        return interpreter.none();
      }
      if (auto* exit = dynamic_cast<ErrstateExit*>(callable.get())) {
        exit->state->exit(interpreter.tracer);
        return interpreter.none();
      }
      break;
    case SymKind::kNull:
    case SymKind::kArray:
    case SymKind::kScalar:
    case SymKind::kSize:
    case SymKind::kTuple:
    case SymKind::kList:
    case SymKind::kGrownList:
    case SymKind::kSet:
    case SymKind::kDict:
    case SymKind::kSlice:
    case SymKind::kCell:
    case SymKind::kException:
      break;
  }
  throw_break("would_raise", fmt::format("a {} is not callable", type_name(callable)));
}

}  // namespace numlift::frame_eval
