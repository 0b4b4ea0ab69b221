#include "symbolic/special_methods.h"

#include "numlift/py/py_error.h"
#include "symbolic/attributes.h"
#include "symbolic/calls.h"
#include "symbolic/instances.h"
#include "symbolic/container_classes.h"
#include "symbolic/library_objects.h"
#include "symbolic/numpy_calls.h"
#include "symbolic/operators.h"
#include "symbolic/outside_containers.h"
#include "symbolic/pure.h"

namespace numlift::frame_eval {

namespace {

// An instance of a class written in Python.
bool is_user_instance(const Sym& value) {
  if (value->kind != SymKind::kObject) return false;
  PyObject* object = object_of(value);
  return (Py_TYPE(object)->tp_flags & Py_TPFLAGS_HEAPTYPE) && !PyType_Check(object) &&
         !PyModule_Check(object) && !is_pure(object) && !is_numpy_value(value);
}

bool is_not_implemented(const Sym& value) { return is_object(value, Py_NotImplemented); }

struct OperatorNames {
  const char *forward, *reflected, *in_place;
};
constexpr OperatorNames kNames[] = {
    {"__add__", "__radd__", "__iadd__"},
    {"__and__", "__rand__", "__iand__"},
    {"__floordiv__", "__rfloordiv__", "__ifloordiv__"},
    {"__lshift__", "__rlshift__", "__ilshift__"},
    {"__matmul__", "__rmatmul__", "__imatmul__"},
    {"__mul__", "__rmul__", "__imul__"},
    {"__mod__", "__rmod__", "__imod__"},
    {"__or__", "__ror__", "__ior__"},
    {"__pow__", "__rpow__", "__ipow__"},
    {"__rshift__", "__rrshift__", "__irshift__"},
    {"__sub__", "__rsub__", "__isub__"},
    {"__truediv__", "__rtruediv__", "__itruediv__"},
    {"__xor__", "__rxor__", "__ixor__"},
};

Sym find_special(Interpreter& interpreter, const Sym& self, const char* name) {
  Ref text = checked(PyUnicode_InternFromString(name));
  return type_attribute(interpreter, self, text);
}

// Nobody looks into NumPy's own Python code.
bool is_numpys_own(BorrowedRef function) {
  PyObject* module = PyDict_GetItemString(PyFunction_GET_GLOBALS(function.get()), "__name__");
  return module != nullptr && utf8_text(module).starts_with("numpy.");
}

// What a class derived from list or dict has from there.
bool is_container_function(const Sym& self, const Sym& function) {
  if (!is_container_instance(self) || function->kind != SymKind::kObject) return false;
  BorrowedRef object = object_of(function);
  return (object.type() == &PyWrapperDescr_Type || object.type() == &PyMethodDescr_Type) &&
         is_container_class(PyDescr_TYPE(object.get()));
}

Sym call_special(Interpreter& interpreter, const Sym& function, const Sym& self,
                 std::vector<Sym> arguments, std::vector<std::pair<Ref, Sym>> keywords = {}) {
  if (is_container_function(self, function)) {
    real_object(interpreter, function, "a method that its class inherits");
    arguments.insert(arguments.begin(), self);
    if (Sym result = call_container_function(interpreter, object_of(function),
                                             {std::move(arguments), std::move(keywords)})) {
      return result;
    }
    throw_value_break(self, fmt::format("a special method of {}", type_name(self)));
  }
  if (function->kind == SymKind::kFunction) {
    arguments.insert(arguments.begin(), self);
    return call_value(interpreter, function, {std::move(arguments), std::move(keywords)});
  }
  if (function->kind != SymKind::kObject || !PyFunction_Check(object_of(function).get()) ||
      is_numpys_own(object_of(function))) {
    throw_value_break(self, fmt::format("a special method of {}", type_name(self)));
  }
  arguments.insert(arguments.begin(), self);
  return call_python_function(interpreter, function, {std::move(arguments), std::move(keywords)});
}

}  // namespace

Sym special_method(Interpreter& interpreter, const Sym& self, const char* name,
                   std::vector<Sym> arguments, std::vector<std::pair<Ref, Sym>> keywords) {
  if (as_library_object(self)) {
    Sym result =
        call_library_method(interpreter, self, name, {std::move(arguments), std::move(keywords)});
    if (result && is_not_implemented(result)) {
      throw_break("would_raise", fmt::format("{} of a {}", name, type_name(self)));
    }
    return result;
  }
  if (is_outside_deque(self)) {
    Sym result =
        call_outside_deque(interpreter, self, name, {std::move(arguments), std::move(keywords)});
    if (result && is_not_implemented(result)) {
      throw_break("would_raise", fmt::format("{} of a {}", name, type_name(self)));
    }
    return result;
  }
  if (!is_user_instance(self)) return nullptr;
  Sym function = find_special(interpreter, self, name);
  if (!function) return nullptr;
  Sym result = call_special(interpreter, function, self, std::move(arguments), std::move(keywords));
  if (is_not_implemented(result)) {
    throw_break("unsupported_value",
                fmt::format("{} of a {} gives NotImplemented", name, type_name(self)));
  }
  return result;
}

bool has_python_method(Interpreter& interpreter, const Sym& self, const char* name) {
  // A polyfill, or nothing that is found.
  if (as_library_object(self) || is_outside_deque(self)) return true;
  if (!is_user_instance(self)) return false;
  const Sym function = find_special(interpreter, self, name);
  if (function && function->kind == SymKind::kFunction) return true;
  return function && function->kind == SymKind::kObject &&
         (PyFunction_Check(object_of(function).get()) || is_container_function(self, function));
}

namespace {

constexpr const char* kComparisons[] = {"__lt__", "__le__", "__eq__", "__ne__", "__gt__", "__ge__"};
constexpr int kReflected[] = {kGreater, kGreaterEqual, kEqual, kNotEqual, kLess, kLessEqual};

// What the method of `self` gives, NotImplemented included.
Sym compare_with_method(Interpreter& interpreter, int compare, const Sym& self, const Sym& other) {
  const Sym function = find_special(interpreter, self, kComparisons[compare]);
  const Ref cls = type_of(interpreter, self);
  if (function && !has_objects_method(interpreter, cls, kComparisons[compare]))
    return call_special(interpreter, function, self, {other});
  const Sym not_implemented = interpreter.object(Py_NotImplemented);
  if (compare == kNotEqual) {
    const Sym equal = compare_with_method(interpreter, kEqual, self, other);
    if (is_not_implemented(equal)) return equal;
    return interpreter.boolean(!truth(interpreter, equal));
  }
  if (compare == kEqual && is_identical(interpreter, self, other)) return interpreter.boolean(true);
  return not_implemented;
}

}  // namespace

Sym compare_by_methods(Interpreter& interpreter, int compare, const Sym& a, const Sym& b,
                       bool plain_left, bool plain_right) {
  if (as_library_object(a) || is_outside_deque(a))
    return special_method(interpreter, a, kComparisons[compare], {b});
  const bool left = is_user_instance(a), right = is_user_instance(b);
  if ((!left && !right) || (!left && !plain_left) || (!right && !plain_right)) {
    return left ? special_method(interpreter, a, kComparisons[compare], {b}) : nullptr;
  }
  const Ref left_class = type_of(interpreter, a), right_class = type_of(interpreter, b);
  auto* left_type = reinterpret_cast<PyTypeObject*>(left_class.get());
  auto* right_type = reinterpret_cast<PyTypeObject*>(right_class.get());
  const bool right_first =
      right && left_type != right_type && PyType_IsSubtype(right_type, left_type) != 0;
  const auto try_right = [&] {
    return compare_with_method(interpreter, kReflected[compare], b, a);
  };
  Sym result;
  if (right_first && !is_not_implemented(result = try_right())) return result;
  if (left && !is_not_implemented(result = compare_with_method(interpreter, compare, a, b)))
    return result;
  if (right && !right_first && !is_not_implemented(result = try_right())) return result;
  if (compare != kEqual && compare != kNotEqual) return nullptr;
  // dict and list have an answer of their own.
  if (is_container_instance(a) || is_container_instance(b))
    throw_break("unsupported_value", "a comparison that is left to list or dict");
  return interpreter.boolean(is_identical(interpreter, a, b) == (compare == kEqual));
}

Sym binary_special_method(Interpreter& interpreter, int nb_op, bool in_place, const Sym& a,
                          const Sym& b) {
  if (as_library_object(a) || is_outside_deque(a)) {
    const OperatorNames& names = kNames[nb_op];
    const auto call = [&](const char* name) {
      const CallArguments arguments{{b}, {}};
      return as_library_object(a) ? call_library_method(interpreter, a, name, arguments)
                                  : call_outside_deque(interpreter, a, name, arguments);
    };
    Sym result;
    if (in_place) result = call(names.in_place);
    if (!result) result = call(names.forward);
    if (result && !is_not_implemented(result)) return result;
    throw_break("unsupported_value", fmt::format("an operator on a {}", type_name(a)));
  }
  const bool left = is_user_instance(a), right = is_user_instance(b);
  if (!left && !right) return nullptr;
  const OperatorNames& names = kNames[nb_op];
  if (left) {
    if (in_place) {
      if (Sym function = find_special(interpreter, a, names.in_place)) {
        Sym result = call_special(interpreter, function, a, {b});
        if (!is_not_implemented(result)) return result;
      }
    }
    // A subclass on the right goes first when it has a reflected method of its own.
    if (right && Py_TYPE(object_of(b).get()) != Py_TYPE(object_of(a).get()) &&
        PyType_IsSubtype(object_of(b).type(), object_of(a).type())) {
      throw_break("unsupported_value", "an operator between a class and its subclass");
    }
    if (Sym function = find_special(interpreter, a, names.forward)) {
      Sym result = call_special(interpreter, function, a, {b});
      if (!is_not_implemented(result)) return result;
    }
    if (right && Py_TYPE(object_of(b).get()) == Py_TYPE(object_of(a).get())) return nullptr;
  } else if (is_numpy_value(a)) {
    // Whether NumPy gives way to the other operand depends on its __array_ufunc__ and priority.
    throw_value_break(b, fmt::format("an operator between NumPy and a {}", type_name(b)));
  }
  if (right) {
    if (Sym function = find_special(interpreter, b, names.reflected)) {
      Sym result = call_special(interpreter, function, b, {a});
      if (!is_not_implemented(result)) return result;
    }
  }
  return nullptr;
}

}  // namespace numlift::frame_eval
