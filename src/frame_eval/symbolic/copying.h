// copy.copy() and copy.deepcopy() of what is no instance of a Python class.
#pragma once

#include "symbolic/builtins.h"

namespace numlift::frame_eval {

Sym copy_value(Interpreter& interpreter, const CallArguments& arguments);
Sym deep_copy_value(Interpreter& interpreter, const CallArguments& arguments);

}  // namespace numlift::frame_eval
