#include "left_values.h"

#include <vector>

#include "numlift/py/py_error.h"
#include "numlift/support/check.h"

namespace numlift::frame_eval {
namespace {

// One after the other: place, values, and how many values there are.
thread_local std::vector<uintptr_t> left;

PyObject* leave(PyObject*, PyObject* const* args, Py_ssize_t count) {
  left.push_back(PyLong_AsSize_t(args[0]));
  for (Py_ssize_t i = 1; i < count; ++i) {
    left.push_back(reinterpret_cast<uintptr_t>(Py_NewRef(args[i])));
  }
  left.push_back(static_cast<uintptr_t>(count - 1));
  return Py_NewRef(left_object().get());
}

PyMethodDef leave_method{
    "leave",
    reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(static_cast<_PyCFunctionFast>(leave))),
    METH_FASTCALL, nullptr};

}  // namespace

BorrowedRef leave_function() {
  static PyObject* const function = checked(PyCFunction_New(&leave_method, nullptr)).release();
  return function;
}

BorrowedRef left_object() {
  static PyObject* const object =
      checked(PyObject_CallNoArgs(reinterpret_cast<PyObject*>(&PyBaseObject_Type))).release();
  return object;
}

LeftValues::LeftValues() : before_(left.size()) {}

LeftValues::~LeftValues() {
  while (left.size() > before_) {
    const size_t count = newest_count();
    left.pop_back();
    for (size_t i = 0; i < count; ++i) {
      auto* object = reinterpret_cast<PyObject*>(left.back());
      left.pop_back();
      Py_DECREF(object);
    }
    left.pop_back();
  }
}

size_t LeftValues::newest_count() const {
  NUMLIFT_CHECK(left.size() > before_, "nothing has been left");
  return left.back();
}

size_t LeftValues::take(PyObject** values, size_t count) const {
  NUMLIFT_CHECK(newest_count() == count, "{} values are left instead of {}", newest_count(), count);
  left.pop_back();
  for (size_t i = count; i-- > 0;) {
    values[i] = reinterpret_cast<PyObject*>(left.back());
    left.pop_back();
  }
  const size_t place = left.back();
  left.pop_back();
  return place;
}

}  // namespace numlift::frame_eval
