// Code that calls compiled versions of the Python functions it calls, and is itself left as it is.
#pragma once

#include "numlift/py/python.h"

#include "numlift/py/ref.h"

namespace numlift::frame_eval {

// A copy of `code` in which `wrap(callable)` is called in place of `callable`, wherever a global, a
// variable or an attribute is loaded in order to be called. Throws PyError.
Ref code_with_wrapped_callees(BorrowedRef code, BorrowedRef wrap);

}  // namespace numlift::frame_eval
