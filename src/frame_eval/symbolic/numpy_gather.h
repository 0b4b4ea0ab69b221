// Reading through integer arrays: x[index], x[:, index], x[rows, columns], np.take.
#pragma once

#include "symbolic/numpy_indexing.h"

namespace numlift::frame_eval {

// The program goes on only when all of an index array (int64) lies in an axis of this length.
void require_inside(Tracer& tracer, NodeId index, const SizeExpr& length, bool may_be_negative);

// Null where NumPy does it: new axes or integers beside the arrays, arrays that are not neighbours,
// booleans, no array at all.
Sym gather_items(Tracer& tracer, const ArrayValue& array, const IndexKey& key);

}  // namespace numlift::frame_eval
