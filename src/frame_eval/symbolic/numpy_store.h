// Assignment into arrays.
#pragma once

#include "symbolic/numpy_views.h"

namespace numlift::frame_eval {

// The value as elements of `dtype`, by NumPy's assignment cast.
NodeId assigned_node(Tracer& tracer, const Operand& value, DType dtype);
// target[...] = content. `one_element`: target is what integers for all axes name.
void assign(Tracer& tracer, ArrayValue& target, const Sym& content, bool one_element = false);

}  // namespace numlift::frame_eval
