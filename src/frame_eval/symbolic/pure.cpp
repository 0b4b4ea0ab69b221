#include "symbolic/pure.h"

#include <set>

#include "numlift/numpy_shim/dtypes.h"
#include "numlift/numpy_shim/numpy.h"
#include "numlift/frame_eval/marks.h"
#include "numlift/py/py_error.h"
#include "symbolic/enums.h"
#include "symbolic/polyfills.h"
#include "symbolic/exceptions.h"
#include "symbolic/python_scalars.h"

namespace numlift::frame_eval {

bool is_dtype(BorrowedRef object) { return PyArray_DescrCheck(object.get()); }

namespace {

// sys.version_info and its like: tuples with names.
bool is_of_sys(const PyTypeObject* type) {
  if (!PyType_IsSubtype(const_cast<PyTypeObject*>(type), &PyTuple_Type)) return false;
  for (const char* name : {"version_info", "float_info", "int_info", "hash_info", "flags"}) {
    const PyObject* object = PySys_GetObject(name);
    if (object != nullptr && Py_TYPE(object) == type) return true;
  }
  return false;
}

}  // namespace

bool is_pure(BorrowedRef object) {
  PyObject* raw = object.get();
  PyTypeObject* type = Py_TYPE(raw);
  if (raw == Py_None || raw == Py_Ellipsis || raw == Py_NotImplemented || type == &PyBool_Type ||
      type == &PyLong_Type || type == &PyFloat_Type || type == &PyComplex_Type ||
      type == &PyUnicode_Type || type == &PyBytes_Type || type == &PyRange_Type) {
    return true;
  }
  if (type == &PyTuple_Type) {
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(raw); ++i) {
      if (!is_pure(PyTuple_GET_ITEM(raw, i))) return false;
    }
    return true;
  }
  if (type == &PySlice_Type) {
    auto* slice = reinterpret_cast<PySliceObject*>(raw);
    return is_pure(slice->start) && is_pure(slice->stop) && is_pure(slice->step);
  }
  if (type == &PyFrozenSet_Type) {
    Ref items = must(PySequence_Tuple(raw));
    return is_pure(items);
  }
  if (is_dtype(raw)) return true;
  if (is_plain_enum_member(raw) || is_of_sys(type)) return true;
  return PyType_Check(raw) &&
         numpy_shim::dtype_of_scalar_class(reinterpret_cast<PyTypeObject*>(raw)).has_value();
}

bool is_immutable(BorrowedRef object) {
  static const std::set<std::string, std::less<>> names{
#define NUMLIFT_PURE(name)
#define NUMLIFT_IMMUTABLE(name) name,
#include "symbolic/pure_calls.def"
#undef NUMLIFT_PURE
#undef NUMLIFT_IMMUTABLE
  };
  const auto name = library_name(reinterpret_cast<PyObject*>(object.type()));
  return name && names.contains(*name);
}

bool compares_by_identity(BorrowedRef object) {
  PyTypeObject* type = object.type();
  return type->tp_richcompare == PyBaseObject_Type.tp_richcompare &&
         type->tp_hash == PyBaseObject_Type.tp_hash;
}

Ref must(PyObject* new_reference) {
  if (new_reference == nullptr) {
    if (must_reach_user()) throw PyError();
    PyObject* type = PyErr_Occurred();
    std::string name = type ? reinterpret_cast<PyTypeObject*>(type)->tp_name : "an exception";
    if (auto raised = raised_from_error()) throw *raised;
    throw_break("would_raise", name);
  }
  return Ref::steal(new_reference);
}

namespace {}  // namespace

bool is_immutable_constant(const Sym& value) {
  return value->kind == SymKind::kObject && !value->source && !as<ObjectValue>(value).differs() &&
         is_immutable(object_of(value));
}

namespace {

bool is_constant_tree(const Sym& value) {
  if (value->kind == SymKind::kObject) {
    // Immutable objects from outside are new ones in every call: no constants.
    return is_pure(object_of(value)) || is_immutable_constant(value);
  }
  if (value->kind != SymKind::kTuple) return false;
  const auto& tuple = as<SequenceValue>(value);
  if (tuple.named_tuple_class) return false;
  for (const Sym& item : tuple.items) {
    if (!is_constant_tree(item)) return false;
  }
  return true;
}

std::string reason_text(Interpreter& interpreter, const char* what) {
  return fmt::format("{} at {}", what, interpreter.location_text());
}

}  // namespace

