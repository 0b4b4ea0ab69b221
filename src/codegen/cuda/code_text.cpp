#include "code_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "infinities.h"
#include "numlift/graph/op.h"
#include "numlift/graph/scalar.h"
#include "numlift/support/check.h"

namespace numlift::codegen::cuda {
namespace {

enum Kinds : uint8_t {
  kBool = 1,
  kSigned = 2,
  kUnsigned = 4,
  kFloats = 8,
  kComplex = 16,
  kInts = kSigned | kUnsigned,
  kReal = kBool | kInts | kFloats,
  kAll = kReal | kComplex,
};

struct OpText {
  Op op;
  uint8_t kinds;
  std::string_view text;
};
struct CheckText {
  Op op;
  uint8_t kinds;
  uint8_t fp_checks;
  std::string_view text;
};

constexpr OpText kOps[] = {
#define NUMLIFT_CUDA_OP(name, kinds, text) {Op::k##name, kinds, text},
#define NUMLIFT_CUDA_CHECK(name, kinds, fp_checks, text)
#include "cuda/ops.def"
#undef NUMLIFT_CUDA_OP
#undef NUMLIFT_CUDA_CHECK
};
constexpr CheckText kChecks[] = {
#define NUMLIFT_CUDA_OP(name, kinds, text)
#define NUMLIFT_CUDA_CHECK(name, kinds, fp_checks, text) {Op::k##name, kinds, fp_checks, text},
#include "cuda/ops.def"
#undef NUMLIFT_CUDA_OP
#undef NUMLIFT_CUDA_CHECK
};

uint8_t kinds_bit(DType dtype) {
  return static_cast<uint8_t>(1u << static_cast<int>(kind_of(dtype)));
}
static_assert(1u << static_cast<int>(DTypeKind::kComplex) == kComplex);

std::string fill_in(std::string_view text, DType result, const std::vector<std::string>& operands) {
  std::string code;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '$') {
      code += text[i];
    } else if (text[++i] == 'R') {
      code += type_name(result);
    } else {
      code += operands.at(static_cast<size_t>(text[i] - '0'));
    }
  }
  return code;
}

template <class T, class Bits>
std::string float_code(T value, std::string_view type) {
  const bool is_double = sizeof(T) == 8;
  if (!std::isfinite(value))
    return fmt::format("nl_bits<{}>({:#x}{})", type, std::bit_cast<Bits>(value),
                       is_double ? "ull" : "u");
  std::string text = fmt::format("{}", value);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return is_double ? text : text + "f";
}
std::string f32_code(float value) { return float_code<float, uint32_t>(value, "f32"); }
std::string f64_code(double value) { return float_code<double, uint64_t>(value, "f64"); }

template <class T>
std::string integer_code(T value) {
  if constexpr (std::is_same_v<T, int64_t>) {
    if (value == std::numeric_limits<int64_t>::min()) return "nl_integer<i64>::least";
    const bool is_long = value != static_cast<int32_t>(value);
    return fmt::format("{}{}", value, is_long ? "ll" : "");
  } else if constexpr (std::is_same_v<T, int32_t>) {
    if (value == std::numeric_limits<int32_t>::min()) return "nl_integer<i32>::least";
    return fmt::format("{}", value);
  } else if constexpr (std::is_same_v<T, uint64_t>) {
    return fmt::format("{}ull", value);
  } else if constexpr (std::is_same_v<T, uint32_t>) {
    return fmt::format("{}u", value);
  } else {
    return fmt::format("{}", value);
  }
}

}  // namespace

std::string_view type_name(DType dtype) {
  return dtype == DType::kBool ? std::string_view("bool") : dtype_text(dtype);
}

