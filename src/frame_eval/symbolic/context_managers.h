// The methods that `with` and `async with` call.
#pragma once

#include "symbolic/interpreter.h"

namespace numlift::frame_eval {

// As LoadSpecial counts them.
enum class ContextMethod : uint8_t { kEnter, kExit, kAsyncEnter, kAsyncExit };

// manager.__enter__ and the like, bound, found on the class. Raises as CPython does when there is
// none.
Sym context_method(Interpreter& interpreter, const Sym& manager, ContextMethod method);

}  // namespace numlift::frame_eval
