// How the state of a frame comes back from CPython: the functions made by make_unit_function end in
// a call of leave_function() with it, and return left_object(). How such functions pass values on
// to one another: see Handover.
#pragma once

#include "numlift/py/python.h"

#include <cstddef>

#include "numlift/py/ref.h"

namespace numlift::frame_eval {

// They live as long as the process.
BorrowedRef leave_function();
BorrowedRef left_object();
BorrowedRef hold_function();
BorrowedRef take_function();
BorrowedRef forget_function();

// Values that a driver of such functions keeps for later, when the innermost call under way has
// ended; forget_function() calls `forget`, once.
class KeptValues {
 public:
  KeptValues(void (*forget)(void*), void* context);
  ~KeptValues();
  KeptValues(const KeptValues&) = delete;
  KeptValues& operator=(const KeptValues&) = delete;
  void forget();

 private:
  void (*forget_)(void*);
  void* context_;
  KeptValues* outer_;
};

// What this thread has left and nobody has taken yet. Code that runs in between (destructors)
// leaves and takes its own, so that the newest is always the one meant.
class LeftValues {
 public:
  LeftValues();
  // Drops what came in since and was not taken, by an inner function neither.
  ~LeftValues();
  LeftValues(const LeftValues&) = delete;
  LeftValues& operator=(const LeftValues&) = delete;

  // Takes the newest. Returns the place; values: `count` new references.
  size_t take(PyObject** values, size_t count) const;
  size_t newest_count() const;

 private:
  size_t before_, held_before_;
};

}  // namespace numlift::frame_eval
