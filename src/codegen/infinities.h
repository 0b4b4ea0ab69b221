// What it means that an operation on finite numbers gives infinity. One answer for all back ends.
#pragma once

#include "numlift/graph/op.h"

namespace numlift::codegen {

// kEither: a division by zero where operand `divisor_of(op)` is zero, else an overflow.
enum class InfinityMeans : uint8_t { kOverflow, kDivide, kEither };
InfinityMeans infinity_means(Op op);
// Of kEither.
size_t divisor_of(Op op);

}  // namespace numlift::codegen