std::optional<Ref> pure_constant(Interpreter& interpreter, const Sym& value, const char* what) {
  if (!is_constant_tree(value)) return std::nullopt;
  if (value->kind == SymKind::kObject && !value->source) return Ref::create(object_of(value));
  return interpreter.tracer.as_constant(value, reason_text(interpreter, what));
}

std::optional<Ref> real_object(Interpreter& interpreter, const Sym& value, const char* what) {
  if (value->kind != SymKind::kObject) return pure_constant(interpreter, value, what);
  return interpreter.tracer.as_constant(value, reason_text(interpreter, what));
}

bool is_py_scalar(const Sym& value) {
  return value->kind == SymKind::kScalar &&
         as<ScalarValue>(value).type.value_kind == ValueKind::kPyScalar;
}

Sym concrete(Interpreter& interpreter, const Sym& value, const char* what) {
  if (value->kind == SymKind::kSize || is_py_scalar(value)) {
    return specialize_number(interpreter, value, reason_text(interpreter, what));
  }
  return value;
}

Ref type_of(Interpreter& interpreter, const Sym& value) {
  if (value->kind == SymKind::kScalar && as<ScalarValue>(value).either)
    refuse_loop("the class of a number depends on a loop");
  auto type = [](PyTypeObject& t) { return Ref::create(reinterpret_cast<PyObject*>(&t)); };
  switch (value->kind) {
    case SymKind::kObject: {
      BorrowedRef object = object_of(value);
      Ref result = Ref::create(reinterpret_cast<PyObject*>(object.type()));
      if (value->source && !is_pure(object)) {
        interpreter.tracer.guard(value->source, guards::HasType{result},
                                 reason_text(interpreter, "its type is used"));
      } else {
        pure_constant(interpreter, value, "its type is used");
      }
      return result;
    }
    case SymKind::kArray:
      return type(PyArray_Type);
    case SymKind::kScalar: {
      const Type& scalar = as<ScalarValue>(value).type;
      if (scalar.value_kind == ValueKind::kNumpyScalar) {
        return Ref::create(numpy_shim::scalar_class_of(scalar.dtype));
      }
      switch (kind_of(scalar.dtype)) {
        case DTypeKind::kBool:
          return type(PyBool_Type);
        case DTypeKind::kSigned:
        case DTypeKind::kUnsigned:
          return type(PyLong_Type);
        case DTypeKind::kFloat:
          return type(PyFloat_Type);
        case DTypeKind::kComplex:
          return type(PyComplex_Type);
      }
      NUMLIFT_UNREACHABLE();
    }
    case SymKind::kSize:
      return type(PyLong_Type);
    case SymKind::kTuple: {
      const auto& tuple = as<SequenceValue>(value);
      return tuple.named_tuple_class ? tuple.named_tuple_class : type(PyTuple_Type);
    }
    case SymKind::kList:
    case SymKind::kGrownList:
      return type(PyList_Type);
    case SymKind::kSet:
      return type(PySet_Type);
    case SymKind::kDict:
      return type(PyDict_Type);
    case SymKind::kSlice:
      return type(PySlice_Type);
    case SymKind::kFunction:
      return type(PyFunction_Type);
    case SymKind::kMethod:
      if (as<MethodValue>(value).function) return type(PyMethod_Type);
      return type(PyCFunction_Type);
    case SymKind::kException:
      return as<ExceptionValue>(value).type;
    case SymKind::kIterator:
      if (Ref known = as<IteratorValue>(value).type()) return known;
      break;
    case SymKind::kNull:
    case SymKind::kCell:
      break;
  }
  throw_break("unsupported_value", "the type of an iterator or cell");
}

