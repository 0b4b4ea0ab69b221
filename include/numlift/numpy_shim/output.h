// Making the Python objects that a program hands out: arrays, views, NumPy and Python scalars.
#pragma once

#include "numlift/py/python.h"

#include <cstdint>

#include "numlift/graph/type.h"
#include "numlift/py/ref.h"

namespace numlift::numpy_shim {

// An array that owns `data` (a pool block, taken over also when this throws). strides null: C
// order. Arrays without elements get NumPy's own strides. Throws PyError.
Ref make_array(DType dtype, int rank, const int64_t* dims, const int64_t* strides, void* data);
// Bytes of an array with these dims; -1 on overflow or when a dim is negative.
int64_t array_bytes(DType dtype, int rank, const int64_t* dims);
// A fresh array whose content is not set. Throws PyError.
Ref make_empty_array(DType dtype, int rank, const int64_t* dims, const int64_t* strides);

// A view `offset` bytes into the memory of `owner` (an exact ndarray), writeable if it is. Its base
// is what NumPy would give: the array that owns the memory.
Ref make_view(BorrowedRef owner, DType dtype, int64_t offset, int rank, const int64_t* dims,
              const int64_t* strides);

Ref make_numpy_scalar(DType dtype, const void* data);
Ref make_py_scalar(DType dtype, const void* data);
// The value of a NumPy scalar or Python bool, int, float, complex of exactly this dtype's class, as
// NumPy stores it. False when `object` is not that (or an int does not fit).
bool read_scalar(BorrowedRef object, ValueKind kind, DType dtype, void* out);

}  // namespace numlift::numpy_shim
