// Each predicate once: does it hold, and in words.
#include <cstring>

#include <fmt/format.h>

#include "array_class.h"
#include "dict_lookup.h"
#include "numlift/guards/guard_set.h"
#include "numlift/numpy_shim/dtypes.h"
#include "numlift/numpy_shim/output.h"

namespace numlift::guards {
namespace {

// Equality of immutable built-in values without running user code: exact types, floats by bits.
bool same_constant(BorrowedRef a, BorrowedRef b) {
  if (a.get() == b.get()) return true;
  if (a.type() != b.type()) return false;
  PyTypeObject* type = a.type();
  if (type == &PyLong_Type) {
    int overflow_a = 0, overflow_b = 0;
    const long long x = PyLong_AsLongLongAndOverflow(a.get(), &overflow_a);
    const long long y = PyLong_AsLongLongAndOverflow(b.get(), &overflow_b);
    if (overflow_a != overflow_b) return false;
    if (overflow_a == 0) return x == y;
    return PyObject_RichCompareBool(a.get(), b.get(), Py_EQ) == 1;  // of exact ints: no user code
  }
  if (type == &PyFloat_Type) {
    const double x = PyFloat_AS_DOUBLE(a.get()), y = PyFloat_AS_DOUBLE(b.get());
    return std::memcmp(&x, &y, sizeof x) == 0;
  }
  if (type == &PyComplex_Type) {
    return std::memcmp(&reinterpret_cast<PyComplexObject*>(a.get())->cval,
                       &reinterpret_cast<PyComplexObject*>(b.get())->cval, sizeof(Py_complex)) == 0;
  }
  if (type == &PyUnicode_Type) return PyUnicode_Compare(a.get(), b.get()) == 0;
  if (type == &PyBytes_Type) {
    return PyBytes_GET_SIZE(a.get()) == PyBytes_GET_SIZE(b.get()) &&
           std::memcmp(PyBytes_AS_STRING(a.get()), PyBytes_AS_STRING(b.get()),
                       static_cast<size_t>(PyBytes_GET_SIZE(a.get()))) == 0;
  }
  if (type == &PyTuple_Type) {
    if (PyTuple_GET_SIZE(a.get()) != PyTuple_GET_SIZE(b.get())) return false;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(a.get()); ++i) {
      if (!same_constant(PyTuple_GET_ITEM(a.get(), i), PyTuple_GET_ITEM(b.get(), i))) return false;
    }
    return true;
  }
  // NumPy scalars: one class, one size, equal bits.
  if (const auto dtype = numpy_shim::dtype_of_scalar_class(type)) {
    alignas(16) unsigned char x[16], y[16];
    numpy_shim::read_scalar(a, ValueKind::kNumpyScalar, *dtype, x);
    numpy_shim::read_scalar(b, ValueKind::kNumpyScalar, *dtype, y);
    return std::memcmp(x, y, static_cast<size_t>(item_size(*dtype))) == 0;
  }
  return false;
}

bool length_of(BorrowedRef value, int64_t* out) {
  if (PyTuple_Check(value.get()))
    *out = PyTuple_GET_SIZE(value.get());
  else if (PyList_Check(value.get()))
    *out = PyList_GET_SIZE(value.get());
  else if (PyDict_Check(value.get()))
    *out = PyDict_GET_SIZE(value.get());
  else if (PyAnySet_Check(value.get()))
    *out = PySet_GET_SIZE(value.get());
  else if (is_deque(value))
    *out = Py_SIZE(value.get());
  else
    return false;
  return true;
}

struct Holds {
  BorrowedRef value;
  bool must_be_writeable;

