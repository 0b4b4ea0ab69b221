// Attributes of Python functions: of those made in the frame, and what CPython keeps in the object
// itself of those from outside.
#pragma once

#include "symbolic/interpreter.h"

namespace numlift::frame_eval {

// Null: it has none of that name.
Sym function_attribute(Interpreter& interpreter, const Sym& function, BorrowedRef name);
// nullopt: it cannot be told.
std::optional<bool> has_function_attribute(Interpreter& interpreter, const Sym& function,
                                           BorrowedRef name);
// Value null: del.
void set_function_attribute(Interpreter& interpreter, const Sym& function, BorrowedRef name,
                            const Sym& value);

// A function from outside; `name` is that of a data descriptor of its class.
Sym outside_function_part(Interpreter& interpreter, const Sym& function, BorrowedRef name);

}  // namespace numlift::frame_eval
