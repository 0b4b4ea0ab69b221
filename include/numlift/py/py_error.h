// Python errors inside our code.
#pragma once

#include <exception>

#include "numlift/py/ref.h"

namespace numlift {

// Thrown right after a C API call failed: the error stays set in the thread. Whoever catches it
// either lets CPython have it (return nullptr) or clears it with PyErr_Clear().
class PyError : public std::exception {
 public:
  const char* what() const noexcept override { return "Python error is set"; }
};

// Steals a new reference, throwing PyError when it is null.
inline Ref checked(PyObject* new_reference) {
  if (new_reference == nullptr) throw PyError();
  return Ref::steal(new_reference);
}
inline void check_status(int status) {
  if (status < 0) throw PyError();
}

}  // namespace numlift
