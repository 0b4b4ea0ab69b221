#include "left_values.h"

#include <utility>
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

// Tuples of values on their way from a function to the one that it calls next.
thread_local std::vector<PyObject*> held;

PyObject* hold(PyObject*, PyObject* const* args, Py_ssize_t count) {
  PyObject* values = PyTuple_New(count);
  if (values == nullptr) return nullptr;
  for (Py_ssize_t i = 0; i < count; ++i) PyTuple_SET_ITEM(values, i, Py_NewRef(args[i]));
  held.push_back(values);
  return Py_NewRef(Py_None);
}

PyObject* take(PyObject*, PyObject*) {
  PyObject* values = held.back();
  held.pop_back();
  return values;
}

thread_local KeptValues* kept = nullptr;

PyObject* forget(PyObject*, PyObject*) {
  if (kept != nullptr) kept->forget();
  return Py_NewRef(Py_None);
}

PyMethodDef forget_method{"forget", forget, METH_NOARGS, nullptr};
PyMethodDef hold_method{
    "hold",
    reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(static_cast<_PyCFunctionFast>(hold))),
    METH_FASTCALL, nullptr};
PyMethodDef take_method{"take", take, METH_NOARGS, nullptr};

PyMethodDef leave_method{
    "leave",
    reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(static_cast<_PyCFunctionFast>(leave))),
    METH_FASTCALL, nullptr};

}  // namespace

BorrowedRef leave_function() {
  static PyObject* const function = checked(PyCFunction_New(&leave_method, nullptr)).release();
  return function;
}

BorrowedRef hold_function() {
  static PyObject* const function = checked(PyCFunction_New(&hold_method, nullptr)).release();
  return function;
}

BorrowedRef take_function() {
  static PyObject* const function = checked(PyCFunction_New(&take_method, nullptr)).release();
  return function;
}

BorrowedRef forget_function() {
  static PyObject* const function = checked(PyCFunction_New(&forget_method, nullptr)).release();
  return function;
}

KeptValues::KeptValues(void (*forget)(void*), void* context)
    : forget_(forget), context_(context), outer_(std::exchange(kept, this)) {}

KeptValues::~KeptValues() { kept = outer_; }

void KeptValues::forget() { forget_(context_); }

BorrowedRef left_object() {
  static PyObject* const object =
      checked(PyObject_CallNoArgs(reinterpret_cast<PyObject*>(&PyBaseObject_Type))).release();
  return object;
}

LeftValues::LeftValues() : before_(left.size()), held_before_(held.size()) {}

LeftValues::~LeftValues() {
  // Only where the function that was to take them did not even begin.
  while (held.size() > held_before_) {
    PyObject* values = held.back();
    held.pop_back();
    Py_DECREF(values);
  }
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
