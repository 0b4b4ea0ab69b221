// How the state of a frame comes back from CPython: the functions made by make_unit_function end in
// a call of leave_function() with it, and return left_object().
#pragma once

#include "numlift/py/python.h"

#include <cstddef>

#include "numlift/py/ref.h"

namespace numlift::frame_eval {

// Both live as long as the process.
BorrowedRef leave_function();
BorrowedRef left_object();

// What this thread has left and nobody has taken yet. Code that runs in between (destructors)
// leaves and takes its own, so that the newest is always the one meant.
class LeftValues {
 public:
  LeftValues();
  // Drops what came in since and was not taken.
  ~LeftValues();
  LeftValues(const LeftValues&) = delete;
  LeftValues& operator=(const LeftValues&) = delete;

  // Takes the newest. Returns the place; values: `count` new references.
  size_t take(PyObject** values, size_t count) const;
  size_t newest_count() const;

 private:
  size_t before_;
};

}  // namespace numlift::frame_eval
