// What the Python code of numlift.transforms asks of the tracer: derivatives and batches of what
// was traced (numlift/graph/transforms.h).
#pragma once

#include "symbolic/interpreter.h"

namespace numlift::frame_eval {

// The value of a call of one of the functions in numlift.transforms.intrinsics; null: another
// function.
Sym transform_intrinsic(Interpreter& interpreter, BorrowedRef function,
                        const CallArguments& arguments);

}  // namespace numlift::frame_eval
