#include "numlift/numpy_shim/output.h"

#include <algorithm>
#include <cstring>

#include "numlift/numpy_shim/allocator.h"
#include "numlift/numpy_shim/dtypes.h"
#include "numlift/numpy_shim/numpy.h"
#include "numlift/py/py_error.h"
#include "numlift/support/check.h"

namespace numlift::numpy_shim {
namespace {

constexpr int64_t kZeros[NPY_MAXDIMS] = {};

PyArray_Descr* new_descr(DType dtype) {
  PyObject* descr = descr_of(dtype).get();
  Py_INCREF(descr);
  return reinterpret_cast<PyArray_Descr*>(descr);
}
bool has_no_elements(int rank, const int64_t* dims) {
  for (int axis = 0; axis < rank; ++axis) {
    if (dims[axis] == 0) return true;
  }
  return false;
}

}  // namespace

static_assert(sizeof(npy_intp) == sizeof(int64_t));

Ref make_array(DType dtype, int rank, const int64_t* dims, const int64_t* strides, void* data) {
  // NumPy makes fresh arrays without elements with strides of 0.
  if (has_no_elements(rank, dims)) strides = kZeros;
  PyObject* object = PyArray_NewFromDescr(&PyArray_Type, new_descr(dtype), rank, dims, strides,
                                          data, NPY_ARRAY_CARRAY, nullptr);
  if (object == nullptr) {
    pool_free(data);
    throw PyError();
  }
  // From here on the array owns the block: NumPy frees it through the handler.
  auto* fields = reinterpret_cast<PyArrayObject_fields*>(object);
  fields->flags |= NPY_ARRAY_OWNDATA;
  Py_XSETREF(fields->mem_handler, Py_NewRef(memory_handler().get()));
  return Ref::steal(object);
}

int64_t array_bytes(DType dtype, int rank, const int64_t* dims) {
  int64_t bytes = item_size(dtype);
  for (int axis = 0; axis < rank; ++axis) {
    if (dims[axis] < 0) return -1;
    if (dims[axis] == 0) return 0;
  }
  for (int axis = 0; axis < rank; ++axis) {
    if (__builtin_mul_overflow(bytes, dims[axis], &bytes)) return -1;
  }
  return bytes;
}

Ref make_empty_array(DType dtype, int rank, const int64_t* dims, const int64_t* strides) {
  const int64_t bytes = array_bytes(dtype, rank, dims);
  void* data = bytes < 0 ? nullptr : pool_allocate(static_cast<size_t>(bytes));
  if (data == nullptr) {
    PyErr_NoMemory();
    throw PyError();
  }
  return make_array(dtype, rank, dims, strides, data);
}

Ref make_view(BorrowedRef owner, DType dtype, int64_t offset, int rank, const int64_t* dims,
              const int64_t* strides) {
  PyArrayObject* base = as_array(owner);
  // ... and views of them are made of those strides.
  if (PyArray_SIZE(base) == 0 && rank > 0) {
    const npy_intp* own = PyArray_STRIDES(base);
    if (std::all_of(own, own + PyArray_NDIM(base), [](npy_intp stride) { return stride == 0; })) {
      strides = kZeros;
    }
  }
  const int flags = PyArray_FLAGS(base) & NPY_ARRAY_WRITEABLE;
  Ref view = checked(PyArray_NewFromDescr(&PyArray_Type, new_descr(dtype), rank, dims, strides,
                                          PyArray_BYTES(base) + offset, flags, nullptr));
  PyArray_UpdateFlags(as_array(view), NPY_ARRAY_UPDATE_ALL);
  check_status(PyArray_SetBaseObject(as_array(view), Py_NewRef(owner.get())));
  return view;
}

Ref make_numpy_scalar(DType dtype, const void* data) {
  return checked(PyArray_Scalar(const_cast<void*>(data),
                                reinterpret_cast<PyArray_Descr*>(descr_of(dtype).get()), nullptr));
}

Ref make_py_scalar(DType dtype, const void* data) {
  switch (dtype) {
    case DType::kBool:
      return Ref::create(*static_cast<const char*>(data) != 0 ? Py_True : Py_False);
    case DType::kInt64: {
      int64_t value;
      std::memcpy(&value, data, sizeof value);
      return checked(PyLong_FromLongLong(value));
    }
    case DType::kFloat64: {
      double value;
      std::memcpy(&value, data, sizeof value);
      return checked(PyFloat_FromDouble(value));
    }
    case DType::kComplex128: {
      Py_complex value;
      std::memcpy(&value, data, sizeof value);
      return checked(PyComplex_FromCComplex(value));
    }
    case DType::kInt8:
    case DType::kInt16:
    case DType::kInt32:
    case DType::kUInt8:
    case DType::kUInt16:
    case DType::kUInt32:
    case DType::kUInt64:
    case DType::kFloat16:
    case DType::kFloat32:
    case DType::kComplex64:
      NUMLIFT_CHECK(false, "a Python scalar of dtype {}", dtype_text(dtype));
  }
  NUMLIFT_UNREACHABLE();
}

bool read_scalar(BorrowedRef object, ValueKind kind, DType dtype, void* out) {
  if (kind == ValueKind::kNumpyScalar) {
    if (object.type() != reinterpret_cast<PyTypeObject*>(scalar_class_of(dtype).get()))
      return false;
    PyArray_ScalarAsCtype(object.get(), out);
    return true;
  }
  switch (kind_of(dtype)) {
    case DTypeKind::kBool:
      if (!PyBool_Check(object.get())) return false;
      *static_cast<char*>(out) = object.get() == Py_True;
      return true;
    case DTypeKind::kSigned: {
      if (!PyLong_CheckExact(object.get())) return false;
      int overflow = 0;
      const long long value = PyLong_AsLongLongAndOverflow(object.get(), &overflow);
      std::memcpy(out, &value, sizeof value);
      return overflow == 0;
    }
    case DTypeKind::kUnsigned:
      return false;
    case DTypeKind::kFloat: {
      if (!PyFloat_CheckExact(object.get())) return false;
      const double value = PyFloat_AS_DOUBLE(object.get());
      std::memcpy(out, &value, sizeof value);
      return true;
    }
    case DTypeKind::kComplex: {
      if (!PyComplex_CheckExact(object.get())) return false;
      const Py_complex value = reinterpret_cast<PyComplexObject*>(object.get())->cval;
      std::memcpy(out, &value, sizeof value);
      return true;
    }
  }
  NUMLIFT_UNREACHABLE();
}

}  // namespace numlift::numpy_shim
