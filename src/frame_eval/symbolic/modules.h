// import statements inside functions, of modules that are loaded already.
#pragma once

#include "symbolic/interpreter.h"

namespace numlift::frame_eval {

Sym import_module(Interpreter& interpreter, BorrowedRef name, const Sym& from_list,
                  const Sym& level);

}  // namespace numlift::frame_eval
