// The only way to NumPy's C API. The table of functions is loaded by import_numpy() (dtypes.cpp);
// files outside numpy_shim and guards read arrays through it, they do not load it again.
#pragma once

#include "numlift/py/python.h"

#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#define NPY_TARGET_VERSION NPY_2_0_API_VERSION
#define PY_ARRAY_UNIQUE_SYMBOL NUMLIFT_ARRAY_API
#define PY_UFUNC_UNIQUE_SYMBOL NUMLIFT_UFUNC_API
#ifndef NUMLIFT_LOADS_NUMPY
#define NO_IMPORT_ARRAY
#define NO_IMPORT_UFUNC
#endif

#include <numpy/arrayobject.h>
#include <numpy/arrayscalars.h>
#include <numpy/ufuncobject.h>

#include "numlift/py/ref.h"

namespace numlift::numpy_shim {

inline PyArrayObject* as_array(BorrowedRef object) {
  return reinterpret_cast<PyArrayObject*>(object.get());
}

}  // namespace numlift::numpy_shim
