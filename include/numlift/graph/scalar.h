// Scalars in the memory format of NumPy: conversions from and to C++ values, and their text.
#pragma once

#include <complex>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>

#include "numlift/graph/graph.h"
#include "numlift/support/check.h"

namespace numlift {

// IEEE half precision, rounding to nearest even. NaN keeps the upper bits of its payload.
float half_to_float(uint16_t bits);
uint16_t float_to_half(float value);
// Rounds once: double -> float -> half could round twice.
uint16_t double_to_half(double value);

// The C++ type must be the dtype's own (uint16_t bits for float16, bool for bool).
template <class T>
ScalarBits make_scalar(DType dtype, T value) {
  NUMLIFT_CHECK(sizeof(T) == static_cast<size_t>(item_size(dtype)), "{} bytes for {}", sizeof(T),
                dtype_text(dtype));
  ScalarBits scalar;
  scalar.dtype = dtype;
  std::memcpy(scalar.bytes.data(), &value, sizeof(T));
  return scalar;
}
template <class T>
T scalar_value(const ScalarBits& scalar) {
  NUMLIFT_CHECK(sizeof(T) == static_cast<size_t>(item_size(scalar.dtype)), "{} bytes of {}",
                sizeof(T), dtype_text(scalar.dtype));
  T value;
  std::memcpy(&value, scalar.bytes.data(), sizeof(T));
  return value;
}

// "true", "-3", "0.1", "nan", "(1, -0)"; a NaN with another sign or payload as its bits "0x7ff...".
std::string scalar_text(const ScalarBits& scalar);
std::optional<ScalarBits> parse_scalar(DType dtype, std::string_view text);

}  // namespace numlift
