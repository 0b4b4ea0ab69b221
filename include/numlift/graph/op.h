// Expansion of the op table (ops.def).
#pragma once

#include <cstdint>
#include <string_view>

namespace numlift {

enum class Op : uint8_t {
#define NUMLIFT_OP(name, arity, cls, result, cost, fp, gradient, batching) k##name,
#include "numlift/graph/ops.def"
#undef NUMLIFT_OP
};

enum class OpClass : uint8_t {
  kElementwise,
  kLeaf,
  kView,
  kMemory,
  kReduction,
  kGather,
  kGufunc,
  kExtern,
  kControl
};
enum class ResultRule : uint8_t { kSame, kBool, kReal, kOwn };
enum class OpCost : uint8_t { kCheap, kDear };
enum class FpRule : uint8_t { kNone, kExact, kLibrary };

struct OpInfo {
  std::string_view text;  // "add", "reduce_sum", "arctan2"
  int arity;
  OpClass op_class;
  ResultRule result;
  OpCost cost;
  FpRule fp;
};

const OpInfo& op_info(Op op);
// The ops whose integer overflow is a condition for scalars only: on arrays they wrap.
bool wraps_silently_on_arrays(Op op);
// By text form; false when there is none.
bool parse_op(std::string_view text, Op* out);

}  // namespace numlift
