#include "symbolic/hatch_calls.h"

#include "numlift/numpy_shim/dtypes.h"
#include "numlift/numpy_shim/numpy.h"
#include "numlift/py/py_error.h"
#include "symbolic/calls.h"
#include "symbolic/containers.h"
#include "symbolic/exceptions.h"
#include "symbolic/numpy_calls.h"
#include "symbolic/pure.h"

namespace numlift::frame_eval {

using guards::Source;

namespace {

// "argument x of f": by name where the function tells it.
std::string argument_text(BorrowedRef function, size_t index, const std::string& name) {
  auto* code = function && PyFunction_Check(function.get())
                   ? reinterpret_cast<PyCodeObject*>(PyFunction_GET_CODE(function.get()))
                   : nullptr;
  std::string text;
  if (code != nullptr && index < static_cast<size_t>(code->co_argcount)) {
    const Ref names = checked(PyCode_GetVarnames(code));
    text = utf8_text(PyTuple_GET_ITEM(names.get(), static_cast<Py_ssize_t>(index)));
  } else {
    text = std::to_string(index);
  }
  return fmt::format("argument {} of {}", text, name);
}

bool is_plain_object(PyObject* object) {
  return object == Py_None || object == Py_Ellipsis || PyBool_Check(object) ||
         PyLong_CheckExact(object) || PyFloat_CheckExact(object) || PyComplex_CheckExact(object) ||
         PyUnicode_CheckExact(object) || PyBytes_CheckExact(object) || PyArray_DescrCheck(object) ||
         PyArray_CheckScalar(object) ||
         (PyType_Check(object) &&
          numpy_shim::dtype_of_scalar_class(reinterpret_cast<PyTypeObject*>(object)));
}

// The value with outside lists and dicts opened; throws Break when it holds anything else than
// arrays, numbers, text, dtypes and containers of these. `what` names it.
Sym plain_value(Interpreter& interpreter, const Sym& value, const std::string& what) {
  const auto inside = [&](const std::vector<Sym>& items) {
    std::vector<Sym> opened;
    for (const Sym& item : items) opened.push_back(plain_value(interpreter, item, what));
    return opened;
  };
  switch (value->kind) {
    case SymKind::kArray:
    case SymKind::kScalar:
    case SymKind::kSize:
      return value;
    case SymKind::kTuple:
      if (as<SequenceValue>(value).named_tuple_class) break;
      return make_tuple(inside(as<SequenceValue>(value).items));
    case SymKind::kSlice: {
      const auto& slice = as<SliceValue>(value);
      inside({slice.start, slice.stop, slice.step});
      return value;
    }
    default:
      if (is_list(value)) return make_list(inside(sequence_items(interpreter, value)));
      if (is_tuple(value)) return make_tuple(inside(sequence_items(interpreter, value)));
      if (is_dict(value)) {
        auto dict = std::make_shared<DictValue>();
        for (const auto& [key, item] : dict_items(interpreter, value)) {
          dict->items.emplace_back(key, plain_value(interpreter, item, what));
        }
        return dict;
      }
      if (value->kind == SymKind::kObject && is_plain_object(object_of(value).get())) return value;
  }
  throw_break("hatch_argument", fmt::format("{} is a {}", what, type_name(value)));
}

}  // namespace

CallArguments plain_arguments(Interpreter& interpreter, BorrowedRef function,
                              const std::string& name, const CallArguments& arguments) {
  CallArguments plain;
  for (size_t i = 0; i < arguments.positional.size(); ++i) {
    plain.positional.push_back(
        plain_value(interpreter, arguments.positional[i], argument_text(function, i, name)));
  }
  for (const auto& [keyword, value] : arguments.keywords) {
    plain.keywords.emplace_back(
        keyword, plain_value(interpreter, value,
                             fmt::format("argument {} of {}", utf8_text(keyword), name)));
  }
  return plain;
}

namespace {

Sym call_allowed(Interpreter& interpreter, BorrowedRef function, const std::string& name,
                 const CallArguments& arguments) {
  const CallArguments plain = plain_arguments(interpreter, function, name, arguments);
  return interpreter.tracer.extern_call(function, plain.positional, plain.keywords, name);
}

class NonstrictRegion {
 public:
  explicit NonstrictRegion(Interpreter& interpreter) : interpreter_(interpreter) {
    ++interpreter_.nonstrict_depth;
  }
  ~NonstrictRegion() { --interpreter_.nonstrict_depth; }
  NonstrictRegion(const NonstrictRegion&) = delete;
  NonstrictRegion& operator=(const NonstrictRegion&) = delete;

