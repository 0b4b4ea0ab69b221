// Types of graph values: dtype, rank and symbolic dims, and which Python kind the value has.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "numlift/graph/size_expr.h"

namespace numlift {

// enumerator, text, item size in bytes, kind, NumPy type character
#define NUMLIFT_DTYPES(X)               \
  X(Bool, "b8", 1, kBool, '?')          \
  X(Int8, "i8", 1, kSigned, 'b')        \
  X(Int16, "i16", 2, kSigned, 'h')      \
  X(Int32, "i32", 4, kSigned, 'i')      \
  X(Int64, "i64", 8, kSigned, 'l')      \
  X(UInt8, "u8", 1, kUnsigned, 'B')     \
  X(UInt16, "u16", 2, kUnsigned, 'H')   \
  X(UInt32, "u32", 4, kUnsigned, 'I')   \
  X(UInt64, "u64", 8, kUnsigned, 'L')   \
  X(Float16, "f16", 2, kFloat, 'e')     \
  X(Float32, "f32", 4, kFloat, 'f')     \
  X(Float64, "f64", 8, kFloat, 'd')     \
  X(Complex64, "c64", 8, kComplex, 'F') \
  X(Complex128, "c128", 16, kComplex, 'D')

enum class DTypeKind : uint8_t { kBool, kSigned, kUnsigned, kFloat, kComplex };

enum class DType : uint8_t {
#define NUMLIFT_DTYPE(name, text, size, kind, character) k##name,
  NUMLIFT_DTYPES(NUMLIFT_DTYPE)
#undef NUMLIFT_DTYPE
};

int64_t item_size(DType dtype);
DTypeKind kind_of(DType dtype);
std::string_view dtype_text(DType dtype);
bool parse_dtype(std::string_view text, DType* out);
inline bool is_integer(DType d) {
  return kind_of(d) == DTypeKind::kSigned || kind_of(d) == DTypeKind::kUnsigned;
}
inline bool is_float(DType d) { return kind_of(d) == DTypeKind::kFloat; }
inline bool is_complex(DType d) { return kind_of(d) == DTypeKind::kComplex; }
// complex64 -> float32, complex128 -> float64, others unchanged.
DType real_part(DType dtype);

// What the value is in Python. All but kArray have rank 0.
enum class ValueKind : uint8_t {
  kArray,        // numpy.ndarray
  kNumpyScalar,  // numpy.generic: result of a full reduction or of integer indexing
  kPyScalar,     // Python bool, int (int64), float or complex: "weak" in promotion (NEP 50)
  kObject,       // an opaque Python object: the result of an extern call
  kEffect,       // no value: kept for its effect on a buffer
};

struct Type {
  ValueKind value_kind = ValueKind::kArray;
  DType dtype = DType::kFloat64;
  std::vector<SizeExpr> dims;  // kArray only

  int rank() const { return static_cast<int>(dims.size()); }
  bool operator==(const Type&) const = default;
};

Type array_type(DType dtype, std::vector<SizeExpr> dims);
Type numpy_scalar_type(DType dtype);
Type py_scalar_type(DType dtype);

// "f64[s0, s1+2]", "f64()" for a NumPy scalar, "py.f64" for a Python one, "object", "effect".
std::string type_text(const Type& type);

}  // namespace numlift
