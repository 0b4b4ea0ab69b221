// What an entry compares with and hands out without being what keeps it alive: instances of the
// user's classes, and classes and functions that were made in a call (those of a module stay as
// long as it). An entry that held them would keep all that hangs on them, too. So it gives its
// references back, and is dead from the moment the first of those objects is.
#pragma once

#include "numlift/py/python.h"

#include <vector>

#include "numlift/py/ref.h"

namespace numlift::frame_eval {

class NamedObjects {
 public:
  NamedObjects() = default;
  ~NamedObjects() { give_back(); }
  NamedObjects(const NamedObjects&) = delete;
  NamedObjects& operator=(const NamedObjects&) = delete;

  // From now on those of `refs` that somebody else refers to as well are borrowed. They stay where
  // they are until give_back(), which makes them references again. The others are let go of with
  // the first object that is gone: a method's wrapper holds what the user sees. Once.
  void borrow(const std::vector<Ref*>& refs);
  // The references that are lent by now: not the entry's own.
  bool is_lent(PyObject* object) const;
  // One of the objects is gone. Something that equals nothing stands for it.
  bool is_dead() const { return is_dead_; }

  // While a program runs, it is what keeps them alive.
  class Held {
   public:
    explicit Held(const NamedObjects& named);
    ~Held();
    Held(const Held&) = delete;
    Held& operator=(const Held&) = delete;

   private:
    std::vector<PyObject*> objects_;
  };

 private:
  struct Named {
    PyObject* object;  // null: gone
    Ref watch;         // a weak reference with a call-back
    std::vector<Ref*> refs;
  };
  static PyObject* note_gone(PyObject* self, PyObject* watch);
  void give_back();

  std::vector<Named> named_;
  std::vector<Ref*> others_;
  bool is_dead_ = false;
};

}  // namespace numlift::frame_eval
