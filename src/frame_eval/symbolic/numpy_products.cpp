#include "symbolic/numpy_products.h"

#include <utility>

#include "symbolic/numpy_common.h"
#include "symbolic/numpy_views.h"

namespace numlift::frame_eval {

Sym native_product(Tracer& tracer, const Sym& a, const Sym& b, bool warns) {
  if (a->kind != SymKind::kArray || b->kind != SymKind::kArray) return nullptr;
  auto &left = static_cast<ArrayValue&>(*a), &right = static_cast<ArrayValue&>(*b);
  const DType dtype = left.type.dtype;
  const int rank = left.type.rank(), other = right.type.rank();
  if (right.type.dtype != dtype || dtype == DType::kBool || dtype == DType::kFloat16 ||
      rank + other > 3 || rank < 1 || other < 1)
    return nullptr;
  const std::vector<SizeExpr> from = dims_of(tracer, left), to = dims_of(tracer, right);
  if (!tracer.decide_equal(from.back(), to.front(), "the sizes of a product agree")) return nullptr;
  const uint8_t checks =
      std::exchange(tracer.fp_checks, warns ? tracer.fp_checks : uint8_t{kFpNone});
  NodeId x = tracer.read(left), y = tracer.read(right);
  const std::vector<SizeExpr>& dims = rank == 2 ? from : to;
  int summed = 0;
  const auto spread = [&](NodeId vector, int axis) {
    IndexMap map;
    map.axes.push_back({0, 1, axis});
    return tracer.append(Op::kView, {vector}, ViewAttr{std::move(map)}, array_type(dtype, dims));
  };
  // Also where the sizes are known to be equal, but not one expression.
  if (rank == 2) {
    y = spread(y, 1);
    summed = 1;
  } else {
    x = spread(x, 0);
  }
  const NodeId product = tracer.append(Op::kMultiply, {x, y}, NoAttr{}, array_type(dtype, dims));
  std::vector<SizeExpr> left_over;
  if (dims.size() == 2) left_over.push_back(dims[summed == 1 ? 0 : 1]);
  const NodeId sum = tracer.append(Op::kReduceSum, {product}, ReduceAttr{{summed}},
                                   result_type_for(dtype, left_over, left_over.empty()));
  tracer.fp_checks = checks;
  return new_result(tracer, sum);
}

}  // namespace numlift::frame_eval
