// Expands ops.def into the array behind op_info().
#include <array>
#include <string>

#include "numlift/graph/op.h"
#include "numlift/support/check.h"

namespace numlift {
namespace {

#define NUMLIFT_OP(name, ...) +1
constexpr size_t kOpCount = 0
#include "numlift/graph/ops.def"
    ;
#undef NUMLIFT_OP

// "BitwiseCount" -> "bitwise_count"; a digit belongs to the word before it ("arctan2").
std::string snake_case(std::string_view name) {
  std::string text;
  for (char c : name) {
    if (c >= 'A' && c <= 'Z') {
      if (!text.empty()) text += '_';
      text += static_cast<char>(c - 'A' + 'a');
    } else {
      text += c;
    }
  }
  return text;
}

struct Table {
  std::array<std::string, kOpCount> names;
  std::array<OpInfo, kOpCount> infos;

  Table() {
    size_t i = 0;
#define NUMLIFT_OP(name, arity, cls, result, cost, fp, gradient, batching)                        \
  static_assert((arity) >= -1 && (arity) <= 3, #name ": no arity");                               \
  static_assert(OpClass::cls != OpClass::kElementwise || (arity) != 0, #name ": needs operands"); \
  names[i] = snake_case(#name);                                                                   \
  infos[i] = OpInfo{names[i], arity, OpClass::cls, ResultRule::result, OpCost::cost, FpRule::fp}; \
  ++i;
#include "numlift/graph/ops.def"
#undef NUMLIFT_OP
  }
};

static_assert(kOpCount < 256, "Op is a byte");
#define NUMLIFT_OP(name, ...) static_cast<size_t>(Op::k##name),
constexpr size_t kOpValues[] = {
#include "numlift/graph/ops.def"
};
#undef NUMLIFT_OP
static_assert(kOpValues[kOpCount - 1] == kOpCount - 1, "Op values index the table");

const Table& table() {
  static const Table instance;
  return instance;
}

}  // namespace

const OpInfo& op_info(Op op) {
  const auto index = static_cast<size_t>(op);
  NUMLIFT_CHECK(index < kOpCount, "op {}", index);
  return table().infos[index];
}

bool parse_op(std::string_view text, Op* out) {
  for (size_t i = 0; i < kOpCount; ++i) {
    if (table().infos[i].text == text) {
      *out = static_cast<Op>(i);
      return true;
    }
  }
  return false;
}

}  // namespace numlift
