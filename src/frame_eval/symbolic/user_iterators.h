// Objects of classes written in Python that have __iter__ or __next__.
#pragma once

#include "symbolic/interpreter.h"

namespace numlift::frame_eval {

// Stands for an iterator of the user's where the interpreter iterates; to all other code the
// iterator is `object` itself.
struct UserIterator : IteratorValue {
  UserIterator(Interpreter& interpreter, Sym object)
      : interpreter(interpreter), object(std::move(object)) {}
  Sym next(Tracer& tracer) override;
  std::optional<CallShape> shape() const override;
  Interpreter& interpreter;
  Sym object;
};

// iter(value) by the value's own __iter__; null: it has none that is written in Python.
std::shared_ptr<IteratorValue> make_user_iterator(Interpreter& interpreter, const Sym& value);
// next(value) by the value's own __next__; null as above. *ended: it raised StopIteration.
Sym next_of_user(Interpreter& interpreter, const Sym& value, bool* ended);

// A coroutine or an async generator: of the same kind as iterators, but not to be iterated.
bool is_no_iterator(const Sym& value);

// What iter() shows of an iterator.
Sym shown_iterator(const std::shared_ptr<IteratorValue>& iterator);
// CPython cannot make an iterator over one of these anew without running the user's __iter__.
bool holds_user_iterator(const std::vector<std::shared_ptr<IteratorValue>>& iterators);

}  // namespace numlift::frame_eval
