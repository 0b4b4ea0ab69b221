// The dtype table's expansion and the text of types.
#include "numlift/graph/type.h"

#include <iterator>

#include <fmt/format.h>

#include "numlift/support/check.h"

namespace numlift {
namespace {

struct DTypeInfo {
  std::string_view text;
  int64_t size;
  DTypeKind kind;
};
constexpr DTypeInfo kDTypes[] = {
#define NUMLIFT_DTYPE(name, text, size, kind, character) {text, size, DTypeKind::kind},
    NUMLIFT_DTYPES(NUMLIFT_DTYPE)
#undef NUMLIFT_DTYPE
};

const DTypeInfo& info(DType dtype) {
  const auto index = static_cast<size_t>(dtype);
  NUMLIFT_CHECK(index < std::size(kDTypes), "dtype {}", index);
  return kDTypes[index];
}

}  // namespace

int64_t item_size(DType dtype) { return info(dtype).size; }
DTypeKind kind_of(DType dtype) { return info(dtype).kind; }
std::string_view dtype_text(DType dtype) { return info(dtype).text; }

bool parse_dtype(std::string_view text, DType* out) {
  for (size_t i = 0; i < std::size(kDTypes); ++i) {
    if (kDTypes[i].text == text) {
      *out = static_cast<DType>(i);
      return true;
    }
  }
  return false;
}

DType real_part(DType dtype) {
  if (dtype == DType::kComplex64) return DType::kFloat32;
  if (dtype == DType::kComplex128) return DType::kFloat64;
  return dtype;
}

Type array_type(DType dtype, std::vector<SizeExpr> dims) {
  return Type{ValueKind::kArray, dtype, std::move(dims)};
}
Type numpy_scalar_type(DType dtype) { return Type{ValueKind::kNumpyScalar, dtype, {}}; }
Type py_scalar_type(DType dtype) { return Type{ValueKind::kPyScalar, dtype, {}}; }

std::string type_text(const Type& type) {
  switch (type.value_kind) {
    case ValueKind::kArray: {
      std::string text = fmt::format("{}[", dtype_text(type.dtype));
      for (size_t i = 0; i < type.dims.size(); ++i) {
        text += (i == 0 ? "" : ", ") + type.dims[i].text();
      }
      return text + "]";
    }
    case ValueKind::kNumpyScalar:
      return fmt::format("{}()", dtype_text(type.dtype));
    case ValueKind::kPyScalar:
      return fmt::format("py.{}", dtype_text(type.dtype));
    case ValueKind::kObject:
      return "object";
    case ValueKind::kEffect:
      return "effect";
  }
  NUMLIFT_UNREACHABLE();
}

}  // namespace numlift