  bool operator()(const IsObject& p) const { return value.get() == p.object.get(); }
  bool operator()(const HasType& p) const {
    return reinterpret_cast<PyObject*>(value.type()) == p.type.get();
  }
  bool operator()(const EqualsConstant& p) const { return same_constant(value, p.value); }
  bool operator()(const IsArray& p) const {
    return check_array(value, p.array_class, must_be_writeable);
  }
  bool operator()(const IsOpaqueArray&) const {
    ArrayClass found;
    return PyArray_CheckExact(value.get()) && !classify_array(value, &found);
  }
  bool operator()(const IsInt64&) const {
    int overflow = 0;
    if (!PyLong_CheckExact(value.get())) return false;
    PyLong_AsLongLongAndOverflow(value.get(), &overflow);
    return overflow == 0;
  }
  bool operator()(const HasLength& p) const {
    int64_t length = 0;
    return length_of(value, &length) && length == p.length;
  }
  bool operator()(const HasKeys& p) const {
    if (!PyDict_Check(value.get()) ||
        PyDict_GET_SIZE(value.get()) != PyTuple_GET_SIZE(p.keys.get())) {
      return false;
    }
    PyObject *key, *item;
    Py_ssize_t position = 0, i = 0;
    while (PyDict_Next(value.get(), &position, &key, &item)) {
      PyObject* wanted = PyTuple_GET_ITEM(p.keys.get(), i++);
      if (key != wanted && !same_constant(key, wanted)) return false;
    }
    return true;
  }
  bool operator()(const FunctionIs& p) const {
    if (!PyFunction_Check(value.get())) return false;
    const auto* function = reinterpret_cast<PyFunctionObject*>(value.get());
    return function->func_code == p.code.get() && function->func_globals == p.globals.get() &&
           (p.any_defaults || (function->func_defaults == p.defaults.get() &&
                               function->func_kwdefaults == p.kwdefaults.get()));
  }
  // Two values are compared where both are at hand (guard_set.cpp).
  bool operator()(const IsSame&) const { NUMLIFT_UNREACHABLE(); }
  bool operator()(const AreDistinct&) const { NUMLIFT_UNREACHABLE(); }
  bool operator()(const Compares& p) const {
    if (!PyFloat_CheckExact(value.get()) && !PyLong_CheckExact(value.get())) return false;
    static constexpr int kRich[] = {Py_LT, Py_LE, Py_EQ, Py_NE, Py_GT, Py_GE};
    const int found = PyObject_RichCompareBool(value.get(), p.constant.get(), kRich[p.compare]);
    if (found < 0) PyErr_Clear();  // no memory for a large int
    return found == (p.outcome ? 1 : 0);
  }
  bool operator()(const IsPresent&) const { return true; }
  bool operator()(const IsAbsent&) const { return false; }
};

std::string object_text(BorrowedRef object) {
  if (!object) return "nothing";
  const bool plain = PyUnicode_CheckExact(object.get()) || PyLong_Check(object.get()) ||
                     PyFloat_CheckExact(object.get()) || PyComplex_CheckExact(object.get()) ||
                     PyBytes_CheckExact(object.get()) || object.get() == Py_None;
  // Names what has one; never an address.
  if (!plain && (PyType_Check(object.get()) || PyFunction_Check(object.get()) ||
                 PyCFunction_Check(object.get()) || PyModule_Check(object.get()) ||
                 PyObject_TypeCheck(object.get(), &PyUFunc_Type))) {
    Ref name = Ref::steal(PyObject_GetAttrString(object.get(), "__name__"));
    const char* text = name && PyUnicode_Check(name.get()) ? PyUnicode_AsUTF8(name.get()) : nullptr;
    if (text != nullptr) return fmt::format("<{} {}>", object.type()->tp_name, text);
    PyErr_Clear();
  }
  if (!plain && PyTuple_CheckExact(object.get())) {
    std::string text = "(";
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(object.get()); ++i) {
      text += (i == 0 ? "" : ", ") + object_text(PyTuple_GET_ITEM(object.get(), i));
    }
    return text + ")";
  }
  if (!plain) return fmt::format("<{}>", object.type()->tp_name);
  Ref repr = Ref::steal(PyObject_Repr(object.get()));
  const char* text = repr ? PyUnicode_AsUTF8(repr.get()) : nullptr;
  if (text == nullptr) {
    PyErr_Clear();
    return fmt::format("<{}>", object.type()->tp_name);
  }
  return text;
}

std::string class_text(const ArrayClass& c) {
  std::string text = fmt::format("dtype {}, rank {}", dtype_text(c.dtype), c.rank);
  switch (c.layout) {
    case ArrayClass::Layout::kC:
      text += ", C contiguous";
      break;
    case ArrayClass::Layout::kF:
      text += ", Fortran contiguous";
      break;
    case ArrayClass::Layout::kStrided: {
      text += ", strided (axes by stride:";
      for (uint8_t axis : c.stride_order) text += fmt::format(" {}", axis);
      text += c.unit_inner ? "; inner step 1)" : ")";
      break;
    }
  }
  if (c.size_one != 0) {
    text += ", size 1 along";
    for (int axis = 0; axis < c.rank; ++axis) {
      if ((c.size_one >> axis & 1) != 0) text += fmt::format(" axis {}", axis);
    }
  }
  return text;
}

