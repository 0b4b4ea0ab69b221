// Dispatch of NumPy calls: ufuncs, ufunc methods, scalar classes, and everything in functions.def.
#include "symbolic/numpy_calls.h"

#include <algorithm>

#include "numlift/numpy_shim/dtypes.h"
#include "numlift/numpy_shim/numpy.h"
#include "numlift/py/py_error.h"
#include "symbolic/numpy_handlers.h"
#include "symbolic/numpy_ufuncs.h"
#include "symbolic/operators.h"

namespace numlift::frame_eval {

using numpy_shim::FunctionEntry;
using numpy_shim::Tier;

namespace {

// By row of functions.def; null for rows without code of ours.
const NumpyHandler kHandlers[] = {
#define NUMLIFT_NATIVE(path, handler, parameters) &handler,
#define NUMLIFT_EXTERN(path, parameters) nullptr,
#define NUMLIFT_LEAVE(path, reason) nullptr,
#define NUMLIFT_METHOD(name, handler, parameters) &handler,
#define NUMLIFT_METHOD_EXTERN(name, parameters) nullptr,
#define NUMLIFT_METHOD_LEAVE(name, reason) nullptr,
#include "numlift/numpy_shim/functions.def"
#undef NUMLIFT_NATIVE
#undef NUMLIFT_EXTERN
#undef NUMLIFT_LEAVE
#undef NUMLIFT_METHOD
#undef NUMLIFT_METHOD_EXTERN
#undef NUMLIFT_METHOD_LEAVE
};

bool is_ufunc(BorrowedRef object) {
  return object && PyObject_TypeCheck(object.get(), &PyUFunc_Type);
}

bool is_ufunc_method(BorrowedRef object) {
  return PyCFunction_Check(object.get()) && PyCFunction_GET_SELF(object.get()) != nullptr &&
         is_ufunc(PyCFunction_GET_SELF(object.get()));
}

// np.ndarray.sum, np.float64.item: an unbound method of an array or scalar class.
bool is_numpy_method(BorrowedRef object) {
  if (!PyObject_TypeCheck(object.get(), &PyMethodDescr_Type)) return false;
  PyTypeObject* owner = PyDescr_TYPE(object.get());
  return owner == &PyArray_Type || PyType_IsSubtype(owner, &PyGenericArrType_Type);
}

// The first two dotted words of __module__: "numpy", "numpy.linalg", …; "" when it has none.
std::string module_name(BorrowedRef callable) {
  Ref module = Ref::steal(PyObject_GetAttrString(callable.get(), "__module__"));
  const char* text =
      module && PyUnicode_Check(module.get()) ? PyUnicode_AsUTF8(module.get()) : nullptr;
  if (text == nullptr) PyErr_Clear();
  return text == nullptr ? "" : text;
}

bool is_numpy_module(const std::string& module) {
  return module == "numpy" || module.starts_with("numpy.");
}

Sym dispatch(Tracer& tracer, const FunctionEntry& entry, BorrowedRef callable,
             std::span<const Sym> args, Keywords kwargs) {
  if (entry.tier == Tier::kBreak) {
    throw_break("unsupported_numpy", fmt::format("{}: {}", entry.path, entry.reason));
  }
  const NumpyArguments arguments = bind_arguments(entry, callable, args, kwargs);
  if (entry.tier == Tier::kExtern) return call_extern(tracer, arguments);
  return kHandlers[entry.row](tracer, arguments);
}

// All arguments are numbers known now and the function is one whose answer is a number: it is
// called now. Null when it is not so, or when NumPy warns or raises.
Sym fold_call(Tracer& tracer, BorrowedRef callable, std::span<const Sym> args, Keywords kwargs) {
  if (args.empty() || !kwargs.empty()) return nullptr;
  for (const Sym& arg : args) {
    if (!constant_number(arg)) return nullptr;
  }
  Ref values = checked(PyTuple_New(static_cast<Py_ssize_t>(args.size())));
  for (size_t i = 0; i < args.size(); ++i) {
    auto value = tracer.as_constant(args[i], "its value is compiled in");
    if (!value) return nullptr;
    PyTuple_SET_ITEM(values.get(), static_cast<Py_ssize_t>(i), value->release());
  }
  const RaiseOnWarning raise;
  Ref result = Ref::steal(PyObject_Call(callable.get(), values.get(), nullptr));
  if (!result) {
    PyErr_Clear();
    return nullptr;
  }
  Sym constant = tracer.constant(std::move(result));
  return constant_number(constant) ? constant : nullptr;
}

}  // namespace

bool is_numpy_callable(BorrowedRef callable) {
  if (is_ufunc(callable) || is_ufunc_method(callable) || is_numpy_method(callable)) return true;
  if (PyType_Check(callable.get())) {
    auto* type = reinterpret_cast<PyTypeObject*>(callable.get());
    if (numpy_shim::dtype_of_scalar_class(type)) return true;
  }
  if (numpy_shim::find_function(callable) != nullptr) return true;
  // NumPy's other functions and classes: theirs too, so that nobody looks into them.
  if (!PyCallable_Check(callable.get())) return false;
  return is_numpy_module(module_name(callable));
}

bool is_numpy_value(const Sym& value) {
  switch (value->kind) {
    case SymKind::kArray:
      return true;
    case SymKind::kScalar:
      return static_cast<const ScalarValue&>(*value).type.value_kind == ValueKind::kNumpyScalar;
    case SymKind::kObject:
      return PyObject_TypeCheck(static_cast<const ObjectValue&>(*value).object.get(),
                                &PyGenericArrType_Type);
    default:
      return false;
  }
}

namespace {

// "numpy.absolute", "numpy.add.reduce", "numpy.linalg.det".
std::string operation_name(BorrowedRef callable) {
  if (const FunctionEntry* entry = numpy_shim::find_function(callable)) return entry->path;
  if (is_ufunc_method(callable)) {
    return fmt::format("numpy.{}.{}", callable_name(PyCFunction_GET_SELF(callable.get())),
                       callable_name(callable));
  }
  return "numpy." + callable_name(callable);
}

// A method by the name of the function that does the same.
std::string method_operation_name(const std::string& method) {
  static PyObject* const numpy = checked(PyImport_ImportModule("numpy")).release();
  const Ref function = Ref::steal(PyObject_GetAttrString(numpy, method.c_str()));
  if (!function) PyErr_Clear();
  return function && PyCallable_Check(function.get()) ? "numpy." + method
                                                      : "numpy.ndarray." + method;
}

Sym call_numpy(Tracer& tracer, BorrowedRef callable, std::span<const Sym> args, Keywords kwargs) {
  if (is_ufunc(callable)) {
    if (Sym folded = fold_call(tracer, callable, args, kwargs)) return folded;
    return call_ufunc(tracer, callable, args, kwargs);
  }
  if (is_ufunc_method(callable)) return call_ufunc_method(tracer, callable, args, kwargs);
  if (PyType_Check(callable.get())) {
    auto* type = reinterpret_cast<PyTypeObject*>(callable.get());
    if (const auto dtype = numpy_shim::dtype_of_scalar_class(type)) {
      if (Sym folded = fold_call(tracer, callable, args, kwargs)) return folded;
      return call_scalar_class(tracer, callable, *dtype, args, kwargs);
    }
  }
  if (is_numpy_method(callable)) {
    if (args.empty()) throw_break("would_raise", "an unbound method needs an argument");
    const Ref name = checked(PyObject_GetAttrString(callable.get(), "__name__"));
    if (!is_numpy_value(args[0]))
      throw_break("numpy_argument", "an unbound method of an array class");
    return numpy_call_method(tracer, args[0], name, args.subspan(1), kwargs);
  }
  if (const FunctionEntry* entry = numpy_shim::find_function(callable)) {
    return dispatch(tracer, *entry, callable, args, kwargs);
  }
  throw_break("unsupported_numpy", fmt::format("{}.{} is not compiled yet", module_name(callable),
                                               callable_name(callable)));
}

Sym call_method(Tracer& tracer, const Sym& self, BorrowedRef name, const std::string& text,
                std::span<const Sym> args, Keywords kwargs) {
  const FunctionEntry* entry = numpy_shim::find_method(text);
  if (entry == nullptr)
    throw_break("unsupported_numpy", fmt::format("ndarray.{} is not compiled yet", text));
  PyTypeObject* owner = &PyArray_Type;
  if (self->kind == SymKind::kScalar) {
    const DType dtype = static_cast<const ScalarValue&>(*self).type.dtype;
    owner = reinterpret_cast<PyTypeObject*>(numpy_shim::scalar_class_of(dtype).get());
  } else if (self->kind == SymKind::kObject) {
    owner = Py_TYPE(static_cast<const ObjectValue&>(*self).object.get());
  }
  const Ref method = Ref::steal(PyObject_GetAttr(reinterpret_cast<PyObject*>(owner), name.get()));
  if (!method) {
    PyErr_Clear();
    throw_break("would_raise", fmt::format("no attribute '{}'", text));
  }
  std::vector<Sym> all{self};
  all.insert(all.end(), args.begin(), args.end());
  return dispatch(tracer, *entry, method, all, kwargs);
}

}  // namespace

namespace {

// Whether NumPy runs the same loop whichever of them a number that may be Python's or NumPy's is.
bool takes_either(Tracer& tracer, BorrowedRef ufunc, std::span<const Sym> args) {
  std::vector<OperandType> as_numpy, as_int, as_float;
  for (const Sym& arg : args) {
    const auto operand = find_operand(tracer, arg);
    if (!operand) return false;
    for (auto* types : {&as_numpy, &as_int, &as_float}) types->push_back(operand->type);
    if (!is_either(arg)) continue;
    as_int.back() = {DType::kInt64, true};
    as_float.back() = {DType::kFloat64, true};
  }
  const auto loop = numpy_shim::resolve_ufunc(ufunc, as_numpy);
  const auto is_same = [&](const std::vector<OperandType>& types) {
    const auto other = numpy_shim::resolve_ufunc(ufunc, types);
    return loop && other && other->inputs == loop->inputs && other->outputs == loop->outputs;
  };
  return is_same(as_int) && is_same(as_float);
}

void refuse_either(Tracer& tracer, BorrowedRef callable, std::span<const Sym> args,
                   Keywords kwargs) {
  const bool any = std::any_of(args.begin(), args.end(), is_either) ||
                   std::any_of(kwargs.begin(), kwargs.end(),
                               [](const auto& one) { return is_either(one.second); });
  if (!any || (is_ufunc(callable) && kwargs.empty() && takes_either(tracer, callable, args)))
    return;
  refuse_loop("a call of NumPy with a number that may be Python's or NumPy's, by the iteration");
}

}  // namespace

Sym numpy_call(Tracer& tracer, BorrowedRef callable, std::span<const Sym> args, Keywords kwargs) {
  refuse_either(tracer, callable, args, kwargs);
  return tracer.operation([&] { return operation_name(callable); },
                          [&] { return call_numpy(tracer, callable, args, kwargs); });
}

Sym numpy_call_method(Tracer& tracer, const Sym& self, BorrowedRef name, std::span<const Sym> args,
                      Keywords kwargs) {
  const std::string text = PyUnicode_AsUTF8(name.get());
  if (is_either(self)) refuse_loop("a method of a number that may be Python's or NumPy's");
  refuse_either(tracer, {}, args, kwargs);
  return tracer.operation([&] { return method_operation_name(text); },
                          [&] { return call_method(tracer, self, name, text, args, kwargs); });
}

// ---------------------------------------------------------------- arguments

Sym NumpyArguments::get(std::string_view name) const {
  for (size_t k = 0; k < values.size(); ++k) {
    if (entry->parameters[k].name == name) return values[k];
  }
  return nullptr;
}

Sym NumpyArguments::get_unless_none(std::string_view name) const {
  const Sym value = get(name);
  return is_none(value) ? nullptr : value;
}

namespace {

// numpy._NoValue is what a parameter that was not given holds.
bool is_no_value(const Sym& value) {
  if (value->kind != SymKind::kObject) return false;
  static PyObject* const no_value = numpy_attribute("_NoValue").release();
  return static_cast<const ObjectValue&>(*value).object.get() == no_value;
}

}  // namespace

NumpyArguments bind_arguments(const FunctionEntry& entry, BorrowedRef callable,
                              std::span<const Sym> args, Keywords kwargs) {
  NumpyArguments bound;
  bound.entry = &entry;
  bound.callable = Ref::create(callable);
  bound.positional.assign(args.begin(), args.end());
  bound.keywords.assign(kwargs.begin(), kwargs.end());
  if (entry.parameters.empty()) return bound;  // an extern that needs no look at them
  bound.values.resize(entry.parameters.size());
  size_t place = 0;
  for (const Sym& arg : args) {
    if (place < entry.parameters.size() && entry.parameters[place].variadic) {
      bound.rest.push_back(arg);
      continue;
    }
    if (place >= entry.parameters.size() || entry.parameters[place].keyword_only) {
      throw_break("would_raise", fmt::format("{}: too many positional arguments", entry.path));
    }
    bound.values[place++] = is_no_value(arg) ? nullptr : arg;
  }
  for (const auto& [keyword, value] : kwargs) {
    const char* name = PyUnicode_AsUTF8(keyword.get());
    size_t at = 0;
    while (at < entry.parameters.size() &&
           (entry.parameters[at].variadic || entry.parameters[at].name != name)) {
      ++at;
    }
    if (at == entry.parameters.size()) {
      throw_break("would_raise",
                  fmt::format("{}: no keyword argument '{}' that is known", entry.path, name));
    }
    if (bound.values[at] != nullptr) {
      throw_break("would_raise", fmt::format("{}: argument '{}' is given twice", entry.path, name));
    }
    bound.values[at] = is_no_value(value) ? nullptr : value;
  }
  for (size_t k = 0; k < entry.parameters.size(); ++k) {
    if (entry.parameters[k].required && bound.values[k] == nullptr) {
      throw_break("would_raise", fmt::format("{}: argument '{}' is missing", entry.path,
                                             entry.parameters[k].name));
    }
  }
  return bound;
}

Sym call_extern(Tracer& tracer, const NumpyArguments& arguments) {
  if (!is_none(arguments.get("out"))) {
    throw_break("numpy_argument", fmt::format("{} with out=", arguments.entry->path));
  }
  const Sym overwrite = arguments.get_unless_none("overwrite_input");
  if (overwrite && constant_bool(tracer, overwrite, arguments.entry->path) != false) {
    throw_break("numpy_argument", fmt::format("{} with overwrite_input=", arguments.entry->path));
  }
  return tracer.extern_call(arguments.callable, arguments.positional, arguments.keywords,
                            arguments.entry->path);
}

}  // namespace numlift::frame_eval
