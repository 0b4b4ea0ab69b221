#include "drawn_states.h"

#include <algorithm>

#include "numlift/py/py_error.h"

namespace numlift::frame_eval {

void DrawnStates::before_draw(BorrowedRef generator) {
  if (!generator) return;
  Ref bits = checked(PyObject_GetAttrString(generator.get(), "bit_generator"));
  const bool is_known = std::any_of(states_.begin(), states_.end(),
                                    [&](const auto& one) { return one.first.get() == bits.get(); });
  if (is_known) return;
  Ref state = checked(PyObject_GetAttrString(bits.get(), "state"));
  states_.emplace_back(std::move(bits), std::move(state));
}

void DrawnStates::restore() const {
  for (const auto& [bits, state] : states_)
    check_status(PyObject_SetAttrString(bits.get(), "state", state.get()));
}

}  // namespace numlift::frame_eval
