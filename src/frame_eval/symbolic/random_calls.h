// Methods of numpy.random.Generator: NumPy draws inside the program, in the order of the code.
#pragma once

#include "symbolic/interpreter.h"

namespace numlift::frame_eval {

// A Generator from outside, and the name of a method that draws and gives fresh arrays or numbers.
bool is_draw(const Sym& generator, const std::string& name);
Sym call_draw(Interpreter& interpreter, const Sym& generator, const std::string& name,
              CallArguments arguments);

}  // namespace numlift::frame_eval
