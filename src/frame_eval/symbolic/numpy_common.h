// What the NumPy handlers share: operands as promotion sees them, casts, broadcasting, memory
// order, constants, run-time requirements.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "numlift/numpy_shim/promotion.h"
#include "symbolic/tracer.h"
#include "symbolic/value.h"

namespace numlift::frame_eval {

using numpy_shim::OperandType;

// A value that takes part in a NumPy operation.
struct Operand {
  Sym value;
  OperandType type;
  // Run-time values: the node that reads it (for a size: int64). kNoNode: a Python or NumPy number
  // that is `constant`; its node depends on the loop dtype (cast_operand).
  NodeId node = kNoNode;
  Ref constant;
  bool is_array = false;  // numpy.ndarray, of rank 0 too
  std::vector<SizeExpr> dims;
  std::vector<SizeExpr> strides;  // arrays: bytes
  const SizeExpr* size() const;   // a Python int known only at run time; else null

  int rank() const { return static_cast<int>(dims.size()); }
};

// Lists and tuples become fresh arrays as np.asarray makes them. nullopt: not an array, number or
// nested sequence of such (None, str, an object of another library, …).
std::optional<Operand> find_operand(Tracer& tracer, const Sym& value);
// As find_operand, or Break. `what` names the operation for the message.
Operand as_operand(Tracer& tracer, const Sym& value, std::string_view what);
// The number as a NumPy object or Python object itself when it is a constant; null Ref otherwise.
Ref constant_number(const Sym& value);

// ---- constants and casts
NodeId constant_node(Tracer& tracer, const ScalarBits& bits,
                     ValueKind kind = ValueKind::kNumpyScalar);
// `number` (Python or NumPy number) as an element of `dtype`, by NumPy's assignment. Break
// would_raise when NumPy raises or warns.
ScalarBits number_bits(BorrowedRef number, DType dtype);
NodeId number_node(Tracer& tracer, BorrowedRef number, DType dtype);
// A small constant of our own.
NodeId int_node(Tracer& tracer, int64_t value, DType dtype);
// The Python object of one element.
Ref scalar_object(const ScalarBits& bits);

// The same values in another dtype; the identity when it is that already.
NodeId cast(Tracer& tracer, NodeId node, DType dtype);
// The operand's node in the loop's dtype. A weak Python int that does not fit the dtype is Break
// would_raise (constants) or a size guard (sizes).
NodeId cast_operand(Tracer& tracer, const Operand& operand, DType dtype);
// One elementwise node: result dims are those of the operands of rank > 0, which must agree.
NodeId elementwise(Tracer& tracer, Op op, std::vector<NodeId> operands, DType result,
                   Attr attr = {});

// ---- broadcasting
// Dims of the broadcast of all; Break would_raise where they do not broadcast.
std::vector<SizeExpr> broadcast_dims(Tracer& tracer, std::span<const std::vector<SizeExpr>> all,
                                     std::string_view what);
// True when proven or guarded equal, sizes and rank.
bool same_dims(Tracer& tracer, const std::vector<SizeExpr>& a, const std::vector<SizeExpr>& b,
               std::string_view what);
// `node` with these dims (a View, or the node itself when it has them or has rank 0 and
// keep_scalar).
NodeId broadcast_node(Tracer& tracer, NodeId node, const std::vector<SizeExpr>& dims,
                      bool keep_scalar = true);

// ---- memory order
// The layout of one operand of the K-order rule.
struct OrderOperand {
  DType dtype = DType::kFloat64;
  std::vector<SizeExpr> dims, strides;
};
OrderOperand order_operand(const Operand& operand);
// Axes from slowest to fastest of a fresh array of these dims, as numpy.nditer chooses it for these
// operands (npyiter_find_best_axis_ordering); empty: C order.
AxisOrder k_order(Tracer& tracer, const std::vector<SizeExpr>& dims,
                  std::span<const OrderOperand> operands);
// The order of a fresh array made like this one (astype, copy(order="K"), empty_like):
// PyArray_NewLikeArray's rule, which looks at axes of size 1 too.
AxisOrder like_order(Tracer& tracer, const OrderOperand& prototype);
AxisOrder fortran_order(int rank);
// `order` argument of NumPy's functions: 'K', 'A', 'C', 'F' (or None = `missing`). Break otherwise.
char order_argument(Tracer& tracer, const Sym& value, char missing);
// The order of a result for that argument.
AxisOrder result_order(Tracer& tracer, char order, const std::vector<SizeExpr>& dims,
                       std::span<const OrderOperand> operands);
bool is_c_contiguous(Tracer& tracer, DType dtype, const std::vector<SizeExpr>& dims,
                     const std::vector<SizeExpr>& strides);
bool is_f_contiguous(Tracer& tracer, DType dtype, const std::vector<SizeExpr>& dims,
                     const std::vector<SizeExpr>& strides);

// ---- results
// Node of a result of these dims: a NumPy scalar when `scalar`, else an array.
Type result_type_for(DType dtype, const std::vector<SizeExpr>& dims, bool scalar);
// The element of a 0-d array as a NumPy scalar; scalars as they are.
NodeId elementwise_scalar(Tracer& tracer, NodeId node);
// A scalar or a fresh array, by the node's type.
Sym new_result(Tracer& tracer, NodeId node, AxisOrder order = {});
// out= arguments: casts `node` (same_kind unless told otherwise) and stores it; the result is
// `out`.
Sym store_out(Tracer& tracer, const Sym& out, NodeId node, std::string_view what,
              const char* casting = "same_kind");
ArrayValue* as_array(const Sym& value);  // null when it is not an array
// An array value of a number (np.asarray of it): arrays are returned as they are.
Sym as_array_value(Tracer& tracer, const Sym& value, std::string_view what);

// ---- arguments
bool is_none(const Sym& value);  // null counts as None
std::optional<bool> constant_bool(Tracer& tracer, const Sym& value, std::string_view what);
std::optional<int64_t> constant_int(Tracer& tracer, const Sym& value, std::string_view what);
// dtype-like arguments; nullopt for None. Break for what is not one of ours.
std::optional<DType> dtype_argument(Tracer& tracer, const Sym& value, std::string_view what);
// axis=: sorted axes; None gives all of them. Break would_raise when out of range or repeated.
std::vector<int> axes_argument(Tracer& tracer, const Sym& value, int rank, std::string_view what);
int normalize_axis(int64_t axis, int rank, std::string_view what);
// "casting" argument: one of NumPy's names.
std::string casting_argument(Tracer& tracer, const Sym& value, const char* missing);

// ---- requirements
// The program goes on only when the rank-0 bool `node` is true (else the call runs in CPython).
void require(Tracer& tracer, NodeId node);
// The same of `comparison(integer, bound)`, by a check node: the back end knows these
// (Tracer::takes_control_flow).
void check_int(Tracer& tracer, Op comparison, NodeId integer, int64_t bound);

// np.errstate(divide="raise", over="raise", invalid="raise") as long as it lives.
class RaiseOnWarning {
 public:
  RaiseOnWarning();
  ~RaiseOnWarning();
  RaiseOnWarning(const RaiseOnWarning&) = delete;
  RaiseOnWarning& operator=(const RaiseOnWarning&) = delete;

 private:
  Ref state_;
};

// np.<name>
Ref numpy_attribute(const char* name);
std::string callable_name(BorrowedRef callable);

}  // namespace numlift::frame_eval
