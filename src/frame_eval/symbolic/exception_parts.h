// What the files of exceptions share.
#pragma once

#include <string>
#include <vector>

#include "numlift/py/py_error.h"
#include "symbolic/exceptions.h"
#include "symbolic/pure.h"

namespace numlift::frame_eval {

inline PyTypeObject* as_type(BorrowedRef type) {
  return reinterpret_cast<PyTypeObject*>(type.get());
}
inline PyTypeObject* base_exception() { return as_type(PyExc_BaseException); }
inline bool is_static(const PyTypeObject* type) { return !(type->tp_flags & Py_TPFLAGS_HEAPTYPE); }
inline Ref interned(const char* text) { return checked(PyUnicode_InternFromString(text)); }
inline bool same_name(BorrowedRef a, BorrowedRef b) {
  return a.get() == b.get() || PyUnicode_Compare(a.get(), b.get()) == 0;
}
inline bool is_python_function(const Sym& value) {
  return value && value->kind == SymKind::kObject && PyFunction_Check(object_of(value).get());
}
inline const std::vector<Sym>& args_of(const ExceptionValue& exception) {
  return as<SequenceValue>(exception.args).items;
}

// The C class that lays out the instances.
PyTypeObject* static_base(PyTypeObject* type);
// Its instances are made as BaseException's are.
bool is_plain(const PyTypeObject* base);
// The first argument is a member, too: StopIteration.value, SystemExit.code. Null: it is not.
const char* value_member(const PyTypeObject* base);

// Null: it has none of that name.
Sym* find_member(ExceptionValue& exception, const std::string& name);
Sym* find_attribute(ExceptionValue& exception, BorrowedRef name);
// An equal one made by the class itself, where that runs no code of the user; else null.
BorrowedRef real_of(Interpreter& interpreter, ExceptionValue& exception);
// What the __init__ of the C class does.
void init_exception(Interpreter& interpreter, ExceptionValue& exception,
                    const CallArguments& arguments);

}  // namespace numlift::frame_eval
