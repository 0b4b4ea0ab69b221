// Named tuples (collections.namedtuple, typing.NamedTuple).
#pragma once

#include "symbolic/interpreter.h"

namespace numlift::frame_eval {

// A class that collections.namedtuple made, or a subclass that adds nothing to how it is made and
// to what tuples do.
bool is_named_tuple_class(BorrowedRef object);
// An instance of such a class, without a dict of its own.
bool is_named_tuple(BorrowedRef object);
// tuple.__new__(class, items)
Sym new_tuple(Interpreter& interpreter, const CallArguments& arguments);
Sym make_named_tuple(Interpreter& interpreter, BorrowedRef named_tuple_class,
                     const CallArguments& arguments);
// A field, or what the class adds to tuples; null when `name` is neither.
Sym named_tuple_attribute(Interpreter& interpreter, const Sym& tuple, BorrowedRef name);

}  // namespace numlift::frame_eval
