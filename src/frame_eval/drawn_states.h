// The states that random generators had before a program drew from them: a program that restarts
// has drawn nothing.
#pragma once

#include "numlift/py/python.h"

#include <utility>
#include <vector>

#include "numlift/py/ref.h"

namespace numlift::frame_eval {

class DrawnStates {
 public:
  // `generator` is about to be drawn from; null: none is. Throws PyError.
  void before_draw(BorrowedRef generator);
  void restore() const;

 private:
  std::vector<std::pair<Ref, Ref>> states_;  // bit generator, state
};

}  // namespace numlift::frame_eval
