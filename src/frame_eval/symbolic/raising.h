// What an operation raises that the tracer knows to fail.
#pragma once

#include <optional>

#include "symbolic/exceptions.h"
#include "symbolic/interpreter.h"

namespace numlift::frame_eval {

// The present instruction of `frame` has ended with this Break because the code would raise there.
// Where a handler waits for it, the operation is carried out on stand-ins of its operands (arrays
// of the same sizes, which are fixed by that), and what it raises is the exception. nullopt: it
// stays a break.
std::optional<Raised> error_of_operation(Interpreter& interpreter, Frame& frame,
                                         const Break& reason);

}  // namespace numlift::frame_eval