std::string type_name(BorrowedRef type) {
  return PyType_Check(type.get()) ? reinterpret_cast<PyTypeObject*>(type.get())->tp_name : "?";
}

struct Text {
  std::string operator()(const IsObject& p) const { return "is " + object_text(p.object); }
  std::string operator()(const HasType& p) const { return "type " + type_name(p.type); }
  std::string operator()(const EqualsConstant& p) const { return "== " + object_text(p.value); }
  std::string operator()(const IsArray& p) const {
    return class_text(p.array_class) + (p.array_class.writeable ? ", writeable" : "");
  }
  std::string operator()(const IsOpaqueArray&) const { return "an array that is not compiled"; }
  std::string operator()(const IsInt64&) const { return "int of 64 bits"; }
  std::string operator()(const HasLength& p) const { return fmt::format("length {}", p.length); }
  std::string operator()(const HasKeys& p) const { return "keys " + object_text(p.keys); }
  std::string operator()(const FunctionIs& p) const {
    const auto* code = reinterpret_cast<PyCodeObject*>(p.code.get());
    return fmt::format("code of {}, line {}", object_text(code->co_name), code->co_firstlineno);
  }
  std::string operator()(const IsSame& p) const { return "is " + p.other->text(); }
  std::string operator()(const AreDistinct& p) const {
    std::string text = "is not";
    for (const SourcePtr& other : p.others) text += (text == "is not" ? " " : ", ") + other->text();
    return text;
  }
  std::string operator()(const Compares& p) const {
    static constexpr const char* kNames[] = {"<", "<=", "==", "!=", ">", ">="};
    return fmt::format("{}{} {}", p.outcome ? "" : "not ", kNames[p.compare],
                       object_text(p.constant));
  }
  std::string operator()(const IsPresent&) const { return "present"; }
  std::string operator()(const IsAbsent&) const { return "absent"; }
};

struct FoundText {
  BorrowedRef value;
  std::string operator()(const IsObject&) const { return object_text(value); }
  std::string operator()(const HasType&) const {
    return "type " + std::string(value.type()->tp_name);
  }
  std::string operator()(const EqualsConstant&) const { return object_text(value); }
  std::string operator()(const IsArray&) const {
    ArrayClass found;
    if (classify_array(value, &found))
      return class_text(found) + (found.writeable ? "" : ", read-only");
    return PyArray_Check(value.get()) ? "an array that is not compiled (subclass, dtype or layout)"
                                      : "type " + std::string(value.type()->tp_name);
  }
  std::string operator()(const IsOpaqueArray&) const { return (*this)(IsArray{}); }
  std::string operator()(const IsInt64&) const { return object_text(value); }
  std::string operator()(const HasLength&) const {
    int64_t length = 0;
    return length_of(value, &length) ? fmt::format("length {}", length)
                                     : "type " + std::string(value.type()->tp_name);
  }
  std::string operator()(const HasKeys&) const {
    if (!PyDict_Check(value.get())) return "type " + std::string(value.type()->tp_name);
    const Ref list = Ref::steal(PyDict_Keys(value.get()));
    Ref keys = Ref::steal(list ? PyList_AsTuple(list.get()) : nullptr);
    if (!keys) PyErr_Clear();
    return "keys " + object_text(keys);
  }
  std::string operator()(const FunctionIs&) const { return object_text(value); }
  std::string operator()(const IsSame&) const { return "another object"; }
  std::string operator()(const AreDistinct&) const { return "one object in two places"; }
  std::string operator()(const Compares&) const { return object_text(value); }
  std::string operator()(const IsPresent&) const { return object_text(value); }
  std::string operator()(const IsAbsent&) const { return object_text(value); }
};

}  // namespace

bool holds(const Predicate& predicate, BorrowedRef value, bool must_be_writeable) {
  if (!value) return std::holds_alternative<IsAbsent>(predicate);
  return std::visit(Holds{value, must_be_writeable}, predicate);
}

std::string predicate_kind(const Predicate& predicate) {
  static constexpr const char* kKinds[] = {
      "object", "type",     "constant",    "array",    "opaque array", "int",     "length",
      "keys",   "function", "same object", "distinct", "comparison",   "present", "absent"};
  static_assert(std::size(kKinds) == std::variant_size_v<Predicate>);
  return kKinds[predicate.index()];
}

std::string predicate_text(const Predicate& predicate) { return std::visit(Text{}, predicate); }

std::string found_text(const Predicate& predicate, BorrowedRef value) {
  return value ? std::visit(FoundText{value}, predicate) : "nothing";
}

}  // namespace numlift::guards