namespace {

struct SpecialValue {
  const char* category;
  std::string text;
};

// What keeps NumPy's usual rules from an object; nullopt: nothing does, or it is none of NumPy's.
std::optional<SpecialValue> special_value(const Sym& value) {
  if (value->kind != SymKind::kObject) return std::nullopt;
  PyObject* object = object_of(value).get();
  PyTypeObject* type = Py_TYPE(object);
  if (PyArray_CheckExact(object)) {
    auto* descr = reinterpret_cast<PyObject*>(PyArray_DESCR(numpy_shim::as_array(object)));
    if (numpy_shim::dtype_of_descr(descr)) {
      return SpecialValue{"unsupported_value",
                          "an array that is not aligned, or whose elements overlap"};
    }
    Ref name = Ref::steal(PyObject_Str(descr));
    if (!name) PyErr_Clear();
    return SpecialValue{"opaque_dtype", "an array of dtype " + utf8_text(name)};
  }
  if (PyArray_Check(object)) {
    PyObject* mro = type->tp_mro;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(mro); ++i) {
      const auto* base = reinterpret_cast<PyTypeObject*>(PyTuple_GET_ITEM(mro, i));
      if (std::string_view(base->tp_name) == "MaskedArray") {
        return SpecialValue{"masked_array", "a masked array"};
      }
    }
    return SpecialValue{"array_subclass",
                        fmt::format("{}, a subclass of numpy.ndarray", type->tp_name)};
  }
  if (PyArray_IsScalar(object, Generic)) {
    return SpecialValue{"opaque_dtype", fmt::format("a {}", type->tp_name)};
  }
  if (is_pure(object) || PyType_Check(object)) return std::nullopt;
  for (const char* method : {"__array_ufunc__", "__array_function__", "__array_interface__",
                             "__array_struct__", "__array__", "__array_priority__"}) {
    const Ref name = checked(PyUnicode_InternFromString(method));
    if (_PyType_Lookup(type, name.get()) != nullptr) {
      return SpecialValue{"array_protocol",
                          fmt::format("a {}, which has {}", type->tp_name, method)};
    }
  }
  return std::nullopt;
}

}  // namespace

void throw_value_break(const Sym& value, const std::string& what) {
  if (auto special = special_value(value)) {
    throw_break(special->category, what + ": " + special->text);
  }
  throw_break("unsupported_value", what);
}

void throw_value_break(const Sym& a, const Sym& b, const std::string& what) {
  throw_value_break(special_value(a) ? a : b, what);
}

std::string type_name(const Sym& value) {
  switch (value->kind) {
    case SymKind::kObject:
      return object_of(value).type()->tp_name;
    case SymKind::kArray:
      return "numpy.ndarray";
    case SymKind::kScalar: {
      const Type& scalar = as<ScalarValue>(value).type;
      if (scalar.value_kind == ValueKind::kNumpyScalar) {
        return reinterpret_cast<PyTypeObject*>(numpy_shim::scalar_class_of(scalar.dtype).get())
            ->tp_name;
      }
      switch (kind_of(scalar.dtype)) {
        case DTypeKind::kBool:
          return "bool";
        case DTypeKind::kSigned:
        case DTypeKind::kUnsigned:
          return "int";
        case DTypeKind::kFloat:
          return "float";
        case DTypeKind::kComplex:
          return "complex";
      }
      NUMLIFT_UNREACHABLE();
    }
    case SymKind::kSize:
      return "int";
    case SymKind::kTuple:
      return "tuple";
    case SymKind::kList:
    case SymKind::kGrownList:
      return "list";
    case SymKind::kSet:
      return "set";
    case SymKind::kDict:
      return "dict";
    case SymKind::kSlice:
      return "slice";
    case SymKind::kFunction:
      return "function";
    case SymKind::kMethod:
      return "method";
    case SymKind::kNull:
    case SymKind::kCell:
      return "cell";
    case SymKind::kIterator: {
      const Ref known = as<IteratorValue>(value).type();
      return known ? reinterpret_cast<PyTypeObject*>(known.get())->tp_name : "iterator";
    }
    case SymKind::kException:
      return reinterpret_cast<PyTypeObject*>(as<ExceptionValue>(value).type.get())->tp_name;
  }
  NUMLIFT_UNREACHABLE();
}

}  // namespace numlift::frame_eval
