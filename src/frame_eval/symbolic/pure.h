// Which real objects the interpreter may compute with: operations on them run no user code and have
// no effect. Everything else is looked at, never operated on.
#pragma once

#include <optional>

#include "symbolic/interpreter.h"

namespace numlift::frame_eval {

// None, bool, int, float, complex, str, bytes, range, slice, …, tuples and frozensets of these,
// NumPy dtypes and NumPy's number classes.
bool is_pure(BorrowedRef object);
// `==`, hash and truth of the object are its identity (functions, modules, plain classes, instances
// without methods of their own for these).
bool compares_by_identity(BorrowedRef object);
bool is_dtype(BorrowedRef object);
// Of a class in pure_calls.def whose instances never change.
bool is_immutable(BorrowedRef object);

// The real object when the value is a pure constant, or a tuple of those (guarded as it must be).
std::optional<Ref> pure_constant(Interpreter& interpreter, const Sym& value, const char* what);
// The same for any real object (guarded by identity when it is not pure).
std::optional<Ref> real_object(Interpreter& interpreter, const Sym& value, const char* what);
// A run-time Python number becomes the constant that it is now; other values stay.
Sym concrete(Interpreter& interpreter, const Sym& value, const char* what);

// The class of the value, guarded. Throws Break when it cannot be told.
Ref type_of(Interpreter& interpreter, const Sym& value);
// For messages: "ndarray", "float", "list".
std::string type_name(const Sym& value);
// Break: `what` cannot be done with the value. The category tells what is special about it, when
// it is a kind of array (a dtype, a subclass, a mask, methods of its own).
[[noreturn]] void throw_value_break(const Sym& value, const std::string& what);
// The same for the first of the values about which something is special.
[[noreturn]] void throw_value_break(const Sym& a, const Sym& b, const std::string& what);

// A new reference that a C API call gave; an error that it set means that the code raises here.
Ref must(PyObject* new_reference);

template <class T>
T& as(const Sym& value) {
  return static_cast<T&>(*value);
}
// The real object of a kObject value.
inline BorrowedRef object_of(const Sym& value) { return as<ObjectValue>(value).object; }
inline bool is_object(const Sym& value, PyObject* object) {
  return value->kind == SymKind::kObject && object_of(value).get() == object;
}
bool is_py_scalar(const Sym& value);

}  // namespace numlift::frame_eval
