// What of an array's layout guards speak about: read in one place, for tracing and for checking.
#include <algorithm>
#include <cstdlib>

#include "array_class.h"
#include "numlift/numpy_shim/dtypes.h"

namespace numlift::guards {

using numpy_shim::as_array;

bool classify_array(BorrowedRef object, ArrayClass* out) {
  if (!PyArray_CheckExact(object.get())) return false;
  PyArrayObject* array = as_array(object);
  const std::optional<DType> dtype =
      numpy_shim::dtype_of_descr(reinterpret_cast<PyObject*>(PyArray_DESCR(array)));
  if (!dtype || !PyArray_ISALIGNED(array)) return false;
  ArrayClass result;
  result.dtype = *dtype;
  result.rank = PyArray_NDIM(array);
  result.writeable = PyArray_ISWRITEABLE(array);
  const npy_intp* dims = PyArray_DIMS(array);
  const npy_intp* strides = PyArray_STRIDES(array);
  for (int axis = 0; axis < result.rank; ++axis) {
    if (dims[axis] == 1) result.size_one |= uint64_t{1} << axis;
    if (dims[axis] > 1 && strides[axis] == 0 && PyArray_SIZE(array) > 0) return false;
  }
  result.layout = layout_of(array);
  if (result.layout == ArrayClass::Layout::kStrided) {
    for (int axis = 0; axis < result.rank; ++axis) {
      if (dims[axis] != 1) result.stride_order.push_back(static_cast<uint8_t>(axis));
    }
    std::stable_sort(
        result.stride_order.begin(), result.stride_order.end(),
        [&](uint8_t a, uint8_t b) { return std::abs(strides[a]) > std::abs(strides[b]); });
    result.unit_inner =
        !result.stride_order.empty() && strides[result.stride_order.back()] == item_size(*dtype);
  }
  *out = std::move(result);
  return true;
}

ArrayClass::Layout layout_of(PyArrayObject* array) {
  if (PyArray_IS_C_CONTIGUOUS(array) && has_packed_strides(array, /*fortran=*/false)) {
    return ArrayClass::Layout::kC;
  }
  if (PyArray_IS_F_CONTIGUOUS(array) && has_packed_strides(array, /*fortran=*/true)) {
    return ArrayClass::Layout::kF;
  }
  return ArrayClass::Layout::kStrided;
}

bool has_packed_strides(PyArrayObject* array, bool fortran) {
  const int rank = PyArray_NDIM(array);
  const npy_intp* dims = PyArray_DIMS(array);
  const npy_intp* strides = PyArray_STRIDES(array);
  if (PyArray_SIZE(array) == 0) return true;
  npy_intp expected = PyArray_ITEMSIZE(array);
  for (int step = 0; step < rank; ++step) {
    const int axis = fortran ? step : rank - 1 - step;
    if (strides[axis] != expected) return false;
    expected *= dims[axis];
  }
  return true;
}

bool check_array(BorrowedRef object, const ArrayClass& wanted, bool must_be_writeable) {
  if (!PyArray_CheckExact(object.get())) return false;
  PyArrayObject* array = as_array(object);
  PyArray_Descr* descr = PyArray_DESCR(array);
  if (reinterpret_cast<PyObject*>(descr) != numpy_shim::descr_of(wanted.dtype).get()) {
    const auto dtype = numpy_shim::dtype_of_descr(reinterpret_cast<PyObject*>(descr));
    if (!dtype || *dtype != wanted.dtype) return false;
  }
  const int rank = PyArray_NDIM(array);
  if (rank != wanted.rank) return false;
  const int flags = PyArray_FLAGS(array);
  if ((flags & NPY_ARRAY_ALIGNED) == 0) return false;
  if (must_be_writeable && (flags & NPY_ARRAY_WRITEABLE) == 0) return false;
  const npy_intp* dims = PyArray_DIMS(array);
  const npy_intp* strides = PyArray_STRIDES(array);
  uint64_t size_one = 0;
  for (int axis = 0; axis < rank; ++axis) {
    if (dims[axis] == 1) size_one |= uint64_t{1} << axis;
  }
  if (size_one != wanted.size_one) return false;
  // Contiguous arrays of rank 0 and 1 with size not 1 need the flag alone; others are compared
  // exactly, as the flag says nothing about the strides of size-1 axes.
  switch (wanted.layout) {
    case ArrayClass::Layout::kC:
      return (flags & NPY_ARRAY_C_CONTIGUOUS) != 0 &&
             (size_one == 0 || has_packed_strides(array, false));
    case ArrayClass::Layout::kF:
      return (flags & NPY_ARRAY_F_CONTIGUOUS) != 0 && layout_of(array) == wanted.layout;
    case ArrayClass::Layout::kStrided:
      break;
  }
  if (layout_of(array) != ArrayClass::Layout::kStrided) return false;
  for (int axis = 0; axis < rank; ++axis) {
    if (dims[axis] > 1 && strides[axis] == 0) return false;
  }
  for (size_t i = 1; i < wanted.stride_order.size(); ++i) {
    const uint8_t outer = wanted.stride_order[i - 1], inner = wanted.stride_order[i];
    const npy_intp outer_stride = std::abs(strides[outer]), inner_stride = std::abs(strides[inner]);
    if (outer_stride < inner_stride || (outer_stride == inner_stride && outer > inner))
      return false;
  }
  const bool unit_inner = !wanted.stride_order.empty() &&
                          strides[wanted.stride_order.back()] == item_size(wanted.dtype);
  return unit_inner == wanted.unit_inner;
}

}  // namespace numlift::guards
