// Loop nests: what the scheduler hands to a back end (LLVM now, CUDA C++ later).
//
// A nest is a tree of loops over scalar values. Every value is defined once and used only at or
// below the place of its definition, except a reduction's result, which is defined right after the
// loop that carries the reduction. All arithmetic is written out: a value's dtype is the loop dtype
// of its op, casts are values of their own. Iterations of a loop may run in any order and at the
// same time unless the loop is a reduction loop (its reductions combine them) or runs in order.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "numlift/graph/graph.h"

namespace numlift::codegen {

enum class BufferId : uint32_t {};
enum class VarId : uint32_t {};    // index into LoopNest::loops
enum class ValueId : uint32_t {};  // index into LoopNest::values
enum class StoreId : uint32_t {};  // index into LoopNest::stores
inline constexpr ValueId kNoValue{0xFFFFFFFFu};

// Address of one element: data(buffer) + offset + sum of stride * loop variable, all in bytes.
struct Access {
  BufferId buffer{};
  SizeExpr offset;
  std::vector<std::pair<VarId, SizeExpr>> strides;  // no zero strides
};

struct Value {
  enum class Kind : uint8_t {
    kOp,           // op(operands)
    kLoad,         // element at `access`, and index_strides[i] * operands[i] bytes on (int64)
    kConstant,     // `constant`
    kScalarInput,  // ProgramFrame::scalars[input]
    kSize,         // `size` as int64
    kIndex,        // loop variable `var` as int64
    kReduction,    // result of a reduction; defined by the loop that carries it
  };
  Kind kind = Kind::kOp;
  DType dtype = DType::kFloat64;
  Op op = Op::kAdd;
  std::vector<ValueId> operands;
  uint8_t fp_checks = 0;
  Access access;
  std::vector<SizeExpr> index_strides;
  ScalarBits constant;
  uint32_t input = 0;
  SizeExpr size;
  VarId var{};
  uint32_t location = 0;  // index into Graph::locations
};

struct Store {
  Access access;
  ValueId value = kNoValue;  // its dtype is the element's: of a part, if the buffer is complex
};

// Combines `operand` over all iterations of the loop that carries it and of the reduction loops
// nested in it (`loops`, outermost first; the operand is evaluated in the innermost). The loops'
// total extent is not 0 for min, max, argmin and argmax.
// Arg-reductions also take `position`, an int64 value: ties go to the smallest position, and the
// first NaN wins.
struct Reduction {
  Op op = Op::kReduceSum;
  ValueId operand = kNoValue;
  ValueId position = kNoValue;
  ValueId result = kNoValue;
  std::vector<VarId> loops;
  uint8_t fp_checks = 0;
};

struct Item {
  enum class Kind : uint8_t { kValue, kStore, kLoop } kind = Kind::kValue;
  uint32_t index = 0;  // ValueId, StoreId or VarId
};

struct Loop {
  SizeExpr extent;
  bool parallel = false;  // worth running on several threads (root loops only)
  bool vector = false;  // iterations are the lanes of vectors; at most one on a path from the root
  bool reduction =
      false;              // its iterations are combined by a reduction (its own or an outer loop's)
  bool in_order = false;  // iterations run one after the other: they read what earlier ones store
  std::vector<Item> body;
  std::vector<Reduction> reductions;  // carried by this loop
};

struct LoopNest {
  std::vector<Loop> loops;
  std::vector<Value> values;
  std::vector<Store> stores;
  std::vector<Item> root;
  // Number of innermost evaluations: decides parallel against serial at run time.
  SizeExpr work;
  // Rough cost of one innermost evaluation in simple operations (a sine counts 20).
  int cost = 1;
};

// Text form, golden in tests and shown by the output_code log: loops with extents and flags, one
// line a value, the user's source line as a comment.
std::string nest_text(const LoopNest& nest, const Graph& graph);

}  // namespace numlift::codegen
