// Half precision conversions and the text of scalars.
#include "numlift/graph/scalar.h"

#include <bit>
#include <charconv>
#include <cmath>
#include <limits>

#include <fmt/format.h>

namespace numlift {
namespace {

template <class Float, class Bits>
std::string float_text(Float value) {
  const auto bits = std::bit_cast<Bits>(value);
  if (std::isnan(value) && bits != std::bit_cast<Bits>(std::numeric_limits<Float>::quiet_NaN())) {
    return fmt::format("0x{:x}", bits);
  }
  return fmt::format("{}", value);
}

template <class T>
std::optional<T> parse_number(std::string_view text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

template <class Float, class Bits>
std::optional<Float> parse_float(std::string_view text) {
  if (text.starts_with("0x")) {
    Bits bits{};
    const auto [end, error] = std::from_chars(text.data() + 2, text.data() + text.size(), bits, 16);
    if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
    return std::bit_cast<Float>(bits);
  }
  return parse_number<Float>(text);
}

template <class T>
std::optional<ScalarBits> integer_scalar(DType dtype, std::string_view text) {
  const auto value = parse_number<T>(text);
  if (!value) return std::nullopt;
  return make_scalar(dtype, *value);
}

template <class Float, class Bits>
std::optional<ScalarBits> complex_scalar(DType dtype, std::string_view text) {
  const size_t comma = text.find(", ");
  if (comma == std::string_view::npos || text.front() != '(' || text.back() != ')') {
    return std::nullopt;
  }
  const auto real = parse_float<Float, Bits>(text.substr(1, comma - 1));
  const auto imag = parse_float<Float, Bits>(text.substr(comma + 2, text.size() - comma - 3));
  if (!real || !imag) return std::nullopt;
  return make_scalar(dtype, std::complex<Float>(*real, *imag));
}

}  // namespace

float half_to_float(uint16_t bits) {
  const auto sign = static_cast<uint32_t>(bits & 0x8000u) << 16;
  const uint32_t exponent = (bits >> 10) & 0x1Fu;
  const uint32_t mantissa = bits & 0x3FFu;
  if (exponent == 0x1F) return std::bit_cast<float>(sign | 0x7F800000u | (mantissa << 13));
  if (exponent != 0) {
    return std::bit_cast<float>(sign | ((exponent + 112) << 23) | (mantissa << 13));
  }
  const float magnitude = std::ldexp(static_cast<float>(mantissa), -24);
  return (bits & 0x8000u) != 0 ? -magnitude : magnitude;
}

uint16_t float_to_half(float value) {
  if (!std::isnan(value)) return double_to_half(static_cast<double>(value));
  // By bits: a conversion to double would quiet a signalling NaN.
  const auto bits = std::bit_cast<uint32_t>(value);
  const auto payload = static_cast<uint16_t>((bits >> 13) & 0x3FFu);
  return static_cast<uint16_t>(((bits >> 16) & 0x8000u) | 0x7C00u | (payload != 0 ? payload : 1));
}

uint16_t double_to_half(double value) {
  const auto bits = std::bit_cast<uint64_t>(value);
  const auto sign = static_cast<uint16_t>((bits >> 48) & 0x8000u);
  if (std::isnan(value)) {
    const auto payload = static_cast<uint16_t>((bits >> 42) & 0x3FFu);
    return static_cast<uint16_t>(sign | 0x7C00u | (payload != 0 ? payload : 1));
  }
  const double magnitude = std::fabs(value);
  if (magnitude >= 65520.0) return static_cast<uint16_t>(sign | 0x7C00u);
  // In units of the last place of the half that is next below; nearbyint rounds to nearest even.
  int exponent = magnitude == 0 ? -14 : std::ilogb(magnitude);
  if (exponent < -14) exponent = -14;
  const auto units = static_cast<uint32_t>(std::nearbyint(std::ldexp(magnitude, 10 - exponent)));
  // The implicit bit of a normal number carries into the exponent field, as does rounding up.
  const uint32_t field = units + (static_cast<uint32_t>(exponent + 14) << 10);
  return static_cast<uint16_t>(sign | field);
}

std::string scalar_text(const ScalarBits& s) {
  switch (s.dtype) {
    case DType::kBool:
      return s.bytes[0] != 0 ? "true" : "false";
    case DType::kInt8:
      return std::to_string(scalar_value<int8_t>(s));
    case DType::kInt16:
      return std::to_string(scalar_value<int16_t>(s));
    case DType::kInt32:
      return std::to_string(scalar_value<int32_t>(s));
    case DType::kInt64:
      return std::to_string(scalar_value<int64_t>(s));
    case DType::kUInt8:
      return std::to_string(scalar_value<uint8_t>(s));
    case DType::kUInt16:
      return std::to_string(scalar_value<uint16_t>(s));
    case DType::kUInt32:
      return std::to_string(scalar_value<uint32_t>(s));
    case DType::kUInt64:
      return std::to_string(scalar_value<uint64_t>(s));
    case DType::kFloat16: {
      const auto bits = scalar_value<uint16_t>(s);
      const float value = half_to_float(bits);
      if (std::isnan(value) && bits != 0x7E00) return fmt::format("0x{:x}", bits);
      return fmt::format("{}", value);
    }
    case DType::kFloat32:
      return float_text<float, uint32_t>(scalar_value<float>(s));
    case DType::kFloat64:
      return float_text<double, uint64_t>(scalar_value<double>(s));
    case DType::kComplex64: {
      const auto value = scalar_value<std::complex<float>>(s);
      return fmt::format("({}, {})", float_text<float, uint32_t>(value.real()),
                         float_text<float, uint32_t>(value.imag()));
    }
    case DType::kComplex128: {
      const auto value = scalar_value<std::complex<double>>(s);
      return fmt::format("({}, {})", float_text<double, uint64_t>(value.real()),
                         float_text<double, uint64_t>(value.imag()));
    }
  }
  NUMLIFT_UNREACHABLE();
}

std::optional<ScalarBits> parse_scalar(DType dtype, std::string_view text) {
  if (text.empty()) return std::nullopt;
  switch (dtype) {
    case DType::kBool:
      if (text != "true" && text != "false") return std::nullopt;
      return make_scalar(dtype, text == "true");
    case DType::kInt8:
      return integer_scalar<int8_t>(dtype, text);
    case DType::kInt16:
      return integer_scalar<int16_t>(dtype, text);
    case DType::kInt32:
      return integer_scalar<int32_t>(dtype, text);
    case DType::kInt64:
      return integer_scalar<int64_t>(dtype, text);
    case DType::kUInt8:
      return integer_scalar<uint8_t>(dtype, text);
    case DType::kUInt16:
      return integer_scalar<uint16_t>(dtype, text);
    case DType::kUInt32:
      return integer_scalar<uint32_t>(dtype, text);
    case DType::kUInt64:
      return integer_scalar<uint64_t>(dtype, text);
    case DType::kFloat16: {
      if (text == "nan") return make_scalar(dtype, uint16_t{0x7E00});
      if (text.starts_with("0x")) {
        uint16_t bits = 0;
        const auto [end, error] =
            std::from_chars(text.data() + 2, text.data() + text.size(), bits, 16);
        if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
        return make_scalar(dtype, bits);
      }
      const auto value = parse_number<float>(text);
      if (!value) return std::nullopt;
      return make_scalar(dtype, float_to_half(*value));
    }
    case DType::kFloat32: {
      const auto value = parse_float<float, uint32_t>(text);
      if (!value) return std::nullopt;
      return make_scalar(dtype, *value);
    }
    case DType::kFloat64: {
      const auto value = parse_float<double, uint64_t>(text);
      if (!value) return std::nullopt;
      return make_scalar(dtype, *value);
    }
    case DType::kComplex64:
      return complex_scalar<float, uint32_t>(dtype, text);
    case DType::kComplex128:
      return complex_scalar<double, uint64_t>(dtype, text);
  }
  NUMLIFT_UNREACHABLE();
}

}  // namespace numlift
