// Named tuples made in the frame (collections.namedtuple, typing.NamedTuple).
#pragma once

#include "symbolic/interpreter.h"

namespace numlift::frame_eval {

// A class that collections.namedtuple made, or a subclass that adds nothing to how it is made.
bool is_named_tuple_class(BorrowedRef object);
Sym make_named_tuple(Interpreter& interpreter, BorrowedRef named_tuple_class,
                     const CallArguments& arguments);
// The field; null when `name` is none.
Sym named_tuple_field(Interpreter& interpreter, const Sym& tuple, BorrowedRef name);

}  // namespace numlift::frame_eval
