// Branches on numbers that came in from outside: the outcome is guarded, not the number.
#pragma once

#include "symbolic/interpreter.h"

namespace numlift::frame_eval {

// compare: 0 <, 1 <=, 2 ==, 3 !=, 4 >, 5 >=. One operand is an int or float as it came in, the
// other a constant; nullopt for everything else.
std::optional<bool> decide_on_input(Interpreter& interpreter, int compare, const Sym& a,
                                    const Sym& b);

}  // namespace numlift::frame_eval
