#include "symbolic/numpy_products.h"

#include <utility>

#include "symbolic/numpy_common.h"
#include "symbolic/numpy_gufuncs.h"
#include "symbolic/numpy_handlers.h"
#include "symbolic/numpy_ufuncs.h"
#include "symbolic/numpy_views.h"

namespace numlift::frame_eval {
namespace {

// Above this many elements of the matrix BLAS is as good (while tracing).
constexpr int64_t kMostNative = 4096;

}  // namespace

Sym native_product(Tracer& tracer, const Sym& a, const Sym& b) {
  if (!tracer.in_region() || a->kind != SymKind::kArray || b->kind != SymKind::kArray)
    return nullptr;
  auto &left = static_cast<ArrayValue&>(*a), &right = static_cast<ArrayValue&>(*b);
  const DType dtype = left.type.dtype;
  const int rank = left.type.rank(), other = right.type.rank();
  if (right.type.dtype != dtype || dtype == DType::kBool || dtype == DType::kFloat16 ||
      rank + other > 3 || rank < 1 || other < 1)
    return nullptr;
  const std::vector<SizeExpr> from = dims_of(tracer, left), to = dims_of(tracer, right);
  if (rank + other == 3 && tracer.hint(element_count(tracer, rank == 2 ? from : to)) > kMostNative)
    return nullptr;
  if (!tracer.decide_equal(from.back(), to.front(), "the sizes of a product agree")) return nullptr;
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
  return new_result(tracer, sum);
}

// np.dot is np.matmul for vectors and matrices. (Whether it warns hangs on NumPy's version: where
// there is something to warn of, NumPy runs.)
Sym call_dot(Tracer& tracer, const NumpyArguments& arguments) {
  const Sym a = arguments.get("a"), b = arguments.get("b");
  const ArrayValue *left = as_array(a), *right = as_array(b);
  const bool is_product = left != nullptr && right != nullptr && left->type.rank() >= 1 &&
                          left->type.rank() <= 2 && right->type.rank() >= 1 &&
                          right->type.rank() <= 2 && left->type.dtype == right->type.dtype;
  if (!is_product || !is_none(arguments.get("out"))) return call_extern(tracer, arguments);
  if (Sym made = native_product(tracer, a, b)) return made;
  const Sym operands[] = {a, b};
  const Sym made = call_gufunc(tracer, numpy_attribute("matmul"), operands);
  return made ? made : call_extern(tracer, arguments);
}

// A column times a row.
Sym call_outer(Tracer& tracer, const NumpyArguments& arguments) {
  const Sym row = arguments.get("b");
  const ArrayValue *left = as_array(arguments.get("a")), *right = as_array(row);
  if (left == nullptr || right == nullptr || left->type.rank() != 1 || right->type.rank() != 1)
    return call_extern(tracer, arguments);
  UfuncOptions options;
  options.out = out_argument(arguments.get("out"));
  constexpr int kBehind[] = {1};
  const Sym operands[] = {insert_axes(tracer, *left, kBehind), row};
  return apply_ufunc(tracer, "multiply", operands, options);
}

// The Euclidean norm of all elements: the root of a dot product.
Sym call_norm(Tracer& tracer, const NumpyArguments& arguments) {
  const ArrayValue* array = as_array(arguments.get("x"));
  const bool is_plain =
      array != nullptr && array->type.rank() >= 1 &&
      (array->type.dtype == DType::kFloat64 || array->type.dtype == DType::kFloat32) &&
      is_none(arguments.get("ord")) && is_none(arguments.get("axis")) &&
      arguments.get("keepdims") == nullptr;
  if (!is_plain || tracer.leaves_calls) return call_extern(tracer, arguments);
  const DType dtype = array->type.dtype;
  const NodeId x = tracer.read(*array);
  const NodeId squares = elementwise(tracer, Op::kMultiply, {x, x}, dtype);
  ReduceAttr all;
  for (int axis = 0; axis < array->type.rank(); ++axis) all.axes.push_back(axis);
  const NodeId sum =
      tracer.append(Op::kReduceSum, {squares}, std::move(all), numpy_scalar_type(dtype));
  return new_result(tracer, elementwise(tracer, Op::kSqrt, {sum}, dtype));
}

}  // namespace numlift::frame_eval
