#include "symbolic/special_methods.h"

#include "numlift/py/py_error.h"
#include "symbolic/attributes.h"
#include "symbolic/calls.h"
#include "symbolic/numpy_calls.h"
#include "symbolic/operators.h"
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

Sym call_special(Interpreter& interpreter, const Sym& function, const Sym& self,
                 std::vector<Sym> arguments, std::vector<std::pair<Ref, Sym>> keywords = {}) {
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
  if (!is_user_instance(self)) return false;
  const Sym function = find_special(interpreter, self, name);
  return function && function->kind == SymKind::kObject &&
         PyFunction_Check(object_of(function).get());
}

Sym binary_special_method(Interpreter& interpreter, int nb_op, bool in_place, const Sym& a,
                          const Sym& b) {
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
