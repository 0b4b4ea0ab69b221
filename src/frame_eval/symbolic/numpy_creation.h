// Arrays made from sizes, numbers and nested sequences.
#pragma once

#include <optional>

#include "symbolic/numpy_views.h"

namespace numlift::frame_eval {

// np.array(sequence, dtype): a tracked list or tuple of numbers, arrays and such sequences.
Sym array_from_sequence(Tracer& tracer, const Sym& sequence,
                        std::optional<DType> dtype = std::nullopt);
// A fresh array full of one value (of rank 0, in its dtype).
Sym filled_array(Tracer& tracer, NodeId value, const std::vector<SizeExpr>& dims,
                 AxisOrder order = {});
Sym zeros_array(Tracer& tracer, DType dtype, const std::vector<SizeExpr>& dims,
                AxisOrder order = {});
// A fresh array whose elements are to be stored.
Sym empty_array(Tracer& tracer, DType dtype, const std::vector<SizeExpr>& dims,
                AxisOrder order = {});
// Position along an axis + offset, as int64.
NodeId positions(Tracer& tracer, const std::vector<SizeExpr>& dims, int axis, int64_t offset = 0);

}  // namespace numlift::frame_eval
