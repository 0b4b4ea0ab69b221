// np.errstate as it is on this thread now.
#pragma once

#include "numlift/py/python.h"

#include <cstdint>

#include "numlift/graph/graph.h"
#include "numlift/py/ref.h"

namespace numlift::numpy_shim {

struct ErrState {
  uint8_t fp_checks =
      kFpAll;              // conditions that NumPy would report in any way (warn, raise, call, …)
  bool underflow = false;  // underflow would be reported: nothing is compiled under such a state
  bool operator==(const ErrState&) const = default;
};

void initialize_errstate();
// Null when it was not asked for lately; the next current_errstate() asks NumPy.
const ErrState* known_errstate() noexcept;
// A context variable read and a pointer comparison, unless the state is a new one. Throws PyError.
ErrState current_errstate();
inline uint8_t current_fp_checks() { return current_errstate().fp_checks; }

// While it lives, NumPy raises FloatingPointError for the conditions in fp_checks and ignores the
// others, whatever the user's state does about them. For calls whose conditions end in a restart.
class RaisingErrState {
 public:
  explicit RaisingErrState(uint8_t fp_checks);
  ~RaisingErrState();
  RaisingErrState(const RaisingErrState&) = delete;
  RaisingErrState& operator=(const RaisingErrState&) = delete;

 private:
  Ref token_;
};

}  // namespace numlift::numpy_shim
