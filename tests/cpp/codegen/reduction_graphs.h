// Every reduction of one array, over its first axis, its last and both.
#pragma once

#include <vector>

#include "numlift/graph/builder.h"

namespace numlift::testing {

inline Graph reductions_of(const std::vector<Op>& ops, DType dtype, bool is_strided) {
  GraphBuilder builder("reductions");
  const std::vector<SizeExpr> dims = {builder.symbol(SymbolKind::kDim, 0, 0, 3),
                                      builder.symbol(SymbolKind::kDim, 0, 1, 5)};
  std::vector<SizeExpr> strides = {builder.symbol(SymbolKind::kStride, 0, 0, 100),
                                   builder.symbol(SymbolKind::kStride, 0, 1, 16)};
  const NodeId x =
      is_strided ? builder.placeholder(dtype, dims, strides) : builder.placeholder(dtype, dims);
  for (const std::vector<int>& axes : {std::vector<int>{0}, {1}, {0, 1}})
    for (Op op : ops) builder.output(builder.reduce(op, x, axes));
  return builder.finish();
}

}  // namespace numlift::testing