 private:
  Interpreter& interpreter_;
};

// Its operations are the graph's. What cannot be traced so is one operation. is_marked: it is the
// marked function itself.
Sym call_nonstrict(Interpreter& interpreter, const Sym& function, BorrowedRef real, bool is_marked,
                   const std::string& name, CallArguments arguments) {
  const void* key =
      real ? static_cast<const void*>(real.get()) : as<FunctionValue>(function).code.get();
  if (interpreter.opaque != nullptr && interpreter.opaque->count(key) != 0) {
    if (!real) throw_break("hatch_argument", name + " is made inside and cannot be traced");
    return call_allowed(interpreter, real, name, arguments);
  }
  plain_arguments(interpreter, real, name, arguments);
  interpreter.direct_caller = nullptr;
  Sym result;
  try {
    const NonstrictRegion region(interpreter);
    result = is_marked ? call_python_function(interpreter, function, std::move(arguments))
                       : call_value(interpreter, function, std::move(arguments));
  } catch (const Break&) {
    if (interpreter.opaque == nullptr) throw;
    interpreter.opaque->insert(key);
    throw Retrace{};
  } catch (const Raised&) {
    if (interpreter.opaque == nullptr) throw;
    interpreter.opaque->insert(key);
    throw Retrace{};
  }
  plain_value(interpreter, result, "the result of " + name);
  return result;
}

// Called now; the answer holds for good.
Sym call_constant(Interpreter& interpreter, BorrowedRef function, const std::string& name,
                  const CallArguments& arguments) {
  const auto known = [&](const Sym& value) {
    auto constant = interpreter.tracer.as_deep_constant(value, name + " is called once");
    if (!constant) {
      throw_break("hatch_argument", fmt::format("{} (assume_constant_result) is called with a {}",
                                                name, type_name(value)));
    }
    return std::move(*constant);
  };
  Ref positional = checked(PyTuple_New(static_cast<Py_ssize_t>(arguments.positional.size())));
  for (size_t i = 0; i < arguments.positional.size(); ++i) {
    PyTuple_SET_ITEM(positional.get(), static_cast<Py_ssize_t>(i),
                     known(arguments.positional[i]).release());
  }
  Ref keywords = checked(PyDict_New());
  for (const auto& [keyword, value] : arguments.keywords) {
    check_status(PyDict_SetItem(keywords.get(), keyword.get(), known(value).get()));
  }
  Ref result = Ref::steal(PyObject_Call(function.get(), positional.get(), keywords.get()));
  if (!result) {
    if (must_reach_user()) throw PyError();
    PyErr_Clear();
    throw_break("would_raise", name + " raises");
  }
  if (is_pure(result)) return interpreter.object(result);
  // Arrays are inputs of the program, read from a tuple of our own.
  const Ref holder = checked(PyTuple_Pack(1, result.get()));
  return interpreter.tracer.outside(result, Source::item(Source::constant(holder), 0));
}

// The real function of a value made outside, or of one made inside that needs nothing of the frame.
Ref real_function(Interpreter& interpreter, const Sym& value) {
  if (value->kind == SymKind::kObject) {
    if (auto object = real_object(interpreter, value, "it is called")) return *object;
  }
  if (value->kind == SymKind::kFunction) {
    const auto& function = as<FunctionValue>(value);
    if (function.closure.empty() && function.defaults.empty() && function.kwdefaults.empty()) {
      return checked(PyFunction_New(function.code.get(), function.globals.get()));
    }
  }
  throw_break("hatch_argument",
              fmt::format("allow_in_graph of a {} that uses variables of the compiled function",
                          type_name(value)));
}

}  // namespace

std::optional<CallShape> MarkedValue::shape() const {
  return CallShape{Ref::create(object_of(maker)), {function}, {}, 0};
}

namespace {

// Some method of this code is marked for one object only: which object this is counts.
bool tells_objects_apart(BorrowedRef function) {
  return PyFunction_Check(function.get()) && is_code_of_marked(PyFunction_GET_CODE(function.get()));
}

const MarkEntry* mark_of_bound(Interpreter& interpreter, const Sym& callable) {
  BorrowedRef method = object_of(callable);
  BorrowedRef function = PyMethod_GET_FUNCTION(method.get());
  BorrowedRef self = PyMethod_GET_SELF(method.get());
  const MarkEntry* own = find_mark(function, self);
  if (own == nullptr && callable->source && tells_objects_apart(function)) {
    const std::string reason = "it is called at " + interpreter.location_text();
    interpreter.tracer.guard(
        callable->source, guards::HasType{Ref::create(reinterpret_cast<PyObject*>(&PyMethod_Type))},
        reason);
    interpreter.tracer.guard(Source::part(callable->source, Source::Part::kMethodSelf),
                             guards::IsObject{Ref::create(self)}, reason);
  }
  return own;  // one of the function inside is found when that is called
}

}  // namespace

const MarkEntry* mark_of(Interpreter& interpreter, const Sym& callable) {
  if (callable->kind == SymKind::kObject) {
    BorrowedRef object = object_of(callable);
    return PyMethod_Check(object.get()) ? mark_of_bound(interpreter, callable) : find_mark(object);
  }
  if (callable->kind != SymKind::kMethod) return nullptr;
  const auto& method = as<MethodValue>(callable);
  if (method.function) {
    if (method.function->kind != SymKind::kObject) return nullptr;
    BorrowedRef function = object_of(method.function);
    if (method.self->kind == SymKind::kObject) {
      if (const MarkEntry* own = find_mark(function, object_of(method.self))) return own;
      if (tells_objects_apart(function)) {
        real_object(interpreter, method.self, "a method of it is called");
      }
    }
    return find_mark(function);
  }
  if (!is_numpy_value(method.self)) return nullptr;
  const Ref type = type_of(interpreter, method.self);
  PyObject* descriptor =
      _PyType_Lookup(reinterpret_cast<PyTypeObject*>(type.get()), method.name.get());
  return descriptor == nullptr ? nullptr : find_mark(descriptor);
}

Sym call_marked(Interpreter& interpreter, const Sym& callable, const MarkEntry& found,
                CallArguments arguments) {
  const MarkEntry entry = found;  // what is called below may change the table
  if (entry.mark == Mark::kStoodFor) {
    interpreter.direct_caller = nullptr;
    return call_python_function(interpreter, interpreter.object(entry.target),
                                std::move(arguments));
  }
  // The mark is that of this very object.
  Sym function = callable;
  if (callable->kind == SymKind::kMethod) {
    const auto& method = as<MethodValue>(callable);
    if (!method.function) throw_break("disallowed", entry.text);
    function = method.function;
    if (method.self->kind == SymKind::kObject) {
      real_object(interpreter, method.self, "a method of it is called");
    }
    arguments.positional.insert(arguments.positional.begin(), method.self);
  }
  if (PyMethod_Check(object_of(function).get())) {
    BorrowedRef method = object_of(function);
    const guards::SourcePtr source = function->source ? function->source : Source::constant(method);
    interpreter.tracer.guard(
        source, guards::HasType{Ref::create(reinterpret_cast<PyObject*>(&PyMethod_Type))},
        "it is called at " + interpreter.location_text());
    const auto open = [&](PyObject* part, Source::Part name) {
      return interpreter.tracer.outside(Ref::create(part), Source::part(source, name));
    };
    const Sym self = open(PyMethod_GET_SELF(method.get()), Source::Part::kMethodSelf);
    real_object(interpreter, self, "a method of it is called");
    function = open(PyMethod_GET_FUNCTION(method.get()), Source::Part::kMethodFunction);
    arguments.positional.insert(arguments.positional.begin(), self);
  }
  const Ref real = *real_object(interpreter, function, "it is called");
  switch (entry.mark) {
    case Mark::kGraphBreak: {
      if (interpreter.nonstrict_depth > 0) return interpreter.none();
      Sym message;
      if (!arguments.positional.empty()) message = arguments.positional[0];
      for (const auto& [name, value] : arguments.keywords) message = value;
      std::string text = "Call to numlift.graph_break()";
      if (message && message->kind == SymKind::kObject &&
          PyUnicode_CheckExact(object_of(message).get())) {
        if (const std::string said = utf8_text(object_of(message)); !said.empty())
          text += ": " + said;
      }
      throw_break("graph_break", std::move(text));
    }
    case Mark::kIsCompiling:
      return interpreter.boolean(true);
    case Mark::kOutsideOnly:
      throw_break("outside_only", entry.text + " is called inside compiled code");
    case Mark::kMakeNonstrict:
    case Mark::kMakeAllowed: {
      if (arguments.positional.size() != 1 || !arguments.keywords.empty()) {
        throw_break("would_raise", entry.text + " takes one function");
      }
      const Sym& function = arguments.positional[0];
      if (function->kind != SymKind::kFunction &&
          !(function->kind == SymKind::kObject && PyCallable_Check(object_of(function).get()))) {
        throw_break("unsupported_call", fmt::format("{} of a {}", entry.text, type_name(function)));
      }
      const Mark mark = entry.mark == Mark::kMakeAllowed ? Mark::kAllowed : Mark::kNonstrict;
      return std::make_shared<MarkedValue>(mark, callable, function);
    }
    case Mark::kDisabled:
      throw_break("disabled", entry.text);
    case Mark::kDisallowed:
      throw_break("disallowed", entry.text);
    case Mark::kAllowed:
      return call_allowed(interpreter, entry.target ? entry.target : real, entry.text, arguments);
    case Mark::kNonstrict:
      return call_nonstrict(interpreter, function, real, true, entry.text, std::move(arguments));
    case Mark::kCustomOp:
      return call_custom_op(interpreter, real, entry.text, arguments);
    case Mark::kConstantResult:
      return call_constant(interpreter, real, entry.text, arguments);
    case Mark::kIgnored:
      return interpreter.none();
    case Mark::kStoodFor:
      break;
  }
  NUMLIFT_UNREACHABLE();
}

Sym call_marked_value(Interpreter& interpreter, const MarkedValue& value, CallArguments arguments) {
  if (value.mark == Mark::kAllowed) {
    const Ref function = real_function(interpreter, value.function);
    return call_allowed(interpreter, function, callable_text(function), arguments);
  }
  Ref real;
  if (value.function->kind == SymKind::kObject) {
    real = *real_object(interpreter, value.function, "it is called");
  }
  const std::string name = real ? callable_text(real) : "a function made inside";
  return call_nonstrict(interpreter, value.function, real, false, name, std::move(arguments));
}

}  // namespace numlift::frame_eval
