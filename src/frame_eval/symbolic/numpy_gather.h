// Reading through integer arrays: x[index], x[:, index], x[rows, columns], np.take.
#pragma once

#include "symbolic/numpy_indexing.h"

namespace numlift::frame_eval {

// Null where NumPy does it: new axes or integers beside the arrays, arrays that are not neighbours,
// booleans, no array at all.
Sym gather_items(Tracer& tracer, const ArrayValue& array, const IndexKey& key);

}  // namespace numlift::frame_eval
