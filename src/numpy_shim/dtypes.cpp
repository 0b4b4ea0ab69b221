// NumPy's C API and its dtypes as ours. The table below is filled once at import and lives as long
// as the process (the objects are NumPy's own singletons).
#define NUMLIFT_LOADS_NUMPY
#include "numlift/numpy_shim/dtypes.h"

#include <array>

#include "numlift/numpy_shim/numpy.h"
#include "numlift/py/py_error.h"
#include "numlift/support/check.h"

namespace numlift::numpy_shim {
namespace {

constexpr size_t kDTypeCount = 14;

struct DTypeRow {
  PyObject* descr = nullptr;  // kept alive for the process
  PyTypeObject* scalar_class = nullptr;
  int type_number = -1;
};
struct DTypeTable {
  std::array<DTypeRow, kDTypeCount> rows;
  std::array<int8_t, NPY_NTYPES_LEGACY> by_number;  // -1: not ours
};
DTypeTable table;

constexpr std::array<int, kDTypeCount> kTypeNumbers{
    NPY_BOOL, NPY_BYTE,  NPY_SHORT, NPY_INT,   NPY_LONG,   NPY_UBYTE,  NPY_USHORT,
    NPY_UINT, NPY_ULONG, NPY_HALF,  NPY_FLOAT, NPY_DOUBLE, NPY_CFLOAT, NPY_CDOUBLE};
static_assert(sizeof(npy_long) == 8 && sizeof(npy_int) == 4, "LP64 only");
static_assert(static_cast<size_t>(DType::kComplex128) + 1 == kDTypeCount);

}  // namespace

void import_numpy() {
  if (PyArray_ImportNumPyAPI() < 0 || PyUFunc_ImportUFuncAPI() < 0) throw PyError();
  table.by_number.fill(-1);
  for (size_t i = 0; i < kDTypeCount; ++i) {
    PyArray_Descr* descr = PyArray_DescrFromType(kTypeNumbers[i]);
    if (descr == nullptr) throw PyError();
    NUMLIFT_CHECK(PyDataType_ELSIZE(descr) == item_size(static_cast<DType>(i)), "size of dtype {}",
                  i);
    table.rows[i] = {reinterpret_cast<PyObject*>(descr), descr->typeobj, kTypeNumbers[i]};
    table.by_number[static_cast<size_t>(kTypeNumbers[i])] = static_cast<int8_t>(i);
  }
}

std::optional<DType> dtype_of_descr(BorrowedRef object) {
  const auto* descr = reinterpret_cast<PyArray_Descr*>(object.get());
  const int number = descr->type_num;
  if (number < 0 || number >= NPY_NTYPES_LEGACY) return std::nullopt;
  const int8_t index = table.by_number[static_cast<size_t>(number)];
  if (index < 0) return std::nullopt;
  if (object.get() == table.rows[static_cast<size_t>(index)].descr)
    return static_cast<DType>(index);
  // A descriptor that is not the singleton (an unpickled array has one) may be byte-swapped or
  // carry metadata, which results would have to hand on.
  if (!PyArray_ISNBO(descr->byteorder)) return std::nullopt;
  if (PyDataType_METADATA(descr) != nullptr) return std::nullopt;
  return static_cast<DType>(index);
}

BorrowedRef descr_of(DType dtype) { return table.rows[static_cast<size_t>(dtype)].descr; }

BorrowedRef scalar_class_of(DType dtype) {
  return reinterpret_cast<PyObject*>(table.rows[static_cast<size_t>(dtype)].scalar_class);
}

std::optional<DType> dtype_of_scalar_class(PyTypeObject* type) {
  for (size_t i = 0; i < kDTypeCount; ++i) {
    if (table.rows[i].scalar_class == type) return static_cast<DType>(i);
  }
  return std::nullopt;
}

bool is_exact_ndarray(BorrowedRef object) { return PyArray_CheckExact(object.get()); }

}  // namespace numlift::numpy_shim
