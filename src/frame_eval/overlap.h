// Memory that arrays share, by the bounds of their elements.
#pragma once

#include "numlift/numpy_shim/numpy.h"

namespace numlift::frame_eval {

// Their extents overlap: they may share an element.
bool may_overlap(PyArrayObject* a, PyArrayObject* b);
// No element lies in another one. False also when that cannot be told by the strides alone.
bool has_distinct_elements(PyArrayObject* array);

}  // namespace numlift::frame_eval
