#include "infinities.h"

namespace numlift::codegen {

InfinityMeans infinity_means(Op op) {
  switch (op) {
    case Op::kLog:
    case Op::kLog2:
    case Op::kLog10:
    case Op::kLog1p:
    case Op::kArctanh:
      return InfinityMeans::kDivide;
    case Op::kDivide:
    case Op::kFloorDivide:
    case Op::kReciprocal:
    case Op::kPower:
      return InfinityMeans::kEither;
    default:
      return InfinityMeans::kOverflow;
  }
}

size_t divisor_of(Op op) { return op == Op::kDivide || op == Op::kFloorDivide ? 1 : 0; }

}  // namespace numlift::codegen
