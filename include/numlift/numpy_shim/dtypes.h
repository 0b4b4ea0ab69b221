// NumPy's dtypes as ours. Asked of NumPy, never retyped from memory (promotion.h).
#pragma once

#include "numlift/py/python.h"

#include <optional>

#include "numlift/graph/type.h"
#include "numlift/py/ref.h"

namespace numlift::numpy_shim {

// Loads NumPy's C API and the descriptors. Throws PyError. Called once when the module is imported.
void import_numpy();

// nullopt: not one of ours (other byte order, structured, object, datetime, longdouble, strings,
// C `long long` where it is not the same type number as our int64, …): pass through, never traced.
std::optional<DType> dtype_of_descr(BorrowedRef descr);
BorrowedRef descr_of(DType dtype);
// numpy.float64 and so on.
BorrowedRef scalar_class_of(DType dtype);
std::optional<DType> dtype_of_scalar_class(PyTypeObject* type);

bool is_exact_ndarray(BorrowedRef object);

}  // namespace numlift::numpy_shim
