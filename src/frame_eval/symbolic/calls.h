// Calls: what is called, and how it is traced (inlined, NumPy's, a builtin, or a break).
#pragma once

#include "symbolic/interpreter.h"

namespace numlift::frame_eval {

// "numpy.linalg.svd", for messages.
std::string callable_text(BorrowedRef callable);
Sym call_value(Interpreter& interpreter, const Sym& callable, CallArguments arguments);
// A Python function from outside, called with these arguments.
Sym call_python_function(Interpreter& interpreter, const Sym& function, CallArguments arguments);

}  // namespace numlift::frame_eval
