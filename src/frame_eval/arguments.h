// Binding a call's arguments as CPython would, into co_varnames order.
#pragma once

#include "numlift/py/python.h"

#include <cstddef>

#include "numlift/py/ref.h"

namespace numlift::frame_eval {

// What binding needs of a function's code; made anew when __code__ is replaced.
struct Signature {
  Py_ssize_t positional = 0;  // positional-only ones included
  Py_ssize_t positional_only = 0;
  Py_ssize_t keyword_only = 0;
  bool var_positional = false;
  bool var_keyword = false;

  explicit Signature(PyCodeObject* code);
  Py_ssize_t slots() const { return positional + keyword_only + var_positional + var_keyword; }
  bool is_plain() const { return keyword_only == 0 && !var_positional && !var_keyword; }
};

// The bound arguments of one call. Borrowed from the caller and from the function's defaults, but
// for the *args tuple and the **kwargs dict, which it owns.
class BoundArguments {
 public:
  // `self` (may be null) comes before the others. False when CPython would raise TypeError (or
  // memory is short): no error is set, the original call raises it.
  bool bind(const Signature& signature, PyFunctionObject* function, PyObject* self,
            PyObject* const* args, Py_ssize_t nargs, PyObject* keyword_names);
  PyObject* const* values() const { return values_; }

 private:
  static constexpr Py_ssize_t kMost = 64;  // longer signatures run in CPython
  PyObject* values_[kMost];
  Ref defaults_, keyword_defaults_;  // keep what is borrowed from them alive
  Ref var_positional_, var_keyword_;
};

}  // namespace numlift::frame_eval
