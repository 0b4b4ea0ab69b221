// Around a call of NumPy on behalf of the tracer.
#pragma once

#include "numlift/py/ref.h"

namespace numlift::frame_eval {

// Warnings of a trial call are nobody's business: np.errstate(all="ignore") and
// warnings.catch_warnings() around it. An error that is set stays set.
class SilencedNumpy {
 public:
  SilencedNumpy();
  ~SilencedNumpy();
  SilencedNumpy(const SilencedNumpy&) = delete;
  SilencedNumpy& operator=(const SilencedNumpy&) = delete;

 private:
  Ref errstate_, warnings_;
};

}  // namespace numlift::frame_eval