std::string constant_code(const ScalarBits& constant) {
  const auto part = [&]<class T>(size_t index, T like) {
    std::memcpy(&like, constant.bytes.data() + index * sizeof(T), sizeof(T));
    return like;
  };
  switch (constant.dtype) {
    case DType::kBool:
      return constant.bytes[0] != 0 ? "true" : "false";
    case DType::kInt8:
      return integer_code(scalar_value<int8_t>(constant));
    case DType::kInt16:
      return integer_code(scalar_value<int16_t>(constant));
    case DType::kInt32:
      return integer_code(scalar_value<int32_t>(constant));
    case DType::kInt64:
      return integer_code(scalar_value<int64_t>(constant));
    case DType::kUInt8:
      return integer_code(scalar_value<uint8_t>(constant));
    case DType::kUInt16:
      return integer_code(scalar_value<uint16_t>(constant));
    case DType::kUInt32:
      return integer_code(scalar_value<uint32_t>(constant));
    case DType::kUInt64:
      return integer_code(scalar_value<uint64_t>(constant));
    case DType::kFloat16:
      return fmt::format("nl_half({:#06x})", scalar_value<uint16_t>(constant));
    case DType::kFloat32:
      return f32_code(scalar_value<float>(constant));
    case DType::kFloat64:
      return f64_code(scalar_value<double>(constant));
    case DType::kComplex64:
      return fmt::format("c64({}, {})", f32_code(part(0, float{})), f32_code(part(1, float{})));
    case DType::kComplex128:
      return fmt::format("c128({}, {})", f64_code(part(0, double{})), f64_code(part(1, double{})));
  }
  NUMLIFT_UNREACHABLE();
}

namespace {

std::string atom_code(const SizeExpr::Atom& atom) {
  const auto call = [&](std::string_view name) {
    return fmt::format("{}({}, {})", name, size_code(atom.left), size_code(atom.right));
  };
  switch (atom.kind) {
    case SizeExpr::AtomKind::kSymbol:
      return fmt::format("s{}", static_cast<uint32_t>(atom.symbol));
    case SizeExpr::AtomKind::kFloorDiv:
      return call("nl_size_div");
    case SizeExpr::AtomKind::kFloorMod:
      return call("nl_size_mod");
    case SizeExpr::AtomKind::kMin:
      return call("nl_size_min");
    case SizeExpr::AtomKind::kMax:
      return call("nl_size_max");
  }
  NUMLIFT_UNREACHABLE();
}

}  // namespace

std::string size_code(const SizeExpr& size) {
  std::string code;
  for (const SizeExpr::Term& term : size.terms()) {
    std::string product;
    if (term.coefficient != 1) product = integer_code(term.coefficient);
    for (const auto& atom : term.atoms)
      product += (product.empty() ? "" : " * ") + atom_code(*atom);
    code += (code.empty() ? "" : " + ") + product;
  }
  if (code.empty()) return integer_code(size.constant_part());
  if (size.constant_part() != 0) code += " + " + integer_code(size.constant_part());
  return code;
}

std::string size_factor(const SizeExpr& size) {
  const bool is_sum = size.terms().size() + (size.constant_part() != 0 ? 1 : 0) > 1;
  return is_sum ? fmt::format("({})", size_code(size)) : size_code(size);
}

std::string op_code(Op op, DType loop_dtype, DType result,
                    const std::vector<std::string>& operands) {
  for (const OpText& entry : kOps) {
    if (entry.op != op || !(entry.kinds & kinds_bit(loop_dtype))) continue;
    const std::string code = fill_in(entry.text, result, operands);
    // float16 operations give a float32.
    return result == DType::kFloat16 && op != Op::kSelect && op != Op::kCast
               ? fmt::format("f16({})", code)
               : code;
  }
  NUMLIFT_CHECK(false, "{} of {} has no CUDA text", op_info(op).text, dtype_text(loop_dtype));
}

std::vector<std::string> check_codes(Op op, DType loop_dtype, uint8_t fp_checks,
                                     const std::vector<std::string>& operands) {
  std::vector<std::string> codes;
  for (const CheckText& entry : kChecks) {
    if (entry.op != op || !(entry.kinds & kinds_bit(loop_dtype))) continue;
    if (entry.fp_checks == kFpNone || (entry.fp_checks & fp_checks))
      codes.push_back(fill_in(entry.text, loop_dtype, operands));
  }
  return codes;
}

std::string divides_by_zero_code(Op op, const std::vector<std::string>& operands) {
  switch (infinity_means(op)) {
    case InfinityMeans::kDivide:
      return "true";
    case InfinityMeans::kEither:
      return fmt::format("!nl_true({})", operands[divisor_of(op)]);
    case InfinityMeans::kOverflow:
      return "false";
  }
  NUMLIFT_UNREACHABLE();
}

}  // namespace numlift::codegen::cuda
