// functools.singledispatch: which implementation a class gets.
#pragma once

#include "symbolic/interpreter.h"

namespace numlift::frame_eval {

// A call of the function `dispatch` that singledispatch() made; null: it is none, or its answer may
// change in ways that no guard sees.
Sym call_dispatch(Interpreter& interpreter, const Sym& function, const CallArguments& arguments);

}  // namespace numlift::frame_eval
