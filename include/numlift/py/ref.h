// Who owns a reference, as a type.
//
//   Ref           owns one reference; made only by steal() (a new reference) or create() (one more)
//   BorrowedRef   somebody else owns it for as long as the BorrowedRef is used
//
// Parameters are BorrowedRef; what a function hands over is a Ref. Raw PyObject* stand only in
// functions that CPython calls. Dropping a Ref can run user code.
#pragma once

#include "numlift/py/python.h"

#include <utility>

namespace numlift {

class BorrowedRef {
 public:
  BorrowedRef() = default;
  BorrowedRef(PyObject* object) : object_(object) {}  // NOLINT: borrowing is free and safe
  template <class T>
    requires(!std::is_same_v<T, PyObject> && std::is_class_v<T>)
  BorrowedRef(T* object) : object_(reinterpret_cast<PyObject*>(object)) {}  // NOLINT
  PyObject* get() const { return object_; }
  operator PyObject*() const { return object_; }
  explicit operator bool() const { return object_ != nullptr; }
  PyTypeObject* type() const { return Py_TYPE(object_); }

 private:
  PyObject* object_ = nullptr;
};

class Ref {
 public:
  Ref() = default;
  Ref(Ref&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  Ref(const Ref& other) : object_(other.object_) { Py_XINCREF(object_); }
  Ref& operator=(Ref other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~Ref() { Py_XDECREF(object_); }

  static Ref steal(PyObject* new_reference) {
    Ref r;
    r.object_ = new_reference;
    return r;
  }
  static Ref create(BorrowedRef object) {
    Py_XINCREF(object.get());
    return steal(object.get());
  }

  PyObject* get() const { return object_; }
  operator BorrowedRef() const { return object_; }
  explicit operator bool() const { return object_ != nullptr; }
  PyTypeObject* type() const { return Py_TYPE(object_); }
  [[nodiscard]] PyObject* release() { return std::exchange(object_, nullptr); }
  bool operator==(const Ref& other) const { return object_ == other.object_; }

 private:
  PyObject* object_ = nullptr;
};

}  // namespace numlift
