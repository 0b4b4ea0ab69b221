#include "overlap.h"

#include <algorithm>
#include <cstdlib>

namespace numlift::frame_eval {
namespace {

// Memory that an array's elements lie in: [first, last).
struct Extent {
  const char* first;
  const char* last;
};
Extent extent_of(PyArrayObject* array) {
  const char* first = PyArray_BYTES(array);
  const char* last = first + PyArray_ITEMSIZE(array);
  for (int axis = 0; axis < PyArray_NDIM(array); ++axis) {
    const npy_intp dim = PyArray_DIM(array, axis);
    if (dim == 0) return {first, first};
    const npy_intp reach = (dim - 1) * PyArray_STRIDE(array, axis);
    (reach < 0 ? first : last) += reach;
  }
  return {first, last};
}

}  // namespace

bool may_overlap(PyArrayObject* a, PyArrayObject* b) {
  const Extent x = extent_of(a), y = extent_of(b);
  return x.first < y.last && y.first < x.last;
}

// Along axes sorted by stride each step clears all inner ones.
bool has_distinct_elements(PyArrayObject* array) {
  if (PyArray_IS_C_CONTIGUOUS(array) || PyArray_IS_F_CONTIGUOUS(array)) return true;
  const int rank = PyArray_NDIM(array);
  int axes[NPY_MAXDIMS];
  int count = 0;
  for (int axis = 0; axis < rank; ++axis) {
    if (PyArray_DIM(array, axis) > 1) axes[count++] = axis;
  }
  std::sort(axes, axes + count, [&](int a, int b) {
    return std::abs(PyArray_STRIDE(array, a)) < std::abs(PyArray_STRIDE(array, b));
  });
  npy_intp reach = PyArray_ITEMSIZE(array);
  for (int i = 0; i < count; ++i) {
    const npy_intp step = std::abs(PyArray_STRIDE(array, axes[i]));
    if (step < reach) return false;
    reach += step * (PyArray_DIM(array, axes[i]) - 1);
  }
  return true;
}

}  // namespace numlift::frame_eval
