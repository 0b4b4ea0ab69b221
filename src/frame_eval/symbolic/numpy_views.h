// Views as NumPy makes them: dims, strides and the map onto the memory they share.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "symbolic/numpy_common.h"

namespace numlift::frame_eval {

std::vector<SizeExpr> dims_of(Tracer& tracer, const ArrayValue& array);
SizeExpr element_count(Tracer& tracer, const std::vector<SizeExpr>& dims);

Sym view_of(Tracer& tracer, const ArrayValue& array, IndexMap map, std::vector<SizeExpr> dims,
            std::vector<SizeExpr> strides);
// Another object that looks at the same elements (x.view(), x[:]).
Sym same_view(Tracer& tracer, const ArrayValue& array);
// Result axis k is axis axes[k].
Sym permute_axes(Tracer& tracer, const ArrayValue& array, std::span<const int> axes);
Sym reverse_all_axes(Tracer& tracer, const ArrayValue& array);
// Elements start, start + step, … along one axis; start lies inside unless count is 0.
Sym slice_axis(Tracer& tracer, const ArrayValue& array, int axis, const SizeExpr& start,
               const SizeExpr& step, const SizeExpr& count);
Sym reverse_axis(Tracer& tracer, const ArrayValue& array, int axis);
// An axis of size 1 and stride 0 before each of `before` (positions in the result, ascending).
Sym insert_axes(Tracer& tracer, const ArrayValue& array, std::span<const int> places);
// Read-only, as np.broadcast_to gives it. Break would_raise when it does not broadcast.
Sym broadcast_view(Tracer& tracer, const ArrayValue& array, const std::vector<SizeExpr>& dims);
// The view itself, marked so that nobody may write to it.
Sym read_only(Sym view);
Sym diagonal_view(Tracer& tracer, const ArrayValue& array, int64_t offset, int axis1, int axis2);
// Real or imaginary parts in place; for real dtypes the array itself, or fresh read-only zeros.
Sym part_of(Tracer& tracer, const Sym& array, bool imaginary);

// x.reshape(dims): a view where NumPy makes one, else a view of a copy. `order`: 'C', 'F' or 'A'.
Sym reshape_array(Tracer& tracer, const ArrayValue& array, std::vector<SizeExpr> dims,
                  char order = 'C');
// A fresh array with these elements: array.copy(order).
Sym copy_array(Tracer& tracer, const ArrayValue& array, char order);

// ---- sizes given as arguments
// A Python int or NumPy integer: constant, or a size known when the program runs. Break otherwise.
SizeExpr size_argument(Tracer& tracer, const Sym& value, std::string_view what);
// An int, or a sequence of them. Negative ones are let through.
std::vector<SizeExpr> sizes_argument(Tracer& tracer, const Sym& value, std::string_view what);
// As sizes_argument; Break would_raise where one is negative.
std::vector<SizeExpr> shape_argument(Tracer& tracer, const Sym& value, std::string_view what);
// Items of a tracked tuple or list, or of a constant tuple.
std::optional<std::vector<Sym>> sequence_items(Tracer& tracer, const Sym& value);

struct SliceRange {
  SizeExpr start, step, count;
};
// slice(start, stop, step).indices(length): bounds that are None are null or the object None.
SliceRange resolve_slice(Tracer& tracer, const Sym& start, const Sym& stop, const Sym& step,
                         const SizeExpr& length);

// numpy.<name>(*args), as a call in the user's code.
Sym call_numpy(Tracer& tracer, const char* name, std::span<const Sym> args);
Sym make_sequence(SymKind kind, std::vector<Sym> items);

}  // namespace numlift::frame_eval
