#pragma once

#include "numlift/numpy_shim/numpy.h"
#include "numlift/py/ref.h"

namespace numlift::numpy_shim {

// A copy with the same strides, gaps included.
Ref copy_in_place(PyArrayObject* array);

}  // namespace numlift::numpy_shim
