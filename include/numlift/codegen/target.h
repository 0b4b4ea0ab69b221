// What the native back end can do on this machine, for the layers that decide what to send to it.
#pragma once

#include "numlift/graph/op.h"
#include "numlift/graph/type.h"

namespace numlift::codegen {

// Whether emit_native() has machine code of its own for `op` with operands of `loop_dtype` (for
// Select and Cast: the dtype of what is selected or cast). False: send the op through
// Op::kNumpyLoop or an extern. Needs no initialisation; the same on every machine.
bool native_supports(Op op, DType loop_dtype);

}  // namespace numlift::codegen
