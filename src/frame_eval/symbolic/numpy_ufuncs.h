// Ufuncs in the graph: loop resolution, casts, broadcasting, lowering, out= and where=.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "symbolic/numpy_common.h"
#include "symbolic/numpy_handlers.h"

namespace numlift::frame_eval {

struct UfuncOptions {
  Sym out;    // an array; null: none
  Sym where;  // null: everywhere
  std::optional<DType> dtype;
  std::string casting = "same_kind";
  char order = 'K';
  bool scalar_math = false;  // an operator, not a call: NumPy scalars watch integer overflow
  bool keep_array = false;   // a 0-d result is an array (out=...)
};

// np.<name>(*operands, **options)
Sym apply_ufunc(Tracer& tracer, const char* name, std::span<const Sym> operands,
                const UfuncOptions& options = {});
Sym apply_ufunc(Tracer& tracer, BorrowedRef ufunc, std::span<const Sym> operands,
                const UfuncOptions& options = {});
// The same on nodes that stand in the loop's dtypes already and have the result's dims or rank 0.
NodeId ufunc_node(Tracer& tracer, const char* name, std::vector<NodeId> operands);

// A call of a ufunc with the caller's arguments, and of its methods (reduce, outer, …).
Sym call_ufunc(Tracer& tracer, BorrowedRef ufunc, std::span<const Sym> args, Keywords kwargs);
Sym call_ufunc_method(Tracer& tracer, BorrowedRef method, std::span<const Sym> args,
                      Keywords kwargs);

// out= as users write it: None, an array, a 1-tuple of these. Null when there is none.
Sym out_argument(const Sym& value, bool* keep_array = nullptr);

// numpy_reductions.cpp: ufunc.reduce with bound arguments.
struct ReduceOptions {
  Sym axis;              // null: axis 0 (ufunc.reduce) unless all_axes
  bool all_axes = true;  // what a null axis means
  std::optional<DType> dtype;
  Sym out;
  bool keepdims = false;
  Sym initial;  // null: none given
  Sym where;
};
Sym reduce_ufunc(Tracer& tracer, const std::string& name, const Sym& operand,
                 const ReduceOptions& options);

// numpy_scalars.cpp: np.float32(x) and so on.
Sym call_scalar_class(Tracer& tracer, BorrowedRef scalar_class, DType dtype,
                      std::span<const Sym> args, Keywords kwargs);

}  // namespace numlift::frame_eval
