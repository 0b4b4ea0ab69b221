// Reading an array's layout class; used by guards and tracing.
#pragma once

#include "numlift/guards/guard.h"
#include "numlift/numpy_shim/numpy.h"

namespace numlift::guards {

// kC and kF promise the exact strides of a packed array, also along axes of size 1 (NumPy's flags
// leave those open), so that views of such arrays have strides that are functions of the sizes.
ArrayClass::Layout layout_of(PyArrayObject* array);
bool has_packed_strides(PyArrayObject* array, bool fortran);

// Whether classify_array() would give `wanted`; `writeable` is looked at only when it must be so.
// Allocates nothing.
bool check_array(BorrowedRef object, const ArrayClass& wanted, bool must_be_writeable);

}  // namespace numlift::guards
